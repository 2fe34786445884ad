#pragma once

// The model of random sessions, and copies of it.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "dynet/init.h"
#include "dynet/model.h"
#include "dynet/tensor.h"

#include "testing/device.h"
#include "testing/program.h"

namespace dynet::testing {

inline constexpr unsigned kSize = 3;
inline constexpr unsigned kTableRows = 5;

/// The parameters of a session, or their copy.
struct Model {
  ParameterCollection all;
  Parameter w = all.add_parameters({kSize, kSize}, ParameterInitUniform(0.7F));
  Parameter u = all.add_parameters({kSize, kSize}, ParameterInitUniform(0.7F));
  Parameter b = all.add_parameters({kSize}, ParameterInitUniform(0.5F));
  LookupParameter e = all.add_lookup_parameters(kTableRows, {kSize}, ParameterInitUniform(0.7F));

  void copy_values(const Model& from) {
    TensorTools::copy_elements(*w.values(), *from.w.values());
    TensorTools::copy_elements(*u.values(), *from.u.values());
    TensorTools::copy_elements(*b.values(), *from.b.values());
    TensorTools::copy_elements(e.get_storage().all_values, from.e.get_storage().all_values);
  }
  [[nodiscard]] std::vector<double> gradients() const {
    std::vector<double> all_of_them;
    for (const Tensor* g :
         {&w.get_storage().g, &u.get_storage().g, &b.get_storage().g, &e.get_storage().all_grads}) {
      const std::vector<double> some = numbers(*g);
      all_of_them.insert(all_of_them.end(), some.begin(), some.end());
    }
    return all_of_them;
  }
};

/// A copy of the model for each version of its values, the newest last.
class Copies {
 public:
  void take(const Model& model) {
    const DefaultDevice device(double_device());
    all_.push_back(std::make_unique<Model>());
    all_.back()->copy_values(model);
  }
  [[nodiscard]] const Model& at(std::size_t version) const { return *all_[version]; }
  [[nodiscard]] std::size_t newest() const { return all_.size() - 1; }
  void reset_gradients() {
    for (const auto& copy : all_) {
      copy->all.reset_gradient();
    }
  }
  [[nodiscard]] std::vector<double> gradients() const {
    std::vector<double> sum = all_[0]->gradients();
    for (std::size_t v = 1; v < all_.size(); ++v) {
      const std::vector<double> more = all_[v]->gradients();
      std::transform(sum.begin(), sum.end(), more.begin(), sum.begin(), std::plus<>());
    }
    return sum;
  }

 private:
  std::vector<std::unique_ptr<Model>> all_;
};

/// Backward passes over values from before a change: passes that gave a gradient, and passes that
/// were refused because the values were gone.
struct Outcomes {
  std::size_t kept = 0;
  std::size_t gone = 0;
};

}  // namespace dynet::testing
