#include "api/cell_reader.h"

#include <algorithm>
#include <cstring>

#include "dynet/except.h"
#include "dynet/ops/shape.h"

namespace dynet::api {

using graph::NodeId;
using ops::ValueId;

namespace {

std::shared_ptr<const std::byte> copied(const void* op, std::size_t bytes) {
  auto* const copy = new std::byte[std::max<std::size_t>(bytes, 1)];
  std::memcpy(copy, op, bytes);
  return {copy, [](const std::byte* p) { delete[] p; }};
}

}  // namespace

CellReader::CellReader(std::string name, const graph::Graph& graph, std::vector<bool> weights)
    : name_(std::move(name)),
      graph_(graph),
      values_(graph.size(), ops::kNoValue),
      placeholders_(weights.size()) {
  content_.program.name = name_;
  content_.program.weights = std::move(weights);
}

void CellReader::refuse(NodeId n, const std::string& why) const {
  throw errors::UsageError("cell(" + name_ + "): " + why + "\n  " + graph_.describe(n));
}

/// Refuses a node that is no step of a program.
void CellReader::check(NodeId n) const {
  const graph::Node& node = graph_[n];
  const ext::Record& record = node.record();
  const std::string operation(record.info->name);
  if (record.reads_storage == ext::Storage::kRows) {
    refuse(n, "its function looks up a row; want the lookup outside, and the row as an argument");
  }
  if (record.payload_is_value) {
    refuse(n, "its function makes an input of numbers; want it outside, as an argument");
  }
  if (record.random) {
    refuse(n, operation +
                  " draws random numbers, new ones for each call; want it outside of the "
                  "cell, or the function called without a cell");
  }
  const bool is_reshape = &record == &ext::kRecord<ops::Reshape>;
  if (node.signature->from != nullptr) {
    refuse(n, "its function copies to another device; want the copy outside");
  }
  if (record.has_whole && !(is_reshape && graph_.dim(n).bd == graph_.dim(node.args[0]).bd)) {
    refuse(n, operation + " mixes the examples of a batch; want it outside of the cell");
  }
  if (node.arity == 0 && graph_.dim(n).bd != 1) {
    refuse(n, operation + " makes a batch; want it outside, as an argument");
  }
  if (node.payload != nullptr && node.payload->form != ext::NodePayload::kCopied &&
      node.payload->form != ext::NodePayload::kNone) {
    refuse(n, operation + " reads numbers behind a pointer; want them by value");
  }
  if (node.payload != nullptr && record.payload == ext::Payload::kIndices &&
      node.signature->indices_each != 0 &&
      node.signature->indices_each != node.signature->payload_count) {
    refuse(n, operation + " has indices for each example; want it outside of the cell");
  }
}

/// The first results of all nodes that the results need, by node.
std::vector<bool> CellReader::needed(const std::vector<NodeId>& results) const {
  std::vector<bool> is_needed(graph_.size());
  for (const NodeId n : results) {
    is_needed[graph_.owner(n)] = true;
  }
  for (NodeId n = graph_.size(); n-- > 0;) {
    for (const NodeId a : is_needed[n] ? graph_.args(n) : std::span<const NodeId>()) {
      is_needed[graph_.owner(a)] = true;
    }
  }
  return is_needed;
}

void CellReader::add_value(const Dim& dim) { content_.program.dims.push_back(dim.single_batch()); }

void CellReader::read_parameters(const std::vector<bool>& needed) {
  for (NodeId n = 0; n < placeholders_; ++n) {
    values_[n] = n;
    add_value(graph_.dim(n));
  }
  for (auto n = static_cast<NodeId>(placeholders_); n < graph_.size(); ++n) {
    const graph::Node& node = graph_[n];
    if (!needed[n] || node.record().reads_storage != ext::Storage::kWhole) {
      continue;
    }
    const auto same = [&](const ReadParameter& p) {
      return p.storage.get() == node.payload->storage && p.op.trainable == graph_.is_trainable(n);
    };
    auto& all = content_.parameters;
    const auto found = std::find_if(all.begin(), all.end(), same);
    values_[n] =
        static_cast<ValueId>(placeholders_ + static_cast<std::size_t>(found - all.begin()));
    if (found == all.end()) {
      all.push_back({graph_.storages()[node.payload->storage_slot].storage,
                     *static_cast<const ops::Parameter*>(node.signature->op),
                     {}});
      add_value(graph_.dim(n));
      content_.program.weights.push_back(true);
    }
  }
}

/// The values of all arguments of an operation, absent ones included.
std::vector<ValueId> CellReader::arguments_of(const graph::Node& node) const {
  const graph::Signature& signature = *node.signature;
  std::vector<ValueId> args(signature.absent == 0 ? node.arity : signature.arity, ops::kNoValue);
  for (std::uint32_t i = 0; i < node.arity; ++i) {
    args[signature.argument(i)] = values_[node.args[i]];
  }
  return args;
}

/// For one example of all arguments, also if calls of the node see columns.
std::vector<Dim> CellReader::saved_shapes_of(const graph::Node& node) const {
  const graph::Signature& signature = *node.signature;
  const ext::Record& record = *signature.record;
  std::vector<Dim> saved(signature.saved, signature.saved + record.saved);
  if (signature.cut != 0 && record.saved != 0) {
    std::vector<Dim> dims;
    for (const NodeId a : node.arguments()) {
      dims.push_back(graph_.dim(a).single_batch());
    }
    record.saved_shapes(signature.op, ext::Shapes(*record.info, dims, 1, signature.payload_count),
                        saved.data());
  }
  return saved;
}

void CellReader::add_step(NodeId n) {
  const graph::Node& node = graph_[n];
  const ext::Record& record = node.record();
  ops::ProgramStep step;
  step.record = &record;
  step.op = copied(node.signature->op, record.op_bytes);
  if (&record == &ext::kRecord<ops::Reshape>) {  // the same program for all sizes of batches
    const ops::Reshape op{graph_.dim(n).single_batch()};
    step.op = copied(&op, sizeof op);
  }
  step.args = arguments_of(node);
  step.first = static_cast<ValueId>(content_.program.dims.size());
  step.absent = node.signature->absent;
  if (node.payload != nullptr && record.payload == ext::Payload::kIndices) {
    const std::span<const unsigned> all = graph_.indices(n);
    step.indices.assign(all.begin(), all.end());
  } else if (node.payload != nullptr && record.payload == ext::Payload::kValues) {
    const std::span<const float> all = graph_.values(n);
    step.values.assign(all.begin(), all.end());
  }
  step.saved = saved_shapes_of(node);
  for (std::uint32_t k = 0; k < record.outputs; ++k) {
    values_[n + k] = step.first + k;
    add_value(graph_.dim(n + k));
  }
  content_.program.steps.push_back(std::move(step));
}

/// The steps of a cell within the cell.
void CellReader::add_steps_of(NodeId n, const ops::Program& program) {
  const ops::ProgramContent& inner = program.content();
  std::vector<ValueId> values(inner.dims.size());
  for (std::size_t a = 0; a < inner.arguments(); ++a) {
    values[a] = values_[graph_[n].args[a]];
  }
  for (ops::ProgramStep step : inner.steps) {
    for (ValueId& a : step.args) {
      a = a == ops::kNoValue ? a : values[a];
    }
    for (std::uint32_t k = 0; k < step.record->outputs; ++k) {
      values[step.first + k] = static_cast<ValueId>(content_.program.dims.size());
      add_value(inner.dims[step.first + k]);
    }
    step.first = values[step.first];
    content_.program.steps.push_back(std::move(step));
  }
  for (std::size_t k = 0; k < inner.results.size(); ++k) {
    values_[n + k] = values[inner.results[k]];
  }
}

CellContent CellReader::read(const std::vector<NodeId>& results) {
  const std::vector<bool> is_needed = needed(results);
  read_parameters(is_needed);
  for (auto n = static_cast<NodeId>(placeholders_); n < graph_.size(); ++n) {
    if (!is_needed[n] || graph_[n].output != 0 ||
        graph_[n].record().reads_storage == ext::Storage::kWhole) {
      continue;
    }
    if (const auto* program = ops::program_of(graph_[n].record(), graph_[n].signature->op);
        program != nullptr) {
      add_steps_of(n, *program);
    } else {
      check(n);
      add_step(n);
    }
  }
  for (const NodeId n : results) {
    content_.program.results.push_back(values_[n]);
  }
  return std::move(content_);
}

}  // namespace dynet::api
