#include "testing/special.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <set>

#include "testing/cases.h"
#include "testing/checks.h"
#include "testing/found.h"
#include "testing/sanitized.h"
#include "testing/targets.h"
#include "testing/tolerance.h"

namespace dynet::testing {

namespace {

using Limits = std::numeric_limits<float>;

bool alike(double a, double b) {
  const Kind kind = kind_of(a);
  const Kind other = kind_of(b);
  const auto is_number = [](Kind k) { return k == Kind::kZero || k == Kind::kFinite; };
  if (is_number(kind) && is_number(other)) {
    return std::fabs(a - b) <= tolerance::kFloatAgainstDouble * std::max(1.0, std::fabs(b));
  }
  return kind == other;
}

/// With the largest floats among the numbers, sums and products overflow in one order of their
/// terms and not in another, and an overflow may meet its opposite. Numbers above a sixteenth of
/// the largest float count as lost, as a few more terms may make them overflow.
bool alike_if_not_lost(double a, double b) {
  const auto is_lost = [](double x) {
    return std::isnan(x) || std::fabs(x) > static_cast<double>(Limits::max()) / 16.0;
  };
  return alike(a, b) || (is_lost(a) && is_lost(b));
}

/// The first number of two runs that `same` refuses, in the values and the gradients of steps;
/// empty if there is none.
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

/// A run, or the text of the exception that ended it.
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

/// A program with special values, and their description.
struct Fed {
  std::string name;
  Program program;
  bool has_largest = false;
  [[nodiscard]] auto same() const { return has_largest ? alike_if_not_lost : alike; }
};
/// The sources of each argument: one for each copy, or one shared source. Each set once.
std::set<std::vector<std::size_t>> sources_of_arguments(const Program& program) {
  std::vector<std::vector<std::size_t>> all;
  for (const Step& step : program.steps) {
    all.resize(std::max(all.size(), step.args.size()));
    for (std::size_t a = 0; a < step.args.size(); ++a) {
      if (step.args[a].step >= 0) {
        const Step& leaf = program.steps[static_cast<std::size_t>(step.args[a].step)];
        const auto source = static_cast<std::size_t>(leaf.source);
        if (!program.sources[source].data.empty() &&
            std::find(all[a].begin(), all[a].end(), source) == all[a].end()) {
          all[a].push_back(source);
        }
      }
    }
  }
  std::erase(all, std::vector<std::size_t>());
  return {all.begin(), all.end()};
}
/// One special value in the first element of an argument, or in the last one; the copies take
/// turns.
std::vector<Fed> singles(const Program& program) {
  constexpr std::size_t kEvery = trials(std::size_t{1}, std::size_t{5});
  std::vector<Fed> all;
  std::size_t turn = 0;
  for (const std::vector<std::size_t>& sources : sources_of_arguments(program)) {
    const std::size_t last = program.sources[sources[0]].data.size() - 1;
    for (const std::size_t element : std::set<std::size_t>{0, last}) {
      for (const Special& special : kSpecials) {
        const std::size_t s = sources[turn % sources.size()];
        if (turn++ % kEvery != 0) {
          continue;
        }
        all.push_back({std::string(special.name) + " in element " + std::to_string(element) +
                           " of source " + std::to_string(s),
                       with_special(program, s, element, special.value),
                       std::fabs(special.value) == Limits::max()});
      }
    }
  }
  return all;
}
/// Rows that are special as a whole, of one of the copies each: all numbers of an argument, and its
/// first column if it has more. The rows take turns over the arguments: their number is odd.
std::vector<Fed> rows(const Program& program) {
  constexpr std::size_t kEvery = trials(std::size_t{2}, std::size_t{7});
  std::vector<Fed> all;
  std::size_t turn = 0;
  for (const std::vector<std::size_t>& sources : sources_of_arguments(program)) {
    const Source& first = program.sources[sources[0]];
    const std::size_t whole = first.data.size();
    for (const std::size_t length : std::set<std::size_t>{whole, first.dim.rows()}) {
      for (const SpecialRow& row : kSpecialRows) {
        const std::size_t s = sources[turn % sources.size()];
        if (turn++ % kEvery == 0) {
          all.push_back({std::string(row.name) + " in " + std::to_string(length) +
                             " numbers of source " + std::to_string(s),
                         with_row(program, s, row, length)});
        }
      }
    }
  }
  return all;
}
/// All of them at once, between ordinary numbers: with the largest ones, and without them.
std::vector<Fed> mixtures(const Program& program) {
  std::vector<Fed> all;
  for (std::size_t without = 0; without < trials(std::size_t{2}, std::size_t{1}); ++without) {
    const std::size_t count = kSpecials.size() - 2 * without;
    for (const std::size_t every : {1U, 3U}) {
      Fed fed{"every " + std::to_string(every) + " of " + std::to_string(count) + " kinds", program,
              count == kSpecials.size()};
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
  for (auto* more : {&rows, &mixtures}) {
    for (Fed& fed : more(program)) {
      all.push_back(std::move(fed));
    }
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

Program with_row(const Program& program, std::size_t source, const SpecialRow& row,
                 std::size_t length) {
  Program changed = program;
  std::vector<float>& data = changed.sources[source].data;
  const std::size_t end = std::min(length, data.size());
  for (std::size_t i = row.keeps_first ? 1 : 0; i < end; ++i) {
    data[i] = row.value;
  }
  return changed;
}

Failures special_values_merge(const Sample& sample) {
  Found found(sample);
  for (const Case& c : cases_of(sample)) {
    if (c.copies == 1) {
      continue;  // nothing to merge
    }
    for (Device* device : {float_device(), double_device()}) {
      for (const Fed& fed : device == float_device() ? all_of(c.program) : mixtures(c.program)) {
        const Outcome merged = outcome(fed.program, device, true);
        const Outcome one_by_one = outcome(fed.program, device, false);
        std::string what;
        if (merged.thrown != one_by_one.thrown) {
          what = "merged: '" + merged.thrown + "', one by one: '" + one_by_one.thrown + "'";
        } else {
          what = difference(merged.result, one_by_one.result, fed.same());
        }
        found.add(c.name + ", " + fed.name + ", merged against one by one on " + device->name,
                  what);
      }
    }
  }
  return found.take();
}

Failures special_values_as_double(const Sample& sample) {
  Found found(sample);
  const SimdTarget usual;
  for (const Case& c : cases_of(sample)) {
    if (c.name != "unbatched" && c.name != "batched") {
      continue;  // the others are these, merged
    }
    for (const Fed& fed : all_of(c.program)) {
      if (fed.has_largest) {
        continue;  // an overflow in float is none in double; see docs/special-values.md
      }
      const Outcome in_double = outcome(fed.program, double_device(), false);
      for (const auto& target : kernels::supported_targets()) {
        SimdTarget::use(target);
        const Outcome in_float = outcome(fed.program, float_device(), false);
        found.add(c.name + ", " + fed.name + ", float on " + target + " against double",
                  in_float.thrown != in_double.thrown
                      ? "'" + in_float.thrown + "' against '" + in_double.thrown + "'"
                      : difference(in_float.result, in_double.result, alike));
      }
    }
  }
  return found.take();
}

namespace {
/// Differences in the middle one of three examples.
std::string difference_in_the_middle(const Result& a, const Result& b) {
  for (std::size_t s = 0; s < a.values.size(); ++s) {
    for (std::size_t o = 0; o < a.values[s].size(); ++o) {
      const std::size_t n = a.values[s][o].size() / 3;
      for (std::size_t i = n; i < 2 * n; ++i) {
        if (a.values[s][o][i] != b.values[s][o][i] ||
            a.gradients[s][o][i] != b.gradients[s][o][i]) {
          return "value or gradient of s" + std::to_string(s) + "." + std::to_string(o) +
                 " in another example, at " + std::to_string(i - n);
        }
      }
    }
  }
  return "";
}
}  // namespace

Failures special_values_stay(const Sample& sample) {
  Found found(sample);
  if (sample.record->has_whole) {
    return {};  // the examples of a batch are mixed, and are meant to be
  }
  for (const Case& c : cases_of(sample)) {
    if (c.name != "batched") {
      continue;
    }
    for (const bool batching : {false, true}) {
      const Result plain = run(c.program, {float_device(), batching});
      for (const Fed& fed : singles(c.program)) {
        const Result result = run(fed.program, {float_device(), batching});
        found.add(c.name + ", " + fed.name, difference_in_the_middle(result, plain));
      }
    }
  }
  return found.take();
}

}  // namespace dynet::testing
