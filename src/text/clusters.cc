#include "dynet/text/clusters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>
#include <tuple>

#include "io/replace_file.h"
#include "text/cluster_tree.h"
#include "text/text_support.h"

namespace dynet::text {

namespace {

/// As builders/cluster_file.cc reads them.
constexpr std::size_t kLongestPath = 1000;
/// Pairs that are collected before they are sorted: 32 MB.
constexpr std::size_t kRecent = std::size_t{1} << 22U;

constexpr unsigned kNone = std::numeric_limits<unsigned>::max();

/// Puts equal pairs that stand beside each other together.
void combine(std::vector<BigramCounts::Pair>& pairs) {
  std::size_t used = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (used > 0 && pairs[used - 1].left == pairs[i].left &&
        pairs[used - 1].right == pairs[i].right) {
      pairs[used - 1].count += pairs[i].count;
    } else {
      pairs[used++] = pairs[i];
    }
  }
  pairs.resize(used);
}

bool stands_before(const BigramCounts::Pair& a, const BigramCounts::Pair& b) {
  return std::tie(a.left, a.right) < std::tie(b.left, b.right);
}

/// Between the clusters of neighbours, in nats.
double information(const BigramCounts& counts, const std::vector<unsigned>& cluster,
                   std::size_t clusters) {
  std::vector<BigramCounts::Pair> pairs = counts.pairs();
  std::vector<double> left(clusters, 0.0);
  std::vector<double> right(clusters, 0.0);
  double all = 0.0;
  for (BigramCounts::Pair& pair : pairs) {
    pair.left = cluster[pair.left];
    pair.right = cluster[pair.right];
    const auto count = static_cast<double>(pair.count);
    left[pair.left] += count;
    right[pair.right] += count;
    all += count;
  }
  std::sort(pairs.begin(), pairs.end(), stands_before);
  combine(pairs);
  double sum = 0.0;
  for (const BigramCounts::Pair& pair : pairs) {
    const auto count = static_cast<double>(pair.count);
    sum += count / all * std::log(count * all / (left[pair.left] * right[pair.right]));
  }
  return sum;
}

void save_lines(const std::string& file, const Clusters& clusters, char separator,
                const std::vector<std::string>& names) {
  for (const Clusters::Word& word : clusters.words) {
    check_word("word", word.word);
  }
  io::ReplaceFile out(file, false);
  for (const Clusters::Word& word : clusters.words) {
    const std::string line =
        names[word.cluster] + separator + word.word + separator + std::to_string(word.count) + '\n';
    out.write(line.data(), line.size());
  }
  out.commit();
}

}  // namespace

void BigramCounts::add(const Words& sentence) {
  unsigned before = kNone;
  for (const std::string& word : sentence) {
    if (words_.size() == kNone) {
      throw errors::SizeError("text::BigramCounts: more words than can be counted");
    }
    const auto [entry, is_new] = places_.emplace(word, static_cast<unsigned>(words_.size()));
    if (is_new) {
      words_.push_back(word);
      counts_.push_back(0);
    }
    const unsigned place = entry->second;
    ++counts_[place];
    if (before != kNone) {
      recent_.push_back(std::uint64_t{before} << 32U | place);
    }
    before = place;
  }
  if (recent_.size() >= kRecent) {
    fold();
  }
}

void BigramCounts::fold() const {
  std::sort(recent_.begin(), recent_.end());
  const auto old_size = static_cast<std::ptrdiff_t>(pairs_.size());
  for (const std::uint64_t pair : recent_) {
    const auto left = static_cast<unsigned>(pair >> 32U);
    const auto right = static_cast<unsigned>(pair);
    if (static_cast<std::ptrdiff_t>(pairs_.size()) > old_size && pairs_.back().left == left &&
        pairs_.back().right == right) {
      ++pairs_.back().count;
    } else {
      pairs_.push_back({left, right, 1});
    }
  }
  recent_.clear();
  std::inplace_merge(pairs_.begin(), pairs_.begin() + old_size, pairs_.end(), stands_before);
  combine(pairs_);
}

const std::vector<BigramCounts::Pair>& BigramCounts::pairs() const {
  if (!recent_.empty()) {
    fold();
  }
  return pairs_;
}

void BigramCounts::replace_rare(std::uint64_t least, const std::string& unknown) {
  const bool has_rare = std::any_of(counts_.begin(), counts_.end(),
                                    [least](std::uint64_t count) { return count < least; });
  if (!has_rare) {
    return;
  }
  // The unknown word stands where it or the first rare word was seen.
  BigramCounts replaced;
  std::vector<unsigned> places(words_.size());
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const std::string& word = counts_[i] < least ? unknown : words_[i];
    const auto [entry, is_new] =
        replaced.places_.emplace(word, static_cast<unsigned>(replaced.words_.size()));
    if (is_new) {
      replaced.words_.push_back(word);
      replaced.counts_.push_back(0);
    }
    places[i] = entry->second;
    replaced.counts_[places[i]] += counts_[i];
  }
  replaced.pairs_ = pairs();
  for (Pair& pair : replaced.pairs_) {
    pair.left = places[pair.left];
    pair.right = places[pair.right];
  }
  std::sort(replaced.pairs_.begin(), replaced.pairs_.end(), stands_before);
  combine(replaced.pairs_);
  *this = std::move(replaced);
}

void check_cluster_count(const char* function, const BigramCounts& counts, unsigned count) {
  if (counts.words().empty()) {
    throw errors::ValueError(std::string(function) + ": the corpus has no words");
  }
  if (count == 0 || count > counts.words().size()) {
    throw errors::ValueError(std::string(function) + ": " + std::to_string(count) +
                             " classes; want 1 to " + std::to_string(counts.words().size()) +
                             ", the number of words");
  }
}

std::vector<unsigned> by_frequency(const BigramCounts& counts) {
  std::vector<unsigned> order(counts.words().size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](unsigned a, unsigned b) { return counts.counts()[a] > counts.counts()[b]; });
  return order;
}

std::vector<std::string> paths_of(std::size_t leaves,
                                  const std::vector<std::pair<std::size_t, std::size_t>>& merges) {
  std::vector<std::string> paths(leaves + merges.size());
  for (std::size_t i = merges.size(); i > 0; --i) {
    const auto [zero, one] = merges[i - 1];
    paths[zero] = paths[leaves + i - 1] + '0';
    paths[one] = paths[leaves + i - 1] + '1';
  }
  paths.resize(leaves);
  if (merges.empty()) {
    paths.assign(leaves, "0");  // a builder wants a symbol
  }
  return paths;
}

Clusters gather(const BigramCounts& counts, const std::vector<unsigned>& cluster,
                const std::vector<std::string>& paths) {
  Clusters result;
  std::vector<unsigned> number(paths.size(), kNone);
  result.words.reserve(cluster.size());
  for (const unsigned place : by_frequency(counts)) {
    unsigned& mine = number[cluster[place]];
    if (mine == kNone) {
      mine = static_cast<unsigned>(result.paths.size());
      result.paths.push_back(paths[cluster[place]]);
    }
    result.words.push_back({counts.words()[place], counts.counts()[place], mine});
  }
  std::stable_sort(
      result.words.begin(), result.words.end(),
      [](const Clusters::Word& a, const Clusters::Word& b) { return a.cluster < b.cluster; });
  result.mutual_information = information(counts, cluster, paths.size());
  return result;
}

Clusters frequency_clusters(const BigramCounts& counts, unsigned count) {
  check_cluster_count("text::frequency_clusters", counts, count);
  const std::vector<unsigned> order = by_frequency(counts);
  std::vector<unsigned> cluster(order.size());
  std::vector<std::uint64_t> size(count, 0);
  std::uint64_t left =
      std::accumulate(counts.counts().begin(), counts.counts().end(), std::uint64_t{0});
  unsigned last = 0;
  std::uint64_t wanted = left / count;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool is_needed = order.size() - i == count - 1 - last;  // a word for each class to come
    if (size[last] > 0 && last + 1 < count && (is_needed || size[last] >= wanted)) {
      left -= size[last];
      ++last;
      wanted = left / (count - last);
    }
    cluster[order[i]] = last;
    size[last] += counts.counts()[order[i]];
  }
  // Huffman: the two smallest become one.
  using Node = std::pair<std::uint64_t, std::size_t>;
  std::priority_queue<Node, std::vector<Node>, std::greater<>> open;
  for (std::size_t i = 0; i < count; ++i) {
    open.emplace(size[i], i);
  }
  std::vector<std::pair<std::size_t, std::size_t>> merges;
  while (open.size() > 1) {
    const Node one = open.top();
    open.pop();
    const Node zero = open.top();
    open.pop();
    open.emplace(one.first + zero.first, count + merges.size());
    merges.emplace_back(zero.second, one.second);
  }
  return gather(counts, cluster, paths_of(count, merges));
}

void save_classes(const std::string& file, const Clusters& clusters) {
  std::vector<std::string> names;
  names.reserve(clusters.paths.size());
  for (std::size_t i = 0; i < clusters.paths.size(); ++i) {
    names.push_back(std::to_string(i));
  }
  save_lines(file, clusters, ' ', names);
}

void save_paths(const std::string& file, const Clusters& clusters) {
  std::vector<std::string> names;
  names.reserve(clusters.paths.size());
  for (const std::string& path : clusters.paths) {
    if (path.size() > kLongestPath) {
      throw errors::ValueError("text::save_paths: a way of " + std::to_string(path.size()) +
                               " steps to a class; want at most " + std::to_string(kLongestPath));
    }
    std::string name;
    for (const char step : path) {
      name += name.empty() ? "" : " ";
      name += step;
    }
    names.push_back(std::move(name));
  }
  save_lines(file, clusters, '\t', names);
}

}  // namespace dynet::text
