#include <algorithm>
#include <array>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "dynet/evaluating.h"
#include "dynet/except.h"
#include "dynet/rnn.h"

#include "builders/builder_support.h"
#include "graph/graph.h"
#include "util/reserve.h"

namespace dynet {

using builders::check_count;
using builders::check_rate;
using builders::check_step;

namespace detail {

void StepMemory::keep(std::vector<std::vector<Expression>>& steps, std::size_t count) noexcept {
  try {
    spare_.reserve(spare_.size() + steps.size() - std::min(steps.size(), count));
  } catch (const std::bad_alloc&) {  // no room for the steps: their memory is given back
    steps.resize(std::min(steps.size(), count));
  }
  while (steps.size() > count) {
    // The states of a tree's node that was never added are empty.
    if (!steps.back().empty() && spare_.size() < spare_.capacity()) {
      spare_.push_back(std::move(steps.back()));
    }
    steps.pop_back();
  }
}

std::vector<Expression> StepMemory::take(std::size_t size) {
  std::vector<Expression> step;
  if (!spare_.empty()) {
    step = std::move(spare_.back());
    spare_.pop_back();
  }
  step.assign(size, Expression());
  return step;
}

}  // namespace detail

// ---- graphs and sequences

void LayeredRNNBuilder::new_graph_impl(ComputationGraph& cg, bool update) {
  builders::add_parameters(cg, update, params, param_vars);
}

void LayeredRNNBuilder::start_new_sequence_impl(const std::vector<Expression>& h_0) {
  if (!h_0.empty()) {
    check_count(name(),
                has_cells() ? "the initial state (cells, then hidden states)" : "the initial state",
                h_0.size(), num_h0_components());
  }
  const std::size_t cell_count = has_cells() ? h_0.size() / 2 : 0;
  if (!h_0.empty()) {
    check_state("the initial state", has_cells() ? h_0.data() : nullptr, h_0.data() + cell_count);
  }
  const std::vector<Expression> vectors = builders::as_vectors(h_0, user_where);
  c0.reserve(cell_count);
  h0.reserve(h_0.size() - cell_count);
  LayeredRNNBuilder::forget_impl(0);
  // Nothing throws below this line.
  has_initial_state = !h_0.empty();
  const auto middle = vectors.begin() + static_cast<std::ptrdiff_t>(cell_count);
  c0.assign(vectors.begin(), middle);
  h0.assign(middle, vectors.end());
  dropout_masks_valid = false;
}

bool LayeredRNNBuilder::forget_impl(std::size_t count) {
  memory_h_.keep(h, count);
  memory_c_.keep(c, count);
  return true;
}

ComputationGraph& LayeredRNNBuilder::graph() const {
  return builders::graph_of(name(), param_vars);
}

void LayeredRNNBuilder::copy(const RNNBuilder& other) {
  builders::share_parameters(name(), builders::check_kind(*this, other).params, params);
}

// ---- dropout

void LayeredRNNBuilder::set_dropout(float d) { set_dropout(d, d); }

void LayeredRNNBuilder::set_dropout(float d, float d_h) {
  check_rate(name(), "d", d);
  check_rate(name(), "of hidden states", d_h);
  dropout_rate = d;
  dropout_rate_h = d_h;
}

void LayeredRNNBuilder::disable_dropout() { set_dropout(0.0F); }

void LayeredRNNBuilder::set_dropout_masks(unsigned batch_size) {
  const detail::LocatedGraph cg(graph(), user_where);
  const std::array rates{dropout_rate_h, cell_rate()};
  dropout_masks_valid = false;  // until all masks are there
  if (Evaluating::is_on()) {
    return;
  }
  builders::draw_masks(cg, param_vars, hid, batch_size, dropout_rate,
                       std::span(rates).first(cell_rate() < 0.0F ? 1 : 2), masks);
  dropout_masks_valid = true;
}

Expression LayeredRNNBuilder::layer_input(unsigned layer, const Expression& below,
                                          const Expression& /*x*/) {
  return builders::drops(dropout_rate) ? cmult(below, masks[layer][0], user_where) : below;
}

// ---- steps

/// Adds the whole step or nothing.
void LayeredRNNBuilder::push(std::vector<Expression>&& new_h, std::vector<Expression>&& new_c) {
  util::reserve_more(h, 1);
  util::reserve_more(c, has_cells() ? 1 : 0);
  h.push_back(std::move(new_h));
  if (has_cells()) {
    c.push_back(std::move(new_c));
  }
}

/// Accepts any matrix: the cells check it, and some read its columns.
void LayeredRNNBuilder::check_input(const Expression& x) const {
  const Dim& dim = builders::dim_of(x, user_where, [this] { return std::string(name()) + ": x"; });
  if (layers > 0 && (dim.nd > 2 || dim.rows() != input_dim)) {
    builders::fail_input(name(), dim, input_dim, user_where);
  }
}

unsigned LayeredRNNBuilder::check_state(const char* what, const Expression* cell_states,
                                        const Expression* hidden_states) const {
  if (layers == 0) {
    throw errors::StateError(std::string(name()) + ": " + what + " of a builder without layers" +
                             graph::built_at(user_where));
  }
  const bool is_ready = !param_vars.empty() && !param_vars[0].empty();
  return builders::check_state(
      {name(), what, hid, is_ready ? param_vars[0][0].pg : nullptr, user_where}, layers,
      cell_states, hidden_states);
}

/// Called after an operation refused a step, so that good steps need no checks. Throws, in the
/// builder's words, if the program's input or state does not fit.
void LayeredRNNBuilder::explain_failure(int prev, const Expression& x) const {
  const Dim& dim = x.dim();
  if (!builders::is_column(dim, input_dim)) {
    builders::fail_input(name(), dim, input_dim, user_where);
  }
  if (prev >= 0 || has_initial_state) {
    const unsigned examples = check_state(
        "the state before", has_cells() ? cells(prev).data() : nullptr, hidden(prev).data());
    builders::check_examples(name(), dim.bd, "the state", examples, user_where);
  }
  if (builders::drops({dropout_rate, dropout_rate_h, cell_rate()}) && dropout_masks_valid &&
      !masks.empty()) {
    builders::check_examples(name(), dim.bd, "the dropout masks", masks[0][0].dim().bd, user_where);
  }
}

void LayeredRNNBuilder::begin_steps(const Expression& x) {
  check_input(x);
  if (has_masks() && builders::drops({dropout_rate, dropout_rate_h, cell_rate()}) &&
      !(dropout_masks_valid && builders::are_alive(masks))) {
    set_dropout_masks(x.dim().bd);
  }
}

Expression LayeredRNNBuilder::add_input_impl(int prev, const Expression& x) {
  begin_steps(x);
  detail::RepeatableDraws draws(x.pg);  // of this step alone; masks stay
  const bool cells_too = has_cells();
  const bool is_first = prev < 0 && !has_initial_state;
  const std::vector<Expression>& old_h = hidden(prev);
  const std::vector<Expression>& old_c = cells_too ? cells(prev) : c0;
  std::vector<Expression> new_h = memory_h_.take(layers);
  std::vector<Expression> new_c = cells_too ? memory_c_.take(layers) : std::vector<Expression>();
  Expression below = x;
  LayerState before;
  try {
    for (unsigned layer = 0; layer < layers; ++layer) {
      if (!is_first) {
        before.h = builders::drops(dropout_rate_h)
                       ? cmult(old_h[layer], masks[layer][1], user_where)
                       : old_h[layer];
        if (cells_too) {
          before.c = old_c[layer];
        }
      }
      const LayerState now =
          add_layer(layer, layer_input(layer, below, x), is_first ? nullptr : &before);
      if (cells_too) {
        new_c[layer] = now.c;
      }
      below = new_h[layer] = now.h;
    }
  } catch (const errors::ShapeError&) {
    explain_failure(prev, x);
    throw;
  }
  const Expression output = returned(layers == 0 ? x : output_of(new_h));
  push(std::move(new_h), std::move(new_c));
  draws.keep();
  return output;
}

namespace {

const Expression* data_or_null(const std::vector<Expression>& of) {
  return of.empty() ? nullptr : of.data();
}

}  // namespace

Expression LayeredRNNBuilder::old_or_zeros(const std::vector<Expression>& of,
                                           unsigned layer) const {
  return of.empty() ? zeros({graph(), user_where}, {hid}) : of[layer];
}

Expression LayeredRNNBuilder::set_h_impl(int prev, const std::vector<Expression>& h_new) {
  check_count(name(), "the new hidden state", h_new.size(), layers);
  check_state("the new state", has_cells() ? data_or_null(cells(prev)) : nullptr, h_new.data());
  const std::vector<Expression> vectors = builders::as_vectors(h_new, user_where);
  std::vector<Expression> new_h = memory_h_.take(layers);
  std::vector<Expression> new_c = has_cells() ? memory_c_.take(layers) : std::vector<Expression>();
  for (unsigned layer = 0; layer < layers; ++layer) {
    new_h[layer] = vectors[layer];
    if (has_cells()) {
      new_c[layer] = old_or_zeros(cells(prev), layer);
    }
  }
  const Expression output = output_of(new_h);
  push(std::move(new_h), std::move(new_c));
  return output;
}

Expression LayeredRNNBuilder::set_s_impl(int prev, const std::vector<Expression>& s_new) {
  if (!has_cells()) {
    return set_h_impl(prev, s_new);
  }
  if (s_new.size() != layers) {
    check_count(name(), "the new state (cells, or cells and hidden states)", s_new.size(),
                num_h0_components());
  }
  const bool only_cells = s_new.size() == layers;
  check_state("the new state", s_new.data(),
              only_cells ? data_or_null(hidden(prev)) : s_new.data() + layers);
  const std::vector<Expression> vectors = builders::as_vectors(s_new, user_where);
  std::vector<Expression> new_h = memory_h_.take(layers);
  std::vector<Expression> new_c = memory_c_.take(layers);
  for (unsigned layer = 0; layer < layers; ++layer) {
    new_c[layer] = vectors[layer];
    new_h[layer] = only_cells ? old_or_zeros(hidden(prev), layer) : vectors[layers + layer];
  }
  const Expression output = output_of(new_h);
  push(std::move(new_h), std::move(new_c));
  return output;
}

// ---- states

const std::vector<Expression>& LayeredRNNBuilder::hidden(RNNPointer i) const {
  check_step(name(), i, h.size());
  return i < 0 ? h0 : h[static_cast<std::size_t>(i)];
}

const std::vector<Expression>& LayeredRNNBuilder::cells(RNNPointer i) const {
  check_step(name(), i, c.size());
  return i < 0 ? c0 : c[static_cast<std::size_t>(i)];
}

Expression LayeredRNNBuilder::back() const {
  const std::vector<Expression>& now = hidden(cur);
  if (now.empty()) {
    throw errors::StateError(std::string(name()) +
                             ": back before the first input, without an initial state");
  }
  return output_of(now);
}

std::vector<Expression> LayeredRNNBuilder::final_h() const {
  return get_h(static_cast<RNNPointer>(h.size()) - 1);
}
std::vector<Expression> LayeredRNNBuilder::get_h(RNNPointer i) const {
  return detail::with_typed_allocation([&] { return hidden(i); });
}

std::vector<Expression> LayeredRNNBuilder::final_s() const {
  return get_s(static_cast<RNNPointer>(h.size()) - 1);
}

std::vector<Expression> LayeredRNNBuilder::get_s(RNNPointer i) const {
  return detail::with_typed_allocation([&] {
    const std::vector<Expression>& hs = hidden(i);
    if (!has_cells()) {
      return hs;
    }
    std::vector<Expression> s = cells(i);
    s.insert(s.end(), hs.begin(), hs.end());
    return s;
  });
}

unsigned LayeredRNNBuilder::num_h0_components() const { return (has_cells() ? 2 : 1) * layers; }

}  // namespace dynet
