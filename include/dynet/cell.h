#pragma once

// Cells: a function of expressions whose calls are one node each.
//
// A program that writes the gates of a recurrent network with plain operations makes some twenty
// nodes for a step, and building, scheduling and starting these nodes takes longer than small
// products. A Cell runs such a function once, on placeholders, and notes the operations that it
// adds; each later call adds one node with the same values and gradients. Example:
//
//   Parameter w = ..., u = ..., b = ...;
//   Cell cell("gate", [&](ComputationGraph& cg, const std::vector<Expression>& in) {
//     return std::vector{tanh(affine_transform({parameter(cg, b), parameter(cg, w), in[0],
//                                               parameter(cg, u), in[1]}))};
//   }, {0});
//   for (const Expression& x : words) {
//     h = cell({x, h})[0];
//   }
//
// *Once per signature.* The function runs once for each combination of shapes, kinds (parameter or
// not) and devices of its arguments, batch or one example, and once more in an Evaluating scope. So
// its loops and choices may depend on these, and on no value: asking an argument for its value is a
// UsageError. The numbers (`0.5 * x`) and the parameters that the function reads are the ones that
// it read when it ran; the values of parameters are read at each computation.
//
// *Inputs.* `{0}` above says that argument 0 is an input and the others are state. Whatever
// depends on inputs and parameters alone becomes a node of its own, which the scheduler runs for
// all steps of a sequence at once. Without inputs a call is one node; in a tree, whose arguments
// are all states, that is right.
//
// *Refused*, with a UsageError that names the line: dropout and other random operations, lookups
// and numbers (make them outside, and pass them as arguments), operations that mix the examples of
// a batch, copies between devices, expressions of the graph that are no arguments (GraphError), and
// more than four results. A call adds nothing then.
//
// *Gradients of results.* `gradient()` of a result counts its uses outside of the cell. Example: of
// {h, c} with h = o * tanh(c), the gradient of c is without the way through h; gradients of
// arguments and parameters have all ways.
//
// Nodes of all cells with equal steps run together, as nodes of one operation do: the gates of two
// layers, or of two sentences. Weights may be arguments or parameters that the function reads.
// `gradient` of gradients works if it works for each operation.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dynet/dynet.h"

namespace dynet {

namespace detail {

/// The programs that a cell has recorded. Thread rule: one thread at a time.
class CellPrograms {
 public:
  using Function = std::function<std::vector<Expression>(const std::vector<Expression>& args)>;
  enum class Outcome : unsigned char {
    kAdded,
    kNew,   ///< no program for arguments of this kind so far
    kPlain  ///< there are too many programs: the function has to run by itself
  };

  CellPrograms(std::string name, std::vector<unsigned> inputs);
  CellPrograms(const CellPrograms&) = delete;
  CellPrograms& operator=(const CellPrograms&) = delete;
  ~CellPrograms();

  /// Adds the nodes of a call, and gives their results.
  Outcome call(const std::vector<Expression>& args, const Where& where,
               std::vector<Expression>& results);
  /// Runs the function on placeholders of such arguments in `graph`, which has no nodes, and notes
  /// its program.
  void record(const std::vector<Expression>& args, ComputationGraph& graph,
              const Function& function);
  /// A number of the caller's for the program that was called or recorded last; 0 at first.
  [[nodiscard]] unsigned& form();

 private:
  struct Recorded;
  struct Kind;
  [[nodiscard]] std::vector<Kind> kinds_of(const std::vector<Expression>& args) const;
  [[nodiscard]] bool is_of(const Recorded& recorded, const std::vector<Expression>& args) const;
  Recorded* find(const std::vector<Expression>& args);
  void check(const std::vector<Expression>& args) const;

  std::string name_;
  std::vector<unsigned> inputs_;
  std::vector<std::unique_ptr<Recorded>> recorded_;
  Recorded* last_ = nullptr;        ///< the one that was found last
  std::vector<Expression> all_;     ///< room for arguments and parameters of a call
  std::vector<Expression> picked_;  ///< room for the arguments of a node
};

}  // namespace detail

/// A function of expressions whose calls are one node each, as described above. `name` stands in
/// errors, traces and pictures of graphs. `is_recorded`: false runs the function at each call, for
/// comparison. Thread rule: one thread at a time, which may use any number of graphs in turn.
class Cell {
 public:
  using Function =
      std::function<std::vector<Expression>(ComputationGraph& cg, const std::vector<Expression>&)>;

  Cell(std::string name, Function function, std::vector<unsigned> inputs = {},
       bool is_recorded = true);

  /// The results of the function for these arguments, of which there is at least one. Errors: the
  /// errors of the function; UsageError as above; StaleExpression, GraphError.
  std::vector<Expression> operator()(const std::vector<Expression>& args,
                                     Where where = Where::here());

 private:
  Function function_;
  bool is_recorded_;
  std::unique_ptr<detail::CellPrograms> programs_;
};

}  // namespace dynet
