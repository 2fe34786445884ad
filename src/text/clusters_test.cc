// Classes of words: against an implementation that computes everything anew, and in the builders
// that read the classes.

#include "dynet/text/clusters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dynet/hsm-builder.h"

#include "testing/random.h"
#include "testing/temporary_folder.h"
#include "testing/tolerance.h"

namespace dynet::text {
namespace {

using Table = std::vector<std::vector<double>>;

/// Brown clustering as the paper says it: after each word, all merges are tried, and the
/// information of each is summed up from the counts. Slots are taken as brown_clusters takes them.
class Naive {
 public:
  Naive(const BigramCounts& counts, std::size_t clusters) : slots_(clusters + 1) {
    const std::size_t words = counts.words().size();
    pairs_.assign(words, std::vector<double>(words, 0.0));
    for (const BigramCounts::Pair& pair : counts.pairs()) {
      pairs_[pair.left][pair.right] = static_cast<double>(pair.count);
    }
    std::vector<unsigned> order(words);
    for (unsigned i = 0; i < words; ++i) {
      order[i] = i;
    }
    std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
      return counts.counts()[a] > counts.counts()[b];
    });
    std::size_t free = clusters;
    for (std::size_t i = 0; i < words; ++i) {
      slots_[i < clusters ? i : free] = {order[i]};
      if (i >= clusters) {
        free = merge_best();
      }
    }
    result = slots_;
    result.erase(result.begin() + static_cast<std::ptrdiff_t>(free));
    while (std::count_if(slots_.begin(), slots_.end(), [](auto& s) { return !s.empty(); }) > 1) {
      merge_best();
    }
  }
  std::vector<std::vector<unsigned>> result;  ///< words by cluster
  std::vector<std::vector<unsigned>> merged;  ///< words of each cluster that a merge made

 private:
  /// Without the terms that merging does not change.
  [[nodiscard]] double information(const std::vector<std::vector<unsigned>>& slots) const {
    const auto h = [](double x) { return x > 0 ? x * std::log(x) : 0.0; };
    double sum = 0;
    for (const auto& a : slots) {
      double row = 0;
      double column = 0;
      double left = 0;
      double right = 0;
      for (const auto& b : slots) {
        double ab = 0;
        for (const unsigned x : a) {
          for (const unsigned y : b) {
            ab += pairs_[x][y];
            column += pairs_[y][x];
          }
        }
        row += ab;
        sum += h(ab);
      }
      for (const unsigned x : a) {
        for (std::size_t y = 0; y < pairs_.size(); ++y) {
          left += pairs_[x][y];
          right += pairs_[y][x];
        }
      }
      sum -= (row > 0 ? row * std::log(left) : 0) + (column > 0 ? column * std::log(right) : 0);
    }
    return sum;
  }
  std::size_t merge_best() {
    const double before = information(slots_);
    double least = std::numeric_limits<double>::max();
    std::pair<std::size_t, std::size_t> best;
    for (std::size_t a = 0; a < slots_.size(); ++a) {
      for (std::size_t b = a + 1; b < slots_.size(); ++b) {
        if (slots_[a].empty() || slots_[b].empty()) {
          continue;
        }
        auto after = slots_;
        after[a].insert(after[a].end(), after[b].begin(), after[b].end());
        after[b].clear();
        const double loss = before - information(after);
        if (loss < least - tolerance::kLongInDouble * (1 + std::abs(least))) {
          least = loss;
          best = {a, b};
        }
      }
    }
    auto& a = slots_[best.first];
    auto& b = slots_[best.second];
    a.insert(a.end(), b.begin(), b.end());
    b.clear();
    merged.push_back(a);
    std::sort(merged.back().begin(), merged.back().end());
    return best.second;
  }

  Table pairs_;
  std::vector<std::vector<unsigned>> slots_;
};

BigramCounts counts_of(const std::vector<Words>& corpus) {
  BigramCounts counts;
  for (const Words& sentence : corpus) {
    counts.add(sentence);
  }
  return counts;
}

BigramCounts random_counts(dynet::testing::Random& random, unsigned words, unsigned sentences) {
  BigramCounts counts;
  for (unsigned i = 0; i < sentences; ++i) {
    Words sentence(1 + random.below(9));
    for (std::string& word : sentence) {
      const double u = random.uniform();
      word = "w" + std::to_string(static_cast<unsigned>(u * u * words));
    }
    counts.add(sentence);
  }
  return counts;
}

/// Words by cluster, by their places in the counts.
std::set<std::set<std::string>> partition(const Clusters& clusters) {
  std::vector<std::set<std::string>> sets(clusters.paths.size());
  for (const Clusters::Word& word : clusters.words) {
    sets[word.cluster].insert(word.word);
  }
  return {sets.begin(), sets.end()};
}

TEST(BigramCounts, CountWordsAndNeighbours) {
  BigramCounts counts = counts_of({{"a", "b", "a", "a"}, {"c"}, {}, {"a", "b", "d"}});
  EXPECT_EQ(counts.words(), (Words{"a", "b", "c", "d"}));
  EXPECT_EQ(counts.counts(), (std::vector<std::uint64_t>{4, 2, 1, 1}));
  const auto pairs = [&] {
    std::map<std::pair<unsigned, unsigned>, std::uint64_t> all;
    for (const auto& pair : counts.pairs()) {
      all[{pair.left, pair.right}] += pair.count;
    }
    EXPECT_EQ(all.size(), counts.pairs().size());
    return all;
  };
  EXPECT_EQ(pairs(), (std::map<std::pair<unsigned, unsigned>, std::uint64_t>{
                         {{0, 1}, 2}, {{1, 0}, 1}, {{0, 0}, 1}, {{1, 3}, 1}}));
  counts.add({"b", "a"});
  EXPECT_EQ((pairs()[{1, 0}]), 2U);
  counts.replace_rare(1, "<unk>");
  EXPECT_EQ(counts.words().size(), 4U);
  counts.replace_rare(2, "<unk>");
  EXPECT_EQ(counts.words(), (Words{"a", "b", "<unk>"}));
  EXPECT_EQ(counts.counts(), (std::vector<std::uint64_t>{5, 3, 2}));
  EXPECT_EQ((pairs()[{1, 2}]), 1U);
}

TEST(BigramCounts, MorePairsThanAreCollectedAtOnce) {
  dynet::testing::Random random(5);
  BigramCounts counts;
  std::map<std::pair<std::string, std::string>, std::uint64_t> wanted;
  Words sentence(50001);
  for (int i = 0; i < 90; ++i) {  // 4.5 million pairs
    for (std::string& word : sentence) {
      word = std::string(1, static_cast<char>('a' + random.below(7)));
    }
    for (std::size_t at = 1; at < sentence.size(); ++at) {
      ++wanted[{sentence[at - 1], sentence[at]}];
    }
    counts.add(sentence);
  }
  ASSERT_EQ(counts.pairs().size(), wanted.size());
  for (const auto& pair : counts.pairs()) {
    EXPECT_EQ(pair.count, (wanted[{counts.words()[pair.left], counts.words()[pair.right]}]));
  }
}

TEST(Brown, IsWhatTryingAllMergesGives) {
  dynet::testing::Random random(1);
  for (int round = 0; round < 60; ++round) {
    const BigramCounts counts = random_counts(random, 3 + random.below(12), 5 + random.below(60));
    const auto words = static_cast<unsigned>(counts.words().size());
    const unsigned count = 1 + random.below(words);
    const Clusters found = brown_clusters(counts, count);
    const Naive naive(counts, count);
    std::set<std::set<std::string>> wanted;
    for (const auto& cluster : naive.result) {
      std::set<std::string> names;
      for (const unsigned word : cluster) {
        names.insert(counts.words()[word]);
      }
      wanted.insert(names);
    }
    ASSERT_EQ(partition(found), wanted) << "round " << round << ": " << words << " in " << count;
    // The tree: words with a common beginning of their paths were merged.
    std::map<std::string, std::set<std::string>> below;
    for (const Clusters::Word& word : found.words) {
      const std::string& path = found.paths[word.cluster];
      for (std::size_t length = 0; length < path.size(); ++length) {
        below[path.substr(0, length)].insert(word.word);
      }
    }
    std::set<std::set<std::string>> nodes;
    for (const auto& entry : below) {
      nodes.insert(entry.second);
    }
    std::set<std::set<std::string>> merged;
    for (std::size_t i = naive.merged.size() + 1 - count; i < naive.merged.size(); ++i) {
      std::set<std::string> names;
      for (const unsigned word : naive.merged[i]) {
        names.insert(counts.words()[word]);
      }
      merged.insert(names);
    }
    if (count > 1) {
      ASSERT_EQ(nodes, merged);
    }
  }
}

TEST(Brown, WordsWithLikeNeighboursShareAClass) {
  const Words nouns = {"cat", "dog", "horse", "cow"};
  std::vector<Words> corpus;
  for (const std::string& noun : nouns) {
    for (const char* verb : {"sees", "eats", "likes"}) {
      for (const std::string& other : nouns) {
        for (const char* article : {"the", "a"}) {
          corpus.push_back({"the", noun, verb, article, other});
          corpus.push_back({"a", noun, verb, article, other});
        }
      }
    }
  }
  const Clusters found = brown_clusters(counts_of(corpus), 5);
  const std::map<std::string, char> kinds = {{"the", 'a'},  {"a", 'a'},     {"cat", 'n'},
                                             {"dog", 'n'},  {"horse", 'n'}, {"cow", 'n'},
                                             {"sees", 'v'}, {"eats", 'v'},  {"likes", 'v'}};
  for (const std::set<std::string>& cluster : partition(found)) {
    std::set<char> of;
    for (const std::string& word : cluster) {
      of.insert(kinds.at(word));
    }
    EXPECT_EQ(of.size(), 1U) << *cluster.begin();
  }
  // Of four pairs two are (article, noun), one is (noun, verb), and one is (verb, article).
  EXPECT_NEAR(found.mutual_information, 1.5 * std::log(2.0), tolerance::kSameInDouble);
  EXPECT_EQ(found.words[0].word, "the");
  EXPECT_EQ(found.words[0].count, 192U);
  const Clusters one = brown_clusters(counts_of(corpus), 1);
  EXPECT_EQ(one.paths, (std::vector<std::string>{"0"}));
  EXPECT_NEAR(one.mutual_information, 0.0, tolerance::kSameInDouble);
  const Clusters all = brown_clusters(counts_of(corpus), 9);
  EXPECT_EQ(partition(all).size(), 9U);
  EXPECT_THROW(static_cast<void>(brown_clusters(counts_of(corpus), 10)), errors::ValueError);
  EXPECT_THROW(static_cast<void>(brown_clusters(counts_of(corpus), 0)), errors::ValueError);
  EXPECT_THROW(static_cast<void>(frequency_clusters(BigramCounts(), 1)), errors::ValueError);
}

TEST(Brown, TellsItsProgress) {
  dynet::testing::Random random(2);
  const BigramCounts counts = random_counts(random, 20, 100);
  std::vector<std::size_t> told;
  static_cast<void>(brown_clusters(counts, 5, [&](std::size_t done, std::size_t all) {
    EXPECT_EQ(all, counts.words().size() - 1);
    told.push_back(done);
  }));
  ASSERT_EQ(told.size(), counts.words().size() - 1);
  EXPECT_EQ(told.back(), told.size());
}

TEST(Frequency, ClassesOfAboutEqualMass) {
  BigramCounts counts;
  const auto add = [&](const std::string& word, int times) {
    for (int i = 0; i < times; ++i) {
      counts.add({word});
    }
  };
  add("c", 2);
  add("a", 10);
  add("d", 2);
  add("b", 5);
  add("e", 1);
  const Clusters found = frequency_clusters(counts, 3);
  ASSERT_EQ(found.words.size(), 5U);
  const std::vector<std::pair<std::string, unsigned>> wanted = {
      {"a", 0}, {"b", 1}, {"c", 2}, {"d", 2}, {"e", 2}};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(found.words[i].word, wanted[i].first);
    EXPECT_EQ(found.words[i].cluster, wanted[i].second);
  }
  // Huffman over 10, 5 and 5.
  EXPECT_EQ(found.paths[0].size(), 1U);
  EXPECT_EQ(found.paths[1].size(), 2U);
  EXPECT_EQ(found.paths[2].size(), 2U);
  // A class for every word, although the first has half of all.
  const Clusters all = frequency_clusters(counts, 5);
  EXPECT_EQ(partition(all).size(), 5U);
  std::size_t bits = 0;
  for (const Clusters::Word& word : all.words) {
    bits += word.count * all.paths[word.cluster].size();
  }
  EXPECT_EQ(bits, 10 * 1 + 5 * 2 + 2 * 3 + 2 * 4 + 1 * 4U);
}

TEST(Frequency, EveryClassHasAWord) {
  dynet::testing::Random random(3);
  for (int round = 0; round < 200; ++round) {
    const BigramCounts counts = random_counts(random, 1 + random.below(20), 1 + random.below(60));
    const auto words = static_cast<unsigned>(counts.words().size());
    const unsigned count = 1 + random.below(words);
    const Clusters found = frequency_clusters(counts, count);
    ASSERT_EQ(found.paths.size(), count);
    ASSERT_EQ(partition(found).size(), count);
    for (std::size_t i = 1; i < found.words.size(); ++i) {
      ASSERT_GE(found.words[i - 1].count, found.words[i].count);
    }
    // No way is the beginning of another.
    const std::set<std::string> paths(found.paths.begin(), found.paths.end());
    ASSERT_EQ(paths.size(), count);
    for (const std::string& path : paths) {
      for (std::size_t length = 1; length < path.size(); ++length) {
        ASSERT_EQ(paths.count(path.substr(0, length)), 0U);
      }
    }
  }
}

TEST(Files, LoadIntoBothBuilders) {
  const dynet::testing::TemporaryFolder folder;
  dynet::testing::Random random(4);
  const BigramCounts counts = random_counts(random, 30, 300);
  const std::string file = folder.file("clusters");
  for (const unsigned count : {1U, 2U, 7U, static_cast<unsigned>(counts.words().size())}) {
    for (const Clusters& clusters :
         {brown_clusters(counts, count), frequency_clusters(counts, count)}) {
      Dict words;
      ParameterCollection model;
      save_classes(file, clusters);
      const ClassFactoredSoftmaxBuilder classes(4, file, words, model);
      EXPECT_EQ(words.size(), counts.words().size());
      save_paths(file, clusters);
      const HierarchicalSoftmaxBuilder tree(4, file, words, model);
      EXPECT_EQ(words.size(), counts.words().size());
    }
  }
  Clusters deep = brown_clusters(counts, 2);
  deep.paths[1] = std::string(1001, '0');
  EXPECT_THROW(save_paths(file, deep), errors::ValueError);
  EXPECT_THROW(save_classes(folder.file("no/folder"), deep), errors::IoError);
}

}  // namespace
}  // namespace dynet::text
