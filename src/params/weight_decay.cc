#include <cmath>
#include <string>

#include "dynet/except.h"
#include "dynet/weight-decay.h"

#include "util/number_text.h"

namespace dynet {
namespace {
float checked(float lambda) {
  if (!(lambda >= 0.0F && lambda < 1.0F)) {
    throw errors::DomainError("weight decay: lambda is " + util::text_of(lambda) +
                              "; want 0 or more and less than 1");
  }
  return lambda;
}
}  // namespace

L2WeightDecay::L2WeightDecay(float lambda) : lambda_(checked(lambda)) {}

void L2WeightDecay::set_lambda(float lambda) {
  lambda_ = checked(lambda);
  inherited_ = nullptr;
}

void L2WeightDecay::update_weight_decay(unsigned num_updates) {
  const double kept = 1.0 - static_cast<double>(get_lambda());
  factor_ = static_cast<float>(static_cast<double>(factor_) * std::pow(kept, num_updates));
}

}  // namespace dynet
