#include "testing/differences.h"

#include "testing/tolerance.h"

namespace dynet::testing {

namespace {

/// The gradient of one source after `run`: of its parameter, or the sum over the leaves that read
/// the source.
std::vector<double> gradient_of_source(const Program& program, const Result& result,
                                       std::size_t source) {
  if (!result.source_gradients[source].empty()) {
    return result.source_gradients[source];
  }
  std::vector<double> sum(program.sources[source].data.size(), 0.0);
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    const bool reads = step.sample == nullptr && step.source == static_cast<int>(source);
    if (!reads || result.gradients[s].empty()) {  // reverted ones have none
      continue;
    }
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += result.gradients[s][0][i];
    }
  }
  return sum;
}

}  // namespace

std::string check_gradients(const Program& program, const Result& analytic, int most,
                            std::size_t every_nth_source) {
  // Numbers are multiples of 2^-12 below 16 in size, so a step of 2^-17 is exact in float; the
  // error of the difference is h^2/6 of the third derivative, 1e-11 of it.
  constexpr float kStep = 0x1p-17F;
  const RunOptions options{double_device(), false, false};
  Program changed = program;
  for (std::size_t s = 0; s < program.sources.size(); s += every_nth_source) {
    const std::vector<double> gradient = gradient_of_source(program, analytic, s);
    std::vector<float>& data = changed.sources[s].data;
    if (gradient.size() != data.size()) {
      return "source " + std::to_string(s) + ": another size";
    }
    const std::size_t stride = data.size() / static_cast<std::size_t>(most) + 1;
    for (std::size_t i = 0; i < data.size(); i += stride) {
      const float x = data[i];
      data[i] = x + kStep;
      const double above = loss_of(changed, options);
      data[i] = x - kStep;
      const double below = loss_of(changed, options);
      data[i] = x;
      const double difference = (above - below) / (2.0 * static_cast<double>(kStep));
      const std::string bad = compare({gradient[i]}, {difference}, tolerance::kDifferences);
      if (!bad.empty()) {
        return "gradient of source " + std::to_string(s) + " at " + std::to_string(i) +
               " against the difference: " + bad + "\n" + program.text();
      }
    }
  }
  return "";
}

}  // namespace dynet::testing
