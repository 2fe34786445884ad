"""Every public name of DyNet 2.1 (names.py) is there, with its keyword names and defaults."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys

import dynet as dy
import dynet_config
import names
import pytest

Signature = dict[str, object]
REQUIRED = object()


def parsed(line: str) -> tuple[str, Signature | None]:
    """The name in a line of names.py, and its arguments; None if it is not a function."""
    if "(" not in line:
        return line, None
    call = ast.parse(f"def {line}: pass").body[0]
    assert isinstance(call, ast.FunctionDef)
    arguments = call.args.args
    defaults = [REQUIRED] * (len(arguments) - len(call.args.defaults))
    defaults += [ast.literal_eval(d) for d in call.args.defaults]
    return call.name, {a.arg: d for a, d in zip(arguments, defaults)}


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def signatures_of(function: object) -> list[Signature]:
    """The arguments of a function of the module or the package, for each overload."""
    if isinstance(function, property):
        return []
    overloads = getattr(function, "__nb_signature__", None)
    if overloads is None:
        parameters = inspect.signature(function).parameters.values()
        return [
            {
                p.name: REQUIRED if p.default is p.empty else p.default
                for p in parameters
                if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
            }
        ]
    return [signature_in_stub(text, defaults or ()) for text, _, defaults in overloads]


def signature_in_stub(text: str, values: tuple[object, ...]) -> Signature:
    """`def f(x: int = \\0) -> None`, whose defaults are numbered."""
    call = ast.parse(re.sub(r"= \\(\d+)", r"= _default[\1]", text) + ": ...").body[0]
    assert isinstance(call, ast.FunctionDef)
    arguments = [*call.args.posonlyargs, *call.args.args]
    plain = [REQUIRED] * (len(arguments) - len(call.args.defaults)) + list(call.args.defaults)
    result: Signature = {}
    for argument, default in zip(arguments, plain):
        if isinstance(default, ast.Subscript):
            assert isinstance(default.slice, ast.Constant)
            result[argument.arg] = values[default.slice.value]
        elif isinstance(default, ast.AST):
            result[argument.arg] = ast.literal_eval(default)
        else:
            result[argument.arg] = default
    return result


def fits(wanted: Signature, there: Signature) -> bool:
    """Whether a call by position or by keyword that was right is right, and means the same.

    An argument without a default in 2.1 may have one here, and more arguments may follow.
    """
    there = {name: value for name, value in there.items() if name not in ("self", "cls")}
    if list(there)[: len(wanted)] != list(wanted):
        return False
    if any(there[name] is REQUIRED for name in list(there)[len(wanted) :]):
        return False
    return all(
        default is REQUIRED or equal(default, there[name]) for name, default in wanted.items()
    )


def equal(a: object, b: object) -> bool:
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return b == pytest.approx(a, rel=1e-6)  # float32 in the module
    if isinstance(a, list) and isinstance(b, (list, tuple)):
        return list(a) == list(b)
    return a == b


# Defaults and arguments that differ from 2.1 on purpose; docs/coming-from-dynet-2.1.md.
OTHERWISE = {
    "dynet_config.set": "autobatch is on by default; options of version 3 at the end",
}


def missing_in(owner: object, prefix: str, text: str) -> list[str]:
    """Absent names, and names with other arguments."""
    found = []
    for line in lines(text):
        name, wanted = parsed(line)
        if prefix + name in OTHERWISE:
            continue
        if name == prefix.rstrip("."):  # the constructor
            there = getattr(dy, name).__init__
        elif hasattr(owner, name):
            there = getattr(owner, name)
        else:
            found.append(f"{prefix}{name} is absent")
            continue
        if wanted is None or not wanted:
            continue
        signatures = signatures_of(there)
        if not any(fits(wanted, signature) for signature in signatures):
            found.append(f"{prefix}{line}: has {signatures}")
    return found


def test_functions():
    assert missing_in(dy, "", names.FUNCTIONS) == []


def test_elementwise_functions():
    for arguments, functions in names.ELEMENTWISE.items():
        text = "\n".join(f"{name}({arguments})" for name in functions.split())
        assert missing_in(dy, "", text) == []


@pytest.mark.parametrize("name", names.CLASSES)
def test_class(name):
    assert missing_in(getattr(dy, name), name + ".", names.CLASSES[name]) == []


def test_aliases_constants_and_config():
    for alias, name in names.ALIASES.items():
        assert getattr(dy, alias) is getattr(dy, name)
    for name in names.CONSTANTS + names.LEAKED:
        assert hasattr(dy, name)
    assert missing_in(dynet_config, "dynet_config.", names.CONFIG) == []
    there = signatures_of(dynet_config.set)[0]
    _, wanted = parsed(lines(names.CONFIG)[0])
    assert wanted is not None
    assert {k: there[k] for k in wanted} == {**wanted, "autobatch": 1}


def test_star_brings_them_all():
    scope: dict[str, object] = {}
    exec("from dynet import *", scope)
    wanted = [parsed(line)[0] for line in lines(names.FUNCTIONS)]
    wanted += [*names.CLASSES, *names.ALIASES, *names.LEAKED, "dynet_config"]
    assert [name for name in wanted if name not in scope] == []


def test_the_check_itself_sees_what_is_wrong():
    wanted = parsed("softmax(x, d=0)")[1]
    assert wanted is not None
    assert fits(wanted, {"x": REQUIRED, "d": 0})
    assert fits(wanted, {"x": REQUIRED, "d": 0, "more": 1})
    assert not fits(wanted, {"x": REQUIRED, "d": 1})
    assert not fits(wanted, {"x": REQUIRED, "dim": 0})
    assert not fits(wanted, {"x": REQUIRED, "d": 0, "more": REQUIRED})
    assert not fits(wanted, {"x": REQUIRED, "d": REQUIRED})
    assert missing_in(dy, "", "tanhh(x)\ntanh(y)") != []


# ---- behaviour that no other file tests ----------------------------------------------------------


def test_holders():
    count, number = dy.UnsignedValue(3), dy.FloatValue()
    count.set(5)
    number.set(2)
    assert (count.get(), number.get()) == (5, 2.0)
    assert dy.UnsignedValue().get() == 0
    counts, numbers = dy.UnsignedVectorValue([1, 2]), dy.FloatVectorValue([1, 2.5])
    counts.set([7])
    assert (counts.get(), counts.size(), numbers.get(), numbers.size()) == ([7], 1, [1.0, 2.5], 2)
    with pytest.raises(OverflowError):
        dy.UnsignedValue(-1)
    with pytest.raises(TypeError):
        counts.set([1.5])


def test_names_that_only_raise():
    for call in (lambda: dy.matInput(2, 3), lambda: dy.inputMatrix([1, 2], (1, 2))):
        with pytest.raises(DeprecationWarning, match="inputTensor"):
            call()
    with pytest.raises(NotImplementedError, match="get_components"):
        dy.Saveable().get_components()


def test_inputs_of_a_graph():
    graph = dy.cg()
    e = graph.inputMatrixLiteral([1, 2, 3, 4], (2, 2))
    assert e.npvalue().tolist() == [[1, 3], [2, 4]]
    e.set([5, 6, 7, 8])
    assert e.npvalue().tolist() == [[5, 7], [6, 8]]
    sparse = graph.inputSparseTensor([1, 5], [2.0, 3.0], (3,), batch_size=2, defval=-1)
    assert sparse.npvalue().tolist() == [[-1, -1], [2, -1], [-1, 3]]
    with pytest.raises(dy.IndexError):
        graph.inputSparseTensor([6], [2.0], (3,), batch_size=2)


@pytest.mark.skipif(dy.HAVE_CUDA, reason="a library of GPUs is installed")
def test_gpus_that_are_not_there_are_a_warning():
    params = dy.DynetParams()
    with pytest.warns(UserWarning, match="DynetParams asks for a GPU: .* has no CUDA"):
        params.set_requested_gpus(1)
    with pytest.warns(UserWarning, match="DynetParams asks for a GPU: .* has no CUDA"):
        params.set_gpu_mask([0, 1])
    params.set_requested_gpus(0)
    params.set_gpu_mask([0, 0])
    with pytest.raises(ValueError, match="0 or 1"):
        params.set_gpu_mask([2])


def test_the_module_that_drew_graphs_has_what_dynet_has(capfd):
    import dynet_viz as viz

    viz.renew_cg()
    viz.tanh(viz.inputVector([1, 2]))
    viz.print_graphviz()
    assert "tanh" in capfd.readouterr().out and viz.tanh is dy.tanh
    assert {name for name in vars(dy) if name[0] != "_"} - set(vars(viz)) <= set(hidden_by_star())


def hidden_by_star():
    everything = {}
    exec("from dynet import *", everything)
    return [name for name in vars(dy) if name not in everything]


def test_print_graphviz_prints_and_dump_works_before_a_backward(capfd):
    dy.scalarInput(3.0)
    dy.print_graphviz(compact=True, show_dims=False)
    out, err = capfd.readouterr()
    assert out.startswith("digraph") and "v0" in out and err == ""
    dy.dump_cg()
    assert "node 0" in capfd.readouterr().out


def test_a_star_brings_no_new_short_names():
    """Programs of 2.1 may have their own modules, even after a use of these."""
    code = "import dynet; dynet.fit, dynet.Step; from dynet import *; print(sorted(globals()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    brought = set(ast.literal_eval(done.stdout))
    assert {"Saveable", "tanh", "np"} <= brought
    assert not {"fit", "Step", "History", "both", "TensorBoard", "TYPE_CHECKING"} & brought
