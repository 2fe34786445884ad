// Brown clusters.
//
// Let n(i,j) be the number of times that cluster i stands before j, and l(i), r(i) the number of
// times that i stands on the left and on the right of any word of the corpus. The mutual
// information of the clusters in the window is, up to factors that merging does not change,
//
//   sum h(n(i,j)) - sum R(i) log l(i) - sum C(j) log r(j),   h(x) = x log x,
//
// with R and C the sums of rows and columns of n. The loss of a merge of i and j is then a sum over
// the other clusters k of
//
//   D(n(i,k), n(j,k)) + D(n(k,i), n(k,j)),   D(x,y) = h(x) + h(y) - h(x + y),
//
// and terms of i and j alone. D is 0 if one of its arguments is 0, so a new word changes only pairs
// that have neighbours in common with the word. Example: D(3, 0) = 0. So the losses of all pairs
// are kept and corrected after each step, at a cost of (neighbours of the word) x (clusters)
// instead of the square of the clusters in Liang (2005); only the row of a merged cluster is
// computed anew.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "text/cluster_tree.h"

namespace dynet::text {

namespace {

using Count = std::uint64_t;

/// Losses that differ by less are equal, and the first pair is taken: rounding errors of sums of
/// millions are below, and a real difference of one count in them above.
constexpr double kTie = 1e-9;

/// x log x, from a table for small x.
class EntropyTerm {
 public:
  EntropyTerm() {
    for (std::size_t x = 0; x < table_.size(); ++x) {
      table_[x] = exact(x);
    }
  }
  double operator()(Count x) const { return x < table_.size() ? table_[x] : exact(x); }

 private:
  static double exact(Count x) {
    const auto number = static_cast<double>(x);
    return x == 0 ? 0.0 : number * std::log(number);
  }
  std::vector<double> table_ = std::vector<double>(std::size_t{1} << 16U);
};

/// The clusters of the window, each in a slot. Slots from 0 to `used_` are taken, except at most
/// one, freed by the last merge. Invariant between calls: `loss(i, j)` is the loss of merging i and
/// j, for i < j in taken slots. Not thread-safe.
class Window {
 public:
  explicit Window(std::size_t slots)
      : slots_(slots), counts_(slots * slots, 0), losses_(slots * slots, 0.0), sides_(slots) {}

  struct Neighbour {
    std::size_t slot;
    Count count;
  };
  /// Puts a new cluster into a free slot. `right` and `left` are its neighbours in the window, the
  /// cluster itself among them; `totals` its pairs in the whole corpus.
  void insert(std::size_t slot, const std::vector<Neighbour>& right,
              const std::vector<Neighbour>& left, std::array<Count, 2> totals);
  /// The pair, in order, that loses the least.
  [[nodiscard]] std::pair<std::size_t, std::size_t> best() const;
  /// Puts b into a, for a < b; slot b is free then.
  void merge(std::size_t a, std::size_t b);

 private:
  /// A cluster on one side of its pairs: left (rows of the counts) or right (columns).
  struct Side {
    Count in_window = 0;
    Count total = 0;
    double log_total = 0.0;
  };
  enum : std::size_t { kLeft, kRight };

  [[nodiscard]] Count& count(std::size_t side, std::size_t mine, std::size_t other) {
    return side == kLeft ? counts_[mine * slots_ + other] : counts_[other * slots_ + mine];
  }
  [[nodiscard]] Count count(std::size_t side, std::size_t mine, std::size_t other) const {
    return side == kLeft ? counts_[mine * slots_ + other] : counts_[other * slots_ + mine];
  }
  double& loss(std::size_t i, std::size_t j) {
    return losses_[std::min(i, j) * slots_ + std::max(i, j)];
  }
  [[nodiscard]] double shared(Count x, Count y) const {
    return x == 0 || y == 0 ? 0.0 : h_(x) + h_(y) - h_(x + y);
  }
  /// How the logarithm grows that belongs to a side of i when j is added to it.
  [[nodiscard]] double growth(std::size_t side, std::size_t i, std::size_t j) const {
    const Side& mine = sides_[i][side];
    return std::log(static_cast<double>(mine.total + sides_[j][side].total)) - mine.log_total;
  }
  void grow(std::size_t side, std::size_t slot, Count by);
  void share_new(const std::vector<Neighbour>& neighbours);
  void mend(std::size_t side, std::size_t a, std::size_t b);
  void compute_losses(std::size_t slot);
  [[nodiscard]] double own_loss(std::size_t i, std::size_t j) const;
  void share_with_others(std::size_t side, std::size_t slot, std::size_t neighbour, Count mine);

  std::size_t slots_;
  std::vector<Count> counts_;   ///< n(left, right)
  std::vector<double> losses_;  ///< of pairs i < j
  std::vector<std::array<Side, 2>> sides_;
  std::vector<std::size_t> taken_;  ///< slots, ascending
  EntropyTerm h_;
};

/// A cluster has `by` more pairs in the window.
void Window::grow(std::size_t side, std::size_t slot, Count by) {
  for (const std::size_t other : taken_) {
    if (other != slot) {
      loss(slot, other) += static_cast<double>(by) * growth(side, slot, other);
    }
  }
  sides_[slot][side].in_window += by;
}

/// Pairs of clusters have a new neighbour in common.
void Window::share_new(const std::vector<Neighbour>& neighbours) {
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      loss(neighbours[i].slot, neighbours[j].slot) +=
          shared(neighbours[i].count, neighbours[j].count);
    }
  }
}

void Window::insert(std::size_t slot, const std::vector<Neighbour>& right,
                    const std::vector<Neighbour>& left, std::array<Count, 2> totals) {
  const std::array<const std::vector<Neighbour>*, 2> neighbours = {&right, &left};
  for (const std::size_t side : {kLeft, kRight}) {
    Side& mine = sides_[slot][side];
    mine = {0, totals[side], totals[side] == 0 ? 0.0 : std::log(static_cast<double>(totals[side]))};
    for (const std::size_t other : taken_) {
      count(side, slot, other) = 0;
    }
    count(side, slot, slot) = 0;
  }
  for (const std::size_t side : {kLeft, kRight}) {
    std::vector<Neighbour> others;
    for (const Neighbour& neighbour : *neighbours[side]) {
      count(side, slot, neighbour.slot) = neighbour.count;
      sides_[slot][side].in_window += neighbour.count;
      if (neighbour.slot != slot) {
        others.push_back(neighbour);
        grow(1 - side, neighbour.slot, neighbour.count);
      }
    }
    share_new(others);
  }
  taken_.insert(std::upper_bound(taken_.begin(), taken_.end(), slot), slot);
  compute_losses(slot);
}

/// The part of the loss that depends on two clusters alone: pairs within them, and the logarithms
/// of their sides.
double Window::own_loss(std::size_t i, std::size_t j) const {
  const std::array<Count, 4> inside = {counts_[i * slots_ + i], counts_[j * slots_ + j],
                                       counts_[i * slots_ + j], counts_[j * slots_ + i]};
  double sum = -h_(inside[0] + inside[1] + inside[2] + inside[3]);
  for (const Count x : inside) {
    sum += h_(x);
  }
  for (const std::size_t side : {kLeft, kRight}) {
    for (const auto& [mine, other] : {std::pair(i, j), std::pair(j, i)}) {
      if (sides_[mine][side].in_window > 0) {
        sum += static_cast<double>(sides_[mine][side].in_window) * growth(side, mine, other);
      }
    }
  }
  return sum;
}

/// Losses of merging a cluster with each other one.
void Window::compute_losses(std::size_t slot) {
  for (const std::size_t other : taken_) {
    if (other != slot) {
      loss(slot, other) = own_loss(slot, other);
    }
  }
  for (const std::size_t side : {kLeft, kRight}) {
    for (const std::size_t neighbour : taken_) {
      const Count mine = count(side, slot, neighbour);
      if (neighbour != slot && mine > 0) {
        share_with_others(side, slot, neighbour, mine);
      }
    }
  }
}

/// A cluster's neighbour may be one of each other cluster.
void Window::share_with_others(std::size_t side, std::size_t slot, std::size_t neighbour,
                               Count mine) {
  for (const std::size_t other : taken_) {
    if (other != slot && other != neighbour) {
      loss(slot, other) += shared(mine, count(side, other, neighbour));
    }
  }
}

std::pair<std::size_t, std::size_t> Window::best() const {
  std::pair<std::size_t, std::size_t> pair{taken_[0], taken_[1]};
  double least = std::numeric_limits<double>::max();
  for (std::size_t row = 0; row < taken_.size(); ++row) {
    const double* const losses = losses_.data() + taken_[row] * slots_;
    for (std::size_t column = row + 1; column < taken_.size(); ++column) {
      const double candidate = losses[taken_[column]];
      if (candidate < least && candidate < least - kTie * (1.0 + std::abs(least))) {
        least = candidate;
        pair = {taken_[row], taken_[column]};
      }
    }
  }
  return pair;
}

/// Losses of pairs of other clusters, of which a and b were neighbours on `side` and become one.
void Window::mend(std::size_t side, std::size_t a, std::size_t b) {
  const auto changes = [&](std::size_t i) { return i != a && i != b && count(side, b, i) > 0; };
  for (const std::size_t i : taken_) {
    if (!changes(i)) {
      continue;  // b is a neighbour of neither: nothing changes
    }
    const Count ia = count(side, a, i);
    const Count ib = count(side, b, i);
    for (const std::size_t j : taken_) {
      if (j == i || j == a || j == b || (j < i && changes(j))) {
        continue;
      }
      const Count ja = count(side, a, j);
      const Count jb = count(side, b, j);
      if (ja + jb > 0) {
        loss(i, j) += shared(ia + ib, ja + jb) - shared(ia, ja) - shared(ib, jb);
      }
    }
  }
}

void Window::merge(std::size_t a, std::size_t b) {
  for (const std::size_t side : {kLeft, kRight}) {
    mend(side, a, b);
  }
  // A row, then a column: the pairs of a and b with each other come to n(a, a).
  for (const std::size_t side : {kLeft, kRight}) {
    for (const std::size_t other : taken_) {
      count(side, a, other) += count(side, b, other);
    }
    Side& mine = sides_[a][side];
    mine.in_window += sides_[b][side].in_window;
    mine.total += sides_[b][side].total;
    mine.log_total = mine.total == 0 ? 0.0 : std::log(static_cast<double>(mine.total));
  }
  taken_.erase(std::find(taken_.begin(), taken_.end(), b));
  compute_losses(a);
}

/// Neighbours of each word on one side, from the list of pairs.
class Neighbours {
 public:
  Neighbours(const BigramCounts& counts, bool is_right)
      : begins_(counts.words().size() + 1, 0), totals_(counts.words().size(), 0) {
    for (const BigramCounts::Pair& pair : counts.pairs()) {
      ++begins_[(is_right ? pair.left : pair.right) + 1];
      totals_[is_right ? pair.left : pair.right] += pair.count;
    }
    for (std::size_t i = 1; i < begins_.size(); ++i) {
      begins_[i] += begins_[i - 1];
    }
    list_.resize(counts.pairs().size());
    std::vector<std::size_t> next = begins_;
    for (const BigramCounts::Pair& pair : counts.pairs()) {
      list_[next[is_right ? pair.left : pair.right]++] = {is_right ? pair.right : pair.left,
                                                          pair.count};
    }
  }
  [[nodiscard]] Count total(unsigned word) const { return totals_[word]; }

  /// Neighbours of a word by their slots; `slot_of` says where words are. `sums` is zeros before
  /// and after.
  template <class SlotOf>
  [[nodiscard]] std::vector<Window::Neighbour> in_window(unsigned word, SlotOf slot_of,
                                                         std::vector<Count>& sums) const {
    std::vector<Window::Neighbour> found;
    for (std::size_t i = begins_[word]; i < begins_[word + 1]; ++i) {
      const std::size_t slot = slot_of(list_[i].first);
      if (slot != kNoSlot) {
        if (sums[slot] == 0) {
          found.push_back({slot, 0});
        }
        sums[slot] += list_[i].second;
      }
    }
    for (Window::Neighbour& neighbour : found) {
      std::swap(neighbour.count, sums[neighbour.slot]);
    }
    return found;
  }
  static constexpr std::size_t kNoSlot = std::numeric_limits<std::size_t>::max();

 private:
  std::vector<std::size_t> begins_;
  std::vector<Count> totals_;
  std::vector<std::pair<unsigned, Count>> list_;
};

/// Adds words to the window, merges, and records the words of each cluster.
class Clustering {
 public:
  Clustering(const BigramCounts& counts, std::size_t clusters)
      : right_(counts, true),
        left_(counts, false),
        window_(clusters + 1),
        sums_(clusters + 1, 0),
        members_(clusters + 1),
        slot_(counts.words().size(), Neighbours::kNoSlot) {}

  void add(unsigned word, std::size_t slot) {
    slot_[word] = slot;
    members_[slot] = {word};
    const auto slot_of = [this](unsigned other) { return slot_[other]; };
    window_.insert(slot, right_.in_window(word, slot_of, sums_),
                   left_.in_window(word, slot_of, sums_), {right_.total(word), left_.total(word)});
  }
  /// Merges the best pair; returns it. The second one's slot is free.
  std::pair<std::size_t, std::size_t> merge_best() {
    const auto [a, b] = window_.best();
    window_.merge(a, b);
    for (const unsigned word : members_[b]) {
      slot_[word] = a;
    }
    members_[a].insert(members_[a].end(), members_[b].begin(), members_[b].end());
    members_[b].clear();
    return {a, b};
  }
  [[nodiscard]] std::size_t slot(unsigned word) const { return slot_[word]; }

 private:
  Neighbours right_;
  Neighbours left_;
  Window window_;
  std::vector<Count> sums_;
  std::vector<std::vector<unsigned>> members_;  ///< by slot
  std::vector<std::size_t> slot_;               ///< by word
};

}  // namespace

Clusters brown_clusters(const BigramCounts& counts, unsigned count,
                        const std::function<void(std::size_t done, std::size_t all)>& progress) {
  check_cluster_count("text::brown_clusters", counts, count);
  const std::vector<unsigned> order = by_frequency(counts);
  Clustering clustering(counts, count);
  const std::size_t all = order.size() - 1;
  std::size_t done = 0;
  const auto merge = [&] {
    const auto pair = clustering.merge_best();
    ++done;
    if (progress) {
      progress(done, all);
    }
    return pair;
  };
  std::size_t free = count;
  for (std::size_t i = 0; i < order.size(); ++i) {
    clustering.add(order[i], i < count ? i : free);
    if (i >= count) {
      free = merge().second;
    }
  }
  // The clusters in the slots other than `free` are the leaves of the tree.
  std::vector<std::size_t> node(count + 1, 0);
  for (std::size_t slot = 0, leaf = 0; slot <= count; ++slot) {
    if (slot != free) {
      node[slot] = leaf++;
    }
  }
  std::vector<unsigned> cluster(order.size());
  for (const unsigned word : order) {
    cluster[word] = static_cast<unsigned>(node[clustering.slot(word)]);
  }
  std::vector<std::pair<std::size_t, std::size_t>> merges;
  while (merges.size() + 1 < count) {
    const auto [a, b] = merge();
    merges.emplace_back(node[a], node[b]);
    node[a] = count + merges.size() - 1;
  }
  return gather(counts, cluster, paths_of(count, merges));
}

}  // namespace dynet::text
