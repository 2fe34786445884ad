#pragma once

#include <cstdio>
#include <exception>

namespace dynet::bench {

/// The frame of main: runs a program and prints errors. Returns its exit code.
inline int run_program(const char* name, int argc, char** argv, int (*run)(int, char**)) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace dynet::bench
