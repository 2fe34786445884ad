// Attention and transformers.

#include <algorithm>
#include <optional>
#include <type_traits>

#include "dynet/attention.h"
#include "dynet/transformer.h"

#include "support/builder_programs.h"

namespace dynet::testing {
namespace {

/// A sequence of the vectors made so far.
Expression sequence(Making& making) { return making.columns(making.some(1, 4)); }

/// Vectors or columns.
void offer_columns(Making& making, const Expression& y) {
  if (y.dim().nd < 2) {
    making.offer(y);
    return;
  }
  for (unsigned i = 0; i < y.dim().cols(); ++i) {
    making.offer(pick(y, i, 1));
  }
}

template <class Builder>
class Attention final : public Part {
 public:
  Attention(ParameterCollection& model, unsigned size) : builder_(made(size, model)) {}
  void enter(ComputationGraph& cg) override {
    builder_.new_graph(cg);
    revert();
  }
  void act(Making& making) override {
    Random& random = making.random;
    if (!memory_ || random.chance(0.3)) {
      memory_ = builder_.read(sequence(making));
    }
    if constexpr (std::is_same_v<Builder, MultiHeadAttentionBuilder>) {
      if (random.chance(0.3)) {
        memory_ = builder_.append(*memory_, making.any());
      }
      if (random.chance(0.2)) {
        const Expression xs = sequence(making);
        offer_columns(making, builder_.attend_causally(xs, builder_.read(xs)));
      }
    }
    const Expression queries = random.chance(0.7) ? making.any() : sequence(making);
    offer_columns(making, builder_.attend(queries, *memory_));
  }
  void revert() override { memory_.reset(); }

 private:
  static Builder made(unsigned size, ParameterCollection& model) {
    if constexpr (std::is_same_v<Builder, MLPAttentionBuilder>) {
      return Builder(size, size, 3, model);
    } else if constexpr (std::is_same_v<Builder, DotAttentionBuilder>) {
      return Builder(size, model);
    } else if constexpr (std::is_same_v<Builder, BiaffineAttentionBuilder>) {
      return Builder(size, size, model);
    } else {
      return Builder(size, 2, model);
    }
  }

  Builder builder_;
  std::optional<AttentionMemory> memory_;
};

TransformerOptions options_of(Random& random, bool has_memory) {
  return {.pre_norm = random.chance(0.5), .gelu = random.chance(0.5), .has_memory = has_memory};
}

class Encoder final : public Part {
 public:
  Encoder(ParameterCollection& model, unsigned size, Random& random)
      : builder_(1 + random.below(2), size, 2, 2 * size, model, options_of(random, true)),
        places_(size, 8, model) {
    if (random.chance(0.3)) {
      builder_.set_dropout(0.25F);
    }
  }
  void enter(ComputationGraph& cg) override { builder_.new_graph(cg); }
  void act(Making& making) override {
    offer_columns(making, builder_.encode(places_.add(sequence(making))));
  }
  void revert() override {}

 private:
  TransformerEncoderBuilder builder_;
  LearnedEncoding places_;
};

/// Positions one by one, from any state, as in a beam search.
class Decoder final : public Part {
 public:
  Decoder(ParameterCollection& model, unsigned size, Random& random)
      : has_memory_(random.chance(0.5)),
        builder_(1 + random.below(2), size, 2, 2 * size, model, options_of(random, has_memory_)),
        places_(size) {
    if (random.chance(0.3)) {
      builder_.set_dropout(0.25F);
    }
  }
  void enter(ComputationGraph& cg) override {
    builder_.new_graph(cg);
    states_.clear();
    marks_.clear();
  }
  void act(Making& making) override {
    Random& random = making.random;
    if (states_.empty() || random.chance(0.15)) {
      const TransformerState start =
          has_memory_ ? builder_.start(sequence(making)) : builder_.start();
      states_.push_back(builder_.add_input(start, places_.add(sequence(making))));
    } else {
      const TransformerState& from = states_[random.below(static_cast<unsigned>(states_.size()))];
      states_.push_back(builder_.add_input(from, places_.add(making.any(), from.positions())));
    }
    offer_columns(making, states_.back().output);
  }
  void mark() override { marks_.push_back(states_.size()); }
  void revert() override {
    states_.resize(marks_.back());
    marks_.pop_back();
  }

 private:
  bool has_memory_;
  TransformerDecoderBuilder builder_;
  SinusoidalEncoding places_;
  std::vector<TransformerState> states_;
  std::vector<std::size_t> marks_;
};

template <class Builder>
PartKind attention(const std::string& name) {
  return {name, [](ParameterCollection& model, unsigned size, Random&) {
            return std::make_unique<Attention<Builder>>(model, size);
          }};
}
template <class P>
PartKind transformer(const std::string& name) {
  return {name, [](ParameterCollection& model, unsigned size, Random& random) {
            return std::make_unique<P>(model, size, random);
          }};
}

}  // namespace

void add_attention_kinds(std::vector<PartKind>& kinds) {
  kinds.push_back(attention<MLPAttentionBuilder>("MLPAttentionBuilder"));
  kinds.push_back(attention<DotAttentionBuilder>("DotAttentionBuilder"));
  kinds.push_back(attention<BiaffineAttentionBuilder>("BiaffineAttentionBuilder"));
  kinds.push_back(attention<MultiHeadAttentionBuilder>("MultiHeadAttentionBuilder"));
  kinds.push_back(transformer<Encoder>("TransformerEncoderBuilder"));
  kinds.push_back(transformer<Decoder>("TransformerDecoderBuilder"));
}

}  // namespace dynet::testing
