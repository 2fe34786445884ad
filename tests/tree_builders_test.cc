// Builders of trees in whole programs: gradients, how nodes merge, model files, training, memory.

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/io.h"
#include "dynet/training.h"
#include "dynet/tree-builders.h"
#include "dynet/treelstm.h"

#include "support/builder_checks.h"
#include "support/differences.h"
#include "testing/device.h"
#include "testing/errors.h"
#include "testing/random.h"

namespace dynet {
namespace {

template <class Builder>
class TreeBuilders : public ::testing::Test {};
using Builders = ::testing::Types<NaryTreeLSTMBuilder, ChildSumTreeLSTMBuilder, TreeGRUBuilder,
                                  UnidirectionalTreeLSTMBuilder, BidirectionalTreeLSTMBuilder>;
TYPED_TEST_SUITE(TreeBuilders, Builders);

constexpr unsigned kSize = 4;  ///< of inputs and states

/// Two layers; places for two children.
template <class Builder>
Builder make(ParameterCollection& model) {
  if constexpr (std::is_same_v<Builder, NaryTreeLSTMBuilder>) {
    return Builder(2, 2, kSize, kSize, model);
  } else {
    return Builder(2, kSize, kSize, model);
  }
}

/// The children of each node, which come before it.
using Tree = std::vector<std::vector<int>>;

template <class Builder>
Expression add_tree(Builder& builder, const Tree& tree, const std::vector<Expression>& xs) {
  for (std::size_t id = 0; id < tree.size(); ++id) {
    builder.add_input(static_cast<int>(id), tree[id], xs[id % xs.size()]);
  }
  return builder.back();
}

// ---- gradients
// ------------------------------------------------------------------------------------

/// Trees with and without an initial state.
template <class Builder>
struct Program {
  ParameterCollection model;
  Builder builder = make<Builder>(model);
  std::vector<Parameter> xs;
  std::vector<Parameter> states;

  Program() {
    for (int i = 0; i < 3; ++i) {
      xs.push_back(model.add_parameters({kSize}));
    }
    const bool halves = std::is_same_v<Builder, BidirectionalTreeLSTMBuilder>;
    for (unsigned i = 0; i < builder.num_h0_components(); ++i) {
      states.push_back(model.add_parameters({halves ? kSize / 2 : kSize}));
    }
    testing::draw_values(model);
  }
  Expression loss(ComputationGraph& cg) {
    reset_rng(3);  // the same masks each time
    builder.new_graph(cg);
    const std::vector<Expression> in = testing::nodes_of(cg, xs);
    const std::vector<Expression> state = testing::nodes_of(cg, states);
    builder.start_new_sequence();
    const Expression first = add_tree(builder, {{}, {}, {0, 1}, {}, {3}, {2, 3, 4}}, in);
    builder.start_new_sequence(state);
    const Expression second = add_tree(builder, {{}, {0}, {}, {1, 2}}, in);
    return sum_elems(first) * 0.5F + squared_norm(first) + squared_norm(second) * 0.75F +
           sum_elems(builder.get_s(1)[0]);
  }
};

template <class Builder>
void check_gradients(float dropout) {
  const testing::DefaultDevice scope(testing::double_device());
  Program<Builder> program;
  program.builder.set_dropout(dropout);
  testing::expect_gradients(
      program.model, [&](ComputationGraph& cg) { return program.loss(cg); }, 10);
}

TYPED_TEST(TreeBuilders, GradientsAgreeWithDifferences) { check_gradients<TypeParam>(0.0F); }
TYPED_TEST(TreeBuilders, GradientsWithMasks) { check_gradients<TypeParam>(0.25F); }

// ---- errors
// ---------------------------------------------------------------------------------------

// Through the base class there is no line, as its add_input is DyNet 2.1's.
TYPED_TEST(TreeBuilders, ErrorsHaveTheCallersLine) {
  ParameterCollection model;
  auto builder = make<TypeParam>(model);
  ComputationGraph other;
  const Expression stranger = input(other, {kSize}, {1, 2, 3, 4});
  ComputationGraph cg;
  builder.new_graph(cg);
  builder.start_new_sequence();
  const std::string here = "tree_builders_test.cc:" + std::to_string(__LINE__ + 1);
  const auto add = [&] { builder.add_input(0, {}, stranger); };
  const auto add_by_base = [&] {
    static_cast<TreeLSTMBuilder&>(builder).add_input(0, {}, stranger);
  };
  EXPECT_NE(testing::text_of_error<errors::GraphError>(add).find(here), std::string::npos)
      << testing::text_of_error<errors::GraphError>(add);
  EXPECT_EQ(testing::text_of_error<errors::GraphError>(add_by_base).find("tree_builders_test.cc"),
            std::string::npos);
}

// ---- merging
// --------------------------------------------------------------------------------------

/// A tree of any shape in which nodes have at most `most` children.
Tree random_tree(testing::Random& random, unsigned leaves, unsigned most) {
  Tree tree(leaves);
  std::vector<int> open;
  open.reserve(leaves);
  for (unsigned i = 0; i < leaves; ++i) {
    open.push_back(static_cast<int>(i));
  }
  while (open.size() > 1) {
    const auto count = std::min<std::size_t>(open.size(), 1 + random.below(most));
    const auto from = open.begin() + random.below(static_cast<unsigned>(open.size() - count + 1));
    const auto to = from + static_cast<std::ptrdiff_t>(count);
    tree.emplace_back(from, to);
    *from = static_cast<int>(tree.size()) - 1;
    open.erase(from + 1, to);
  }
  return tree;
}
/// A complete binary tree over 2^depth leaves.
Tree complete_tree(unsigned depth) {
  Tree tree(std::size_t{1} << depth);
  for (int child = 0; tree.size() < (std::size_t{2} << depth) - 1; child += 2) {
    tree.push_back({child, child + 1});
  }
  return tree;
}

/// Forward calls that compute the roots of these trees.
template <class Builder>
std::size_t calls_for(const std::vector<Tree>& trees, float dropout) {
  ParameterCollection model;
  auto builder = make<Builder>(model);
  builder.set_dropout(dropout);
  const LookupParameter words = model.add_lookup_parameters(20, {kSize});
  ComputationGraph cg(true);
  builder.new_graph(cg);
  std::vector<Expression> roots;
  unsigned word = 0;
  for (const Tree& tree : trees) {
    builder.start_new_sequence();
    std::vector<Expression> xs;
    xs.reserve(tree.size());
    for (std::size_t i = 0; i < tree.size(); ++i) {
      xs.push_back(lookup(cg, words, ++word % 20));
    }
    roots.push_back(add_tree(builder, tree, xs));
  }
  const VariableIndex end = roots.back().i + 1;
  return testing::calls_for(cg, sum(roots), end);
}

TYPED_TEST(TreeBuilders, NodesOfOneArityMerge) {
  for (const float dropout : {0.0F, 0.5F}) {
    // Each level of complete trees is one group of each operation: the number of groups grows with
    // the height alone.
    const std::size_t low = calls_for<TypeParam>({complete_tree(2)}, dropout);
    const std::size_t mid = calls_for<TypeParam>({complete_tree(3)}, dropout);
    const std::size_t high = calls_for<TypeParam>({complete_tree(4)}, dropout);
    EXPECT_LE(high - mid, mid - low + 1);
    EXPECT_LE(calls_for<TypeParam>(std::vector<Tree>(8, complete_tree(4)), dropout), high);
    EXPECT_LE(calls_for<TypeParam>({complete_tree(4), complete_tree(2), complete_tree(3),
                                    complete_tree(1), complete_tree(4)},
                                   dropout),
              high + high / 20);
  }
}

TYPED_TEST(TreeBuilders, MergedIsOneByOne) {
  testing::Random random(11);
  std::vector<Tree> trees;
  for (unsigned leaves = 1; leaves < 9; ++leaves) {
    trees.push_back(random_tree(random, leaves, 4));
  }
  ParameterCollection model;
  auto builder = make<TypeParam>(model);
  const LookupParameter words = model.add_lookup_parameters(20, {kSize});
  testing::draw_values(model);
  const testing::DefaultDevice scope(testing::double_device());
  std::vector<std::vector<double>> results;
  for (const bool merged : {true, false}) {
    ComputationGraph cg(merged);
    builder.new_graph(cg);
    std::vector<Expression> roots;
    for (const Tree& tree : trees) {
      builder.start_new_sequence();
      std::vector<Expression> xs;
      xs.reserve(5);
      for (unsigned i = 0; i < 5; ++i) {
        xs.push_back(lookup(cg, words, i + static_cast<unsigned>(tree.size())));
      }
      roots.push_back(add_tree(builder, tree, xs));
    }
    results.push_back(as_double_vector(concatenate(roots).value()));
  }
  EXPECT_EQ(testing::compare(results[0], results[1], tolerance::kCellInFloat), "");
}

// ---- model files, training
// ------------------------------------------------------------------------

template <class Builder>
std::vector<float> root_of(Builder& builder) {
  ComputationGraph cg;
  builder.new_graph(cg);
  builder.start_new_sequence();
  const std::vector<Expression> xs{input(cg, {kSize}, {0.5F, -1.0F, 2.0F, 0.25F}),
                                   input(cg, {kSize}, {1.0F, 0.25F, -0.5F, 3.0F})};
  return as_vector(add_tree(builder, {{}, {}, {0, 1}, {2}}, xs).value());
}

TYPED_TEST(TreeBuilders, ComeBackFromAFile) {
  const testing::ModelFile file;
  ParameterCollection model;
  auto builder = make<TypeParam>(model);
  file.save(model);
  ParameterCollection other;
  auto read = make<TypeParam>(other);
  EXPECT_NE(root_of(read), root_of(builder));
  TextFileLoader(file.name()).populate(other);
  EXPECT_EQ(root_of(read), root_of(builder));
  file.save(builder.get_parameter_collection(), "/parser");
  ParameterCollection third;
  auto again = make<TypeParam>(third);
  TextFileLoader(file.name()).populate(again.get_parameter_collection(), "/parser");
  EXPECT_EQ(root_of(again), root_of(builder));
}

/// Which of three shapes a tree has, whose nodes all have the same word.
TYPED_TEST(TreeBuilders, LearnWhatTheShapeIs) {
  ParameterCollection model;
  auto builder = make<TypeParam>(model);
  const LookupParameter words = model.add_lookup_parameters(3, {kSize});
  const Parameter out = model.add_parameters({3, kSize});
  AdamTrainer trainer(model, 0.03F);
  const Tree shapes[] = {{{}, {}, {}, {0, 1, 2}}, {{}, {}, {0, 1}, {2}}, {{}, {0}, {1}, {2}}};
  float first = 0;
  float last = 0;
  for (int i = 0; i < 100; ++i) {
    ComputationGraph cg;
    builder.new_graph(cg);
    std::vector<Expression> losses;
    for (unsigned shape = 0; shape < 3; ++shape) {
      for (unsigned word = 0; word < 3; ++word) {
        builder.start_new_sequence();
        const Expression root = add_tree(builder, shapes[shape], {lookup(cg, words, word)});
        losses.push_back(pickneglogsoftmax(parameter(cg, out) * root, shape));
      }
    }
    const Expression loss = sum(losses);
    last = as_scalar(loss.value());
    first = i == 0 ? last : first;
    cg.backward(loss);
    trainer.update();
  }
  EXPECT_LT(last, 0.2F * first);
}

}  // namespace
}  // namespace dynet
