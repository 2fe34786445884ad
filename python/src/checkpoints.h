#pragma once

// The parts that Checkpointer and DistributedCheckpointer have in common.

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <map>
#include <string>

#include "dynet/checkpoint.h"

#include "binding.h"
#include "texts.h"

namespace dynet::python {

/// The arguments of a policy, as Python has them.
struct PyPolicy {
  std::int64_t every_steps;
  double every_seconds;
  std::int64_t keep_best, keep_last;
  bool larger_is_better;
};
/// ValueError for a number that is negative or too large. (bind_files.cc)
CheckpointPolicy policy_from(const PyPolicy& p);

/// The known facts of a checkpointer; two of them with texts of their own.
template <class C>
void bind_saved_steps(nb::class_<C>& c, const char* metadata, const char* checkpoints) {
  c.def_prop_ro("steps", &C::steps, texts::Checkpointer_steps)
      .def_prop_ro("position", &C::position, texts::Checkpointer_position)
      .def_prop_ro(
          "larger_is_better", [](const C& self) { return self.policy().larger_is_better; },
          "Of scores.")
      .def_prop_rw(
          "metadata", [](const C& self) { return self.metadata; },
          [](C& self, const std::map<std::string, std::string>& texts) { self.metadata = texts; },
          metadata)
      .def_prop_ro(
          "checkpoints",
          [](const C& self) {
            nb::list all;
            for (const Checkpoint& one : self.checkpoints()) {
              all.append(nb::make_tuple(one.file, one.steps,
                                        one.has_score ? nb::cast(one.score) : nb::none()));
            }
            return all;
          },
          nb::for_getter(
              nb::sig("def checkpoints(self) -> list[tuple[str, int, typing.Optional[float]]]")),
          checkpoints);
}

}  // namespace dynet::python
