#include "dynet/expr/leaves.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>

#include "dynet/dynet.h"
#include "dynet/except.h"
#include "dynet/ext/add_node.h"
#include "dynet/ops/input.h"
#include "dynet/ops/random.h"

#include "api/functions.h"
#include "api/graph_state.h"
#include "util/scratch.h"

namespace dynet {

namespace {

using detail::LocatedGraph;
using ext::NodePayload;

template <class Op>
Expression add_source(const Op& op, const LocatedGraph& g, const Device* device,
                      const NodePayload& payload = {}) {
  return ext::add_node(op, g, payload, device);
}

/// A handle's storage as the graph keeps it. (Not get_storage(): that makes gradients dense.)
/// StateError for a handle that no collection made.
template <class Handle>
std::shared_ptr<void> storage_of(const Handle& handle, const char* name) {
  if (handle.p == nullptr) {
    throw errors::StateError(std::string(name) +
                             ": the parameter is unset; collections make parameters");
  }
  return handle.p;
}

Expression add_parameter(const LocatedGraph& g, const Dim& dim, bool trainable,
                         const std::shared_ptr<void>& storage) {
  NodePayload payload;
  payload.storage = &storage;
  return ext::add_node(ops::Parameter{dim, trainable}, g, payload);
}

Expression add_lookup(const LocatedGraph& g, const LookupParameter& p, bool trainable,
                      NodePayload payload) {
  const std::shared_ptr<void> storage = storage_of(p, "lookup");
  payload.storage = &storage;
  return ext::add_node(ops::Lookup{p.p->dim, trainable}, g, payload);
}

/// A dense input made of few numbers; its memory is kept for the thread's next input.
std::span<float> scratch(std::int64_t elements, float value) {
  thread_local util::Scratch memory;
  const auto count = static_cast<std::size_t>(elements);
  float* const first = detail::with_typed_allocation([&] { return memory.get(count); });
  const std::span<float> numbers(first, count);
  std::fill(numbers.begin(), numbers.end(), value);
  return numbers;
}

[[noreturn]] void fail_position(const char* name, unsigned at, std::int64_t limit,
                                const LocatedGraph& g) {
  throw errors::IndexError(std::string(name) + ": position " + std::to_string(at) +
                           "; want less than " + std::to_string(limit) + graph::built_at(g.where));
}

Expression add_one_hot(const LocatedGraph& g, const Dim& dim, const unsigned* ids,
                       const Device* device) {
  const std::span<float> numbers = scratch(dim.elements(), 0.0F);
  for (unsigned example = 0; example < dim.bd; ++example) {
    if (ids[example] >= dim.d[0]) {
      fail_position("one_hot", ids[example], dim.d[0], g);
    }
    numbers[std::size_t{example} * dim.d[0] + ids[example]] = 1.0F;
  }
  return add_source(ops::Input{dim}, g, device, NodePayload::of(std::span<const float>(numbers)));
}

}  // namespace

Expression input(const LocatedGraph& g, real s, Device* device) {
  return add_source(ops::Input{Dim({1})}, g, device, NodePayload::of(s));
}
Expression input(const LocatedGraph& g, detail::Pointer<real> ps, Device* device) {
  return add_source(ops::Input{Dim({1})}, g, device,
                    NodePayload::of(api::pointee(ps, "input", "ps")));
}
Expression input(const LocatedGraph& g, const Dim& d, const std::vector<float>& data,
                 Device* device) {
  return add_source(ops::Input{d}, g, device, NodePayload::of(data));
}
Expression input(const LocatedGraph& g, const Dim& d, detail::Pointer<std::vector<float>> pdata,
                 Device* device) {
  return add_source(ops::Input{d}, g, device,
                    NodePayload::of(api::pointee(pdata, "input", "pdata")));
}
Expression input(const LocatedGraph& g, const Dim& d, const std::vector<unsigned>& ids,
                 const std::vector<float>& data, float defdata, Device* device) {
  if (ids.size() != data.size()) {
    throw errors::ValueError("input: " + std::to_string(ids.size()) + " positions and " +
                             std::to_string(data.size()) + " numbers; want as many of each");
  }
  const std::int64_t elements = d.elements();
  const std::span<float> numbers = scratch(elements, defdata);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= elements) {
      fail_position("input", ids[i], elements, g);
    }
    numbers[ids[i]] = data[i];
  }
  return add_source(ops::Input{d}, g, device, NodePayload::of(std::span<const float>(numbers)));
}

Expression one_hot(const LocatedGraph& g, unsigned d, unsigned idx, Device* device) {
  return add_one_hot(g, Dim({d}), &idx, device);
}
Expression one_hot(const LocatedGraph& g, unsigned d, const std::vector<unsigned>& ids,
                   Device* device) {
  if (ids.empty()) {
    throw errors::ValueError("one_hot: the list of positions is empty");
  }
  const ext::Count examples = static_cast<std::int64_t>(ids.size());
  return add_one_hot(g, Dim({d}, to_extent(examples, "one_hot: the number of positions")),
                     ids.data(), device);
}

Expression parameter(const LocatedGraph& g, const Parameter& p) {
  const std::shared_ptr<void> storage = storage_of(p, "parameter");
  return add_parameter(g, p.p->dim, true, storage);
}
Expression parameter(const LocatedGraph& g, const LookupParameter& lp) {
  const std::shared_ptr<void> storage = storage_of(lp, "parameter");
  return add_parameter(g, lp.p->all_dim, true, storage);
}
Expression const_parameter(const LocatedGraph& g, const Parameter& p) {
  const std::shared_ptr<void> storage = storage_of(p, "const_parameter");
  return add_parameter(g, p.p->dim, false, storage);
}
Expression const_parameter(const LocatedGraph& g, const LookupParameter& lp) {
  const std::shared_ptr<void> storage = storage_of(lp, "const_parameter");
  return add_parameter(g, lp.p->all_dim, false, storage);
}

Expression lookup(const LocatedGraph& g, const LookupParameter& p, unsigned index) {
  return add_lookup(g, p, true, NodePayload::of(index));
}
Expression lookup(const LocatedGraph& g, const LookupParameter& p,
                  detail::Pointer<unsigned> pindex) {
  return add_lookup(g, p, true, NodePayload::of(api::pointee(pindex, "lookup", "pindex")));
}
Expression lookup(const LocatedGraph& g, const LookupParameter& p,
                  const std::vector<unsigned>& indices) {
  return add_lookup(g, p, true, NodePayload::of(indices));
}
Expression lookup(const LocatedGraph& g, const LookupParameter& p,
                  detail::Pointer<std::vector<unsigned>> pindices) {
  return add_lookup(g, p, true, NodePayload::of(api::pointee(pindices, "lookup", "pindices")));
}

Expression const_lookup(const LocatedGraph& g, const LookupParameter& p, unsigned index) {
  return add_lookup(g, p, false, NodePayload::of(index));
}
Expression const_lookup(const LocatedGraph& g, const LookupParameter& p,
                        detail::Pointer<unsigned> pindex) {
  return add_lookup(g, p, false, NodePayload::of(api::pointee(pindex, "const_lookup", "pindex")));
}
Expression const_lookup(const LocatedGraph& g, const LookupParameter& p,
                        const std::vector<unsigned>& indices) {
  return add_lookup(g, p, false, NodePayload::of(indices));
}
Expression const_lookup(const LocatedGraph& g, const LookupParameter& p,
                        detail::Pointer<std::vector<unsigned>> pindices) {
  return add_lookup(g, p, false,
                    NodePayload::of(api::pointee(pindices, "const_lookup", "pindices")));
}

Expression zeros(const LocatedGraph& g, const Dim& d, Device* device) {
  return add_source(ops::Constant{d, 0.0F}, g, device);
}
Expression zeroes(const LocatedGraph& g, const Dim& d, Device* device) {
  return zeros(g, d, device);
}
Expression ones(const LocatedGraph& g, const Dim& d, Device* device) {
  return add_source(ops::Constant{d, 1.0F}, g, device);
}
Expression constant(const LocatedGraph& g, const Dim& d, float val, Device* device) {
  return add_source(ops::Constant{d, val}, g, device);
}

Expression random_normal(const LocatedGraph& g, const Dim& d, float mean, float stddev,
                         Device* device) {
  return add_source(ops::RandomNormal{d, mean, stddev}, g, device);
}
Expression random_bernoulli(const LocatedGraph& g, const Dim& d, real p, real scale,
                            Device* device) {
  return add_source(ops::RandomBernoulli{d, p, scale}, g, device);
}
Expression random_gumbel(const LocatedGraph& g, const Dim& d, real mu, real beta, Device* device) {
  return add_source(ops::RandomGumbel{d, mu, beta}, g, device);
}
Expression random_uniform(const LocatedGraph& g, const Dim& d, real left, real right,
                          Device* device) {
  return add_source(ops::RandomUniform{d, left, right}, g, device);
}

}  // namespace dynet
