// Loads plugins and unloads them. The program itself knows nothing of the library.

#include <dlfcn.h>

#include <cstdio>
#include <thread>

namespace {

int run(const char* file, int kept) {
  void* const plugin = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return -1;
  }
  auto* const function = reinterpret_cast<int (*)(int)>(dlsym(plugin, "run_plugin"));
  const int graphs = function(kept);
  dlclose(plugin);
  return graphs;
}

}  // namespace

int main(int argc, char** argv) {
  for (int round = 0; round < 3; ++round) {
    for (int k = 1; k < argc; ++k) {
      int graphs = run(argv[k], round);
      if (graphs < 1) {
        return 1;
      }
      // A thread whose memory the library gives back when the plugin is gone.
      std::thread thread([&] { graphs = run(argv[k], 0); });
      thread.join();
      if (graphs < 1) {
        return 2;
      }
    }
  }
  return 0;
}
