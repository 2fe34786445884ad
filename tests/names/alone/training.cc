// Names that programs expect when they include dynet/training.h and nothing else.

#include "dynet/training.h"

float count_on_training();
float count_on_training() {
  dynet::ParameterCollection model;
  dynet::AdamTrainer trainer(model);
  const std::vector<dynet::ShadowParameters> shadows(1);
  const dynet::Parameter p = model.add_parameters({2}, dynet::ParameterInitUniform(0.5F));
  model.add_parameters({2}, dynet::ParameterInitConst(0.5F));
  trainer.update();
  std::cerr << shadows.size() << std::endl;
  return p.current_weight_decay();
}
