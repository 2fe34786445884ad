// How fast model files are written and read: `dynet_file_speed [FOLDER [MEGABYTES [ROUNDS]]]`.
//
// A model of three parts of the same size, a matrix (which is turned on its way), a table, and many
// small vectors, is saved and loaded again and again. Printed is the median in GB/s. "to disk" ends
// when the disk has the file (fsync), which says more about the disk; "to the system" is the same
// on /dev/shm, where a disk has no part in it. Reading is from the system's memory.

#include <algorithm>
#include <chrono>
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

using namespace dynet;  // NOLINT(google-build-using-namespace): as programs do

namespace {

struct Speed {
  double wall;
  double processor;
};
/// Medians of bytes / seconds / 1e9.
Speed speed(double bytes, int rounds, const std::function<void()>& f) {
  std::vector<double> walls, processors;
  for (int i = 0; i < rounds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t worked = std::clock();
    f();
    processors.push_back(static_cast<double>(std::clock() - worked) / CLOCKS_PER_SEC);
    walls.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(walls.begin(), walls.end());
  std::sort(processors.begin(), processors.end());
  const std::size_t middle = walls.size() / 2;
  return {bytes / walls[middle] / 1e9, bytes / processors[middle] / 1e9};
}

void measure(const char* what, const std::string& file, ParameterCollection& model, int rounds) {
  const auto save = [&] {
    const std::unique_ptr<Saver> saver = make_saver(file);
    saver->save(model);
    saver->close();
  };
  save();
  const double bytes = static_cast<double>(std::filesystem::file_size(file));
  const Speed write = speed(bytes, rounds, save);
  const Speed read = speed(bytes, rounds, [&] { make_loader(file)->populate(model); });
  std::printf("%-28s %8.1f MB   write %6.2f (%5.2f) GB/s   read %6.2f (%5.2f) GB/s\n", what,
              bytes / 1e6, write.wall, write.processor, read.wall, read.processor);
  std::filesystem::remove(file);
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
