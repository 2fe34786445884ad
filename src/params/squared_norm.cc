#include "params/squared_norm.h"

#include <algorithm>

#include "params/buffer.h"

namespace dynet::params {

SquaredNorm::Part& SquaredNorm::part_of(const Device& device) {
  const auto part = std::find_if(parts_.begin(), parts_.end(),
                                 [&](const Part& p) { return p.device == &device; });
  return part != parts_.end() ? *part : *parts_.insert(part, {&device, {}});
}

double SquaredNorm::value() {
  for (Part& part : parts_) {
    const Device& device = *part.device;
    const Buffer sum(device, std::int64_t{sizeof(double)} / device.number_bytes(), "a norm");
    device.kernels->add_squared_norms(part.runs, reinterpret_cast<double*>(sum.data()));
    double here = 0.0;
    device.memory->copy_out(sum.data(), &here, sizeof here);
    known_ += here;
    part.runs.clear();
  }
  return known_;
}

}  // namespace dynet::params
