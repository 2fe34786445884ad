// The best dependency trees: max_spanning_tree and eisner.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "dynet/except.h"
#include "dynet/structured.h"

#include "api/lengths.h"
#include "api/tree_nodes.h"
#include "builders/sentence_scores.h"

namespace dynet {
namespace {

using Heads = std::vector<unsigned>;
constexpr double kForbiddenArc = -std::numeric_limits<double>::infinity();

/// The scores of one sentence: of node 0, the root, and nodes 1 to n, its words.
class ArcScores {
 public:
  /// Example `example` of scores {rows,columns}, of which the first `words` words count.
  ArcScores(const std::string& at, const Dim& d, const std::vector<double>& all,
            std::size_t example, unsigned words)
      : nodes_(std::size_t{words} + 1), numbers_(nodes_ * nodes_, kForbiddenArc) {
    const std::size_t rows = d.rows();
    const std::size_t first = example * rows * d.cols();
    for (std::size_t word = 1; word < nodes_; ++word) {
      for (std::size_t head = 0; head < nodes_; ++head) {
        if (head != word) {
          const double score = all[first + ((word - 1) * rows) + head];
          builders::check_score(at, score, [&] {
            return "head " + std::to_string(head) + " for word " + std::to_string(word - 1) +
                   " in " + builders::example_of(d, example);
          });
          numbers_[(word * nodes_) + head] = score;
        }
      }
    }
  }
  [[nodiscard]] std::size_t nodes() const { return nodes_; }
  [[nodiscard]] double operator()(std::size_t head, std::size_t word) const {
    return numbers_[(word * nodes_) + head];
  }

 private:
  std::size_t nodes_;
  std::vector<double> numbers_;  ///< the heads of a word side by side
};

// ---- trees with crossing arcs

/// The weight of an arc. A tree with fewer arcs from the root is better, if that counts; then the
/// sum of the scores decides. A count of its own is exact; a large number taken off the scores of
/// the root would not be.
struct ArcWeight {
  double score = kForbiddenArc;
  int at_root = 0;

  [[nodiscard]] bool is_better(const ArcWeight& other) const {
    if (score == kForbiddenArc || other.score == kForbiddenArc) {
      return other.score == kForbiddenArc && score != kForbiddenArc;
    }
    return at_root != other.at_root ? at_root < other.at_root : score > other.score;
  }
};

/// Edmonds' algorithm along paths (Tarjan, 1977; Camerini et al., 1979). A path goes from a word to
/// its best head, and on to the head's best head. A path that meets itself has found a cycle, which
/// becomes one group; a path that meets the root, or an older path, ends. Groups are then opened
/// again, the newest first: the arc into a group replaces the arc into one of its members.
///
/// Each group has a row with the best arc from each node. Groups join at most n - 1 times, and a
/// row is read or joined in n steps: n^2 in all.
class Edmonds {
 public:
  Edmonds(const ArcScores& scores, bool single_root)
      : nodes_(scores.nodes()),
        rows_(nodes_),
        group_of_(nodes_),
        groups_(nodes_),
        is_done_(nodes_, false) {
    for (std::size_t v = 0; v < nodes_; ++v) {
      group_of_[v] = v;
      groups_[v].row = v;
      rows_[v].resize(nodes_);
      for (std::size_t u = 0; u < nodes_; ++u) {
        rows_[v][u] = {{scores(u, v), u == 0 && single_root ? 1 : 0}, v};
      }
    }
    is_done_[0] = true;
  }

  /// The head of each word; empty if there is no tree.
  Heads heads() {
    for (std::size_t v = 1; v < nodes_; ++v) {
      if (!walk_from(group_of_[v])) {
        return {};
      }
    }
    for (std::size_t g = groups_.size(); g-- > nodes_;) {
      std::size_t member = groups_[g].entering.into;
      while (groups_[member].above != g) {
        member = groups_[member].above;
      }
      groups_[member].entering = groups_[g].entering;
      groups_[member].from = groups_[g].from;
    }
    Heads heads(nodes_ - 1);
    for (std::size_t v = 1; v < nodes_; ++v) {
      heads[v - 1] = static_cast<unsigned>(groups_[v].from);
    }
    return heads;
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  /// The best arc from a node into a group.
  struct Arc {
    ArcWeight weight;
    std::size_t into = 0;  ///< the word of the group to which the arc leads
  };
  struct Group {
    std::size_t row = 0;  ///< in rows_
    std::size_t above = kNone;
    std::size_t from = 0;  ///< the chosen arc: its head, and the rest
    Arc entering;
  };

  /// Goes from a group to the root. False if a group has no arc that is allowed.
  bool walk_from(std::size_t g) {
    std::vector<std::size_t> path;
    while (!is_done_[g]) {
      const auto met = std::find(path.begin(), path.end(), g);
      if (met != path.end()) {
        g = join(path, met);
      }
      path.push_back(g);
      if (!choose(g)) {
        return false;
      }
      g = group_of_[groups_[g].from];
    }
    for (const std::size_t member : path) {
      is_done_[member] = true;
    }
    return true;
  }

  bool choose(std::size_t g) {
    const std::vector<Arc>& row = rows_[groups_[g].row];
    Arc best;
    std::size_t from = kNone;
    for (std::size_t u = 0; u < nodes_; ++u) {
      if (group_of_[u] != g && row[u].weight.is_better(best.weight)) {
        best = row[u];
        from = u;
      }
    }
    groups_[g].entering = best;
    groups_[g].from = from;
    return from != kNone;
  }

  /// Makes one group of the path's groups from `first` on, and takes them off the path.
  std::size_t join(std::vector<std::size_t>& path, std::vector<std::size_t>::iterator first) {
    const std::size_t joined = groups_.size();
    Group group;
    group.row = groups_[*first].row;
    std::vector<Arc>& row = rows_[group.row];
    for (auto member = first; member != path.end(); ++member) {
      const double chosen = groups_[*member].entering.weight.score;  // no arc from the root
      const std::vector<Arc>& theirs = rows_[groups_[*member].row];
      for (std::size_t u = 0; u < nodes_; ++u) {
        Arc arc = theirs[u];
        arc.weight.score -= chosen;
        if (member == first || arc.weight.is_better(row[u].weight)) {
          row[u] = arc;
        }
      }
      groups_[*member].above = joined;
    }
    for (std::size_t& g : group_of_) {
      g = groups_[g].above == joined ? joined : g;
    }
    path.erase(first, path.end());
    groups_.push_back(group);
    is_done_.push_back(false);
    return joined;
  }

  std::size_t nodes_;
  std::vector<std::vector<Arc>> rows_;  ///< the row of a joined group is its first member's
  std::vector<std::size_t> group_of_;   ///< the outermost group of each node
  std::vector<Group> groups_;           ///< the nodes, then the joined groups as they were made
  std::vector<bool> is_done_;           ///< of each group, if it is an outermost one
};

Heads spanning_tree(const ArcScores& scores, bool single_root) {
  Heads heads = Edmonds(scores, single_root).heads();
  if (single_root && std::count(heads.begin(), heads.end(), 0U) > 1) {
    heads.clear();  // the fewest words at the root are several
  }
  return heads;
}

// ---- trees without crossing arcs

/// Eisner's tables. For the words i to j, a *half* is a word and all that it has on one side: of
/// the left word i (`kOfLeft`) or of the right word j; a *link* is two halves and the arc between i
/// and j. Splits are found again from the sums, so that ties are decided in one place: the first
/// split wins.
class Eisner {
 public:
  Eisner(const ArcScores& scores, bool single_root)
      : scores_(scores), nodes_(scores.nodes()), single_root_(single_root) {
    for (std::vector<double>& table : tables_) {
      table.assign(nodes_ * nodes_, kForbiddenArc);
    }
    for (std::size_t i = 0; i < nodes_; ++i) {
      at(kHalfOfLeft, i, i) = at(kHalfOfRight, i, i) = 0.0;
    }
    const std::size_t first = single_root ? 1 : 0;
    for (std::size_t width = 1; width < nodes_ - first; ++width) {
      for (std::size_t i = first; i + width < nodes_; ++i) {
        fill(i, i + width);
      }
    }
  }

  /// The head of each word; empty if there is no tree.
  Heads heads() {
    heads_.assign(nodes_ - 1, 0);
    if (single_root_) {
      std::size_t top = 0;
      double most = kForbiddenArc;
      for (std::size_t r = 1; r < nodes_; ++r) {
        const double sum = scores_(0, r) + at(kHalfOfRight, 1, r) + at(kHalfOfLeft, r, nodes_ - 1);
        if (sum > most) {
          most = sum;
          top = r;
        }
      }
      if (top == 0) {
        return {};
      }
      pending_ = {{kHalfOfRight, 1, top}, {kHalfOfLeft, top, nodes_ - 1}};
    } else if (at(kHalfOfLeft, 0, nodes_ - 1) == kForbiddenArc) {
      return {};
    } else {
      pending_ = {{kHalfOfLeft, 0, nodes_ - 1}};
    }
    while (!pending_.empty()) {
      const Part part = pending_.back();
      pending_.pop_back();
      open(part);
    }
    return heads_;
  }

 private:
  enum Kind : unsigned char { kHalfOfLeft, kHalfOfRight, kLinkOfLeft, kLinkOfRight };
  struct Part {
    Kind kind;
    std::size_t i, j;
  };
  struct Split {
    double sum = kForbiddenArc;
    std::size_t at = 0;
  };

  /// Parts that end at one word lie side by side for the kinds that are read so.
  double& at(Kind kind, std::size_t i, std::size_t j) {
    return tables_[kind][kind == kHalfOfLeft || kind == kLinkOfLeft ? (i * nodes_) + j
                                                                    : (j * nodes_) + i];
  }
  /// The best k of first(i, k) + second(k + gap, j), from..to.
  Split best(Kind first, Kind second, const Part& of, std::size_t from, std::size_t to,
             std::size_t gap) {
    Split split{kForbiddenArc, from};
    for (std::size_t k = from; k <= to; ++k) {
      const double sum = at(first, of.i, k) + at(second, k + gap, of.j);
      if (sum > split.sum) {
        split = {sum, k};
      }
    }
    return split;
  }
  Split split_of(const Part& p) {
    switch (p.kind) {
      case kHalfOfLeft:
        return best(kLinkOfLeft, kHalfOfLeft, p, p.i + 1, p.j, 0);
      case kHalfOfRight:
        return best(kHalfOfRight, kLinkOfRight, p, p.i, p.j - 1, 0);
      default:
        return best(kHalfOfLeft, kHalfOfRight, p, p.i, p.j - 1, 1);
    }
  }
  void fill(std::size_t i, std::size_t j) {
    const double halves = split_of({kLinkOfLeft, i, j}).sum;
    at(kLinkOfLeft, i, j) = halves + scores_(i, j);
    at(kLinkOfRight, i, j) = halves + scores_(j, i);  // -inf for the root
    at(kHalfOfLeft, i, j) = split_of({kHalfOfLeft, i, j}).sum;
    at(kHalfOfRight, i, j) = split_of({kHalfOfRight, i, j}).sum;
  }
  /// Notes the arc of a part, and the two parts in it.
  void open(const Part& p) {
    if (p.i == p.j) {
      return;
    }
    const std::size_t k = split_of(p).at;
    switch (p.kind) {
      case kHalfOfLeft:
        pending_.insert(pending_.end(), {{kLinkOfLeft, p.i, k}, {kHalfOfLeft, k, p.j}});
        return;
      case kHalfOfRight:
        pending_.insert(pending_.end(), {{kHalfOfRight, p.i, k}, {kLinkOfRight, k, p.j}});
        return;
      default:
        heads_[(p.kind == kLinkOfLeft ? p.j : p.i) - 1] =
            static_cast<unsigned>(p.kind == kLinkOfLeft ? p.i : p.j);
        pending_.insert(pending_.end(), {{kHalfOfLeft, p.i, k}, {kHalfOfRight, k + 1, p.j}});
    }
  }

  const ArcScores& scores_;
  std::size_t nodes_;
  bool single_root_;
  std::vector<double> tables_[4];  ///< by kind
  std::vector<Part> pending_;
  Heads heads_;
};

// ---- batches

std::vector<Heads> trees_of(const char* name, const Tensor& scores,
                            const std::vector<unsigned>& lengths, bool single_root,
                            Heads (*best)(const ArcScores&, bool)) {
  const std::string at = std::string(name) + ": ";
  const Dim& d = scores.d;
  const unsigned most = api::words_of_arcs(name, d, Where());
  const std::vector<unsigned> words = api::checked_lengths(at, d, most, lengths);
  const std::vector<double> numbers = as_double_vector(scores);
  std::vector<Heads> trees(d.bd);
  for (std::size_t e = 0; e < trees.size(); ++e) {
    trees[e] = best(ArcScores(at, d, numbers, e, words[e]), single_root);
    if (trees[e].empty()) {
      throw errors::NumericError(at + "scores are " + builders::example_of(d, e) +
                                 ", and each tree" + (single_root ? " with one root" : "") +
                                 " has a score of -inf");
    }
  }
  return trees;
}

Heads eisner_tree(const ArcScores& scores, bool single_root) {
  return Eisner(scores, single_root).heads();
}

}  // namespace

template <int>
std::vector<std::vector<unsigned>> max_spanning_tree(const Tensor& scores,
                                                     const std::vector<unsigned>& lengths,
                                                     bool single_root) {
  return trees_of("max_spanning_tree", scores, lengths, single_root, &spanning_tree);
}
template <int>
std::vector<unsigned> max_spanning_tree(const Tensor& scores) {
  builders::check_one_example("max_spanning_tree: ", scores.d);
  return max_spanning_tree(scores, {}, true)[0];
}
template <int>
std::vector<std::vector<unsigned>> eisner(const Tensor& scores,
                                          const std::vector<unsigned>& lengths, bool single_root) {
  return trees_of("eisner", scores, lengths, single_root, &eisner_tree);
}
template <int>
std::vector<unsigned> eisner(const Tensor& scores) {
  builders::check_one_example("eisner: ", scores.d);
  return eisner(scores, {}, true)[0];
}

template std::vector<std::vector<unsigned>> max_spanning_tree<>(
    const Tensor& scores, const std::vector<unsigned>& lengths, bool single_root);
template std::vector<unsigned> max_spanning_tree<>(const Tensor& scores);
template std::vector<std::vector<unsigned>> eisner<>(const Tensor& scores,
                                                     const std::vector<unsigned>& lengths,
                                                     bool single_root);
template std::vector<unsigned> eisner<>(const Tensor& scores);

}  // namespace dynet
