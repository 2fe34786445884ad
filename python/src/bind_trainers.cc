// Trainers.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "dynet/training.h"

#include "binding.h"

namespace dynet::python {
namespace {

// Above it an update takes some 100 us, and other Python threads may go on meanwhile.
constexpr std::size_t kManyValues = 500'000;

void update(Trainer& t) {
  const bool waits = !default_device->is_host_visible();  // for the norm of all gradients
  if (!waits && t.model->parameter_count() < kManyValues) {
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

/// ValueError unless `value` is a number.
void check(const char* call, float value, bool may_be_infinite) {
  if (std::isnan(value) || (std::isinf(value) && !may_be_infinite)) {
    throw ValueError(std::string(call) + " is " + std::to_string(value) + "; want " +
                     (may_be_infinite ? "a number (0 or less: no limit)" : "a finite number"));
  }
}
void set_rate(Trainer& t, float rate) {
  check("learning_rate", rate, false);
  t.learning_rate = rate;
}

void set_clip_threshold(Trainer& t, float threshold) {
  check("set_clip_threshold: the threshold", threshold, true);
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
          "learning_rate", [](const Trainer& t) { return t.learning_rate; }, &set_rate)
      .def("set_learning_rate", &set_rate, arg("value"))
      .def(
          "save",
          [](Trainer& t) {
            std::ostringstream text;
            t.save(text);
            return text.str();
          },
          "The trainer's state, its rate and its counts, as text.")
      .def(
          "populate",
          [](Trainer& t, const std::string& text) {
            std::istringstream is(text);
            t.populate(is);
          },
          arg("text"), "Takes back what save() gave; all or nothing.");
}

template <std::size_t>
using Float = float;

/// One trainer, as its kAbout says.
template <class T, std::size_t... kI>
void bind(nb::module_& m, std::index_sequence<kI...> /*arguments*/) {
  nb::class_<T, Trainer>(m, T::kAbout.name, T::kAbout.summary)
      .def(nb::init<ParameterCollection&, Float<kI>...>(), nb::arg("m"),
           (nb::arg(T::kAbout.arguments[kI].name) = T::kAbout.arguments[kI].value)...)
      .def("whoami", [](const T&) { return T::kAbout.name; });
}

}  // namespace

void bind_trainers(nb::module_& m) {
  bind_base(m);
  trainers::AllTrainers::for_each([&]<class T>(const T*) {
    bind<T>(m, std::make_index_sequence<std::size(T::kAbout.arguments)>());
  });
}

}  // namespace dynet::python
