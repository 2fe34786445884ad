// Names that programs expect when they include dynet/rnn.h and nothing else.

#include "dynet/rnn.h"

void count_on_rnn(dynet::RNNBuilder& builder, dynet::ComputationGraph& cg);
void count_on_rnn(dynet::RNNBuilder& builder, dynet::ComputationGraph& cg) {
  builder.new_graph(cg);
  builder.start_new_sequence();
  const dynet::Expression y = builder.add_input(dynet::input(cg, {2}, std::vector<float>{1, 2}));
  std::cerr << dynet::as_scalar(cg.forward(squared_norm(y))) << std::endl;
}
