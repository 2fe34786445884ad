#pragma once

// Random programs with steps of builders: states that branch, inputs that are outputs of other
// steps, inputs that are there at once and others that wait, several builders in one graph, masks,
// both directions, batches, sentences of many lengths, cells, and questions in the middle.
//
// A program is a seed. Its steps depend on the random numbers of the seed alone and never on a
// value, so that they are the same however the library computes: merged or one by one, in double or
// in float, in an inference scope or not.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dynet/expr.h"
#include "dynet/model.h"

#include "testing/random.h"

namespace dynet::testing {

/// Whether the library may find lengths and record cells.
enum class Form : unsigned char {
  kUsual,
  kPlain  ///< no matrix has lengths, and the functions of cells run by themselves
};

/// The vectors that a program has made so far, and its choices. Not thread-safe.
struct Making {
  Making(ComputationGraph& graph, std::uint64_t seed, unsigned vector_size, unsigned examples,
         Form form_of_nodes)
      : cg(graph), random(seed), size(vector_size), batch(examples), form(form_of_nodes) {}

  /// One of the vectors made so far, of late ones more likely.
  [[nodiscard]] Expression any();
  /// A vector of numbers of the program.
  Expression leaf();
  /// A vector that waits for no step of a builder: it is there at once, or late. A late vector
  /// waits for two operations that wait for each other, more often than steps wait for it: the
  /// scheduler begins the steps that are ready earlier.
  Expression fresh();
  /// `least` to `most` of them.
  [[nodiscard]] std::vector<Expression> some(unsigned least, unsigned most);
  /// `least` to `most` fresh ones.
  std::vector<Expression> sentence(unsigned least, unsigned most);
  /// Offers a vector, or the first `size` numbers of a longer one, for use in later steps.
  void offer(const Expression& y, Where where = Where::here());
  void offer(const std::vector<Expression>& ys) {
    for (const Expression& y : ys) {
      offer(y);
    }
  }
  /// The matrix of these columns, or of the columns of these matrices.
  [[nodiscard]] Expression columns(const std::vector<Expression>& items) const;
  /// A question in the middle.
  void ask(const Expression& x);
  /// Numbers of the program.
  std::vector<float> numbers(unsigned count);

  ComputationGraph& cg;
  Random random;
  unsigned size;   ///< of all vectors
  unsigned batch;  ///< each has so many examples, or one
  Form form;
  std::vector<std::vector<double>> asked;  ///< answers to questions
  std::vector<Expression> vectors;
  std::vector<Expression> losses;  ///< numbers {1}, with or without a batch
};

/// A builder in a program, with the states and vectors made by it.
class Part {
 public:
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part();

  /// Uses the parameters in a graph. States of an earlier one are forgotten.
  virtual void enter(ComputationGraph& cg) = 0;
  /// A step, or whatever else the builder does, with random arguments.
  virtual void act(Making& making) = 0;
  /// The graph has a checkpoint from now on; is back at the last one.
  virtual void mark() {}
  virtual void revert() = 0;
};

/// A way to make a builder for vectors of `size` numbers, which is even.
struct PartKind {
  std::string name;
  std::function<std::unique_ptr<Part>(ParameterCollection& model, unsigned size, Random& random)>
      make;
};
/// All builders of the library, the recurrent ones with their options too, an operation of a
/// program's own that has a state, a recurrence in plain operations, sentences in matrices, and
/// cells of programs.
const std::vector<PartKind>& part_kinds();

// By kind of builder.
void add_recurrent_kinds(std::vector<PartKind>& kinds);
void add_tree_kinds(std::vector<PartKind>& kinds);
void add_attention_kinds(std::vector<PartKind>& kinds);
void add_loss_kinds(std::vector<PartKind>& kinds);
void add_sentence_kinds(std::vector<PartKind>& kinds);
void add_cell_kinds(std::vector<PartKind>& kinds);

}  // namespace dynet::testing
