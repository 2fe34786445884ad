#pragma once

// Parts of the networks in networks.cc: weights and tables by number, sums of products, and LSTMs,
// each in plain operations, as a cell of these, or by a builder.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "dynet/cell.h"
#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/lstm.h"
#include "dynet/model.h"
#include "dynet/tree-builders.h"

namespace dynet::bench {

using Vectors = std::vector<Expression>;

/// Places of weights in a program. An LSTM has four; every other one stands for a sum of products.
enum Place : unsigned {
  kLstm1 = 0,
  kLstm2 = 4,
  kLstm3 = 8,
  kLstm4 = 12,
  kTree = 16,
  kHidden = 24,
  kOutput,
  kKeys,
  kQuery,
  kScores,
  kJoin,
  kMatrices,
  kTransitions,
  kBlocks = 32,
  kPlaces = 64
};
enum Table : unsigned { kWordTable, kLetterTable, kActionTable, kMatrixTable, kTables };

struct State {
  Expression h, c;
  RNNPointer step = -1;  ///< of the builder that made it
};
using Maybe = std::optional<State>;

/// How a program has its LSTMs and trees.
enum class Style : std::uint8_t {
  kNodes,     ///< in plain operations
  kCells,     ///< steps of LSTMs behind the first and joins of two subtrees as cells (dynet/cell.h)
  kBuilders,  ///< as the library's builders
};

/// A program: its weights, made when they are first used, and the graph that is being built. Its
/// random choices are the same after each `rewind`.
class World {
 public:
  World(unsigned width, Style of) : size(width), style(of) {}

  void rewind() { random_.seed(1); }
  /// The graph of the calls that follow.
  void begin(ComputationGraph& cg);

  unsigned between(unsigned low, unsigned high) {
    return low + static_cast<unsigned>(random_()) % (high - low + 1);
  }
  bool chance(unsigned percent) { return random_() % 100 < percent; }

  /// Weight `k` of a place; 0 is the bias.
  Expression weight(unsigned place, unsigned k, const Dim& dim);
  Expression look(Table table, const Dim& dim, unsigned row);
  Expression word(Table table = kWordTable) { return look(table, {size}, between(0, kRows - 1)); }
  /// b + W1 x1 + W2 x2 + …
  Expression affine(unsigned place, unsigned rows, const Vectors& inputs);
  Expression loss(const Expression& h, unsigned labels) {
    return pickneglogsoftmax(affine(kOutput, labels, {h}), between(0, labels - 1));
  }
  Expression zero(const Dim& dim) { return zeros(*cg_, dim); }

  State lstm_step(unsigned place, const Expression& x, const Maybe& before, unsigned rows);
  /// The node of two subtrees, in operations or as a cell.
  State tree_join(const State& left, const State& right);
  State lstm_step(unsigned place, const Expression& x, const Maybe& before) {
    return lstm_step(place, x, before, size);
  }
  BinaryTreeLSTMBuilder& binary_trees();
  ChildSumTreeLSTMBuilder& child_sums();

  static constexpr unsigned kRows = 24;  ///< of each table
  const unsigned size;                   ///< of states and of vectors of words
  const Style style;
  ParameterCollection parameters;

 private:
  struct Weight {
    std::optional<Parameter> stored;
    Expression node;
    unsigned graph = 0;  ///< that `node` belongs to
  };
  static constexpr std::size_t kOfPlace = 4;
  using Step = std::function<State(const Vectors& args)>;
  Parameter stored(unsigned place, unsigned k, const Dim& dim);
  State lstm_nodes(unsigned place, unsigned rows, const Expression& x, const Maybe& before);
  State join_nodes(const State& left, const State& right);
  State call(unsigned place, const Step& step, const Vectors& args,
             const std::vector<unsigned>& inputs);

  ComputationGraph* cg_ = nullptr;
  unsigned graphs_ = 0;  ///< that there were
  unsigned graph_ = 0;   ///< the number of the present one
  std::array<Weight, kPlaces * kOfPlace> weights_;
  std::array<std::optional<LookupParameter>, kTables> tables_;
  std::map<unsigned, Cell> cells_;  ///< by place
  std::map<unsigned, VanillaLSTMBuilder> lstms_;
  std::optional<BinaryTreeLSTMBuilder> binary_trees_;
  std::optional<ChildSumTreeLSTMBuilder> child_sums_;
  std::mt19937 random_{1};
};

}  // namespace dynet::bench
