// docs/special-values.md says what each operation does with NaN, infinities, zeros of both signs,
// denormal numbers and the largest floats. (That it does the same merged and one by one, in float
// and in double, every_op_test asks.)

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "support/samples.h"
#include "testing/cases.h"
#include "testing/special.h"
#include "testing/targets.h"

namespace dynet::testing {
namespace {

/// "NaN, ±inf" of some results; "–" where all are finite.
std::string worst(const std::vector<std::vector<double>>& results) {
  std::set<Kind> kinds;
  for (const auto& numbers : results) {
    for (const double x : numbers) {
      kinds.insert(kind_of(x));
    }
  }
  if (kinds.contains(Kind::kNan)) {
    return "NaN";
  }
  const bool plus = kinds.contains(Kind::kInfinity);
  const bool minus = kinds.contains(Kind::kMinusInfinity);
  return plus && minus ? "±inf" : plus ? "inf" : minus ? "-inf" : "–";
}

/// What the value and the gradients of one example are when the first element of a source is
/// special: "NaN", or "NaN; inf" where they differ.
std::string outcome(const Program& plain, std::size_t source, float value, Device* device) {
  const Program program = with_special(plain, source, 0, value);
  const Result result = run(program, {device, true});
  std::vector<std::vector<double>> gradients;
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    if (program.steps[s].sample == nullptr) {
      gradients.push_back(result.gradients[s][0]);
    }
  }
  const std::string y = worst(result.values.back());
  const std::string dx = worst(gradients);
  return y == dx ? y : y + "; " + dx;
}

/// The first example of each operation that has all its arguments.
std::vector<const Sample*> examples_of_the_page() {
  std::vector<const Sample*> all;
  std::set<std::string_view> seen;
  for (const Sample* s : operation_samples()) {
    bool whole = !s->inputs.empty();
    for (const Dim& d : s->inputs) {
      whole = whole && !ext::is_absent(d);
    }
    if (whole && seen.insert(s->record->info->name).second) {
      all.push_back(s);
    }
  }
  return all;
}

std::string argument_name(const Sample& s, std::size_t source) {
  const auto& names = s.record->info->args;
  if (s.record->variadic) {
    return std::string(names[0]) + "[" + std::to_string(source) + "]";
  }
  return std::string(names[source]);
}

std::string table() {
  std::string text = "| operation | argument |";
  std::string line = "|---|---|";
  for (const Special& special : kSpecials) {
    text += " " + std::string(special.name) + " |";
    line += "---|";
  }
  text += "\n" + line + "\n";
  for (const Sample* s : examples_of_the_page()) {
    const Program program = cases_of(*s).front().program;  // unbatched
    for (std::size_t source = 0; source < program.sources.size(); ++source) {
      text +=
          "| `" + std::string(s->record->info->name) + "` | " + argument_name(*s, source) + " |";
      for (const Special& special : kSpecials) {
        const std::string in_float = outcome(program, source, special.value, float_device());
        const std::string in_double = outcome(program, source, special.value, double_device());
        text += " " + in_float + (in_float == in_double ? "" : " (" + in_double + ")") + " |";
      }
      text += "\n";
    }
  }
  return text;
}

TEST(SpecialValuesPage, HasTheTable) {
  std::ifstream file(std::filesystem::path(DYNET_SOURCE_DIR) / "docs" / "special-values.md");
  const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t begin = page.find("| operation |");
  ASSERT_NE(begin, std::string::npos);
  const std::string said = page.substr(begin, page.find("\n\n", begin) + 1 - begin);
  const SimdTarget usual;
  for (const std::string& target : kernels::supported_targets()) {
    SimdTarget::use(target);
    const std::string found = table();
    if (found != said) {
      const std::string name = "special-values." + target + ".md";
      std::ofstream(name) << found;
      ADD_FAILURE() << "on " << target << "; what the page should say is now in " << name;
    }
  }
}

}  // namespace
}  // namespace dynet::testing
