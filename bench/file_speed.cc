// The speed of writing and reading model files: `dynet_file_speed [FOLDER [MEGABYTES [ROUNDS]]]`.
//
// A model of three parts of one size is saved and loaded again and again: a matrix (which is turned
// on its way), a table, and many small vectors. The output is the median in GB/s of the wall time,
// and in brackets of the processor time. "to disk" ends when the disk has the file (fsync); "to the
// system" is the same on /dev/shm, without a disk. Reading is from the system's memory.
//
// The speed of the disk is measured beside it, in turns: the same number of bytes, written to a new
// file in pieces of a megabyte, fsync, and renamed over the old one, as `dd conv=fsync` would.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "dynet/init.h"
#include "dynet/io.h"
#include "dynet/safetensors.h"

#include "timing.h"

using namespace dynet;  // NOLINT(google-build-using-namespace): as programs do

namespace {

/// Times of a repeated action.
class Times {
 public:
  void add(const std::function<void()>& f) {
    const std::clock_t worked = std::clock();
    walls_.push_back(bench::seconds_of(f));
    processors_.push_back(static_cast<double>(std::clock() - worked) / CLOCKS_PER_SEC);
  }
  /// "  1.25 ( 1.50)": the medians of GB/s.
  [[nodiscard]] std::string speed(double bytes) const {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%6.2f (%5.2f)", bytes / bench::median(walls_) / 1e9,
                  bytes / bench::median(processors_) / 1e9);
    return text.data();
  }

 private:
  std::vector<double> walls_, processors_;
};

[[noreturn]] void fail(const std::string& file) {
  std::perror(file.c_str());
  std::exit(1);
}

/// The least work of any saver.
void write_raw(const std::string& file, std::size_t bytes) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  static const std::vector<char> piece(kPiece, 'x');
  const std::string temporary = file + ".new";
  const int out = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (out < 0) {
    fail(temporary);
  }
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n = ::write(out, piece.data(), std::min(kPiece, bytes - done));
    if (n <= 0) {
      fail(temporary);
    }
    done += static_cast<std::size_t>(n);
  }
  if (::fsync(out) != 0 || ::close(out) != 0 || std::rename(temporary.c_str(), file.c_str()) != 0) {
    fail(temporary);
  }
}

void measure(const char* what, const std::string& file, ParameterCollection& model, int rounds) {
  const auto save = [&] {
    const std::unique_ptr<Saver> saver = make_saver(file);
    saver->save(model);
    saver->close();
  };
  const std::string raw_file = file + ".raw";
  save();
  const std::size_t size = std::filesystem::file_size(file);
  write_raw(raw_file, size);
  Times writes, raw, reads;
  for (int i = 0; i < rounds; ++i) {
    writes.add(save);
    raw.add([&] { write_raw(raw_file, size); });
    reads.add([&] { make_loader(file)->populate(model); });
  }
  const auto bytes = static_cast<double>(size);
  std::printf("%-28s %8.1f MB   write %s   raw %s   read %s GB/s\n", what, bytes / 1e6,
              writes.speed(bytes).c_str(), raw.speed(bytes).c_str(), reads.speed(bytes).c_str());
  std::filesystem::remove(file);
  std::filesystem::remove(raw_file);
}

}  // namespace

int main(int argc, char** argv) {
  initialize(argc, argv);
  const std::string folder = argc > 1 ? argv[1] : ".";
  const unsigned megabytes = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 400;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  const unsigned rows = megabytes * 1'000'000U / 12 / 1000;  // of 1000 floats, a third of all
  ParameterCollection model;
  model.add_parameters({rows, 1000}, ParameterInitConst(0.5F), "matrix");
  model.add_lookup_parameters(rows, {1000}, ParameterInitConst(0.25F), "table");
  ParameterCollection small = model.add_subcollection("small");
  for (unsigned i = 0; i < rows; ++i) {
    small.add_parameters({1000}, ParameterInitConst(1.5F));
  }
  measure("safetensors, to disk", folder + "/file_speed.safetensors", model, rounds);
  if (std::filesystem::is_directory("/dev/shm")) {
    measure("safetensors, to the system", "/dev/shm/file_speed.safetensors", model, rounds);
  }
  ParameterCollection tenth;
  tenth.add_parameters({rows / 10, 1000}, ParameterInitConst(0.5F));
  measure("text, to disk", folder + "/file_speed.txt", tenth, 1);
}
