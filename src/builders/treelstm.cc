#include "dynet/treelstm.h"

#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>

#include "dynet/except.h"
#include "dynet/tree-builders.h"

#include "builders/builder_support.h"

namespace dynet {

namespace {

enum { kW, kGateBias, kU, kF1, kF2, kForgetBias };

/// Range of Glorot's initialiser for a {rows,cols} matrix that is stacked with others.
ParameterInitUniform glorot(unsigned rows, unsigned cols) {
  const double sum = static_cast<double>(rows) + static_cast<double>(cols);
  return ParameterInitUniform(static_cast<float>(std::sqrt(6.0 / sum)));
}

/// The builder's own collection. SizeError if `widest * hidden`, its largest extent, is too large.
ParameterCollection checked_subcollection(ParameterCollection& model, const char* builder,
                                          unsigned widest, unsigned hidden, const char* name) {
  static_cast<void>(builders::gate_rows(builder, widest, hidden));
  return model.add_subcollection(name);
}

/// IndexError if node `i` has no earlier node `child`.
void check_child(int child, std::size_t i) {
  if (child < 0 || static_cast<std::size_t>(child) >= i) {
    throw errors::IndexError("transduce: node " + std::to_string(i) + " has the child " +
                             std::to_string(child) +
                             "; want a node that comes before it, or -1 twice for a word");
  }
}

/// ValueError if the lists do not fit together; IndexError.
void check_tree(std::size_t words, const std::vector<int>& left, const std::vector<int>& right) {
  if (left.size() != right.size()) {
    throw errors::ValueError("transduce: " + std::to_string(left.size()) + " left and " +
                             std::to_string(right.size()) +
                             " right children; want as many of each");
  }
  std::size_t leaves = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] == -1 && right[i] == -1) {
      ++leaves;
      continue;
    }
    check_child(left[i], i);
    check_child(right[i], i);
  }
  if (leaves != words) {
    throw errors::ValueError("transduce: " + std::to_string(words) + " words and " +
                             std::to_string(leaves) +
                             " nodes without children; want as many of each");
  }
}

}  // namespace

BinaryTreeBuilder::~BinaryTreeBuilder() = default;

void BinaryTreeBuilder::new_graph(ComputationGraph& cg, bool update) {
  const detail::LocatedGraph at(cg, Where());
  std::vector<Expression> made = std::move(param_vars);  // all nodes, or the builder has no graph
  param_vars.clear();
  made.clear();
  detail::with_typed_allocation([&] {
    made.reserve(params.size());
    for (const Parameter& p : params) {
      made.push_back(update ? parameter(at, p) : const_parameter(at, p));
    }
  });
  param_vars = std::move(made);
}

std::vector<Expression> BinaryTreeBuilder::transduce(const std::vector<Expression>& xs,
                                                     const std::vector<int>& left,
                                                     const std::vector<int>& right, Where where) {
  check_tree(xs.size(), left, right);
  std::vector<TreeState> states;
  std::vector<Expression> vectors;
  detail::with_typed_allocation([&] {
    states.reserve(left.size());
    vectors.reserve(left.size());
  });
  auto x = xs.begin();
  for (std::size_t i = 0; i < left.size(); ++i) {
    const auto state = [&states](int node) { return states[static_cast<std::size_t>(node)]; };
    states.push_back(left[i] < 0 ? add_input(*x++, where)
                                 : add_input(state(left[i]), state(right[i]), where));
    vectors.push_back(states.back().h);
  }
  return vectors;
}

void BinaryTreeBuilder::check_ready(const char* name) const {
  if (param_vars.empty()) {
    throw errors::StateError(std::string(name) + ": add_input before new_graph");
  }
}

namespace {

/// An argument of add_input, and its name.
struct Given {
  const char* name;
  const Expression* e;
};

/// The state that `add` adds. Operations check their arguments. Only after a refusal are unset and
/// stale arguments looked for, and reported in the builder's words.
template <class Add>
TreeState state_of(const char* builder, std::initializer_list<Given> given, Where where, Add add) {
  try {
    return detail::with_typed_allocation(add);
  } catch (const errors::Error&) {  // a cell takes an unset c for an absent one
    for (const Given& g : given) {
      static_cast<void>(builders::dim_of(
          *g.e, where, [&] { return std::string(builder) + ": add_input: " + g.name; }));
    }
    throw;
  }
}

}  // namespace

BinaryTreeLSTMBuilder::BinaryTreeLSTMBuilder(unsigned input_size, unsigned hidden_dim,
                                             ParameterCollection& model)
    : BinaryTreeBuilder(checked_subcollection(model, "BinaryTreeLSTMBuilder", 3, hidden_dim,
                                              "binary-tree-lstm-builder")),
      input_dim(input_size),
      hid(hidden_dim) {
  const ParameterInitConst zero(0.0F);
  const unsigned gates = 3 * hid;
  const unsigned both = 2 * hid;
  params.push_back(local_model.add_parameters({gates, input_dim}, glorot(hid, input_dim)));
  params.push_back(local_model.add_parameters({gates}, zero));
  params.push_back(local_model.add_parameters({gates, both}, glorot(hid, both)));
  params.push_back(local_model.add_parameters({hid, hid}));
  params.push_back(local_model.add_parameters({hid, hid}));
  params.push_back(local_model.add_parameters({hid}, zero));
}

TreeState BinaryTreeLSTMBuilder::add_input(const Expression& x, Where where) {
  check_ready("BinaryTreeLSTMBuilder");
  return state_of("BinaryTreeLSTMBuilder", {{"x", &x}}, where, [&]() -> TreeState {
    const Expression a = affine_transform({param_vars[kGateBias], param_vars[kW], x}, where);
    const auto [c, h] = tree_lstm_cell(a, {}, {}, {}, {}, where);
    return {c, h};
  });
}

TreeState BinaryTreeLSTMBuilder::add_input(const TreeState& left, const TreeState& right,
                                           Where where) {
  check_ready("BinaryTreeLSTMBuilder");
  const std::initializer_list<Given> given = {
      {"left.h", &left.h}, {"right.h", &right.h}, {"left.c", &left.c}, {"right.c", &right.c}};
  return state_of("BinaryTreeLSTMBuilder", given, where, [&]() -> TreeState {
    const std::vector<Expression>& p = param_vars;
    const Expression both = concatenate({left.h, right.h}, 0, where);
    const Expression a = affine_transform({p[kGateBias], p[kU], both}, where);
    const Expression f1 = affine_transform({p[kForgetBias], p[kF1], left.h}, where);
    const Expression f2 = affine_transform({p[kForgetBias], p[kF2], right.h}, where);
    const auto [c, h] = tree_lstm_cell(a, f1, f2, left.c, right.c, where);
    return {c, h};
  });
}

TreeRNNBuilder::TreeRNNBuilder(unsigned hidden_dim, ParameterCollection& model)
    : BinaryTreeBuilder(
          checked_subcollection(model, "TreeRNNBuilder", 2, hidden_dim, "tree-rnn-builder")),
      hid(hidden_dim) {
  params.push_back(local_model.add_parameters({hid, 2 * hid}));
}

TreeState TreeRNNBuilder::add_input(const Expression& x, Where where) {
  check_ready("TreeRNNBuilder");
  const Dim& dim =
      builders::dim_of(x, where, [] { return std::string("TreeRNNBuilder: add_input: x"); });
  if (dim.single_batch() != Dim({hid})) {
    throw errors::ShapeError("TreeRNNBuilder: x is " + to_string(dim) + "; want {" +
                             std::to_string(hid) + "}");
  }
  return {Expression(), x};
}

TreeState TreeRNNBuilder::add_input(const TreeState& left, const TreeState& right, Where where) {
  check_ready("TreeRNNBuilder");
  const std::initializer_list<Given> given = {{"left.h", &left.h}, {"right.h", &right.h}};
  return state_of("TreeRNNBuilder", given, where, [&]() -> TreeState {
    const Expression both = concatenate({left.h, right.h}, 0, where);
    return {Expression(), tanh(detail::Located(param_vars[0], where) * both, where)};
  });
}

}  // namespace dynet
