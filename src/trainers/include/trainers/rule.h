#pragma once

// Trainers: from gradients to parameters.
//
// trainer.cc holds the order of an update (training.h states it) and what all trainers share; each
// rule has a file: sgd.cc, momentum.cc, adam.cc, amsgrad.cc. A rule is one fused pass of the
// device's kernels over a parameter, or over the rows of a table that have a gradient. Exact sparse
// updates are missed.h, moving averages averages.cc, the text form of a trainer's state
// trainer_text.cc.
//
// Start reading at Trainer::update in trainer.cc. Surprising: gradients are emptied without
// clearing their memory (params/state.h), so a rule may see a parameter without a gradient; rules
// then get zeros where these matter (Adam's moments decay) and are skipped where they do not (plain
// SGD).

#include <cstdint>
#include <utility>
#include <vector>

#include "dynet/training.h"

#include "params/access.h"
#include "trainers/missed.h"

namespace dynet::trainers {

/// The state of a trainer. Order and names are those of its text.
struct StateLists {
  const char* name = nullptr;  ///< of the trainer; null: it has no state
  std::vector<std::vector<ShadowParameters>*> parameters;
  std::vector<std::vector<ShadowLookupParameters>*> lookups;
  std::vector<std::pair<const char*, float*>> numbers;
};

/// What a rule works on: the numbers of one parameter, or of one row.
struct Target {
  detail::StorageState& state;
  std::byte* values;
  const std::byte* gradient;
  std::int64_t elements;
};
/// A parameter with its gradient made true.
[[nodiscard]] Target whole(ParameterStorageBase& p);
[[nodiscard]] Target row_of(LookupParameterStorage& p, unsigned row);

}  // namespace dynet::trainers
