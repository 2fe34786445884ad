#include "dynet/builder-parameters.h"
#include "dynet/except.h"

#include "builders/builder_support.h"

namespace dynet::detail {

BuilderParameters::BuilderParameters(const char* builder_name, const char* name,
                                     ParameterCollection& model)
    : builder(builder_name), collection(model.add_subcollection(name)), is_made_(true) {}

void BuilderParameters::add(const Dim& d, const char* name, const ParameterInit& init) {
  params.push_back(collection.add_parameters(d, init, name));
}

void BuilderParameters::new_graph(ComputationGraph& cg, bool update) {
  if (!is_made_) {
    throw errors::StateError(at("new_graph") +
                             "it was made by the default constructor; want one with sizes");
  }
  std::vector<Expression> made;
  detail::with_typed_allocation([&] { made.reserve(params.size()); });
  const LocatedGraph at(cg, Where());
  for (const Parameter& p : params) {
    made.push_back(update ? parameter(at, p) : const_parameter(at, p));
  }
  nodes = std::move(made);
  graph = &cg;
}

void BuilderParameters::check(const char* call, std::initializer_list<Expression> used,
                              Where where) const {
  if (graph == nullptr) {
    throw errors::StateError(at(call) + "before new_graph");
  }
  for (const Expression& e : used) {
    const Dim& dim = builders::dim_of(e, where, [&] { return std::string(builder) + ": " + call; });
    if (e.pg != graph) {
      throw errors::GraphError(at(call) + "a node " + to_string(dim) +
                               " of another graph than the one that new_graph was given");
    }
  }
}

void BuilderParameters::share(const BuilderParameters& other) {
  std::vector<std::vector<Parameter>> ours{params};
  builders::share_parameters(builder, {other.params}, ours);
  params = ours[0];
}

std::string BuilderParameters::at(const char* call) const {
  return std::string(builder) + ": " + call + ": ";
}

}  // namespace dynet::detail
