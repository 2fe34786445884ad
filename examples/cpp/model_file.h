#pragma once

// A model on disk: its parameters in a file of the library, and beside it, in FILE.settings, what
// has to be known before that can be read. Python reads and writes the same files.

#include <string>
#include <utility>
#include <vector>

#include "dynet/model.h"

namespace examples {

/// Named numbers and named lists of words. As text, line by line:
///
///   task tagger          what kind of model it is
///   hidden 50            numbers
///   words[] 2            lists: how many words, then one a line
///   <unk>
///   the
struct Settings {
  std::string task;
  std::vector<std::pair<std::string, unsigned>> numbers;
  std::vector<std::pair<std::string, std::vector<std::string>>> lists;

  /// Both throw std::runtime_error for what is not there.
  [[nodiscard]] unsigned number(const std::string& name) const;
  [[nodiscard]] const std::vector<std::string>& list(const std::string& name) const;
};

/// Settings first, then parameters, each in place of the old file at once: a crash leaves the old
/// one or the new one, never a half.
void save_model(const Settings& settings, const dynet::ParameterCollection& parameters,
                const std::string& model_file);
/// Settings of one of these tasks. Throws std::runtime_error for a file that is missing, DataError
/// for one that is no such file.
Settings load_settings(const std::string& model_file, const std::vector<std::string>& tasks);
void populate(dynet::ParameterCollection& parameters, const std::string& model_file);

/// Initial values by a formula that is the same in C++ and in Python. Vectors (biases) are zero,
/// matrices and rows of tables uniform within the range of Glorot.
void set_deterministic_values(dynet::ParameterCollection& parameters);

}  // namespace examples
