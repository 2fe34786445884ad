"""A parser: trees over words, and the columns of the tagger.

Two more LSTMs read the states of the tagger's. For each word, products of two vectors score the
other words as its head (Dozat and Manning 2017), and the relations to this head. Tags are trained
beside, and are no input.
"""

from __future__ import annotations

from itertools import chain

import _dynet

from dynet import BiRNNBuilder
from dynet.text import Vocabulary, with_columns

from ._reader import Example
from ._tagger import Tagger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _dynet import ConlluSentence, Expression, ParameterCollection, Parameters

    from ._features import Features
    from ._tagger import Answers

#: Sizes of the vectors that score heads, and relations.
ARC, RELATION = 200, 64


class Tree(Example):
    """An example with heads and relations."""

    def __init__(self, example: Example, heads: list[int], relations: list[int]) -> None:
        super().__init__(example.rows, example.labels)
        self.heads, self.relations = heads, relations


class Read:
    """The vectors of a sentence: of each word as a dependent, batches; of the root and each word as
    a head, a matrix for arcs and a batch for relations."""

    def __init__(self, arcs: Expression, dependents: Expression, heads: Expression) -> None:
        self.arcs = arcs  #: a score for each head, a batch with an example for each word
        self.dependents, self.heads = dependents, heads


class Parser(Tagger):
    FILLED = (*Tagger.FILLED, "UAS", "LAS", "CLAS")

    def __init__(
        self,
        model: ParameterCollection,
        words: Features,
        known: list[Vocabulary],
        size: int = 200,
        embedding: int = 32,
        dropout: float = 0.33,
    ) -> None:
        """`known` ends with the relations."""
        *tags, self.relations = known
        super().__init__(model, words, tags, size, embedding, dropout)
        both = 2 * size
        self.upper = BiRNNBuilder(1, both, both, self.pc, _dynet.VanillaLSTMBuilder)
        self.root = self.pc.add_parameters(both, name="root")
        self.layers = [
            (self._matrix(n, both, f"{name}-W"), self._zeros(n, f"{name}-b"))
            for name, n in (
                *(("arc-dependent", ARC), ("arc-head", ARC)),
                *(("relation-dependent", RELATION), ("relation-head", RELATION)),
            )
        ]
        count = len(self.relations)
        self.arc = self._matrix(ARC, ARC, "arc")
        self.arc_bias = self.pc.add_parameters((1, ARC), init=0, name="arc-bias")
        self.pairs = self._matrix(count * RELATION, RELATION, "relation")
        self.single = [self._matrix(count, RELATION, f"relation-{i}") for i in range(2)]
        self.relation_bias = self._zeros(count, "relation-bias")

    def _matrix(self, rows: int, columns: int, name: str) -> Parameters:
        return self.pc.add_parameters((rows, columns), name=name)

    def _zeros(self, rows: int, name: str) -> Parameters:
        return self.pc.add_parameters(rows, init=0, name=name)

    @classmethod
    def known_of(cls, sentences: list[ConlluSentence]) -> list[Vocabulary]:
        relations = (w.deprel for s in sentences for w in s.words)
        return [*super().known_of(sentences), Vocabulary.from_counts(relations, unknown=None)]

    @property
    def spec(self) -> tuple[object, ...]:
        return (
            *(self.words, [*self.known, self.relations]),
            *(self.size, self.embedding, self.dropout),
        )

    @classmethod
    def read(cls, file: str) -> list[ConlluSentence]:
        """All sentences. IoError for a word without a head."""
        sentences = super().read(file)
        for number, sentence in enumerate(sentences, 1):
            for word in sentence.words:
                if word.head is None:
                    raise _dynet.IoError(
                        f"{file}: sentence {number}: word {word.id} ({word.form!r}) has no head; "
                        "want a number, or 0"
                    )
        return sentences

    def _text(self, sentence: ConlluSentence, answers: Answers) -> str:
        return with_columns(sentence, **answers)

    def example(self, sentence: ConlluSentence) -> Tree:
        heads = [w.head or 0 for w in sentence.words]
        relations = self.relations.ids([w.deprel for w in sentence.words])
        return Tree(super().example(sentence), heads, relations)

    def views(self, states: list[Expression]) -> Read:
        """From the states of the tagger."""
        n, dropped = len(states), self.dropped
        upper = self.upper.transduce([dropped(h) for h in states])
        words = dropped(_dynet.concatenate_to_batch(upper))
        heads = dropped(_dynet.concatenate_to_batch([self.root, *upper]))
        d, h, rd, rh = (
            dropped(_dynet.rectify(_dynet.affine_transform([b, W, x])))
            for (W, b), x in zip(self.layers, (words, heads, words, heads))
        )
        D, H = _dynet.reshape(d, (ARC, n), 1), _dynet.reshape(h, (ARC, n + 1), 1)
        bias = _dynet.transpose(self.arc_bias * H)
        arcs = _dynet.colwise_add(_dynet.transpose(H) * (self.arc * D), bias)
        return Read(_dynet.reshape(arcs, (n + 1,), n), rd, rh)

    def relation_scores(self, read: Read, heads: list[int]) -> Expression:
        """Scores of the relations to these heads, a batch with an example for each word."""
        of_heads = _dynet.pick_batch_elems(read.heads, heads)
        pairs = _dynet.reshape(
            self.pairs * read.dependents, (len(self.relations), RELATION), len(heads)
        )
        terms = (self.relation_bias, self.single[0], read.dependents, self.single[1], of_heads)
        return pairs * of_heads + _dynet.affine_transform([*terms])

    def loss(self, example: Example) -> Expression:
        assert isinstance(example, Tree)
        states = self.states(example.rows)
        read = self.views(states)
        arcs = _dynet.sequence_loss(read.arcs, example.heads)
        scores = self.relation_scores(read, example.heads)
        relations = _dynet.sequence_loss(scores, example.relations)
        total = self.columns_loss(states, example) + arcs + relations
        return total * (1 / len(example.rows))

    def answers(self, forms: list[list[str]]) -> list[Answers]:
        states = [self.states(self.rows(some)) for some in forms]
        read = [self.views(some) for some in states]
        scores = [self.scores(some) for some in states]
        _dynet.forward([*(r.arcs for r in read), *chain.from_iterable(scores)])
        trees = [self._heads(r, len(some)) for r, some in zip(read, forms)]
        relations = [self.relation_scores(r, heads) for r, heads in zip(read, trees)]
        _dynet.forward(relations)
        found = []
        for some, columns, heads, table in zip(forms, scores, trees, relations):
            best = table.npvalue().reshape(len(self.relations), len(some)).argmax(0)
            labels = self.relations.words(best.tolist())
            tree = {"head": [str(h) for h in heads], "deprel": labels}
            found.append(self._answers(some, columns) | tree)
        return found

    def _heads(self, read: Read, words: int) -> list[int]:
        """The best tree."""
        arcs = read.arcs.npvalue().reshape(words + 1, words)
        return _dynet.max_spanning_tree(arcs)
