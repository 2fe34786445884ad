#include "graph/interner.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string>

#include "dynet/except.h"
#include "dynet/ext/count.h"

#include "columns.h"
#include "ops/texts.h"
#include "util/reserve.h"

namespace dynet::graph {
namespace {

/// Eight bytes at a time, mixed at the end. Quality matters little: hits are compared.
class Hash {
 public:
  void word(std::uint64_t w) { value_ = std::rotl(value_, 13) ^ w; }
  void bytes(const void* data, std::size_t count) {
    const auto* p = static_cast<const std::byte*>(data);
    for (; count >= 8; count -= 8, p += 8) {
      std::uint64_t w = 0;
      std::memcpy(&w, p, 8);
      word(w);
    }
    if (count >= 4) {
      std::uint32_t w = 0;
      std::memcpy(&w, p, 4);
      word(w);
      count -= 4;
      p += 4;
    }
    for (; count > 0; --count, ++p) {
      word(static_cast<std::uint64_t>(*p));
    }
  }
  [[nodiscard]] std::uint64_t value() const {
    const std::uint64_t product = value_ * 0xD6E8FEB86659FD93ULL;
    return product ^ (product >> 32);
  }

 private:
  std::uint64_t value_ = 0x9E3779B97F4A7C15ULL;
};

std::uint64_t hash_bytes(const void* data, std::size_t count) {
  Hash h;
  h.word(count);
  h.bytes(data, count);
  return h.value();
}

void append(std::vector<std::byte>& to, const void* data, std::size_t bytes) {
  const std::size_t at = to.size();
  to.resize(at + bytes);
  if (bytes != 0) {
    std::memcpy(to.data() + at, data, bytes);
  }
}

void append_attributes(std::vector<std::byte>& to, const ext::Record& record, const void* op) {
  const std::size_t at = to.size();
  to.resize(at + record.attr_bytes);
  if (record.attr_bytes != 0) {
    record.pack(op, to.data() + at);
  }
}

// Word by word, because signatures are found by so few words that a call of memcmp would cost more.
bool equal_words(const std::uint32_t* x, const std::uint32_t* y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (x[i] != y[i]) {
      return false;
    }
  }
  return true;
}

bool equal_bytes(const std::byte* x, const std::byte* y, std::size_t count) {
  for (; count >= 4; count -= 4, x += 4, y += 4) {
    if (std::memcmp(x, y, 4) != 0) {
      return false;
    }
  }
  for (; count > 0; --count, ++x, ++y) {
    if (*x != *y) {
      return false;
    }
  }
  return true;
}

/// Indices that each example of the result takes; 0: none, or indices of the whole node.
std::uint32_t indices_each(const ext::Record& record, const void* op) {
  if (record.payload != ext::Payload::kIndices || record.indices_per == ext::IndicesPer::kNode) {
    return 0;
  }
  return record.index_count == nullptr ? 1 : record.index_count(op);
}

/// Examples of the result: every argument has this many or one; lists of indices count too.
unsigned batch_of(const ext::Record& record, const void* op, std::span<const Dim> dims,
                  std::uint32_t payload_count) {
  const std::uint32_t each = indices_each(record, op);
  const std::uint32_t lists = each == 0 ? 1 : payload_count / each;
  unsigned batch = std::max(1U, lists);
  for (const Dim& d : dims) {
    batch = std::max(batch, d.bd);
  }
  if (record.has_whole) {
    return batch;
  }
  const auto fits = [batch](unsigned n) { return n <= 1 || n == batch; };  // 0: absent
  const bool all_fit =
      std::all_of(dims.begin(), dims.end(), [&](const Dim& d) { return fits(d.bd); });
  if (!all_fit || !fits(lists) || (each != 0 && lists == 0) ||
      lists * each != (each == 0 ? 0 : payload_count)) {
    std::string wanted = "equal numbers of examples, or 1";
    if (each == 1) {
      wanted = "equal numbers of examples (or 1), and one index or one per example";
    } else if (each > 1) {
      wanted = "equal numbers of examples (or 1), and " + std::to_string(each) +
               " indices for all examples or for each, not " + std::to_string(payload_count);
    }
    ext::Shapes(*record.info, dims, batch, payload_count).fail(wanted);
  }
  return batch;
}

/// Has a stacked argument one example, beside a batch?
bool broadcasts(const ext::Record& record, std::span<const Dim> dims,
                std::span<const unsigned char> is_full) {
  for (std::size_t a = 0; a < dims.size(); ++a) {
    if (is_full[a] == 0 && !ext::is_absent(dims[a]) && record.role(a) == ext::Role::kStacked) {
      return true;
    }
  }
  return false;
}

/// The groups of optional arguments that are absent. A group is absent as a whole.
std::uint8_t absent_groups(const ext::Record& record, const ext::Shapes& in) {
  if (!record.has_optional) {
    return 0;
  }
  unsigned present = 0;
  unsigned absent = 0;
  for (std::size_t a = 0; a < in.size(); ++a) {
    const unsigned group = record.optional[a] == 0 ? 0U : 1U << (record.optional[a] - 1);
    (in.has(a) ? present : absent) |= group;
  }
  if ((present & absent) != 0) {
    in.fail("arguments that belong together all there or all absent");
  }
  return static_cast<std::uint8_t>(absent);
}

/// The first two of seven dimensions become one if the batch becomes a dimension too (ext::Call).
void check_room_for_batch(std::span<const Dim> dims) {
  for (const Dim& d : dims) {
    if (d.nd == DYNET_MAX_TENSOR_DIM) {
      static_cast<void>(to_extent(ext::Count(d.d[0]) * d.d[1],
                                  "the first two dimensions of " + to_string(d) +
                                      " together, for an operation on whole batches"));
    }
  }
}

/// Throws SizeError if a result or a saved output has more elements than can be counted.
void check_countable(const ext::Shapes& shapes, const Dim& result) {
  try {
    static_cast<void>(result.elements());
  } catch (const errors::SizeError& e) {
    shapes.fail_size(std::string("for the result, ") + e.what());
  }
}

/// Elements of the arguments and the result, as in Signature::numbers.
std::uint32_t numbers_of(std::span<const Dim> arguments, const Dim& result) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  ext::Count all = result.elements();
  for (const Dim& d : arguments) {
    all = all + d.elements();
  }
  return static_cast<std::uint32_t>(all.fits(kMost) ? all.value() : kMost);
}

}  // namespace

bool has_attributes(const Signature& signature, const void* op) {
  std::byte packed[kMaxPackedBytes];
  signature.record->pack(op, packed);
  return equal_bytes(signature.attributes, packed, signature.record->attr_bytes);
}

Interner::Interner() { static_cast<void>(intern(ext::absent(), nullptr)); }  // id 0
Interner::~Interner() = default;

void Interner::trim(std::size_t limit) {
  if (bytes() > limit) {
    *this = Interner();
  }
}

std::size_t Interner::bytes() const {
  const auto bytes_of = []<class T>(const std::vector<T>& list) {
    return list.capacity() * sizeof(T);  // NOLINT(bugprone-sizeof-expression): of pointers, yes
  };
  return arena_.capacity() + shape_table_.bytes() + signature_table_.bytes() + key_table_.bytes() +
         bytes_of(shapes_) + bytes_of(signatures_) + bytes_of(keys_);
}

ShapeId Interner::intern(const Dim& dim, const Device* device, bool is_parameter,
                         std::uint8_t lengths) {
  Dim clean = dim;
  for (unsigned i = clean.nd; i < DYNET_MAX_TENSOR_DIM; ++i) {
    clean.d[i] = 1;
  }
  const std::uint64_t hash = hash_bytes(&clean, sizeof clean) ^
                             reinterpret_cast<std::uintptr_t>(device) ^ (is_parameter ? 1U : 0U) ^
                             std::uint64_t{lengths} << 8;
  const std::uint32_t found = shape_table_.find(hash, [&](std::uint32_t i) {
    return shapes_[i]->dim == clean && shapes_[i]->device == device &&
           shapes_[i]->is_parameter == is_parameter && shapes_[i]->lengths == lengths;
  });
  if (found != util::IndexTable::kNone) {
    return found;
  }
  const auto id = static_cast<ShapeId>(shapes_.size());
  util::reserve_more(shapes_, 1);
  const std::int64_t size = clean.example_elements();
  const ext::Count bytes =
      device == nullptr ? 0 : ext::Count(size) * ext::bytes_of(device->number());
  const Dim column = column_of(clean, lengths);
  const auto* const shape =
      new (arena_.allocate(sizeof(Shape))) Shape{clean,
                                                 size,
                                                 bytes.fits() ? bytes.value() : ext::Count::kMost,
                                                 device,
                                                 is_parameter,
                                                 lengths,
                                                 count_columns(clean, lengths),
                                                 column};
  shape_table_.insert(hash, id);
  shapes_.push_back(shape);
  return id;
}

const Signature& Interner::signature(const ext::Record& record, const void* op,
                                     std::span<const ShapeId> arg_shapes,
                                     std::uint32_t payload_count, const Device* device) {
  std::byte packed[kMaxPackedBytes];
  if (record.attr_bytes != 0) {
    record.pack(op, packed);
  }
  Hash h;
  h.word(reinterpret_cast<std::uintptr_t>(&record) ^
         std::rotr(reinterpret_cast<std::uintptr_t>(device), 20));
  h.word(payload_count);
  for (const ShapeId id : arg_shapes) {
    h.word(id);
  }
  if (record.attr_bytes != 0) {
    h.bytes(packed, record.attr_bytes);
  }
  const std::uint64_t hash = h.value();
  const std::uint32_t found = signature_table_.find(hash, [&](std::uint32_t i) {
    const Signature& s = *signatures_[i];
    return s.record == &record && s.payload_count == payload_count && s.given_device == device &&
           s.given == arg_shapes.size() &&
           equal_words(arg_shapes.data(), s.arg_shapes, arg_shapes.size()) &&
           (record.attr_bytes == 0 || equal_bytes(s.attributes, packed, record.attr_bytes));
  });
  if (found != util::IndexTable::kNone) {
    return *signatures_[found];
  }
  return add_signature({record, op, arg_shapes, payload_count, device}, hash);
}

/// The device of the present arguments; without any, the given one.
const Device& Interner::common_device(const Wanted& wanted) const {
  const std::size_t count = wanted.arg_shapes.size();
  std::size_t first = 0;
  while (first < count && wanted.arg_shapes[first] == absent()) {
    ++first;
  }
  if (first == count) {
    return *wanted.device;
  }
  const Device& device = *shapes_[wanted.arg_shapes[first]]->device;
  for (std::size_t a = first + 1; a < count; ++a) {
    const Device* other = shapes_[wanted.arg_shapes[a]]->device;
    if (other != nullptr && other != &device) {
      const ext::Info& info = *wanted.record.info;
      const std::size_t all = wanted.record.has_optional ? wanted.record.arg_count : count;
      throw errors::DeviceError(std::string(info.name) + ": argument " +
                                ops::argument_name(info, first, all) + " is on device " +
                                device.name + " and " + ops::argument_name(info, a, all) + " on " +
                                other->name + "; want one device, or a copy made with to_device");
    }
  }
  return device;
}

/// Requires the arguments' shapes in `dims_scratch_`. The key forgets the number of examples, but
/// not which arguments have the batch. The key of an operation that mixes its batch holds the
/// batch.
KeyId Interner::intern_key(const Signature& s, std::span<const unsigned char> is_full,
                           std::uint32_t payload_each) {
  const void* const identity[] = {s.record, s.device, s.from};
  key_scratch_.clear();
  append(key_scratch_, &identity, sizeof identity);
  append(key_scratch_, &payload_each, sizeof payload_each);
  append_attributes(key_scratch_, *s.record, s.op);
  append(key_scratch_, dims_scratch_.data(), dims_scratch_.size() * sizeof(Dim));
  append(key_scratch_, is_full.data(), is_full.size());
  append(key_scratch_, &s.cut, sizeof s.cut);
  const std::uint64_t hash = hash_bytes(key_scratch_.data(), key_scratch_.size());
  const std::uint32_t found = key_table_.find(hash, [&](std::uint32_t i) {
    return keys_[i].bytes == key_scratch_.size() &&
           std::memcmp(keys_[i].data, key_scratch_.data(), key_scratch_.size()) == 0;
  });
  if (found != util::IndexTable::kNone) {
    return found;
  }
  auto* key = static_cast<std::byte*>(arena_.allocate(key_scratch_.size()));
  std::memcpy(key, key_scratch_.data(), key_scratch_.size());
  const auto id = static_cast<KeyId>(keys_.size());
  util::reserve_more(keys_, 1);
  key_table_.insert(hash, id);
  keys_.push_back({key, key_scratch_.size()});
  return id;
}

/// Requires the arguments' shapes in `dims_scratch_`.
void Interner::set_arguments(Signature& s, std::span<const ShapeId> arg_shapes) {
  s.given = static_cast<std::uint32_t>(arg_shapes.size());
  s.arity = static_cast<std::uint32_t>(dims_scratch_.size());
  auto* shape_ids = static_cast<ShapeId*>(arena_.allocate(s.arity * sizeof(ShapeId)));
  std::fill(std::copy(arg_shapes.begin(), arg_shapes.end(), shape_ids), shape_ids + s.arity,
            absent());
  s.arg_shapes = shape_ids;
  for (std::size_t a = 0; s.record->has_optional && a < dims_scratch_.size(); ++a) {
    s.absent_args |= static_cast<std::uint8_t>((ext::is_absent(dims_scratch_[a]) ? 1U : 0U) << a);
  }
  for (std::uint32_t i = 0; i < ext::kMaxArgs; ++i) {
    s.roles[i] = s.record->role(s.argument(i));
  }
}

/// Masks of the arguments that nodes list.
void Interner::set_masks(Signature& s, std::span<const ShapeId> arg_shapes) const {
  constexpr std::uint32_t kBits = 64;
  std::uint32_t listed = 0;
  for (const ShapeId id : arg_shapes) {
    if (id == absent()) {
      continue;
    }
    if (listed < kBits) {
      auto& mask = shapes_[id]->is_parameter ? s.parameters : s.own_args;
      mask |= std::uint64_t{1} << listed;
      const ext::Role role = s.role(listed);
      const bool may_share = role == ext::Role::kShared || role == ext::Role::kEither;
      s.may_share |= std::uint64_t{may_share} << listed;
    }
    ++listed;
  }
  if (s.parameters == 0 || listed > kBits) {
    s.parameters = s.own_args = 0;
  }
}

/// Copies the attributes into the arena.
void Interner::store_content(Signature& s, const void* op) {
  const ext::Record& record = *s.record;
  auto* stored_op = static_cast<std::byte*>(arena_.allocate(record.op_bytes));
  std::memcpy(stored_op, op, record.op_bytes);
  s.op = stored_op;
  auto* packed = static_cast<std::byte*>(arena_.allocate(record.attr_bytes));
  if (record.attr_bytes != 0) {
    record.pack(op, packed);
  }
  s.attributes = packed;
}

/// Counts the examples of the saved outputs of one node.
void Interner::count_saved(const ext::Shapes& shapes, Signature& s) {
  const ext::Record& record = *s.record;
  if (record.saved_shapes == nullptr) {
    return;
  }
  record.saved_shapes(s.op, shapes, s.saved);
  for (Dim& d : s.saved) {
    Dim all = d;
    all.bd = record.has_whole ? d.bd : s.batch;
    check_countable(shapes, all);
    d.bd = record.has_whole ? d.bd : 1;
  }
}

/// Takes the batches off the arguments' shapes in `dims_scratch_`, unless the operation mixes its
/// examples. Returns which arguments had the whole batch.
std::vector<unsigned char> Interner::take_batches(const ext::Record& record, unsigned batch) {
  std::vector<unsigned char> is_full;
  is_full.reserve(dims_scratch_.size());
  for (Dim& d : dims_scratch_) {
    is_full.push_back(d.bd == batch ? 1 : 0);
    if (!record.has_whole && !ext::is_absent(d)) {
      d.bd = 1;
    }
  }
  return is_full;
}

/// Results with their batch, by the operation's rule of shapes.
void Interner::infer_results(const Wanted& wanted, const ext::Shapes& shapes, unsigned batch,
                             std::span<Dim> results) const {
  const ext::Record& record = wanted.record;
  record.shapes(wanted.op, shapes, results.data());
  if (record.has_whole && !record.aliases) {
    check_room_for_batch(dims_scratch_);
    check_room_for_batch(results);
  }
  if (record.payload == ext::Payload::kValues && record.rule != nullptr &&
      wanted.payload_count != 1) {
    shapes.fail_value("one number as payload, not " + std::to_string(wanted.payload_count));
  }
  const bool own_batch =
      record.has_whole || (record.arg_count == 0 && indices_each(record, wanted.op) == 0);
  for (Dim& d : results) {
    d.bd = own_batch ? d.bd : batch;
    if (d.bd == 0) {
      shapes.fail("a result of at least one example, not " + to_string(d));
    }
    check_countable(shapes, d);
  }
}

/// The lengths of all arguments; absent ones have none.
std::vector<std::uint8_t> Interner::lengths_of(std::span<const ShapeId> arg_shapes,
                                               std::size_t arguments) const {
  std::vector<std::uint8_t> lengths(arguments);
  std::transform(arg_shapes.begin(), arg_shapes.end(), lengths.begin(),
                 [this](ShapeId id) { return shapes_[id]->lengths; });
  return lengths;
}

/// Requires the arguments' shapes in `dims_scratch_`, the results and the masks in `s`. Cuts the
/// node if it can be: then `dims_scratch_` gets the arguments as calls see them.
void Interner::cut(Signature& s, const Content& content, std::span<const unsigned char> is_full,
                   std::span<const Dim> results, std::span<const std::uint8_t> lengths) {
  std::vector<CutArgument> arguments(content.dims.size());
  for (std::size_t a = 0; a < arguments.size(); ++a) {
    const std::uint64_t bit = a < kMaxCutArgs ? std::uint64_t{1} << a : 0;
    arguments[a] = {(s.parameters & s.may_share & bit) != 0, is_full[a] != 0};
  }
  s.cut = find_cut(content, arguments, results, lengths);
  s.may_share &= ~s.cut;
  for (std::uint64_t m = s.cut; m != 0; m &= m - 1) {
    const auto a = static_cast<std::size_t>(std::countr_zero(m));
    dims_scratch_[a] = shapes_[s.arg_shapes[a]]->column;
  }
}

const Signature& Interner::add_signature(const Wanted& wanted, std::uint64_t hash) {
  const ext::Record& record = wanted.record;
  const Device& common = common_device(wanted);
  dims_scratch_.clear();
  for (const ShapeId id : wanted.arg_shapes) {
    dims_scratch_.push_back(shape(id));
  }
  if (record.has_optional) {
    dims_scratch_.resize(record.arg_count, ext::absent());
  }
  const unsigned batch = batch_of(record, wanted.op, dims_scratch_, wanted.payload_count);
  const std::vector<Dim> with_batches = dims_scratch_;  // for messages; a new signature is rare
  const std::vector<unsigned char> is_full = take_batches(record, batch);
  const ext::Shapes shapes(*record.info, dims_scratch_, batch, wanted.payload_count, with_batches);
  Signature s{};
  s.record = &record;
  s.op = wanted.op;
  s.device = wanted.device == nullptr ? &common : wanted.device;
  s.from = s.device == &common ? nullptr : &common;
  s.number = s.device->number();
  s.given_device = wanted.device;
  s.absent = absent_groups(record, shapes);
  Dim room[ext::kMaxOutputs];
  const std::span<Dim> results(room, record.outputs);
  infer_results(wanted, shapes, batch, results);
  s.batch = results[0].bd;
  count_saved(shapes, s);
  s.numbers = numbers_of(with_batches, results[0]);

  // Below this line nothing throws but out of memory.
  const std::vector<std::uint8_t> of_arguments =
      lengths_of(wanted.arg_shapes, dims_scratch_.size());
  const Content content{record,       wanted.op, dims_scratch_,
                        of_arguments, batch,     wanted.payload_count};
  std::uint8_t lengths[ext::kMaxOutputs];
  find_lengths(content, results, {lengths, record.outputs});
  for (unsigned k = 0; k < record.outputs; ++k) {
    s.outputs[k] =
        intern(results[k], s.device, record.reads_storage == ext::Storage::kWhole, lengths[k]);
  }
  s.payload_count = wanted.payload_count;
  s.indices_each = indices_each(record, wanted.op);
  s.alone = record.aliases || (!record.has_whole && broadcasts(record, dims_scratch_, is_full));
  set_arguments(s, wanted.arg_shapes);
  set_masks(s, wanted.arg_shapes);
  store_content(s, wanted.op);
  cut(s, content, is_full, results, {lengths, record.outputs});
  if (s.cut != 0) {
    count_saved(ext::Shapes(*record.info, dims_scratch_, batch, wanted.payload_count), s);
  }

  s.key = intern_key(s, is_full, s.indices_each != 0 ? s.indices_each : s.payload_count);
  auto* kept = new (arena_.allocate(sizeof(Signature))) Signature(s);
  util::reserve_more(signatures_, 1);
  spans_devices_ =
      spans_devices_ || (!signatures_.empty() && signatures_.back()->device != kept->device);
  signature_table_.insert(hash, static_cast<std::uint32_t>(signatures_.size()));
  signatures_.push_back(kept);
  return *kept;
}

}  // namespace dynet::graph
