// Tree LSTMs that read a node's children as a sequence.

#include <cstddef>
#include <string>

#include "dynet/except.h"
#include "dynet/treelstm.h"

#include "builders/builder_support.h"
#include "graph/graph.h"

namespace dynet {

namespace {

/// ShapeError if some children cannot be read as inputs.
void check_readable(const TreeNodesBuilder& builder, const std::vector<int>& children,
                    Where where) {
  if (!children.empty() && builder.input_dim != builder.hid) {
    throw errors::ShapeError(
        std::string(builder.name()) + ": a node with children, input_dim " +
        std::to_string(builder.input_dim) + " and hidden_dim " + std::to_string(builder.hid) +
        "; want the same, because children are read as inputs" + graph::built_at(where));
  }
}

}  // namespace

// ---- one direction

UnidirectionalTreeLSTMBuilder::UnidirectionalTreeLSTMBuilder(unsigned layer_count,
                                                             unsigned input_size,
                                                             unsigned hidden_dim,
                                                             ParameterCollection& model)
    : TreeNodesBuilder(layer_count, input_size, hidden_dim) {
  local_model = model.add_subcollection("unidirectional-tree-lstm-builder");
  node_builder = VanillaLSTMBuilder(layers, input_dim, hid, local_model);
}

void UnidirectionalTreeLSTMBuilder::set_dropout(float d) { node_builder.set_dropout(d); }
void UnidirectionalTreeLSTMBuilder::disable_dropout() { node_builder.disable_dropout(); }
unsigned UnidirectionalTreeLSTMBuilder::num_h0_components() const {
  return node_builder.num_h0_components();
}
void UnidirectionalTreeLSTMBuilder::copy(const RNNBuilder& other) {
  node_builder.copy(builders::check_kind(*this, other).node_builder);
}
void UnidirectionalTreeLSTMBuilder::enter_graph(ComputationGraph& cg, bool update) {
  node_builder.new_graph(cg, update);
}
void UnidirectionalTreeLSTMBuilder::start_tree(const std::vector<Expression>& h_0) {
  node_builder.start_new_sequence(h_0, user_where);
}

void UnidirectionalTreeLSTMBuilder::add_node(const std::vector<int>& children, const Expression& x,
                                             std::vector<Expression>& new_h,
                                             std::vector<Expression>& /*new_c*/) {
  check_readable(*this, children, user_where);
  new_h[0] = node_builder.add_input(-1, x, user_where);
  for (const int child : children) {
    new_h[0] = node_builder.add_input(h[static_cast<std::size_t>(child)][0], user_where);
  }
}

// ---- both directions

BidirectionalTreeLSTMBuilder::BidirectionalTreeLSTMBuilder(unsigned layer_count,
                                                           unsigned input_size, unsigned hidden_dim,
                                                           ParameterCollection& model)
    : TreeNodesBuilder(layer_count, input_size, hidden_dim) {
  if (hid % 2 != 0) {
    throw errors::ValueError("BidirectionalTreeLSTMBuilder: hidden_dim is " + std::to_string(hid) +
                             "; want an even one, half for each direction");
  }
  local_model = model.add_subcollection("bidirectional-tree-lstm-builder");
  fwd_node_builder = VanillaLSTMBuilder(layers, input_dim, hid / 2, local_model);
  rev_node_builder = VanillaLSTMBuilder(layers, input_dim, hid / 2, local_model);
}

void BidirectionalTreeLSTMBuilder::set_dropout(float d) {
  fwd_node_builder.set_dropout(d);
  rev_node_builder.set_dropout(d);
}
void BidirectionalTreeLSTMBuilder::disable_dropout() {
  fwd_node_builder.disable_dropout();
  rev_node_builder.disable_dropout();
}
unsigned BidirectionalTreeLSTMBuilder::num_h0_components() const {
  return fwd_node_builder.num_h0_components();
}
void BidirectionalTreeLSTMBuilder::copy(const RNNBuilder& other) {
  const BidirectionalTreeLSTMBuilder& same = builders::check_kind(*this, other);
  fwd_node_builder.copy(same.fwd_node_builder);  // refuses every builder that the next line would
                                                 // refuse
  rev_node_builder.copy(same.rev_node_builder);
}
void BidirectionalTreeLSTMBuilder::enter_graph(ComputationGraph& cg, bool update) {
  fwd_node_builder.new_graph(cg, update);
  rev_node_builder.new_graph(cg, update);
}
void BidirectionalTreeLSTMBuilder::start_tree(const std::vector<Expression>& h_0) {
  fwd_node_builder.start_new_sequence(h_0, user_where);
  rev_node_builder.start_new_sequence(h_0, user_where);
}

void BidirectionalTreeLSTMBuilder::add_node(const std::vector<int>& children, const Expression& x,
                                            std::vector<Expression>& new_h,
                                            std::vector<Expression>& /*new_c*/) {
  check_readable(*this, children, user_where);
  Expression forward = fwd_node_builder.add_input(-1, x, user_where);
  for (const int child : children) {
    forward = fwd_node_builder.add_input(h[static_cast<std::size_t>(child)][0], user_where);
  }
  Expression reverse = rev_node_builder.add_input(-1, x, user_where);
  for (std::size_t k = children.size(); k-- > 0;) {
    const auto child = static_cast<std::size_t>(children[k]);
    reverse = rev_node_builder.add_input(h[child][0], user_where);
  }
  new_h[0] = concatenate({forward, reverse}, 0, user_where);
}

}  // namespace dynet
