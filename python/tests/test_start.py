"""Importing, options, silence."""

from __future__ import annotations

import subprocess
import sys


def run(code: str, *args: str, ok: bool = True) -> str:
    """Output of a program; the library itself writes nothing."""
    result = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, timeout=60
    )
    assert (result.returncode == 0) == ok, result.stderr
    if ok:
        assert result.stderr == ""
        return result.stdout
    return result.stderr


def test_arguments_are_read_and_left():
    args = ["--dynet-seed", "5", "--mine", "--dynet-autobatch=0", "file"]
    code = "import dynet, sys; print(sys.argv[1:])"
    assert run(code, *args) == f"{args}\n"


def test_arguments_need_not_be_text():
    code = "import sys; sys.argv.append('caf\\udce9'); import dynet; print(len(sys.argv))"
    assert run(code, "--dynet-seed", "5") == "4\n"


def test_import_is_silent():
    assert (
        run("import dynet as dy; dy.renew_cg(); dy.parameter(dy.Model().add_parameters(2)).value()")
        == ""
    )


def test_a_seed_repeats():
    code = "import dynet as dy; print(dy.Model().add_parameters(3).as_array(), dy.random_normal(2).value())"
    assert run(code, "--dynet-seed", "5") == run(code, "--dynet_seed=5")
    assert run(code, "--dynet-seed", "5") != run(code, "--dynet-seed", "6")
    config = "import dynet_config; dynet_config.set(random_seed=5); " + code
    assert run(config) == run(code, "--dynet-seed", "5")


def test_config_goes_before_arguments_where_it_says_something():
    code = """
import dynet_config
dynet_config.set(random_seed=5)
import dynet as dy
print(dy.LSTMBuilder.__name__, dy.Model().add_parameters(3).as_array())
"""
    both = run(code, "--dynet-seed", "9", "--dynet-lstm", "vanilla")
    assert both.startswith("VanillaLSTMBuilder ")
    assert both.split(" ", 1)[1] == run(code).split(" ", 1)[1]


def test_variables_of_the_environment_are_options(monkeypatch):
    code = "import dynet as dy; print(dy.LSTMBuilder.__name__, dy.Model().add_parameters(3).as_array())"
    expected = run(code, "--dynet-seed", "5", "--dynet-lstm", "vanilla")
    monkeypatch.setenv("DYNET_LSTM", "vanilla")
    assert run(code, "--dynet-seed", "5") == expected
    monkeypatch.setenv("DYNET_SEED", "5")
    assert run(code) == expected
    assert run("import dynet_config; dynet_config.set(random_seed=5); " + code) == expected
    assert run(code, "--dynet-seed", "6") != expected
    monkeypatch.setenv("DYNET_AUTOBATCH", "yes")
    assert "DYNET_AUTOBATCH in the environment stands for --dynet-autobatch" in run(code, ok=False)


def test_lstm_option():
    code = "import dynet_config; dynet_config.set(lstm='vanilla'); import dynet as dy; print(dy.LSTMBuilder.__name__)"
    assert run(code) == "VanillaLSTMBuilder\n"
    assert run("from dynet import *; print(LSTMBuilder.__name__)") == "CoupledLSTMBuilder\n"


def test_bad_options_are_errors():
    for args in [
        ["--dynet-seed"],
        ["--dynet-seed", "x"],
        ["--dynet-lstm", "gru"],
        ["--dynet-devices", "TPU"],
        ["--dynet-precision", "medium"],
        ["--dynet-profiling", "9"],
    ]:
        assert "Error" in run("import dynet", *args, ok=False)


def test_longer_names_are_no_options():
    code = "import dynet as dy, sys; print(dy.ParameterCollection().add_parameters(2).as_array()[0], *sys.argv[1:])"
    words = [
        "--dynet-seedling",
        "5",
        "--dynet-gpu-idsx",
        "GPU:0",
        "--dynet-devices-x",
        "GPU:0",
        "--dynet-lstmx=gru",
    ]
    number = run(code, "--dynet-seed", "7").split()[0]
    assert run(code, "--dynet-seed", "7", *words).split() == [number, "--dynet-seed", "7", *words]


def test_a_bad_option_names_the_line_of_the_import():
    assert "called at <string>:2" in run("x = 1\nimport dynet", "--dynet-seed", "x", ok=False)


def test_what_is_set_but_not_there_is_an_error():
    code = "import dynet as dy; dy.set_float32_matmul_precision('high')"
    assert "would change nothing" in run(code, ok=False)


def test_a_cap_in_the_config():
    code = """
import dynet_config
dynet_config.set(mem_cap=4)
import dynet as dy
try:
    dy.ones((2048, 1024)).value()
except MemoryError as error:
    print("cap" in str(error))
"""
    assert run(code) == "True\n"


def test_old_star_imports():
    code = "from dynet import *; renew_cg(); print(np.float32(1.0), inputVector([1, 2]).value(), sys.argv[1:])"
    assert run(code, "x") == "1.0 [1.0, 2.0] ['x']\n"


def test_star_imports_leave_builtin_exceptions_alone():
    assert (
        run("from dynet import *; print(ValueError.__module__, IndexError.__module__)")
        == "builtins builtins\n"
    )


def test_the_extension_alone_does_not_start():
    code = "import _dynet as dy; p = dy.DynetParams(); p.set_random_seed(3); p.set_autobatch(False); p.init(); print(dy.scalarInput(2).value())"
    assert run(code) == "2.0\n"


def test_the_extension_alone_has_all_names_and_starts_by_the_programs_options():
    """Such programs take classes and functions before they start the library, and pickle them."""
    code = """
import _dynet as dy, pickle, tempfile
from _dynet import BiRNNBuilder, load, save
KINDS = {"tanh": dy.tanh, "lstm": dy.CoupledLSTMBuilder, "both": dy.BiRNNBuilder}
params = dy.DynetParams()
params.from_args()
params.set_random_seed(3)
params.init()
first = dy.random_normal(4).value()
copy = pickle.loads(pickle.dumps(KINDS))
print([copy[kind] is KINDS[kind] for kind in KINDS], BiRNNBuilder is KINDS["both"])
m = dy.ParameterCollection()
both = dy.BiRNNBuilder(1, 2, 4, m, KINDS["lstm"])
with tempfile.TemporaryDirectory() as folder:
    dy.save(folder + "/model", [both])
    again, = load(folder + "/model", dy.ParameterCollection())
x = dy.inputVector([1, -1])
print(again.transduce([x])[0].value() == both.transduce([x])[0].value())
dy.renew_cg()
dy.reset_random_seed(3)
print(first == dy.random_normal(4).value(), hasattr(dy, "no_such_name"), dy.np.float32(1))
"""
    assert run(code, "--dynet-seed", "5") == "[True, True, True] True\nTrue\nTrue False 1.0\n"


def test_the_extension_alone_knows_which_lstm_before_the_start():
    code = "import _dynet as dy; C = dy.LSTMBuilder; dy.init(); print(C is dy.LSTMBuilder, C)"
    assert run(code, "--dynet-lstm=vanilla") == "True <class 'dynet.VanillaLSTMBuilder'>\n"
    assert run(code) == "True <class 'dynet.CoupledLSTMBuilder'>\n"
    assert "want coupled or vanilla" in run(code, "--dynet-lstm=none", ok=False)


def test_the_extension_first_and_then_the_package():
    code = """
import _dynet
builder = _dynet.BiRNNBuilder  # imports the package, without its start
_dynet.init()
import dynet as dy
dy.renew_cg()
print(builder is dy.BiRNNBuilder, dy.scalarInput(2).value())
"""
    assert run(code) == "True 2.0\n"


def test_the_double_device():
    code = """
import dynet as dy, numpy as np
x = dy.inputVector([0.1])
y = dy.exp(dy.exp(x))
print(y.npvalue().dtype, abs(y.value() - np.exp(np.exp(np.float64(np.float32(0.1))))) < 1e-12)
"""
    assert run(code, "--dynet-devices", "CPU:double") == "float64 True\n"


def test_messages_go_to_logging():
    code = """
import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(name)s: %(message)s")
import dynet as dy
dy.init()  # a second start changes nothing, and says so to the log
"""
    assert run(code).startswith("dynet: ")


def test_mem_may_be_a_number():
    code = "import dynet_config; dynet_config.set(mem=64); import dynet as dy; print(dy.ones(1).value())"
    assert run(code) == "1.0\n"


def test_devices():
    code = "import dynet as dy; print(dy.available_devices())"
    assert "CPU" in run(code)
