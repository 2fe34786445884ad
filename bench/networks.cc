#include "networks.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dynet/model.h"

namespace dynet::bench {
namespace {

constexpr unsigned kSize = 8;
constexpr unsigned kWords = 24;
constexpr unsigned kTags = 6;
using Vectors = std::vector<Expression>;

/// The world of a program that builds one graph: weights by name, and random sizes that are the
/// same each time.
class Builder {
 public:
  Builder(ComputationGraph& cg, std::map<std::string, Parameter>& weights,
          std::map<std::string, LookupParameter>& tables, ParameterCollection& parameters)
      : cg_(cg), weights_(weights), tables_(tables), parameters_(parameters) {}

  unsigned between(unsigned low, unsigned high) {
    return low + static_cast<unsigned>(random_()) % (high - low + 1);
  }
  bool chance(unsigned percent) { return random_() % 100 < percent; }

  Expression weight(const std::string& name, const Dim& dim) {
    const auto found = in_graph_.find(name);
    if (found != in_graph_.end()) {
      return found->second;
    }
    auto stored = weights_.find(name);
    if (stored == weights_.end()) {
      stored = weights_.emplace(name, parameters_.add_parameters(dim)).first;
    }
    return in_graph_.emplace(name, parameter(cg_, stored->second)).first->second;
  }
  Expression look(const std::string& name, const Dim& dim, unsigned row) {
    auto stored = tables_.find(name);
    if (stored == tables_.end()) {
      stored = tables_.emplace(name, parameters_.add_lookup_parameters(kWords, dim)).first;
    }
    return lookup(cg_, stored->second, row);
  }
  Expression word(const std::string& table = "E") {
    return look(table, {kSize}, between(0, kWords - 1));
  }
  /// b + W1 x1 + W2 x2 + …
  Expression affine(const std::string& name, unsigned rows, const Vectors& inputs) {
    Vectors terms{weight(name + "b", {rows})};
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      terms.push_back(weight(name + std::to_string(k), {rows, inputs[k].dim()[0]}));
      terms.push_back(inputs[k]);
    }
    return affine_transform(terms);
  }
  Expression loss(const std::string& name, const Expression& h, unsigned labels) {
    return pickneglogsoftmax(affine(name, labels, {h}), between(0, labels - 1));
  }
  Expression zero(const Dim& dim) { return zeros(cg_, dim); }

 private:
  ComputationGraph& cg_;
  std::map<std::string, Parameter>& weights_;
  std::map<std::string, LookupParameter>& tables_;
  ParameterCollection& parameters_;
  std::map<std::string, Expression> in_graph_;
  std::mt19937 random_{1};
};

struct State {
  Expression h, c;
};
using Maybe = std::optional<State>;

State lstm_step(Builder& b, const std::string& name, const Expression& x, const Maybe& before,
                unsigned size = kSize) {
  const Vectors in = before ? Vectors{x, before->h} : Vectors{x};
  const Expression i = logistic(b.affine(name + "i", size, in));
  const Expression o = logistic(b.affine(name + "o", size, in));
  const Expression u = tanh(b.affine(name + "u", size, in));
  Expression c = cmult(i, u);
  if (before) {
    const Expression f = logistic(b.affine(name + "f", size, in));
    c = cmult(f, before->c) + c;
  }
  return {cmult(o, tanh(c)), c};
}

Vectors lstm(Builder& b, const std::string& name, const Vectors& xs, unsigned size = kSize) {
  Maybe state;
  Vectors hs;
  for (const Expression& x : xs) {
    state = lstm_step(b, name, x, state, size);
    hs.push_back(state->h);
  }
  return hs;
}

/// Both directions, joined at each word.
Vectors both_ways(Builder& b, const std::string& name, Vectors xs) {
  Vectors left = lstm(b, name + "f", xs);
  std::reverse(xs.begin(), xs.end());
  Vectors right = lstm(b, name + "b", xs);
  std::reverse(right.begin(), right.end());
  for (std::size_t i = 0; i < left.size(); ++i) {
    left[i] = concatenate({left[i], right[i]});
  }
  return left;
}

Vectors words(Builder& b, unsigned low, unsigned high) {
  Vectors xs(b.between(low, high));
  for (Expression& x : xs) {
    x = b.word();
  }
  return xs;
}

Vectors rnnlm(Builder& b) {
  Vectors losses;
  for (const Expression& h : lstm(b, "l", words(b, 6, 24))) {
    losses.push_back(b.loss("softmax", h, 20));
  }
  return losses;
}

Vectors tag(Builder& b, const Vectors& xs) {
  Vectors losses;
  for (const Expression& both : both_ways(b, "w", xs)) {
    losses.push_back(b.loss("O", tanh(b.affine("H", kSize / 2, {both})), 10));
  }
  return losses;
}
Vectors tagger(Builder& b) { return tag(b, words(b, 6, 24)); }

Expression spelled(Builder& b) {
  Vectors letters(b.between(2, 10));
  for (Expression& letter : letters) {
    letter = b.word("C");
  }
  const Expression left = lstm(b, "cf", letters, kSize / 2).back();
  std::reverse(letters.begin(), letters.end());
  return concatenate({left, lstm(b, "cb", letters, kSize / 2).back()});
}
Vectors characters(Builder& b) {
  Vectors xs(b.between(6, 24));
  for (Expression& x : xs) {
    x = b.chance(13) ? spelled(b) : b.word();
  }
  return tag(b, xs);
}

Vectors two_layers(Builder& b) {
  Vectors losses;
  for (const Expression& h : lstm(b, "second", lstm(b, "first", words(b, 6, 24)))) {
    losses.push_back(b.loss("O", h, 10));
  }
  return losses;
}

State tree_node(Builder& b, unsigned leaves, Vectors& losses) {
  State s;
  Expression o;
  if (leaves == 1) {
    const Vectors x{b.word()};
    o = logistic(b.affine("Wo", kSize, x));
    s.c = cmult(logistic(b.affine("Wi", kSize, x)), tanh(b.affine("Wu", kSize, x)));
  } else {
    const unsigned on_the_left = b.between(1, leaves - 1);
    const State left = tree_node(b, on_the_left, losses);
    const State right = tree_node(b, leaves - on_the_left, losses);
    const Vectors in{left.h, right.h};
    const Expression i = logistic(b.affine("Ui", kSize, in));
    const Expression f = logistic(b.affine("Uf", kSize, in));
    const Expression g = logistic(b.affine("Ug", kSize, in));
    o = logistic(b.affine("Uo", kSize, in));
    const Expression u = tanh(b.affine("Uu", kSize, in));
    s.c = cmult(i, u) + cmult(f, left.c) + cmult(g, right.c);
  }
  s.h = cmult(o, tanh(s.c));
  losses.push_back(b.loss("S", s.h, 5));
  return s;
}
Vectors tree(Builder& b) {
  Vectors losses;
  tree_node(b, b.between(6, 24), losses);
  return losses;
}

/// One to four children, visited in a loop.
State child_sum_node(Builder& b, unsigned depth, Vectors& losses) {
  std::vector<State> children(depth != 0 && b.chance(90) ? b.between(1, 4) : 0);
  for (State& child : children) {
    child = child_sum_node(b, depth - 1, losses);
  }
  const Expression x = b.word();
  Vectors in{x};
  if (!children.empty()) {
    Vectors hs;
    for (const State& child : children) {
      hs.push_back(child.h);
    }
    in.push_back(sum(hs));
  }
  const Expression i = logistic(b.affine("i", kSize, in));
  const Expression o = logistic(b.affine("o", kSize, in));
  Expression c = cmult(i, tanh(b.affine("u", kSize, in)));
  for (const State& child : children) {
    c = c + cmult(logistic(b.affine("f", kSize, {x, child.h})), child.c);
  }
  const Expression h = cmult(o, tanh(c));
  losses.push_back(b.loss("S", h, 5));
  return {h, c};
}
Vectors child_sum(Builder& b) {
  Vectors losses;
  child_sum_node(b, 3, losses);
  return losses;
}

/// A vector and a matrix per node.
std::pair<Expression, Expression> mv_node(Builder& b, unsigned leaves, Vectors& losses) {
  if (leaves == 1) {
    const unsigned word = b.between(0, kWords - 1);
    return {b.look("V", {kSize}, word), b.look("M", {kSize, kSize}, word)};
  }
  const unsigned on_the_left = b.between(1, leaves - 1);
  const auto [x, X] = mv_node(b, on_the_left, losses);
  const auto [y, Y] = mv_node(b, leaves - on_the_left, losses);
  const Expression p = tanh(b.affine("p", kSize, {concatenate({Y * x, X * y})}));
  losses.push_back(b.loss("S", p, 5));
  return {p, b.weight("WM", {kSize, 2 * kSize}) * concatenate({X, Y})};
}
Vectors mv_rnn(Builder& b) {
  Vectors losses;
  mv_node(b, b.between(6, 24), losses);
  return losses;
}

Vectors attention(Builder& b) {
  const Expression memory = concatenate_cols(both_ways(b, "e", words(b, 5, 20)));
  const Expression keys = b.weight("K", {kSize, 2 * kSize}) * memory;
  Expression context = b.zero({2 * kSize});
  Maybe state;
  Vectors losses;
  for (unsigned left = b.between(5, 20); left != 0; --left) {
    state = lstm_step(b, "d", concatenate({b.word("F"), context}), state);
    const Expression q = b.affine("Q", kSize, {state->h});
    const Expression scores = b.weight("v", {1, kSize}) * tanh(keys + q);
    context = memory * softmax(transpose(scores));
    const Expression s = tanh(b.affine("o", kSize, {state->h, context}));
    losses.push_back(b.loss("out", s, 20));
  }
  return losses;
}

/// Shifts and reduces over a stack of LSTM states, with the actions given.
Vectors parser(Builder& b) {
  const Vectors xs = words(b, 5, 20);
  std::vector<Maybe> buffer(xs.size() + 1);
  for (std::size_t i = xs.size(); i-- > 0;) {
    buffer[i] = lstm_step(b, "b", xs[i], buffer[i + 1]);
  }
  const Expression empty = b.zero({kSize});
  const auto top = [&](const Maybe& state) { return state ? state->h : empty; };
  struct Entry {
    Expression x;
    State state;
  };
  std::vector<Entry> stack;
  Maybe actions;
  Vectors losses;
  for (std::size_t next = 0; next < xs.size() || stack.size() > 1;) {
    const Expression on_stack = stack.empty() ? empty : stack.back().state.h;
    const Vectors tops{top(buffer[next]), on_stack, top(actions)};
    losses.push_back(b.loss("A", tanh(b.affine("p", kSize, tops)), 3));
    const Expression action = b.word("A");
    actions = lstm_step(b, "a", action, actions);
    Expression x;
    if (next < xs.size() && (stack.size() < 2 || b.chance(50))) {
      x = xs[next++];
    } else {
      const Expression y = stack.back().x;
      stack.pop_back();
      x = tanh(b.affine("c", kSize, {y, stack.back().x, action}));
      stack.pop_back();
    }
    const Maybe below = stack.empty() ? Maybe() : stack.back().state;
    stack.push_back({x, lstm_step(b, "s", x, below)});
  }
  return losses;
}

Expression log_sum(const Vectors& numbers) { return log(sum_elems(exp(concatenate(numbers)))); }

/// The forward algorithm over a tagger's scores, number by number.
Vectors crf(Builder& b) {
  std::array<Vectors, kTags> transitions;
  for (unsigned to = 0; to < kTags; ++to) {
    const Expression row = b.look("T", {kTags}, to);
    for (unsigned from = 0; from < kTags; ++from) {
      transitions[to].push_back(pick(row, from));
    }
  }
  Vectors alpha;
  for (const Expression& both : both_ways(b, "w", words(b, 5, 15))) {
    const Expression emission = b.affine("O", kTags, {both});
    Vectors next;
    for (unsigned to = 0; to < kTags; ++to) {
      const Expression score = pick(emission, to);
      Vectors paths;
      for (unsigned from = 0; from < alpha.size(); ++from) {
        paths.push_back(alpha[from] + transitions[to][from] + score);
      }
      next.push_back(paths.empty() ? score : log_sum(paths));
    }
    alpha = next;
  }
  return {log_sum(alpha)};
}

/// An LSTM over characters, with words of up to four characters.
Vectors lattice(Builder& b) {
  std::vector<State> states;
  Vectors losses;
  for (std::size_t i = 0, n = b.between(8, 20); i < n; ++i) {
    const Expression x = b.word("C");
    std::vector<std::pair<Expression, Expression>> cells;  // and the gates of the cells
    for (std::size_t j = i < 4 ? 0 : i - 4; j < i; ++j) {
      if (b.chance(30)) {
        const Vectors in{b.word("W"), states[j].h};
        const Expression input = logistic(b.affine("wi", kSize, in));
        const Expression forget = logistic(b.affine("wf", kSize, in));
        const Expression u = tanh(b.affine("wu", kSize, in));
        const Expression cell = cmult(forget, states[j].c) + cmult(input, u);
        cells.emplace_back(cell, logistic(b.affine("wg", kSize, {x, cell})));
      }
    }
    State s = lstm_step(b, "l", x, states.empty() ? Maybe() : states.back());
    for (const auto& [cell, gate] : cells) {
      s.c = s.c + cmult(gate, cell);
    }
    s.h = cells.empty() ? s.h : tanh(s.c);
    states.push_back(s);
    losses.push_back(b.loss("O", s.h, 10));
  }
  return losses;
}

/// A program over graphs from one of the functions above.
Network network(const char* name, unsigned examples, Vectors (*example)(Builder&)) {
  struct Model {
    ParameterCollection parameters;
    std::map<std::string, Parameter> weights;
    std::map<std::string, LookupParameter> tables;
  };
  return {name, [=, model = std::make_shared<Model>()](ComputationGraph& cg) {
            Builder b(cg, model->weights, model->tables, model->parameters);
            Vectors losses;
            for (unsigned k = 0; k < examples; ++k) {
              const Vectors more = example(b);
              losses.insert(losses.end(), more.begin(), more.end());
            }
            return sum(losses);
          }};
}

}  // namespace

std::span<const Network> networks() {
  static const std::vector<Network> all{
      network("rnnlm", 8, rnnlm),
      network("tagger", 6, tagger),
      network("characters", 6, characters),
      network("two-layers", 6, two_layers),
      network("tree", 8, tree),
      network("child-sum", 4, child_sum),
      network("mv-rnn", 12, mv_rnn),
      network("attention", 4, attention),
      network("parser", 4, parser),
      network("crf", 3, crf),
      network("lattice", 6, lattice),
  };
  return all;
}

}  // namespace dynet::bench
