#include "builders/builder_support.h"

#include <algorithm>

#include "dynet/except.h"
#include "dynet/expr/shape.h"
#include "dynet/ext/add_node.h"
#include "dynet/ops/linear.h"

#include "api/graph_state.h"
#include "graph/graph.h"
#include "util/number_text.h"

namespace dynet::builders {

void fail_stale(const Expression& e, const std::string& user, Where where) {
  try {
    api::checked_node(e, user);
  } catch (const errors::StaleExpression& error) {
    throw errors::StaleExpression(error.what() + graph::built_at(where));
  }
  throw errors::StaleExpression(user + ": the expression is stale" + graph::built_at(where));
}

void check_share(const char* builder, const std::string& what, float share) {
  if (!(share >= 0.0F && share <= 1.0F)) {
    throw errors::ValueError(std::string(builder) + ": " + what + " is " + util::text_of(share) +
                             "; want 0 to 1");
  }
}

void check_epsilon(const char* builder, const char* name, float epsilon) {
  if (!(epsilon >= 0.0F)) {
    throw errors::ValueError(std::string(builder) + ": " + name + " is " + util::text_of(epsilon) +
                             "; want at least 0");
  }
}

void check_rate(const char* builder, const char* name, float rate) {
  check_share(builder, std::string("dropout rate ") + name, rate);
}

void check_count(const char* builder, const char* what, std::size_t given, std::size_t wanted) {
  if (given != wanted) {
    throw errors::ValueError(std::string(builder) + ": " + what + " has " + std::to_string(given) +
                             " expressions; want " + std::to_string(wanted));
  }
}

void fail_input(const char* builder, const Dim& x, unsigned rows, Where where) {
  throw errors::ShapeError(std::string(builder) + ": x is " + to_string(x) + "; want " +
                           to_string(Dim({rows})) + graph::built_at(where));
}

namespace {

/// "GRUBuilder: h of layer 0 of the initial state".
std::string part_text(const GivenState& given, char part, unsigned layer) {
  return std::string(given.builder) + ": " + part + " of layer " + std::to_string(layer) + " of " +
         given.what;
}

/// Looks at one expression. `batch`: examples of those before it, and of it afterwards.
void check_part(const GivenState& given, char part, unsigned layer, const Expression& e,
                unsigned& batch) {
  if (e.is_stale()) {
    fail_stale(e, part_text(given, part, layer), given.where);
  }
  if (given.graph != nullptr && e.pg != given.graph) {
    throw errors::GraphError(part_text(given, part, layer) +
                             " is a node of another graph than the one that new_graph was given" +
                             graph::built_at(given.where));
  }
  const Dim& dim = e.dim();
  if (!is_column(dim, given.rows)) {
    throw errors::ShapeError(part_text(given, part, layer) + " is " + to_string(dim) + "; want " +
                             to_string(Dim({given.rows})) + graph::built_at(given.where));
  }
  if (dim.bd != 1 && batch != 1 && dim.bd != batch) {
    throw errors::ShapeError(part_text(given, part, layer) + " has " + std::to_string(dim.bd) +
                             " examples, and another part of it " + std::to_string(batch) +
                             "; want equal numbers, or 1" + graph::built_at(given.where));
  }
  batch = std::max(batch, dim.bd);
}

}  // namespace

unsigned check_state(const GivenState& given, unsigned layers, const Expression* cells,
                     const Expression* hidden) {
  unsigned batch = 1;
  for (unsigned layer = 0; layer < layers && cells != nullptr; ++layer) {
    check_part(given, 'c', layer, cells[layer], batch);
  }
  for (unsigned layer = 0; layer < layers && hidden != nullptr; ++layer) {
    check_part(given, 'h', layer, hidden[layer], batch);
  }
  return batch;
}

std::vector<Expression> as_vectors(const std::vector<Expression>& states, Where where) {
  std::vector<Expression> all = states;
  for (Expression& e : all) {
    const Dim& dim = e.dim();
    if (dim.nd != 1) {
      e = reshape(e, Dim({dim.rows()}, dim.bd), where);
    }
  }
  return all;
}

void check_examples(const char* builder, unsigned x, const char* what, unsigned others,
                    Where where) {
  if (x != others && x != 1 && others != 1) {
    throw errors::ShapeError(std::string(builder) + ": x has " + std::to_string(x) +
                             " examples and " + what + " " + std::to_string(others) +
                             "; want equal numbers, or 1" + graph::built_at(where));
  }
}

void fail_kind(const char* builder) {
  throw errors::ValueError(std::string(builder) + ": can copy only a " + builder);
}

unsigned gate_rows(const char* builder, unsigned count, unsigned hidden) {
  return to_extent(ext::Count(count) * hidden, std::string(builder) + ": a parameter has {" +
                                                   std::to_string(count) + "h} rows, h is " +
                                                   std::to_string(hidden));
}

unsigned sum_of_sizes(const char* builder, unsigned input, unsigned hidden) {
  return to_extent(ext::Count(input) + hidden,
                   std::string(builder) + ": a parameter has {in+h} columns, in is " +
                       std::to_string(input) + " and h is " + std::to_string(hidden));
}

std::vector<Parameter> make_standard_layer(ParameterCollection& model, unsigned rows, unsigned in,
                                           unsigned hidden) {
  return {model.add_parameters({rows, in}), model.add_parameters({rows, hidden}),
          model.add_parameters({rows}, ParameterInitConst(0.0F))};
}

void fail_step(const char* builder, RNNPointer i, std::size_t steps) {
  const std::string step = std::string(builder) + ": step " + std::to_string(i);
  throw errors::IndexError(steps == 0
                               ? step + ", and there are none yet; want -1, the initial state"
                               : step + " of " + std::to_string(steps) + "; want -1 to " +
                                     std::to_string(steps - 1));
}

void add_parameters(ComputationGraph& cg, bool update,
                    const std::vector<std::vector<Parameter>>& params,
                    std::vector<std::vector<Expression>>& vars) {
  const detail::LocatedGraph at(cg, Where());
  vars.resize(params.size());
  for (std::size_t layer = 0; layer < params.size(); ++layer) {
    vars[layer].clear();
    for (const Parameter& p : params[layer]) {
      vars[layer].push_back(update ? parameter(at, p) : const_parameter(at, p));
    }
  }
}

ComputationGraph& graph_of(const char* builder, const std::vector<std::vector<Expression>>& vars) {
  if (vars.empty() || vars[0].empty()) {
    throw errors::StateError(std::string(builder) + ": used before new_graph");
  }
  if (vars[0][0].is_stale()) {
    throw errors::StaleExpression(
        std::string(builder) + ": the graph of the last new_graph is gone; call new_graph first");
  }
  return *vars[0][0].pg;
}

namespace {

Dim whole_shape(const Parameter& p) { return p.dim(); }
Dim whole_shape(const LookupParameter& p) { return p.get_storage().all_dim; }

}  // namespace

template <class Handle>
void share_parameters(const char* builder, const std::vector<std::vector<Handle>>& from,
                      std::vector<std::vector<Handle>>& to) {
  const auto fail = [&](const std::string& what) {
    throw errors::ValueError(std::string(builder) + ": cannot copy a builder with other " + what);
  };
  if (from.size() != to.size()) {
    fail("layers: " + std::to_string(from.size()) + ", not " + std::to_string(to.size()));
  }
  for (std::size_t layer = 0; layer < from.size(); ++layer) {
    if (from[layer].size() != to[layer].size()) {
      fail("parameters");
    }
    for (std::size_t i = 0; i < from[layer].size(); ++i) {
      const Dim theirs = whole_shape(from[layer][i]);
      const Dim ours = whole_shape(to[layer][i]);
      if (theirs != ours) {
        fail("shapes: " + to_string(theirs) + ", not " + to_string(ours));
      }
    }
  }
  to = from;
}
template void share_parameters(const char*, const std::vector<std::vector<Parameter>>&,
                               std::vector<std::vector<Parameter>>&);
template void share_parameters(const char*, const std::vector<std::vector<LookupParameter>>&,
                               std::vector<std::vector<LookupParameter>>&);

Expression Affine::build(Where where) const {
  return ext::add_node(ops::AffineTransform{}, {list_, count_}, where);
}

void draw_masks(const detail::LocatedGraph& cg,
                const std::vector<std::vector<Expression>>& param_vars, unsigned hid,
                unsigned batch_size, float rate, std::span<const float> state_rates,
                std::vector<std::vector<Expression>>& masks) {
  const auto mask = [&](unsigned size, float dropped) {
    const float kept = 1.0F - dropped;
    return random_bernoulli(cg, Dim({size}, batch_size), kept, kept > 0.0F ? 1.0F / kept : 0.0F);
  };
  detail::RepeatableDraws draws(param_vars[0][0].pg);
  detail::with_typed_allocation([&] {
    masks.resize(param_vars.size());
    for (std::size_t layer = 0; layer < masks.size(); ++layer) {
      masks[layer].clear();
      masks[layer].push_back(mask(param_vars[layer][0].dim().cols(), rate));
      for (const float state_rate : state_rates) {
        masks[layer].push_back(mask(hid, state_rate));
      }
    }
  });
  draws.keep();
}

}  // namespace dynet::builders
