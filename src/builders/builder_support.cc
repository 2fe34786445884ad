#include "builders/builder_support.h"

#include "dynet/except.h"
#include "dynet/ext/add_node.h"
#include "dynet/ops/linear.h"

namespace dynet::builders {

void check_rate(const char* builder, const char* name, float rate) {
  if (!(rate >= 0.0F && rate <= 1.0F)) {
    throw ValueError(std::string(builder) + ": dropout rate " + name + " is " +
                     std::to_string(rate) + "; want 0 to 1");
  }
}

void check_count(const char* builder, const char* what, std::size_t given, std::size_t wanted) {
  if (given != wanted) {
    throw ValueError(std::string(builder) + ": " + what + " has " + std::to_string(given) +
                     " expressions; want " + std::to_string(wanted));
  }
}

unsigned gate_rows(const char* builder, unsigned count, unsigned hidden) {
  return to_extent(ext::Count(count) * hidden, std::string(builder) + ": a parameter has {" +
                                                   std::to_string(count) + "h} rows, h is " +
                                                   std::to_string(hidden));
}

void check_step(const char* builder, RNNPointer i, std::size_t steps) {
  if (i < -1 || i >= static_cast<RNNPointer>(steps)) {
    throw IndexError(std::string(builder) + ": step " + std::to_string(i) + " of " +
                     std::to_string(steps) + "; want -1 to " +
                     std::to_string(static_cast<RNNPointer>(steps) - 1));
  }
}

void add_parameters(ComputationGraph& cg, bool update,
                    const std::vector<std::vector<Parameter>>& params,
                    std::vector<std::vector<Expression>>& vars) {
  vars.resize(params.size());
  for (std::size_t layer = 0; layer < params.size(); ++layer) {
    vars[layer].clear();
    for (const Parameter& p : params[layer]) {
      vars[layer].push_back(update ? parameter(cg, p) : const_parameter(cg, p));
    }
  }
}

void share_parameters(const char* builder, const std::vector<std::vector<Parameter>>& from,
                      std::vector<std::vector<Parameter>>& to) {
  const auto fail = [&](const std::string& what) {
    throw ValueError(std::string(builder) + ": cannot copy a builder with other " + what);
  };
  if (from.size() != to.size()) {
    fail("layers: " + std::to_string(from.size()) + ", not " + std::to_string(to.size()));
  }
  for (std::size_t layer = 0; layer < from.size(); ++layer) {
    if (from[layer].size() != to[layer].size()) {
      fail("parameters");
    }
    for (std::size_t i = 0; i < from[layer].size(); ++i) {
      const Dim theirs = from[layer][i].dim();
      const Dim ours = to[layer][i].dim();
      if (theirs != ours) {
        fail("shapes: " + to_string(theirs) + ", not " + to_string(ours));
      }
    }
  }
  to = from;
}

Expression Affine::build(Where where) const {
  return ext::add_node(ops::AffineTransform{}, {list_, count_}, where);
}

Expression add_mask(ComputationGraph& cg, unsigned size, unsigned batch_size, float rate) {
  const float kept = 1.0F - rate;
  return random_bernoulli(cg, Dim({size}, batch_size), kept, kept > 0.0F ? 1.0F / kept : 0.0F);
}

}  // namespace dynet::builders
