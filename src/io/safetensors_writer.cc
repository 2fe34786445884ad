#include "io/safetensors_writer.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "dynet/except.h"
#include "dynet/safetensors.h"

#include "io/crc32c.h"
#include "io/keys.h"
#include "io/safetensors_file.h"
#include "io/saver_file.h"
#include "params/host.h"
#include "params/stored.h"
#include "util/interrupt.h"

namespace dynet {
namespace io {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;  // stays in a cache between its two readers

template <class T>
void multiply(T* numbers, std::size_t n, double scale) {
  const auto factor = static_cast<T>(scale);
  for (std::size_t i = 0; i < n && factor != T{1}; ++i) {
    numbers[i] *= factor;
  }
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::string& name, bool append) : file_(name, false) {
  std::error_code error;
  if (append && (std::filesystem::exists(name, error) || error)) {
    copy_old(name);
  }
}

void SafetensorsWriter::copy_old(const std::string& name) {
  const SafetensorsFile old(name);
  old.check_all();
  header_ = old.header();
  for (auto& [tensor_name, tensor] : header_.tensors) {  // in the order of their names from now on
    const std::uint64_t bytes = tensor.end - tensor.begin;
    tensor.begin = end_;
    end_ += bytes;
    tensor.end = end_;
  }
  make_room();
  for (auto& [tensor_name, tensor] : header_.tensors) {
    write_bytes(tensor, old.bytes(*old.find(tensor_name)));
  }
  flush();
}

void SafetensorsWriter::make_room() {
  constexpr std::uint64_t kMuch = std::uint64_t{1} << 20;  // less is not worth a call
  if (room_ == 0) {
    room_ = kLengthBytes + header_text(header_, 0).size();
  }
  if (end_ > reserved_ + kMuch) {
    file_.reserve(room_ + end_);
    reserved_ = end_;
  }
}

void SafetensorsWriter::announce(const std::string& name, std::vector<std::uint64_t> shape,
                                 bool is_double) {
  check_utf8(name);
  FileTensor tensor;
  tensor.type = is_double ? "F64" : "F32";
  tensor.begin = end_;
  std::uint64_t bytes = is_double ? sizeof(double) : sizeof(float);
  for (const std::uint64_t n : shape) {
    bytes *= n;
  }
  tensor.end = end_ + bytes;
  tensor.shape = std::move(shape);
  if (name == kMetadata || !header_.tensors.emplace(name, tensor).second) {
    throw errors::ValueError("safetensors: there is a tensor named '" + name +
                             "' already; want another name");
  }
  end_ = tensor.end;
}
void SafetensorsWriter::announce(const std::string& name, const params::Stored& stored) {
  announce(name, file_shape(stored.values().d, stored.is_table()), stored.values().is_double());
}

void SafetensorsWriter::flush() {
  file_.write_at(room_ + done_, next_.data(), used_);
  done_ += used_;
  used_ = 0;
}

/// Place for so many bytes of the file, where numbers of the tensor's type may stand.
std::byte* SafetensorsWriter::space(const FileTensor& tensor, std::size_t bytes) {
  const std::size_t each = std::max<std::size_t>(bytes_of_type(tensor.type), 1);
  if (used_ + bytes > next_.size() || used_ % each != 0) {
    flush();
    next_.resize(std::max({next_.size(), bytes, 2 * kPiece}));
  }
  return next_.data() + used_;
}
/// They stand there now, and are multiplied.
void SafetensorsWriter::took_space(FileTensor& tensor, std::size_t bytes, double scale) {
  std::byte* const at = next_.data() + used_;
  if (tensor.type == "F64") {
    multiply(reinterpret_cast<double*>(at), bytes / sizeof(double), scale);
  } else {
    multiply(reinterpret_cast<float*>(at), bytes / sizeof(float), scale);
  }
  crc_ = crc32c(crc_, at, bytes);
  used_ += bytes;
}

void SafetensorsWriter::write_bytes(FileTensor& tensor, const void* data, double scale) {
  const std::uint64_t bytes = tensor.end - tensor.begin;
  const auto* from = static_cast<const std::byte*>(data);
  crc_ = 0;
  util::Interrupt interrupt;
  for (std::uint64_t done = 0; done < bytes;) {
    interrupt.pass(kPiece / 1024);
    const std::size_t n = std::min<std::uint64_t>(kPiece, bytes - done);
    if (n == kPiece && scale == 1.0) {  // without a copy
      flush();
      crc_ = crc32c(crc_, from + done, n);
      file_.write_at(room_ + done_, from + done, n);
      done_ += n;
    } else {
      std::memcpy(space(tensor, n), from + done, n);
      took_space(tensor, n, scale);
    }
    done += n;
  }
  tensor.checksum = crc32c_text(crc_);
}

/// Some rows after the other, so that little memory is enough, and stays in a cache.
void SafetensorsWriter::write_turned(FileTensor& tensor, const params::Stored& stored,
                                     const void* data, double scale) {
  constexpr std::uint64_t kFewest = 16;  // rows that make a cache line of a column
  const std::uint64_t rows = tensor.shape[0];
  const std::uint64_t row_bytes = rows == 0 ? 0 : (tensor.end - tensor.begin) / rows;
  crc_ = 0;
  util::Interrupt interrupt;
  for (std::uint64_t row = 0; row < rows && row_bytes > 0;) {
    interrupt.pass(kPiece / 1024);
    const std::uint64_t n =
        std::min(rows - row, std::max(kFewest, kPiece / row_bytes / kFewest * kFewest));
    turn(Order::kToFile, stored.values().d, stored.is_table(), bytes_of_type(tensor.type),
         static_cast<std::int64_t>(row), static_cast<std::int64_t>(n), data,
         space(tensor, n * row_bytes));
    took_space(tensor, n * row_bytes, scale);
    row += n;
  }
  tensor.checksum = crc32c_text(crc_);
}

void SafetensorsWriter::write(const std::string& name, const params::Stored& stored,
                              const Tensor& numbers, double scale) {
  make_room();
  FileTensor& tensor = header_.tensors.at(name);
  const params::HostNumbers host(numbers, params::HostNumbers::Use::kRead);
  if (is_same_order(numbers.d, stored.is_table())) {
    write_bytes(tensor, host.data(), scale);
  } else {
    write_turned(tensor, stored, host.data(), scale);
  }
}
void SafetensorsWriter::write(const std::string& name, const params::Stored& stored) {
  write(name, stored, stored.values(), stored.scale());
}

void SafetensorsWriter::save(const ParameterCollection& model, const std::string& prefix) {
  const params::SaveScope scope(model);
  const std::vector<Entry> entries = entries_of(model, prefix);
  for (const Entry& entry : entries) {
    announce(entry.name, params::Stored(*entry.storage));
  }
  for (const Entry& entry : entries) {
    write(entry.name, params::Stored(*entry.storage));
  }
}

void SafetensorsWriter::save(const std::string& name, ParameterStorageBase& storage) {
  const params::SaveScope scope(storage);
  const params::Stored stored(storage);
  announce(name, stored);
  write(name, stored);
}

void SafetensorsWriter::save_gradients(const ParameterCollection& model) {
  const params::SaveScope scope(model);
  const std::vector<Entry> entries = entries_of(model, "");
  for (const bool is_announced : {false, true}) {
    for (const Entry& entry : entries) {
      const params::Stored stored(*entry.storage);
      const Tensor* const gradient = stored.gradient();
      if (gradient != nullptr && is_announced) {
        write(gradient_tensor(entry.name), stored, *gradient, 1.0);
      } else if (gradient != nullptr) {
        announce(gradient_tensor(entry.name), stored);
      }
    }
  }
}

void SafetensorsWriter::commit() {
  make_room();
  flush();
  const std::string text = header_text(header_, room_ - kLengthBytes);
  const std::uint64_t needed = kLengthBytes + text.size();
  if (needed > room_) {
    file_.move_up(room_, needed, end_);
  }
  const std::uint64_t length = text.size();
  file_.write_at(0, &length, kLengthBytes);
  file_.write_at(kLengthBytes, text.data(), text.size());
  file_.commit();
}

}  // namespace io

SafetensorsSaver::SafetensorsSaver(const std::string& filename, bool append)
    : file_(std::make_unique<File>(filename, append)) {}
SafetensorsSaver::~SafetensorsSaver() { io::close_at_end(io::kSaverName, file_); }
void SafetensorsSaver::close() { io::close(io::kSaverName, file_); }
void SafetensorsSaver::abandon() { file_.reset(); }

void SafetensorsSaver::save(const ParameterCollection& model, const std::string& key) {
  const std::string prefix = io::collection_key("SafetensorsSaver::save", key);
  io::guarded(io::kSaverName, file_.get(), [&] { file_->save(model, prefix); });
}
void SafetensorsSaver::save(const Parameter& param, const std::string& key) {
  if (!param) {
    throw errors::StateError("SafetensorsSaver::save: the parameter is unset");
  }
  io::check_parameter_key("SafetensorsSaver::save", key);
  io::guarded(io::kSaverName, file_.get(),
              [&] { file_->save(key.empty() ? param.p->name : key, *param.p); });
}
void SafetensorsSaver::save(const LookupParameter& param, const std::string& key) {
  if (!param) {
    throw errors::StateError("SafetensorsSaver::save: the lookup parameter is unset");
  }
  io::check_parameter_key("SafetensorsSaver::save", key);
  io::guarded(io::kSaverName, file_.get(),
              [&] { file_->save(key.empty() ? param.p->name : key, *param.p); });
}

void SafetensorsSaver::set_metadata(const std::string& key, const std::string& text) {
  if (key.starts_with(io::kOwnKeys)) {
    throw errors::ValueError("SafetensorsSaver::set_metadata: the key '" + key +
                             "' begins with 'dynet.', as those of the library do; want another");
  }
  if (file_ == nullptr) {
    throw errors::UsageError("SafetensorsSaver::set_metadata: the saver is closed");
  }
  io::check_utf8(key);
  io::check_utf8(text);
  file_->metadata()[key] = text;
}

}  // namespace dynet
