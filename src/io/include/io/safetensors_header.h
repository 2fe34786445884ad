#pragma once

// The header of a safetensors file: the tensors, their places, and text beside them.
//
// A file is the header's length (8 bytes, little-endian), the header (JSON: per tensor its type,
// its shape, and the begin and end of its bytes in the data; "__metadata__" maps strings to
// strings), and the data. The metadata of our files have "dynet.version", "dynet.crc32c.tensors" (a
// checksum for each tensor, in the order of their names as bytes) and "dynet.crc32c.header" (the
// checksum of the header with zeros in the place of these eight digits). Other readers pass over
// these keys. Example: a tensor F32 [2,3] at the begin of the data has the bytes 0 to 24.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/dim.h"

namespace dynet::io {

/// The begin of the library's own keys of the metadata.
inline constexpr std::string_view kOwnKeys = "dynet.";
/// The first letter of names of tensors outside of a model; no parameter's key may have it.
inline constexpr char kNoParameter = '#';
[[nodiscard]] inline bool is_parameter_name(std::string_view tensor) {
  return !tensor.starts_with(kNoParameter);
}
/// The gradient of a parameter, in checkpoints.
[[nodiscard]] inline std::string gradient_tensor(const std::string& parameter) {
  return "#gradient" + parameter;
}
/// The metadata among the names of tensors.
inline constexpr std::string_view kMetadata = "__metadata__";
/// Bytes of the length.
inline constexpr std::uint64_t kLengthBytes = 8;
/// Are these the first bytes of such a file, a length and a header?
[[nodiscard]] inline bool begins_safetensors(std::string_view begin) {
  return begin.size() > kLengthBytes && begin[kLengthBytes] == '{';
}
/// The largest header that other readers accept.
inline constexpr std::uint64_t kLongestHeader = 100'000'000;

struct FileTensor {
  std::string type;  ///< "F32", ...
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;  ///< bytes of the data
  std::uint64_t end = 0;
  std::string checksum;  ///< crc32c_text(); empty: the file has none
};

struct SafetensorsHeader {
  std::map<std::string, FileTensor> tensors;
  std::map<std::string, std::string> metadata;  ///< without checksums and version
};

/// ValueError for text that is not UTF-8, as this format wants it.
void check_utf8(const std::string& text);
/// Bytes of a number of this type; 0 for a type that is not known.
[[nodiscard]] std::uint64_t bytes_of_type(std::string_view type);
/// "[2,3]".
[[nodiscard]] std::string to_string(const std::vector<std::uint64_t>& shape);
/// The shape in a file of a parameter, or of a table, whose `all` has the rows last: the rows are
/// the first axis there.
[[nodiscard]] std::vector<std::uint64_t> file_shape(const Dim& all, bool is_table);

/// Reads the header of a file with so many bytes of data, strictly: every byte of the data belongs
/// to one tensor, as other readers require, and the header's checksum is right. IoError with file
/// name, byte and the expected content.
[[nodiscard]] SafetensorsHeader read_header(const std::string& file_name, std::string_view text,
                                            std::uint64_t data_bytes);
/// The header as text, with spaces at its end so that it has at least `least` bytes and the data
/// start on 64 bytes. ValueError for names or metadata that are not UTF-8.
[[nodiscard]] std::string header_text(const SafetensorsHeader& header, std::uint64_t least);

}  // namespace dynet::io
