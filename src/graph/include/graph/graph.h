#pragma once

// The computation graph: nodes, their shapes, devices and keys. Computes nothing.
//
// In:  operations (records), arguments, payload, the place in the user's source.
// Out: nodes with shapes and keys; a Graph is what scheduling reads.
//
// A node is one record of 64 bytes in an array; argument lists and payload lie in a bump arena, and
// numbers of the program, which may be many, in another one that counts against the cap of memory.
// Attributes are not stored a node: they live in the interned *signature* (interner.h), which is
// found by content from (operation, attribute bytes, argument shapes, payload count) and holds what
// follows from these alone: the results' shapes and the *key*. Building a node whose signature was
// seen before is one hash probe and two compares; the shape rule runs for a new signature only.
//
// Steps of a layer have a dozen parameters each, the same ones again and again. The graph keeps
// them as lists (parameter_lists.h): whoever walks over nodes looks at a list once, and at each
// node only at its own arguments. A list also names a node that has it, and a step that is like
// this one in all but its own arguments takes its signature without a search.
//
// A node is on the device of its arguments; a parameter or lookup on that of its storage; any other
// node without arguments on the one that was given, else on the graph's own. to_device.h has the
// one operation that leads from device to device.
//
// Two nodes may run together exactly when their keys are equal (and neither depends on the other).
// A key holds the operation, the device, the attributes, the arguments' shapes without batch, which
// arguments have the batch and which have one example, and how many indices an example (or the
// node) has. An operation that mixes the examples of its batch has the batch in its key too. Which
// storage a weight is, is not in the key.
//
// Start reading at Graph::add. Surprising: an operation with several outputs makes that many
// consecutive nodes, the first computed, the others projections that alias its
// results; `owner` leads back. A failed add leaves the graph as it was.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dynet/devices.h"
#include "dynet/dim.h"
#include "dynet/ext/op.h"
#include "dynet/ext/payload.h"
#include "dynet/globals.h"

#include "graph/interner.h"
#include "graph/parameter_lists.h"
#include "params/held_memory.h"
#include "params/use_count.h"
#include "util/arena.h"
#include "util/index_table.h"
#include "util/stamped.h"

namespace dynet::graph {

/// In the arguments given to Graph::add: an optional one that the node does not have.
inline constexpr NodeId kAbsent = ~NodeId{0};

/// Payload of a node as stored: copied data lie in the graph's memory, a single number in the
/// payload itself. Never moves.
struct StoredPayload {
  const void* data = nullptr;
  void* storage = nullptr;         ///< parameter or lookup storage
  std::uint32_t storage_slot = 0;  ///< its index among the storages of this graph
  std::uint32_t count = 0;
  ext::NodePayload::Form form = ext::NodePayload::kNone;
  alignas(4) std::byte single[4] = {};
};

/// One cache line: every stage visits nodes in an order of its own.
struct alignas(64) Node {
  const Signature* signature = nullptr;  ///< operation, attributes, shapes, key
  const NodeId* args = nullptr;  ///< where it has projections, its own number lies before them
  const StoredPayload* payload = nullptr;  ///< null: none
  Where where;                             ///< in the user's source
  std::uint32_t arity = 0;
  std::uint32_t epoch = 0;
  std::uint32_t random_ordinal = 0;  ///< among all random nodes ever made in this graph
  std::uint32_t output = 0;          ///< 0, or the index of the output this projection stands for
  std::uint32_t examples = 0;        ///< that the result has
  /// The list of its parameters, where the first argument is one; kNone where it shares them with
  /// too few nodes.
  ParameterLists::Id parameters = ParameterLists::kNone;

  [[nodiscard]] const ext::Record& record() const { return *signature->record; }
  [[nodiscard]] const Device& device() const { return *signature->device; }
  [[nodiscard]] ShapeId shape() const { return signature->outputs[output]; }
  [[nodiscard]] std::span<const NodeId> arguments() const { return {args, arity}; }
  /// Does it have the same parameters as a node of its key, in the same places, as far as one list
  /// tells?
  [[nodiscard]] bool shares_parameters(const Node& other) const {
    return parameters == other.parameters && parameters != ParameterLists::kNone;
  }
  /// Calls `visit(a, args[a])` for the arguments that are not on its list of parameters.
  template <class Visit>
  [[gnu::always_inline]] void visit_own_arguments(Visit visit) const {
    if (parameters == ParameterLists::kNone) {
      for (std::uint32_t a = 0; a < arity; ++a) {
        visit(a, args[a]);
      }
      return;
    }
    for (std::uint64_t m = signature->own_args; m != 0; m &= m - 1) {
      const auto a = static_cast<std::uint32_t>(std::countr_zero(m));
      visit(a, args[a]);
    }
  }
};
static_assert(sizeof(Node) == 64);

/// One way in which the graph uses a parameter or a table: the nodes that read it trained or const,
/// as one tensor or by rows. A table that is used in two ways stands in two slots.
struct StorageUse {
  std::shared_ptr<void> storage;  ///< keeps it alive
  bool trainable;
  bool is_whole;        ///< as one tensor (a parameter node), not rows of it (a lookup)
  NodeId first;         ///< the first node of this kind made of it
  std::uint32_t nodes;  ///< how many there are
};

/// A model that the graph uses.
struct ModelUse {
  params::Usage* usage;       ///< kept alive by its storages
  std::size_t first_storage;  ///< the first one of it among the graph's
};

/// Nodes in the order they were made: arguments come before users. Invariant: every node's shape
/// and key are known. Thread rule: one thread at a time; an Interner belongs to one graph at a
/// time.
class Graph {
 public:
  explicit Graph(Interner& interner, const Device& device = *default_device)
      : interner_(interner), device_(&device) {}

  /// The device of nodes that nothing says anything else of.
  [[nodiscard]] const Device& device() const { return *device_; }
  /// There may be no nodes.
  void set_device(const Device& device) { device_ = &device; }

  /// Appends a node (and its projections). Optional arguments may be kAbsent, or left out at the
  /// end: the node lists only those that are there. `device`: where a node without arguments is to
  /// be, or, of kToDevice, where its argument is copied to; null: as said above. Throws ShapeError,
  /// ValueError, IndexError, SizeError or DeviceError before anything is changed. Returns the id of
  /// output 0.
  NodeId add(const ext::Record& record, const void* op, std::span<const NodeId> args,
             const ext::NodePayload& payload, const Where& where, std::uint32_t epoch,
             const Device* device = nullptr);

  [[nodiscard]] NodeId size() const { return static_cast<NodeId>(nodes_.size()); }
  [[nodiscard]] const Node& operator[](NodeId n) const { return nodes_[n]; }
  /// Is there a node `n`, and was it made in this epoch?
  [[nodiscard]] bool has(NodeId n, std::uint32_t epoch) const { return epochs().has(n, epoch); }
  /// For loops that ask `has` of several nodes: two numbers that stay in registers. Valid until a
  /// node is added or removed.
  class Epochs {
   public:
    [[nodiscard]] bool has(NodeId n, std::uint32_t epoch) const {
      return n < size_ && nodes_[n].epoch == epoch;
    }

   private:
    friend Graph;
    Epochs(const Node* nodes, NodeId size) : nodes_(nodes), size_(size) {}
    const Node* nodes_;
    NodeId size_;
  };
  [[nodiscard]] Epochs epochs() const { return {nodes_.data(), size()}; }
  [[nodiscard]] const Dim& dim(NodeId n) const { return interner_.shape(nodes_[n].shape()); }
  [[nodiscard]] std::span<const NodeId> args(NodeId n) const { return nodes_[n].arguments(); }
  /// Calls `visit(argument)` for the arguments of a node, for those on its list of parameters only
  /// where the list is not in `seen` so far.
  template <class Visit>
  [[gnu::always_inline]] void visit_unseen_arguments(const Node& node, util::Stamped<bool>& seen,
                                                     Visit visit) const {
    node.visit_own_arguments([visit](std::uint32_t, NodeId a) { visit(a); });
    if (node.parameters != ParameterLists::kNone && !seen[node.parameters]) {
      seen.set(node.parameters, true);
      for (const NodeId a : parameter_lists_[node.parameters]) {
        visit(a);
      }
    }
  }
  /// The node that computes `n`: itself, or the first output where `n` is a projection.
  [[nodiscard]] NodeId owner(NodeId n) const { return n - nodes_[n].output; }
  /// Number of examples that the node's result has.
  [[nodiscard]] std::int64_t examples(NodeId n) const { return nodes_[n].examples; }
  /// Elements of one example of the result.
  [[nodiscard]] std::int64_t example_size(NodeId n) const {
    return interner_.size(nodes_[n].shape());
  }
  /// Bytes of one example of the result.
  [[nodiscard]] std::int64_t example_bytes(NodeId n) const {
    return interner_.bytes(nodes_[n].shape());
  }
  /// Elements of the result.
  [[nodiscard]] std::int64_t elements(NodeId n) const { return example_size(n) * examples(n); }
  /// Bytes of the result.
  [[nodiscard]] std::int64_t bytes(NodeId n) const { return example_bytes(n) * examples(n); }
  /// For a parameter or lookup node: does its gradient go to the storage (it is not the const
  /// form)?
  [[nodiscard]] bool is_trainable(NodeId n) const;
  /// What tells shared operands apart: the storage of a parameter (and whether it is trained
  /// through this node), else the node.
  [[nodiscard]] std::uint64_t identity(NodeId n) const;
  [[nodiscard]] const std::vector<StorageUse>& storages() const { return storages_; }
  /// The models whose storages the graph uses.
  [[nodiscard]] const std::vector<ModelUse>& models() const { return models_; }
  /// What nodes share parameters by.
  [[nodiscard]] const ParameterLists& parameter_lists() const { return parameter_lists_; }
  [[nodiscard]] Interner& interner() const { return interner_; }

  /// The unsigned indices of a node's payload, read through its pointer now. IndexError where one
  /// is not below the limit, ValueError where a vector behind a pointer changed its length.
  [[nodiscard]] std::span<const unsigned> indices(NodeId n) const;
  [[nodiscard]] std::span<const float> values(NodeId n) const;
  /// The payload of a node for another one, without a storage: what was given by pointer is given
  /// by that pointer again. Refers to the graph's memory.
  [[nodiscard]] ext::NodePayload payload(NodeId n) const;
  /// Node `n`, the last one, draws what node `like` of the same operation draws.
  void draw_as(NodeId n, NodeId like) {
    nodes_[n].random_ordinal = nodes_[like].random_ordinal;
    --random_nodes_;
  }
  /// How many random nodes have draws of their own: the ordinal of the next random node.
  [[nodiscard]] std::uint32_t draws() const { return random_nodes_; }
  /// After a call that failed: the next random node has this ordinal, which draws() was before the
  /// call. Nobody may use random nodes of the failed call.
  void take_back_draws(std::uint32_t before) { random_nodes_ = std::min(random_nodes_, before); }
  /// The exclusive bound of the indices of a node whose operation has one.
  [[nodiscard]] unsigned index_limit(NodeId n) const;
  /// Overwrites the `count` indices or values that were copied into node `n`. ValueError where the
  /// node has none or another number of them, IndexError; then nothing was changed.
  void replace_payload(NodeId n, ext::Payload kind, const void* data, std::size_t count);

  /// Removes all nodes. Memory is kept for the next ones.
  void clear();
  /// Gives the memory that counts against the cap back to the system where it is more than
  /// `keep_bytes`. There may be no nodes.
  void give_back(std::size_t keep_bytes) {
    if (numbers_.capacity() > keep_bytes) {
      numbers_.give_back();
    }
  }
  /// A position to come back to.
  struct Mark {
    NodeId nodes;
    util::Arena::Mark arena;
    util::Arena::Mark numbers;
    std::size_t storages;
    std::uint32_t parameter_lists;
  };
  [[nodiscard]] Mark mark() const {
    return {size(), arena_.mark(), numbers_.mark(), storages_.size(), parameter_lists_.size()};
  }
  void revert(const Mark& mark);

  /// "node 17, tanh(n16) {4}x8, built at train.cc:42".
  [[nodiscard]] std::string describe(NodeId n) const;
  /// "tanh(n16)" with attributes.
  [[nodiscard]] std::string call_text(NodeId n) const;
  /// DOT text of all nodes.
  [[nodiscard]] std::string to_dot() const;

 private:
  const Node* find_like(const ext::Record& record, const void* op, std::span<const NodeId> args,
                        std::uint32_t payload_count, const Device* device) const;
  [[nodiscard]] bool has_like_arguments(const Node& like, std::span<const NodeId> args) const;
  void set_signature(Node& node, const ext::Record& record, const void* op,
                     std::span<const NodeId> args, NodeId* to, std::uint32_t payload_count,
                     const Device* device);
  void list_optional_shapes(std::span<const NodeId> args, ShapeId* to) const;
  void fill(Node& node, const ext::Record& record, const void* op, std::span<const NodeId> args,
            const ext::NodePayload& payload, const Device* device);
  void add_projections(NodeId parent);
  const void* copy_numbers(const ext::NodePayload& payload, const Signature& signature);
  const StoredPayload* store_payload(const ext::NodePayload& payload, NodeId node,
                                     const Signature& signature);
  std::uint32_t storage_slot(const std::shared_ptr<void>& storage, const Signature& signature,
                             NodeId node);
  static std::uint64_t storage_hash(const void* storage, bool trainable, bool is_whole);
  void remove_last_storage();
  void use_model_of(void* storage);
  [[nodiscard]] unsigned index_limit(const Signature& signature) const;
  void check_indices(const Signature& signature, const void* storage,
                     std::span<const unsigned> indices) const;
  [[nodiscard]] const void* payload_data(NodeId n) const;

  [[nodiscard]] const Device& device_of_leaf(const ext::NodePayload& payload) const;

  Interner& interner_;
  const Device* device_;
  std::vector<Node> nodes_;
  util::Arena arena_;
  util::Arena numbers_{params::kHeldMemory};  ///< copied payload of several numbers
  ParameterLists parameter_lists_;
  std::vector<StorageUse> storages_;
  std::vector<ModelUse> models_;
  util::IndexTable storage_table_;  ///< over storages_
  std::uint32_t random_nodes_ = 0;
};

/// "file.cc:42", or what the resolver makes of a code object.
[[nodiscard]] std::string place_text(const Where& where);
/// "\n  built at file.cc:42", the last line of a message about a node; empty where that is unknown.
[[nodiscard]] std::string built_at(const Where& where);

}  // namespace dynet::graph
