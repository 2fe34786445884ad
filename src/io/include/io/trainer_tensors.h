#pragma once

// The state of a trainer in a safetensors file: text in the metadata, tensors beside the
// parameters' (trainers/text.h, TensorsAside).

#include <string>

#include "io/safetensors_file.h"

namespace dynet {
struct Trainer;
}

namespace dynet::io {

inline constexpr const char* kTrainerKey = "dynet.trainer";
[[nodiscard]] inline std::string trainer_tensor(std::size_t i) {
  return "#trainer/" + std::to_string(i);
}

/// Gives a trainer the state that a file has; all or nothing, whatever it throws.
void populate_trainer(const SafetensorsFile& file, Trainer& trainer);

}  // namespace dynet::io
