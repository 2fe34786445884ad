#include "execute/device_copies.h"

#include <algorithm>

#include "dynet/ext/kernels.h"
#include "dynet/ext/memory.h"

namespace dynet::execute {
namespace {

void convert(const void* from, ext::Number number, void* to, std::int64_t elements) {
  if (number == ext::Number::kFloat) {
    std::copy_n(static_cast<const float*>(from), elements, static_cast<double*>(to));
  } else {
    std::transform(static_cast<const double*>(from), static_cast<const double*>(from) + elements,
                   static_cast<float*>(to), [](double x) { return static_cast<float>(x); });
  }
}

}  // namespace

class DeviceCopies::Joiner {
 public:
  Joiner(DeviceCopies& copies, const Device& from, const Device& to)
      : copies_(copies), from_(from), to_(to) {}

  void add(const Run& run) {
    if (run_.elements != 0 && run.fresh == run_.fresh &&
        run.from == run_.from + run_.elements * from_.number_bytes() &&
        run.to == run_.to + run_.elements * to_.number_bytes()) {
      run_.elements += run.elements;
      return;
    }
    finish();
    run_ = run;
  }
  void finish() {
    if (run_.elements == 0) {
      return;
    }
    if (run_.fresh) {
      copies_.copy(from_, run_.from, to_, run_.to, run_.elements);
    } else {
      copies_.add(from_, run_.from, to_, run_.to, run_.elements);
    }
  }

 private:
  DeviceCopies& copies_;
  const Device& from_;
  const Device& to_;
  Run run_;
};

void DeviceCopies::forward(std::span<const NodeId> members) {
  const graph::Graph& graph = context_.graph;
  const graph::Signature& signature = *graph[members[0]].signature;
  Joiner joiner(*this, *signature.from, *signature.device);
  for (const NodeId m : members) {
    joiner.add({static_cast<const std::byte*>(values_.at(graph.args(m)[0])),
                static_cast<std::byte*>(values_.at(m)), graph.elements(m), true});
  }
  joiner.finish();
}

void DeviceCopies::backward(std::span<const NodeId> active) {
  const graph::Graph& graph = context_.graph;
  const graph::Signature& signature = *graph[active[0]].signature;
  Joiner joiner(*this, *signature.device, *signature.from);
  for (const NodeId m : active) {
    const NodeId argument = graph.args(m)[0];
    if (!gradients_.needs(argument)) {
      continue;
    }
    const auto* from = static_cast<const std::byte*>(gradients_.ensure(m));
    const Gradients::Target to = gradients_.target(gradients_.owner(argument));
    gradients_.finish_pieces();
    joiner.add({from, static_cast<std::byte*>(to.data), graph.elements(m), to.fresh});
  }
  joiner.finish();
}

void DeviceCopies::copy(const Device& from, const void* data, const Device& to, void* out,
                        std::int64_t elements) {
  const auto read_bytes = static_cast<std::size_t>(elements * from.number_bytes());
  if (from.number() == to.number()) {
    from.memory->copy_to(data, *to.memory, out, read_bytes);
    return;
  }
  if (!from.is_host_visible()) {
    read_.resize(read_bytes);
    from.memory->copy_out(data, read_.data(), read_.size());
    data = read_.data();
  }
  if (to.is_host_visible()) {
    convert(data, from.number(), out, elements);
    return;
  }
  converted_.resize(static_cast<std::size_t>(elements * to.number_bytes()));
  convert(data, from.number(), converted_.data(), elements);
  to.memory->copy_in(converted_.data(), out, converted_.size());
}

void DeviceCopies::add(const Device& from, const void* data, const Device& to, void* out,
                       std::int64_t elements) {
  memory_.begin_call(*to.memory);
  void* const there = memory_.take(elements * to.number_bytes());
  copy(from, data, to, there, elements);
  to.kernels->add_scaled(1.0, there, out, elements, false);
  memory_.end_call();
}

}  // namespace dynet::execute
