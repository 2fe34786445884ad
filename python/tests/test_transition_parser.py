"""``dynet train parser --transition``."""

from __future__ import annotations

import random
import sys

import dynet as dy
import numpy as np
import pytest
from dynet.programs import _options, _transitions, load, main
from dynet.programs._actions import LEFT, RIGHT, SHIFT, SWAP, Configuration, actions_of
from treebanks import SMALL, stopped_after_an_epoch, trees_of, untagged, write_treebanks


def built(words, actions):
    state = Configuration(words)
    for action in actions:
        assert not state.is_complete
        state.take(action)
    assert state.is_complete
    return state.heads[1:], state.relations[1:]


def arcs_cross(heads):
    """The arc of the root included, which comes from the left."""
    arcs = [sorted((word, head)) for word, head in enumerate(heads, 1)]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


def test_every_tree_is_built_by_allowed_actions():
    for n in (1, 2, 3, 4, 5):
        for heads in trees_of(n):
            relations = list(range(n, 0, -1))
            seen, actions = actions_of([*heads], relations)
            assert built(n, actions) == ([*heads], relations)
            assert (SWAP in actions) == arcs_cross(heads)
            state = Configuration(n)
            for words, action in zip(seen, actions):
                assert state.seen() == words and len(words) == 4
                assert (action if action < LEFT else LEFT + action % 2) in state.allowed()
                state.take(action)


def test_actions_known_by_hand():
    # "A hearing is scheduled on the issue today": the arcs of words 2 and 5, and 4 and 8, cross.
    heads = [2, 4, 4, 0, 2, 7, 5, 4]
    _, actions = actions_of(heads, [0] * 8)
    assert built(8, actions)[0] == heads
    assert actions.count(SHIFT) - 8 == actions.count(SWAP) > 0
    assert actions[:3] == [SHIFT, SHIFT, LEFT] and actions[-1] == RIGHT
    seen, _ = actions_of([2, 0], [0, 0])
    assert seen == [[0, -1, -1, 1], [1, 0, -1, 2], [2, 1, 0, -1], [2, 0, -1, -1]]


def test_several_roots_and_long_chains():
    assert built(3, actions_of([0, 0, 2], [5, 6, 7])[1]) == ([0, 0, 2], [5, 6, 7])
    n = 3 * sys.getrecursionlimit()
    for heads in (list(range(n)), [*range(2, n + 1), 0]):
        assert built(n, actions_of(heads, [0] * n)[1])[0] == heads


def test_allowed_actions_end_in_a_tree():
    drawn, swaps = random.Random(6), 0
    for _ in range(300):
        state, swapped = Configuration(drawn.randint(1, 8)), set()
        while not state.is_complete:
            kinds = state.allowed()
            if SWAP in kinds and drawn.random() < 0.7:
                kinds = [SWAP]  # as often as can be
            action = drawn.choice(kinds)
            if action == SWAP:
                pair = (state.second, state.stack[-1])
                assert pair not in swapped
                swapped.add(pair)
            state.take(action)
        heads, swaps = state.heads[1:], swaps + len(swapped)
        assert heads.count(0) == 1
        for word in range(1, len(heads) + 1):
            path = [word]
            while path[-1]:
                path.append(heads[path[-1] - 1])
                assert len(path) <= len(heads) + 1
    assert swaps > 500


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_treebanks(tmp_path_factory.mktemp("transitions"))


@pytest.fixture(scope="module")
def parser(files):
    names = [f"--{name}={files / name}.conllu" for name in ("train", "dev")]
    options = ["--transition", *SMALL, "--epochs=4"]
    assert main(["train", "parser", *names, f"--output={files / 'parser'}", *options]) == 0
    return str(files / "parser.safetensors")


def test_it_learns(files, parser, capsys):
    gold = (files / "dev.conllu").read_text()
    flat = untagged(gold).replace("\tdep\t", "\t_\t")
    (files / "flat.conllu").write_text("1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n\n" + flat)
    assert main(["parse", parser, str(files / "flat.conllu")]) == 0
    first, _, rest = capsys.readouterr().out.partition("\n\n")
    assert rest == gold and first.split("\t")[6:8] == ["0", "dep"]
    assert main(["evaluate", parser, str(files / "dev.conllu")]) == 0
    table = {line.split()[0]: line.split()[1] for line in capsys.readouterr().out.splitlines()}
    assert table["LAS"] == table["UPOS"] == table["Lemmas"] == "100.00"


def test_sentences_are_parsed_alike_alone_and_together(files, parser):
    model = load(parser)
    model.dropout = 0.95  # answers have none
    sentences = list(dy.ConlluReader(files / "dev.conllu"))
    together = [answers for _, answers in model.tag(sentences)]
    assert [answers for s in sentences for _, answers in model.tag([s])] == together


def test_the_best_allowed_action():
    # Shift, swap, and LEFT and RIGHT by relations 0, 1 and 2.
    scores = np.array([5, 9, 1, 0, 7, 2, 3, 8])
    assert _transitions._best(scores, [SHIFT]) == SHIFT
    assert _transitions._best(scores, [SHIFT, LEFT]) == LEFT + 2
    assert _transitions._best(scores, [SHIFT, LEFT, RIGHT]) == RIGHT + 4
    assert _transitions._best(scores, [LEFT, RIGHT, SWAP]) == SWAP


def test_places_of_words_that_are_not_there(files, parser, monkeypatch):
    """The first steps of two sentences: no word, then root and words of each sentence."""
    model, steps = load(parser), []
    real = _transitions.TransitionParser.action_scores

    def recorded(self, views, places):
        steps.append(list(places))
        return real(self, views, steps[-1])

    monkeypatch.setattr(_transitions.TransitionParser, "action_scores", recorded)
    model.answers([["The", "dog"], ["The", "cat", "barks"]])
    assert steps[0] == [[1, 0, 0, 2], [4, 0, 0, 5]] and steps[1][0] == [2, 1, 0, 3]
    assert max(max(place) for step in steps for place in step) == 7
    dy.renew_cg()
    steps.clear()
    model.loss(model.example(next(dy.ConlluReader(files / "dev.conllu"))))
    assert steps[0][:2] == [[1, 0, 0, 2], [2, 1, 0, 3]]


def test_a_stopped_training_goes_on(files, parser, tmp_path):
    """To the same model."""
    names = [f"--{name}={files / name}.conllu" for name in ("train", "dev")]
    command = ["train", "parser", "--transition", *names, *SMALL, "--epochs=4"]
    command.append(f"--output={tmp_path / 'again'}")
    with stopped_after_an_epoch(_transitions.TransitionParser):
        assert main(command) == 130
    assert main([*command, "--resume"]) == 0
    again = (tmp_path / "again.safetensors").read_bytes()
    with open(parser, "rb") as file:
        assert file.read() == again


def test_it_is_an_option_of_parsers(tmp_path):
    files = ["--train=a", "--output=b"]
    assert _options.parse(["train", "parser", "--transition", *files]).transition
    with pytest.raises(
        _options.OptionError, match="--transition is for `dynet train parser`, not n"
    ):
        _options.parse(["train", "ner", "--transition", *files])
    (tmp_path / "f.toml").write_text("transition = true\n")
    words = ["train", "parser", f"--config={tmp_path / 'f.toml'}", *files]
    assert _options.parse(words).transition
