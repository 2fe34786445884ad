// Trainers.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dynet/schedules.h"
#include "dynet/trainers/all.h"
#include "dynet/training.h"

#include "binding.h"
#include "gil.h"
#include "text_of.h"
#include "texts.h"

namespace dynet::python {
namespace {

// Above it an update takes some 100 us, and other Python threads may go on meanwhile.
constexpr std::size_t kManyValues = 500'000;

template <class... Parts>
void update(Trainer& t, const Parts&... parts) {
  const bool waits = !default_device->is_host_visible();  // for the norm of all gradients
  if (!waits && t.model->parameter_count() < kManyValues) {
    t.update(parts...);
  } else {
    const WithoutGil released;
    t.update(parts...);
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
    throw errors::ValueError(
        std::string(call) + " is " + std::to_string(value) + "; want " +
        (may_be_infinite ? "a number (0 or less: no limit)" : "a finite number"));
  }
}
void set_clip_threshold(Trainer& t, float threshold) {
  check("set_clip_threshold: the threshold", threshold, true);
  t.clipping_enabled = threshold > 0.0F;
  t.clip_threshold = threshold > 0.0F ? threshold : 0.0F;
}
void set_clip_value(Trainer& t, float value) {
  check("set_clip_value: the value", value, true);
  t.clip_value = value > 0.0F ? value : std::numeric_limits<float>::infinity();
}

/// A schedule, or a rate that stays.
using ScheduleOrRate = std::variant<Schedule::Pointer, double>;
Schedule::Pointer schedule_from(const ScheduleOrRate& s) {
  const auto* rate = std::get_if<double>(&s);
  return rate == nullptr ? std::get<Schedule::Pointer>(s)
                         : std::make_shared<ConstantSchedule>(*rate);
}
/// ValueError below 0.
std::uint64_t count_from(const char* what, std::int64_t n) {
  if (n < 0) {
    throw errors::ValueError(std::string(what) + " is " + std::to_string(n) + "; want 1 or more");
  }
  return static_cast<std::uint64_t>(n);
}

/// "CosineSchedule(0.1, 100, 0)".
std::string schedule_text(const Schedule& s) {
  std::string text = std::string(s.name()) + "(";
  std::vector<double> numbers = s.numbers();
  if (text == "PlateauSchedule(") {
    numbers.resize(6);  // the others are reported metrics
  }
  for (const double n : numbers) {
    text += (text.back() == '(' ? "" : ", ") + short_text(n);
  }
  const Schedule::Pointer inner = s.inner();
  return text + (inner == nullptr ? "" : ", " + schedule_text(*inner)) + ")";
}

void bind_schedules(nb::module_& m) {
  using nb::arg;
  nb::class_<Schedule>(m, "Schedule", texts::Schedule)
      .def(
          "rate",
          [](const Schedule& s, std::int64_t done) {
            return s.rate(count_from("rate: the number of updates", done));
          },
          arg("done"), texts::Schedule_rate)
      .def("__repr__", &schedule_text);
  nb::class_<ConstantSchedule, Schedule>(m, "ConstantSchedule", texts::ConstantSchedule)
      .def(nb::init<double>(), arg("rate"));
  nb::class_<WarmupSchedule, Schedule>(m, "WarmupSchedule", texts::WarmupSchedule)
      .def(
          "__init__",
          [](WarmupSchedule* self, std::int64_t updates, const ScheduleOrRate& then) {
            new (self) WarmupSchedule(count_from("WarmupSchedule: the number of updates", updates),
                                      schedule_from(then));
          },
          arg("updates"), arg("then"));
}

void bind_curves(nb::module_& m) {
  using nb::arg;
  nb::class_<CosineSchedule, Schedule>(m, "CosineSchedule", texts::CosineSchedule)
      .def(
          "__init__",
          [](CosineSchedule* self, double rate, std::int64_t updates, double last) {
            new (self) CosineSchedule(
                rate, count_from("CosineSchedule: the number of updates", updates), last);
          },
          arg("rate"), arg("updates"), arg("last") = 0.0);
  nb::class_<InverseSquareRootSchedule, Schedule>(m, "InverseSquareRootSchedule",
                                                  texts::InverseSquareRootSchedule)
      .def(
          "__init__",
          [](InverseSquareRootSchedule* self, double rate, std::int64_t warmup) {
            new (self) InverseSquareRootSchedule(
                rate, count_from("InverseSquareRootSchedule: warmup", warmup));
          },
          arg("rate"), arg("warmup") = 1);
  nb::class_<CyclicalSchedule, Schedule>(m, "CyclicalSchedule", texts::CyclicalSchedule)
      .def(nb::init<double, double, double, double>(), arg("min"), arg("max"), arg("step_size"),
           arg("gamma") = 1.0);
}

void bind_plateau(nb::module_& m) {
  using nb::arg;
  nb::class_<PlateauSchedule, Schedule>(m, "PlateauSchedule", texts::PlateauSchedule)
      .def(
          "__init__",
          [](PlateauSchedule* self, double rate, double factor, std::int64_t patience,
             double threshold, double last, bool larger_is_better) {
            new (self) PlateauSchedule(rate, factor,
                                       static_cast<unsigned>(std::min<std::uint64_t>(
                                           count_from("PlateauSchedule: patience", patience),
                                           std::numeric_limits<unsigned>::max())),
                                       threshold, last, larger_is_better);
          },
          arg("rate"), arg("factor") = 0.1, arg("patience") = 10, arg("threshold") = 1e-4,
          arg("last") = 0.0, arg("larger_is_better") = false);
}

/// Functions that 2.1 does not have in Python.
void bind_additions(nb::class_<Trainer>& trainer) {
  using nb::arg;
  trainer.def("set_clip_value", &set_clip_value, arg("value"), texts::Trainer_clip_value)
      .def(
          "get_clip_value",
          [](const Trainer& t) { return std::isfinite(t.clip_value) ? t.clip_value : 0.0F; },
          texts::Trainer_clip_value)
      .def(
          "set_schedule", [](Trainer& t, const Schedule::Pointer& s) { t.set_schedule(s); },
          arg("schedule").none(), texts::Trainer_set_schedule)
      .def_prop_ro(
          "schedule", [](const Trainer& t) { return t.schedule(); }, texts::Trainer_schedule)
      .def("report_metric", &Trainer::report_metric, arg("metric"), texts::Trainer_report_metric)
      .def("exponential_moving_average", &Trainer::exponential_moving_average, arg("beta"),
           arg("update_freq") = 1U, texts::Trainer_exponential_moving_average)
      .def("cumulative_moving_average", &Trainer::cumulative_moving_average,
           arg("update_freq") = 1U, texts::Trainer_cumulative_moving_average)
      .def("swap_params_to_moving_average", &Trainer::swap_params_to_moving_average,
           arg("save_weights") = true, arg("bias_correction") = false,
           texts::Trainer_swap_params_to_moving_average)
      .def("swap_params_to_weights", &Trainer::swap_params_to_weights,
           texts::Trainer_swap_params_to_weights);
}

void bind_updates(nb::class_<Trainer>& trainer) {
  using nb::arg;
  trainer.def(
             "update", [](Trainer& t) { update(t); }, texts::Trainer_update)
      .def(
          "update_subset",
          [](Trainer& t, nb::handle updated_params, nb::handle updated_lookups) {
            update(t, read_indices(updated_params), read_indices(updated_lookups));
          },
          arg("updated_params"), arg("updated_lookups"),
          nb::sig("def update_subset(self, updated_params: collections.abc.Sequence[int], "
                  "updated_lookups: collections.abc.Sequence[int]) -> None"),
          texts::Trainer_update_3);
}

void bind_trainer_base(nb::module_& m) {
  using nb::arg;
  nb::class_<Trainer> trainer(m, "Trainer", texts::Trainer);
  bind_additions(trainer);
  bind_updates(trainer);
  trainer
      .def(
          "update_epoch", [](Trainer& t, float r) { t.update_epoch(r); }, arg("r") = 1.0F,
          texts::Trainer_update_epoch)
      .def(
          "restart",
          [](Trainer& t, std::optional<float> rate) {
            if (rate) {
              t.restart(*rate);
            } else {
              t.restart();
            }
          },
          arg("learning_rate") = nb::none(), texts::Trainer_restart)
      .def("status", &Trainer::status, texts::Trainer_status)
      .def(
          "set_sparse_updates", [](Trainer& t, bool su) { t.sparse_updates_enabled = su; },
          arg("su"), "Whether rows of tables without a gradient stay as they are (the default).")
      .def_prop_rw("lookup_updates", &lookup_updates, &set_lookup_updates,
                   nb::for_setter(
                       nb::sig("def lookup_updates(self, value: typing.Literal['sparse', 'dense', "
                               "'exact'], /) -> None")),
                   texts::Trainer_set_lookup_updates)
      .def("set_clip_threshold", &set_clip_threshold, arg("thr"), texts::Trainer_clip_threshold)
      .def(
          "get_clip_threshold", [](const Trainer& t) { return t.clip_threshold; },
          texts::Trainer_clip_threshold)
      .def_prop_rw(
          "learning_rate", [](const Trainer& t) { return t.learning_rate; },
          &Trainer::set_learning_rate, texts::Trainer_learning_rate)
      .def("set_learning_rate", &Trainer::set_learning_rate, arg("value"),
           texts::Trainer_set_learning_rate)
      .def(
          "save",
          [](Trainer& t) {
            std::ostringstream text;
            t.save(text);
            return text.str();
          },
          texts::Trainer_save)
      .def(
          "populate",
          [](Trainer& t, const std::string& text) {
            std::istringstream is(text);
            t.populate(is);
          },
          arg("text"), texts::Trainer_populate);
}

template <std::size_t>
using Float = float;

/// One trainer, as its kAbout says.
template <class T, std::size_t... kI>
void bind(nb::module_& m, std::index_sequence<kI...> /*arguments*/) {
  nb::class_<T, Trainer>(m, T::kAbout.name, text_of(T::kAbout.name))
      .def(
          "__init__",
          [](T* self, ParameterCollection& model, Float<kI>... arguments) {
            (check(T::kAbout.arguments[kI].name, arguments, false), ...);
            new (self) T(model, arguments...);
          },
          nb::arg("m"), (nb::arg(T::kAbout.arguments[kI].name) = T::kAbout.arguments[kI].value)...)
      .def("whoami", [](const T&) { return T::kAbout.name; });
}

}  // namespace

void bind_trainers(nb::module_& m) {
  bind_schedules(m);
  bind_curves(m);
  bind_plateau(m);
  bind_trainer_base(m);
  trainers::AllTrainers::for_each([&]<class T>(const T*) {
    bind<T>(m, std::make_index_sequence<std::size(T::kAbout.arguments)>());
  });
}

}  // namespace dynet::python
