// Properties of every builder of trees with any number of children: its formula, states by node,
// any order, dropout masks, sharing, errors, and the parameters in model files.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "testing/errors.h"
#include "tree_oracle.h"

namespace dynet {
namespace {

using builder_tests::expect_near;
using builder_tests::Layers;
using builder_tests::Masks;
using builder_tests::Nodes;
using builder_tests::Numbers;
using builder_tests::numbers_of;
using builder_tests::sample;
using builder_tests::sample_input;

using Owned = std::unique_ptr<TreeNodesBuilder>;

/// A class of builders and its formula.
struct Kind {
  const char* name;
  const char* collection;
  unsigned in;  ///< states have four numbers
  Owned (*make)(unsigned layers, unsigned in, unsigned hidden, ParameterCollection& model);
  Owned (*make_empty)();
  void (*assign)(const TreeNodesBuilder& from, TreeNodesBuilder& to);
  Layers (*node)(const TreeNodesBuilder& b, const Numbers& x, const Nodes& children,
                 const Layers& initial, const Masks& masks);
};
template <class Builder>
Kind kind(const char* name, const char* collection, unsigned in, auto make) {
  return {name,
          collection,
          in,
          make,
          []() -> Owned { return std::make_unique<Builder>(); },
          [](const TreeNodesBuilder& from, TreeNodesBuilder& to) {
            dynamic_cast<Builder&>(to) = dynamic_cast<const Builder&>(from);
          },
          [](const TreeNodesBuilder& b, const Numbers& x, const Nodes& children,
             const Layers& initial, const Masks& masks) {
            return builder_tests::node(dynamic_cast<const Builder&>(b), x, children, initial,
                                       masks);
          }};
}
template <class Builder>
Owned make(unsigned layers, unsigned in, unsigned hidden, ParameterCollection& model) {
  return std::make_unique<Builder>(layers, in, hidden, model);
}
Owned make_nary(unsigned layers, unsigned in, unsigned hidden, ParameterCollection& model) {
  return std::make_unique<NaryTreeLSTMBuilder>(2, layers, in, hidden, model);
}

std::vector<Kind> kinds() {
  return {kind<NaryTreeLSTMBuilder>("Nary", "nary-tree-lstm-builder", 3, make_nary),
          kind<ChildSumTreeLSTMBuilder>("ChildSum", "child-sum-tree-lstm-builder", 3,
                                        make<ChildSumTreeLSTMBuilder>),
          kind<TreeGRUBuilder>("Gru", "tree-gru-builder", 3, make<TreeGRUBuilder>),
          kind<UnidirectionalTreeLSTMBuilder>("Unidirectional", "unidirectional-tree-lstm-builder",
                                              4, make<UnidirectionalTreeLSTMBuilder>),
          kind<BidirectionalTreeLSTMBuilder>("Bidirectional", "bidirectional-tree-lstm-builder", 4,
                                             make<BidirectionalTreeLSTMBuilder>)};
}

/// Gives every parameter and table values by a formula: no zeros, no two alike.
void set_values(ParameterCollection& model) {
  builder_tests::set_values(model);
  double start = 2.0;
  for (const auto& p : model.lookup_parameters_list()) {
    for (unsigned row = 0; row < p->rows(); ++row) {
      std::vector<float> v = sample_input(p->dim.size(), start += 0.37);
      for (float& x : v) {
        x *= 0.5F;
      }
      p->initialize(row, v);
    }
  }
}

/// Nodes with no, one, two, three and five children.
const std::vector<std::vector<int>> kTree{{}, {}, {}, {0, 1}, {2}, {3, 1, 4}, {5, 0, 2, 1, 3}};

/// Two layers of four numbers.
class Trees : public ::testing::TestWithParam<Kind> {
 protected:
  Trees()
      : owned(GetParam().make(2, GetParam().in, 4, model)),
        tree(*owned),
        layered(dynamic_cast<LayeredTreeBuilder*>(owned.get())) {
    set_values(model);
  }
  [[nodiscard]] static Numbers x_of(int id) { return sample(id, GetParam().in); }
  Expression in(const Numbers& x) {
    return input(cg, {static_cast<unsigned>(x.size())}, std::vector<float>(x.begin(), x.end()));
  }
  void start() {
    tree.new_graph(cg);
    tree.start_new_sequence();
  }
  /// The states of all nodes by hand.
  [[nodiscard]] Nodes by_hand(const Layers& initial = {}, const Masks& masks = {}) const {
    Nodes all;
    for (std::size_t id = 0; id < kTree.size(); ++id) {
      Nodes children;
      for (const int child : kTree[id]) {
        children.push_back(all[static_cast<std::size_t>(child)]);
      }
      all.push_back(GetParam().node(tree, x_of(static_cast<int>(id)), children, initial, masks));
    }
    return all;
  }
  Expression add(int id) { return add(tree, id); }
  Expression add(TreeNodesBuilder& builder, int id) {
    return builder.add_input(id, kTree[static_cast<std::size_t>(id)], in(x_of(id)));
  }
  void add_all() {
    for (std::size_t id = 0; id < kTree.size(); ++id) {
      add(static_cast<int>(id));
    }
  }
  static void expect_state(const std::vector<Expression>& got, const Layers& want) {
    const std::size_t cells = want[0].c.empty() ? 0 : want.size();
    ASSERT_EQ(got.size(), cells + want.size());
    for (std::size_t layer = 0; layer < want.size(); ++layer) {
      expect_near(numbers_of(got[cells + layer]), want[layer].h);
      if (cells != 0) {
        expect_near(numbers_of(got[layer]), want[layer].c);
      }
    }
  }
  void expect_tree(const Nodes& want) {
    for (std::size_t id = 0; id < want.size(); ++id) {
      expect_state(tree.get_s(static_cast<int>(id)), want[id]);
    }
  }
  /// The text of the error that `call` throws.
  template <class E>
  std::string text_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const E& e) {
      return e.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return "";
  }

  ParameterCollection model;
  Owned owned;
  TreeNodesBuilder& tree;
  LayeredTreeBuilder* layered;  ///< null: the builder reads children as a sequence
  ComputationGraph cg;
};
INSTANTIATE_TEST_SUITE_P(Kinds, Trees, ::testing::ValuesIn(kinds()),
                         [](const auto& of) { return std::string(of.param.name); });

TEST_P(Trees, FollowTheFormulas) {
  start();
  const Nodes want = by_hand();
  for (std::size_t id = 0; id < kTree.size(); ++id) {
    expect_near(numbers_of(add(static_cast<int>(id))), want[id].back().h);
  }
  expect_tree(want);
  expect_near(numbers_of(tree.back()), want.back().back().h);
  expect_state(tree.final_s(), want.back());
  EXPECT_EQ(tree.final_h().size(), want.back().size());
  expect_near(numbers_of(tree.get_h(3).back()), want[3].back().h);
  tree.start_new_sequence();  // another tree in the graph
  expect_near(numbers_of(add(0)), want[0].back().h);
  tree.start_new_sequence();  // one of columns
  for (int id = 0; id < 4; ++id) {
    const Expression x = reshape(in(x_of(id)), {GetParam().in, 1});
    const auto at = static_cast<std::size_t>(id);
    expect_near(numbers_of(tree.add_input(id, kTree[at], x)), want[at].back().h);
  }
}

TEST_P(Trees, ALeafReadsTheInitialState) {
  start();
  const unsigned count = tree.num_h0_components();
  const bool has_cells = count == 4;
  const unsigned rows = std::string(GetParam().name) == "Bidirectional" ? 2 : 4;
  Layers initial{{{}, sample(4, rows)}, {{}, sample(5, rows)}};
  std::vector<Expression> given{in(initial[0].h), in(initial[1].h)};
  if (has_cells) {
    initial[0].c = sample(2, rows);
    initial[1].c = sample(3, rows);
    given.insert(given.begin(), {in(initial[0].c), in(initial[1].c)});
  }
  ASSERT_EQ(given.size(), count);
  given.back() = reshape(given.back(), Dim({given.back().dim().rows(), 1}));  // as good as a vector
  tree.start_new_sequence(given);
  EXPECT_EQ(tree.get_s(-1).size(), count);
  EXPECT_EQ(tree.final_s()[0].i, given[0].i);
  add_all();
  expect_tree(by_hand(initial));
  EXPECT_THROW(tree.start_new_sequence({given[0]}), errors::ValueError);
  expect_tree(by_hand(initial));  // as before
  tree.start_new_sequence();
  add_all();
  expect_tree(by_hand());
}

TEST_P(Trees, RefuseAWrongInitialStateAndKeepTheirNodes) {
  start();
  add_all();
  ComputationGraph other;
  const Expression none;
  const auto told = [&](const Expression& e) {
    const std::vector<Expression> given(tree.num_h0_components(), e);
    try {
      tree.start_new_sequence(given);
    } catch (const errors::Error& error) {
      return std::string(error.message());
    }
    return std::string("nothing was thrown");
  };
  const auto expect_told = [&](const Expression& e, const std::string& what) {
    const std::string text = told(e);
    EXPECT_NE(text.find(" of layer 0 of the initial state" + what), std::string::npos) << text;
    EXPECT_NE(text.find("tree_nodes_test.cc"), std::string::npos) << text;
  };
  expect_told(ones(cg, {7}), " is {7}; want {");
  expect_told(none, ": the expression is unset");
  expect_told(ones(other, {4}), " is a node of another graph");
  expect_tree(by_hand());
}

TEST_P(Trees, AnyOrderOnceTheirNumberIsKnown) {
  start();
  EXPECT_EQ(tree.get_s(-1).size(), 0U);
  for (int round = 0; round < 2; ++round) {
    tree.set_num_elements(7);
    for (const int id : {2, 4, 1, 0, 3, 5, 6}) {
      EXPECT_THROW(static_cast<void>(tree.get_h(id)), errors::IndexError);
      add(id);
      EXPECT_EQ(tree.back().i, tree.get_h(id).back().i);
    }
    expect_tree(by_hand());
    tree.start_new_sequence();
  }
  add(0);
  add(1);
  tree.set_num_elements(7);  // more nodes
  for (const int id : {2, 4, 3, 5, 6}) {
    add(id);
  }
  expect_tree(by_hand());
}

TEST_P(Trees, PlacesThatAreWrong) {
  const std::string early = text_of<errors::StateError>([&] { add(0); });
  EXPECT_NE(early.find("Builder: node 0: add_input before start_new_sequence"), std::string::npos)
      << early;
  EXPECT_THROW(tree.set_num_elements(3), errors::StateError);
  tree.new_graph(cg);
  EXPECT_THROW(add(0), errors::StateError);
  tree.start_new_sequence();
  EXPECT_THROW(static_cast<void>(tree.back()), errors::StateError);
  add(0);
  const auto says = [&](int id, const std::vector<int>& children, const char* what) {
    const std::string text =
        text_of<errors::IndexError>([&] { tree.add_input(id, children, in(x_of(1))); });
    EXPECT_NE(text.find(what), std::string::npos) << text;
    EXPECT_NE(text.find("node " + std::to_string(id) + ":"), std::string::npos) << text;
  };
  says(2, {}, "comes out of order; want node 1");
  says(-1, {}, "comes out of order; want node 1");
  says(0, {}, "was added before");
  says(1, {0, 2}, "child 2 is not there");
  says(1, {1}, "child 1 is not there");
  says(1, {-1}, "child -1 is not there");
  EXPECT_THROW(tree.set_num_elements(0), errors::ValueError);
  tree.set_num_elements(3);
  says(3, {}, "want 0 to 2");
  says(0, {}, "was added before");
  says(2, {1}, "child 1 is not there");
  add(1);
  expect_near(numbers_of(tree.back()), by_hand()[1].back().h);  // as if nothing had failed
  tree.new_graph(cg);
  EXPECT_THROW(add(2), errors::StateError);
  const Owned empty = GetParam().make_empty();
  empty->new_graph(cg);
  empty->start_new_sequence();
  EXPECT_THROW(empty->add_input(0, {}, in(x_of(0))), errors::StateError);
}

TEST_P(Trees, InputsThatAreWrong) {
  start();
  const std::string size =
      text_of<errors::ShapeError>([&] { tree.add_input(0, {}, ones(cg, {5})); });
  EXPECT_NE(size.find("Builder: node 0: x is {5}; want {" + std::to_string(GetParam().in) + "}"),
            std::string::npos)
      << size;
  tree.add_input(0, {}, ones(cg, Dim({GetParam().in}, 3)));
  const std::string batch = text_of<errors::ShapeError>(
      [&] { tree.add_input(1, {0}, ones(cg, Dim({GetParam().in}, 2))); });
  EXPECT_NE(batch.find("node 1: child 0 is a batch of 3; want 1 or 2"), std::string::npos) << batch;
  EXPECT_EQ(tree.add_input(1, {0}, ones(cg, {GetParam().in})).dim(), Dim({4}, 3));
  ComputationGraph other;
  EXPECT_THROW(tree.add_input(2, {}, ones(other, {GetParam().in})), errors::GraphError);
  EXPECT_THROW(tree.add_input(2, {}, Expression()), errors::StaleExpression);
  tree.add_input(2, {1}, ones(cg, {GetParam().in}));
}

TEST_P(Trees, RunMinibatches) {
  start();
  const unsigned n = GetParam().in;
  std::vector<float> both = sample_input(n, 0.0);
  const std::vector<float> second = sample_input(n, 1.0);
  both.insert(both.end(), second.begin(), second.end());
  const Expression x = input(cg, Dim({n}, 2), both);
  tree.add_input(0, {}, x);
  const Numbers got = numbers_of(tree.add_input(1, {0, 0}, x));
  const Layers leaf = GetParam().node(tree, sample(1.0, n), {}, {}, {});
  const Layers want = GetParam().node(tree, sample(1.0, n), {leaf, leaf}, {}, {});
  expect_near(Numbers(got.begin() + 4, got.end()), want.back().h);
}

TEST_P(Trees, MasksAreSharedByTheNodesOfATree) {
  tree.set_dropout(0.5F);
  EXPECT_THROW(tree.set_dropout(2.0F), errors::ValueError);
  start();
  add_all();
  if (std::string(GetParam().name) != "Bidirectional") {
    const auto* sequence = dynamic_cast<const UnidirectionalTreeLSTMBuilder*>(&tree);
    const auto& drawn = layered != nullptr ? layered->masks : sequence->node_builder.masks;
    Masks masks(2);
    double sum = 0.0;
    for (std::size_t layer = 0; layer < 2; ++layer) {
      for (const Expression& e : drawn[layer]) {
        masks[layer].push_back(numbers_of(e));
        for (const double m : masks[layer].back()) {
          EXPECT_TRUE(m == 0.0 || m == 2.0);
          sum += m;
        }
      }
    }
    EXPECT_NE(sum, 0.0);
    expect_tree(by_hand({}, masks));
  }
  if (layered != nullptr) {
    const VariableIndex first = layered->masks[0][0].i;
    tree.start_new_sequence();
    layered->set_dropout_masks(3);
    EXPECT_NE(layered->masks[0][0].i, first);
    EXPECT_EQ(add(0).dim().bd, 3U);
    layered->set_dropout(0.0F, 0.5F);
    EXPECT_EQ(layered->dropout_rate_h, 0.5F);
  }
  tree.disable_dropout();
  tree.start_new_sequence();
  add_all();
  expect_tree(by_hand());
}

TEST_P(Trees, MasksAfterARevert) {
  tree.set_dropout(0.5F);
  start();
  const Expression x = input(cg, {GetParam().in}, sample_input(GetParam().in, 0.0));
  cg.checkpoint();
  EXPECT_FALSE(numbers_of(tree.add_input(0, {}, x)).empty());
  cg.revert();
  EXPECT_FALSE(numbers_of(tree.add_input(1, {}, x)).empty());
}

TEST_P(Trees, CopiesShareParametersAndHaveNodesOfTheirOwn) {
  const Owned other = GetParam().make(2, GetParam().in, 4, model);
  start();
  const Numbers here = numbers_of(add(0));
  const auto leaf = [&](TreeNodesBuilder& builder) {
    builder.new_graph(cg);
    builder.start_new_sequence();
    add(builder, 0);
    add(builder, 1);
    add(builder, 2);
    return numbers_of(add(builder, 3));
  };
  EXPECT_NE(leaf(*other), leaf(tree));
  other->copy(tree);
  EXPECT_EQ(leaf(*other), leaf(tree));
  const Owned assigned = GetParam().make_empty();
  GetParam().assign(tree, *assigned);
  EXPECT_EQ(numbers_of(add(*assigned, 4)), numbers_of(add(tree, 4)));
  EXPECT_THROW(add(*assigned, 4), errors::IndexError);
  for (const Kind& wrong : kinds()) {
    if (std::string(wrong.name) != GetParam().name) {
      EXPECT_THROW(tree.copy(*wrong.make(2, wrong.in, 4, model)), errors::ValueError) << wrong.name;
    }
  }
  EXPECT_THROW(tree.copy(*GetParam().make(1, GetParam().in, 4, model)), errors::ValueError);
  EXPECT_THROW(tree.copy(*GetParam().make(2, 6, 6, model)), errors::ValueError);
}

TEST_P(Trees, ConstantParametersGetNoGradient) {
  for (const bool update : {false, true}) {
    tree.new_graph(cg, update);
    tree.start_new_sequence();
    add_all();
    cg.backward(squared_norm(tree.back()));
    for (const auto& p : model.parameters_list()) {
      EXPECT_EQ(p->has_grad(), update) << p->name;
    }
    for (const auto& p : model.lookup_parameters_list()) {
      EXPECT_EQ(p->has_grad(), update) << p->name;
    }
  }
}

TEST_P(Trees, StepsOfSequencesHaveNoMeaning) {
  start();
  add(0);
  RNNBuilder& rnn = tree;
  EXPECT_THROW(rnn.add_input(in(x_of(0))), errors::UsageError);
  EXPECT_THROW(rnn.set_h(-1, {in(x_of(0))}), std::runtime_error);
  EXPECT_THROW(rnn.set_s(-1, {in(x_of(0))}), errors::UsageError);
  EXPECT_THROW(rnn.rewind_one_step(), errors::StateError);
  EXPECT_EQ(numbers_of(rnn.back()), numbers_of(tree.get_h(0).back()));
  add(1);
}

// ---- parameters

std::vector<std::string> all_names(const ParameterCollection& model) {
  std::vector<std::string> names;
  for (const auto& p : model.get_storage().all_params) {
    names.push_back(p->name);
  }
  return names;
}

TEST(NaryTree, NamesShapesAndOrderOfParameters) {
  ParameterCollection model;
  const NaryTreeLSTMBuilder tree(3, 2, 5, 4, model);
  const auto& all = model.get_storage().all_params;
  ASSERT_EQ(all.size(), 30U);
  const unsigned tables[] = {0, 3, 3, 0, 0, 9, 9, 0, 0, 3, 3, 0, 0, 3, 0};  // rows; 0: a parameter
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(all[i]->name, "/nary-tree-lstm-builder/_" + std::to_string(i));
    const auto* table = dynamic_cast<const LookupParameterStorage*>(all[i].get());
    EXPECT_EQ(table == nullptr ? 0 : table->rows(), tables[i % 15]) << i;
    if (table != nullptr) {
      EXPECT_EQ(table->dim, Dim({4, 4})) << i;
    }
  }
  const std::size_t made[] = {0, 3, 4, 7, 8, 11, 12, 14};
  const std::size_t made_tables[] = {1, 5, 9, 13, 2, 6, 10};
  for (std::size_t layer = 0; layer < 2; ++layer) {
    for (std::size_t i = 0; i < 8; ++i) {
      const Parameter& p = tree.params[layer][i];
      EXPECT_EQ(p.p, all[15 * layer + made[i]]) << i;
      const Dim wanted = i % 2 == 0 ? Dim({4, layer == 0 ? 5U : 4U}) : Dim({4});
      EXPECT_EQ(p.dim(), wanted) << i;
      EXPECT_EQ(numbers_of(p) == Numbers(4, 0.0), i % 2 == 1) << i;
    }
    for (std::size_t i = 0; i < 7; ++i) {
      EXPECT_EQ(tree.lparams[layer][i].p, all[15 * layer + made_tables[i]]) << i;
    }
  }
}

TEST(NaryTree, OtherNumbersOfPlaces) {
  ParameterCollection model;
  EXPECT_THROW(NaryTreeLSTMBuilder(0, 1, 3, 4, model), errors::ValueError);
  EXPECT_THROW(NaryTreeLSTMBuilder(70000, 1, 3, 4, model), errors::SizeError);
  EXPECT_TRUE(all_names(model).empty());
  NaryTreeLSTMBuilder two(2, 1, 3, 4, model);
  const LookupParameter before = two.lparams[0][0];
  EXPECT_THROW(two.copy(NaryTreeLSTMBuilder(3, 1, 3, 4, model)), errors::ValueError);
  EXPECT_EQ(two.lparams[0][0].p, before.p);
}

TEST(SumsOfChildren, NamesShapesAndOrderOfParameters) {
  ParameterCollection model;
  const ChildSumTreeLSTMBuilder lstm(2, 5, 4, model);
  const TreeGRUBuilder gru(1, 5, 4, model);
  const std::vector<std::string> names = all_names(model);
  ASSERT_EQ(names.size(), 33U);
  EXPECT_EQ(names[23], "/child-sum-tree-lstm-builder/_23");
  EXPECT_EQ(names[32], "/tree-gru-builder/_8");
  const auto check = [](const std::vector<Parameter>& params, unsigned in) {
    const Dim wanted[] = {Dim({4, in}), Dim({4, 4}), Dim({4})};
    for (std::size_t i = 0; i < params.size(); ++i) {
      EXPECT_EQ(params[i].dim(), wanted[i % 3]) << i;
      EXPECT_EQ(numbers_of(params[i]) == Numbers(4, 0.0), i % 3 == 2) << i;
    }
  };
  check(lstm.params[0], 5);
  check(lstm.params[1], 4);
  check(gru.params[0], 5);
}

TEST(SequencesOfChildren, NamesOrderAndSizes) {
  ParameterCollection model;
  const UnidirectionalTreeLSTMBuilder one(1, 4, 4, model);
  const BidirectionalTreeLSTMBuilder both(3, 10, 10, model);
  EXPECT_EQ(both.local_model.get_storage().params.size(), 18U);  // DyNet's own test has this
  const std::vector<std::string> names = all_names(model);
  ASSERT_EQ(names.size(), 21U);
  EXPECT_EQ(names[2], "/unidirectional-tree-lstm-builder/vanilla-lstm-builder/_2");
  EXPECT_EQ(names[3], "/bidirectional-tree-lstm-builder/vanilla-lstm-builder/_0");
  EXPECT_EQ(names[12], "/bidirectional-tree-lstm-builder/vanilla-lstm-builder_1/_0");
  EXPECT_EQ(both.rev_node_builder.params[0][1].dim(), Dim({20, 5}));
  EXPECT_THROW(BidirectionalTreeLSTMBuilder(1, 5, 5, model), errors::ValueError);
  EXPECT_EQ(all_names(model).size(), 21U);
}

/// DyNet's own tests make such a builder. It cannot have nodes with children.
template <class Builder>
void expect_leaves_alone(Builder builder) {
  ComputationGraph cg;
  builder.new_graph(cg);
  builder.start_new_sequence();
  const Expression x = input(cg, {10}, std::vector<float>(10, 0.5F));
  EXPECT_EQ(builder.add_input(0, {}, x).dim(), Dim({2}));
  const std::string want = std::string(builder.name()) +
                           ": a node with children, input_dim 10 and hidden_dim 2; want the same, "
                           "because children are read as inputs";
  EXPECT_EQ(
      testing::text_of_error<errors::ShapeError>([&] { builder.add_input(1, {0}, x); }).find(want),
      0U);
  EXPECT_EQ(as_vector(builder.add_input(1, {}, x).value()).size(), 2U);
}
TEST(SequencesOfChildren, OtherInputsThanChildrenAreForLeaves) {
  ParameterCollection model;
  expect_leaves_alone(UnidirectionalTreeLSTMBuilder(3, 10, 2, model));
  expect_leaves_alone(BidirectionalTreeLSTMBuilder(3, 10, 2, model));
}

TEST(TreeGru, OverOneChildIsTheGruOfSequences) {
  ParameterCollection model;
  TreeGRUBuilder tree(2, 3, 4, model);
  GRUBuilder gru(2, 3, 4, model);
  set_values(model);
  gru.params = tree.params;
  ComputationGraph cg;
  tree.new_graph(cg);
  tree.start_new_sequence();
  gru.new_graph(cg);
  gru.start_new_sequence();
  for (int t = 0; t < 3; ++t) {
    const Expression x = input(cg, {3}, sample_input(3, t));
    const std::vector<int> before = t == 0 ? std::vector<int>{} : std::vector<int>{t - 1};
    expect_near(numbers_of(tree.add_input(t, before, x)), numbers_of(gru.add_input(x)));
  }
}

/// A program's own class needs only a few functions.
struct OwnTree : public TreeLSTMBuilder {
  Expression add_input(int /*id*/, std::vector<int> /*children*/, const Expression& x) override {
    return tanh(x);
  }
  void set_num_elements(int /*num*/) override {}
  ParameterCollection& get_parameter_collection() override { return model; }
  ParameterCollection model;

 protected:
  void new_graph_impl(ComputationGraph& /*cg*/, bool /*update*/) override {}
  void start_new_sequence_impl(const std::vector<Expression>& /*h_0*/) override {}
};

TEST(TreeInterface, WhatAClassDoesNotWriteIsAnError) {
  OwnTree own;
  ComputationGraph cg;
  own.new_graph(cg);
  own.start_new_sequence();
  TreeLSTMBuilder& tree = own;
  EXPECT_EQ(tree.add_input(0, {}, ones(cg, {3})).dim(), Dim({3}));
  const std::function<void()> calls[] = {[&] { static_cast<void>(tree.back()); },
                                         [&] { static_cast<void>(tree.final_h()); },
                                         [&] { static_cast<void>(tree.final_s()); },
                                         [&] { static_cast<void>(tree.get_h(0)); },
                                         [&] { static_cast<void>(tree.get_s(0)); },
                                         [&] { static_cast<void>(tree.num_h0_components()); },
                                         [&] { tree.copy(own); }};
  for (const auto& call : calls) {
    try {
      call();
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_NE(std::string(e.what()).find("not a valid function for TreeLSTMBuilder"),
                std::string::npos)
          << e.what();
    }
  }
}

}  // namespace
}  // namespace dynet
