#pragma once

#include "dynet/init.h"

#include "kernels/team.h"

namespace dynet::testing {

/// While it lives, every loop that can be cut is, into `n` shares; with `waits`, each share is run
/// by its own thread (kernels::CutEverything). One at a time.
class OnThreads {
 public:
  explicit OnThreads(unsigned n, bool waits = false) : cuts_(waits) { set_threads(n); }
  OnThreads(const OnThreads&) = delete;
  OnThreads& operator=(const OnThreads&) = delete;
  ~OnThreads() { set_threads(0); }

 private:
  kernels::CutEverything cuts_;
};

}  // namespace dynet::testing
