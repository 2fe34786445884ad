// Tables of the documentation equal tables made by the library.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "params/options.h"
#include "util/env.h"

namespace dynet {
namespace {

std::string page(const std::string& name) {
  std::ifstream file(std::filesystem::path(DYNET_SOURCE_DIR) / "docs" / name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Markdown takes a bar for the end of a cell.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    escaped += c == '|' ? "\\|" : std::string(1, c);
  }
  return escaped;
}

/// The lines of the table that begins with `heading`.
std::string table(const std::string& text, const std::string& heading) {
  const std::size_t begin = text.find(heading);
  return begin == std::string::npos ? "" : text.substr(begin, text.find("\n\n", begin) + 1 - begin);
}

TEST(Documentation, OptionsAreTheTable) {
  const std::string heading = "| option | meaning |\n|---|---|\n";
  std::string wanted = heading;
  for (const params::OptionText& option : params::option_table()) {
    wanted += "| `--dynet-" + std::string(option.name) + " " + cell(option.value) + "` | " +
              cell(option.meaning) + " |\n";
  }
  EXPECT_EQ(table(page("options.md"), heading), wanted);
}

TEST(Documentation, VariablesAreTheTable) {
  const std::string heading = "| variable | meaning |\n|---|---|\n";
  std::string wanted = heading;
  for (const util::EnvVariable& variable : util::env_table()) {
    wanted += "| `" + std::string(variable.name) + "` | " + cell(variable.meaning) + " |\n";
  }
  EXPECT_EQ(table(page("options.md"), heading), wanted);
}

}  // namespace
}  // namespace dynet
