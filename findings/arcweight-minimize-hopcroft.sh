#!/bin/sh
# arcweight 0.3.0: minimize_hopcroft() loses words. The trie of the words "b", "ac" and "bac", a deterministic automaton
# without cycles and weights, accepts "b" alone afterwards; of the names of the numbers from one to ninety-nine, 17
# remain. minimize() keeps all of these words. Nothing is said.
#
# A good guess is that both functions give an automaton of the same words: minimize_hopcroft() is described as an
# alternative algorithm that may be faster.
#
# Seen with arcweight 0.3.0. Ends with 1 if that changes. It needs python3 with venv, and PyPI.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet arcweight==0.3.0
cat >"$folder/words.py" <<'END'
import sys
from importlib.metadata import version

import arcweight


def trie(words):
    """The automaton that has one state for each beginning of a word."""
    automaton = arcweight.VectorFst()
    states = {"": automaton.add_state()}
    automaton.set_start(states[""])
    for word in words:
        for end, letter in enumerate(word, 1):
            if word[:end] not in states:
                states[word[:end]] = automaton.add_state()
                automaton.add_arc(states[word[: end - 1]], ord(letter), ord(letter), 0.0, states[word[:end]])
        automaton.set_final(states[word], 0.0)
    return automaton


def accepted(automaton, words):
    """The words that lead to a final state. Label 0 is read without a letter."""
    return [word for word in words if any(map(automaton.is_final, reached(automaton, word)))]


def reached(automaton, word):
    states = {(automaton.start(), 0)}  # with the number of letters read
    waiting = list(states)
    while waiting:
        state, read = waiting.pop()
        for arc in automaton.arcs(state):
            if arc.ilabel() in (0, *map(ord, word[read : read + 1])):
                place = (arc.nextstate(), read + (arc.ilabel() > 0))
                waiting += {place} - states
                states.add(place)
    return [state for state, read in states if read == len(word)]


ones = "one two three four five six seven eight nine".split()
teens = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
tens = "twenty thirty forty fifty sixty seventy eighty ninety".split()
numbers = [*ones, *teens, *(ten + one for ten in tens for one in ["", *ones])]
print("arcweight", version("arcweight"))
is_seen = True
for words, kept in ((["b", "ac", "bac"], 1), (numbers, 17)):
    automaton = trie(words)
    left = accepted(arcweight.minimize_hopcroft(automaton), words)
    print(f"of {len(words)} words, {len(left)} are accepted after minimize_hopcroft(), such as {left[0]}")
    is_seen = is_seen and accepted(automaton, words) == words == accepted(arcweight.minimize(automaton), words)
    is_seen = is_seen and len(left) == kept
sys.exit(0 if is_seen else 1)
END
"$folder/venv/bin/python" "$folder/words.py"
