#include "params/squared_norm.h"

#include <algorithm>

namespace dynet::params {

double& SquaredNorm::sum_on(const Device& device) {
  auto part = std::find_if(parts_.begin(), parts_.end(),
                           [&](const Part& p) { return p.device == &device; });
  if (part == parts_.end()) {
    const auto numbers = static_cast<std::int64_t>(sizeof(double)) / device.number_bytes();
    part = parts_.insert(part, {&device, Buffer(device, numbers, "a norm")});
  }
  return *reinterpret_cast<double*>(part->sum.data());
}

double SquaredNorm::value() const {
  double all = known_;
  for (const Part& part : parts_) {
    double sum = 0.0;
    part.device->memory->copy_out(part.sum.data(), &sum, sizeof sum);
    all += sum;
  }
  return all;
}

}  // namespace dynet::params
