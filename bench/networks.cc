#include "networks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "network_parts.h"

namespace dynet::bench {
namespace {

constexpr unsigned kTags = 6;

Vectors lstm(World& b, unsigned place, const Vectors& xs, unsigned rows) {
  Maybe state;
  Vectors hs;
  for (const Expression& x : xs) {
    state = b.lstm_step(place, x, state, rows);
    hs.push_back(state->h);
  }
  return hs;
}

/// Both directions, joined at each word: two LSTMs.
Vectors both_ways(World& b, unsigned place, Vectors xs) {
  Vectors left = lstm(b, place, xs, b.size);
  std::reverse(xs.begin(), xs.end());
  Vectors right = lstm(b, place + kLstm2, xs, b.size);
  std::reverse(right.begin(), right.end());
  for (std::size_t i = 0; i < left.size(); ++i) {
    left[i] = concatenate({left[i], right[i]});
  }
  return left;
}

Vectors words(World& b, unsigned low, unsigned high) {
  Vectors xs(b.between(low, high));
  for (Expression& x : xs) {
    x = b.word();
  }
  return xs;
}

Vectors rnnlm(World& b) {
  Vectors losses;
  for (const Expression& h : lstm(b, kLstm1, words(b, 6, 24), b.size)) {
    losses.push_back(b.loss(h, 20));
  }
  return losses;
}

Vectors tag(World& b, const Vectors& xs) {
  Vectors losses;
  for (const Expression& both : both_ways(b, kLstm1, xs)) {
    losses.push_back(b.loss(tanh(b.affine(kHidden, b.size / 2, {both})), 10));
  }
  return losses;
}
Vectors tagger(World& b) { return tag(b, words(b, 6, 24)); }

Expression spelled(World& b) {
  Vectors letters(b.between(2, 10));
  for (Expression& letter : letters) {
    letter = b.word(kLetterTable);
  }
  const Expression left = lstm(b, kLstm3, letters, b.size / 2).back();
  std::reverse(letters.begin(), letters.end());
  return concatenate({left, lstm(b, kLstm4, letters, b.size / 2).back()});
}
Vectors characters(World& b) {
  Vectors xs(b.between(6, 24));
  for (Expression& x : xs) {
    x = b.chance(13) ? spelled(b) : b.word();
  }
  return tag(b, xs);
}

Vectors two_layers(World& b) {
  Vectors losses;
  for (const Expression& h : lstm(b, kLstm2, lstm(b, kLstm1, words(b, 6, 24), b.size), b.size)) {
    losses.push_back(b.loss(h, 10));
  }
  return losses;
}

State tree_leaf(World& b) {
  const Vectors x{b.word()};
  if (b.style == Style::kBuilders) {
    const TreeState s = b.binary_trees().add_input(x[0]);
    return {s.h, s.c};
  }
  State s;
  const Expression o = logistic(b.affine(kTree, b.size, x));
  s.c = cmult(logistic(b.affine(kTree + 1, b.size, x)), tanh(b.affine(kTree + 2, b.size, x)));
  s.h = cmult(o, tanh(s.c));
  return s;
}
State tree_join(World& b, const State& left, const State& right) {
  if (b.style == Style::kBuilders) {
    const TreeState s = b.binary_trees().add_input({left.c, left.h}, {right.c, right.h});
    return {s.h, s.c};
  }
  return b.tree_join(left, right);
}
State tree_node(World& b, unsigned leaves, Vectors& losses) {
  State s;
  if (leaves == 1) {
    s = tree_leaf(b);
  } else {
    const unsigned on_the_left = b.between(1, leaves - 1);
    const State left = tree_node(b, on_the_left, losses);
    const State right = tree_node(b, leaves - on_the_left, losses);
    s = tree_join(b, left, right);
  }
  losses.push_back(b.loss(s.h, 5));
  return s;
}
Vectors tree(World& b) {
  Vectors losses;
  tree_node(b, b.between(6, 24), losses);
  return losses;
}

State child_sum_cell(World& b, const Expression& x, const std::vector<State>& children) {
  Vectors in{x};
  if (!children.empty()) {
    Vectors hs;
    for (const State& child : children) {
      hs.push_back(child.h);
    }
    in.push_back(sum(hs));
  }
  const Expression i = logistic(b.affine(kTree, b.size, in));
  const Expression o = logistic(b.affine(kTree + 1, b.size, in));
  Expression c = cmult(i, tanh(b.affine(kTree + 2, b.size, in)));
  for (const State& child : children) {
    c = c + cmult(logistic(b.affine(kTree + 3, b.size, {x, child.h})), child.c);
  }
  return {cmult(o, tanh(c)), c};
}
/// One to four children, visited in a loop. `next`: the number of the node, for the builder.
State child_sum_node(World& b, unsigned depth, int& next, Vectors& losses) {
  std::vector<State> children(depth != 0 && b.chance(90) ? b.between(1, 4) : 0);
  std::vector<int> numbers;
  for (State& child : children) {
    child = child_sum_node(b, depth - 1, next, losses);
    numbers.push_back(child.step);
  }
  const Expression x = b.word();
  State s;
  if (b.style == Style::kBuilders) {
    s.h = b.child_sums().add_input(next, numbers, x);
    s.step = next++;
  } else {
    s = child_sum_cell(b, x, children);
  }
  losses.push_back(b.loss(s.h, 5));
  return s;
}
Vectors child_sum(World& b) {
  Vectors losses;
  int next = 0;
  if (b.style == Style::kBuilders) {
    b.child_sums().start_new_sequence();
  }
  child_sum_node(b, 3, next, losses);
  return losses;
}

/// A vector and a matrix per node.
std::pair<Expression, Expression> mv_node(World& b, unsigned leaves, Vectors& losses) {
  if (leaves == 1) {
    const unsigned word = b.between(0, World::kRows - 1);
    return {b.look(kWordTable, {b.size}, word), b.look(kMatrixTable, {b.size, b.size}, word)};
  }
  const unsigned on_the_left = b.between(1, leaves - 1);
  const auto [x, X] = mv_node(b, on_the_left, losses);
  const auto [y, Y] = mv_node(b, leaves - on_the_left, losses);
  const Expression p = tanh(b.affine(kJoin, b.size, {concatenate({Y * x, X * y})}));
  losses.push_back(b.loss(p, 5));
  return {p, b.weight(kMatrices, 1, {b.size, 2 * b.size}) * concatenate({X, Y})};
}
Vectors mv_rnn(World& b) {
  Vectors losses;
  mv_node(b, b.between(6, 24), losses);
  return losses;
}

/// A translator: scores of one layer with `tanh` over a sentence of any length.
Vectors attention(World& b) {
  const Expression memory = concatenate_cols(both_ways(b, kLstm1, words(b, 5, 20)));
  const Expression keys = b.weight(kKeys, 1, {b.size, 2 * b.size}) * memory;
  Expression context = b.zero({2 * b.size});
  Maybe state;
  Vectors losses;
  for (unsigned left = b.between(5, 20); left != 0; --left) {
    state = b.lstm_step(kLstm3, concatenate({b.word(kLetterTable), context}), state);
    const Expression q = b.affine(kQuery, b.size, {state->h});
    const Expression scores = b.weight(kScores, 1, {1, b.size}) * tanh(keys + q);
    context = memory * softmax(transpose(scores));
    const Expression s = tanh(b.affine(kHidden, b.size, {state->h, context}));
    losses.push_back(b.loss(s, 20));
  }
  return losses;
}

/// Shifts and reduces over a stack of LSTM states, with the actions given.
Vectors parser(World& b) {
  const Vectors xs = words(b, 5, 20);
  std::vector<Maybe> buffer(xs.size() + 1);
  for (std::size_t i = xs.size(); i-- > 0;) {
    buffer[i] = b.lstm_step(kLstm1, xs[i], buffer[i + 1]);
  }
  const Expression empty = b.zero({b.size});
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
    losses.push_back(b.loss(tanh(b.affine(kHidden, b.size, tops)), 3));
    const Expression action = b.word(kActionTable);
    actions = b.lstm_step(kLstm2, action, actions);
    Expression x;
    if (next < xs.size() && (stack.size() < 2 || b.chance(50))) {
      x = xs[next++];
    } else {
      const Expression y = stack.back().x;
      stack.pop_back();
      x = tanh(b.affine(kJoin, b.size, {y, stack.back().x, action}));
      stack.pop_back();
    }
    const Maybe below = stack.empty() ? Maybe() : stack.back().state;
    stack.push_back({x, b.lstm_step(kLstm3, x, below)});
  }
  return losses;
}

Expression log_sum(const Vectors& numbers) { return log(sum_elems(exp(concatenate(numbers)))); }

/// The logarithm of the sum over all tag sequences, number by number, by the forward algorithm.
Expression all_paths(World& b, const Vectors& hs, Expression (*sum)(const Vectors&)) {
  std::array<Vectors, kTags> transitions;
  for (unsigned to = 0; to < kTags; ++to) {
    const Expression row = b.look(kActionTable, {kTags}, to);
    for (unsigned from = 0; from < kTags; ++from) {
      transitions[to].push_back(pick(row, from));
    }
  }
  Vectors alpha;
  for (const Expression& both : hs) {
    const Expression emission = b.affine(kOutput, kTags, {both});
    Vectors next;
    for (unsigned to = 0; to < kTags; ++to) {
      const Expression score = pick(emission, to);
      Vectors paths;
      for (unsigned from = 0; from < alpha.size(); ++from) {
        paths.push_back(alpha[from] + transitions[to][from] + score);
      }
      next.push_back(paths.empty() ? score : sum(paths));
    }
    alpha = next;
  }
  return sum(alpha);
}
Vectors crf(World& b) { return {all_paths(b, both_ways(b, kLstm1, words(b, 5, 15)), log_sum)}; }
Vectors crf_of_lists(World& b) {
  return {all_paths(b, both_ways(b, kLstm1, words(b, 5, 15)),
                    [](const Vectors& numbers) { return logsumexp(numbers); })};
}

/// An LSTM over characters, with words of up to four characters.
Vectors lattice(World& b) {
  std::vector<State> states;
  Vectors losses;
  for (std::size_t i = 0, n = b.between(8, 20); i < n; ++i) {
    const Expression x = b.word(kLetterTable);
    std::vector<std::pair<Expression, Expression>> cells;  // and the gates of the cells
    for (std::size_t j = i < 4 ? 0 : i - 4; j < i; ++j) {
      if (b.chance(30)) {
        const Vectors in{b.word(), states[j].h};
        const Expression input = logistic(b.affine(kTree, b.size, in));
        const Expression forget = logistic(b.affine(kTree + 1, b.size, in));
        const Expression u = tanh(b.affine(kTree + 2, b.size, in));
        const Expression cell = cmult(forget, states[j].c) + cmult(input, u);
        cells.emplace_back(cell, logistic(b.affine(kTree + 3, b.size, {x, cell})));
      }
    }
    State s = b.lstm_step(kLstm1, x, states.empty() ? Maybe() : states.back());
    for (const auto& [cell, gate] : cells) {
      s.c = s.c + cmult(gate, cell);
    }
    s.h = cells.empty() ? s.h : tanh(s.c);
    states.push_back(s);
    losses.push_back(b.loss(s.h, 10));
  }
  return losses;
}

/// Two layers of two heads over the columns of a sentence.
Vectors transformer(World& b) {
  constexpr unsigned kHeads = 2;
  const unsigned part = b.size / kHeads;
  Expression x = concatenate_cols(words(b, 5, 20));
  unsigned place = kBlocks;
  const auto product = [&](unsigned rows, const Expression& of) {
    return b.affine(place++, rows, {of});
  };
  const auto normal = [&](const Expression& of) {
    const Expression gain = b.weight(place, 0, {b.size});
    return layer_norm(of, gain, b.weight(place++, 1, {b.size}));
  };
  for (unsigned layer = 0; layer < 2; ++layer) {
    Vectors heads;
    for (unsigned head = 0; head < kHeads; ++head) {
      const Expression query = product(part, x);
      const Expression key = product(part, x);
      const Expression scores = transpose(key) * query / std::sqrt(static_cast<float>(part));
      heads.push_back(product(part, x) * softmax(scores));
    }
    x = normal(x + product(b.size, concatenate(heads)));
    const Expression inner = rectify(product(2 * b.size, x));
    x = normal(x + product(b.size, inner));
  }
  Vectors losses;
  for (unsigned t = 0; t < x.dim()[1]; ++t) {
    losses.push_back(b.loss(pick(x, t, 1), 10));
  }
  return losses;
}

/// A program of the counts, with a world of its own.
Network counted(const NetworkKind& kind) {
  return {kind.name,
          [&kind, world = std::make_shared<World>(8, Style::kNodes)](ComputationGraph& cg) {
            world->rewind();
            world->begin(cg);
            return add_examples(kind, *world, kind.examples);
          }};
}

}  // namespace

std::span<const NetworkKind> network_kinds() {
  static constexpr NetworkKind kAll[]{
      {"rnnlm", rnnlm, 8, true, true},
      {"tagger", tagger, 6, true, true},
      {"characters", characters, 6, true, true},
      {"two-layers", two_layers, 6, true, true},
      {"tree", tree, 8, true, true},
      {"child-sum", child_sum, 4, false, true},
      {"mv-rnn", mv_rnn, 12, false, false},
      {"attention", attention, 4, true, true},
      {"parser", parser, 4, true, true},
      {"crf", crf, 3, true, true},
      {"crf-lists", crf_of_lists, 3, true, true},
      {"lattice", lattice, 6, true, false},
      {"transformer", transformer, 6, false, false},
  };
  return kAll;
}

Expression add_examples(const NetworkKind& kind, World& world, unsigned examples) {
  Vectors losses;
  for (unsigned k = 0; k < examples; ++k) {
    const Vectors more = kind.example(world);
    losses.insert(losses.end(), more.begin(), more.end());
  }
  return sum(losses);
}

std::span<const Network> networks() {
  static const std::vector<Network> all = [] {
    std::vector<Network> made;
    for (const NetworkKind& kind : network_kinds()) {
      made.push_back(counted(kind));
    }
    return made;
  }();
  return all;
}

}  // namespace dynet::bench
