#pragma once

// Writing safetensors files.
//
// The header comes first in a file, and holds the checksums of the data. So the writer leaves room
// for the header of all tensors announced before the first number; if the final header is larger,
// the data are moved once.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "dynet/model.h"
#include "dynet/safetensors.h"

#include "io/replace_file.h"
#include "io/safetensors_header.h"

namespace dynet::params {
class Stored;
}

namespace dynet::io {

inline constexpr const char* kSaverName = "SafetensorsSaver";  ///< in errors

/// A new file that takes the place of the old one when it is committed. Not thread-safe.
class SafetensorsWriter {
 public:
  SafetensorsWriter(const std::string& name, bool append);

  /// All of a model, under `prefix` (a collection_key).
  void save(const ParameterCollection& model, const std::string& prefix);
  void save(const std::string& name, ParameterStorageBase& storage);
  void save(Trainer& trainer);  // safetensors_trainer.cc
  /// The gradients of a model that are not empty, for checkpoints.
  void save_gradients(const ParameterCollection& model);
  [[nodiscard]] std::map<std::string, std::string>& metadata() { return header_.metadata; }

  /// Hands written bytes to the system.
  void flush();
  void commit();

  bool failed = false;
  int exceptions = std::uncaught_exceptions();

 private:
  void copy_old(const std::string& name);
  /// Before numbers that were announced are written.
  void make_room();
  /// Announces the next tensor. ValueError if the file has the name, or it is not UTF-8.
  void announce(const std::string& name, std::vector<std::uint64_t> shape, bool is_double);
  void announce(const std::string& name, const params::Stored& stored);
  /// Writes a tensor that was announced: `numbers` of `stored` times `scale`.
  void write(const std::string& name, const params::Stored& stored, const Tensor& numbers,
             double scale);
  void write(const std::string& name, const params::Stored& stored);
  void write_bytes(FileTensor& tensor, const void* data, double scale = 1.0);
  void write_turned(FileTensor& tensor, const params::Stored& stored, const void* data,
                    double scale);
  std::byte* space(const FileTensor& tensor, std::size_t bytes);
  void took_space(FileTensor& tensor, std::size_t bytes, double scale);

  ReplaceFile file_;
  SafetensorsHeader header_;
  std::uint64_t room_ = 0;      ///< bytes before the data; 0: not decided
  std::uint64_t end_ = 0;       ///< of the data that was announced
  std::uint64_t done_ = 0;      ///< of the data that the system has
  std::uint64_t reserved_ = 0;  ///< of the data for which room was reserved
  // Tensors are written in the order in which they were announced; the next bytes are collected.
  std::vector<std::byte> next_;
  std::size_t used_ = 0;
  std::uint32_t crc_ = 0;  ///< of the tensor that is being written
};

}  // namespace dynet::io

struct dynet::SafetensorsSaver::File : dynet::io::SafetensorsWriter {
  using dynet::io::SafetensorsWriter::SafetensorsWriter;
};
