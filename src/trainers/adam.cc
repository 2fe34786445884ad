#include <cmath>
#include <string>

#include "trainers/rule.h"
#include "trainers/text.h"

namespace dynet {

AdamTrainer::AdamTrainer(ParameterCollection& collection, float rate, float b1, float b2, float eps)
    : Trainer(collection, rate), beta_1(b1), beta_2(b2), epsilon(eps) {}

unsigned AdamTrainer::alloc_impl() {
  allocate_shadow_parameters(*model, static_cast<unsigned>(m.size()), m);
  allocate_shadow_parameters(*model, static_cast<unsigned>(v.size()), v);
  return Trainer::alloc_impl();
}

unsigned AdamTrainer::alloc_lookup_impl() {
  allocate_shadow_lookup_parameters(*model, static_cast<unsigned>(lm.size()), lm);
  allocate_shadow_lookup_parameters(*model, static_cast<unsigned>(lv.size()), lv);
  return Trainer::alloc_lookup_impl();
}

void AdamTrainer::restart() {
  for (auto* shadows : {&m, &v}) {
    for (ShadowParameters& s : *shadows) {
      TensorTools::zero(s.h);
    }
  }
  for (auto* shadows : {&lm, &lv}) {
    for (ShadowLookupParameters& s : *shadows) {
      TensorTools::zero(s.all_h);
    }
  }
}

ext::AdamStep AdamTrainer::step(double decay, real gscale) const {
  const auto b1 = static_cast<double>(beta_1);
  const auto b2 = static_cast<double>(beta_2);
  const auto t = static_cast<double>(step_number());
  const double correction = std::sqrt(1.0 - std::pow(b2, t)) / (1.0 - std::pow(b1, t));
  return {static_cast<double>(learning_rate) * correction / decay, b1, b2,
          static_cast<double>(epsilon), static_cast<double>(gscale)};
}

void AdamTrainer::update_rule(real gscale, const std::vector<Tensor*>& values) {
  values[0]->device->kernels->adam_update(step(1.0, gscale), values[0]->v, values[1]->v,
                                          values[2]->v, values[3]->v, values[0]->d.elements());
}

void AdamTrainer::update_params(real gscale, std::size_t idx) {
  ParameterStorage& p = *detail::ModelAccess::parameters(*model)[idx];
  const trainers::Target t = trainers::whole(p);
  t.state.kernels.adam_update(step(decay_of(p), gscale), t.values, t.gradient, m[idx].h.v,
                              v[idx].h.v, t.elements);
}

void AdamTrainer::update_lookup_params(real gscale, std::size_t idx, std::size_t lidx) {
  LookupParameterStorage& p = *detail::ModelAccess::lookups(*model)[idx];
  const trainers::Target t = trainers::row_of(p, static_cast<unsigned>(lidx));
  t.state.kernels.adam_update(step(decay_of(p), gscale), t.values, t.gradient, lm[idx].h[lidx].v,
                              lv[idx].h[lidx].v, t.elements);
}

void AdamTrainer::update_lookup_params(real gscale, std::size_t idx) {
  LookupParameterStorage& p = *detail::ModelAccess::lookups(*model)[idx];
  const trainers::Target t = trainers::whole(p);
  t.state.kernels.adam_update(step(decay_of(p), gscale), t.values, t.gradient, lm[idx].all_h.v,
                              lv[idx].all_h.v, t.elements);
}

void AdamTrainer::save(std::ostream& os) {
  aux_alloc();
  const trainers::TextFormat format(os);
  save_base(os);
  trainers::write_header(os, "AdamTrainer", m.size(), lm.size());
  trainers::write_shadows(os, m);
  trainers::write_shadows(os, v);
  trainers::write_shadows(os, lm);
  trainers::write_shadows(os, lv);
  os << beta_1 << ' ' << beta_2 << ' ' << epsilon << '\n';
  trainers::check_written(os);
}

void AdamTrainer::populate(std::istream& is) {
  aux_alloc();
  trainers::TextReader in(is, *model);
  Saved base = read_base(in);
  const trainers::ShadowCounts counts = in.header("AdamTrainer");
  const trainers::Block new_m = in.parameters(counts);
  const trainers::Block new_v = in.parameters(counts);
  const trainers::Block new_lm = in.lookups(counts);
  const trainers::Block new_lv = in.lookups(counts);
  const float b1 = in.number("beta_1");
  const float b2 = in.number("beta_2");
  const float eps = in.number("epsilon");
  // Everything is read: nothing below throws.
  commit_base(base);
  trainers::assign(m, new_m);
  trainers::assign(v, new_v);
  trainers::assign(lm, new_lm);
  trainers::assign(lv, new_lv);
  beta_1 = b1;
  beta_2 = b2;
  epsilon = eps;
}

}  // namespace dynet
