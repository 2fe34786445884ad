// docs/special-values.md lists the results of each operation for NaN, infinities, zeros of both
// signs, denormal numbers and the largest floats, and for rows that are special as a whole.
// (every_op_test checks that results are equal merged and one by one, in float and in double.)

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/samples.h"
#include "testing/cases.h"
#include "testing/special.h"
#include "testing/targets.h"

namespace dynet::testing {
namespace {

/// "NaN, ±inf" of some results; "–" if all are finite.
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

/// The worst of the value and of the gradients of one example: "NaN", or "NaN; inf" if they differ.
std::string outcome_of(const Program& program, Device* device) {
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

/// The outcome in float, and in parentheses the outcome in double if it differs.
std::string outcome(const Program& program) {
  const std::string in_float = outcome_of(program, float_device());
  const std::string in_double = outcome_of(program, double_device());
  return in_float + (in_float == in_double ? "" : " (" + in_double + ")");
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

/// The head of a table: a column for each of these.
std::string head(std::string_view operation, const auto& specials) {
  std::string text = "| " + std::string(operation) + " | argument |";
  std::string line = "|---|---|";
  for (const auto& special : specials) {
    text += " " + std::string(special.name) + " |";
    line += "---|";
  }
  return text + "\n" + line + "\n";
}

std::string table_of_numbers() {
  std::string text = head("operation", kSpecials);
  for (const Sample* s : examples_of_the_page()) {
    const Program program = cases_of(*s).front().program;  // unbatched
    for (std::size_t source = 0; source < program.sources.size(); ++source) {
      text +=
          "| `" + std::string(s->record->info->name) + "` | " + argument_name(*s, source) + " |";
      for (const Special& special : kSpecials) {
        text += " " + outcome(with_special(program, source, 0, special.value)) + " |";
      }
      text += "\n";
    }
  }
  return text;
}

/// A rule that computes each number from the numbers at its place.
bool is_elementwise(const ext::Record& record) {
  return record.rule != nullptr && !record.rule->summed;
}

/// The operations on rows, without operations that give finite numbers for all of these rows.
std::string table_of_rows() {
  std::string text = head("operation on rows", kSpecialRows);
  for (const Sample* s : examples_of_the_page()) {
    if (is_elementwise(*s->record)) {
      continue;
    }
    const Program program = cases_of(*s).front().program;
    for (std::size_t source = 0; source < program.sources.size(); ++source) {
      std::string line;
      bool is_ordinary = true;
      for (const SpecialRow& row : kSpecialRows) {
        const std::size_t length = program.sources[source].data.size();
        const std::string found = outcome(with_row(program, source, row, length));
        is_ordinary = is_ordinary && found == "–";
        line += " " + found + " |";
      }
      if (!is_ordinary) {
        text += "| `" + std::string(s->record->info->name) + "` | " + argument_name(*s, source) +
                " |" + line + "\n";
      }
    }
  }
  return text;
}

/// The page has this table, on all targets. If not, the right table is written to a file `name`.
void expect_on_page(const std::string& head_of_table, std::string (*table)(),
                    const std::string& name) {
  std::ifstream file(std::filesystem::path(DYNET_SOURCE_DIR) / "docs" / "special-values.md");
  const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t begin = std::min(page.find(head_of_table), page.size());
  const std::size_t end = std::min(page.find("\n\n", begin), page.size() - 1);
  const std::string said = page.substr(begin, end + 1 - begin);
  const SimdTarget usual;
  for (const std::string& target : kernels::supported_targets()) {
    SimdTarget::use(target);
    const std::string found = table();
    if (found != said) {
      const std::string written = name + "." + target + ".md";
      std::ofstream(written) << found;
      ADD_FAILURE() << "on " << target << "; what the page should say is now in " << written;
    }
  }
}

TEST(SpecialValuesPage, HasTheTableOfNumbers) {
  expect_on_page("| operation |", table_of_numbers, "special-values");
}

TEST(SpecialValuesPage, HasTheTableOfRows) {
  expect_on_page("| operation on rows |", table_of_rows, "special-rows");
}

}  // namespace
}  // namespace dynet::testing
