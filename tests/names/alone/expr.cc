// Names that programs expect when they include dynet/expr.h and nothing else.

#include "dynet/expr.h"

float count_on_expr(int argc, char** argv);
float count_on_expr(int argc, char** argv) {
  dynet::initialize(argc, argv);
  dynet::ParameterCollection model;
  const dynet::Parameter p = model.add_parameters(dynet::Dim({2}));
  dynet::ComputationGraph cg;
  const dynet::Tensor t = cg.forward(tanh(parameter(cg, p)));
  std::cout << t << std::string("text") << std::endl;
  std::cerr << std::vector<float>(dynet::as_vector(t)).size() << std::endl;
  return *t.v;
}
