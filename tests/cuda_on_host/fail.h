#pragma once

// How the library stops a program, and the settings that it reads from the environment.

namespace cuda_on_host {

/// Prints a message, and the kernel, block and thread if one is running; then the program ends, as
/// whatever it computes from here on means nothing.
[[noreturn]] __attribute__((format(printf, 1, 2))) void fail(const char* format, ...);

/// A number from the environment.
long setting(const char* name, long otherwise);

}  // namespace cuda_on_host
