// Cells of programs (dynet/cell.h): few functions, so that the same records are called by all
// programs, in loops, trees, batches and alone. In Form::kPlain the functions run by themselves.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "dynet/cell.h"
#include "dynet/except.h"

#include "support/builder_programs.h"

namespace dynet::testing {
namespace {

using Nodes = std::vector<Expression>;

/// A cell, and its function without one.
class TwoForms {
 public:
  TwoForms(const std::string& name, const Cell::Function& function,
           const std::vector<unsigned>& inputs = {})
      : cell_(name, function, inputs), plain_(name, function, inputs, false) {}
  Nodes operator()(const Making& making, const Nodes& args) {
    return (making.form == Form::kPlain ? plain_ : cell_)(args);
  }

 private:
  Cell cell_;
  Cell plain_;
};

Expression gate(ComputationGraph& cg, const std::array<Parameter, 3>& p, const Expression& x,
                const Expression& h) {
  return affine_transform({parameter(cg, p[0]), parameter(cg, p[1]), x, parameter(cg, p[2]), h});
}
std::array<Parameter, 3> add_gate(ParameterCollection& model, unsigned size) {
  return {model.add_parameters({size}), model.add_parameters({size, size}),
          model.add_parameters({size, size})};
}

/// A recurrence with a state of two vectors. Its steps go on from any state; two loops and two
/// layers share its weights.
class Loops final : public Part {
 public:
  Loops(ParameterCollection& model, unsigned size)
      : forget_(add_gate(model, size)),
        new_(add_gate(model, size)),
        cell_("loop",
              [this](ComputationGraph& cg, const Nodes& in) {
                const Expression f = logistic(gate(cg, forget_, in[0], in[1]));
                const Expression c =
                    cmult(f, in[2]) + cmult(1.0F - f, tanh(gate(cg, new_, in[0], in[1])));
                return Nodes{cmult(f, tanh(c)), c};
              },
              {0}) {}
  void enter(ComputationGraph& /*cg*/) override {
    states_.clear();
    marks_.clear();
  }
  void act(Making& making) override {
    Random& random = making.random;
    if (states_.empty() || random.chance(0.2)) {
      states_.push_back({making.any(), making.any()});
    }
    if (random.chance(0.1)) {
      fail(making);
    }
    const Nodes from = states_[random.below(static_cast<unsigned>(states_.size()))];
    const bool is_apart = random.chance(0.7);
    std::vector<Nodes> loops(1 + random.below(3), from);
    for (unsigned t = 1 + random.below(5); t != 0; --t) {
      for (Nodes& state : loops) {
        if (random.chance(0.8)) {  // loops of many lengths
          state = step(making, is_apart ? making.fresh() : making.any(), state);
        }
      }
    }
    for (const Nodes& state : loops) {
      states_.push_back(state);
      // Not the second result itself: the first one is computed from it within the cell, and the
      // gradient of a result counts its uses outside.
      making.offer(random.chance(0.7) ? state[0] : tanh(state[1]));
    }
    if (random.chance(0.1)) {
      making.ask(states_[random.below(static_cast<unsigned>(states_.size()))][0]);
    }
  }
  void mark() override { marks_.push_back(states_.size()); }
  void revert() override {
    states_.resize(marks_.back());
    marks_.pop_back();
  }

 private:
  Nodes step(Making& making, const Expression& x, const Nodes& state) {
    switch (making.random.below(8)) {
      case 0:  // one node is several arguments
        return cell_(making, {state[0], state[0], state[1]});
      case 1:
        return cell_(making, {x, state[1], state[1]});
      case 2:  // two layers with one weight
        return cell_(making, {cell_(making, {x, state[0], state[1]})[0], state[0], state[1]});
      default:
        return cell_(making, {x, state[0], state[1]});
    }
  }
  /// An exception in the middle of a function, or a refusal.
  void fail(Making& making) const {
    const bool is_own = making.random.chance(0.5);
    const Expression x = making.any();
    const auto function = [&](ComputationGraph& cg, const Nodes& in) {
      const Expression y = tanh(gate(cg, forget_, in[0], in[0]));
      if (is_own) {
        throw std::runtime_error("in mid-cell");
      }
      return Nodes{y * y};
    };
    TwoForms cell("fails", function);
    if (is_own) {
      EXPECT_THROW(cell(making, {x}), std::runtime_error);
    } else {
      EXPECT_THROW(cell(making, {x}), errors::Error);
    }
  }

  std::array<Parameter, 3> forget_, new_;
  TwoForms cell_;
  std::vector<Nodes> states_;
  std::vector<std::size_t> marks_;
};

/// Nodes of trees with any number of children, or none, and at times without a vector of their own.
class Trees final : public Part {
 public:
  Trees(ParameterCollection& model, unsigned size)
      : join_(add_gate(model, size)),
        keep_(add_gate(model, size)),
        cell_("tree", [this](ComputationGraph& cg, const Nodes& in) {
          const Nodes children(in.begin() + 1, in.end());
          const Expression all = children.empty() ? tanh(in[0]) : sum(children);
          Nodes kept{tanh(gate(cg, join_, in[0], all))};
          for (const Expression& child : children) {
            kept.push_back(cmult(logistic(gate(cg, keep_, in[0], child)), child));
          }
          // A result of a cell without parameters would have a gradient in a full pass alone.
          return Nodes{sum(kept), tanh(all) - cmult(parameter(cg, keep_[0]), in[0])};
        }) {}
  void enter(ComputationGraph& /*cg*/) override {}
  void act(Making& making) override {
    std::vector<Expression> level = making.some(2, 6);
    while (level.size() > 1) {
      std::vector<Expression> next;
      for (std::size_t i = 0; i < level.size();) {
        const std::size_t count = std::min<std::size_t>(making.random.below(4), level.size() - i);
        Nodes in{making.random.chance(0.5) ? making.fresh() : level[i]};
        in.insert(in.end(), level.begin() + static_cast<std::ptrdiff_t>(i),
                  level.begin() + static_cast<std::ptrdiff_t>(i + count));
        const Nodes out = cell_(making, in);
        next.push_back(out[making.random.below(4) == 0 ? 1 : 0]);
        i += std::max<std::size_t>(count, 2);
      }
      level = std::move(next);
    }
    making.offer(level[0]);
  }
  void revert() override {}

 private:
  std::array<Parameter, 3> join_, keep_;
  TwoForms cell_;
};

/// Weights that are arguments: swapped, shared, computed. Nested cells. Chains of elementwise steps
/// with arguments that want no gradient.
class Arguments final : public Part {
 public:
  Arguments(ParameterCollection& model, unsigned size)
      : u_(model.add_parameters({size, size})),
        v_(model.add_parameters({size, size})),
        fixed_(model.add_parameters({size, size})),
        b_(model.add_parameters({size})),
        layers_("layers", [](ComputationGraph& /*cg*/,
                             const Nodes& in) { return Nodes{tanh(in[0] * tanh(in[1] * in[2]))}; }),
        chain_("chain",
               [](ComputationGraph& /*cg*/, const Nodes& in) {
                 const Expression y = cmult(logistic(in[0]), in[1]) + tanh(in[2]);
                 const Expression z = cmult(y, y) - cmult(in[0], in[0]);
                 return Nodes{0.5F * (cmult(z, in[3]) - in[0]), logistic(y - in[3])};
               }),
        nested_("nested", [this](ComputationGraph& cg, const Nodes& in) {
          const Expression y = inner(cg, in);
          const Expression range = logsumexp_dim(y) - max_dim(in[1]);  // both save what they found
          return Nodes{softmax(y) * range + in[0]};
        }) {}
  void enter(ComputationGraph& cg) override {
    const Expression u = parameter(cg, u_);
    weights_ = {u, parameter(cg, v_), const_parameter(cg, fixed_), 0.5F * u};
  }
  void act(Making& making) override {
    Random& random = making.random;
    for (unsigned i = 1 + random.below(4); i != 0; --i) {
      switch (random.below(3)) {
        case 0:
          making.offer(layers_(making, {weight(random), weight(random), making.any()}));
          break;
        case 1: {
          Nodes in = making.some(4, 4);
          in[random.below(4)] = random.chance(0.5) ? making.leaf() : parameter(making.cg, b_);
          in[random.below(4)] = making.leaf();
          making.offer(chain_(making, in)[random.below(2)]);
          break;
        }
        default:
          making.offer(nested_(making, {making.any(), making.any()}));
      }
    }
  }
  void revert() override {}

 private:
  const Expression& weight(Random& random) const { return weights_[random.below(4)]; }
  Expression inner(ComputationGraph& cg, const Nodes& in) const {
    return affine_transform(
        {parameter(cg, b_), parameter(cg, u_), in[0], parameter(cg, v_), in[1]});
  }

  Parameter u_, v_, fixed_, b_;
  std::array<Expression, 4> weights_;
  TwoForms layers_, chain_, nested_;
};

/// A cell that reads the matrix of a sentence, by a question at a time.
class Readers final : public Part {
 public:
  Readers(ParameterCollection& model, unsigned size)
      : u_(model.add_parameters({size, size})),
        read_("read",
              [this](ComputationGraph& cg, const Nodes& in) {
                const Expression scores = transpose(in[1]) * (parameter(cg, u_) * in[0]);
                return Nodes{tanh((in[1] + in[0]) * softmax(scores))};
              }),
        change_("change", [this](ComputationGraph& cg, const Nodes& in) {
          return Nodes{tanh(parameter(cg, u_) * in[0]) + cmult(in[0], softmax(in[0]))};
        }) {}
  void enter(ComputationGraph& /*cg*/) override {}
  void act(Making& making) override {
    Random& random = making.random;
    for (unsigned i = 1 + random.below(3); i != 0; --i) {
      Expression words = making.columns(making.some(1, 6));
      if (random.chance(0.5)) {
        words = change_(making, {words})[0];
      }
      for (unsigned k = 1 + random.below(3); k != 0; --k) {
        making.offer(read_(making, {making.any(), random.chance(0.8) ? words : tanh(words)}));
      }
    }
  }
  void revert() override {}

 private:
  Parameter u_;
  TwoForms read_, change_;
};

template <class P>
PartKind cells(const std::string& name) {
  return {name, [](ParameterCollection& model, unsigned size, Random&) {
            return std::make_unique<P>(model, size);
          }};
}

}  // namespace

void add_cell_kinds(std::vector<PartKind>& kinds) {
  kinds.push_back(cells<Loops>("cells in loops"));
  kinds.push_back(cells<Trees>("cells in trees"));
  kinds.push_back(cells<Arguments>("cells of weights"));
  kinds.push_back(cells<Readers>("cells that read sentences"));
}

}  // namespace dynet::testing
