// Parses sentences with stack LSTMs (Dyer et al., 2015): LSTMs read the stack and the rest of the
// sentence. A pop goes on from an earlier step of the stack's LSTM. When the program parses, each
// decision is read from the graph while the graph grows. Data: CoNLL-U.

#include <algorithm>
#include <string>
#include <vector>

#include "dynet/lstm.h"

#include "example.h"

namespace example {
namespace {

constexpr unsigned kSize = 32;
enum Action : unsigned { kShift, kLeft, kRight, kActions };

class Parser {
 public:
  ParameterCollection m;

  explicit Parser(unsigned words)
      : embedding_(m.add_lookup_parameters(words, {kSize})),
        stack_(1, kSize, kSize, m),
        rest_(1, kSize, kSize, m),
        join_(m.add_parameters({kSize, 2 * kSize})),
        weights_(m.add_parameters({kActions, 2 * kSize})),
        bias_(m.add_parameters({kActions}, ParameterInitConst(0))) {}

  void new_graph(ComputationGraph& cg) {
    stack_.new_graph(cg);
    rest_.new_graph(cg);
  }
  /// The loss of the tree's parse, or of the model's own decisions. Fills `heads_`.
  Expression loss(ComputationGraph& cg, const Example& tree, bool decides = false) {
    const Numbers& words = tree.words;
    read(cg, words);
    Expressions losses;
    while (next_ < words.size() || items_.size() > 1) {
      Numbers legal = next_ < words.size() ? Numbers{kShift} : Numbers{kRight};
      if (items_.size() > 2) {  // else the root takes the last word
        legal = next_ < words.size() ? Numbers{kShift, kLeft, kRight} : Numbers{kLeft, kRight};
      }
      const Expression state = concatenate({stack_.get_h(items_.back().state)[0], left_[next_]});
      const Expression odds = log_softmax(
          affine_transform({parameter(cg, bias_), parameter(cg, weights_), state}), legal);
      const unsigned action = decides ? best_of_each({odds})[0] : right_action(tree.labels);
      if (std::find(legal.begin(), legal.end(), action) == legal.end()) {
        break;  // arcs cross: the rest of the tree cannot be reached
      }
      losses.push_back(-pick(odds, action));
      take(cg, action);
    }
    return sum(losses);
  }
  Numbers answer(ComputationGraph& cg, const Example& tree) {
    loss(cg, tree, true);
    return heads_;
  }

 private:
  /// A word on the stack, with the words that depend on it, and the step of the LSTM that read it.
  struct Item {
    unsigned word;
    Expression tree;
    RNNPointer state;
  };

  void read(ComputationGraph& cg, const Numbers& words) {
    stack_.start_new_sequence();
    rest_.start_new_sequence();
    vectors_.resize(words.size());
    left_.assign(words.size() + 1, zeros(cg, {kSize}));
    for (std::size_t i = words.size(); i-- > 0;) {
      vectors_[i] = lookup(cg, embedding_, words[i]);
      left_[i] = rest_.add_input(vectors_[i]);
    }
    items_.clear();
    push(0, vectors_[0]);
    next_ = 1;
    heads_.assign(words.size(), kNone);
  }
  void push(unsigned word, const Expression& tree) {
    stack_.add_input(items_.empty() ? -1 : items_.back().state, tree);
    items_.push_back({word, tree, stack_.state()});
  }

  /// Joins one of the two words on top to the other, once all its own dependents are joined to it.
  [[nodiscard]] unsigned right_action(const Numbers& gold) const {
    const auto joins = [&](const Item& word, const Item& head) {
      const auto count = [&](const Numbers& in) { return std::ranges::count(in, word.word); };
      return gold[word.word] == head.word && count(heads_) == count(gold);
    };
    const Item& top = items_.back();
    const Item& below = items_[items_.size() < 2 ? 0 : items_.size() - 2];
    return joins(below, top) ? kLeft : joins(top, below) ? kRight : kShift;
  }
  void take(ComputationGraph& cg, unsigned action) {
    if (action == kShift) {
      push(next_, vectors_[next_]);
      ++next_;
      return;
    }
    const std::size_t lower = items_.size() - 2;
    const Item head = items_[action == kLeft ? lower + 1 : lower];
    const Item dependent = items_[action == kLeft ? lower : lower + 1];
    heads_[dependent.word] = head.word;
    items_.resize(lower);
    push(head.word, tanh(parameter(cg, join_) * concatenate({head.tree, dependent.tree})));
  }

  LookupParameter embedding_;
  VanillaLSTMBuilder stack_, rest_;
  Parameter join_, weights_, bias_;
  Expressions vectors_, left_;  ///< by word: itself; the LSTM over the rest
  std::vector<Item> items_;
  Numbers heads_;  ///< by word, kNone without a head yet
  unsigned next_ = 0;
};

/// Sentences and the head of each word, counted from 1; word 0 is the root.
std::vector<Example> read(const std::string& file, Dict& words) {
  std::vector<Example> trees;
  for (const text::ConlluSentence& sentence : read_all<text::ConlluReader>(file)) {
    trees.push_back({numbers_of({"<root>"}, words), {kNone}});
    for (const text::ConlluToken* word : sentence.words()) {
      append(trees.back().words, numbers_of({word->form}, words));
      trees.back().labels.push_back(static_cast<unsigned>(word->head));
    }
  }
  return trees;
}

void parse_sentences(const Options& options) {
  Dict words;
  const std::vector<Example> trees = read(options.train, words);
  freeze(words);
  Parser parser(words.size());
  train_and_test(options, parser, trees, read(options.dev, words));
}

}  // namespace
}  // namespace example

int main(int argc, char** argv) {
  return example::run(argc, argv, "A transition parser with stack LSTMs.",
                      {.data = "file in CoNLL-U"}, example::parse_sentences);
}
