#include <array>
#include <charconv>
#include <cmath>
#include <exception>
#include <fstream>
#include <limits>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dynet/io.h"

#include "io/keys.h"
#include "io/replace_file.h"
#include "io/safetensors_header.h"
#include "io/saver_file.h"
#include "params/host.h"
#include "params/stored.h"
#include "util/interrupt.h"

namespace dynet {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;

/// A number as text, with enough digits to read the same number back. "+1.00000000e+00 " for a
/// float, as printf("%+.8e "); "+1.0000000000000000e+00 " for a double. Lives on the stack.
class Word {
 public:
  template <class T>
  explicit Word(T x) {
    constexpr int kDigits = std::numeric_limits<T>::max_digits10 - 1;  // after the point
    char* to = text_.data();
    *to++ = std::signbit(x) ? '-' : '+';
    to = std::to_chars(to, text_.data() + text_.size() - 1, std::fabs(x),
                       std::chars_format::scientific, kDigits)
             .ptr;
    *to++ = ' ';
    size_ = static_cast<std::size_t>(to - text_.data());
  }
  [[nodiscard]] std::string_view view() const { return {text_.data(), size_}; }

 private:
  std::array<char, 32> text_;
  std::size_t size_;
};

/// Calls `f(number)` for the numbers of `t` times `scale`, in the type of `t`.
template <class F>
void for_each_number(const Tensor& t, double scale, F f) {
  params::visit(t, [&](const auto* x, std::int64_t n) {
    using Number = std::remove_cvref_t<decltype(*x)>;
    const auto factor = static_cast<Number>(scale);
    for (std::int64_t i = 0; i < n; ++i) {
      f(x[i] * factor);
    }
  });
}
/// Bytes of a line of numbers: NaN, infinity and large exponents have other lengths than most.
std::size_t line_bytes(const Tensor& t, double scale) {
  constexpr std::size_t kUsual = 16;
  std::size_t bytes = 1;
  for_each_number(t, scale, [&](auto x) {
    bytes +=
        std::is_same_v<decltype(x), float> && std::isfinite(x) ? kUsual : Word(x).view().size();
  });
  return bytes;
}

/// The name of a file to append text to. ValueError for a file of safetensors.
std::string text_only(const std::string& name) {
  std::array<char, io::kLengthBytes + 1> begin{};
  std::ifstream(name, std::ios::binary).read(begin.data(), begin.size());
  if (io::begins_safetensors({begin.data(), begin.size()})) {
    throw errors::ValueError("TextFileSaver: '" + name +
                             "' is a safetensors file; want one of text to append to");
  }
  return name;
}

}  // namespace

/// The new file, and text yet to be written to it.
struct TextFileSaver::File {
  File(const std::string& name, bool append) : file(append ? text_only(name) : name, append) {
    buffer.reserve(kBufferBytes + 64);
  }

  void text(const std::string& s) {
    buffer += s;
    if (buffer.size() >= kBufferBytes) {
      flush();
    }
  }
  void numbers(const Tensor& t, double scale) {
    util::Interrupt interrupt;
    for_each_number(t, scale, [&](auto x) {
      buffer += Word(x).view();
      if (buffer.size() >= kBufferBytes) {
        flush();
        interrupt.pass(kBufferBytes / 128);
      }
    });
    buffer += '\n';
  }
  void flush() {
    file.write(buffer.data(), buffer.size());
    buffer.clear();
  }
  void object(const std::string& name, ParameterStorageBase& storage) {
    const params::Stored stored(storage);
    const Tensor* gradient = stored.gradient();
    const std::size_t bytes = line_bytes(stored.values(), stored.scale()) +
                              (gradient != nullptr ? line_bytes(*gradient, 1.0) : 0);
    std::ostringstream dim;
    dim << stored.values().d;
    text(std::string(params::type_word(stored.is_table())) + ' ' + name + ' ' + dim.str() + ' ' +
         std::to_string(bytes) + (gradient != nullptr ? " FULL_GRAD\n" : " ZERO_GRAD\n"));
    numbers(stored.values(), stored.scale());
    if (gradient != nullptr) {
      numbers(*gradient, 1.0);
    }
  }

  void commit() {
    flush();
    file.commit();
  }

  io::ReplaceFile file;
  std::string buffer;
  bool failed = false;
  int exceptions = std::uncaught_exceptions();
};

/// Text that a program writes to `datastream`, on its way to the file. The stream has exceptions
/// enabled, so errors of the file are thrown.
struct TextFileSaver::Stream : std::streambuf {
  explicit Stream(const std::unique_ptr<File>& to) : file(to), stream(this) {
    stream.exceptions(std::ios::badbit);
  }
  int_type overflow(int_type c) override {
    const char text = traits_type::to_char_type(c);
    return traits_type::eq_int_type(c, traits_type::eof()) || xsputn(&text, 1) == 1
               ? traits_type::not_eof(c)
               : traits_type::eof();
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    io::guarded("TextFileSaver", file.get(),
                [&] { file->text(std::string(text, static_cast<std::size_t>(size))); });
    return size;
  }

  const std::unique_ptr<File>& file;
  std::ostream stream;
};

namespace {
constexpr const char* kName = "TextFileSaver";
}

TextFileSaver::TextFileSaver(const std::string& filename, bool append)
    : file_(std::make_unique<File>(filename, append)),
      stream_(std::make_unique<Stream>(file_)),
      datastream(stream_->stream) {}

TextFileSaver::~TextFileSaver() { io::close_at_end(kName, file_); }
void TextFileSaver::close() { io::close(kName, file_); }

void TextFileSaver::save(const ParameterCollection& model, const std::string& key) {
  const std::string prefix = io::collection_key("TextFileSaver::save", key);
  const params::SaveScope scope(model);
  io::guarded(kName, file_.get(), [&] {
    for (const io::Entry& entry : io::entries_of(model, prefix)) {
      file_->object(entry.name, *entry.storage);
    }
  });
}

void TextFileSaver::save(const Parameter& param, const std::string& key) {
  if (!param) {
    throw errors::StateError("TextFileSaver::save: the parameter is unset");
  }
  save(*param.p, key);
}
void TextFileSaver::save(const LookupParameter& param, const std::string& key) {
  if (!param) {
    throw errors::StateError("TextFileSaver::save: the lookup parameter is unset");
  }
  save(*param.p, key);
}

namespace {

template <class File>
void save_one(File* file, const ParameterStorageBase& param, const std::string& key) {
  io::check_parameter_key("TextFileSaver::save", key);
  auto& p =
      const_cast<ParameterStorageBase&>(param);  // zeros are spread in its gradient: no change
  const params::SaveScope scope(p);
  io::guarded(kName, file, [&] { file->object(key.empty() ? p.name : key, p); });
}

}  // namespace

void TextFileSaver::save(const ParameterStorage& param, const std::string& key) {
  save_one(file_.get(), param, key);
}
void TextFileSaver::save(const LookupParameterStorage& param, const std::string& key) {
  save_one(file_.get(), param, key);
}

}  // namespace dynet
