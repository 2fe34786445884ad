#pragma once

#include <string>
#include <vector>

#include "dynet/model.h"

#include "io/safetensors_file.h"

namespace dynet::io {

/// Parameters of a model and the tensors of a file that they will get. First want() for each, which
/// checks, then prepare(), then commit() within an UpdateScope of the model, which throws nothing.
/// So an error changes nothing.
class ModelReader {
 public:
  explicit ModelReader(const SafetensorsFile& file) : file_(file), reader_(file) {}
  /// IoError unless the file has a tensor of that name and of the storage's shape.
  void want(const std::string& name, ParameterStorageBase& storage);
  /// All parameters of a model, under `prefix` (a collection_key); IoError if the file has
  /// tensors under it, or under the model's own name, that the model does not have.
  void want_all(const ParameterCollection& model, const std::string& prefix);
  /// The gradients that the file has for a model. Other gradients become empty.
  void want_gradients(const ParameterCollection& model);
  void prepare();
  void commit();

 private:
  const SafetensorsFile& file_;
  SafetensorsReader reader_;
  struct Wanted {
    ParameterStorageBase* storage;
    bool is_gradient;
  };
  void want(const std::string& name, ParameterStorageBase& storage, bool is_gradient);
  std::vector<Wanted> wanted_;  ///< gradients after all values, which empty them
};

}  // namespace dynet::io
