#include "trainers/rule.h"

namespace dynet {

using trainers::IdleMotion;
using trainers::Target;

namespace {

void step(double rate, real gscale, double keep, const Target& t) {
  t.state.kernels.sgd_update({rate, static_cast<double>(gscale), keep}, t.values, t.gradient,
                             t.elements);
}

}  // namespace

void SimpleSGDTrainer::update_rule(real gscale, const std::vector<Tensor*>& values) {
  values[0]->device->kernels->sgd_update(
      {static_cast<double>(learning_rate), static_cast<double>(gscale)}, values[0]->v, values[1]->v,
      values[0]->d.elements());
}

void SimpleSGDTrainer::update_params(real gscale, std::size_t idx) {
  ParameterStorage& p = *detail::ModelAccess::parameters(*model)[idx];
  if (p.state().fill == detail::GradientFill::kEmpty) {
    return;
  }
  step(static_cast<double>(learning_rate) / decay_of(p), gscale, take_keep(), trainers::whole(p));
}

void SimpleSGDTrainer::update_lookup_params(real gscale, std::size_t idx, std::size_t lidx) {
  LookupParameterStorage& p = *detail::ModelAccess::lookups(*model)[idx];
  step(static_cast<double>(learning_rate) / decay_of(p), gscale, 1.0,
       trainers::row_of(p, static_cast<unsigned>(lidx)));
}

void SimpleSGDTrainer::update_lookup_params(real gscale, std::size_t idx) {
  LookupParameterStorage& p = *detail::ModelAccess::lookups(*model)[idx];
  if (p.state().fill == detail::GradientFill::kEmpty) {
    return;
  }
  step(static_cast<double>(learning_rate) / decay_of(p), gscale, 1.0, trainers::whole(p));
}

IdleMotion SimpleSGDTrainer::idle_motion(std::size_t /*idx*/) {
  return {.kind = IdleMotion::Kind::kNone};
}

}  // namespace dynet
