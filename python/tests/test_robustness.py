"""Programs that must raise an exception, or go on. Each crashed once, so it runs in its own
process."""

import subprocess
import sys
import textwrap

import dynet as dy
import numpy as np
import pytest
from far import PRELUDE


def run(program):
    """The program's output; a crash fails."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PRELUDE + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout


def test_a_thread_ends_while_another_runs_backward_in_its_graph():
    out = run("""
        import threading
        import dynet as dy

        m = dy.ParameterCollection()
        w = m.add_parameters((400, 400), init=0.001)

        def build(box, built, may_end):
            x = dy.inputVector([1.0] * 400)
            for _ in range(600):
                x = dy.tanh(w * x + 0.001)
            box.append(dy.sum_elems(x))
            built.set()
            may_end.wait()

        def backward(loss, results):
            loss.backward()
            results.append(loss.value() > 0)

        for _ in range(3):
            box, results, built, may_end = [], [], threading.Event(), threading.Event()
            owner = threading.Thread(target=build, args=(box, built, may_end))
            owner.start()
            built.wait()
            runner = threading.Thread(target=backward, args=(box[0], results))
            runner.start()
            may_end.set()
            owner.join()
            runner.join()
            # The graph ended with its thread, in the middle of backward or before the value.
            assert box[0].is_stale()
        print("survived")
    """)
    assert "survived" in out


def test_objects_that_were_not_initialised():
    out = run("""
        import inspect
        import _dynet
        import dynet as dy

        touched = 0
        for name, cls in sorted(vars(_dynet).items()):
            if not inspect.isclass(cls) or issubclass(cls, BaseException):
                continue
            try:
                objects = [cls.__new__(cls)]
            except TypeError:
                continue
            try:
                objects.append(type("Sub", (cls,), {"__init__": lambda self: None})())
            except TypeError:
                pass
            for x in objects:
                for member in dir(cls):
                    if member in ("__init__", "__new__", "__class__") or member.startswith("__init"):
                        continue
                    for args in [(), (x,), (0,), ([],), ([x],), (x, x), (0.5, x)]:
                        try:
                            got = getattr(x, member)
                            if callable(got):
                                got(*args)
                        except Exception:
                            pass
                        touched += 1
                for f in (dy.tanh, dy.esum, dy.parameter, dy.concatenate, lambda x: x + x,
                          lambda x: x * 2.0, lambda x: -x, lambda x: x[0], dy.values,
                          lambda x: dy.esum([x, x]), dy.SimpleSGDTrainer,
                          lambda x: dy.ParameterCollection().add_parameters(2, init=x)):
                    try:
                        f(x)
                    except Exception:
                        pass
        assert touched > 1000, touched
        print("survived")
    """)
    assert "survived" in out


@pytest.mark.parametrize(
    "base",
    [
        dy.SimpleRNNBuilder,
        dy.GRUBuilder,
        dy.LSTMBuilder,
        dy.VanillaLSTMBuilder,
        dy.SparseLSTMBuilder,
        dy.BinaryTreeLSTMBuilder,
        dy.TreeRNNBuilder,
    ],
)
@pytest.mark.filterwarnings("ignore:nanobind")
def test_a_builder_that_skips_init_is_a_type_error(base):
    class Mine(base):
        def __init__(self):
            pass

    builder = Mine()
    calls = [builder.param_collection, builder.get_parameters]
    if hasattr(base, "initial_state"):
        with pytest.raises(TypeError, match=r"super\(\).__init__\(\)"):
            builder.initial_state()
    else:
        calls += [builder.new_graph, lambda: builder.add_input(dy.inputVector([1.0]))]
    for call in calls:
        with pytest.raises(TypeError):
            call()


def test_operators_of_objects_that_were_not_initialised():
    x = dy.Expression.__new__(dy.Expression)
    y = dy.inputVector([1.0])
    for f in [lambda: x + y, lambda: y + x, lambda: x * 2.0, lambda: -x, lambda: dy.tanh(x)]:
        with pytest.raises(TypeError):
            f()
    table = dy.LookupParameters.__new__(dy.LookupParameters)
    with pytest.raises(TypeError):
        table[0]


def test_an_array_for_another_shape():
    m = dy.ParameterCollection()
    array = np.ones((2, 3))
    for dim in [(3, 2), 6, (2, 3, 1)]:
        with pytest.raises(dy.ShapeError, match=r"the numbers are \{2,3\} and the parameter is"):
            m.add_parameters(dim, init=dy.NumpyInitializer(array))
    for dim in [(3, 2), 6, (2, 3, 2)]:
        with pytest.raises(
            dy.ShapeError, match=r"init is an array of shape \(2, 3\); want equal shapes"
        ):
            m.add_parameters(dim, init=array)
    for init in (array, dy.NumpyInitializer(array)):
        assert m.add_parameters((2, 3), init=init).as_array().tolist() == [[1, 1, 1], [1, 1, 1]]
    rows = np.arange(12.0).reshape(4, 3)
    for dim in [(3, 4), (5, 3), (12, 1), 12]:
        with pytest.raises(dy.ShapeError, match="want equal shapes"):
            m.add_lookup_parameters(dim, init=rows)
    np.testing.assert_array_equal(m.add_lookup_parameters((4, 3), init=rows).as_array(), rows)
    column = m.add_lookup_parameters(4, init=np.arange(4.0))
    assert column[2].value() == 2.0
    assert m.add_parameters(1, init=np.array(0.5)).value() == 0.5
    assert len(m.parameters_list()) == 3 and len(m.lookup_parameters_list()) == 2


def test_extents_that_do_not_fit_32_bits():
    with pytest.raises(dy.SizeError, match="4294967296"):
        dy.inputTensor(np.zeros((2**32, 0), np.float32))
    with pytest.raises(dy.SizeError, match="4294967296"):
        dy.inputTensor(np.zeros((0, 2**32), np.float32), batched=True)
    with pytest.raises(dy.SizeError, match="VanillaLSTMBuilder"):
        dy.VanillaLSTMBuilder(1, 4, 2**30, dy.ParameterCollection())
