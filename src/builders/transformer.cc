#include "dynet/transformer.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "dynet/except.h"

#include "api/lengths.h"
#include "builders/builder_support.h"
#include "builders/columns.h"

namespace dynet {

using api::check_lengths;
using builders::as_batch;
using builders::as_columns;
using builders::check_columns;

namespace detail {

// ---- a layer

namespace {

/// Parameters of a layer; a normalisation has a gain and a shift.
enum : std::uint8_t { kW1, kB1, kW2, kB2, kSelfNorm, kFeedNorm = 6, kMemoryNorm = 8 };

void add_norm(BuilderParameters& to, unsigned dim, const std::string& prefix) {
  to.add({dim}, (prefix + "norm-g").c_str(), ParameterInitConst(1.0F));
  to.add({dim}, (prefix + "norm-b").c_str(), ParameterInitConst(0.0F));
}

Expression normalise(const BuilderParameters& p, std::size_t norm, const Expression& x,
                     float epsilon, Where where) {
  return layer_norm(x, p[norm], p[norm + 1], epsilon, where);
}

Expression drop(const Expression& x, float rate, Where where) {
  return rate > 0.0F ? dropout(x, rate, where) : x;
}

}  // namespace

TransformerLayer::TransformerLayer(const char* builder, const char* collection, unsigned dim,
                                   unsigned heads, unsigned hidden_dim, ParameterCollection& model,
                                   const TransformerOptions& options)
    : parameters(builder, collection, model),
      options_(options),
      self_(dim, heads, parameters.collection) {
  if (options.has_memory) {
    cross_ = MultiHeadAttentionBuilder(dim, heads, parameters.collection, options.memory_dim);
  }
  const ParameterInitConst zero(0.0F);
  parameters.add({hidden_dim, dim}, "w1");
  parameters.add({hidden_dim}, "b1", zero);
  parameters.add({dim, hidden_dim}, "w2");
  parameters.add({dim}, "b2", zero);
  add_norm(parameters, dim, "self-");
  add_norm(parameters, dim, "feed-");
  if (options.has_memory) {
    add_norm(parameters, dim, "memory-");
  }
}

void TransformerLayer::new_graph(ComputationGraph& cg, bool update) {
  self_.new_graph(cg, update);
  if (options_.has_memory) {
    cross_.new_graph(cg, update);
  }
  parameters.new_graph(cg, update);
}

void TransformerLayer::share(const TransformerLayer& other) {
  self_.copy(other.self_);
  cross_.copy(other.cross_);
  parameters.share(other.parameters);
}

Expression TransformerLayer::before(const Expression& x, std::size_t norm, Where where) const {
  return options_.pre_norm ? normalise(parameters, norm, x, options_.epsilon, where) : x;
}

Expression TransformerLayer::after(const Expression& x, const Expression& y, std::size_t norm,
                                   Where where) const {
  const Expression sum = Located(x, where) + drop(y, dropout_rate_, where);
  return options_.pre_norm ? sum : normalise(parameters, norm, sum, options_.epsilon, where);
}

Expression TransformerLayer::feed_forward(const Expression& x, Where where) const {
  const BuilderParameters& p = parameters;
  const Expression read = before(x, kFeedNorm, where);
  const Expression z = affine_transform({p[kB1], p[kW1], read}, where);
  const Expression h = options_.gelu ? gelu(z, where) : rectify(z, where);
  const Expression y = affine_transform({p[kB2], p[kW2], drop(h, dropout_rate_, where)}, where);
  return after(x, y, kFeedNorm, where);
}

Expression TransformerLayer::encode(const Expression& x, const Dim& like,
                                    const std::vector<unsigned>& lengths, Where where) const {
  const Expression read = before(x, kSelfNorm, where);
  AttentionMemory all = self_.project_batch(read, like, where);
  all.lengths = lengths;
  const Expression seen = self_.attend_batch(read, like, all, false, where);
  return feed_forward(after(x, seen, kSelfNorm, where), where);
}

Expression TransformerLayer::decode(const Expression& x, const Dim& like, AttentionMemory& read,
                                    const AttentionMemory* memory, Where where) const {
  const Expression now = before(x, kSelfNorm, where);
  read = self_.append_batch(read, now, like, where);
  Expression y = self_.attend_batch(now, like, read, like.cols() > 1, where);
  Expression z = after(x, y, kSelfNorm, where);
  if (memory != nullptr) {
    y = cross_.attend_batch(before(z, kMemoryNorm, where), like, *memory, false, where);
    z = after(z, y, kMemoryNorm, where);
  }
  return feed_forward(z, where);
}

// ---- layers one above the other

TransformerStack::TransformerStack(const char* builder, const char* collection, const char* layer,
                                   unsigned layers, unsigned dim, unsigned heads,
                                   unsigned hidden_dim, ParameterCollection& model,
                                   const TransformerOptions& options)
    : dim_(dim), options_(options) {
  if (layers == 0 || hidden_dim == 0 || heads == 0 || dim == 0 || dim % heads != 0) {
    throw errors::ValueError(std::string(builder) + ": " + std::to_string(layers) +
                             " layers of dimension " + std::to_string(dim) + " with " +
                             std::to_string(heads) + " heads and a hidden dimension of " +
                             std::to_string(hidden_dim) +
                             "; want at least 1 of each, and heads that divide the dimension");
  }
  builders::check_epsilon(builder, "epsilon", options.epsilon);
  parameters_ = {builder, collection, model};
  layers_.reserve(layers);
  for (unsigned i = 0; i < layers; ++i) {
    layers_.emplace_back(builder, layer, dim, heads, hidden_dim, parameters_.collection, options);
  }
  if (options.pre_norm) {
    add_norm(parameters_, dim, "");
  }
}

void TransformerStack::new_graph(ComputationGraph& cg, bool update) {
  for (TransformerLayer& layer : layers_) {
    layer.new_graph(cg, update);
  }
  parameters_.new_graph(cg, update);
}

void TransformerStack::set_dropout(float rate) {
  builders::check_share(parameters_.builder, "the dropout rate", rate);
  for (TransformerLayer& layer : layers_) {
    layer.set_dropout(rate);
  }
}

void TransformerStack::share(const TransformerStack& other) {
  if (layers_.size() != other.layers_.size() || dim_ != other.dim_ ||
      options_.pre_norm != other.options_.pre_norm || options_.gelu != other.options_.gelu ||
      options_.has_memory != other.options_.has_memory ||
      options_.epsilon != other.options_.epsilon) {
    throw errors::ValueError(std::string(parameters_.builder) +
                             ": cannot copy a builder with other sizes or options");
  }
  TransformerStack shared = *this;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    shared.layers_[i].share(other.layers_[i]);
  }
  shared.parameters_.share(other.parameters_);
  *this = std::move(shared);
}

void TransformerStack::check(const char* call, const Expression& x, Where where) const {
  parameters_.check(call, {x}, where);
  check_columns(parameters_.at(call), "x is", x, dim_);
}

Expression TransformerStack::normalised(const Expression& x, Where where) const {
  return options_.pre_norm ? normalise(parameters_, 0, x, options_.epsilon, where) : x;
}

}  // namespace detail

// ---- encoder

namespace {
TransformerOptions without_memory(TransformerOptions options) {
  options.has_memory = false;
  return options;
}
}  // namespace

TransformerEncoderBuilder::TransformerEncoderBuilder(unsigned layers, unsigned dim, unsigned heads,
                                                     unsigned hidden_dim,
                                                     ParameterCollection& model,
                                                     const TransformerOptions& options)
    : TransformerStack("TransformerEncoderBuilder", "transformer-encoder",
                       "transformer-encoder-layer", layers, dim, heads, hidden_dim, model,
                       without_memory(options)) {}

Expression TransformerEncoderBuilder::encode(const Expression& x,
                                             const std::vector<unsigned>& lengths,
                                             Where where) const {
  return detail::with_typed_allocation([&] {
    check("encode", x, where);
    check_lengths(parameters_.at("encode"), x.dim(), x.dim().cols(), lengths);
    detail::RepeatableDraws draws(x.pg);
    const Dim like = x.dim();
    Expression y = as_batch(x, where);
    for (const detail::TransformerLayer& layer : layers_) {
      y = layer.encode(y, like, lengths, where);
    }
    const Expression output = as_columns(normalised(y, where), like, where);
    draws.keep();
    return output;
  });
}

// ---- decoder

TransformerDecoderBuilder::TransformerDecoderBuilder(unsigned layers, unsigned dim, unsigned heads,
                                                     unsigned hidden_dim,
                                                     ParameterCollection& model,
                                                     const TransformerOptions& options)
    : TransformerStack("TransformerDecoderBuilder", "transformer-decoder",
                       "transformer-decoder-layer", layers, dim, heads, hidden_dim, model,
                       options) {}

TransformerState TransformerDecoderBuilder::start() const {
  parameters_.check("start", {}, Where());
  if (options_.has_memory) {
    throw errors::StateError(
        "TransformerDecoderBuilder: start: without a memory, to which layers attend");
  }
  TransformerState state;
  detail::with_typed_allocation([&] { state.layers.resize(layers_.size()); });
  return state;
}

TransformerState TransformerDecoderBuilder::start(const Expression& seen,
                                                  const std::vector<unsigned>& lengths,
                                                  Where where) const {
  if (!options_.has_memory) {
    throw errors::StateError(
        "TransformerDecoderBuilder: start: with a memory, which no layer attends to");
  }
  return detail::with_typed_allocation([&] {
    const std::string at = parameters_.at("start");
    parameters_.check("start", {seen}, where);
    check_columns(at, "seen is", seen, options_.memory_dim == 0 ? dim_ : options_.memory_dim);
    check_lengths(at, seen.dim(), seen.dim().cols(), lengths);
    std::vector<AttentionMemory> memory;
    memory.reserve(layers_.size());
    for (const detail::TransformerLayer& layer : layers_) {
      memory.push_back(layer.read_memory(seen, lengths, where));
    }
    TransformerState state;
    state.layers.resize(layers_.size());
    state.memory = std::make_shared<const std::vector<AttentionMemory>>(std::move(memory));
    return state;
  });
}

unsigned TransformerDecoderBuilder::check_state(const TransformerState& state, const Expression& x,
                                                Where where) const {
  check("add_input", x, where);
  const std::string at = parameters_.at("add_input");
  const bool has_memory = state.memory != nullptr;
  if (state.layers.size() != layers_.size() || has_memory != options_.has_memory ||
      (has_memory && state.memory->size() != layers_.size())) {
    throw errors::StateError(at + "of a state that this builder did not start");
  }
  const Dim& d = x.dim();
  unsigned examples = d.bd;
  const auto check_keys = [&](const AttentionMemory& memory, const char* whose) {
    parameters_.check("add_input", {memory.keys, memory.values}, where);
    const Dim& k = memory.keys.dim();
    if (k.rows() != dim_ || (k.bd != 1 && examples != 1 && k.bd != examples)) {
      throw errors::ShapeError(at + "x is " + to_string(d) + " and the " + whose + "'s keys " +
                               to_string(k) +
                               "; want as many examples, or one that stands for all");
    }
    examples = std::max(examples, k.bd);
  };
  for (const AttentionMemory& read : state.layers) {
    if (read.positions() > 0) {
      check_keys(read, "state");
    }
  }
  if (d.cols() > 1 && state.positions() > 0) {
    throw errors::ValueError(at + "x is " + to_string(d) + " and the state has read " +
                             std::to_string(state.positions()) +
                             " positions; want one position, or a state that has read none");
  }
  if (has_memory) {
    for (const AttentionMemory& memory : *state.memory) {
      check_keys(memory, "memory");
    }
  }
  return examples;
}

TransformerState TransformerDecoderBuilder::add_input(const TransformerState& state,
                                                      const Expression& x, Where where) const {
  return detail::with_typed_allocation([&] { return checked_step(state, x, where); });
}

TransformerState TransformerDecoderBuilder::checked_step(const TransformerState& state,
                                                         const Expression& x, Where where) const {
  const unsigned examples = check_state(state, x, where);
  detail::RepeatableDraws draws(x.pg);
  TransformerState next = state;
  // Equal numbers of examples in all layers, because the next step requires it.
  const bool stands_for_all = x.dim().bd != examples;
  const Expression all =
      stands_for_all ? pick_batch_elems(x, std::vector<unsigned>(examples, 0), where) : x;
  const Dim like = all.dim();
  Expression y = as_batch(all, where);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const AttentionMemory* memory = state.memory == nullptr ? nullptr : &(*state.memory)[i];
    y = layers_[i].decode(y, like, next.layers[i], memory, where);
  }
  next.output = as_columns(normalised(y, where), like, where);
  draws.keep();
  return next;
}

// ---- positions

PositionalEncoding::~PositionalEncoding() = default;

namespace {
/// The shape of x, the argument of `call`, after checks.
const Dim& given_shape(const char* call, const Expression& x, unsigned dim, Where where) {
  const Dim& d = builders::dim_of(x, where, [call] { return std::string(call); });
  check_columns(std::string(call) + ": ", "x is", x, dim);
  return d;
}

/// x + `encoding`, both as batches of positions, in the form of x.
Expression plus(const Expression& x, const Expression& encoding, Where where) {
  return as_columns(detail::Located(as_batch(x, where), where) + encoding, x.dim(), where);
}
}  // namespace

Expression SinusoidalEncoding::add(const Expression& x, unsigned first, Where where) const {
  return detail::with_typed_allocation([&] { return plus_positions(x, first, where); });
}

Expression SinusoidalEncoding::plus_positions(const Expression& x, unsigned first,
                                              Where where) const {
  const Dim& d = given_shape("SinusoidalEncoding: add", x, dim_, where);
  const std::size_t end = std::size_t{first} + d.cols();
  const std::size_t known = numbers_.size();
  numbers_.resize(std::max(known, end * dim_));
  for (std::size_t k = known; k < numbers_.size(); ++k) {
    const std::size_t position = k / dim_;
    const std::size_t i = k % dim_;
    const double share = static_cast<double>(i - (i % 2)) / static_cast<double>(dim_);
    const double turn = static_cast<double>(position) / std::pow(10000.0, share);
    numbers_[k] = static_cast<float>(i % 2 == 0 ? std::sin(turn) : std::cos(turn));
  }
  const auto from = numbers_.begin() + static_cast<std::ptrdiff_t>(std::size_t{first} * dim_);
  const auto to = numbers_.begin() + static_cast<std::ptrdiff_t>(end * dim_);
  std::vector<float> all;
  all.reserve(static_cast<std::size_t>(d.elements()));
  for (unsigned e = 0; e < d.bd; ++e) {
    all.insert(all.end(), from, to);
  }
  const Dim batch({dim_}, to_extent(ext::Count(d.cols()) * d.bd, "SinusoidalEncoding: positions"));
  Device* const device = get_device_manager()->get_global_device(x.get_device_name());
  return plus(x, input({*x.pg, where}, batch, all, device), where);
}

LearnedEncoding::LearnedEncoding(unsigned dim, unsigned max_positions, ParameterCollection& model)
    : PositionalEncoding(dim), collection_(model.add_subcollection("learned-encoding")) {
  table_ = collection_.add_lookup_parameters(max_positions, {dim});
}

Expression LearnedEncoding::add(const Expression& x, unsigned first, Where where) const {
  return detail::with_typed_allocation([&] { return plus_positions(x, first, where); });
}

Expression LearnedEncoding::plus_positions(const Expression& x, unsigned first, Where where) const {
  const Dim& d = given_shape("LearnedEncoding: add", x, dim_, where);
  const unsigned rows = table_.get_storage().rows();
  if (std::size_t{first} + d.cols() > rows) {
    throw errors::IndexError("LearnedEncoding: add: x is " + to_string(d) + ", from position " +
                             std::to_string(first) + " on; there are " + std::to_string(rows));
  }
  std::vector<unsigned> positions;
  positions.reserve(std::size_t{d.cols()} * d.bd);
  for (unsigned e = 0; e < d.bd; ++e) {
    for (unsigned k = 0; k < d.cols(); ++k) {
      positions.push_back(first + k);
    }
  }
  const detail::LocatedGraph graph(*x.pg, where);
  return plus(
      x, is_updated_ ? lookup(graph, table_, positions) : const_lookup(graph, table_, positions),
      where);
}

}  // namespace dynet
