// Parses sentences with stack LSTMs (Dyer et al., 2015): a transition parser whose LSTMs read the
// stack and what is left of the sentence. A stack is popped by going on from an earlier step of its
// LSTM. When it parses, each decision is read from the graph while that grows. Data: CoNLL-U.

#include <algorithm>
#include <vector>

#include "dynet/lstm.h"

#include "example.h"

namespace {

using namespace dynet;  // NOLINT(google-build-using-namespace): as programs do
using example::Numbers;

constexpr unsigned kSize = 32;
enum Action : unsigned { kShift, kLeft, kRight, kActions };

class Parser {
 public:
  Parser(ParameterCollection& m, unsigned words)
      : embedding_(m.add_lookup_parameters(words, {kSize})),
        stack_(1, kSize, kSize, m),
        rest_(1, kSize, kSize, m),
        join_(m.add_parameters({kSize, 2 * kSize})),
        weights_(m.add_parameters({kActions, 2 * kSize})),
        bias_(m.add_parameters({kActions}, ParameterInitConst(0))) {}

  /// The loss of parsing as `gold` says; without it, decides by itself. Fills `heads`.
  Expression parse(ComputationGraph& cg, const Numbers& words, const Numbers* gold,
                   Numbers& heads) {
    read(cg, words);
    heads.assign(words.size(), example::kNoHead);
    std::vector<Expression> losses;
    while (next_ < words.size() || items_.size() > 1) {
      Numbers legal = next_ < words.size() ? Numbers{kShift} : Numbers{};
      if (items_.size() > 2) {
        legal.insert(legal.end(), {kLeft, kRight});
      } else if (legal.empty()) {
        legal = {kRight};  // the root takes the last word
      }
      const Expression state = concatenate({stack_.get_h(items_.back().state)[0], left_[next_]});
      const Expression odds = log_softmax(
          affine_transform({parameter(cg, bias_), parameter(cg, weights_), state}), legal);
      const unsigned action = gold != nullptr ? right_action(*gold, heads) : example::best(odds);
      if (std::find(legal.begin(), legal.end(), action) == legal.end()) {
        break;  // arcs cross: what is left of `gold` cannot be reached
      }
      losses.push_back(-pick(odds, action));
      take(cg, action, heads);
    }
    return sum(losses);
  }

 private:
  /// A word on the stack, with what depends on it, and the step of the LSTM that read it.
  struct Item {
    unsigned word;
    Expression tree;
    RNNPointer state = -1;
  };

  void read(ComputationGraph& cg, const Numbers& words) {
    stack_.new_graph(cg);
    rest_.new_graph(cg);
    stack_.start_new_sequence();
    rest_.start_new_sequence();
    vectors_.resize(words.size());
    left_.assign(words.size() + 1, zeros(cg, {kSize}));
    for (std::size_t i = words.size(); i-- > 0;) {
      vectors_[i] = lookup(cg, embedding_, words[i]);
      left_[i] = rest_.add_input(vectors_[i]);
    }
    items_.clear();
    push({0, vectors_[0]});
    next_ = 1;
  }
  void push(Item item) {
    stack_.add_input(items_.empty() ? -1 : items_.back().state, item.tree);
    item.state = stack_.state();
    items_.push_back(item);
  }

  /// Joins one of the two words on top to the other when nothing more depends on it.
  [[nodiscard]] unsigned right_action(const Numbers& gold, const Numbers& heads) const {
    const auto joins = [&](const Item& word, const Item& head) {
      for (std::size_t w = 1; w < gold.size(); ++w) {
        if (gold[w] == word.word && heads[w] == example::kNoHead) {
          return false;
        }
      }
      return gold[word.word] == head.word;
    };
    const Item& top = items_.back();
    const Item& below = items_[items_.size() < 2 ? 0 : items_.size() - 2];
    return joins(below, top) ? kLeft : joins(top, below) ? kRight : kShift;
  }
  void take(ComputationGraph& cg, unsigned action, Numbers& heads) {
    if (action == kShift) {
      push({next_, vectors_[next_]});
      ++next_;
      return;
    }
    const std::size_t lower = items_.size() - 2;
    const Item head = items_[action == kLeft ? lower + 1 : lower];
    const Item dependent = items_[action == kLeft ? lower : lower + 1];
    heads[dependent.word] = head.word;
    items_.resize(lower);
    push({head.word, tanh(parameter(cg, join_) * concatenate({head.tree, dependent.tree}))});
  }

  LookupParameter embedding_;
  VanillaLSTMBuilder stack_, rest_;
  Parameter join_, weights_, bias_;
  std::vector<Expression> vectors_, left_;  ///< by word: itself; the LSTM over what is left
  std::vector<Item> items_;
  unsigned next_ = 0;
};

void parse_sentences(const example::Setup& setup) {
  Dict words;
  const std::vector<example::Tree> train = example::read_trees(setup.train, words);
  words.freeze();
  words.set_unk("<unk>");
  const std::vector<example::Tree> dev = example::read_trees(setup.dev, words);
  ParameterCollection m;
  Parser parser(m, words.size());
  AdamTrainer trainer(m, setup.rate);
  Numbers heads;
  const auto loss = [&](ComputationGraph& cg, const example::Tree& tree) {
    return parser.parse(cg, tree.words, &tree.heads, heads);
  };
  example::train(setup, train, trainer, loss, [&] {
    example::Score score;
    for (const example::Tree& tree : dev) {
      ComputationGraph cg;
      parser.parse(cg, tree.words, nullptr, heads);
      score.add({heads.begin() + 1, heads.end()}, {tree.heads.begin() + 1, tree.heads.end()});
    }
    return score.share();
  });
}

}  // namespace

int main(int argc, char** argv) {
  return example::run(argc, argv, "A transition parser with stack LSTMs.", "file in CoNLL-U",
                      {.rate = 0.005F}, parse_sentences);
}
