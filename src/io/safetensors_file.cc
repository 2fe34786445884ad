#include "io/safetensors_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "dynet/except.h"

#include "io/crc32c.h"
#include "io/descriptor.h"
#include "io/keys.h"
#include "util/foreign_file.h"
#include "util/interrupt.h"

namespace dynet::io {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

/// A file's content, read only. A file that is empty maps to null.
void* map(const std::string& name, std::size_t& size) {
  const auto fail = [&](const char* step) {
    const int error = errno;
    throw errors::IoError("cannot " + std::string(step) + " '" + name +
                          "': " + std::strerror(error));
  };
  const Descriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) {
    fail("open");
  }
  struct stat info{};
  const bool is_known = ::fstat(file.number(), &info) == 0;
  if (!is_known || !S_ISREG(info.st_mode)) {
    throw errors::IoError("cannot read '" + name +
                          "': it is not a regular file, as this format wants it");
  }
  size = static_cast<std::size_t>(info.st_size);
  void* data = nullptr;
  if (size > 0) {
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  }
  if (data == MAP_FAILED) {
    fail("map");
  }
  return data;
}

/// A number of half precision (IEEE 754 binary16).
float from_half(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 31U;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {  // a fraction of 2^-24
    const float size = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -size : size;
  }
  const std::uint32_t wide = exponent == 31 ? 255U : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}
float from_bfloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Elements of a tensor one by one, as their addresses may not be aligned for their type.
template <class From, class F>
void for_each_number(const std::byte* from, std::int64_t n, F f) {
  for (std::int64_t i = 0; i < n; ++i) {
    From x;
    std::memcpy(&x, from + i * static_cast<std::int64_t>(sizeof(From)), sizeof(From));
    f(i, x);
  }
}

template <class To>
void convert(const std::string& type, const std::byte* from, std::int64_t n, To* to) {
  if (type == "F32") {
    for_each_number<float>(from, n, [=](std::int64_t i, float x) { to[i] = x; });
  } else if (type == "F64") {
    for_each_number<double>(from, n, [=](std::int64_t i, double x) { to[i] = static_cast<To>(x); });
  } else if (type == "F16") {
    for_each_number<std::uint16_t>(from, n,
                                   [=](std::int64_t i, std::uint16_t x) { to[i] = from_half(x); });
  } else {
    for_each_number<std::uint16_t>(
        from, n, [=](std::int64_t i, std::uint16_t x) { to[i] = from_bfloat(x); });
  }
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& name) : name_(name) {
  mapped_ = map(name, size_);
  try {
    std::uint64_t length = 0;
    const std::string what = util::foreign_file(
        {static_cast<const char*>(mapped_), std::min(size_, util::kForeignBytes)},
        util::OwnFile::kSafetensors);
    if (!what.empty()) {
      throw errors::IoError("'" + name + "' is no safetensors file: " + what);
    }
    if (size_ < kLengthBytes) {
      throw errors::IoError("'" + name + "', byte " + std::to_string(size_) +
                            ": the file ends; want the " + std::to_string(kLengthBytes) +
                            " bytes of the header's length");
    }
    const auto* begin = static_cast<const std::byte*>(mapped_);
    std::memcpy(&length, begin, kLengthBytes);
    if (length > kLongestHeader || length > size_ - kLengthBytes) {
      throw errors::IoError(
          "'" + name + "', byte 0: the header's length is " + std::to_string(length) +
          "; want at most " +
          std::to_string(std::min<std::uint64_t>(kLongestHeader, size_ - kLengthBytes)) +
          " in this file of " + std::to_string(size_) + " bytes");
    }
    data_ = begin + kLengthBytes + length;
    header_ = read_header(
        name,
        {reinterpret_cast<const char*>(begin + kLengthBytes), static_cast<std::size_t>(length)},
        size_ - kLengthBytes - length);
  } catch (...) {
    if (mapped_ != nullptr) {
      ::munmap(mapped_, size_);
    }
    throw;
  }
}

SafetensorsFile::~SafetensorsFile() { ::munmap(mapped_, size_); }

const std::string& SafetensorsFile::name_of(const std::string& name) const {
  if (header_.tensors.count(name) == 0) {
    for (const auto* names : {&aliases_, &header_.metadata}) {
      const auto found = names->find(name);
      if (found != names->end() && header_.tensors.count(found->second) != 0) {
        return found->second;
      }
    }
  }
  return name;
}

void SafetensorsFile::set_alias(const std::string& name, const std::string& of) {
  aliases_[name] = name_of(of);
}

const FileTensor* SafetensorsFile::find(const std::string& name) const {
  const auto found = header_.tensors.find(name_of(name));
  return found == header_.tensors.end() ? nullptr : &found->second;
}

void SafetensorsFile::fail(const FileTensor& tensor, const std::string& what) const {
  const auto data = static_cast<std::uint64_t>(data_ - static_cast<const std::byte*>(mapped_));
  throw errors::IoError("'" + name_ + "', byte " + std::to_string(data + tensor.begin) + ": " +
                        what);
}

void SafetensorsFile::check(const std::string& tensor) const {
  const FileTensor& t = *find(tensor);
  if (t.checksum.empty()) {
    return;
  }
  constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 20;
  util::Interrupt interrupt;
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < t.end - t.begin; done += kAtOnce) {
    interrupt.pass(kAtOnce / 4096);
    crc = crc32c(crc, bytes(t) + done, std::min(kAtOnce, t.end - t.begin - done));
  }
  const std::string found = crc32c_text(crc);
  if (found != t.checksum) {
    fail(t, "the " + std::to_string(t.end - t.begin) + " bytes of '" + tensor +
                "' have the checksum (CRC-32C) " + found + "; want " + t.checksum +
                ": they are damaged");
  }
}
void SafetensorsFile::check_all() const {
  for (const auto& entry : header_.tensors) {
    check(entry.first);
  }
}

void SafetensorsReader::check_type(const std::string& name, const FileTensor& tensor) const {
  const std::string& type = tensor.type;
  if (type != "F32" && type != "F64" && type != "F16" && type != "BF16") {
    file_.fail(tensor, "'" + name + "' has numbers of type " + shown(type) +
                           "; want F32, F64, F16 or BF16");
  }
  file_.check(name);
}

std::vector<double> SafetensorsReader::in_file_order(const std::string& name,
                                                     const FileTensor& tensor) {
  check_type(name, tensor);
  std::vector<double> numbers((tensor.end - tensor.begin) / bytes_of_type(tensor.type));
  convert(tensor.type, file_.bytes(tensor), static_cast<std::int64_t>(numbers.size()),
          numbers.data());
  return numbers;
}

void SafetensorsReader::add(const std::string& name, const FileTensor& tensor, const Dim& all,
                            bool is_table, ext::Number number) {
  check_type(name, tensor);
  const std::string& type = tensor.type;
  if (type == "F64" && number == ext::Number::kFloat) {
    for_each_number<double>(file_.bytes(tensor), all.elements(), [&](std::int64_t i, double x) {
      if (std::isfinite(x) && std::isinf(static_cast<float>(x))) {
        file_.fail(tensor, "number " + std::to_string(i) + " of '" + name + "' is " +
                               std::to_string(x) + "; want one in the range of float");
      }
    });
  }
  const auto each = static_cast<std::size_t>(ext::bytes_of(number));
  const std::size_t bytes = static_cast<std::size_t>(all.elements()) * each;
  const bool is_as_wanted = type == (number == ext::Number::kDouble ? "F64" : "F32") &&
                            reinterpret_cast<std::uintptr_t>(file_.bytes(tensor)) % each == 0;
  const bool is_turned = !is_same_order(all, is_table);
  wanted_.push_back({&tensor, all, is_table, number, !is_as_wanted, is_turned});
  most_converted_ = std::max(most_converted_, is_as_wanted ? 0 : bytes);
  most_turned_ = std::max(most_turned_, is_turned ? bytes : 0);
}

void SafetensorsReader::prepare() {
  converted_.reset(new std::byte[most_converted_]);  // not cleared
  turned_.reset(new std::byte[most_turned_]);
}

const void* SafetensorsReader::numbers(std::size_t i) {
  const Wanted& w = wanted_[i];
  const void* from = file_.bytes(*w.tensor);
  if (w.is_converted) {
    const std::int64_t n = w.all.elements();
    std::byte* const to = converted_.get();
    if (w.number == ext::Number::kDouble) {
      convert(w.tensor->type, file_.bytes(*w.tensor), n, reinterpret_cast<double*>(to));
    } else {
      convert(w.tensor->type, file_.bytes(*w.tensor), n, reinterpret_cast<float*>(to));
    }
    from = to;
  }
  if (!w.is_turned) {
    return from;
  }
  const unsigned first = w.is_table ? w.all.d[w.all.nd - 1] : w.all.d[0];
  turn(Order::kToMemory, w.all, w.is_table, static_cast<std::size_t>(ext::bytes_of(w.number)), 0,
       first, from, turned_.get());
  return turned_.get();
}

}  // namespace dynet::io
