#pragma once

// Shapes, signatures and keys: each distinct one is stored once and found by content.
//
// A shape here is a shape on a device: the same extents on two devices are two shapes. So
// signatures, which are found by the shapes of arguments, are found by device too, at no cost per
// node. The shape of a parameter and the same shape of a value are two shapes as well: a signature
// knows which arguments are parameters.
//
// A shape also says which of its extents are lengths (columns.h): {3,7} of a sentence and {3,7} of
// weights are two shapes.
//
// A hash only finds; every hit is confirmed by comparing all bytes, so two different nodes can
// never get one key.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dynet/devices.h"
#include "dynet/dim.h"
#include "dynet/ext/op.h"

#include "util/arena.h"
#include "util/index_table.h"

namespace dynet::graph {

using ShapeId = std::uint32_t;
using KeyId = std::uint32_t;
struct Content;  // columns.h

/// Room for the attributes of any operation: a list of seven and its count, the largest, make
/// eight.
inline constexpr std::size_t kMaxPackedBytes = 8 * sizeof(Dim);

/// Facts that follow from an operation, its attributes, its arguments' shapes, its payload count
/// and, if one was given, its device.
struct Signature {
  // The content by which a signature is found. Absent arguments at the end are left out.
  const ext::Record* record;
  const Device* given_device;   ///< null: none was given
  const ShapeId* arg_shapes;    ///< with batch; absent arguments too, at the end
  const std::byte* attributes;  ///< their bytes, packed
  std::uint32_t payload_count;
  std::uint32_t given;

  const Device* device;  ///< of the results
  KeyId key;
  std::uint32_t batch;           ///< examples of the result
  std::uint32_t indices_each;    ///< per example; 0: none, or of the whole node
  std::uint32_t arity;           ///< arguments of the operation, absent ones among them
  std::uint32_t numbers;         ///< elements of the first result and the arguments; at most 2^30
  bool alone;                    ///< never merged with other nodes
  std::uint8_t absent = 0;       ///< groups of optional arguments (bit g - 1: group g)
  std::uint8_t absent_args = 0;  ///< optional arguments (bit i: argument i); nodes do not list them
  /// Bit i: argument i of a node's list is a parameter; 0 if nodes list more than 64.
  std::uint64_t parameters = 0;
  std::uint64_t own_args = 0;  ///< bit i: argument i is no parameter; 0 if no argument is one
  /// Bit i: the role of argument i of a node's list, i < 64, is kShared or kEither.
  std::uint64_t may_share = 0;
  ext::Number number;              ///< of the device
  ext::Role roles[ext::kMaxArgs];  ///< of the arguments that nodes list; more than these: repeated
  ShapeId outputs[ext::kMaxOutputs];
  const void* op;      ///< the operation with its attributes
  const Device* from;  ///< the argument's device, for a copy between devices; else null
  /// Not 0: the node is cut (columns.h), and calls see its results, and the arguments with a bit
  /// here, as columns. Bit i: argument i of a node's list.
  std::uint64_t cut = 0;
  /// Shapes of one example, or of one column if the node is cut; of a whole node, with the batch,
  /// if the operation mixes its batch.
  Dim saved[ext::kMaxSaved];

  /// The argument of the operation that nodes list as number `i`.
  [[nodiscard]] std::uint32_t argument(std::uint32_t i) const {
    if (absent_args != 0) {
      for (std::uint32_t bit = 0; bit <= i; ++bit) {
        i += (absent_args >> bit) & 1U;
      }
    }
    return i;
  }
  /// The role of the argument that nodes list as number `i`.
  [[nodiscard]] ext::Role role(std::uint32_t i) const {
    return roles[i < ext::kMaxArgs ? i : i % record->role_count];
  }
};

/// Has `op`, an operation of the signature's record, the signature's attributes? Requires that the
/// operation has attributes.
[[nodiscard]] bool has_attributes(const Signature& signature, const void* op);

/// Content-addressed tables that outlive graphs, so that later graphs find everything known.
/// Invariant: ids, and the addresses of shapes and signatures, stay valid until `trim` forgets
/// them. Thread rule: one graph at a time.
class Interner {
 public:
  Interner();
  Interner(const Interner&) = delete;
  Interner& operator=(const Interner&) = delete;
  Interner(Interner&&) = delete;
  ~Interner();

  [[nodiscard]] const Dim& shape(ShapeId id) const { return shapes_[id]->dim; }
  /// Elements of one example.
  [[nodiscard]] std::int64_t size(ShapeId id) const { return shapes_[id]->size; }
  /// Bytes of one example on its device; at most ext::Count::kMost.
  [[nodiscard]] std::int64_t bytes(ShapeId id) const { return shapes_[id]->bytes; }
  /// Bit d: dimension d is a length.
  [[nodiscard]] std::uint8_t lengths(ShapeId id) const { return shapes_[id]->lengths; }
  /// Columns of one example, and the shape of one; without lengths one column, the example.
  [[nodiscard]] std::int64_t columns(ShapeId id) const { return shapes_[id]->columns; }
  [[nodiscard]] const Dim& column(ShapeId id) const { return shapes_[id]->column; }
  /// `device`: null for the shape of an absent argument. `lengths`: bit d says that dimension d is
  /// one.
  [[nodiscard]] ShapeId intern(const Dim& dim, const Device* device, bool is_parameter = false,
                               std::uint8_t lengths = 0);
  /// The shape of an absent argument.
  [[nodiscard]] ShapeId absent() const { return 0; }
  /// Finds or adds a signature. The shapes of absent arguments are absent(), or left out at the
  /// end. `device`: the device of a node without arguments, or the target of a copy; null: the
  /// device of the arguments. Batch and shape rules run for a new signature, and throw before
  /// anything is stored; so does DeviceError, for arguments on different devices.
  const Signature& signature(const ext::Record& record, const void* op,
                             std::span<const ShapeId> arg_shapes, std::uint32_t payload_count,
                             const Device* device);
  /// Are there signatures of nodes on several devices, of this graph or an earlier one?
  [[nodiscard]] bool spans_devices() const { return spans_devices_; }
  [[nodiscard]] std::size_t key_count() const { return keys_.size(); }
  /// Memory that the tables hold.
  [[nodiscard]] std::size_t bytes() const;
  /// Forgets everything if the tables are larger than `limit` bytes. Requires that no node is
  /// alive. Changes nothing if an allocation fails.
  void trim(std::size_t limit);

 private:
  Interner& operator=(Interner&&) = default;

  /// In the arena, because users hold references to shapes.
  struct Shape {
    Dim dim;
    std::int64_t size;
    std::int64_t bytes;
    const Device* device;
    bool is_parameter;
    std::uint8_t lengths;
    std::int64_t columns;
    Dim column;
  };
  /// The content to look up.
  struct Wanted {
    const ext::Record& record;
    const void* op;
    std::span<const ShapeId> arg_shapes;
    std::uint32_t payload_count;
    const Device* device;
  };
  [[nodiscard]] const Device& common_device(const Wanted& wanted) const;
  std::vector<unsigned char> take_batches(const ext::Record& record, unsigned batch);
  void infer_results(const Wanted& wanted, const ext::Shapes& shapes, unsigned batch,
                     std::span<Dim> results) const;
  const Signature& add_signature(const Wanted& wanted, std::uint64_t hash);
  [[nodiscard]] std::vector<std::uint8_t> lengths_of(std::span<const ShapeId> arg_shapes,
                                                     std::size_t arguments) const;
  void cut(Signature& s, const Content& content, std::span<const unsigned char> is_full,
           std::span<const Dim> results, std::span<const std::uint8_t> lengths);
  void set_arguments(Signature& s, std::span<const ShapeId> arg_shapes);
  void set_masks(Signature& s, std::span<const ShapeId> arg_shapes) const;
  void store_content(Signature& s, const void* op);
  static void count_saved(const ext::Shapes& shapes, Signature& s);
  KeyId intern_key(const Signature& s, std::span<const unsigned char> is_full,
                   std::uint32_t payload_each);

  std::vector<const Shape*> shapes_;
  util::IndexTable shape_table_;
  std::vector<const Signature*> signatures_;
  util::IndexTable signature_table_;
  struct KeyContent {
    const std::byte* data;
    std::size_t bytes;
  };
  std::vector<KeyContent> keys_;
  util::IndexTable key_table_;
  util::Arena arena_;
  bool spans_devices_ = false;
  std::vector<std::byte> key_scratch_;
  std::vector<Dim> dims_scratch_;
};

}  // namespace dynet::graph
