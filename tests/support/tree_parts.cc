// Builders of trees.

#include <algorithm>
#include <type_traits>

#include "dynet/tree-builders.h"
#include "dynet/treelstm.h"

#include "support/builder_programs.h"

namespace dynet::testing {
namespace {

/// Nodes with numbers; a node may be a child of several others.
template <class Builder>
class NumberedTree final : public Part {
 public:
  NumberedTree(ParameterCollection& model, unsigned size, Random& random)
      : builder_(made(1 + random.below(2), size, model)) {
    if (random.chance(0.3)) {
      builder_.set_dropout(0.25F);
    }
  }
  void enter(ComputationGraph& cg) override {
    builder_.new_graph(cg);
    begin({});
  }
  void act(Making& making) override {
    Random& random = making.random;
    if (random.below(12) == 0) {
      // Each direction has half of the numbers.
      constexpr bool kHasHalf = std::is_same_v<Builder, BidirectionalTreeLSTMBuilder>;
      const bool is_given = !kHasHalf && random.chance(0.5);
      const unsigned count = is_given ? builder_.num_h0_components() : 0;
      begin(making.some(count, count));
    }
    std::vector<int> children;
    const unsigned most = std::min(nodes_, 1 + random.below(3));
    for (unsigned i = 0; i < most && !random.chance(0.2); ++i) {
      const auto child = static_cast<int>(nodes_ - 1 - random.below(std::min(nodes_, 5U)));
      if (std::find(children.begin(), children.end(), child) == children.end()) {
        children.push_back(child);
      }
    }
    making.offer(builder_.add_input(static_cast<int>(nodes_), children,
                                    random.chance(0.5) ? making.fresh() : making.any()));
    ++nodes_;
  }
  void revert() override { begin({}); }

 private:
  static Builder made(unsigned layers, unsigned size, ParameterCollection& model) {
    if constexpr (std::is_same_v<Builder, NaryTreeLSTMBuilder>) {
      return Builder(2, layers, size, size, model);
    } else {
      return Builder(layers, size, size, model);
    }
  }
  void begin(const std::vector<Expression>& state) {
    builder_.start_new_sequence(state);
    nodes_ = 0;
  }

  Builder builder_;
  unsigned nodes_ = 0;
};

/// Trees with two branches.
template <class Builder>
class BinaryTree final : public Part {
 public:
  BinaryTree(ParameterCollection& model, unsigned size) : builder_(made(size, model)) {}
  void enter(ComputationGraph& cg) override {
    builder_.new_graph(cg);
    states_.clear();
    marks_.clear();
  }
  void act(Making& making) override {
    Random& random = making.random;
    if (random.below(8) == 0) {  // ((w0 w1) w2) ...
      const std::vector<Expression> words = making.some(1, 4);
      std::vector<int> left{-1};
      std::vector<int> right{-1};
      for (int i = 1; i < static_cast<int>(words.size()); ++i) {
        left.insert(left.end(), {-1, 2 * i - 2});
        right.insert(right.end(), {-1, 2 * i - 1});
      }
      making.offer(builder_.transduce(words, left, right));
      return;
    }
    const bool is_word = states_.empty() || random.chance(0.4);
    states_.push_back(is_word ? builder_.add_input(making.any())
                              : builder_.add_input(any(random), any(random)));
    making.offer(states_.back().h);
  }
  void mark() override { marks_.push_back(states_.size()); }
  void revert() override {
    states_.resize(marks_.back());
    marks_.pop_back();
  }

 private:
  static Builder made(unsigned size, ParameterCollection& model) {
    if constexpr (std::is_same_v<Builder, TreeRNNBuilder>) {
      return Builder(size, model);
    } else {
      return Builder(size, size, model);
    }
  }
  [[nodiscard]] const TreeState& any(Random& random) const {
    return states_[random.below(static_cast<unsigned>(states_.size()))];
  }

  Builder builder_;
  std::vector<TreeState> states_;
  std::vector<std::size_t> marks_;
};

template <class Builder>
PartKind numbered(const std::string& name) {
  return {name, [](ParameterCollection& model, unsigned size, Random& random) {
            return std::make_unique<NumberedTree<Builder>>(model, size, random);
          }};
}
template <class Builder>
PartKind binary(const std::string& name) {
  return {name, [](ParameterCollection& model, unsigned size, Random&) {
            return std::make_unique<BinaryTree<Builder>>(model, size);
          }};
}

}  // namespace

void add_tree_kinds(std::vector<PartKind>& kinds) {
  kinds.push_back(binary<BinaryTreeLSTMBuilder>("BinaryTreeLSTMBuilder"));
  kinds.push_back(binary<TreeRNNBuilder>("TreeRNNBuilder"));
  kinds.push_back(numbered<NaryTreeLSTMBuilder>("NaryTreeLSTMBuilder"));
  kinds.push_back(numbered<ChildSumTreeLSTMBuilder>("ChildSumTreeLSTMBuilder"));
  kinds.push_back(numbered<TreeGRUBuilder>("TreeGRUBuilder"));
  kinds.push_back(numbered<UnidirectionalTreeLSTMBuilder>("UnidirectionalTreeLSTMBuilder"));
  kinds.push_back(numbered<BidirectionalTreeLSTMBuilder>("BidirectionalTreeLSTMBuilder"));
}

}  // namespace dynet::testing
