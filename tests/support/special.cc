#include "support/special.h"

#include <gtest/gtest.h>

#include <cmath>
#include <exception>
#include <map>
#include <set>

#include "kernels/targets.h"
#include "ops/simd_rules.h"
#include "support/cases.h"
#include "support/suites.h"

namespace dynet::testing {

namespace {

using Limits = std::numeric_limits<float>;

/// Numbers of one kind that are as near as two ways to compute them in float allow.
constexpr double kNear = 1e-4;

bool alike(double a, double b) {
  const Kind kind = kind_of(a);
  const Kind other = kind_of(b);
  const auto is_number = [](Kind k) { return k == Kind::kZero || k == Kind::kFinite; };
  if (is_number(kind) && is_number(other)) {
    return std::fabs(a - b) <= kNear * std::max(1.0, std::fabs(b));
  }
  return kind == other;
}

/// Sums and products beyond the largest float are infinite in one order of the terms, and not in
/// another; a sixteenth of it is what a few terms of the examples come to.
bool may_overflow(double x) { return std::fabs(x) > Limits::max() / 16.0; }
bool alike_with_largest(double a, double b) {
  return alike(a, b) || (may_overflow(a) && may_overflow(b) && std::signbit(a) == std::signbit(b));
}
/// With several of the largest floats what has overflowed may meet its opposite.
bool alike_with_many_largest(double a, double b) {
  const auto is_lost = [](double x) { return std::isnan(x) || may_overflow(x); };
  return alike(a, b) || (is_lost(a) && is_lost(b));
}

/// The first number of two runs about which `same` says no, in the values and the gradients of
/// steps; empty where there is none.
std::string difference(const Result& a, const Result& b, bool (*same)(double, double)) {
  const auto find = [&](const char* what, const auto& x, const auto& y) -> std::string {
    for (std::size_t s = 0; s < x.size(); ++s) {
      for (std::size_t o = 0; o < x[s].size(); ++o) {
        for (std::size_t i = 0; i < x[s][o].size(); ++i) {
          if (!same(x[s][o][i], y[s][o][i])) {
            return std::string(what) + " of s" + std::to_string(s) + "." + std::to_string(o) +
                   " element " + std::to_string(i) + ": " + std::to_string(x[s][o][i]) +
                   " against " + std::to_string(y[s][o][i]);
          }
        }
      }
    }
    return "";
  };
  const std::string value = find("value", a.values, b.values);
  return value.empty() ? find("gradient", a.gradients, b.gradients) : value;
}

/// A run, or the text of what was thrown instead.
struct Outcome {
  Result result;
  std::string thrown;
};
Outcome outcome(const Program& program, Device* device, bool batching) {
  try {
    return {run(program, {device, batching}), ""};
  } catch (const std::exception& e) {
    return {{}, e.what()};
  }
}

/// A program with special values, and in what way.
struct Fed {
  std::string name;
  Program program;
  int largest = 0;  ///< how many of the numbers are largest floats: none, one, or more (2)
  [[nodiscard]] auto same() const {
    return largest == 0 ? alike : largest == 1 ? alike_with_largest : alike_with_many_largest;
  }
};
/// One special value in the first element of a source, or in the last one.
std::vector<Fed> singles(const Program& program) {
  std::vector<Fed> all;
  for (std::size_t s = 0; s < program.sources.size(); ++s) {
    const std::size_t last = program.sources[s].data.size() - 1;
    for (const std::size_t element : std::set<std::size_t>{0, last}) {
      for (const Special& special : kSpecials) {
        all.push_back({std::string(special.name) + " in element " + std::to_string(element) +
                           " of source " + std::to_string(s),
                       with_special(program, s, element, special.value),
                       std::fabs(special.value) == Limits::max() ? 1 : 0});
      }
    }
  }
  return all;
}
/// All of them at once, between ordinary numbers: without the largest ones, and with them.
std::vector<Fed> mixtures(const Program& program) {
  std::vector<Fed> all;
  for (const std::size_t count : {kSpecials.size() - 2, kSpecials.size()}) {
    for (const std::size_t every : {1U, 3U}) {
      Fed fed{"every " + std::to_string(every) + " of " + std::to_string(count) + " kinds", program,
              count == kSpecials.size() ? 2 : 0};
      std::size_t n = 0;
      for (Source& source : fed.program.sources) {
        for (float& x : source.data) {
          x = n % every == 0 ? kSpecials[n / every % count].value : x;
          ++n;
        }
      }
      all.push_back(fed);
    }
  }
  return all;
}
std::vector<Fed> all_of(const Program& program) {
  std::vector<Fed> all = singles(program);
  for (Fed& fed : mixtures(program)) {
    all.push_back(std::move(fed));
  }
  return all;
}

}  // namespace

Kind kind_of(double x) {
  if (std::isnan(x)) {
    return Kind::kNan;
  }
  if (std::isinf(x)) {
    return x > 0 ? Kind::kInfinity : Kind::kMinusInfinity;
  }
  return std::fabs(x) < Limits::min() ? Kind::kZero : Kind::kFinite;
}

Program with_special(const Program& program, std::size_t source, std::size_t element, float value) {
  Program changed = program;
  changed.sources[source].data[element] = value;
  return changed;
}

void expect_special_values_merge(const Sample& sample) {
  for (const Case& c : cases_of(sample)) {
    if (c.copies == 1) {
      continue;  // nothing to merge
    }
    for (Device* device : {float_device(), double_device()}) {
      for (const Fed& fed : device == float_device() ? all_of(c.program) : mixtures(c.program)) {
        SCOPED_TRACE(sample.text() + ", " + c.name + ", " + fed.name + ", " + device->name);
        const Outcome merged = outcome(fed.program, device, true);
        const Outcome one_by_one = outcome(fed.program, device, false);
        ASSERT_EQ(merged.thrown, one_by_one.thrown);
        ASSERT_EQ(difference(merged.result, one_by_one.result, fed.same()), "")
            << fed.program.text();
      }
    }
  }
}

void expect_special_values_as_double(const Sample& sample) {
  const auto usual = kernels::current_target();
  for (const Case& c : cases_of(sample)) {
    if (c.name != "unbatched" && c.name != "batched") {
      continue;  // the others are these, merged
    }
    for (const Fed& fed : all_of(c.program)) {
      if (fed.largest > 0) {
        continue;  // what overflows in float does not in double; the page says where
      }
      const Result in_double = run(fed.program, {double_device(), false});
      for (const auto& target : kernels::supported_targets()) {
        SCOPED_TRACE(sample.text() + ", " + c.name + ", " + fed.name + ", " + target);
        kernels::use_target(target);
        ops::install_simd_rules();
        const Result in_float = run(fed.program, {float_device(), false});
        EXPECT_EQ(difference(in_float, in_double, alike), "") << fed.program.text();
      }
    }
  }
  kernels::use_target(usual);
  ops::install_simd_rules();
}

void expect_special_values_stay(const Sample& sample) {
  if (sample.record->has_whole) {
    return;  // the examples of a batch are mixed, and are meant to be
  }
  for (const Case& c : cases_of(sample)) {
    if (c.name != "batched") {
      continue;
    }
    const std::size_t step = c.program.steps.size() - 1;
    for (const bool batching : {false, true}) {
      const Result plain = run(c.program, {float_device(), batching});
      for (const Fed& fed : singles(c.program)) {
        SCOPED_TRACE(sample.text() + ", " + fed.name);
        const Result result = run(fed.program, {float_device(), batching});
        // The middle one of three examples has ordinary numbers.
        const auto expect_same = [](const std::vector<double>& a, const std::vector<double>& b) {
          const std::size_t n = a.size() / 3;
          for (std::size_t i = n; i < 2 * n; ++i) {
            ASSERT_EQ(a[i], b[i]) << "element " << i;
          }
        };
        for (std::size_t s = 0; s <= step; ++s) {
          for (std::size_t o = 0; o < result.values[s].size(); ++o) {
            expect_same(result.values[s][o], plain.values[s][o]);
            expect_same(result.gradients[s][o], plain.gradients[s][o]);
          }
        }
      }
    }
  }
}

}  // namespace dynet::testing
