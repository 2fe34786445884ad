#pragma once

// Parameters in safetensors files, a format of PyTorch, NumPy and many other programs.
//
// A tensor has the name of its parameter and its shape: element (i,j) of a parameter {2,3} is
// element [i,j] of an array of shape [2,3] elsewhere, although DyNet has columns in memory and the
// file rows. Of a lookup table the rows are the first axis. Numbers are F32, on a device in double
// F64. Further text of a model goes into the metadata under names, and the state of a trainer into
// the metadata and into tensors whose names begin with "#trainer". Gradients are not saved.
//
// The metadata of our files have a checksum (CRC-32C) for each tensor and for the header, which
// other programs pass over; a file without checksums loads as well. So every damaged byte of our
// files is an error: in the header when the file is opened, in a tensor when it is loaded.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dynet/io.h"

namespace dynet {

struct Trainer;

/// Writes a safetensors file part by part, under the names of the parameters; no name twice. The
/// old file stays until close() puts the new one in its place.
///
/// C++: Names are as of TextFileSaver. Holds no numbers in memory: `save` writes. Thread rule: one
/// thread at a time; the model must not change meanwhile.
///
/// Python: As a context manager it closes at the end of the block, unless that raised.
class SafetensorsSaver : public Saver {
 public:
  /// IoError when the file cannot be written. `append`: the tensors and the metadata of the old
  /// file are copied first, after a check of their checksums.
  explicit SafetensorsSaver(const std::string& filename, bool append = false);
  SafetensorsSaver(const SafetensorsSaver&) = delete;
  SafetensorsSaver& operator=(const SafetensorsSaver&) = delete;
  /// Closes; an error goes to the log sink. During an exception, or after a failed save, the old
  /// file stays.
  ~SafetensorsSaver() override;
  /// Adds the parameters of a collection, or one parameter or table, by name. ValueError for a name
  /// that the file has already, or that is not UTF-8; then the old file stays.
  void save(const ParameterCollection& model, const std::string& key = "") override;
  void save(const Parameter& param, const std::string& key = "") override;
  void save(const LookupParameter& param, const std::string& key = "") override;
  /// Adds the state of a trainer, as Trainer::save; one per file.
  void save(Trainer& trainer);
  /// Text in the file beside the tensors, such as the configuration of a builder; replaces earlier
  /// text of this key. ValueError for a key that begins with "dynet.", or for text that is not
  /// UTF-8.
  void set_metadata(const std::string& key, const std::string& text);
  /// Puts the new file in the place of the old one, on the disk. IoError when that fails. Nothing
  /// can be saved afterwards.
  void close() override;
  /// Gives the new file up; the old one stays. Nothing can be saved afterwards.
  void abandon();

 private:
  struct File;
  std::unique_ptr<File> file_;
};

/// Reads parameters by name, from a file mapped into memory: only requested tensors are read. A
/// load checks everything before it changes anything. IoError names the file, the byte and the
/// expected content. Tensors of type F32, F64, F16 and BF16 become the numbers of the parameter;
/// others are refused. The file must not be written in place meanwhile; savers do not do that.
///
/// C++: Thread rule: reading, any number of threads; loading, the model's.
class SafetensorsLoader : public Loader {
 public:
  /// Opens the file and checks its header. IoError.
  explicit SafetensorsLoader(const std::string& filename);
  SafetensorsLoader(const SafetensorsLoader&) = delete;
  SafetensorsLoader& operator=(const SafetensorsLoader&) = delete;
  ~SafetensorsLoader() override;

  /// Assigns each parameter of the collection the tensor of its name, with the collection's own
  /// name in front replaced by `key` if there is one. IoError unless names and shapes agree:
  /// each parameter has its tensor, and each tensor under `key` (without one: under the
  /// collection's name) its parameter.
  void populate(ParameterCollection& model, const std::string& key = "") override;
  /// Assigns only the parameters whose names in the file `is_wanted` accepts; their tensors must be
  /// there. `[&](const std::string& name) { return loader.contains(name); }` accepts the parameters
  /// that the file has.
  void populate(ParameterCollection& model,
                const std::function<bool(const std::string& name)>& is_wanted,
                const std::string& key = "");
  void populate(Parameter& param, const std::string& key = "") override;
  void populate(LookupParameter& lookup_param, const std::string& key = "") override;
  Parameter load_param(ParameterCollection& model, const std::string& key) override;
  LookupParameter load_lookup_param(ParameterCollection& model, const std::string& key) override;
  /// The state of a trainer in the file. IoError if there is none, or as Trainer::populate.
  void populate(Trainer& trainer);

  /// From now on `name` stands for the tensor `of`, unless the file has one of that name. Of
  /// tensors that share their numbers, such as tied embeddings, the writers of PyTorch keep one
  /// name. safetensors.torch.save_model puts the other names into the metadata, which are followed
  /// without this call; other writers drop them. IoError if there is no tensor `of`.
  void set_alias(const std::string& name, const std::string& of);

  /// Names of the tensors of parameters, sorted, without a trainer's state. The next two functions
  /// do not know that state either, and follow aliases.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Whether the file has a tensor of that name.
  [[nodiscard]] bool contains(const std::string& name) const;
  /// As in the file: the rows of a table first. IoError if there is no tensor of that name.
  [[nodiscard]] std::vector<std::size_t> shape(const std::string& name) const;
  /// All text beside the tensors, without the library's own.
  [[nodiscard]] std::map<std::string, std::string> metadata() const;
  /// IoError unless every tensor has its checksum.
  void check_all() const;

 private:
  struct File;
  std::unique_ptr<File> file_;
};

}  // namespace dynet
