"""The training loop `fit`, and curves for TensorBoard."""

from __future__ import annotations

import io
import re
import signal
import struct
import sys

import dynet as dy
import numpy as np
import pytest
from dynet import _tensorboard

NAN = float("nan")
DATA = [((0.0, 0.0), 0.0), ((0.0, 1.0), 1.0), ((1.0, 0.0), 1.0), ((1.0, 1.0), 0.0)] * 5


class Xor:
    def __init__(self):
        dy.reset_random_seed(3)
        self.model = dy.ParameterCollection()
        self.W = self.model.add_parameters((8, 2))
        self.b = self.model.add_parameters(8)
        self.V = self.model.add_parameters((1, 8))
        self.trainer = dy.AdamTrainer(self.model, 0.05)

    def output(self, xs):
        return dy.logistic(self.V * dy.tanh(self.W * dy.inputVector(xs) + self.b))

    def loss(self, example):
        xs, y = example
        return dy.binary_log_loss(self.output(xs), dy.scalarInput(y))

    def numbers(self):
        return [p.as_array().tolist() for p in self.model.parameters_list()]


def test_it_learns():
    net = Xor()
    history = dy.fit(net.loss, DATA, net.trainer, epochs=60, batch=4)
    assert history.losses[-1] < 0.1 < history.losses[0]
    assert history.steps == 60 * 5 and len(history.losses) == 60 and not history.stopped_early
    dy.renew_cg()
    assert [round(net.output(xs).value()) for xs, _ in DATA[:4]] == [0, 1, 1, 0]


@pytest.mark.parametrize("batch", [1, 3, 100])
def test_it_is_the_loop_by_hand(batch):
    net, by_hand = Xor(), Xor()
    history = dy.fit(net.loss, DATA, net.trainer, epochs=2, batch=batch, shuffle=False)
    total = 0.0
    for _ in range(2):
        total = 0.0
        for i in range(0, len(DATA), batch):
            dy.renew_cg()
            examples = DATA[i : i + batch]
            loss = dy.average([by_hand.loss(x) for x in examples])
            total += loss.value() * len(examples)
            loss.backward()
            by_hand.trainer.update()
    assert net.numbers() == by_hand.numbers()
    assert history.losses[-1] == pytest.approx(total / len(DATA), rel=1e-6)


def test_order_follows_the_seed_and_the_epoch():
    def orders(seed):
        seen = []
        net = Xor()
        data = list(enumerate(DATA))
        dy.fit(
            lambda x: (seen.append(x[0]), net.loss(x[1]))[1], data, net.trainer, epochs=2, seed=seed
        )
        return seen[:20], seen[20:]

    first, second = orders(1)
    assert sorted(first) == sorted(second) == list(range(20)) and first != second
    assert orders(1) == (first, second) and orders(2)[0] != first


def test_callbacks():
    net, steps = Xor(), []
    evaluations = []

    def on_eval(summary):
        evaluations.append(summary)
        return float(summary.epoch)

    history = dy.fit(
        net.loss, DATA, net.trainer, epochs=2, batch=8, on_step=steps.append, on_eval=on_eval
    )
    assert [(s.epoch, s.step, s.examples) for s in steps] == [
        (1, 1, 8), (1, 2, 16), (1, 3, 20), (2, 4, 8), (2, 5, 16), (2, 6, 20)
    ]  # fmt: skip
    assert all(isinstance(s.loss, float) and s.learning_rate == pytest.approx(0.05) for s in steps)
    assert [e.loss for e in evaluations] == history.losses
    assert (history.scores, history.best_epoch, history.best_score) == ([1.0, 2.0], 2, 2.0)
    seen = []
    call = dy.both(seen.append, lambda step: 0.5, lambda step: None)
    assert call(steps[0]) == 0.5 and seen == [steps[0]]


@pytest.mark.parametrize(
    ("scores", "larger", "epochs", "best"),
    [
        ([5, 4, 3, 9], True, 3, 1),
        ([5, 4, 3, 9, 8, 7], False, 5, 3),
        ([1, 2, 1, 3, 3, 3], True, 6, 4),
        ([NAN, 2, NAN, 3, NAN, NAN], True, 6, 4),
        ([2, NAN, 1, NAN, NAN], False, 5, 3),
        ([NAN, NAN], True, 2, None),
    ],
)
def test_early_stopping(scores, larger, epochs, best):
    net, left = Xor(), iter(scores)
    history = dy.fit(net.loss, DATA[:2], net.trainer, epochs=10, patience=1, larger_is_better=larger,
                     on_eval=lambda _: float(next(left)))  # fmt: skip
    assert history.stopped_early and len(history.losses) == epochs and history.best_epoch == best


def test_a_run_that_had_all_its_epochs_did_not_stop_early():
    net = Xor()
    history = dy.fit(net.loss, DATA[:2], net.trainer, epochs=3, patience=1,
                     on_eval=lambda s: -s.epoch)  # fmt: skip
    assert len(history.losses) == 3 and not history.stopped_early


def test_a_score_that_is_nan_is_in_no_checkpoint(tmp_path):
    net, left = Xor(), iter([NAN, 2.0, NAN])
    checkpoints = dy.Checkpointer(str(tmp_path), net.model, net.trainer, keep_last=9)
    history = dy.fit(net.loss, DATA[:2], net.trainer, epochs=3, checkpoint=checkpoints,
                     on_eval=lambda _: next(left))  # fmt: skip
    assert [score for _, _, score in checkpoints.checkpoints] == [None, 2.0, None]
    assert (history.best_epoch, history.best_score, len(history.scores)) == (2, 2.0, 3)
    again = dy.fit(net.loss, DATA[:2], net.trainer, epochs=3, checkpoint=checkpoints)
    assert (again.best_epoch, again.best_score) == (2, 2.0)


class Stop(Exception):
    pass


def train_on(folder, net, stop_at=None, **options):
    """A run with checkpoints, which is killed at ("step", 5), or at the end of an epoch."""

    def on_step(step):
        if ("step", step.step) == stop_at:
            raise Stop

    def on_eval(summary):
        if ("eval", summary.epoch) == stop_at:
            raise Stop
        return -summary.loss - 0.1 * (summary.epoch % 2) - summary.learning_rate

    options = {"epochs": 4, "batch": 3, "seed": 7, "every_steps": 1} | options
    checkpoints = dy.Checkpointer(
        str(folder), net.model, net.trainer, every_steps=options.pop("every_steps")
    )
    return dy.fit(
        net.loss, DATA, net.trainer, on_step=on_step, on_eval=on_eval, checkpoint=checkpoints,
        **options,
    )  # fmt: skip


def scheduled():
    net = Xor()
    net.trainer.set_schedule(dy.CosineSchedule(0.05, 28))
    return net


def test_a_resumed_training_is_the_same_to_the_bit(tmp_path):
    whole = scheduled()
    want = train_on(tmp_path / "whole", whole)
    assert want.steps == 28 and len(want.losses) == len(want.scores) == 4
    stops = [("step", n) for n in range(1, 29)] + [("eval", n) for n in range(1, 5)]
    for every, some in ((1, stops), (3, stops[5:10] + stops[-4:])):
        for stop in some:
            folder = tmp_path / f"{every}{stop}"
            with pytest.raises(Stop):
                train_on(folder, scheduled(), stop, every_steps=every)
            net = scheduled()
            assert train_on(folder, net, every_steps=every) == want
            assert net.numbers() == whole.numbers()
    again = scheduled()
    assert train_on(tmp_path / "whole", again) == want and again.numbers() == whole.numbers()


def test_a_run_that_stopped_early_does_not_go_on(tmp_path):
    net = Xor()
    checkpoints = dy.Checkpointer(str(tmp_path), net.model, net.trainer)
    options = {"epochs": 9, "patience": 1, "checkpoint": checkpoints}
    scores = iter([1, 3, 2, 2, 5, 4])
    options["on_eval"] = lambda _: next(scores)
    history = dy.fit(net.loss, DATA, net.trainer, **options)
    assert history.stopped_early and history.scores == [1, 3, 2, 2]
    numbers = net.numbers()
    assert dy.fit(net.loss, DATA, net.trainer, **options) == history and net.numbers() == numbers
    # With more patience, or more epochs after the last one, it does.
    more = dy.fit(net.loss, DATA, net.trainer, **options | {"patience": 5, "epochs": 6})
    assert more.scores == [1, 3, 2, 2, 5, 4] and more.best_epoch == 5 and not more.stopped_early
    assert more.losses[:4] == history.losses


@pytest.mark.parametrize("score", [3, True, np.float32(3), np.array(3.0), np.int64(3)])
def test_scores_are_numbers_of_any_kind(tmp_path, score):
    net = Xor()
    checkpoints = dy.Checkpointer(str(tmp_path), net.model, net.trainer)
    options = {"checkpoint": checkpoints, "on_eval": lambda _: score}
    history = dy.fit(net.loss, DATA, net.trainer, epochs=2, **options)
    assert history.scores == [float(score)] * 2 and type(history.best_score) is float
    assert dy.fit(net.loss, DATA, net.trainer, epochs=2, **options) == history
    with pytest.raises(dy.TypeError, match=r"on_eval, returned \[1\]; want a number"):
        dy.fit(net.loss, DATA, net.trainer, on_eval=lambda _: [1])


@pytest.mark.parametrize(
    "position", ["", "12", "1 2 - -", "[]", "{}", '{"epochs": null}', "[1," * 99]
)
def test_a_checkpoint_of_another_loop_is_refused(tmp_path, position):
    net = Xor()
    checkpoints = dy.Checkpointer(str(tmp_path / "run"), net.model, net.trainer)
    checkpoints.save(position)
    with pytest.raises(dy.UsageError, match="fit did not write") as e:
        dy.fit(net.loss, DATA, net.trainer, checkpoint=checkpoints)
    assert f"'{tmp_path / 'run'}'" in str(e.value) and f"'{position[:60]}" in str(e.value)


class Indexed:
    """Has the interface of other packages' data sets."""

    def __len__(self):
        return 20

    def __getitem__(self, i):
        return i  # for every number: there is no end but the length


@pytest.mark.parametrize("data", [Indexed(), np.arange(20), range(20), tuple(range(20))])
def test_all_that_has_numbered_examples_is_shuffled(data):
    def seen(shuffle):
        net, order = Xor(), []
        loss = lambda i: (order.append(int(i)), net.loss(DATA[i]))[1]  # noqa: E731
        dy.fit(loss, data, net.trainer, shuffle=shuffle)
        return order

    assert seen(False) == list(range(20)) == sorted(seen(True)) != seen(True)


def test_data_without_numbers_is_read_in_order():
    examples = dict(enumerate(DATA))
    for data in (examples, examples.keys(), dict.fromkeys(examples).items()):
        net, order = Xor(), []
        loss = lambda x: (order.append(x), net.loss(DATA[0]))[1]  # noqa: E731
        dy.fit(loss, data, net.trainer)
        assert order == list(data)


def test_ctrl_c_leaves_a_model_that_can_go_on():
    net, seen = Xor(), []

    def loss(example):
        seen.append(example)
        if len(seen) == 8:
            signal.raise_signal(signal.SIGINT)
        return net.loss(example)

    with pytest.raises(KeyboardInterrupt):
        dy.fit(loss, DATA, net.trainer, shuffle=False)
    assert net.model.gradient_l2_norm() == 0.0
    by_hand = Xor()
    dy.fit(by_hand.loss, DATA[:7], by_hand.trainer, shuffle=False)
    assert net.numbers() == by_hand.numbers()
    dy.fit(net.loss, DATA, net.trainer)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_for_terminals(monkeypatch):
    net = Xor()
    for stream, wanted, shows in ((Terminal(), True, True), (io.StringIO(), True, False), (Terminal(), False, False)):  # fmt: skip
        monkeypatch.setattr(sys, "stderr", stream)
        dy.fit(net.loss, DATA, net.trainer, epochs=2, progress=wanted)
        text = stream.getvalue()
        assert ("epoch 2/2  100%  loss " in text and text.endswith("\n")) == shows
        assert shows or text == ""


def test_there_need_not_be_a_standard_error_stream(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    net = Xor()
    assert len(dy.fit(net.loss, DATA, net.trainer).losses) == 1


def test_other_data():
    net = Xor()
    history = dy.fit(net.loss, (x for x in DATA), net.trainer, batch=2)
    assert history.steps == 10
    with pytest.raises(ValueError, match="iterator"):
        dy.fit(net.loss, (x for x in DATA), net.trainer, epochs=2)
    for wrong in ({"batch": 0}, {"epochs": -1}, {"patience": 1}):
        with pytest.raises(dy.ValueError, match="fit: "):
            dy.fit(net.loss, DATA, net.trainer, **wrong)
    with pytest.raises(dy.EmptyListError, match="fit: data is empty; want one example or more"):
        dy.fit(net.loss, [], net.trainer)


def test_sizes_are_whole_numbers_of_any_kind():
    nets = [Xor(), Xor()]
    for net, (epochs, batch, patience) in zip(nets, ((4 / 2, np.float32(8), 6 / 2), (2, 8, 3))):
        history = dy.fit(net.loss, DATA, net.trainer, epochs=epochs, batch=batch,
                         patience=patience, on_eval=lambda _: 1)  # fmt: skip
        assert history.steps == 6
    assert nets[0].numbers() == nets[1].numbers()
    for name in ("epochs", "batch", "patience"):
        for wrong in (2.5, "2", None, NAN, [2]):
            if (name, wrong) != ("patience", None):
                with pytest.raises(dy.TypeError, match=f"fit: {name} is .*want a whole number"):
                    dy.fit(net.loss, DATA, net.trainer, on_eval=float, **{name: wrong})


def test_wrong_arguments_are_named():
    net = Xor()
    good = {"loss_fn": net.loss, "data": DATA, "trainer": net.trainer}
    for name, wrong, want in (
        ("loss_fn", None, "a function"),
        ("data", 3, "a list of examples"),
        ("trainer", net.model, "a Trainer"),
        ("on_step", 3, "a function"),
        ("on_eval", "f1", "a function"),
        ("checkpoint", "folder", "a Checkpointer"),
    ):
        with pytest.raises(dy.TypeError, match=f"fit: {name} is .*; want {want}"):
            dy.fit(**(good | {name: wrong}))


def no_loss(example):
    dy.scalarInput(example[1])


def loss_of_two(example):
    return dy.inputVector(example[0])


class Losses:
    def __call__(self, example):
        return dy.zeros(1, batch_size=3)


@pytest.mark.parametrize(
    ("loss", "name", "error", "what"),
    [
        (no_loss, "no_loss", dy.TypeError, "returned None; want the loss of the example"),
        (loss_of_two, "loss_of_two", dy.ShapeError, r"of shape \(2,\); want one number"),
        (Losses(), "Losses", dy.ShapeError, r"of shape \(1,\), for 3 examples; want one"),
    ],
)
def test_a_wrong_loss_names_the_function_that_returned_it(loss, name, error, what):
    net = Xor()
    code = getattr(loss, "__code__", None) or Losses.__call__.__code__
    place = re.escape(f"fit: {name}() at {__file__}:{code.co_firstlineno} ")
    with pytest.raises(error, match=place + ".*" + what):
        dy.fit(loss, DATA, net.trainer)


def test_epochs_without_a_score_have_none(tmp_path):
    net = Xor()
    checkpoints = dy.Checkpointer(str(tmp_path), net.model, net.trainer)
    options = {"epochs": 4, "checkpoint": checkpoints}
    options["on_eval"] = lambda s: s.epoch if s.epoch % 2 == 0 else None
    history = dy.fit(net.loss, DATA, net.trainer, **options)
    assert history.scores == [None, 2.0, None, 4.0] and history.best_epoch == 4
    assert dy.fit(net.loss, DATA, net.trainer, **options) == history
    assert dy.fit(net.loss, DATA, net.trainer, epochs=2).scores == [None, None]


@pytest.mark.parametrize("larger", [True, False])
def test_what_is_better_is_the_same_for_checkpoints(tmp_path, larger):
    net = Xor()
    checkpoints = dy.Checkpointer(
        str(tmp_path), net.model, net.trainer, larger_is_better=not larger
    )
    assert checkpoints.larger_is_better == (not larger)
    with pytest.raises(dy.UsageError, match=f"is {larger}, and that of the checkpointer is"):
        dy.fit(net.loss, DATA, net.trainer, checkpoint=checkpoints, larger_is_better=larger)
    assert net.trainer.learning_rate and not checkpoints.checkpoints


# ---- TensorBoard ---------------------------------------------------------------------------------


def records(content):
    """The records of an event file; their checksums are right."""
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        assert content[8:12] == _tensorboard._checksum(content[:8])
        event = content[12 : 12 + length]
        assert content[12 + length : 16 + length] == _tensorboard._checksum(event)
        yield event
        content = content[16 + length :]


def test_checksums_are_those_of_the_standard():
    assert _tensorboard.crc32c(b"123456789") == 0xE3069283  # RFC 3720
    assert _tensorboard.crc32c(b"\x00" * 32) == 0x8A9136AA


def test_curves_for_tensorboard(tmp_path):
    net = Xor()
    board = dy.TensorBoard(str(tmp_path / "runs"), every=2)
    dy.fit(net.loss, DATA, net.trainer, batch=5, epochs=2, on_step=board)
    board.write("accuracy", 0.75, 300)
    board.close()
    (path,) = (tmp_path / "runs").iterdir()
    assert path.name.startswith("events.out.tfevents.")
    first, *events = records(path.read_bytes())
    assert first.endswith(b"\x1a\x0dbrain.Event:2")
    assert len(events) == 4 * 2 + 1
    assert events[-1].endswith(
        b"\x10\xac\x02"
        + b"\x2a\x11"
        + b"\x0a\x0f"
        + b"\x0a\x08accuracy"
        + b"\x15"
        + struct.pack("<f", 0.75)
    )
    with pytest.raises(ValueError, match="every"):
        dy.TensorBoard(str(tmp_path), every=0)


def points(folder):
    """The view of a folder in TensorBoard: the steps of each curve. The start of a session (field
    7, status 1) drops all points from its step on."""

    def fields(message):
        while message:
            key, message = message[0], message[1:]
            if key & 7 == 1:
                value, message = message[:8], message[8:]
            elif key & 7 == 5:
                value, message = message[:4], message[4:]
            else:
                n = shift = 0
                while True:
                    byte, message = message[0], message[1:]
                    n |= (byte & 0x7F) << shift
                    shift += 7
                    if byte < 0x80:
                        break
                value = n
                if key & 7 == 2:
                    value, message = message[:n], message[n:]
            yield key >> 3, value

    curves = {}
    for path in sorted(folder.iterdir()):
        for event in map(dict, map(fields, records(path.read_bytes()))):
            step = event.get(2, 0)
            if 7 in event:
                assert dict(fields(event[7])) == {1: 1}
                curves = {tag: [s for s in steps if s < step] for tag, steps in curves.items()}
            elif 5 in event:
                tag = dict(fields(dict(fields(event[5]))[1]))[1].decode()
                curves.setdefault(tag, []).append(step)
    return curves


@pytest.mark.parametrize("by_hand", [False, True])
def test_no_step_is_shown_twice_after_a_resume(tmp_path, by_hand):
    runs, saved = tmp_path / "runs", str(tmp_path / "saved")

    def train(epochs, stop_at=None):
        net = Xor()
        checkpoints = dy.Checkpointer(saved, net.model, net.trainer, every_steps=5)
        board = dy.TensorBoard(runs)

        def on_step(step):
            if step.step == stop_at:
                raise KeyboardInterrupt
            board(step)

        dy.fit(
            net.loss,
            DATA,
            net.trainer,
            batch=5,
            epochs=epochs,
            on_step=on_step,
            checkpoint=checkpoints,
        )

    with pytest.raises(KeyboardInterrupt):
        train(4, stop_at=11)
    if by_hand:
        board = dy.TensorBoard(runs, first_step=9)
        for step in range(9, 17):
            board.write("loss", 0.5, step)
            board.write("learning_rate", 0.5, step)
    else:
        train(4)
    assert points(runs) == {tag: list(range(1, 17)) for tag in ("loss", "learning_rate")}
    with pytest.raises(ValueError, match="first_step"):
        dy.TensorBoard(runs, first_step=-1)
