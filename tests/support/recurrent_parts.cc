// Recurrent builders, recurrences in operations, and networks that read from both ends.

#include <algorithm>
#include <array>
#include <span>
#include <type_traits>

#include "dynet/birnn.h"
#include "dynet/deep-lstm.h"
#include "dynet/ext/add_node.h"
#include "dynet/fast-lstm.h"
#include "dynet/gru.h"
#include "dynet/lstm.h"

#include "support/builder_programs.h"
#include "user_ops/linear.h"

namespace dynet::testing {
namespace {

/// Sets random rates of dropout, or none.
template <class Builder>
void draw_rates(Builder& builder, Random& random) {
  if (random.chance(0.3)) {
    builder.set_dropout(0.25F);
  }
}

/// A builder of sequences. Steps go on from any step of the sequence.
template <class Builder>
class Recurrent final : public Part {
 public:
  template <class... Options>
  Recurrent(ParameterCollection& model, unsigned size, Random& random, Options... options)
      : builder_(1 + random.below(2), size, size, model, options...) {
    draw_rates(builder_, random);
    if constexpr (std::is_same_v<Builder, SparseLSTMBuilder>) {
      builder_.set_sparsity(0.5F);
    }
    if constexpr (std::is_same_v<Builder, CompactVanillaLSTMBuilder>) {
      builder_.set_weightnoise(random.chance(0.5) ? 0.25F : 0.0F);
    }
  }
  void enter(ComputationGraph& cg) override {
    builder_.new_graph(cg);
    marks_.clear();
    begin({});
  }
  void act(Making& making) override {
    const unsigned chance = making.random.below(20);
    const RNNPointer from = any_state(making.random);
    if (chance == 0) {
      const unsigned count = making.random.chance(0.5) ? builder_.num_h0_components() : 0;
      begin(making.some(count, count));
    } else if (chance == 1) {
      making.offer(builder_.set_h(from, making.some(builder_.layers, builder_.layers)));
    } else if (chance == 2) {
      const unsigned count = builder_.num_h0_components();
      making.offer(builder_.set_s(from, making.some(count, count)));
    } else if (chance < 6) {
      making.offer(builder_.transduce(from, making.some(1, 4)));
    } else if (chance < 8 && is_lagging()) {
      if constexpr (std::is_same_v<Builder, SimpleRNNBuilder>) {
        making.offer(builder_.add_auxiliary_input(making.any(), making.any()));
      }
    } else if (chance < 9) {
      making.offer(builder_.add_input(from, making.any()));
    } else {
      grow(making, from);
    }
  }
  void mark() override { marks_.push_back({sequence_, builder_.h.size()}); }
  /// A sequence as old as the mark goes on, unless its masks may be gone.
  void revert() override {
    const Mark mark = marks_.back();
    marks_.pop_back();
    if (mark.sequence == sequence_ && mark.steps != 0) {
      builder_.forget_after(static_cast<RNNPointer>(mark.steps) - 1);
    } else {
      begin({});
    }
  }

 private:
  struct Mark {
    unsigned sequence;
    std::size_t steps;
  };
  void begin(const std::vector<Expression>& state) {
    builder_.start_new_sequence(state);
    ++sequence_;
  }
  /// Sequences that go on from one state side by side, as in a beam. Most inputs wait for no step:
  /// the first terms of their steps are computed apart, in a group for each time of readiness.
  void grow(Making& making, RNNPointer from) {
    const bool is_apart = making.random.chance(0.8);
    const unsigned width = 2 + making.random.below(3);
    const unsigned depth = 2 + making.random.below(3);
    for (unsigned w = 0; w < width; ++w) {
      RNNPointer at = from;
      for (unsigned d = 0; d < depth; ++d) {
        making.offer(builder_.add_input(at, is_apart ? making.fresh() : making.any()));
        at = builder_.state();
      }
    }
  }
  /// A state, a late one more likely; -1: the initial one.
  [[nodiscard]] RNNPointer any_state(Random& random) const {
    const auto last = static_cast<RNNPointer>(builder_.h.size()) - 1;
    const auto back = static_cast<RNNPointer>(random.below(random.chance(0.7) ? 3 : 12));
    return std::max(-1, last - back);
  }
  [[nodiscard]] bool is_lagging() const {
    if constexpr (std::is_same_v<Builder, SimpleRNNBuilder>) {
      return builder_.lagging;
    }
    return false;
  }

  Builder builder_;
  unsigned sequence_ = 0;
  std::vector<Mark> marks_;
};

template <class Builder>
class BothWays final : public Part {
 public:
  BothWays(ParameterCollection& model, unsigned size, Random& random)
      : builder_(1 + random.below(2), size, size, model) {
    draw_rates(builder_, random);
  }
  void enter(ComputationGraph& cg) override { builder_.new_graph(cg); }
  void act(Making& making) override {
    const bool is_sentence = making.random.chance(0.5);
    making.offer(builder_.transduce(is_sentence ? making.sentence(1, 5) : making.some(1, 5)));
    if (making.random.chance(0.3)) {
      making.offer(builder_.back());
    }
  }
  void revert() override {}

 private:
  BiRNNBuilder<Builder> builder_;
};

/// h' = tanh(b + U h + W x), in operations of the library or in one of a program.
class PlainSteps final : public Part {
 public:
  PlainSteps(ParameterCollection& model, unsigned size, bool is_users)
      : b_(model.add_parameters({size})),
        u_(model.add_parameters({size, size})),
        w_(model.add_parameters({size, size})),
        is_users_(is_users) {}
  void enter(ComputationGraph& cg) override {
    list_ = {parameter(cg, b_), parameter(cg, u_), parameter(cg, w_)};
  }
  void act(Making& making) override {
    const auto& [b, u, w] = list_;
    const Expression h = making.any();
    const Expression x = making.any();
    if (is_users_) {
      const Expression list[] = {b, u, h, w, x};
      making.offer(
          ext::add_node(user::RecurrentStep{}, std::span<const Expression>(list), Where::here()));
    } else {
      making.offer(tanh(affine_transform({b, w, x, u, h})));
    }
  }
  void revert() override {}

 private:
  Parameter b_, u_, w_;
  std::array<Expression, 3> list_;
  bool is_users_;
};

template <class Builder, class... Options>
PartKind recurrent(const std::string& name, Options... options) {
  return {name, [=](ParameterCollection& model, unsigned size, Random& random) {
            return std::make_unique<Recurrent<Builder>>(model, size, random, options...);
          }};
}
template <class Builder>
PartKind both_ways(const std::string& name) {
  return {name, [](ParameterCollection& model, unsigned size, Random& random) {
            return std::make_unique<BothWays<Builder>>(model, size, random);
          }};
}
PartKind plain(const std::string& name, bool is_users) {
  return {name, [is_users](ParameterCollection& model, unsigned size, Random&) {
            return std::make_unique<PlainSteps>(model, size, is_users);
          }};
}

}  // namespace

void add_recurrent_kinds(std::vector<PartKind>& kinds) {
  kinds.push_back(recurrent<SimpleRNNBuilder>("SimpleRNNBuilder"));
  kinds.push_back(recurrent<SimpleRNNBuilder>("SimpleRNNBuilder with lags", true));
  kinds.push_back(recurrent<GRUBuilder>("GRUBuilder"));
  kinds.push_back(recurrent<GRUBuilder>("GRUBuilder, reset after", true));
  kinds.push_back(recurrent<VanillaLSTMBuilder>("VanillaLSTMBuilder"));
  kinds.push_back(recurrent<VanillaLSTMBuilder>("VanillaLSTMBuilder, normalised", true));
  kinds.push_back(recurrent<SparseLSTMBuilder>("SparseLSTMBuilder"));
  kinds.push_back(recurrent<CompactVanillaLSTMBuilder>("CompactVanillaLSTMBuilder"));
  kinds.push_back(recurrent<CoupledLSTMBuilder>("CoupledLSTMBuilder"));
  kinds.push_back(recurrent<FastLSTMBuilder>("FastLSTMBuilder"));
  kinds.push_back(recurrent<DeepLSTMBuilder>("DeepLSTMBuilder"));
  kinds.push_back(both_ways<VanillaLSTMBuilder>("BiRNNBuilder of VanillaLSTMBuilder"));
  kinds.push_back(both_ways<GRUBuilder>("BiRNNBuilder of GRUBuilder"));
  kinds.push_back(plain("a step in operations", false));
  kinds.push_back(plain("a step in one operation of the program", true));
}

}  // namespace dynet::testing
