#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "dynet/except.h"
#include "dynet/treelstm.h"

#include "builders/builder_support.h"
#include "util/reserve.h"

namespace dynet {

// ---- the interface

namespace {

[[noreturn]] void fail_use(const char* call) {
  throw errors::UsageError(std::string(call) + " is not a valid function for TreeLSTMBuilder");
}

}  // namespace

Expression TreeLSTMBuilder::back() const { fail_use("back"); }
std::vector<Expression> TreeLSTMBuilder::final_h() const { fail_use("final_h"); }
std::vector<Expression> TreeLSTMBuilder::final_s() const { fail_use("final_s"); }
std::vector<Expression> TreeLSTMBuilder::get_h(RNNPointer /*i*/) const { fail_use("get_h"); }
std::vector<Expression> TreeLSTMBuilder::get_s(RNNPointer /*i*/) const { fail_use("get_s"); }
unsigned TreeLSTMBuilder::num_h0_components() const { fail_use("num_h0_components"); }
void TreeLSTMBuilder::copy(const RNNBuilder& /*params*/) { fail_use("copy"); }
Expression TreeLSTMBuilder::add_input_impl(int /*prev*/, const Expression& /*x*/) {
  fail_use("add_input without the number of a node");
}
Expression TreeLSTMBuilder::set_h_impl(int /*prev*/, const std::vector<Expression>& /*h_new*/) {
  fail_use("set_h");
}
Expression TreeLSTMBuilder::set_s_impl(int /*prev*/, const std::vector<Expression>& /*s_new*/) {
  fail_use("set_s");
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): the signature of DyNet 2.1
Expression detail::TreeCallsWithoutLine::add_input(int id, std::vector<int> children,
                                                   const Expression& x) {
  return add_numbered(id, children, x, Where());
}

// ---- nodes

namespace {

std::string at_node(const char* builder, int id) {
  return std::string(builder) + ": node " + std::to_string(id) + ": ";
}
/// "0 to 2" for three.
std::string to_last(std::size_t size) {
  return size == 0 ? "none" : "0 to " + std::to_string(size - 1);
}

}  // namespace

void TreeNodesBuilder::new_graph_impl(ComputationGraph& cg, bool update) {
  is_reading_ = false;  // first, because a later line may fail
  enter_graph(cg, update);
}

void TreeNodesBuilder::start_new_sequence_impl(const std::vector<Expression>& h_0) {
  if (!h_0.empty()) {
    builders::check_count(name(), "the initial state", h_0.size(), num_h0_components());
  }
  const std::size_t cell_count = has_cells() ? h_0.size() / 2 : 0;
  c0.reserve(cell_count);
  h0.reserve(h_0.size() - cell_count);
  start_tree(h_0);
  const std::vector<Expression> vectors = builders::as_vectors(h_0, user_where);
  // Nothing throws below this line.
  memory_h_.keep(h, 0);
  memory_c_.keep(c, 0);
  has_initial_state = !h_0.empty();
  const auto middle = vectors.begin() + static_cast<std::ptrdiff_t>(cell_count);
  c0.assign(vectors.begin(), middle);
  h0.assign(middle, vectors.end());
  is_reading_ = true;
  any_order_ = false;
  last_ = -1;
}

void TreeNodesBuilder::set_num_elements(int num) {
  if (!is_reading_) {
    throw errors::StateError(std::string(name()) +
                             ": set_num_elements before start_new_sequence, which begins a tree");
  }
  if (num < static_cast<int>(h.size())) {
    throw errors::ValueError(std::string(name()) + ": set_num_elements: " + std::to_string(num) +
                             "; want " + std::to_string(h.size()) + " or more");
  }
  const auto size = static_cast<std::size_t>(num);
  detail::with_typed_allocation([&] {
    c.reserve(has_cells() ? size : 0);
    h.resize(size);
    c.resize(has_cells() ? size : 0);
  });
  any_order_ = true;
}

bool TreeNodesBuilder::has_node(int id) const {
  return id >= 0 && static_cast<std::size_t>(id) < h.size() &&
         !h[static_cast<std::size_t>(id)].empty();
}

void TreeNodesBuilder::check_place(int id) const {
  if (layers == 0) {
    throw errors::StateError(at_node(name(), id) + "the builder was made without layers");
  }
  if (!is_reading_) {
    throw errors::StateError(at_node(name(), id) +
                             "add_input before start_new_sequence, which new_graph goes before");
  }
  if (has_node(id)) {
    throw errors::IndexError(at_node(name(), id) + "it was added before; want each node once");
  }
  if (any_order_ && (id < 0 || static_cast<std::size_t>(id) >= h.size())) {
    throw errors::IndexError(at_node(name(), id) + "want " + to_last(h.size()) +
                             ", as set_num_elements said");
  }
  if (!any_order_ && id != static_cast<int>(h.size())) {
    throw errors::IndexError(at_node(name(), id) + "it comes out of order; want node " +
                             std::to_string(h.size()) + " (any order is for set_num_elements)");
  }
}

void TreeNodesBuilder::check_children(int id, const std::vector<int>& children, const Expression& x,
                                      Where where) const {
  const Dim& dim = builders::dim_of(x, where, [&] { return at_node(name(), id) + "x"; });
  if (!builders::is_column(dim, input_dim)) {
    throw errors::ShapeError(at_node(name(), id) + "x is " + to_string(dim) + "; want " +
                             to_string(Dim({input_dim})));
  }
  unsigned batch = dim.bd;
  for (const int child : children) {
    if (!has_node(child)) {
      throw errors::IndexError(at_node(name(), id) + "child " + std::to_string(child) +
                               " is not there; want nodes that were added before");
    }
    const unsigned other = h[static_cast<std::size_t>(child)].back().dim().bd;
    if (other != 1 && batch != 1 && other != batch) {
      throw errors::ShapeError(at_node(name(), id) + "child " + std::to_string(child) +
                               " is a batch of " + std::to_string(other) + "; want 1 or " +
                               std::to_string(batch) + ", as x and the other children have");
    }
    batch = std::max(batch, other);
  }
}

Expression TreeNodesBuilder::add_numbered(int id, const std::vector<int>& children,
                                          const Expression& x, Where where) {
  check_place(id);
  check_children(id, children, x, where);
  user_where = where;
  return detail::with_typed_allocation([&] { return add_checked(id, children, x); });
}

Expression TreeNodesBuilder::add_checked(int id, const std::vector<int>& children,
                                         const Expression& x) {
  std::vector<Expression> new_h = memory_h_.take(state_size());
  std::vector<Expression> new_c =
      has_cells() ? memory_c_.take(state_size()) : std::vector<Expression>();
  add_node(children, x, new_h, new_c);
  if (!any_order_) {
    util::reserve_more(c, has_cells() ? 1 : 0);
    h.emplace_back();
    c.resize(has_cells() ? h.size() : 0);
  }
  const Expression output = new_h.back();
  h[static_cast<std::size_t>(id)] = std::move(new_h);
  if (has_cells()) {
    c[static_cast<std::size_t>(id)] = std::move(new_c);
  }
  last_ = id;
  return output;
}

// ---- states

const std::vector<Expression>& TreeNodesBuilder::state_of(
    const std::vector<std::vector<Expression>>& of, const std::vector<Expression>& initial,
    RNNPointer i) const {
  if (i != -1 && !has_node(i)) {
    throw errors::IndexError(std::string(name()) + ": node " + std::to_string(i) +
                             " is not there; want one that was added, or -1 for the initial state");
  }
  return i < 0 ? initial : of[static_cast<std::size_t>(i)];
}

Expression TreeNodesBuilder::back() const {
  if (last_ < 0) {
    throw errors::StateError(std::string(name()) + ": back before the first node");
  }
  return state_of(h, h0, last_).back();
}

std::vector<Expression> TreeNodesBuilder::final_h() const { return get_h(last_); }
std::vector<Expression> TreeNodesBuilder::final_s() const { return get_s(last_); }
std::vector<Expression> TreeNodesBuilder::get_h(RNNPointer i) const {
  return detail::with_typed_allocation([&] { return state_of(h, h0, i); });
}

std::vector<Expression> TreeNodesBuilder::get_s(RNNPointer i) const {
  return detail::with_typed_allocation([&] {
    const std::vector<Expression>& hidden = state_of(h, h0, i);
    std::vector<Expression> all = has_cells() ? state_of(c, c0, i) : std::vector<Expression>();
    all.insert(all.end(), hidden.begin(), hidden.end());
    return all;
  });
}

// ---- layers over the children's layers

void LayeredTreeBuilder::enter_graph(ComputationGraph& cg, bool update) {
  builders::add_parameters(cg, update, params, param_vars);
}

void LayeredTreeBuilder::start_tree(const std::vector<Expression>& h_0) {
  if (!h_0.empty()) {
    const bool is_ready = !param_vars.empty() && !param_vars[0].empty();
    builders::check_state(
        {name(), "the initial state", hid, is_ready ? param_vars[0][0].pg : nullptr, user_where},
        layers, has_cells() ? h_0.data() : nullptr, h_0.data() + (has_cells() ? layers : 0));
  }
  dropout_masks_valid = false;
}

unsigned LayeredTreeBuilder::num_h0_components() const { return (has_cells() ? 2 : 1) * layers; }

void LayeredTreeBuilder::copy(const RNNBuilder& other) {
  builders::share_parameters(name(), builders::check_kind(*this, other).params, params);
}

void LayeredTreeBuilder::set_dropout(float d) { set_dropout(d, d); }

void LayeredTreeBuilder::set_dropout(float d, float d_h) {
  builders::check_rate(name(), "d", d);
  builders::check_rate(name(), "of hidden states", d_h);
  dropout_rate = d;
  dropout_rate_h = d_h;
}

void LayeredTreeBuilder::disable_dropout() { set_dropout(0.0F); }

void LayeredTreeBuilder::set_dropout_masks(unsigned batch_size) {
  const detail::LocatedGraph cg(builders::graph_of(name(), param_vars), user_where);
  dropout_masks_valid = false;  // until all masks are there
  if (Evaluating::is_on()) {
    return;
  }
  builders::draw_masks(cg, param_vars, hid, batch_size, dropout_rate, {&dropout_rate_h, 1}, masks);
  dropout_masks_valid = true;
}

void LayeredTreeBuilder::add_node(const std::vector<int>& children, const Expression& x,
                                  std::vector<Expression>& new_h, std::vector<Expression>& new_c) {
  if (builders::drops({dropout_rate, dropout_rate_h}) &&
      !(dropout_masks_valid && builders::are_alive(masks))) {
    set_dropout_masks(x.dim().bd);
  }
  const auto mask = [&](const Expression& e, float rate, unsigned layer, std::size_t kind) {
    return builders::drops(rate) ? cmult(e, masks[layer][kind], user_where) : e;
  };
  const auto add_child = [&](unsigned layer, int id) {
    children_.push_back({has_cells() ? state_of(c, c0, id)[layer] : Expression(),
                         mask(state_of(h, h0, id)[layer], dropout_rate_h, layer, 1)});
  };
  Expression below = x;
  for (unsigned layer = 0; layer < layers; ++layer) {
    children_.clear();
    for (const int child : children) {
      add_child(layer, child);
    }
    if (children.empty() && has_initial_state) {
      add_child(layer, -1);
    }
    const LayerState now = add_layer(layer, mask(below, dropout_rate, layer, 0), children_);
    if (has_cells()) {
      new_c[layer] = now.c;
    }
    below = new_h[layer] = now.h;
  }
}

Expression LayeredTreeBuilder::sum_of_h(const std::vector<LayerState>& children) {
  if (children.size() == 1) {
    return children[0].h;
  }
  terms_.clear();
  for (const LayerState& child : children) {
    terms_.push_back(child.h);
  }
  return sum(terms_, user_where);
}

Expression LayeredTreeBuilder::behind_gates(const std::vector<LayerState>& children,
                                            Expression LayerState::* state, std::size_t first) {
  const Expression none;
  terms_.clear();
  for (std::size_t k = first; k < children.size(); k += 2) {
    const bool is_last = k + 1 == children.size();
    terms_.push_back(gated_sum(forget_[k], children[k].*state, is_last ? none : forget_[k + 1],
                               is_last ? none : children[k + 1].*state, user_where));
  }
  return terms_.size() > 1 ? sum(terms_, user_where) : terms_.empty() ? none : terms_[0];
}

LayeredTreeBuilder::LayerState LayeredTreeBuilder::close_cell(
    const Expression& i, const Expression& g, const Expression& o,
    const std::vector<LayerState>& children) {
  const Expression none;
  const bool has_pair = children.size() >= 2;
  const Expression further = behind_gates(children, &LayerState::c, has_pair ? 2 : 0);
  const auto [cell, hidden] = tree_lstm_step(
      i, o, g, has_pair ? forget_[0] : none, has_pair ? forget_[1] : none,
      has_pair ? children[0].c : none, has_pair ? children[1].c : none, further, user_where);
  return {cell, hidden};
}

}  // namespace dynet
