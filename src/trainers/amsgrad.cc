#include "trainers/rule.h"

namespace dynet {

using trainers::IdleMotion;
using trainers::Target;

void AmsgradTrainer::update_rule(real gscale, const std::vector<Tensor*>& values) {
  values[0]->device->kernels->amsgrad_update(adam_step(beta_1, beta_2, epsilon, 1.0, gscale),
                                             values[0]->v, values[1]->v, values[2]->v, values[3]->v,
                                             values[4]->v, values[0]->d.elements());
}

void AmsgradTrainer::update_params(real gscale, std::size_t idx) {
  ParameterStorage& p = *detail::ModelAccess::parameters(*model)[idx];
  const Target t = trainers::whole(p);
  ext::AdamStep s = adam_step(beta_1, beta_2, epsilon, decay_of(p), gscale);
  s.keep = take_keep();
  t.state.kernels.amsgrad_update(s, t.values, t.gradient, m[idx].h.v, v[idx].h.v, vhat[idx].h.v,
                                 t.elements);
}

void AmsgradTrainer::update_lookup_params(real gscale, std::size_t idx, std::size_t lidx) {
  LookupParameterStorage& p = *detail::ModelAccess::lookups(*model)[idx];
  const Target t = trainers::row_of(p, static_cast<unsigned>(lidx));
  t.state.kernels.amsgrad_update(adam_step(beta_1, beta_2, epsilon, decay_of(p), gscale), t.values,
                                 t.gradient, lm[idx].h[lidx].v, lv[idx].h[lidx].v,
                                 lvhat[idx].h[lidx].v, t.elements);
}

void AmsgradTrainer::update_lookup_params(real gscale, std::size_t idx) {
  LookupParameterStorage& p = *detail::ModelAccess::lookups(*model)[idx];
  const Target t = trainers::whole(p);
  t.state.kernels.amsgrad_update(adam_step(beta_1, beta_2, epsilon, decay_of(p), gscale), t.values,
                                 t.gradient, lm[idx].all_h.v, lv[idx].all_h.v, lvhat[idx].all_h.v,
                                 t.elements);
}

void AmsgradTrainer::list_state(trainers::StateLists& lists) {
  lists = {"AmsgradTrainer",
           {&m, &v, &vhat},
           {&lm, &lv, &lvhat},
           {{"beta_1", &beta_1}, {"beta_2", &beta_2}, {"epsilon", &epsilon}}};
}

IdleMotion AmsgradTrainer::idle_motion(std::size_t idx) {
  const ext::AdamStep s = adam_step(beta_1, beta_2, epsilon,
                                    decay_of(*detail::ModelAccess::lookups(*model)[idx]), 1.0F);
  return {.kind = IdleMotion::Kind::kAmsgrad,
          .weight = -s.rate,
          .beta_1 = s.beta_1,
          .beta_2 = s.beta_2,
          .epsilon = s.epsilon,
          .m = &lm[idx],
          .v = &lv[idx],
          .largest = &lvhat[idx]};
}

}  // namespace dynet
