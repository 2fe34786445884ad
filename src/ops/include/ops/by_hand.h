#pragma once

// For tests: calls of an operation built by hand, without graph, schedule or executor, with the
// kernels in double. Every operand can be cut into several blocks. Results can be fresh, or be
// added to earlier numbers.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "dynet/ext/testing.h"

#include "kernels/kernels.h"
#include "params/host_memory.h"

namespace dynet::ops::testing {

using dynet::testing::Sample;
using dynet::testing::sample_of;

/// An operand that owns its memory.
class Held {
 public:
  Held() = default;
  /// `cut`: the number of examples in the first block, with the rest in a second block; 0: one
  /// block.
  Held(const Dim& dim, std::int64_t examples, std::int64_t cut) : dim_(dim.single_batch()) {
    const auto add = [&](std::int64_t n) {
      memory_.emplace_back(static_cast<std::size_t>(n * dim_.example_elements()), kUnset);
      counts_.push_back(n);
    };
    if (cut > 0 && cut < examples) {
      add(cut);
      add(examples - cut);
    } else {
      add(examples);
    }
    for (std::size_t b = 0; b < memory_.size(); ++b) {
      blocks_.push_back({memory_[b].data(), counts_[b], true});
    }
    examples_ = examples;
  }
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(examples_ * dim_.example_elements());
  }
  double& operator[](std::size_t i) {
    std::size_t b = 0;
    while (i >= memory_[b].size()) {
      i -= memory_[b++].size();
    }
    return memory_[b][i];
  }
  void fill(double v) {
    for (auto& m : memory_) {
      std::fill(m.begin(), m.end(), v);
    }
  }
  void fill_random(std::mt19937& rng, double low, double high) {
    std::uniform_real_distribution<double> draw(low, high);
    for (auto& m : memory_) {
      for (double& v : m) {
        v = draw(rng);
      }
    }
  }
  void set_fresh(bool fresh) {
    for (auto& b : blocks_) {
      b.fresh = fresh;
    }
  }
  [[nodiscard]] ext::Operand view() const {
    if (blocks_.empty()) {
      return {};
    }
    return {dim_, examples_, blocks_.data(), static_cast<std::int64_t>(blocks_.size()), nullptr};
  }
  [[nodiscard]] ext::Operand absent() const { return {dim_, 0, nullptr, 0, nullptr}; }

  static constexpr double kUnset = std::numeric_limits<double>::quiet_NaN();

 private:
  Dim dim_;
  std::int64_t examples_ = 0;
  std::vector<std::vector<double>> memory_;
  std::vector<std::int64_t> counts_;
  std::vector<ext::Block> blocks_;
};

/// The layout of a call.
struct Layout {
  unsigned batch = 1;
  std::int64_t nodes = 1;      ///< of an operation on whole batches; each has `batch` examples
  std::uint64_t repeated = 0;  ///< bit i: argument i has one example beside `batch`
  bool is_cut = false;         ///< operands lie in two blocks if they can
  bool adds = false;           ///< gradients are added to earlier numbers

  [[nodiscard]] std::string text() const {
    return " batch " + std::to_string(batch) + " nodes " + std::to_string(nodes) + " repeated " +
           std::to_string(repeated) + (is_cut ? " cut" : "") + (adds ? " adds" : "");
  }
};

/// Memory for calls, kept until clear().
class HeldScratch final : public ext::ScratchMemory {
 public:
  void* take(std::int64_t bytes) override {
    constexpr std::size_t kAlign = 64;
    std::size_t room = static_cast<std::size_t>(bytes) + kAlign;
    memory_.emplace_back(room);
    void* at = memory_.back().data();
    return std::align(kAlign, static_cast<std::size_t>(bytes), at, room);
  }
  [[nodiscard]] ext::Memory& memory() const override { return params::host_memory(); }
  void clear() { memory_.clear(); }

 private:
  std::vector<std::vector<std::byte>> memory_;
};

/// One call with all of its memory.
class ByHand {
 public:
  ByHand(const Sample& sample, const Layout& layout, unsigned seed)
      : sample_(sample), layout_(layout), rng_(seed) {
    make_inputs();
    make_results();
    make_payload();
  }

  [[nodiscard]] std::size_t arity() const { return in_.size(); }
  Held& in(std::size_t i) { return in_[i]; }
  Held& out(std::size_t k) { return out_[k]; }
  Held& d_out(std::size_t k) { return d_out_[k]; }
  Held& d_in(std::size_t i) { return d_in_[i]; }
  [[nodiscard]] std::size_t outputs() const { return out_.size(); }
  [[nodiscard]] const std::vector<Dim>& out_dims() const { return out_dims_; }

  void forward() {
    for (Held& y : out_) {
      y.fill(Held::kUnset);
    }
    scratch_.clear();
    call_views();
    sample_.record->forward(sample_.op.get(), call_);
  }
  /// `without_in`, `without_out`: masks of gradients that are absent.
  void backward(std::uint64_t without_in = 0, std::uint64_t without_out = 0) {
    const bool adds = layout_.adds || sample_.record->partial_gradient;
    for (Held& dx : d_in_) {
      dx.fill(layout_.adds ? kBefore : adds ? 0.0 : Held::kUnset);
      dx.set_fresh(!adds);
    }
    scratch_.clear();
    call_views();
    // Forward's results in one block may be backward's input in several.
    d_out_views_.clear();
    d_in_views_.clear();
    for (std::size_t k = 0; k < d_out_.size(); ++k) {
      d_out_views_.push_back((without_out >> k & 1) != 0 ? d_out_[k].absent() : d_out_[k].view());
    }
    for (std::size_t i = 0; i < d_in_.size(); ++i) {
      d_in_views_.push_back((without_in >> i & 1) != 0 ? d_in_[i].absent() : d_in_[i].view());
    }
    call_.d_out = d_out_views_;
    call_.d_in = d_in_views_;
    sample_.record->backward(sample_.op.get(), call_);
  }
  /// The sum of d_out * out, over the outputs that are not in the mask.
  double loss(std::uint64_t without_out = 0) {
    forward();
    double sum = 0;
    for (std::size_t k = 0; k < out_.size(); ++k) {
      if ((without_out >> k & 1) != 0) {
        continue;
      }
      for (std::size_t i = 0; i < out_[k].size(); ++i) {
        sum += d_out_[k][i] * out_[k][i];
      }
    }
    return sum;
  }
  /// The earlier numbers of gradients, with Layout::adds.
  static constexpr double kBefore = 0.25;

 private:
  [[nodiscard]] bool is_whole() const { return sample_.record->has_whole; }
  [[nodiscard]] std::int64_t cut(std::size_t i, std::int64_t examples) const {
    return layout_.is_cut ? (i % 2 == 0 ? 1 : examples - 1) : 0;
  }
  /// An operation of whole batches sees one batch per node, with the batch as last dimension. If a
  /// shape has seven dimensions, the first two are joined.
  static Dim with_batch(Dim d) {
    if (d.nd == DYNET_MAX_TENSOR_DIM) {
      d.d[1] *= d.d[0];
      std::copy(d.d + 1, d.d + d.nd, d.d);
      --d.nd;
    }
    d.d[d.nd++] = d.bd;
    return d.single_batch();
  }
  void make_inputs() {
    for (std::size_t i = 0; i < sample_.inputs.size(); ++i) {
      const bool is_repeated = (layout_.repeated >> i & 1) != 0;
      Dim dim = sample_.inputs[i];
      std::int64_t n = is_repeated ? 1 : layout_.batch;
      shape_dims_.push_back(dim);
      if (ext::is_absent(dim)) {
        call_.absent |= 1U << (sample_.record->optional[i] - 1);
        in_.emplace_back();
        d_in_.emplace_back();
        continue;
      }
      if (is_whole()) {
        shape_dims_.back().bd = static_cast<unsigned>(n);
        dim = with_batch(shape_dims_.back());
        n = layout_.nodes;
      }
      in_.emplace_back(dim, n, cut(i, n));
      in_.back().fill_random(rng_, sample_.low, sample_.high);
      d_in_.emplace_back(dim, n, cut(i + 1, n));
    }
  }
  /// The number of indices of an example of the result; of a node, if a node has one list.
  [[nodiscard]] std::size_t indices_each() const {
    const ext::Record& r = *sample_.record;
    if (r.indices_per == ext::IndicesPer::kNode) {
      return sample_.indices.size();
    }
    return r.index_count == nullptr ? 1 : r.index_count(sample_.op.get());
  }
  [[nodiscard]] bool has_one_list() const {
    return is_whole() || sample_.record->indices_per == ext::IndicesPer::kNode;
  }
  [[nodiscard]] ext::Shapes shapes() const {
    const auto payload =
        static_cast<std::uint32_t>(sample_.record->payload == ext::Payload::kIndices
                                       ? indices_each() * (has_one_list() ? 1U : layout_.batch)
                                       : sample_.values.size());
    return {*sample_.record->info, shape_dims_, layout_.batch, payload};
  }
  void make_results() {
    const ext::Record& r = *sample_.record;
    out_dims_.resize(r.outputs);
    r.shapes(sample_.op.get(), shapes(), out_dims_.data());
    examples_ = r.arg_count == 0 ? out_dims_[0].bd : layout_.batch;
    if (is_whole()) {
      examples_ = layout_.nodes;
      for (Dim& d : out_dims_) {
        d = with_batch(d);
      }
    }
    for (std::size_t k = 0; k < out_dims_.size(); ++k) {
      out_.emplace_back(out_dims_[k], examples_, 0);
      d_out_.emplace_back(out_dims_[k], examples_, cut(k, examples_));
      d_out_.back().fill_random(rng_, -1.0, 1.0);
    }
    std::vector<Dim> saved(r.saved);
    if (r.saved_shapes != nullptr) {
      r.saved_shapes(sample_.op.get(), shapes(), saved.data());
    }
    for (const Dim& d : saved) {
      saved_.emplace_back(d, examples_, 0);
    }
  }
  void make_payload() {
    const ext::Record& r = *sample_.record;
    if (r.payload == ext::Payload::kIndices) {
      const unsigned limit =
          r.index_limit == nullptr ? ~0U : r.index_limit(sample_.op.get(), shapes());
      const std::size_t each = indices_each();
      const auto lists = static_cast<unsigned>(is_whole()       ? layout_.nodes
                                               : has_one_list() ? 1
                                                                : layout_.batch);
      for (unsigned e = 0; e < lists; ++e) {
        for (std::size_t i = 0; i < each; ++i) {
          indices_.push_back((sample_.indices[i] + e) % limit);
        }
      }
      if (is_whole()) {
        std::fill(indices_.begin(), indices_.end(), 0U);
        indices_[0] = limit - 1;
      }
    }
    if (r.payload == ext::Payload::kValues) {
      const std::size_t each = sample_.values.size();
      values_ = Held(Dim({static_cast<unsigned>(each)}), layout_.batch, 0);
      for (std::size_t i = 0; i < values_.size(); ++i) {
        const std::size_t example = i / each;
        values_[i] =
            static_cast<double>(sample_.values[i % each]) + 0.1 * static_cast<double>(example);
      }
    }
    random_.push_back({{1, 2, 3, 4}, 1});
    if (examples_ > 1) {
      random_.push_back({{1, 2, 4, 4}, examples_ - 1});
    }
  }
  void call_views() {
    const auto views = [](std::vector<Held>& held, std::vector<ext::Operand>& to) {
      to.clear();
      for (const Held& h : held) {
        to.push_back(h.view());
      }
    };
    views(in_, in_views_);
    views(out_, out_views_);
    views(saved_, saved_views_);
    call_.examples = examples_;
    call_.in = in_views_;
    call_.out = out_views_;
    call_.saved = saved_views_;
    if (sample_.record->payload == ext::Payload::kIndices) {
      const auto each = static_cast<unsigned>(indices_each());
      index_block_ = {indices_.data(), static_cast<std::int64_t>(indices_.size() / each), false};
      call_.indices = {.dim = {each},
                       .examples = index_block_.examples,
                       .blocks = &index_block_,
                       .block_count = 1};
    }
    if (sample_.record->payload == ext::Payload::kValues) {
      call_.values = values_.view();
    }
    if (sample_.record->random) {
      call_.random = random_;
    }
  }

  const Sample& sample_;
  Layout layout_;
  std::mt19937 rng_;
  std::int64_t examples_ = 1;
  std::vector<Held> in_, out_, saved_, d_out_, d_in_;
  std::vector<Dim> shape_dims_, out_dims_;
  std::vector<unsigned> indices_;
  ext::Block index_block_;
  Held values_;
  std::vector<ext::Call::Random> random_;
  std::vector<ext::Operand> in_views_, out_views_, saved_views_, d_out_views_, d_in_views_;
  HeldScratch scratch_;
  ext::Call call_{kernels::double_kernels(), &scratch_};
};

}  // namespace dynet::ops::testing
