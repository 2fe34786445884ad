// Files of clusters, and the trees that they describe.

#include <algorithm>
#include <fstream>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "dynet/except.h"

#include "builders/softmax_support.h"
#include "util/foreign_file.h"
#include "util/utf8_mark.h"

namespace dynet::builders {

namespace {

constexpr const char* kBlank = " \t";

class Reader {
 public:
  Reader(const char* builder, std::string file) : builder_(builder), file_(std::move(file)) {}

  [[noreturn]] void fail(const std::string& text) const {
    throw errors::ValueError(std::string(builder_) + ": " + file_ + ": " + text);
  }
  [[noreturn]] void fail(std::size_t line, const std::string& text) const {
    throw errors::ValueError(std::string(builder_) + ": " + file_ + ":" + std::to_string(line) +
                             ": " + text);
  }

  /// `<class> <word> ...`
  [[nodiscard]] ClusterLine read_class(const std::string& line, std::size_t number) const {
    std::size_t at = 0;
    std::string name = next_field(line, at);
    std::string word = next_field(line, at);
    if (word.empty()) {
      fail(number,
           std::string(name.empty() ? "an empty line" : "one field") + "; want a class and a word");
    }
    return {{std::move(name)}, std::move(word), number};
  }

  /// `<symbol> ... <symbol>\t<word> ...`
  [[nodiscard]] ClusterLine read_path(const std::string& line, std::size_t number) const {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) {
      fail(number, "no tab; want symbols, a tab and a word");
    }
    ClusterLine read{{}, {}, number};
    for (std::size_t begin = 0; begin <= tab;) {
      const std::size_t end = std::min(line.find(' ', begin), tab);
      if (end == begin) {
        fail(number, "an empty symbol; want symbols with one space between them before the tab");
      }
      read.path.push_back(line.substr(begin, end - begin));
      begin = end + 1;
      if (read.path.size() > kLongestPath) {
        fail(number, "more than " + std::to_string(kLongestPath) + " symbols");
      }
    }
    std::size_t at = tab + 1;
    if (at < line.size() && std::string(kBlank).find(line[at]) == std::string::npos) {
      read.word = next_field(line, at);
    }
    if (read.word.empty()) {
      fail(number, "no word after the tab");
    }
    return read;
  }

 private:
  /// The field that begins at or after `at`; empty if there is none. Moves `at` behind the field.
  [[nodiscard]] static std::string next_field(const std::string& line, std::size_t& at) {
    const std::size_t begin = line.find_first_not_of(kBlank, at);
    if (begin == std::string::npos) {
      at = line.size();
      return {};
    }
    at = std::min(line.find_first_of(kBlank, begin), line.size());
    return line.substr(begin, at - begin);
  }

  const char* builder_;
  std::string file_;
};

/// The path as text.
std::string joined(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& symbol : path) {
    text += (text.empty() ? "" : " ") + symbol;
  }
  return text;
}

/// The future ids of words. Nothing is added to the dictionary yet.
class Ids {
 public:
  static constexpr int kLeftOut = -1;
  static constexpr int kUnknown = -2;

  explicit Ids(Dict& words) : words_(words) {}
  [[nodiscard]] int of(const std::string& word) {
    if (words_.contains(word)) {
      return words_.convert(word);
    }
    if (words_.is_frozen()) {
      return words_.get_unk_id() >= 0 ? kLeftOut : kUnknown;
    }
    fresh_.push_back(&word);
    return static_cast<int>(words_.size() + fresh_.size()) - 1;
  }
  void add_fresh() {
    for (const std::string* word : fresh_) {
      words_.convert(*word);
    }
  }
  [[nodiscard]] std::size_t size() const { return words_.size() + fresh_.size(); }

 private:
  Dict& words_;
  std::vector<const std::string*> fresh_;
};

/// The cluster at the end of a line's path.
detail::Cluster* descend(const Reader& reader, const ClusterLine& line, Dict& symbols,
                         detail::Cluster& root) {
  detail::Cluster* cluster = &root;
  for (const std::string& symbol : line.path) {
    if (!cluster->words().empty()) {
      reader.fail(line.number, "'" + joined(line.path) +
                                   "' goes on after a class that has words in an earlier line");
    }
    cluster = cluster->add_child(static_cast<unsigned>(symbols.convert(symbol)));
  }
  if (cluster->num_children() > 0) {
    reader.fail(line.number,
                "'" + joined(line.path) + "' ends where earlier lines have further symbols");
  }
  return cluster;
}

}  // namespace

std::ifstream open_clusters(const char* builder, const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    Reader(builder, file).fail("the file of clusters cannot be opened");
  }
  return in;
}

std::vector<ClusterLine> read_cluster_lines(const char* builder, std::istream& in,
                                            const std::string& file, bool is_path) {
  const Reader reader(builder, file);
  if (const std::string what = util::foreign_file(in); !what.empty()) {
    reader.fail("no clusters: " + what);
  }
  std::vector<ClusterLine> lines;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (number == 1) {
      line.erase(0, util::mark_size(line));
    }
    if (line.find('\0') != std::string::npos) {
      reader.fail(number, "a zero byte");
    }
    if (!line.empty() && line.back() == '\r') {
      line.pop_back();
    }
    lines.push_back(is_path ? reader.read_path(line, number) : reader.read_class(line, number));
  }
  if (in.bad()) {
    reader.fail("the file of clusters cannot be read");
  }
  if (lines.empty()) {
    reader.fail("the file of clusters is empty");
  }
  return lines;
}

ClusterTree make_cluster_tree(const char* builder, const std::string& file,
                              const std::vector<ClusterLine>& lines, Dict& words) {
  const Reader reader(builder, file);
  ClusterTree tree;
  Ids ids(words);
  Dict symbols;
  std::unordered_map<std::string, std::size_t> seen;
  std::unordered_set<std::string> kept;
  std::vector<const ClusterLine*> left_out;
  std::vector<std::pair<int, const detail::Cluster*>> placed;
  for (const ClusterLine& line : lines) {
    const auto [first, is_new] = seen.emplace(line.word, line.number);
    if (!is_new) {
      reader.fail(line.number, "'" + line.word + "' has a class in line " +
                                   std::to_string(first->second) + " already");
    }
    const int id = ids.of(line.word);
    if (id == Ids::kUnknown) {
      reader.fail(line.number, "'" + line.word + "' is not in the dictionary, which is frozen");
    }
    if (id == Ids::kLeftOut) {
      left_out.push_back(&line);
      continue;
    }
    kept.insert(joined(line.path));
    detail::Cluster* const cluster = descend(reader, line, symbols, tree.root);
    cluster->add_word(static_cast<unsigned>(id));
    placed.emplace_back(id, cluster);
  }
  for (const ClusterLine* line : left_out) {
    if (kept.count(joined(line->path)) == 0) {
      reader.fail(line->number, "class '" + joined(line->path) +
                                    "' is empty: no word of it is in the dictionary, which is "
                                    "frozen");
    }
  }
  tree.paths.resize(ids.size());
  for (const auto& [id, cluster] : placed) {
    std::vector<unsigned>& path = tree.paths[static_cast<std::size_t>(id)];
    path = cluster->get_path();
    path.push_back(cluster->get_index(static_cast<unsigned>(id)));
  }
  ids.add_fresh();
  return tree;
}

}  // namespace dynet::builders
