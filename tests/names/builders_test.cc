// Names of rnn.h, rnn-state-machine.h, lstm.h, gru.h, fast-lstm.h, deep-lstm.h, treelstm.h,
// cfsm-builder.h and hsm-builder.h.

#include <cstdio>
#include <fstream>

#include "dynet/cfsm-builder.h"
#include "dynet/deep-lstm.h"
#include "dynet/fast-lstm.h"
#include "dynet/gru.h"
#include "dynet/hsm-builder.h"
#include "dynet/lstm.h"
#include "dynet/rnn-state-machine.h"
#include "dynet/rnn.h"
#include "dynet/treelstm.h"

#include "names.h"

using namespace dynet;  // NOLINT(google-build-using-namespace): as programs do
using std::string;
using std::vector;

namespace {

using List = vector<Expression>;
using Parameters = vector<vector<Parameter>>;
using Lists = vector<List>;

TEST(Names, StateMachine) {
  static_assert(std::is_same_v<RNNPointer, int>);
  DYNET_EQ(0, static_cast<int>(CREATED));
  DYNET_EQ(1, static_cast<int>(GRAPH_READY));
  DYNET_EQ(2, static_cast<int>(READING_INPUT));
  DYNET_HAS(RNNOp, RNNOp::new_graph);
  DYNET_HAS(RNNOp, RNNOp::start_new_sequence);
  DYNET_HAS(RNNOp, RNNOp::add_input);
  DYNET_HAS(RNNState, RNNState::CREATED);
  RNNStateMachine machine;
  DYNET_THROWS(std::invalid_argument, machine.transition(RNNOp::add_input));
  DYNET_HAS(void, machine.transition(RNNOp::new_graph));
  RNNPointer a = 1;
  RNNPointer b = 2;
  DYNET_HAS(void, dynet::swap(a, b));
}

class Builders : public testing::Test {
 protected:
  /// A step of `b` and all that the base class has, whose states have `components`.
  void use(RNNBuilder& b, unsigned components) {
    DYNET_HAS(void, b.new_graph(cg));
    DYNET_HAS(void, b.new_graph(cg, false));
    DYNET_HAS(void, b.start_new_sequence());
    DYNET_EQ(-1, b.state());
    DYNET_HAS(Expression, b.add_input(x));
    const RNNPointer first = b.state();
    DYNET_HAS(Expression, b.add_input(first, x));
    DYNET_HAS(void, b.rewind_one_step());
    DYNET_EQ(first, b.state());
    DYNET_EQ(-1, b.get_head(first));
    DYNET_HAS(Expression, b.back());
    DYNET_EQ(components, b.num_h0_components());
    DYNET_HAS(List, b.final_h());
    DYNET_EQ(components, b.final_s().size());
    DYNET_HAS(List, b.get_h(first));
    DYNET_EQ(components, b.get_s(first).size());
    const List h = b.final_h();
    DYNET_HAS(Expression, b.set_h(first, h));
    DYNET_HAS(Expression, b.set_s(first, b.get_s(first)));
    DYNET_HAS(void, b.start_new_sequence(b.final_s()));
    DYNET_HAS(Expression, b.set_h(-1, h));
    DYNET_HAS(void, b.set_dropout(0.5F));
    DYNET_HAS(void, b.disable_dropout());
    DYNET_HAS(void, b.copy(b));
    DYNET_HAS(ParameterCollection&, b.get_parameter_collection());
  }
  template <class B>
  void see(B& b, unsigned parameters) {
    DYNET_EQ(2U, b.params.size());
    DYNET_EQ(parameters, b.params[0].size());
    DYNET_HAS(Parameters, b.params);
    DYNET_HAS(Lists, b.param_vars);
    DYNET_HAS(Lists, b.h);
    DYNET_HAS(bool, b.has_initial_state);
    DYNET_HAS(List, b.h0);
    DYNET_EQ(2U, b.layers);
    DYNET_HAS(ParameterCollection, b.local_model);
  }
  template <class B>
  void see_lstm(B& b, unsigned parameters) {
    see(b, parameters);
    DYNET_HAS(Lists, b.c);
    DYNET_HAS(List, b.c0);
  }
  template <class B>
  void see_masks(B& b) {
    DYNET_HAS(Lists, b.masks);
    DYNET_EQ(3U, b.input_dim);
    DYNET_EQ(4U, b.hid);
    b.start_new_sequence();
    DYNET_HAS(void, b.set_dropout_masks());
    DYNET_HAS(void, b.set_dropout_masks(2));
    DYNET_HAS(bool, b.dropout_masks_valid);
    DYNET_HAS(float, b.dropout_rate_h);
    DYNET_HAS(void, b.set_dropout(0.0F));
    DYNET_THROWS(std::invalid_argument, b.set_dropout(2.0F));
  }
  template <class B>
  void see_standard(B& b) {
    see_masks(b);
    DYNET_HAS(void, b.set_dropout(0.5F, 0.25F));
    DYNET_EQ(0.25F, b.dropout_rate_h);
  }
  /// The outputs of two builders made with the same random numbers.
  template <class B, class... More>
  vector<float> output(More... more) {
    reset_rng(5);
    ParameterCollection model;
    B b(1, 3, 4, model, more...);
    b.new_graph(cg);
    b.start_new_sequence();
    b.add_input(x);
    return as_vector(b.add_input(x).value());
  }

  ParameterCollection pc;
  ComputationGraph cg;
  Expression x = input(cg, {3}, {1, 2, 3});
};

TEST_F(Builders, Simple) {
  DYNET_CAN(SimpleRNNBuilder later; later = SimpleRNNBuilder(1, 3, 4, pc));
  SimpleRNNBuilder b(2, 3, 4, pc, true);
  use(b, 2);
  see(b, 4);
  DYNET_HAS(void, b.set_dropout(0.5F, 0.5F));
  DYNET_HAS(void, b.set_dropout(0.0F));
  b.start_new_sequence();
  DYNET_HAS(void, b.set_dropout_masks());
  DYNET_HAS(void, b.set_dropout_masks(1));
  DYNET_HAS(Expression, b.add_auxiliary_input(x, input(cg, {4}, {1, 2, 3, 4})));
  DYNET_EQ(3U, SimpleRNNBuilder(1, 3, 4, pc).params[0].size());
}

TEST_F(Builders, Lstms) {
  DYNET_CAN(LSTMBuilder later; later = LSTMBuilder(1, 3, 4, pc));
  DYNET_CAN(CoupledLSTMBuilder later; later = CoupledLSTMBuilder(1, 3, 4, pc));
  DYNET_CAN(const VanillaLSTMBuilder later; EXPECT_EQ(later.layers, 0U));
  DYNET_CAN(const SparseLSTMBuilder later; const CompactVanillaLSTMBuilder too);
  DYNET_CAN(const FastLSTMBuilder later; const DeepLSTMBuilder too);
  CoupledLSTMBuilder coupled(2, 3, 4, pc);
  use(coupled, 4);
  see_lstm(coupled, 11);
  see_masks(coupled);
  DYNET_HAS(void, coupled.set_dropout(0.5F, 0.5F, 0.25F));
  DYNET_EQ(0.25F, coupled.dropout_rate_c);
  FastLSTMBuilder fast(2, 3, 4, pc);
  use(fast, 4);
  see_lstm(fast, 11);
  DeepLSTMBuilder deep(2, 3, 4, pc);
  use(deep, 4);
  see_lstm(deep, 11);
  DYNET_EQ(Dim({8}), deep.back().dim());
}

TEST_F(Builders, StandardLstms) {
  VanillaLSTMBuilder vanilla(2, 3, 4, pc, true, 0.5F);
  use(vanilla, 4);
  see_lstm(vanilla, 3);
  see_standard(vanilla);
  DYNET_HAS(Parameters, vanilla.ln_params);
  DYNET_HAS(Lists, vanilla.ln_param_vars);
  DYNET_EQ(true, vanilla.ln_lstm);
  DYNET_EQ(0.5F, vanilla.forget_bias);
  DYNET_EQ((output<VanillaLSTMBuilder>(false, 1.0F)), output<VanillaLSTMBuilder>());
  SparseLSTMBuilder sparse(2, 3, 4, pc, true, 0.5F);
  use(sparse, 4);
  see_lstm(sparse, 5);
  see_standard(sparse);
  DYNET_HAS(void, sparse.set_sparsity(0.5F));
  DYNET_HAS(Parameters, sparse.ln_params);
  DYNET_EQ((output<SparseLSTMBuilder>(false, 1.0F)), output<SparseLSTMBuilder>());
  CompactVanillaLSTMBuilder compact(2, 3, 4, pc);
  use(compact, 4);
  see_lstm(compact, 3);
  see_standard(compact);
  DYNET_HAS(void, compact.set_weightnoise(0.1F));
  DYNET_THROWS(std::invalid_argument, compact.set_weightnoise(-1.0F));
}

TEST_F(Builders, Gru) {
  DYNET_CAN(GRUBuilder later; later = GRUBuilder(1, 3, 4, pc));
  GRUBuilder b(2, 3, 4, pc);
  use(b, 2);
  see(b, 9);
}

TEST_F(Builders, Trees) {
  DYNET_DERIVES(TreeLSTMBuilder, RNNBuilder);
  NaryTreeLSTMBuilder nary(2, 2, 3, 4, pc);
  UnidirectionalTreeLSTMBuilder forward(1, 3, 3, pc);
  BidirectionalTreeLSTMBuilder both(3, 4, 4, pc);
  DYNET_CAN(const NaryTreeLSTMBuilder later; const UnidirectionalTreeLSTMBuilder too;
            const BidirectionalTreeLSTMBuilder last);
  DYNET_EQ(8U, nary.params[0].size());
  DYNET_EQ(7U, nary.lparams[0].size());
  DYNET_HAS(Lists, nary.param_vars);
  DYNET_HAS(vector<Lists>, nary.lparam_vars);
  DYNET_HAS(Lists, nary.h);
  DYNET_HAS(Lists, nary.c);
  DYNET_EQ(2U, nary.N);
  DYNET_HAS(ParameterCollection, nary.local_model);
  DYNET_HAS(VanillaLSTMBuilder, forward.node_builder);
  DYNET_HAS(VanillaLSTMBuilder, both.fwd_node_builder);
  DYNET_HAS(VanillaLSTMBuilder, both.rev_node_builder);
  DYNET_EQ(18U, both.get_parameter_collection().parameters_list().size());
  const Expression x4 = input(cg, {4}, {1, 2, 3, 4});
  const vector<std::pair<TreeLSTMBuilder*, Expression>> all{{&nary, x}, {&forward, x}, {&both, x4}};
  for (const auto& one : all) {
    TreeLSTMBuilder& b = *one.first;
    b.new_graph(cg);
    DYNET_HAS(void, b.start_new_sequence());
    DYNET_HAS(void, b.set_num_elements(2));
    DYNET_HAS(Expression, b.add_input(0, {}, one.second));
    DYNET_HAS(Expression, b.add_input(1, {0}, one.second));
    DYNET_THROWS(std::runtime_error, b.set_h(-1, List{one.second}));
    DYNET_THROWS(std::runtime_error, b.set_s(-1, List{one.second}));
  }
}

/// A program's own builder of trees: a node is the sum of x and its children.
struct SumTreeBuilder : public TreeLSTMBuilder {
  Expression add_input(int id, vector<int> children, const Expression& x) override {
    nodes.resize(static_cast<std::size_t>(id) + 1);
    children.push_back(id);
    nodes.back() = x;
    List all;
    for (const int child : children) {
      all.push_back(nodes[static_cast<std::size_t>(child)]);
    }
    return nodes.back() = sum(all);
  }
  void set_num_elements(int /*num*/) override {}
  ParameterCollection& get_parameter_collection() override { return model; }
  ParameterCollection model;
  List nodes;

 protected:
  void new_graph_impl(ComputationGraph& /*cg*/, bool /*update*/) override {}
  void start_new_sequence_impl(const List& /*h_0*/) override { nodes.clear(); }
};

TEST_F(Builders, TreesOfAProgram) {
  DYNET_CAN(const SumTreeBuilder own);
  SumTreeBuilder sums;
  TreeLSTMBuilder* b = &sums;
  b->new_graph(cg);
  b->start_new_sequence();
  DYNET_HAS(Expression, b->add_input(0, {}, x));
  DYNET_HAS(Expression, b->add_input(1, vector<int>{0}, x));
  DYNET_EQ(as_vector((x * 3.0F).value()), as_vector(b->add_input(2, {0, 0}, x).value()));
  DYNET_THROWS(std::runtime_error, static_cast<void>(b->back()));
  DYNET_THROWS(std::runtime_error, static_cast<void>(b->final_h()));
}

class Softmaxes : public Builders {
 public:
  Softmaxes() {
    std::ofstream(classes) << "0 a\n0 b\n1 c\n";
    std::ofstream(paths) << "0 0\ta\n0 0\tb\n0 1\tc\n1\td\n1\te\n1\tf\n";
  }
  ~Softmaxes() override {
    std::remove(classes.c_str());
    std::remove(paths.c_str());
  }
  Softmaxes(const Softmaxes&) = delete;
  Softmaxes& operator=(const Softmaxes&) = delete;

 protected:
  void use(SoftmaxBuilder& b) {
    DYNET_HAS(void, b.new_graph(cg));
    DYNET_HAS(void, b.new_graph(cg, false));
    DYNET_HAS(Expression, b.neg_log_softmax(x, 1U));
    const vector<unsigned> words{0, 2};
    DYNET_HAS(Expression, b.neg_log_softmax(concatenate_to_batch({x, x}), words));
    DYNET_HAS(unsigned, b.sample(x));
    DYNET_HAS(Expression, b.full_log_distribution(x));
    DYNET_HAS(Expression, b.full_logits(x));
    DYNET_HAS(ParameterCollection&, b.get_parameter_collection());
  }
  const string classes = "names.classes";
  const string paths = "names.paths";
};

TEST_F(Softmaxes, Standard) {
  StandardSoftmaxBuilder standard(3, 5, pc);
  use(standard);
  DYNET_EQ(2U, standard.get_parameter_collection().size());
  DYNET_EQ(1U, StandardSoftmaxBuilder(3, 5, pc, false).get_parameter_collection().size());
  const Parameter w = pc.add_parameters({5, 3});
  const Parameter b = pc.add_parameters({5});
  StandardSoftmaxBuilder own(w, b);
  use(own);
  DYNET_CAN(const StandardSoftmaxBuilder no_bias(w));
}

TEST_F(Softmaxes, ClassFactored) {
  Dict d;
  ClassFactoredSoftmaxBuilder b(3, classes, d, pc);
  use(b);
  DYNET_EQ(4U, b.get_parameter_collection().size());
  Dict other;
  DYNET_EQ(
      2U,
      ClassFactoredSoftmaxBuilder(3, classes, other, pc, false).get_parameter_collection().size());
  DYNET_HAS(Expression, b.class_logits(x));
  DYNET_HAS(Expression, b.class_log_distribution(x));
  DYNET_HAS(Expression, b.subclass_logits(x, 0));
  DYNET_HAS(Expression, b.subclass_log_distribution(x, 0));
  DYNET_HAS(void, b.initialize_expressions());
  DYNET_THROWS(std::invalid_argument, ClassFactoredSoftmaxBuilder(3, "no/file", d, pc));
}

TEST_F(Softmaxes, Hierarchical) {
  Dict d;
  HierarchicalSoftmaxBuilder b(3, paths, d, pc);
  use(b);
  DYNET_HAS(void, b.initialize(pc));
  Cluster top;
  DYNET_HAS(Cluster*, top.add_child(3));
  Cluster* child = top.add_child(7);
  DYNET_HAS(void, child->add_word(1));
  DYNET_HAS(void, child->add_word(2));
  DYNET_HAS(void, child->add_word(4));
  DYNET_HAS(void, top.initialize(3, pc));
  DYNET_HAS(void, top.new_graph(cg));
  DYNET_HAS(unsigned, child->sample(x, cg));
  DYNET_HAS(Expression, child->neg_log_softmax(x, 1, cg));
  DYNET_EQ(1U, child->get_index(2));
  DYNET_EQ(2U, child->get_word(1));
  DYNET_EQ(2U, top.num_children());
  DYNET_HAS(const Cluster*, top.get_child(1));
  DYNET_EQ((vector<unsigned>{1}), child->get_path());
  DYNET_HAS(Expression, child->get_weights(cg));
  DYNET_HAS(Expression, child->get_bias(cg));
  DYNET_HAS(string, top.toString());
}

}  // namespace
