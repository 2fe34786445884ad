#include "report.h"

#include <cstdio>
#include <utility>

namespace dynet::bench {

namespace {

std::string number(double v) {
  char text[40];
  std::snprintf(text, sizeof text, v >= 1000 ? "%.0f" : (v >= 100 ? "%.1f" : "%.2f"), v);
  return text;
}

std::string line_of(const Row& row) {
  char text[256];
  std::string bound;
  std::string share;
  if (row.want != Want::kNothing) {
    bound = std::string(row.want == Want::kAtMost ? "<= " : ">= ") + number(row.bound);
    char percent[32];
    std::snprintf(percent, sizeof percent, "%.0f %%", 100 * row.share());
    share = percent;
  }
  std::snprintf(text, sizeof text, "  %-46s %10s %-12s %11s %7s", row.name.c_str(),
                number(row.value).c_str(), row.unit.c_str(), bound.c_str(), share.c_str());
  return std::string(text) + (row.note.empty() ? "" : "  " + row.note);
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  return out + "\"";
}

}  // namespace

double Row::share() const {
  if (want == Want::kNothing || value <= 0 || bound <= 0) {
    return 0;
  }
  return want == Want::kAtMost ? bound / value : value / bound;
}

void Report::add(Row row) {
  if (prints_) {
    if (rows_.empty() || rows_.back().group != row.group) {
      std::printf("%s\n", row.group.c_str());
    }
    std::printf("%s\n", line_of(row).c_str());
    std::fflush(stdout);
  }
  rows_.push_back(std::move(row));
}

std::string Report::csv() const {
  std::string text = "group,name,value,unit,bound,share,note\n";
  for (const Row& row : rows_) {
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, "%.6g", row.value);
    text +=
        quoted(row.group) + "," + quoted(row.name) + "," + numbers + "," + quoted(row.unit) + ",";
    std::snprintf(numbers, sizeof numbers, "%.6g,%.4g", row.bound, row.share());
    text += (row.want == Want::kNothing ? std::string(",") : std::string(numbers)) + "," +
            quoted(row.note) + "\n";
  }
  return text;
}

std::string Report::json() const {
  std::string text = "[\n";
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    char numbers[128];
    std::snprintf(numbers, sizeof numbers, "\"value\": %.6g", row.value);
    text += "  {\"group\": " + quoted(row.group) + ", \"name\": " + quoted(row.name) + ", " +
            numbers + ", \"unit\": " + quoted(row.unit);
    if (row.want != Want::kNothing) {
      std::snprintf(numbers, sizeof numbers, ", \"bound\": %.6g, \"share\": %.4g", row.bound,
                    row.share());
      text += numbers;
    }
    text += ", \"note\": " + quoted(row.note) + (i + 1 < rows_.size() ? "},\n" : "}\n");
  }
  return text + "]\n";
}

}  // namespace dynet::bench
