#include "graph/graph.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "params/gradient.h"
#include "util/reserve.h"

namespace dynet::graph {
namespace {

constexpr std::size_t kNumberBytes = 4;  // of one in a payload
static_assert(sizeof(unsigned) == kNumberBytes && sizeof(float) == kNumberBytes);
constexpr std::uint32_t kNoOrdinal = ~std::uint32_t{0};

/// The same error, with the place of the node that was being built.
template <class E>
[[noreturn]] void throw_located(const E& e, const Where& where) {
  throw E(e.what() + built_at(where));
}

/// The error being handled; with the place, if the program made the mistake.
[[noreturn, gnu::noinline]] void rethrow_located(const Where& where) {
  try {
    throw;
  } catch (const errors::ShapeError& e) {
    throw_located(e, where);
  } catch (const errors::IndexError& e) {
    throw_located(e, where);
  } catch (const errors::ValueError& e) {
    throw_located(e, where);
  } catch (const errors::SizeError& e) {
    throw_located(e, where);
  } catch (const errors::DeviceError& e) {
    throw_located(e, where);
  } catch (const out_of_memory& e) {
    throw_located(e, where);
  }
}

/// Is a storage trained through nodes of this signature?
bool is_trainable_op(const Signature& signature) {
  const ext::Record& record = *signature.record;
  return record.trainable != nullptr && record.trainable(signature.op);
}

[[gnu::noinline]] std::uint32_t remove_absent(NodeId* args, std::uint32_t count) {
  return static_cast<std::uint32_t>(std::remove(args, args + count, kAbsent) - args);
}

/// Most nodes have so few arguments that a call of memmove would cost more than the copy.
inline void copy(std::span<const NodeId> from, NodeId* to) {
  switch (from.size()) {
    case 0:
      return;
    case 2:
      to[1] = from[1];
      [[fallthrough]];
    case 1:
      to[0] = from[0];
      return;
    default:
      std::copy(from.begin(), from.end(), to);
  }
}

std::uint32_t payload_vector_size(const ext::Record& record, const void* vector) {
  return static_cast<std::uint32_t>(record.payload == ext::Payload::kIndices
                                        ? static_cast<const std::vector<unsigned>*>(vector)->size()
                                        : static_cast<const std::vector<float>*>(vector)->size());
}

/// The payload of a node with a pointer to lists, in the graph's memory: the `numbers` of the last
/// reading follow, list after list.
struct Lists {
  const std::vector<std::vector<unsigned>>* lists;
  std::size_t count, length;  ///< of the lists when the node was built

  unsigned* numbers() { return reinterpret_cast<unsigned*>(this + 1); }
  [[nodiscard]] bool is_as_built() const {
    return lists->size() == count && std::all_of(lists->begin(), lists->end(),
                                                 [&](const auto& l) { return l.size() == length; });
  }
};

}  // namespace

NodeId Graph::add(const ext::Record& record, const void* op, std::span<const NodeId> args,
                  const ext::NodePayload& payload, const Where& where, std::uint32_t epoch,
                  const Device* device) {
  const util::Arena::Mark before = arena_.mark();
  const util::Arena::Mark numbers_before = numbers_.mark();
  const NodeId id = size();
  util::reserve_more(nodes_, record.outputs);
  Node& node = nodes_.emplace_back();  // filled in place: copying fresh bytes would stall
  try {
    fill(node, record, op, args, payload, device);
  } catch (...) {
    nodes_.pop_back();
    arena_.release(before);
    numbers_.release(numbers_before);
    rethrow_located(where);
  }
  // Nothing throws below this line.
  node.where = where;
  node.epoch = epoch;
  node.random_ordinal = record.random ? random_nodes_++ : kNoOrdinal;
  if (record.outputs > 1) [[unlikely]] {
    add_projections(id);
  }
  return id;
}

/// Looks for an earlier node with the operation, payload count, parameters and shapes of the node
/// being added. Returns null if the shortcut finds none. The steps of a layer begin with the same
/// parameter; so most steps find the step before, and nothing is looked up.
inline const Node* Graph::find_like(const ext::Record& record, const void* op,
                                    std::span<const NodeId> args, std::uint32_t payload_count,
                                    const Device* device) const {
  auto list = args.empty() ? ParameterLists::kNone : parameter_lists_.newest(args[0]);
  for (; list != ParameterLists::kNone; list = parameter_lists_.before(list)) {
    const NodeId id = parameter_lists_.example(list);
    if (id >= size() - 1) {
      continue;
    }
    const Node& like = nodes_[id];  // or the node that took the example's number
    const Signature& signature = *like.signature;
    if (signature.record == &record && like.arity == args.size() &&
        like.parameters != ParameterLists::kNone && !record.has_optional &&
        signature.payload_count == payload_count && signature.given_device == device &&
        (record.attr_bytes == 0 || has_attributes(signature, op)) &&
        has_like_arguments(like, args)) {
      return &like;
    }
  }
  return nullptr;
}

/// Has `like` the same parameters in the same places, and beside them arguments of these shapes?
inline bool Graph::has_like_arguments(const Node& like, std::span<const NodeId> args) const {
  const Signature& signature = *like.signature;
  for (std::uint32_t a = 0; a < like.arity; ++a) {
    if (args[a] != like.args[a] && (((signature.parameters >> a) & 1) != 0 ||
                                    nodes_[args[a]].shape() != signature.arg_shapes[a])) {
      return false;
    }
  }
  return true;
}

/// Signature, arguments and parameters of the last node. `to` has room for the arguments.
inline void Graph::set_signature(Node& node, const ext::Record& record, const void* op,
                                 std::span<const NodeId> args, NodeId* to,
                                 std::uint32_t payload_count, const Device* device) {
  node.args = to;
  node.arity = static_cast<std::uint32_t>(args.size());
  if (const Node* like = find_like(record, op, args, payload_count, device); like != nullptr) {
    node.signature = like->signature;
    node.parameters = like->parameters;
    copy(args, to);
    return;
  }
  // The room for the arguments holds the arguments' shapes first.
  static_assert(std::is_same_v<NodeId, ShapeId>);
  if (record.has_optional) [[unlikely]] {
    list_optional_shapes(args, to);
  } else {
    for (std::size_t a = 0; a < args.size(); ++a) {
      to[a] = nodes_[args[a]].shape();
    }
  }
  const Signature& signature =
      interner_.signature(record, op, {to, args.size()}, payload_count, device);
  node.signature = &signature;
  copy(args, to);
  if (signature.absent != 0) [[unlikely]] {
    node.arity = remove_absent(to, node.arity);
  }
  if ((signature.parameters & 1) != 0) {
    node.parameters = parameter_lists_.find(to, signature.parameters);
    if (node.parameters != ParameterLists::kNone) {
      parameter_lists_.set_example(node.parameters, size() - 1);
    }
  }
}

/// The steps of adding a node that may fail: signature, arguments and payload of the last node.
inline void Graph::fill(Node& node, const ext::Record& record, const void* op,
                        std::span<const NodeId> args, const ext::NodePayload& payload,
                        const Device* device) {
  if (args.empty() && device == nullptr) {
    device = &device_of_leaf(payload);
  }
  const std::size_t own = record.outputs > 1 ? 1 : 0;  // its number is the argument of projections
  auto* stored_args = static_cast<NodeId*>(arena_.allocate((own + args.size()) * sizeof(NodeId)));
  if (own != 0) [[unlikely]] {
    *stored_args++ = size() - 1;
  }
  set_signature(node, record, op, args, stored_args, payload.count, device);
  const Signature& signature = *node.signature;
  node.examples = signature.batch;
  if (payload.form != ext::NodePayload::kNone || payload.storage != nullptr) {
    if (record.payload == ext::Payload::kIndices && payload.form == ext::NodePayload::kCopied) {
      check_indices(signature, payload.storage != nullptr ? payload.storage->get() : nullptr,
                    {static_cast<const unsigned*>(payload.data), payload.count});
    }
    node.payload = store_payload(payload, size() - 1, signature);
  }
}

/// Not inline, as few operations have such arguments.
[[gnu::noinline]] void Graph::list_optional_shapes(std::span<const NodeId> args,
                                                   ShapeId* to) const {
  for (const NodeId arg : args) {
    *to++ = arg == kAbsent ? interner_.absent() : nodes_[arg].shape();
  }
}

/// A parameter's numbers lie in the memory of its own device.
const Device& Graph::device_of_leaf(const ext::NodePayload& payload) const {
  return payload.storage == nullptr ? *device_
                                    : *params::storage_base(payload.storage->get()).device;
}

/// The further results of the last node, whose one argument is that node. There is room for them.
[[gnu::noinline]] void Graph::add_projections(NodeId parent) {
  const std::uint32_t outputs = nodes_[parent].record().outputs;
  for (std::uint32_t k = 1; k < outputs; ++k) {
    Node& node = nodes_.emplace_back();
    const Node& of = nodes_[parent];
    node.signature = of.signature;
    node.args = of.args - 1;
    node.where = of.where;
    node.arity = 1;
    node.examples = interner_.shape(node.signature->outputs[k]).bd;
    node.epoch = of.epoch;
    node.random_ordinal = kNoOrdinal;
    node.output = k;
  }
}

/// The copy's memory counts against the cap, and may be refused.
const void* Graph::copy_numbers(const ext::NodePayload& payload, const Signature& signature) {
  const std::size_t bytes = payload.count * kNumberBytes;
  try {
    void* copy = numbers_.allocate(bytes);
    if (payload.count != 0) {
      std::memcpy(copy, payload.data, bytes);
    }
    return copy;
  } catch (const out_of_memory& e) {
    throw out_of_memory(std::string(e.what()) + "\n  for " + std::to_string(bytes) +
                        " bytes: " + std::string(signature.record->info->payload) + " of " +
                        std::string(signature.record->info->name) + ' ' +
                        to_string(interner_.shape(signature.outputs[0])));
  }
}

/// Registers the storage last, because registering cannot be undone.
const StoredPayload* Graph::store_payload(const ext::NodePayload& payload, NodeId node,
                                          const Signature& signature) {
  auto* stored = new (arena_.allocate(sizeof(StoredPayload))) StoredPayload();
  stored->form = payload.form;
  stored->count = payload.count;
  stored->data = payload.data;
  if (payload.form == ext::NodePayload::kCopied) {
    if (payload.count == 1) {
      std::memcpy(stored->single, payload.data, kNumberBytes);
      stored->data = stored->single;
    } else {
      stored->data = copy_numbers(payload, signature);
    }
  }
  if (payload.form == ext::NodePayload::kLists) {
    const auto* lists = static_cast<const std::vector<std::vector<unsigned>>*>(payload.data);
    void* room = arena_.allocate(sizeof(Lists) + std::size_t{payload.count} * sizeof(unsigned));
    stored->data =
        new (room) Lists{lists, lists->size(), lists->empty() ? 0 : lists->front().size()};
  }
  if (payload.storage != nullptr) {
    stored->storage = payload.storage->get();
    stored->storage_slot = storage_slot(*payload.storage, signature, node);
  }
  return stored;
}

std::uint32_t Graph::storage_slot(const std::shared_ptr<void>& storage, const Signature& signature,
                                  NodeId node) {
  const bool trainable = is_trainable_op(signature);
  const bool is_whole = signature.record->reads_storage == ext::Storage::kWhole;
  const std::uint64_t hash = storage_hash(storage.get(), trainable, is_whole);
  const std::uint32_t found = storage_table_.find(hash, [&](std::uint32_t i) {
    const StorageUse& use = storages_[i];
    return use.storage.get() == storage.get() && use.trainable == trainable &&
           use.is_whole == is_whole;
  });
  if (found != util::IndexTable::kNone) {
    ++storages_[found].nodes;
    return found;
  }
  const auto slot = static_cast<std::uint32_t>(storages_.size());
  util::reserve_more(storages_, 1);
  storage_table_.reserve();
  use_model_of(storage.get());
  storage_table_.insert(hash, slot);
  storages_.push_back({storage, trainable, is_whole, node, 1});
  return slot;
}

std::uint64_t Graph::storage_hash(const void* storage, bool trainable, bool is_whole) {
  return ((reinterpret_cast<std::uintptr_t>(storage) >> 4) + (trainable ? 1 : 0) +
          (is_whole ? 2 : 0)) *
             0x9E3779B97F4A7C15ULL >>
         20;
}

void Graph::remove_last_storage() {
  const StorageUse& use = storages_.back();
  storage_table_.remove(storage_hash(use.storage.get(), use.trainable, use.is_whole),
                        static_cast<std::uint32_t>(storages_.size() - 1));
  storages_.pop_back();
  if (models_.back().first_storage == storages_.size()) {
    models_.pop_back();
  }
}

/// Notes the model of a storage that is about to be added.
void Graph::use_model_of(void* storage) {
  params::Usage& usage = params::usage_of(params::storage_base(storage));
  const bool is_known = std::any_of(models_.rbegin(), models_.rend(),
                                    [&](const ModelUse& m) { return m.usage == &usage; });
  if (!is_known) {
    models_.push_back({&usage, storages_.size()});
  }
}

bool Graph::is_trainable(NodeId n) const { return is_trainable_op(*nodes_[n].signature); }

std::uint64_t Graph::identity(NodeId n) const {
  const Node& node = nodes_[n];
  if (node.record().reads_storage == ext::Storage::kWhole) {
    return reinterpret_cast<std::uint64_t>(node.payload->storage) | (is_trainable(n) ? 0U : 1U);
  }
  return (std::uint64_t{1} << 63) | n;
}

unsigned Graph::index_limit(const Signature& signature) const {
  const ext::Record& record = *signature.record;
  Dim dims[ext::kMaxArgs];
  const std::size_t count = std::min<std::size_t>(signature.arity, ext::kMaxArgs);
  for (std::size_t a = 0; a < count; ++a) {
    dims[a] = interner_.shape(signature.arg_shapes[a]);
    if (!record.has_whole && !ext::is_absent(dims[a])) {
      dims[a].bd = 1;
    }
  }
  return record.index_limit(signature.op, ext::Shapes(*record.info, {dims, count}, signature.batch,
                                                      signature.payload_count));
}

unsigned Graph::index_limit(NodeId n) const { return index_limit(*nodes_[n].signature); }

void Graph::check_indices(const Signature& signature, const void* storage,
                          std::span<const unsigned> indices) const {
  const ext::Record& record = *signature.record;
  unsigned limit = 0;
  if (record.reads_storage == ext::Storage::kRows) {
    limit = params::lookup_storage(storage).rows();
  } else if (record.index_limit != nullptr) {
    limit = index_limit(signature);
  } else {
    return;
  }
  for (const unsigned index : indices) {
    if (index >= limit) {
      throw errors::IndexError(
          std::string(record.info->name) + ": " +
          std::string(record.info->payload.empty() ? "index" : record.info->payload) + " is " +
          std::to_string(index) + "; want less than " + std::to_string(limit));
    }
  }
}

const void* Graph::payload_data(NodeId n) const {
  const StoredPayload& p = *nodes_[n].payload;
  const ext::Record& record = nodes_[n].record();
  if (p.form == ext::NodePayload::kLists) {
    auto& read = *static_cast<Lists*>(const_cast<void*>(p.data));  // the graph's own memory
    if (!read.is_as_built()) {
      throw errors::ValueError(
          std::string(record.info->name) + ": the lists behind the pointer are no " +
          std::to_string(read.count) + " of " + std::to_string(read.length) +
          " elements; want what they were when the node was built\n  " + describe(n));
    }
    unsigned* to = read.numbers();
    for (const std::vector<unsigned>& list : *read.lists) {
      to = std::copy(list.begin(), list.end(), to);
    }
    return read.numbers();
  }
  if (p.form != ext::NodePayload::kVector) {
    return p.data;
  }
  const std::uint32_t now = payload_vector_size(record, p.data);
  if (now != p.count) {
    throw errors::ValueError(std::string(record.info->name) +
                             ": the vector behind the pointer has " + std::to_string(now) +
                             " elements; want the " + std::to_string(p.count) +
                             " it had when the node was built\n  " + describe(n));
  }
  return record.payload == ext::Payload::kIndices
             ? static_cast<const void*>(static_cast<const std::vector<unsigned>*>(p.data)->data())
             : static_cast<const void*>(static_cast<const std::vector<float>*>(p.data)->data());
}

std::span<const unsigned> Graph::indices(NodeId n) const {
  const StoredPayload& p = *nodes_[n].payload;
  const std::span<const unsigned> all{static_cast<const unsigned*>(payload_data(n)), p.count};
  if (p.form != ext::NodePayload::kCopied) {
    try {
      check_indices(*nodes_[n].signature, p.storage, all);
    } catch (const errors::IndexError& e) {
      throw_located(e, nodes_[n].where);
    }
  }
  return all;
}

std::span<const float> Graph::values(NodeId n) const {
  return {static_cast<const float*>(payload_data(n)), nodes_[n].payload->count};
}

ext::NodePayload Graph::payload(NodeId n) const {
  ext::NodePayload again;
  if (const StoredPayload* p = nodes_[n].payload; p != nullptr) {
    again.form = p->form;
    again.count = p->count;
    again.data =
        p->form == ext::NodePayload::kLists ? static_cast<const Lists*>(p->data)->lists : p->data;
  }
  return again;
}

void Graph::replace_payload(NodeId n, ext::Payload kind, const void* data, std::size_t count) {
  const Node& node = nodes_[n];
  const std::string name(node.record().info->name);
  if (node.record().payload != kind || node.payload == nullptr ||
      node.payload->form != ext::NodePayload::kCopied) {
    throw errors::ValueError(name + ": the node holds no " +
                             (kind == ext::Payload::kIndices ? "indices" : "numbers") +
                             " that can be set\n  " + describe(n));
  }
  if (node.payload->count != count) {
    throw errors::ValueError(name + ": given " + std::to_string(count) + "; want " +
                             std::to_string(node.payload->count) +
                             ", as when the node was built\n  " + describe(n));
  }
  if (kind == ext::Payload::kIndices) {
    check_indices(*node.signature, node.payload->storage,
                  {static_cast<const unsigned*>(data), count});
  }
  // Copied payloads lie in this graph's own memory.
  std::memcpy(const_cast<void*>(node.payload->data), data, count * sizeof(unsigned));
}

void Graph::clear() {
  nodes_.clear();
  arena_.reset();
  numbers_.reset();
  parameter_lists_.shrink(0);
  storages_.clear();
  models_.clear();
  storage_table_.clear();
  random_nodes_ = 0;
}

void Graph::revert(const Mark& mark) {
  for (NodeId n = mark.nodes; n < size(); ++n) {
    const StoredPayload* p = nodes_[n].payload;
    if (p != nullptr && p->storage != nullptr) {
      --storages_[p->storage_slot].nodes;
    }
  }
  nodes_.resize(mark.nodes);
  arena_.release(mark.arena);
  numbers_.release(mark.numbers);
  parameter_lists_.shrink(mark.parameter_lists);
  while (storages_.size() > mark.storages) {
    remove_last_storage();
  }
}

}  // namespace dynet::graph
