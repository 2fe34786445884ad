"""Scores of parsers and taggers over CoNLL-U, as the shared task of CoNLL 2018 defines them."""

from __future__ import annotations

import os
import unicodedata

import _dynet

from ._counts import F1, Score

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable
    from typing import TypeAlias

    #: A file, or its sentences.
    Treebank: TypeAlias = "str | os.PathLike[str] | Iterable[_dynet.ConlluSentence]"

#: Relations of words without content of their own, which CLAS leaves out.
FUNCTIONAL = frozenset(["aux", "case", "cc", "clf", "cop", "det", "mark", "punct"])
#: Features that all languages share; others do not count.
UNIVERSAL = frozenset(
    (
        *("PronType", "NumType", "Poss", "Reflex", "Foreign", "Abbr", "Gender", "Animacy"),
        *("Number", "Case", "Definite", "Degree", "VerbForm", "Mood", "Tense", "Aspect", "Voice"),
        *("Evident", "Polarity", "Person", "Polite"),
    )
)
COLUMNS = (
    *("Tokens", "Sentences", "Words"),
    *("UPOS", "XPOS", "UFeats", "AllTags", "Lemmas"),
    *("UAS", "LAS", "CLAS"),
)


def no_tree(words: list[_dynet.ConlluToken], *, several_roots: bool) -> str:
    """The mistake in the heads of a sentence's words; "" for a tree."""
    heads = [word.head for word in words]

    def shown(number: int) -> str:
        return f"word {number} ({words[number - 1].form!r})"

    if None in heads:
        return f"{shown(heads.index(None) + 1)} has no head; want a number, or 0"
    roots = [number for number, head in enumerate(heads, 1) if head == 0]
    if len(roots) > 1 and not several_roots:
        return f"{' and '.join(map(shown, roots[:2]))} have the head 0; want one root"
    is_right = [True] + [False] * len(heads)  # whether a path from here ends at the root
    for start in range(1, len(heads) + 1):
        path: list[int] = []
        word = start
        while not is_right[word]:
            if len(path) > len(heads):
                return (
                    f"{shown(word)} depends on itself, by its head {heads[word - 1]}; want a tree"
                )
            path.append(word)
            word = heads[word - 1] or 0
        for word in path:
            is_right[word] = True
    return ""


class _Word:
    """A word, and the place of its token among the characters. `group` is the number of the token
    that holds several words, or -1."""

    __slots__ = (
        *("begin", "end", "feats", "group", "head", "is_content", "is_punctuation"),
        *("relation", "token"),
    )

    def __init__(self, token: _dynet.ConlluToken, begin: int, end: int, group: int) -> None:
        self.token = token
        self.begin, self.end, self.group = begin, end, group
        self.relation = token.deprel.partition(":")[0]
        self.is_content = self.relation not in FUNCTIONAL
        kinds = map(unicodedata.category, token.form)
        self.is_punctuation = all(kind.startswith("P") for kind in kinds)
        features = token.feats.split("|")
        self.feats = "|".join(sorted(f for f in features if f.partition("=")[0] in UNIVERSAL))
        self.head: _Word | None = None  #: None: the root


class _Document:
    """The words of a treebank over its characters: all tokens without white space."""

    def __init__(self, treebank: Treebank, which: str, several_roots: bool) -> None:
        self.characters: list[str] = []
        self.tokens: list[tuple[int, int]] = []  #: places of characters
        self.sentences: list[tuple[int, int]] = []
        self.words: list[_Word] = []
        self._which = which
        self._several_roots = several_roots
        self._position = 0
        if isinstance(treebank, (str, os.PathLike)):
            treebank = _dynet.ConlluReader(treebank)
        if not hasattr(treebank, "__iter__"):
            raise self._no_treebank(treebank)
        for sentence in treebank:
            if not isinstance(sentence, _dynet.ConlluSentence):
                raise self._no_treebank(sentence)
            self._add(sentence)

    def _no_treebank(self, found: object) -> _dynet.TypeError:
        return _dynet.TypeError(
            f"ConlluScores.add: the {self._which} treebank has a {type(found).__name__}; want a "
            "file, or sentences of a ConlluReader"
        )

    def _add(self, sentence: _dynet.ConlluSentence) -> None:
        begin, words = self._position, []
        span, last = (0, 0), 0  # of the token with several words
        for token in sentence.tokens:
            if token.kind == "range":
                span, last = self._token(token.form), token.last
            elif token.kind == "word":
                inside = token.id <= last
                place = span if inside else self._token(token.form)
                words.append(_Word(token, *place, len(self.tokens) if inside else -1))
        problem = no_tree([w.token for w in words], several_roots=self._several_roots)
        if problem:
            raise _dynet.ValueError(
                f"ConlluScores.add: sentence {len(self.sentences) + 1} of the {self._which} "
                f"treebank: {problem}"
            )
        for word in words:
            word.head = words[word.token.head - 1] if word.token.head else None
        self.words += words
        self.sentences.append((begin, self._position))

    def _token(self, form: str) -> tuple[int, int]:
        text = "".join(form.split())
        begin, self._position = self._position, self._position + len(text)
        self.characters.append(text)
        self.tokens.append((begin, self._position))
        return self.tokens[-1]


class ConlluScores(Score):
    """The scores of the shared task CoNLL 2018 (Zeman et al.) for tokens, sentences, words, tags,
    universal features, lemmas and trees; `value` is LAS.

    Each column is an `F1` over aligned words: ``score.columns["UPOS"].value``. Words align if their
    tokens have the same characters; the words of a token that holds several ("don't") align by
    their longest common subsequence. UAS: the head is right. LAS: the relation, too, without its
    subtype. CLAS: LAS of words with content, without `aux case cc clf cop det mark punct`. Every
    lemma is right for a gold lemma of `_`.

    With ``punctuation=False`` UAS and LAS count no words of punctuation alone (by Unicode), as the
    shared task of 2006 did. ``several_roots=True`` takes sentences with several words at the root,
    which the shared task of 2018 refuses.

        score = ConlluScores()
        score.add("gold.conllu", "predicted.conllu")
        print(score)
    """

    def __init__(self, *, punctuation: bool = True, several_roots: bool = False) -> None:
        self.punctuation = punctuation
        self.several_roots = several_roots
        self.columns = {name: F1() for name in COLUMNS}

    def add(self, gold: Treebank, predicted: Treebank) -> None:
        """Two files, or the sentences of a `ConlluReader`, over the same text: white space and the
        borders of tokens and sentences may differ. ValueError for other characters, a word without
        a head, or heads that are no tree; nothing is counted then."""
        right = _Document(gold, "gold", self.several_roots)
        answer = _Document(predicted, "predicted", self.several_roots)
        _require_same_text(right, answer)
        spans = _shared(right.tokens, answer.tokens)
        self.columns["Tokens"].count(spans, len(right.tokens), len(answer.tokens))
        spans = _shared(right.sentences, answer.sentences)
        self.columns["Sentences"].count(spans, len(right.sentences), len(answer.sentences))
        self._count_words(right, answer)

    def _count_words(self, right: _Document, answer: _Document) -> None:
        aligned = _align(right.words, answer.words)
        # The gold word of a predicted one; a word without a partner is no right head.
        gold_of = {id(a): id(g) for g, a in aligned}

        def same_head(g: _Word, a: _Word) -> bool:
            if a.head is None or g.head is None:
                return a.head is g.head
            return gold_of.get(id(a.head)) == id(g.head)

        def tags(w: _Word) -> Hashable:
            return (w.token.upos, w.token.xpos, w.feats)

        columns: dict[str, Callable[[_Word, _Word], bool]] = {
            "Words": lambda g, a: True,
            "UPOS": lambda g, a: g.token.upos == a.token.upos,
            "XPOS": lambda g, a: g.token.xpos == a.token.xpos,
            "UFeats": lambda g, a: g.feats == a.feats,
            "AllTags": lambda g, a: tags(g) == tags(a),
            "Lemmas": lambda g, a: g.token.lemma in ("_", a.token.lemma),
            "UAS": same_head,
            "LAS": lambda g, a: g.relation == a.relation and same_head(g, a),
        }
        for name, is_right in columns.items():
            words = [right.words, answer.words]
            pairs = aligned
            if name in ("UAS", "LAS") and not self.punctuation:
                words = [[w for w in some if not w.is_punctuation] for some in words]
                pairs = [(g, a) for g, a in aligned if not (g.is_punctuation or a.is_punctuation)]
            matched = sum(is_right(g, a) for g, a in pairs)
            self.columns[name].count(matched, *map(len, words))
        las = columns["LAS"]
        self.columns["CLAS"].count(
            sum(g.is_content and las(g, a) for g, a in aligned),
            sum(w.is_content for w in right.words),
            sum(w.is_content for w in answer.words),
        )

    @property
    def value(self) -> float:
        return self.columns["LAS"].value

    def _settings(self) -> tuple[object, ...]:
        return (self.punctuation, self.several_roots)

    def _take(self, other: ConlluScores) -> None:
        for name, mine in self.columns.items():
            mine += other.columns[name]

    def _rows(self) -> list[tuple[str, ...]]:
        return [F1.head(), *(score.row(name) for name, score in self.columns.items())]


def _require_same_text(right: _Document, answer: _Document) -> None:
    gold, found = "".join(right.characters), "".join(answer.characters)
    if gold != found:
        at = next(
            (i for i, (a, b) in enumerate(zip(gold, found)) if a != b), min(len(gold), len(found))
        )
        raise _dynet.ValueError(
            f"ConlluScores.add: the texts differ at character {at + 1}: gold "
            f"{gold[at : at + 20]!r}, predicted {found[at : at + 20]!r}; want the same characters, "
            "white space left out"
        )


def _shared(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> int:
    """The number of common spans."""
    return len(set(a) & set(b))


def _align(gold: list[_Word], found: list[_Word]) -> list[tuple[_Word, _Word]]:
    """Pairs of words over the same characters."""
    aligned: list[tuple[_Word, _Word]] = []
    g = f = 0
    while g < len(gold) and f < len(found):
        if gold[g].group >= 0 or found[f].group >= 0:
            end = gold[g].end if gold[g].group >= 0 else found[f].end
            # A word that begins before the token is no part of the region.
            if gold[g].group >= 0 and found[f].group < 0 and found[f].begin < gold[g].begin:
                f += 1
            elif gold[g].group < 0 and gold[g].begin < found[f].begin:
                g += 1
            g_end, f_end = _region(gold, found, g, f, end)
            aligned += _by_subsequence(gold[g:g_end], found[f:f_end])
            g, f = g_end, f_end
        elif (gold[g].begin, gold[g].end) == (found[f].begin, found[f].end):
            aligned.append((gold[g], found[f]))
            g, f = g + 1, f + 1
        elif gold[g].begin <= found[f].begin:
            g += 1
        else:
            f += 1
    return aligned


def _region(gold: list[_Word], found: list[_Word], g: int, f: int, end: int) -> tuple[int, int]:
    """The ends of both lists of words over the characters of a token with several words, which ends
    at `end`. The region grows while another such token begins inside; other words lie inside as a
    whole."""

    def is_inside(words: list[_Word], i: int) -> bool:
        if i >= len(words):
            return False
        return words[i].begin < end if words[i].group >= 0 else words[i].end <= end

    while is_inside(gold, g) or is_inside(found, f):
        if g < len(gold) and (f >= len(found) or gold[g].begin <= found[f].begin):
            end = max(end, gold[g].end) if gold[g].group >= 0 else end
            g += 1
        else:
            end = max(end, found[f].end) if found[f].group >= 0 else end
            f += 1
    return g, f


def _by_subsequence(gold: list[_Word], found: list[_Word]) -> list[tuple[_Word, _Word]]:
    """The longest common subsequence of the forms, without regard to case."""
    a = [w.token.form.lower() for w in gold]
    b = [w.token.form.lower() for w in found]
    best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            longer = max(best[i + 1][j], best[i][j + 1])
            best[i][j] = max(longer, best[i + 1][j + 1] + 1) if a[i] == b[j] else longer
    pairs, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if a[i] == b[j] and best[i][j] == best[i + 1][j + 1] + 1:
            pairs.append((gold[i], found[j]))
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs
