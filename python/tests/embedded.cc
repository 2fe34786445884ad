// Python in a program that starts it, ends it, and starts it again. The second Python is told that
// it cannot have the module.

#include <Python.h>

#include <cstdio>

namespace {

/// Whether the code ran to its end.
bool run(const char* code) {
  Py_Initialize();
  const bool is_right = PyRun_SimpleString(code) == 0;
  return Py_FinalizeEx() == 0 && is_right;
}

constexpr char kFirst[] = R"(
import dynet as dy
m = dy.ParameterCollection()
w = m.add_parameters((2, 2), init=1.0)
y = dy.tanh(w * dy.inputVector([0.0, 0.0]))
assert dy.sum_elems(y).value() == 0.0
class Own:
    def forward(self, x): return x
    def backward(self, xs, y, dy): return dy
kept = [dy.apply(Own(), y), dy.VanillaLSTMBuilder(1, 2, 2, m), dy.AdamTrainer(m)]
)";

constexpr char kSecond[] = R"(
for name in ("dynet", "_dynet"):
    try:
        __import__(name)
    except ImportError as e:
        assert "once in a process" in str(e), e
    else:
        raise AssertionError(name)
)";

}  // namespace

int main() {
  if (!run(kFirst)) {
    return 1;
  }
  for (int k = 0; k < 3; ++k) {
    if (!run(kSecond)) {
      return 2;
    }
  }
  return 0;
}
