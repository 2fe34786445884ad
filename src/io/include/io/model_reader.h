#pragma once

#include <string>
#include <vector>

#include "dynet/model.h"

#include "io/safetensors_file.h"

namespace dynet::io {

/// Parameters of a model and the tensors of a file that they will get. First want() for each, which
/// checks, then prepare(), then commit() within an UpdateScope of the model, which throws nothing.
/// So nothing is changed unless everything is right.
class ModelReader {
 public:
  explicit ModelReader(const SafetensorsFile& file) : file_(file), reader_(file) {}
  /// IoError unless the file has a tensor of that name and of the storage's shape.
  void want(const std::string& name, ParameterStorageBase& storage);
  /// All parameters of a model, under `prefix` (a collection_key); IoError where the file has
  /// tensors under it, or under the model's own name, that the model does not have.
  void want_all(const ParameterCollection& model, const std::string& prefix);
  void prepare();
  void commit();

 private:
  const SafetensorsFile& file_;
  SafetensorsReader reader_;
  std::vector<ParameterStorageBase*> storages_;
};

}  // namespace dynet::io
