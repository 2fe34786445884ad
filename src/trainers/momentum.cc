#include "trainers/rule.h"

namespace dynet {

using trainers::IdleMotion;
using trainers::Target;

namespace {

ext::MomentumStep step(const MomentumSGDTrainer& trainer, real momentum, real gscale,
                       double decay) {
  return {.rate = static_cast<double>(trainer.learning_rate),
          .momentum = static_cast<double>(momentum),
          .gradient_scale = static_cast<double>(gscale),
          .gain = 1.0 / decay};
}
void run(const ext::MomentumStep& step, const Target& t, const Tensor& velocity) {
  t.state.kernels.momentum_update(step, t.values, t.gradient, velocity.v, t.elements);
}

}  // namespace

void MomentumSGDTrainer::update_rule(real gscale, const std::vector<Tensor*>& values) {
  values[0]->device->kernels->momentum_update(step(*this, momentum, gscale, 1.0), values[0]->v,
                                              values[1]->v, values[2]->v, values[0]->d.elements());
}

void MomentumSGDTrainer::update_params(real gscale, std::size_t idx) {
  ParameterStorage& p = *detail::ModelAccess::parameters(*model)[idx];
  ext::MomentumStep s = step(*this, momentum, gscale, decay_of(p));
  s.keep = take_keep();
  run(s, trainers::whole(p), vp[idx].h);
}

void MomentumSGDTrainer::update_lookup_params(real gscale, std::size_t idx, std::size_t lidx) {
  LookupParameterStorage& p = *detail::ModelAccess::lookups(*model)[idx];
  run(step(*this, momentum, gscale, decay_of(p)), trainers::row_of(p, static_cast<unsigned>(lidx)),
      vlp[idx].h[lidx]);
}

void MomentumSGDTrainer::update_lookup_params(real gscale, std::size_t idx) {
  LookupParameterStorage& p = *detail::ModelAccess::lookups(*model)[idx];
  run(step(*this, momentum, gscale, decay_of(p)), trainers::whole(p), vlp[idx].all_h);
}

void MomentumSGDTrainer::list_state(trainers::StateLists& lists) {
  lists = {"MomentumSGDTrainer", {&vp}, {&vlp}, {{"momentum", &momentum}}};
}

IdleMotion MomentumSGDTrainer::idle_motion(std::size_t idx) {
  return {.kind = IdleMotion::Kind::kMomentum,
          .weight = 1.0 / decay_of(*detail::ModelAccess::lookups(*model)[idx]),
          .beta_1 = static_cast<double>(momentum),
          .m = &vlp[idx]};
}

}  // namespace dynet
