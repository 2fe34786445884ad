#pragma once

// Beam search over any model that predicts one word after the other:
//
//   std::vector<Hypothesis> best = beam_search(cg, start, kBegin, kEnd, step, options);
//
// `step(state, word)` reads a word in a state and returns a pair: the next state, and the
// logarithms of the probabilities of all words after it, an expression {words} of one example. A
// state is a value of any type that can be copied: an RNNPointer, the vector of
// RNNBuilder::final_s, a TransformerState, or a struct of these.
//
// At each step the words of all hypotheses are read before any number is requested, so that one
// plan computes all hypotheses, in the kernel calls of one. Example: with a width of 6, a step of
// an LSTM is one kernel call with 6 examples. The graph and its memory grow with each step, unless
// `checkpoints` is set: then the numbers of the surviving states are read after each step, the
// graph is reverted, and the numbers come back as inputs. The price is a copy of each state
// (through float), and the type of the state needs `for_each_expression`; earlier nodes of the
// graph stay as they are.
//
// The `width` best continuations of all hypotheses are kept at each step; a continuation by the end
// symbol is finished and leaves the beam, so a width of 1 is greedy search. The search is over when
// no hypothesis is left, at max_length, or when no live hypothesis can become one of the n_best any
// more. Dropout is off: the search is an Evaluating scope. Equal scores are in the order of the
// hypotheses before, then of the words' ids, so results do not depend on chance.

#include <cstddef>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet/evaluating.h"
#include "dynet/except.h"
#include "dynet/expr.h"
#include "dynet/tasks.h"

namespace dynet {

/// A hypothesis's score is its log-probability divided by this number for its length, which counts
/// the end symbol. It must be positive and must not fall with the length.
using LengthNorm = std::function<double(unsigned length)>;
/// length^alpha: the mean per word for 1. ValueError unless alpha is finite and at least 0.
[[nodiscard]] LengthNorm length_power(double alpha);
/// ((5 + length) / 6)^alpha (Wu et al., 2016). ValueError unless alpha is finite and at least 0.
[[nodiscard]] LengthNorm length_wu(double alpha);

struct BeamOptions {
  unsigned width = 4;         ///< hypotheses kept at each step
  unsigned max_length = 100;  ///< words at most, the end symbol among them
  unsigned n_best = 1;        ///< hypotheses wanted
  LengthNorm length_norm;     ///< unset: scores are log-probabilities
  /// Continuations with a log-probability below the best of the step by more than this number are
  /// dropped.
  double prune = std::numeric_limits<double>::infinity();
  bool checkpoints = false;  ///< memory for one step instead of all
};

/// A sequence of words that a search found.
struct Hypothesis {
  /// The words, without the first one that was read; with the end symbol.
  std::vector<unsigned> words;
  /// The logarithm of the probability of the words.
  double log_probability = 0.0;
  /// The log-probability divided by the length norm.
  double score = 0.0;
  /// Whether it ends with the end symbol.
  bool finished = false;
};

// ---- the expressions of a state
// ---------------------------------------------------------------

namespace detail {
/// Whether there is a for_each_expression for a type.
template <class State, class = void>
struct CanCarry : std::false_type {};
}  // namespace detail

/// Calls f(e) for each expression of a state, which f may replace. Programs that search with
/// `checkpoints` write it for types of their own, beside the type.
template <class F>
void for_each_expression(Expression& e, F&& f) {
  if (e.pg != nullptr) {
    f(e);
  }
}

namespace detail {
template <class State>
struct CanCarry<State, std::void_t<decltype(for_each_expression(
                           std::declval<State&>(), std::declval<void (*)(Expression&)>()))>>
    : std::true_type {};
}  // namespace detail

template <class T, class F, class = std::enable_if_t<detail::CanCarry<T>::value>>
void for_each_expression(std::vector<T>& list, F&& f) {
  for (T& part : list) {
    for_each_expression(part, f);
  }
}
template <class A, class B, class F,
          class = std::enable_if_t<detail::CanCarry<A>::value && detail::CanCarry<B>::value>>
void for_each_expression(std::pair<A, B>& both, F&& f) {
  for_each_expression(both.first, f);
  for_each_expression(both.second, f);
}

namespace detail {

/// The hypotheses of a search, without states.
///
/// Invariant: the live hypotheses are of one length, in the order of their log-probabilities.
class Beam {
 public:
  /// ValueError for options that make no sense.
  Beam(unsigned end, BeamOptions options);

  /// Whether there is a step to do.
  [[nodiscard]] bool is_open() const;
  [[nodiscard]] const std::vector<Hypothesis>& live() const { return live_; }
  /// The log-probabilities after each live hypothesis, as one batch for `advance`. ShapeError
  /// unless all are vectors of one example, IndexError if the end symbol is no word.
  [[nodiscard]] Expression question(const std::vector<Expression>& log_probabilities) const;
  /// Chooses the next live hypotheses by the values of the question. Returns for each the number of
  /// the hypothesis before. NumericError for NaN and +infinity.
  std::vector<std::size_t> advance(const Expression& question);
  [[nodiscard]] std::vector<Hypothesis> best() const;

 private:
  std::vector<std::size_t> checked_advance(const Expression& question);
  struct Candidate {
    double log_probability;
    std::size_t from;
    unsigned word;
    [[nodiscard]] bool is_before(const Candidate& other) const;
  };
  [[nodiscard]] std::vector<Candidate> choose(const std::vector<double>& logs,
                                              unsigned words) const;
  [[nodiscard]] double score(double log_probability, std::size_t length) const;
  void finish(Hypothesis&& h);

  unsigned end_;
  BeamOptions options_;
  std::vector<Hypothesis> live_;
  std::vector<Hypothesis> finished_;  ///< the n_best, best first
};

/// Checkpoints of a graph for a search; reverts the last one at its end.
class SearchMark {
 public:
  /// `revert`: reverts the graph once; the Python module has more to do then.
  SearchMark(ComputationGraph& cg, bool is_used, std::function<void()> revert);
  SearchMark(const SearchMark&) = delete;
  SearchMark& operator=(const SearchMark&) = delete;
  ~SearchMark();
  /// Removes the nodes of a step.
  void renew();
  /// Whether the search made this node.
  [[nodiscard]] bool is_above(const Expression& e) const { return e.i >= first_; }

 private:
  ComputationGraph& graph_;
  std::function<void()> revert_;
  std::size_t first_;
  bool is_set_ = false;
};

/// The numbers of one expression, to become an input.
struct Carried {
  Dim dim;
  std::vector<float> numbers;
  Device* device;
};
[[nodiscard]] Carried carry(const Expression& e);
[[nodiscard]] Expression put_back(ComputationGraph& cg, const Carried& carried);
[[noreturn]] void fail_carry();
[[noreturn]] void fail_checkpoints_in_task();

/// Renews the mark; surviving states get inputs in place of the nodes above the mark.
template <class State>
void carry_over(ComputationGraph& cg, SearchMark& mark, const std::vector<std::size_t>& living,
                std::vector<State>& states) {
  if constexpr (CanCarry<State>::value) {
    std::vector<char> is_wanted(states.size(), 0);
    for (const std::size_t i : living) {
      is_wanted[i] = 1;
    }
    const auto for_each_above = [&](auto f) {
      for (std::size_t i = 0; i < states.size(); ++i) {
        if (is_wanted[i] != 0) {
          for_each_expression(states[i], [&](Expression& e) {
            if (mark.is_above(e)) {  // by its index, also when it is stale
              f(e);
            }
          });
        }
      }
    };
    std::vector<Carried> kept;
    for_each_above([&](const Expression& e) { kept.push_back(carry(e)); });
    mark.renew();
    auto next = kept.cbegin();
    for_each_above([&](Expression& e) { e = put_back(cg, *next++); });
  } else {
    fail_carry();
  }
}

/// Steps of the live hypotheses: their next states, and the question that decides between them.
/// Without dropout.
template <class State, class Step>
std::pair<std::vector<State>, Expression> step_all(const Beam& beam,
                                                   const std::vector<State>& states, unsigned first,
                                                   Step& step) {
  const Evaluating no_dropout;
  std::vector<State> next;
  next.reserve(states.size());
  std::vector<Expression> logs;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::vector<unsigned>& words = beam.live()[i].words;
    std::pair<State, Expression> after = step(states[i], words.empty() ? first : words.back());
    next.push_back(std::move(after.first));
    logs.push_back(after.second);
  }
  return {std::move(next), beam.question(logs)};
}

/// beam_search with a function that reverts the graph.
template <class State, class Step>
std::vector<Hypothesis> search(ComputationGraph& cg, std::function<void()> revert,
                               const State& start, unsigned first, unsigned end, Step& step,
                               const BeamOptions& options) {
  Beam beam(end, options);
  if (options.checkpoints && !CanCarry<State>::value) {
    fail_carry();
  }
  SearchMark mark(cg, options.checkpoints, std::move(revert));
  std::vector<State> states{start};  // of the live hypotheses, before their last words
  while (beam.is_open()) {
    auto [next, question] = step_all(beam, states, first, step);
    const std::vector<std::size_t> from = beam.advance(question);
    if (options.checkpoints && beam.is_open()) {
      carry_over(cg, mark, from, next);
    }
    states.clear();
    for (const std::size_t i : from) {
      states.push_back(next[i]);
    }
  }
  return beam.best();
}

}  // namespace detail

/// The best sequences of words, best first; finished sequences first, and unfinished ones only if
/// fewer than n_best are finished. `first`: the word that each hypothesis reads first. The result
/// is shorter than n_best if there are no more (a narrow beam, words of probability 0).
///
/// An exception of `step` ends the search, a std::bad_alloc as out_of_memory; the graph stays
/// usable, and with `checkpoints` as it was. Errors: ValueError for a width, length or number of 0
/// and for a norm that is not positive; the errors of Beam::advance; UsageError for `checkpoints`
/// with a state without for_each_expression.
template <class State, class Step>
std::vector<Hypothesis> beam_search(ComputationGraph& cg, const State& start, unsigned first,
                                    unsigned end, Step&& step, const BeamOptions& options = {}) {
  return detail::with_typed_allocation(
      [&] { return detail::search(cg, [&cg] { cg.revert(); }, start, first, end, step, options); });
}

#if defined(__cpp_impl_coroutine)
/// beam_search as a task of run_together (tasks.h): many searches go on together, and a step of all
/// hypotheses of all searches is one plan. `step` is copied into the task, and may refer to objects
/// that live as long as the task does. UsageError for `checkpoints`, which would remove nodes of
/// other tasks; else the errors of beam_search.
template <class State, class Step>
Task<std::vector<Hypothesis>> beam_search_task(State start, unsigned first, unsigned end, Step step,
                                               BeamOptions options = {}) {
  if (options.checkpoints) {
    detail::fail_checkpoints_in_task();
  }
  detail::Beam beam(end, options);
  std::vector<State> states{std::move(start)};
  while (beam.is_open()) {
    auto [next, question] = detail::step_all(beam, states, first, step);
    co_await value(question);
    states.clear();
    for (const std::size_t i : beam.advance(question)) {
      states.push_back(next[i]);
    }
  }
  co_return beam.best();
}
#endif

}  // namespace dynet
