#pragma once

// The computation graph: nodes, their shapes, devices and keys. Computes nothing.
//
// In:  operations (records), arguments, payload, the place in the user's source.
// Out: a Graph, the input of scheduling: nodes with shapes and keys.
//
// A node is a record of 64 bytes in an array. Argument lists and payload lie in a bump arena; long
// payloads lie in an arena of their own, which counts against the cap of memory. Nodes do not store
// attributes: the interned *signature* (interner.h) has them. A signature is found by content
// (operation, attribute bytes, argument shapes, payload count), and holds all that follows from
// this content: the results' shapes and the *key*. A node with a known signature costs one hash
// probe and two compares; the shape rule runs only for a new signature.
//
// A node of a list of any length, such as the words of a sentence, may be cut into columns
// (columns.h): its key holds the shape of a column, and calls see columns instead of examples.
//
// The steps of a layer have the same dozen parameters. The graph keeps parameters as lists
// (parameter_lists.h): a loop over nodes visits each list once, and at each node only the node's
// own arguments. A list also names an example, a node with this list. The next step, which differs
// from the example only in its own arguments, takes the example's signature without a search.
//
// A node is on the device of its arguments. A parameter or lookup is on the device of its storage;
// any other node without arguments is on the given device, else on the graph's own device.
// to_device.h has the one operation that leads from device to device.
//
// Two nodes may run together exactly when their keys are equal and neither depends on the other;
// aliases run alone, and so does a node with a stacked argument of one example beside a batch. A
// key holds the operation, the device, the attributes, the arguments' shapes without batch, which
// arguments have the batch and which one example, and the number of indices of an example (or of
// the node). The key of an operation that mixes the examples of its batch holds the batch too. No
// key says which storage a weight is: `W*x` and `V*x` may run together if W and V have one shape.
//
// Start reading at Graph::add. Surprising: an operation with several outputs makes several
// consecutive nodes. The first one is computed; the others are projections, aliases of the further
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

/// Stands, among the arguments of Graph::add, for an optional argument that the node lacks.
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
  const NodeId* args = nullptr;          ///< a node with projections has its own number before them
  const StoredPayload* payload = nullptr;  ///< null: none
  Where where;                             ///< in the user's source
  std::uint32_t arity = 0;
  std::uint32_t epoch = 0;
  std::uint32_t random_ordinal = 0;  ///< among all random nodes ever made in this graph
  std::uint32_t output = 0;          ///< 0, or the index of the output this projection stands for
  std::uint32_t examples = 0;        ///< of the result
  /// The node's list of parameters, if the first argument is one; kNone if too few nodes share the
  /// list.
  ParameterLists::Id parameters = ParameterLists::kNone;

  [[nodiscard]] const ext::Record& record() const { return *signature->record; }
  [[nodiscard]] const Device& device() const { return *signature->device; }
  [[nodiscard]] ShapeId shape() const { return signature->outputs[output]; }
  [[nodiscard]] std::span<const NodeId> arguments() const { return {args, arity}; }
  /// Has `other`, a node of the same key, the same parameters in the same places? May be false for
  /// two nodes of one parameter.
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

/// One kind of use of a parameter or a table: by nodes that are trained or const, as one tensor or
/// by rows. A table with two kinds of use has two slots.
struct StorageUse {
  std::shared_ptr<void> storage;  ///< keeps it alive
  bool trainable;
  bool is_whole;        ///< as one tensor (a parameter node), not rows of it (a lookup)
  NodeId first;         ///< the first node of this kind
  std::uint32_t nodes;  ///< their number
};

/// A model that the graph uses.
struct ModelUse {
  params::Usage* usage;       ///< kept alive by its storages
  std::size_t first_storage;  ///< its first one among the graph's storages
};

/// Nodes in the order they were made: arguments come before users. Invariant: every node's shape
/// and key are known. Thread rule: one thread at a time; an Interner belongs to one graph at a
/// time.
class Graph {
 public:
  explicit Graph(Interner& interner, const Device& device = *default_device)
      : interner_(interner), device_(&device) {}

  /// The device of nodes to which no other device applies.
  [[nodiscard]] const Device& device() const { return *device_; }
  /// Requires a graph without nodes.
  void set_device(const Device& device) { device_ = &device; }

  /// Appends a node and its projections. Optional arguments may be kAbsent, or left out at the end;
  /// the node lists only the present ones. `device`: the device of a node without arguments, or the
  /// target of kToDevice; null: as said above. Throws ShapeError, ValueError, IndexError, SizeError
  /// or DeviceError before anything is changed. Returns the id of output 0.
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
  /// Calls `visit(argument)` for the arguments of a node. Skips the arguments on its list of
  /// parameters if the list is in `seen`.
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
  /// The node that computes `n`: `n` itself, or the first output if `n` is a projection.
  [[nodiscard]] NodeId owner(NodeId n) const { return n - nodes_[n].output; }
  /// Examples of the node's result.
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
  /// Does the gradient of this parameter or lookup node go to the storage? No for the const form.
  [[nodiscard]] bool is_trainable(NodeId n) const;
  /// Equal for equal shared operands: the storage of a parameter, apart for trained and const
  /// nodes, else the node.
  [[nodiscard]] std::uint64_t identity(NodeId n) const;
  [[nodiscard]] const std::vector<StorageUse>& storages() const { return storages_; }
  /// The models whose storages the graph uses.
  [[nodiscard]] const std::vector<ModelUse>& models() const { return models_; }
  /// The lists of parameters that nodes share.
  [[nodiscard]] const ParameterLists& parameter_lists() const { return parameter_lists_; }
  [[nodiscard]] Interner& interner() const { return interner_; }

  /// The unsigned indices of a node's payload, read through its pointer now. Throws IndexError if
  /// an index is not below the limit, ValueError if a vector behind a pointer changed its length.
  [[nodiscard]] std::span<const unsigned> indices(NodeId n) const;
  [[nodiscard]] std::span<const float> values(NodeId n) const;
  /// The payload of a node, for another node, without a storage. A payload given by pointer keeps
  /// the pointer. Refers to the graph's memory.
  [[nodiscard]] ext::NodePayload payload(NodeId n) const;
  /// Node `n`, the last one, draws the random numbers of node `like`, of the same operation.
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
  /// Overwrites the `count` indices or values that were copied into node `n`. Throws ValueError if
  /// the node has none or another count, and IndexError; then nothing was changed.
  void replace_payload(NodeId n, ext::Payload kind, const void* data, std::size_t count);

  /// Removes all nodes, and keeps the memory for the next ones.
  void clear();
  /// Gives the memory that counts against the cap back to the system if there is more than
  /// `keep_bytes`. Requires a graph without nodes.
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

/// "file.cc:42", or the resolver's text for a code object.
[[nodiscard]] std::string place_text(const Where& where);
/// "\n  built at file.cc:42", the last line of a message about a node; empty if the place is
/// unknown.
[[nodiscard]] std::string built_at(const Where& where);

}  // namespace dynet::graph
