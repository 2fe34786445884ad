#pragma once

// Reading safetensors files.
//
// In:  a file's name.   Out: checked tensors by name, in the order and the number type of a
// parameter.
//
// The file is mapped, so that only requested tensors are read. In the file the last axis varies
// fastest, as in NumPy; in parameters the first. So matrices are transposed on the way: the numbers
// 1 2 3 4 5 6 of a tensor [2,3] are 1 4 2 5 3 6 in the memory of the parameter {2,3}, and element
// (i,j) is [i,j]. A table's rows are the file's first axis.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dynet/dim.h"
#include "dynet/ext/operand.h"
#include "dynet/safetensors.h"

#include "io/safetensors_header.h"

namespace dynet::io {

/// An opened file with a checked header. The file must not be written in place meanwhile (savers of
/// this library put a new file there). Thread rule: any number of threads.
class SafetensorsFile {
 public:
  /// IoError with file name, byte and the expected content.
  explicit SafetensorsFile(const std::string& name);
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;
  ~SafetensorsFile();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const SafetensorsHeader& header() const { return header_; }
  /// The name in the file of the tensor `name`. Programs that tie two parameters write one tensor;
  /// the second name is an alias of set_alias(), or stands in the metadata by
  /// safetensors.torch.save_model. `name` itself if there is no alias.
  [[nodiscard]] const std::string& name_of(const std::string& name) const;
  /// From now on `name` is a second name of the tensor `of`, which the file has.
  void set_alias(const std::string& name, const std::string& of);
  /// Null if there is none of that name.
  [[nodiscard]] const FileTensor* find(const std::string& name) const;
  [[nodiscard]] const std::byte* bytes(const FileTensor& tensor) const {
    return data_ + tensor.begin;
  }
  /// IoError unless the tensor has its checksum.
  void check(const std::string& tensor) const;
  /// IoError unless all tensors have their checksums.
  void check_all() const;
  /// IoError that names the file and the tensor's first byte.
  [[noreturn]] void fail(const FileTensor& tensor, const std::string& what) const;

 private:
  std::string name_;
  void* mapped_ = nullptr;
  std::size_t size_ = 0;
  const std::byte* data_ = nullptr;
  SafetensorsHeader header_;
  std::map<std::string, std::string> aliases_;
};

/// "'model.safetensors' has no tensor named '/W'".
[[nodiscard]] std::string no_tensor(const SafetensorsFile& file, const std::string& name);

/// Tensors of one file on their way to parameters. First `add` for each, which checks, then
/// `prepare`, then `numbers` for each, which throws nothing. Holds memory of the size of the
/// largest tensor that has to be converted or turned.
class SafetensorsReader {
 public:
  explicit SafetensorsReader(const SafetensorsFile& file) : file_(file) {}
  /// IoError if the checksum is wrong, for a type other than F32, F64, F16 and BF16, and for a
  /// number of F64 beyond the range of a float that is wanted.
  void add(const std::string& name, const FileTensor& tensor, const Dim& all, bool is_table,
           ext::Number number);
  void prepare();
  /// All numbers of a tensor as they lie, checked as in add().
  [[nodiscard]] std::vector<double> in_file_order(const std::string& name,
                                                  const FileTensor& tensor);
  /// The numbers of the i-th added tensor, first axis fastest. Valid until the next call.
  [[nodiscard]] const void* numbers(std::size_t i);

 private:
  struct Wanted {
    const FileTensor* tensor;
    Dim all;
    bool is_table;
    ext::Number number;
    bool is_converted;
    bool is_turned;
  };
  void check_type(const std::string& name, const FileTensor& tensor) const;

  const SafetensorsFile& file_;
  std::vector<Wanted> wanted_;
  std::size_t most_converted_ = 0;  ///< bytes
  std::size_t most_turned_ = 0;
  std::unique_ptr<std::byte[]> converted_, turned_;
};

/// Whether file and memory have the same order for this shape.
[[nodiscard]] bool is_same_order(const Dim& all, bool is_table);
/// Copies numbers of `bytes_each` bytes (4 or 8) between the two orders: `count` of the first axis
/// of the file, from `begin` on. The memory has the whole tensor, the file's side only this part.
enum class Order : std::uint8_t { kToFile, kToMemory };
void turn(Order order, const Dim& all, bool is_table, std::size_t bytes_each, std::int64_t begin,
          std::int64_t count, const void* from, void* to);

}  // namespace dynet::io

struct dynet::SafetensorsLoader::File : dynet::io::SafetensorsFile {
  using dynet::io::SafetensorsFile::SafetensorsFile;
};
