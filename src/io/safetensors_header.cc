#include "io/safetensors_header.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "dynet/except.h"

#include "io/crc32c.h"
#include "io/keys.h"

namespace dynet::io {
namespace {

constexpr std::string_view kVersionKey = "dynet.version";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kTensorsKey = "dynet.crc32c.tensors";
constexpr std::string_view kHeaderKey = "dynet.crc32c.header";
constexpr std::string_view kNoDigits = "00000000";
constexpr std::size_t kMostAxes = 64;
constexpr std::size_t kMostShown = 200;
constexpr std::uint64_t kAlignment = 64;

/// Says how far the parser has read, of which there is no other word.
struct Cursor {
  using Place = std::string_view::const_iterator;
  // NOLINTBEGIN(readability-identifier-naming): the names of all iterators
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  // NOLINTEND(readability-identifier-naming)

  reference operator*() const { return *at; }
  Cursor& operator++() {
    *reached = ++at;
    return *this;
  }
  Cursor operator++(int) {
    const Cursor old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const Cursor& a, const Cursor& b) { return a.at == b.at; }

  Place at{};
  Place* reached = nullptr;
};

/// A name as an error shows it. It is UTF-8, but may be as long as the file and have any character.
std::string short_name(std::string name) {
  if (name.size() > kMostShown) {
    return shown(name, kMostShown);
  }
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; }, '?');
  return name;
}

/// The callbacks of the JSON parser. Only elements of a header pass; anything else ends the parse
/// at once, however deep it would go on.
class HeaderReader {
 public:
  // NOLINTBEGIN(readability-identifier-naming): the parser's names
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;
  // NOLINTEND(readability-identifier-naming)

  HeaderReader(const std::string& file_name, std::string_view text)
      : file_name_(file_name), text_(text), reached_(text.begin()) {}
  Cursor begin() { return {text_.begin(), &reached_}; }
  Cursor end() { return {text_.end(), &reached_}; }
  SafetensorsHeader take() { return std::move(header_); }
  [[nodiscard]] bool is_at_end() const { return reached_ == text_.end(); }

  [[noreturn]] void fail(const std::string& what) const {
    throw errors::IoError(
        "'" + file_name_ + "', byte " +
        std::to_string(kLengthBytes + static_cast<std::uint64_t>(reached_ - text_.begin())) +
        " (header): " + what);
  }

  // NOLINTBEGIN(readability-identifier-naming): the parser's names
  bool null() { wrong("null"); }
  bool boolean(bool /*b*/) { wrong("true or false"); }
  bool number_integer(number_integer_t n) { wrong(std::to_string(n)); }
  bool number_float(number_float_t /*n*/, const string_t& text) { wrong(text); }
  bool binary(binary_t& /*b*/) { wrong("binary data"); }
  bool number_unsigned(number_unsigned_t n) {
    if (place_ != Place::kNumbers) {
      wrong(std::to_string(n));
    }
    if (numbers_.size() == kMostAxes) {
      fail("a list of more than " + std::to_string(kMostAxes) + " numbers");
    }
    numbers_.push_back(n);
    return true;
  }
  bool string(string_t& text) {
    if (place_ == Place::kMetadata) {
      header_.metadata[key_] = text;
    } else if (place_ == Place::kTensor && field_ == "dtype") {
      tensor_.type = text;
    } else {
      wrong("the string '" + short_name(text) + "'");
    }
    return true;
  }
  bool start_object(std::size_t /*unknown*/) {
    if (place_ == Place::kOutside) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop) {
      const bool is_metadata = key_ == kMetadata;
      place_ = is_metadata ? Place::kMetadata : Place::kTensor;
      name_ = key_;
      shown_name_ = short_name(key_);
      fields_.clear();
      tensor_ = FileTensor();
    } else {
      wrong("an object");
    }
    return true;
  }
  bool key(string_t& text) {
    if (place_ == Place::kTensor) {
      if ((text != "dtype" && text != "shape" && text != "data_offsets") ||
          !fields_.insert(text).second) {
        fail("the tensor '" + shown_name_ + "' has '" + short_name(text) +
             "'; want dtype, shape and data_offsets, once each");
      }
      field_ = text;
      return true;
    }
    const bool is_new = place_ == Place::kTop
                            ? names_.insert(text).second
                            : header_.metadata.emplace(text, std::string()).second;
    if (!is_new) {
      fail("the name '" + short_name(text) + "' stands there twice");
    }
    key_ = text;
    return true;
  }
  bool end_object() {
    if (place_ == Place::kTensor) {
      if (fields_.size() != 3) {
        fail("the tensor '" + shown_name_ + "' has not all of dtype, shape and data_offsets");
      }
      header_.tensors.emplace(name_, std::move(tensor_));
    }
    place_ = place_ == Place::kTop ? Place::kOutside : Place::kTop;
    return true;
  }
  bool start_array(std::size_t /*unknown*/) {
    if (place_ != Place::kTensor || field_ == "dtype") {
      wrong("a list");
    }
    place_ = Place::kNumbers;
    numbers_.clear();
    return true;
  }
  bool end_array() {
    place_ = Place::kTensor;
    if (field_ == "shape") {
      tensor_.shape = numbers_;
      return true;
    }
    if (numbers_.size() != 2 || numbers_[0] > numbers_[1]) {
      fail("the tensor '" + shown_name_ + "' has data_offsets " + to_string(numbers_) +
           "; want where it begins and where it ends");
    }
    tensor_.begin = numbers_[0];
    tensor_.end = numbers_[1];
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& e) {
    fail("no JSON: " + shown(e.what(), kMostShown));
  }
  // NOLINTEND(readability-identifier-naming)

 private:
  enum class Place : std::uint8_t { kOutside, kTop, kMetadata, kTensor, kNumbers };

  [[noreturn]] void wrong(const std::string& found) const {
    switch (place_) {
      case Place::kOutside:
        fail(found + "; want an object");
      case Place::kTop:
        fail("'" + short_name(key_) + "' is " + found + "; want an object");
      case Place::kMetadata:
        fail("'" + short_name(key_) + "' of __metadata__ is " + found + "; want a string");
      case Place::kTensor:
        fail("'" + field_ + "' of the tensor '" + shown_name_ + "' is " + found + "; want " +
             (field_ == "dtype" ? "a string" : "a list of whole numbers"));
      case Place::kNumbers:
        break;
    }
    fail("'" + field_ + "' of the tensor '" + shown_name_ + "' has " + found +
         "; want whole numbers from 0 on");
  }

  const std::string& file_name_;
  std::string_view text_;
  Cursor::Place reached_;
  SafetensorsHeader header_;
  std::set<std::string> names_;  ///< of tensors, and of the metadata
  Place place_ = Place::kOutside;
  std::string key_;
  std::string name_;        ///< of the tensor
  std::string shown_name_;  ///< the same in errors
  std::string field_;
  std::set<std::string> fields_;  ///< of the tensor, that were there
  FileTensor tensor_;
  std::vector<std::uint64_t> numbers_;
};

/// The bytes of a shape; false if no memory could have so many.
bool bytes_of_shape(const FileTensor& tensor, std::uint64_t& bytes) {
  bytes = bytes_of_type(tensor.type);
  const bool is_empty = std::count(tensor.shape.begin(), tensor.shape.end(), 0U) > 0;
  for (const std::uint64_t n : tensor.shape) {
    if (!is_empty && bytes > (std::uint64_t{1} << 62) / n) {
      return false;
    }
    bytes = is_empty ? 0 : bytes * n;
  }
  return true;
}

/// Each byte of the data belongs to one tensor, and each tensor has the bytes of its shape.
void check_places(const HeaderReader& reader, const SafetensorsHeader& header,
                  std::uint64_t data_bytes) {
  std::vector<const std::pair<const std::string, FileTensor>*> order;
  order.reserve(header.tensors.size());
  for (const auto& entry : header.tensors) {
    order.push_back(&entry);
  }
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  std::uint64_t end = 0;
  for (const auto* entry : order) {
    const FileTensor& t = entry->second;
    const std::string tensor = "the tensor '" + short_name(entry->first) + "' ";
    if (t.begin != end) {
      reader.fail(tensor + "begins at byte " + std::to_string(t.begin) +
                  " of the data; want byte " + std::to_string(end) +
                  ", where the one before it ends");
    }
    end = t.end;
    std::uint64_t bytes = 0;
    const bool fits = bytes_of_shape(t, bytes);
    if (bytes_of_type(t.type) != 0 && (!fits || bytes != t.end - t.begin)) {
      reader.fail(tensor + "of " + shown(t.type) + " numbers has shape " + to_string(t.shape) +
                  " and " + std::to_string(t.end - t.begin) + " bytes; want " +
                  (fits ? std::to_string(bytes) + " bytes" : "a smaller shape"));
    }
  }
  if (end != data_bytes) {
    reader.fail("the tensors end at byte " + std::to_string(end) + " of the data, which have " +
                std::to_string(data_bytes) + "; want as many");
  }
}

/// Where the digits of the header's own checksum stand; npos: nowhere.
std::size_t place_of_digits(std::string_view text) {
  const std::string before = '"' + std::string(kHeaderKey) + "\":\"";
  const std::size_t at = text.find(before);
  const bool is_there =
      at != std::string_view::npos && at + before.size() + kNoDigits.size() <= text.size();
  return is_there ? at + before.size() : std::string_view::npos;
}

/// The checksum of a header with zeros in the place of its own, which stands at `digits`.
std::uint32_t header_checksum(std::string_view text, std::size_t digits) {
  const std::size_t rest = digits + kNoDigits.size();
  std::uint32_t crc = crc32c(0, text.data(), digits);
  crc = crc32c(crc, kNoDigits.data(), kNoDigits.size());
  return crc32c(crc, text.data() + rest, text.size() - rest);
}

std::string taken(std::map<std::string, std::string>& metadata, std::string_view key) {
  const auto found = metadata.find(std::string(key));
  if (found == metadata.end()) {
    return "";
  }
  std::string text = std::move(found->second);
  metadata.erase(found);
  return text;
}

/// Checks the header's checksum, and gives the tensors theirs. A file of another program has none.
void check_checksums(const HeaderReader& reader, SafetensorsHeader& header, std::string_view text) {
  const auto first = header.metadata.lower_bound(std::string(kOwnKeys));
  if (first == header.metadata.end() || !first->first.starts_with(kOwnKeys)) {
    return;
  }
  const std::string version = taken(header.metadata, kVersionKey);
  if (!version.empty() && version != kVersion) {
    reader.fail("it is of version '" + shown(version) + "' of DyNet's format; want '" +
                std::string(kVersion) + "'; a newer release may read it");
  }
  const std::string own = taken(header.metadata, kHeaderKey);
  const std::string others = taken(header.metadata, kTensorsKey);
  const std::size_t digits = place_of_digits(text);
  if (digits == std::string_view::npos || own.size() != kNoDigits.size() || version.empty() ||
      text.substr(digits, kNoDigits.size()) != crc32c_text(header_checksum(text, digits))) {
    reader.fail("the header does not have the checksum (CRC-32C) that it says, '" + shown(own) +
                "': it is damaged, or another program wrote it anew and kept the metadata "
                "'dynet.*', which must go then");
  }
  const std::size_t each = kNoDigits.size() + 1;
  const std::size_t wanted = header.tensors.empty() ? 0 : header.tensors.size() * each - 1;
  if (others.size() != wanted) {
    reader.fail("the checksums of the tensors have " + std::to_string(others.size()) +
                " bytes; want " + std::to_string(wanted) + " for " +
                std::to_string(header.tensors.size()) + " tensors");
  }
  std::size_t at = 0;
  for (auto& [name, tensor] : header.tensors) {
    tensor.checksum = others.substr(at, kNoDigits.size());
    at += each;
  }
}

/// As a string of JSON.
std::string quoted(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw errors::ValueError(
        "safetensors: a name or text is not UTF-8, as this format wants it: " +
        nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  }
}

}  // namespace

void check_utf8(const std::string& text) { (void)quoted(text); }

std::uint64_t bytes_of_type(std::string_view type) {
  struct Type {
    std::string_view name;
    std::uint64_t bytes;
  };
  constexpr Type kTypes[] = {{"F32", 4}, {"F64", 8}, {"F16", 2}, {"BF16", 2}, {"I64", 8},
                             {"I32", 4}, {"I16", 2}, {"I8", 1},  {"U64", 8},  {"U32", 4},
                             {"U16", 2}, {"U8", 1},  {"BOOL", 1}};
  for (const Type& t : kTypes) {
    if (t.name == type) {
      return t.bytes;
    }
  }
  return 0;
}

std::string to_string(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (const std::uint64_t n : shape) {
    text += (text.size() > 1 ? "," : "") + std::to_string(n);
  }
  return text + "]";
}

std::vector<std::uint64_t> file_shape(const Dim& all, bool is_table) {
  std::vector<std::uint64_t> shape(all.d, all.d + all.nd);
  if (is_table && !shape.empty()) {
    std::rotate(shape.begin(), shape.end() - 1, shape.end());
  }
  return shape;
}

SafetensorsHeader read_header(const std::string& file_name, std::string_view text,
                              std::uint64_t data_bytes) {
  HeaderReader reader(file_name, text);
  if (text.empty() || text.front() != '{') {
    reader.fail("the header does not begin with '{'");
  }
  // The parser would take a zero for the end.
  if (text.find('\0') != std::string_view::npos) {
    reader.fail("there is a zero byte in the header");
  }
  nlohmann::json::sax_parse(reader.begin(), reader.end(), &reader);
  if (!reader.is_at_end()) {
    reader.fail("there is something after the header's last '}'");
  }
  SafetensorsHeader header = reader.take();
  check_checksums(reader, header, text);
  check_places(reader, header, data_bytes);
  return header;
}

std::string header_text(const SafetensorsHeader& header, std::uint64_t least) {
  std::string tensors;
  std::string checksums;
  for (const auto& [name, t] : header.tensors) {
    tensors += "," + quoted(name) + ":{\"dtype\":" + quoted(t.type) +
               ",\"shape\":" + to_string(t.shape) + ",\"data_offsets\":[" +
               std::to_string(t.begin) + "," + std::to_string(t.end) + "]}";
    checksums +=
        (checksums.empty() ? "" : " ") + (t.checksum.empty() ? std::string(kNoDigits) : t.checksum);
  }
  const auto entry = [](std::string_view key, std::string_view value) {
    return '"' + std::string(key) + "\":\"" + std::string(value) + '"';
  };
  std::string text = "{\"" + std::string(kMetadata) + "\":{" + entry(kHeaderKey, kNoDigits) + "," +
                     entry(kTensorsKey, checksums) + "," + entry(kVersionKey, kVersion);
  for (const auto& [key, value] : header.metadata) {
    text += "," + quoted(key) + ":" + quoted(value);
  }
  text += "}" + tensors + "}";
  const std::uint64_t bytes = kLengthBytes + std::max<std::uint64_t>(text.size(), least);
  text.resize((bytes + kAlignment - 1) / kAlignment * kAlignment - kLengthBytes, ' ');
  if (text.size() > kLongestHeader) {
    throw errors::SizeError("safetensors: the header would have " + std::to_string(text.size()) +
                            " bytes; want at most " + std::to_string(kLongestHeader));
  }
  const std::size_t digits = place_of_digits(text);
  text.replace(digits, kNoDigits.size(), crc32c_text(header_checksum(text, digits)));
  return text;
}

}  // namespace dynet::io
