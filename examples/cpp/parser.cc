// Parses sentences with stack LSTMs (Dyer et al., 2015): LSTMs read the stack and the rest of the
// sentence. A pop goes on from an earlier step of the stack's LSTM. When the program parses, each
// decision is read from the graph while the graph grows; a coroutine for each sentence waits for
// its values, which run_together computes for all sentences at once. Data: CoNLL-U.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "dynet/lstm.h"
#include "dynet/tasks.h"

#include "example.h"

namespace example {
namespace {

constexpr unsigned kSize = 32;
enum Action : unsigned { kShift, kLeft, kRight, kActions };

/// A word on the stack, with the words that depend on it, and the step of the LSTM that read it.
struct Item {
  unsigned word;
  Expression tree;
  RNNPointer state;
};

/// A sentence that is parsed.
struct Parse {
  Expressions vectors{}, left{};  ///< by word: itself; the LSTM over the rest
  std::vector<Item> items{};      ///< the stack
  Numbers heads{};                ///< by word, kNone without a head yet
  unsigned next = 1;
  [[nodiscard]] bool has_next() const { return next < heads.size(); }
  [[nodiscard]] bool is_over() const { return !has_next() && items.size() == 1; }
};

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
    for (RNNBuilder* lstm : {&stack_, &rest_}) {
      lstm->new_graph(cg);
      lstm->start_new_sequence();
    }
  }
  /// The loss of the decisions that lead to the tree.
  Expression loss(ComputationGraph& cg, const Example& tree) {
    Parse parse = begin(cg, tree.words);
    Expressions losses;
    while (!parse.is_over()) {
      const Numbers legal = legal_actions(parse);
      const unsigned action = right_action(parse, tree.labels);
      if (std::find(legal.begin(), legal.end(), action) == legal.end()) {
        break;  // arcs cross: the rest of the tree cannot be reached
      }
      losses.push_back(-pick(odds(cg, parse, legal), action));
      take(cg, parse, action);
    }
    return sum(losses);
  }
  /// The heads that the model's own decisions give. All sentences wait for their decisions
  /// together.
  Numbers answers(ComputationGraph& cg, const std::vector<Example>& trees) {
    std::vector<Task<Numbers>> tasks;
    tasks.reserve(trees.size());
    for (const Example& tree : trees) {
      tasks.push_back(decide(cg, tree.words));
    }
    Numbers heads;
    for (const Numbers& found : run_together(cg, std::move(tasks))) {
      append(heads, found);
    }
    return heads;
  }

 private:
  Task<Numbers> decide(ComputationGraph& cg, Numbers words) {
    Parse parse = begin(cg, words);
    while (!parse.is_over()) {
      const std::vector<float> all =
          as_vector(co_await value(odds(cg, parse, legal_actions(parse))));
      take(cg, parse, static_cast<unsigned>(std::ranges::max_element(all) - all.begin()));
    }
    co_return parse.heads;
  }

  Parse begin(ComputationGraph& cg, const Numbers& words) {
    Parse parse;
    parse.heads.assign(words.size(), kNone);
    parse.vectors.resize(words.size());
    parse.left.assign(words.size() + 1, zeros(cg, {kSize}));
    RNNPointer before(-1);  // a sequence of its own
    for (std::size_t i = words.size(); i-- > 0;) {
      parse.vectors[i] = lookup(cg, embedding_, words[i]);
      parse.left[i] = rest_.add_input(before, parse.vectors[i]);
      before = rest_.state();
    }
    push(parse, 0, parse.vectors[0]);
    return parse;
  }
  void push(Parse& parse, unsigned word, const Expression& tree) {
    stack_.add_input(parse.items.empty() ? RNNPointer(-1) : parse.items.back().state, tree);
    parse.items.push_back({word, tree, stack_.state()});
  }

  /// The root takes the last word.
  static Numbers legal_actions(const Parse& parse) {
    if (parse.items.size() > 2) {
      return parse.has_next() ? Numbers{kShift, kLeft, kRight} : Numbers{kLeft, kRight};
    }
    return parse.has_next() ? Numbers{kShift} : Numbers{kRight};
  }
  Expression odds(ComputationGraph& cg, const Parse& parse, const Numbers& legal) {
    const Expression read = stack_.get_h(parse.items.back().state)[0];
    const Expression state = concatenate({read, parse.left[parse.next]});
    return log_softmax(affine_transform({parameter(cg, bias_), parameter(cg, weights_), state}),
                       legal);
  }
  /// Joins one of the two words on top to the other, once all its own dependents are joined to it.
  static unsigned right_action(const Parse& parse, const Numbers& gold) {
    const auto joins = [&](const Item& word, const Item& head) {
      const auto count = [&](const Numbers& in) { return std::ranges::count(in, word.word); };
      return gold[word.word] == head.word && count(parse.heads) == count(gold);
    };
    const Item& top = parse.items.back();
    const Item& below = parse.items[parse.items.size() < 2 ? 0 : parse.items.size() - 2];
    return joins(below, top) ? kLeft : joins(top, below) ? kRight : kShift;
  }
  void take(ComputationGraph& cg, Parse& parse, unsigned action) {
    if (action == kShift) {
      push(parse, parse.next, parse.vectors[parse.next]);
      ++parse.next;
      return;
    }
    const std::size_t lower = parse.items.size() - 2;
    const Item head = parse.items[action == kLeft ? lower + 1 : lower];
    const Item dependent = parse.items[action == kLeft ? lower : lower + 1];
    parse.heads[dependent.word] = head.word;
    parse.items.resize(lower);
    push(parse, head.word, tanh(parameter(cg, join_) * concatenate({head.tree, dependent.tree})));
  }

  LookupParameter embedding_;
  VanillaLSTMBuilder stack_, rest_;
  Parameter join_, weights_, bias_;
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
