// Names of dynet.h: the graph and its nodes; of Expression, and of grad-check.h.

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "dynet/dynet.h"
#include "dynet/except.h"
#include "dynet/exec.h"
#include "dynet/expr.h"
#include "dynet/gpu-ops.h"
#include "dynet/grad-check.h"

#include "names.h"

using namespace dynet;  // NOLINT(google-build-using-namespace): as programs do
using std::string;
using std::vector;

TEST(Names, Graphs) {
  DYNET_HAS(int, get_number_of_active_graphs());
  DYNET_HAS(unsigned, get_current_graph_id());
  static_assert(std::is_same_v<VariableIndex, unsigned>);
  VariableIndex a = 1;
  VariableIndex b = 2;
  DYNET_HAS(void, dynet::swap(a, b));
  DYNET_EQ(2U, a);
  DYNET_CAN(const ComputationGraph batched(true); EXPECT_EQ(batched.nodes.size(), 0U));
  ComputationGraph cg;
  DYNET_EQ(cg.get_id(), get_current_graph_id());
  const vector<float> data{1, 2};
  const vector<unsigned> ids{0};
  const vector<float> one{3};
  const real scalar = 2.0F;
  DYNET_HAS(VariableIndex, cg.add_input(scalar, default_device));
  DYNET_HAS(VariableIndex, cg.add_input(&scalar, default_device));
  DYNET_HAS(VariableIndex, cg.add_input({2}, data, default_device));
  DYNET_HAS(VariableIndex, cg.add_input({2}, &data, default_device));
  DYNET_HAS(VariableIndex, cg.add_input({2}, ids, one, default_device));
  DYNET_HAS(VariableIndex, cg.add_input({2}, ids, one, default_device, 0.5F));
  EXPECT_EQ(as_vector(cg.get_value(4)), (vector<float>{3, 0}));
  EXPECT_EQ(as_vector(cg.get_value(5)), (vector<float>{3, 0.5F}));
}

TEST(Names, GraphLeaves) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({2});
  const LookupParameter lp = model.add_lookup_parameters(3, {2});
  ComputationGraph cg;
  const unsigned index = 1;
  const vector<unsigned> indices{0, 2};
  DYNET_HAS(VariableIndex, cg.add_parameters(p));
  DYNET_HAS(VariableIndex, cg.add_parameters(lp));
  DYNET_HAS(VariableIndex, cg.add_const_parameters(p));
  DYNET_HAS(VariableIndex, cg.add_const_parameters(lp));
  DYNET_HAS(VariableIndex, cg.add_lookup(lp, index));
  DYNET_HAS(VariableIndex, cg.add_lookup(lp, &index));
  DYNET_HAS(VariableIndex, cg.add_lookup(lp, indices));
  DYNET_HAS(VariableIndex, cg.add_lookup(lp, &indices));
  DYNET_HAS(VariableIndex, cg.add_const_lookup(lp, index));
  DYNET_HAS(VariableIndex, cg.add_const_lookup(lp, &index));
  DYNET_HAS(VariableIndex, cg.add_const_lookup(lp, indices));
  DYNET_HAS(VariableIndex, cg.add_const_lookup(lp, &indices));
  DYNET_EQ(12U, cg.nodes.size());
  DYNET_EQ(Dim({2}, 2), cg.nodes[7]->dim);
  DYNET_EQ(default_device, cg.nodes[7]->device);
  DYNET_EQ(Dim({2}, 2), cg.nodes.back()->dim);
  unsigned seen = 0;
  for (const auto& node : cg.nodes) {
    seen += node->dim.bd;
  }
  EXPECT_EQ(seen, 16U);
  EXPECT_EQ(std::count_if(cg.nodes.begin(), cg.nodes.end(),
                          [](const auto& node) { return node.dim.bd == 2; }),
            4);
  auto place = cg.nodes.begin();
  EXPECT_EQ(place++, cg.nodes.begin());
  place = std::next(place, 6);
  EXPECT_EQ(place->dim, cg.nodes[7]->dim);
  cg.clear();
  EXPECT_EQ(cg.nodes.begin(), cg.nodes.end());
  EXPECT_THROW(static_cast<void>(cg.nodes.back()), errors::IndexError);
}

TEST(Names, GraphValues) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({2}, ParameterInitConst(2.0F));
  ComputationGraph cg;
  const Expression x = parameter(cg, p);
  const Expression y = squared_norm(x);
  DYNET_HAS(const Tensor&, cg.forward(y));
  DYNET_HAS(const Tensor&, cg.forward(y.i));
  DYNET_HAS(const Tensor&, cg.incremental_forward(y));
  DYNET_HAS(const Tensor&, cg.incremental_forward(y.i));
  DYNET_HAS(const Tensor&, cg.get_value(y));
  DYNET_HAS(const Tensor&, cg.get_value(y.i));
  DYNET_THROWS(std::runtime_error, cg.get_gradient(y));
  DYNET_HAS(void, cg.backward(y));
  DYNET_HAS(void, cg.backward(y.i));
  DYNET_HAS(void, cg.backward(y, true));
  DYNET_HAS(void, cg.backward(y.i, true));
  DYNET_THROWS(std::invalid_argument, cg.backward(x));
  DYNET_HAS(const Tensor&, cg.get_gradient(x));
  DYNET_HAS(const Tensor&, cg.get_gradient(x.i));
  DYNET_EQ((vector<float>{16, 16}), as_vector(*p.gradients()));
  DYNET_HAS(void, cg.invalidate());
  DYNET_EQ(Dim({1}), cg.get_dimension(y.i));
  DYNET_HAS(void, cg.checkpoint());
  const Expression z = exp(y);
  DYNET_HAS(void, cg.revert());
  DYNET_EQ(2U, cg.nodes.size());
  DYNET_EQ(true, z.is_stale());
  const string file = "names.graph";
  DYNET_HAS(void, cg.dump(file, true, true, false));
  std::remove(file.c_str());
  DYNET_HAS(void, cg.print_graphviz());
  DYNET_HAS(void, cg.set_immediate_compute(true));
  DYNET_HAS(void, cg.set_check_validity(true));
  DYNET_THROWS(std::runtime_error, log(-y));
  DYNET_HAS(void, cg.clear());
}

TEST(Names, Expressions) {
  DYNET_EQ(nullptr, Expression().pg);
  DYNET_EQ(0U, Expression().i);
  DYNET_EQ(0U, Expression().graph_id);
  ComputationGraph cg;
  const Expression x = input(cg, 3.0F);
  const Expression same(&cg, x.i);
  DYNET_EQ(cg.get_id(), same.graph_id);
  DYNET_EQ("CPU", x.get_device_name());
  DYNET_HAS(bool, x.is_stale());
  DYNET_HAS(const Tensor&, x.value());
  cg.backward(x, true);
  DYNET_HAS(const Tensor&, x.gradient());
  DYNET_HAS(const Dim&, x.dim());
  DYNET_EQ(16U, sizeof(Expression));
  DYNET_HAS(dynet::expr::Expression, dynet::expr::exp(x));
  DYNET_EQ(0, static_cast<int>(zero_gradient));
  DYNET_EQ(1, static_cast<int>(straight_through_gradient));
  cg.clear();
  DYNET_THROWS(std::runtime_error, x.value());
  DYNET_THROWS(std::runtime_error, static_cast<void>(x.gradient()));
  DYNET_THROWS(std::runtime_error, static_cast<void>(x.dim()));
}

TEST(Names, GradCheck) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({2});
  ComputationGraph cg;
  Expression loss = squared_norm(parameter(cg, p));
  DYNET_EQ(true, check_grad(model, loss));
  DYNET_EQ(true, check_grad(model, loss, 0));
}
