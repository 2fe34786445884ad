// A plan as a picture: one box per group, from left to right in the order in which they can run.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedule/explain.h"

namespace dynet::schedule {
namespace {

constexpr int kNodeWidth = 210;
constexpr int kNodeHeight = 20;
constexpr int kPad = 8;
constexpr int kTitle = 18;
constexpr int kColumnGap = 70;
constexpr int kRowGap = 14;
constexpr std::size_t kColumns = 8;  ///< side by side, 2,400 pixels; further ones are below them
constexpr std::size_t kShown = 8;    ///< members of a group; the others share one box

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 32;
  return text.size() <= kMost ? text : text.substr(0, kMost - 3) + "...";
}

/// Nodes drawn as one box: a group of the plan, or a parameter.
struct Box {
  std::string title;
  std::string color;
  std::vector<NodeId> members;
  std::size_t column = 0;
  int x = 0, y = 0;

  [[nodiscard]] std::size_t rows() const { return std::min(members.size(), kShown + 1); }
  [[nodiscard]] int height() const {
    return title_height() + 2 * kPad + static_cast<int>(rows()) * (kNodeHeight + 4) - 4;
  }
  [[nodiscard]] int title_height() const { return title.empty() ? 0 : kTitle; }
  [[nodiscard]] int row_y(std::size_t member) const {
    return y + title_height() + kPad +
           static_cast<int>(std::min(member, kShown)) * (kNodeHeight + 4);
  }
};

/// The same operation has the same color in each picture.
std::string color_of(std::string_view operation) {
  unsigned hue = 0;
  for (const char c : operation) {
    hue = (hue * 31 + static_cast<unsigned char>(c)) % 360;
  }
  return "hsl(" + std::to_string(hue) + ",60%,90%)";
}

class Drawing {
 public:
  Drawing(const graph::Graph& graph, const Plan& plan) : graph_(graph), places_(graph.size()) {
    add_parameters();
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
      add_group(plan, g);
    }
    lay_out();
  }

  [[nodiscard]] std::string text() const {
    if (boxes_.empty()) {
      return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"240\" height=\"40\" "
             "font-family=\"sans-serif\" font-size=\"11\">\n<text x=\"14\" y=\"24\">The graph has "
             "no nodes.</text>\n</svg>\n";
    }
    std::string text = R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" +
                       std::to_string(width_) + R"(" height=")" + std::to_string(height_) +
                       R"(" font-family="sans-serif" font-size="11">)" + "\n" +
                       R"(<rect width="100%" height="100%" fill="white"/>)" + "\n";
    for (const Box& box : boxes_) {
      text += box_text(box);
    }
    for (NodeId n = 0; n < graph_.size(); ++n) {
      text += edges_text(n);
    }
    return text + "</svg>\n";
  }

 private:
  /// Where the node's row is. The last group that computes a node has it.
  struct Place {
    std::size_t box = 0;
    std::size_t member = 0;
    bool is_set = false;
  };

  /// To the right of all that its members read and that is there: the first terms of a node are
  /// computed before some of its arguments are.
  void add(Box box) {
    for (std::size_t m = 0; m < box.members.size(); ++m) {
      for (const NodeId a : graph_.args(box.members[m])) {
        if (place(a).is_set) {
          box.column = std::max(box.column, boxes_[place(a).box].column + 1);
        }
      }
      places_[box.members[m]] = {boxes_.size(), m, true};
    }
    boxes_.push_back(std::move(box));
  }
  void add_parameters() {
    for (NodeId n = 0; n < graph_.size(); ++n) {
      if (graph_[n].record().reads_storage == ext::Storage::kWhole) {
        add({"", "#eeeeee", {n}});
      }
    }
  }
  void add_group(const Plan& plan, std::size_t g) {
    const Group& group = plan.groups[g];
    const auto* const first = plan.members.data() + group.first;
    const std::string name(graph_[*first].record().info->name);
    const char* const part = group.part == Part::kFirst  ? ", first terms"
                             : group.part == Part::kRest ? ", other terms"
                                                         : "";
    add({std::to_string(g) + ": " + std::to_string(group.members) + " x " + name + part,
         color_of(name),
         {first, first + group.members}});
  }
  [[nodiscard]] const Place& place(NodeId n) const { return places_[graph_.owner(n)]; }

  /// Columns from left to right, up to the width of the picture; each box at the mean height of its
  /// neighbours.
  void lay_out() {
    std::map<std::size_t, int> used;     // by column: its height
    std::map<std::size_t, int> heights;  // by line of columns
    for (Box& box : boxes_) {
      int& y = used.try_emplace(box.column, kRowGap).first->second;
      box.x =
          kRowGap + static_cast<int>(box.column % kColumns) * (kNodeWidth + 2 * kPad + kColumnGap);
      box.y = y;
      y += box.height() + kRowGap;
      width_ = std::max(width_, box.x + kNodeWidth + 2 * kPad + kRowGap);
      int& height = heights[box.column / kColumns];
      height = std::max(height, y);
    }
    std::map<std::size_t, int> tops;
    for (const auto& [line, height] : heights) {
      tops[line] = height_;
      height_ += height;
    }
    for (Box& box : boxes_) {
      const std::size_t line = box.column / kColumns;
      box.y += tops[line] + (heights[line] - used[box.column]) / 2;
    }
  }

  [[nodiscard]] std::string box_text(const Box& box) const {
    std::string text = "<g><rect x=\"" + std::to_string(box.x) + "\" y=\"" + std::to_string(box.y) +
                       "\" width=\"" + std::to_string(kNodeWidth + 2 * kPad) + "\" height=\"" +
                       std::to_string(box.height()) + "\" rx=\"6\" fill=\"" + box.color +
                       "\" stroke=\"#999999\"/>\n<text x=\"" + std::to_string(box.x + kPad) +
                       "\" y=\"" + std::to_string(box.y + kTitle - 3) + "\" font-weight=\"bold\">" +
                       escaped(box.title) + "</text>\n";
    for (std::size_t m = 0; m < box.rows(); ++m) {
      const bool is_rest = m == kShown;
      text += row_text(box, m,
                       is_rest ? std::to_string(box.members.size() - kShown) + " more"
                               : "v" + std::to_string(box.members[m]) + " " + label(box.members[m]),
                       is_rest ? "" : graph_.describe(box.members[m]));
    }
    return text + "</g>\n";
  }
  [[nodiscard]] std::string label(NodeId n) const {
    return to_string(graph_.dim(n)) +
           (graph_[n].arity == 0 ? " " + shortened(graph_.call_text(n)) : "");
  }
  static std::string row_text(const Box& box, std::size_t row, const std::string& label,
                              const std::string& hint) {
    const std::string x = std::to_string(box.x + kPad);
    const int y = box.row_y(row);
    return "<g><title>" + escaped(hint) + "</title><rect x=\"" + x + "\" y=\"" + std::to_string(y) +
           "\" width=\"" + std::to_string(kNodeWidth) + "\" height=\"" +
           std::to_string(kNodeHeight) +
           "\" rx=\"3\" fill=\"white\" stroke=\"#bbbbbb\"/><text x=\"" +
           std::to_string(box.x + kPad + 5) + "\" y=\"" + std::to_string(y + 14) + "\">" +
           escaped(shortened(label)) + "</text></g>\n";
  }

  /// From the right side of each argument to the left side of the node; pale from parameters, which
  /// many nodes read.
  [[nodiscard]] std::string edges_text(NodeId n) const {
    if (graph_[n].output != 0) {
      return {};
    }
    const Box& to = boxes_[place(n).box];
    const int y2 = to.row_y(place(n).member) + kNodeHeight / 2;
    const int x2 = to.x + kPad;
    std::string text;
    for (const NodeId a : graph_.args(n)) {
      const Box& from = boxes_[place(a).box];
      const int x1 = from.x + kPad + kNodeWidth;
      const int y1 = from.row_y(place(a).member) + kNodeHeight / 2;
      const int middle = (x1 + x2) / 2;
      char line[192];
      std::snprintf(line, sizeof line,
                    R"(<path d="M%d %d C%d %d %d %d %d %d" fill="none" stroke="#555555" )"
                    R"(stroke-opacity="%s"/>)"
                    "\n",
                    x1, y1, middle, y1, middle, y2, x2, y2, from.title.empty() ? "0.12" : "0.6");
      text += line;
    }
    return text;
  }

  const graph::Graph& graph_;
  std::vector<Place> places_;
  std::vector<Box> boxes_;
  int width_ = 0;
  int height_ = 0;
};

}  // namespace

std::string to_svg(const graph::Graph& graph, const Plan& plan) {
  return Drawing(graph, plan).text();
}

}  // namespace dynet::schedule
