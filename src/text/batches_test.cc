// Minibatches: every example once, like lengths together, and the same batches after resuming.

#include "dynet/text/batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "dynet/text/words.h"

#include "testing/random.h"

namespace dynet::text {
namespace {

using Places = std::vector<std::size_t>;
using Batches = std::vector<Places>;

Places some_lengths(std::size_t count, std::uint64_t seed = 1) {
  dynet::testing::Random random(seed);
  Places lengths(count);
  for (std::size_t& length : lengths) {
    length = 1 + random.below(30);
  }
  return lengths;
}

BucketOptions options(std::size_t size, BatchSize of, std::size_t window) {
  BucketOptions result;
  result.size = size;
  result.of = of;
  result.window = window;
  return result;
}

Batches epoch_of(Buckets& buckets) {
  Batches all;
  Places batch;
  while (buckets.next(batch)) {
    all.push_back(batch);
  }
  return all;
}

/// The size in the units of the options.
std::size_t size_of(const Places& batch, const Places& lengths, BatchSize of) {
  std::size_t tokens = 0;
  std::size_t longest = 0;
  for (const std::size_t place : batch) {
    tokens += lengths[place];
    longest = std::max(longest, lengths[place]);
  }
  if (of == BatchSize::kExamples) {
    return batch.size();
  }
  return of == BatchSize::kTokens ? tokens : batch.size() * longest;
}

void expect_whole_epochs(const Places& lengths, std::size_t window, BatchSize of) {
  Buckets buckets(lengths, options(25, of, window));
  for (int epoch = 0; epoch < 2; ++epoch) {
    Places seen;
    for (const Places& batch : epoch_of(buckets)) {
      ASSERT_FALSE(batch.empty());
      ASSERT_TRUE(size_of(batch, lengths, of) <= 25 || batch.size() == 1);
      seen.insert(seen.end(), batch.begin(), batch.end());
    }
    std::sort(seen.begin(), seen.end());
    Places all(lengths.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    ASSERT_EQ(seen, all);
  }
}

TEST(Buckets, EveryExampleOncePerEpochAndNoBatchTooLarge) {
  for (const std::size_t count : {0U, 1U, 7U, 100U, 1001U}) {
    for (const std::size_t window : {0U, 1U, 50U, 5000U}) {
      for (const BatchSize of :
           {BatchSize::kExamples, BatchSize::kTokens, BatchSize::kPaddedTokens}) {
        expect_whole_epochs(some_lengths(count), window, of);
      }
    }
  }
}

TEST(Buckets, BatchesHaveLikeLengthsAndEpochsDiffer) {
  const Places lengths = some_lengths(3000);
  Buckets buckets(lengths, options(10, BatchSize::kExamples, 1000));
  const Batches first = epoch_of(buckets);
  EXPECT_EQ(first.size(), 300U);
  std::size_t spread = 0;
  std::vector<std::size_t> longest;
  for (const Places& batch : first) {
    spread += lengths[batch.back()] - lengths[batch.front()];
    longest.push_back(lengths[batch.back()]);
  }
  // 33 examples of a window have the same length.
  EXPECT_LT(static_cast<double>(spread) / static_cast<double>(first.size()), 1.0);
  EXPECT_FALSE(std::is_sorted(longest.begin(), longest.begin() + 100));
  const Batches second = epoch_of(buckets);
  EXPECT_NE(first, second);
  const std::set<Places> in_first(first.begin(), first.end());
  std::size_t repeated = 0;
  for (const Places& batch : second) {
    repeated += in_first.count(batch);
  }
  EXPECT_LT(repeated, 3U);
  Buckets again(lengths, options(10, BatchSize::kExamples, 1000));
  EXPECT_EQ(epoch_of(again), first);
  BucketOptions other = options(10, BatchSize::kExamples, 1000);
  other.seed = 2;
  Buckets different(lengths, other);
  EXPECT_NE(epoch_of(different), first);
}

TEST(Buckets, WithoutShufflingTheyAreSorted) {
  BucketOptions sorted = options(2, BatchSize::kExamples, 4);
  sorted.shuffle = false;
  Buckets buckets({5, 1, 3, 1, 9, 8, 7}, sorted);
  EXPECT_EQ(epoch_of(buckets), (Batches{{1, 3}, {2, 0}, {6, 5}, {4}}));
  EXPECT_EQ(epoch_of(buckets), (Batches{{1, 3}, {2, 0}, {6, 5}, {4}}));
}

// The Python twin of this test expects the same.
TEST(Buckets, TheSameOnEveryMachine) {
  Buckets buckets({5, 1, 3, 1, 9, 8, 7}, options(2, BatchSize::kExamples, 4));
  EXPECT_EQ(epoch_of(buckets), (Batches{{0, 4}, {3, 2}, {1, 6}, {5}}));
  EXPECT_EQ(buckets.position().to_string(), "1 0 0 6938886825212493728");
}

/// From every position on, the same batches follow as before.
template <class B, class Batch>
void expect_resumes(B& from_start, B& resumed, int calls) {
  std::vector<std::pair<BucketPosition, Batch>> history;
  for (int i = 0; i < calls; ++i) {
    const BucketPosition position = from_start.position();
    Batch batch;
    from_start.next(batch);  // empty at the end of an epoch
    history.emplace_back(position, batch);
  }
  for (const std::size_t at : {std::size_t{17}, std::size_t{0}, std::size_t{5}, history.size() - 3,
                               std::size_t{1}, history.size() / 2}) {
    resumed.seek(BucketPosition::from_string(history[at].first.to_string()));
    for (std::size_t i = at; i < history.size(); ++i) {
      ASSERT_TRUE(resumed.position() == history[i].first) << at << " " << i;
      Batch batch;
      ASSERT_EQ(resumed.next(batch), !history[i].second.empty());
      ASSERT_EQ(batch, history[i].second) << at << " " << i;
    }
  }
}

TEST(Buckets, GoOnAtAPosition) {
  const Places lengths = some_lengths(95);
  Buckets a(lengths, options(7, BatchSize::kExamples, 20));
  Buckets b(lengths, options(7, BatchSize::kExamples, 20));
  expect_resumes<Buckets, Places>(a, b, 60);
}

TEST(Buckets, RefusePositionsOfOthers) {
  Buckets buckets(some_lengths(95), options(7, BatchSize::kExamples, 20));
  Places batch;
  buckets.next(batch);
  const BucketPosition before = buckets.position();
  const auto refused = [&](const BucketPosition& position) {
    EXPECT_THROW(buckets.seek(position), errors::ValueError);
    EXPECT_TRUE(buckets.position() == before);
  };
  refused(Buckets(some_lengths(95), options(8, BatchSize::kExamples, 20)).position());
  refused(Buckets(some_lengths(95), options(7, BatchSize::kTokens, 20)).position());
  refused(Buckets(some_lengths(95), options(7, BatchSize::kExamples, 21)).position());
  refused(Buckets(some_lengths(95, 2), options(7, BatchSize::kExamples, 20)).position());
  refused({0, 5, 0, before.of});
  refused({0, 0, 4, before.of});
  for (const char* text : {"", "1 2 3", "1 2 3 4 ", "1 2 3 4 5", "1  2 3 4", "-1 2 3 4", "a b c d",
                           "1 2 3 99999999999999999999"}) {
    EXPECT_THROW(static_cast<void>(BucketPosition::from_string(text)), errors::ValueError) << text;
  }
  EXPECT_THROW(Buckets({1}, options(0, BatchSize::kExamples, 20)), errors::ValueError);
}

/// A stream over lines of 1 to 9 words, whose first word is its number.
class Corpus {
 public:
  explicit Corpus(int count) {
    dynet::testing::Random random(3);
    for (int i = 0; i < count; ++i) {
      text_ += std::to_string(i);
      for (unsigned words = random.below(9); words > 0; --words) {
        text_ += " x";
      }
      text_ += "\n";
    }
  }
  struct Reader {
    std::shared_ptr<std::istringstream> in;
    PlainReader reader;
    bool next(Words& words) { return reader.next(words); }
  };
  [[nodiscard]] BucketStream<Words> stream(const BucketOptions& o) const {
    return {[this] {
              auto in = std::make_shared<std::istringstream>(text_);
              return Reader{in, PlainReader(Lines(*in, "f"))};
            },
            [](const Words& words) { return words.size(); }, o};
  }

 private:
  std::string text_;
};

TEST(BucketStream, EveryExampleOncePerEpoch) {
  for (const int count : {0, 1, 20, 21, 95}) {
    const Corpus corpus(count);
    auto stream = corpus.stream(options(4, BatchSize::kExamples, 20));
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::vector<int> seen;
      std::vector<Words> batch;
      while (stream.next(batch)) {
        ASSERT_FALSE(batch.empty());
        for (const Words& words : batch) {
          seen.push_back(std::stoi(words[0]));
          // Nothing of a window comes before one of the window before.
          ASSERT_EQ(seen.back() / 20, static_cast<int>(seen.size() - 1) / 20);
        }
      }
      std::sort(seen.begin(), seen.end());
      std::vector<int> all(static_cast<std::size_t>(count));
      std::iota(all.begin(), all.end(), 0);
      ASSERT_EQ(seen, all);
      EXPECT_EQ(stream.position().epoch, static_cast<std::uint64_t>(epoch + 1));
    }
  }
}

TEST(BucketStream, GoesOnAtAPosition) {
  const Corpus corpus(95);
  auto a = corpus.stream(options(12, BatchSize::kTokens, 20));
  auto b = corpus.stream(options(12, BatchSize::kTokens, 20));
  expect_resumes<BucketStream<Words>, std::vector<Words>>(a, b, 130);
  BucketPosition beyond = a.position();
  beyond.window = 6;
  EXPECT_THROW(b.seek(beyond), errors::ValueError);
  beyond.window = 0;
  beyond.batch = 99;
  EXPECT_THROW(b.seek(beyond), errors::ValueError);
  EXPECT_THROW(static_cast<void>(corpus.stream(options(1, BatchSize::kExamples, 0))),
               errors::ValueError);
}

/// Throws once, at the fifth example.
struct Stumbling {
  std::shared_ptr<int> at;
  bool next(int& number) {
    if (++*at == 5) {
      throw errors::IoError("stumbled");
    }
    number = *at;
    return *at < 9;
  }
};

TEST(BucketStream, GoesOnAfterAnErrorOfItsSource) {
  BucketOptions all = options(100, BatchSize::kExamples, 100);
  all.shuffle = false;
  BucketStream<int> stream([] { return Stumbling{std::make_shared<int>(0)}; },
                           [](int number) { return static_cast<std::size_t>(number); }, all);
  std::vector<int> batch{42};
  EXPECT_THROW(stream.next(batch), errors::IoError);
  EXPECT_EQ(batch, (std::vector<int>{42}));
  EXPECT_TRUE(stream.next(batch));
  EXPECT_EQ(batch, (std::vector<int>{1, 2, 3, 4, 6, 7, 8}));
}

TEST(BucketStream, GoesOnAfterASeekThatItsSourceEnds) {
  BucketOptions two = options(1, BatchSize::kExamples, 2);
  two.shuffle = false;
  BucketStream<int> stream([] { return Stumbling{std::make_shared<int>(0)}; },
                           [](int number) { return static_cast<std::size_t>(number); }, two);
  BucketPosition second = stream.position();
  second.window = 1;
  second.batch = 1;
  // Reads 1 and 2, then 3 and 4, and, to know whether there is more, the one that throws.
  EXPECT_THROW(stream.seek(second), errors::IoError);
  std::vector<int> batch;
  std::vector<int> rest;
  while (stream.next(batch)) {
    rest.insert(rest.end(), batch.begin(), batch.end());
  }
  EXPECT_EQ(rest.back(), 8);
  second.window = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THROW(stream.seek(second), errors::ValueError);
}

}  // namespace
}  // namespace dynet::text
