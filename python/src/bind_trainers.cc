// Trainers.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "dynet/training.h"

#include "binding.h"

namespace dynet::python {
namespace {

// Above it an update takes some 100 us, and other Python threads may go on meanwhile.
constexpr std::size_t kManyValues = 500'000;

void update(Trainer& t) {
  if (t.model->parameter_count() < kManyValues) {
    t.update();
  } else {
    const nb::gil_scoped_release released;
    t.update();
  }
}

std::string lookup_updates(const Trainer& t) {
  std::ostringstream name;
  name << t.lookup_updates();
  return name.str();
}
void set_lookup_updates(Trainer& t, const std::string& name) {
  std::istringstream word(name);
  LookupUpdates how{};
  word >> how;
  t.set_lookup_updates(how);
}

void set_clip_threshold(Trainer& t, float threshold) {
  t.clipping_enabled = threshold > 0.0F;
  t.clip_threshold = threshold > 0.0F ? threshold : 0.0F;
}

void bind_base(nb::module_& m) {
  using nb::arg;
  nb::class_<Trainer>(m, "Trainer", "Base of the trainers. It keeps its collection alive.")
      .def("update", &update, "Changes the parameters by their gradients, and empties these.")
      .def(
          "update_epoch", [](Trainer& t, float r) { t.update_epoch(r); }, arg("r") = 1.0F,
          "Ends an epoch, as before 2.0.")
      .def(
          "restart",
          [](Trainer& t, std::optional<float> rate) {
            if (rate) {
              t.restart(*rate);
            } else {
              t.restart();
            }
          },
          arg("learning_rate") = nb::none(), "Forgets momentum and its like.")
      .def("status", &Trainer::status, "Rate, clips and updates on the standard error stream.")
      .def(
          "set_sparse_updates", [](Trainer& t, bool su) { t.sparse_updates_enabled = su; },
          arg("su"), "Whether rows of tables without a gradient stay as they are (the default).")
      .def_prop_rw("lookup_updates", &lookup_updates, &set_lookup_updates,
                   nb::for_setter(
                       nb::sig("def lookup_updates(self, value: typing.Literal['sparse', 'dense', "
                               "'exact'], /) -> None")),
                   "What an update does to the rows of tables without a gradient. 'sparse' (the "
                   "default): nothing. 'dense': what it does to every parameter. 'exact': the "
                   "numbers of 'dense' at about the cost of 'sparse'.")
      .def("set_clip_threshold", &set_clip_threshold, arg("thr"),
           "Largest norm of all gradients; 0 or less: no limit.")
      .def("get_clip_threshold", [](const Trainer& t) { return t.clip_threshold; })
      .def_prop_rw(
          "learning_rate", [](const Trainer& t) { return t.learning_rate; },
          [](Trainer& t, float rate) { t.learning_rate = rate; })
      .def(
          "set_learning_rate", [](Trainer& t, float rate) { t.learning_rate = rate; },
          arg("value"));
}

}  // namespace

void bind_trainers(nb::module_& m) {
  using nb::arg;
  bind_base(m);
  nb::class_<SimpleSGDTrainer, Trainer>(m, "SimpleSGDTrainer", "w -= learning_rate * g.")
      .def(nb::init<ParameterCollection&, float>(), arg("m"), arg("learning_rate") = 0.1F)
      .def("whoami", [](const SimpleSGDTrainer&) { return "SimpleSGDTrainer"; });
  nb::class_<MomentumSGDTrainer, Trainer>(m, "MomentumSGDTrainer",
                                          "v = mom * v - learning_rate * g, w += v.")
      .def(nb::init<ParameterCollection&, float, float>(), arg("m"), arg("learning_rate") = 0.01F,
           arg("mom") = 0.9F)
      .def("whoami", [](const MomentumSGDTrainer&) { return "MomentumSGDTrainer"; });
  nb::class_<AdamTrainer, Trainer>(m, "AdamTrainer", "Adam (Kingma and Ba, 2015).")
      .def(nb::init<ParameterCollection&, float, float, float, float>(), arg("m"),
           arg("alpha") = 0.001F, arg("beta_1") = 0.9F, arg("beta_2") = 0.999F, arg("eps") = 1e-8F)
      .def("whoami", [](const AdamTrainer&) { return "AdamTrainer"; });
  nb::class_<AmsgradTrainer, Trainer>(m, "AmsgradTrainer", "AMSGrad (Reddi, Kale and Kumar, 2018).")
      .def(nb::init<ParameterCollection&, float, float, float, float>(), arg("m"),
           arg("alpha") = 0.001F, arg("beta_1") = 0.9F, arg("beta_2") = 0.999F, arg("eps") = 1e-8F)
      .def("whoami", [](const AmsgradTrainer&) { return "AmsgradTrainer"; });
}

}  // namespace dynet::python
