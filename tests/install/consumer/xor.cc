// XOR in C++17 with the installed package: trains, saves, loads, and answers.

#include <cstdio>
#include <string>
#include <vector>

#include "dynet/expr.h"
#include "dynet/io.h"
#include "dynet/training.h"

namespace {

using dynet::Expression;

struct Model {
  dynet::ParameterCollection collection;
  dynet::Parameter w = collection.add_parameters({8, 2});
  dynet::Parameter b = collection.add_parameters({8});
  dynet::Parameter v = collection.add_parameters({1, 8});

  Expression answer(dynet::ComputationGraph& cg, const std::vector<float>& x) const {
    const Expression hidden =
        tanh(dynet::affine_transform({parameter(cg, b), parameter(cg, w), input(cg, {2}, x)}));
    return logistic(parameter(cg, v) * hidden);
  }
};

}  // namespace

int main(int argc, char** argv) {
  dynet::DynetParams params = dynet::extract_dynet_params(argc, argv);
  params.random_seed = 1;
  dynet::initialize(params);

  const std::vector<std::vector<float>> xs{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  const std::vector<float> ys{0, 1, 1, 0};
  Model model;
  dynet::SimpleSGDTrainer trainer(model.collection, 0.1F);
  float first = 0;
  float last = 0;
  for (int epoch = 0; epoch < 500; ++epoch) {
    last = 0;
    for (std::size_t i = 0; i < xs.size(); ++i) {
      dynet::ComputationGraph cg;
      const Expression loss = binary_log_loss(model.answer(cg, xs[i]), input(cg, ys[i]));
      last += dynet::as_scalar(cg.forward(loss));
      cg.backward(loss);
      trainer.update();
    }
    first = epoch == 0 ? last : first;
  }

  const std::string file = "xor.model";
  {
    dynet::TextFileSaver saver(file);
    saver.save(model.collection);
    saver.close();
  }
  Model read;
  dynet::TextFileLoader(file).populate(read.collection);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    dynet::ComputationGraph cg;
    const float y = dynet::as_scalar(read.answer(cg, xs[i]).value());
    std::printf("%g xor %g = %.3f\n", static_cast<double>(xs[i][0]), static_cast<double>(xs[i][1]),
                static_cast<double>(y));
    if ((y > 0.5F) != (ys[i] > 0.5F)) {
      std::printf("wrong\n");
      return 1;
    }
  }
  std::printf("loss %.4f -> %.4f\n", static_cast<double>(first), static_cast<double>(last));
  return last < 0.1F * first ? 0 : 1;
}
