"""Actions on a stack that build a tree from left to right: the arc-standard system with a swap
(Nivre 2009), which builds every tree, also one whose arcs cross.

The next word is shifted to the stack; one of the two words on top becomes a dependent of the other
by a relation; or the second word goes back to the words to be read.
"""

from __future__ import annotations

#: Actions; then LEFT and RIGHT once more for each further relation.
SHIFT, SWAP, LEFT, RIGHT = range(4)


class Configuration:
    """The stack, the words to be read (the next one last), and the tree so far. Words are numbered
    from 1; the root, 0, lies at the bottom of the stack."""

    def __init__(self, words: int) -> None:
        self.stack = [0]
        self.rest = list(range(words, 0, -1))
        self.heads = [0] * (words + 1)
        self.relations = [0] * (words + 1)

    @property
    def is_complete(self) -> bool:
        return not self.rest and len(self.stack) == 1

    @property
    def second(self) -> int:
        """The second word on the stack, or -1."""
        return self.stack[-2] if len(self.stack) > 1 else -1

    def seen(self) -> list[int]:
        """Three words on the stack and the next word; -1 if there are fewer."""
        top = self.stack[:-4:-1]
        return [*top, *[-1] * (3 - len(top)), self.rest[-1] if self.rest else -1]

    def allowed(self) -> list[int]:
        """Kinds of actions. The root gets its only dependent at the end. Two words are swapped once
        at most, so that each sentence ends."""
        second = self.second
        kinds = [SHIFT] if self.rest else []
        if second > 0:
            kinds += [LEFT, RIGHT] + [SWAP] * (second < self.stack[-1])
        elif second == 0 and not self.rest:
            kinds.append(RIGHT)
        return kinds

    def take(self, action: int) -> None:
        stack = self.stack
        if action == SHIFT:
            stack.append(self.rest.pop())
        elif action == SWAP:
            self.rest.append(stack.pop(-2))
        else:
            is_left = action % 2 == LEFT % 2
            dependent = stack.pop(-2 if is_left else -1)
            self.heads[dependent] = stack[-1]
            self.relations[dependent] = (action - LEFT) // 2


def actions_of(heads: list[int], relations: list[int]) -> tuple[list[list[int]], list[int]]:
    """For each step to a tree the words that are seen, and the action. A tree with several words at
    the root is built too, by actions that are not allowed for new sentences."""
    state = Configuration(len(heads))
    gold = [0, *heads]
    waiting = [0] * len(gold)  # dependents that have no head yet
    for head in heads:
        waiting[head] += 1
    order = _projective_order(gold)
    seen, actions = [], []
    while not state.is_complete:
        action, top, second = SHIFT, state.stack[-1], state.second
        for dependent, head, arc in ((second, top, LEFT), (top, second, RIGHT)):
            if dependent > 0 and gold[dependent] == head and waiting[dependent] == 0:
                action = arc + 2 * relations[dependent - 1]
                waiting[head] -= 1
                break
        else:
            if second > 0 and order[top] < order[second]:
                action = SWAP
        seen.append(state.seen())
        actions.append(action)
        state.take(action)
    return seen, actions


def _projective_order(gold: list[int]) -> list[int]:
    """The place of each word if each head stands between its dependents to the left and to the
    right, with all that depends on them. No arcs cross in this order."""
    left: list[list[int]] = [[] for _ in gold]
    right: list[list[int]] = [[] for _ in gold]
    for word, head in enumerate(gold[1:], 1):
        (left if word < head else right)[head].append(word)
    places = [0] * len(gold)
    place = 0
    # Words whose dependents to the left are yet to come, and others: no recursion, as a chain of
    # words may be longer than Python's stack.
    waiting = [(0, False)]
    while waiting:
        word, is_next = waiting.pop()
        if is_next:
            places[word] = place
            place += 1
        else:
            waiting += [(w, False) for w in reversed(right[word])]
            waiting.append((word, True))
            waiting += [(w, False) for w in reversed(left[word])]
    return places
