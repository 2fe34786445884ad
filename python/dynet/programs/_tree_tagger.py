"""The part that both parsers have in common: a tagger with two more LSTMs, over its states, whose
vectors of words score trees. Tags are trained beside, and are no input."""

from __future__ import annotations

import _dynet

from dynet import BiRNNBuilder
from dynet.metrics._conllu import no_tree
from dynet.text import Vocabulary, with_columns

from ._reader import Example
from ._tagger import Tagger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _dynet import ConlluSentence, Expression, ParameterCollection, Parameters

    from ._features import Features
    from ._tagger import Answers


class Tree(Example):
    """An example with heads and relations."""

    def __init__(self, example: Example, heads: list[int], relations: list[int]) -> None:
        super().__init__(example.rows, example.labels)
        self.heads, self.relations = heads, relations


class TreeTagger(Tagger):
    KIND = "parser"
    FILLED = (*Tagger.FILLED, "UAS", "LAS", "CLAS")

    def __init__(
        self,
        model: ParameterCollection,
        words: Features,
        known: list[Vocabulary],
        length: float,
        size: int = 200,
        embedding: int = 32,
        dropout: float = 0.33,
    ) -> None:
        """`known` ends with the relations."""
        *tags, self.relations = known
        super().__init__(model, words, tags, length, size, embedding, dropout)
        both = 2 * size
        self.upper = BiRNNBuilder(1, both, both, self.pc, _dynet.VanillaLSTMBuilder)
        self.root = self.pc.add_parameters(both, name="root")
        self.add_tree_scorers(size)

    def add_tree_scorers(self, size: int) -> None:
        """The parameters of `tree_loss`; `size` is half of a state's."""
        raise NotImplementedError

    def _matrix(self, rows: int, columns: int, name: str) -> Parameters:
        return self.pc.add_parameters((rows, columns), name=name)

    def _zeros(self, rows: int, name: str) -> Parameters:
        return self.pc.add_parameters(rows, init=0, name=name)

    @classmethod
    def known_of(cls, sentences: list[ConlluSentence]) -> list[Vocabulary]:
        relations = (w.deprel for s in sentences for w in s.words)
        return [*super().known_of(sentences), Vocabulary.from_counts(relations, unknown=None)]

    @property
    def members(self) -> tuple[object, ...]:
        return (
            *(self.words, [*self.known, self.relations], self.length),
            *(self.size, self.embedding, self.dropout),
        )

    @classmethod
    def read(cls, file: str) -> list[ConlluSentence]:
        """All sentences. IoError for heads that are no tree."""
        sentences = super().read(file)
        for number, sentence in enumerate(sentences, 1):
            problem = no_tree(sentence.words, several_roots=True)
            if problem:
                raise _dynet.IoError(f"{file}: sentence {number}: {problem}")
        return sentences

    def _text(self, sentence: ConlluSentence, answers: Answers) -> str:
        return with_columns(sentence, **answers)

    def example(self, sentence: ConlluSentence) -> Tree:
        heads = [w.head or 0 for w in sentence.words]
        relations = self.relations.ids([w.deprel for w in sentence.words])
        return Tree(super().example(sentence), heads, relations)

    def upper_states(self, states: list[Expression]) -> list[Expression]:
        """Of the words, from the states of the tagger."""
        return self.upper.transduce([self.dropped(h) for h in states])

    def tree_loss(self, states: list[Expression], tree: Tree) -> Expression:
        """The sum over the words."""
        raise NotImplementedError

    def loss(self, example: Example) -> Expression:
        assert isinstance(example, Tree)
        states = self.states(example.rows)
        return self.mean(self.columns_loss(states, example) + self.tree_loss(states, example))
