// Cuts sentences into labelled segments with a segmental RNN (Kong et al., 2016): LSTMs read every
// segment of up to four words from both sides. The probability of a segmentation is the share of
// its segments' scores among all segmentations, which a dynamic program in the graph sums up. Data:
// one sentence per line, word|TAG between spaces; neighbours of one tag are a segment, except for
// "O".

#include <algorithm>
#include <vector>

#include "dynet/lstm.h"

#include "example.h"

namespace example {
namespace {

constexpr unsigned kSize = 32;
constexpr std::size_t kLongest = 4;

class SegmentalTagger {
 public:
  ParameterCollection m;

  /// Tag 0 has segments of one word.
  SegmentalTagger(unsigned words, unsigned tags)
      : embedding_(m.add_lookup_parameters(words, {kSize})),
        left_(1, kSize, kSize, m),
        right_(1, kSize, kSize, m),
        hidden_(m.add_parameters({kSize, 2 * kSize})),
        weights_(m.add_parameters({tags, kSize})),
        bias_(m.add_parameters({tags}, ParameterInitConst(0))) {}

  void new_graph(ComputationGraph& cg) {
    left_.new_graph(cg);
    right_.new_graph(cg);
  }
  /// -ln p(segments | words)
  Expression loss(ComputationGraph& cg, const Example& sentence) {
    const std::size_t n = sentence.words.size();
    score(cg, sentence.words);
    Expressions sums(n + 1);  // ln of the sum over all segmentations of the first words
    sums[0] = zeros(cg, {1});
    for (std::size_t end = 1; end <= n; ++end) {
      Expressions ways;
      for (std::size_t length = 1; length <= std::min(end, kLongest); ++length) {
        ways.push_back(sums[end - length] + logsumexp_dim(scores_[end][length], 0));
      }
      sums[end] = logsumexp(ways);
    }
    Expressions right;
    for (std::size_t begin = 0, end = 0; begin < n; begin = end) {
      const unsigned tag = sentence.labels[begin];
      end = begin + 1;
      while (tag != 0 && end < n && sentence.labels[end] == tag && end - begin < kLongest) {
        ++end;
      }
      right.push_back(pick(scores_[end][end - begin], tag));
    }
    return sums[n] - sum(right);
  }

  /// The best segmentation, as a tag per word.
  Numbers answer(ComputationGraph& cg, const Example& sentence) {
    const std::size_t n = sentence.words.size();
    const Expressions scores = score(cg, sentence.words);
    struct Way {
      float score = -1e30F;
      std::size_t length = 1;
      unsigned tag = 0;
    };
    const std::vector<float> all = as_vector(concatenate(scores).value());  // one plan for all
    const std::size_t tags = all.size() / scores.size();
    auto next = all.begin();
    std::vector<Way> best(n + 1);
    best[0].score = 0;
    for (std::size_t end = 1; end <= n; ++end) {
      for (std::size_t length = 1; length <= std::min(end, kLongest); ++length) {
        for (unsigned tag = 0; tag < tags; ++tag) {
          const float score = best[end - length].score + *next++;
          if (score > best[end].score) {
            best[end] = {score, length, tag};
          }
        }
      }
    }
    Numbers tags_of_words(n);
    for (std::size_t end = n; end > 0; end -= best[end].length) {
      std::fill_n(tags_of_words.begin() + static_cast<long>(end - best[end].length),
                  best[end].length, best[end].tag);
    }
    return tags_of_words;
  }

 private:
  /// scores_[end][length]: of the tags of the segment that ends before word `end`. Returns all.
  Expressions score(ComputationGraph& cg, const Numbers& words) {
    Expressions in_order;
    const std::size_t n = words.size();
    scores_.assign(n + 1, Expressions(kLongest + 1));
    std::vector<Expressions> forward = scores_;
    left_.start_new_sequence();
    right_.start_new_sequence();
    const auto word = [&](std::size_t i) { return lookup(cg, embedding_, words[i]); };
    for (std::size_t begin = 0; begin < n; ++begin) {
      RNNPointer before = -1;  // each segment has a sequence of its own
      for (std::size_t length = 1; length <= std::min(n - begin, kLongest); ++length) {
        forward[begin + length][length] = left_.add_input(before, word(begin + length - 1));
        before = left_.state();
      }
    }
    for (std::size_t end = 1; end <= n; ++end) {
      RNNPointer behind = -1;
      for (std::size_t length = 1; length <= std::min(end, kLongest); ++length) {
        const Expression backward = right_.add_input(behind, word(end - length));
        behind = right_.state();
        const Expression segment =
            tanh(parameter(cg, hidden_) * concatenate({forward[end][length], backward}));
        scores_[end][length] =
            affine_transform({parameter(cg, bias_), parameter(cg, weights_), segment});
        in_order.push_back(scores_[end][length]);
      }
    }
    return in_order;
  }

  LookupParameter embedding_;
  VanillaLSTMBuilder left_, right_;
  Parameter hidden_, weights_, bias_;
  std::vector<Expressions> scores_;
};

void cut_sentences(const Options& options) { train_on_tagged<SegmentalTagger>(options, {"O"}); }

}  // namespace
}  // namespace example

int main(int argc, char** argv) {
  return example::run(argc, argv, "Cuts sentences into labelled segments.",
                      {.data = "file of sentences: word|TAG between spaces"},
                      example::cut_sentences);
}
