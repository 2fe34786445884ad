#pragma once

// Calls in which an allocation may be refused. For programs that include failing_new.h.

#include <gtest/gtest.h>

#include <exception>
#include <vector>

#include "dynet/except.h"
#include "dynet/tensor.h"

#include "support/failing_new.h"
#include "testing/program.h"

namespace dynet::testing {

/// Makes a call in which an allocation may be refused, and makes it again after a refusal. The
/// exception has to be out_of_memory.
template <class F>
void call(const char* what, F f) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    FailingNew::armed = true;
    try {
      f();
      FailingNew::armed = false;
      return;
    } catch (const out_of_memory&) {
      FailingNew::armed = false;
      EXPECT_EQ(attempt, 0) << what;
    } catch (const std::exception& e) {
      FailingNew::armed = false;
      ADD_FAILURE() << what << ": " << e.what();
    }
  }
}

/// The computed numbers of a program.
struct Numbers {
  std::vector<double> all;
  void add(double x) { all.push_back(x); }
  void add(const std::vector<double>& v) { all.insert(all.end(), v.begin(), v.end()); }
  void add(const Tensor& t) { add(numbers(t)); }
};

}  // namespace dynet::testing
