#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <string>
#include <type_traits>

#include "dynet/grad-check.h"

#include "api/graph_state.h"
#include "params/host.h"

namespace dynet {

namespace {

constexpr double kStep = 5e-3;
constexpr double kLargestError = 0.01;

/// Compares one number after the other, and counts.
class Check {
 public:
  Check(const Expression& expr, int verbosity) : expr_(expr), verbosity_(verbosity) {}

  /// All numbers of a tensor. `decay`: stored values are multiplied with it before use.
  void compare_all(const std::string& name, const Tensor& values, const Tensor& gradient,
                   double decay) {
    const std::vector<double> gradients = as_double_vector(gradient);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const Tensor number = params::element(values, static_cast<std::int64_t>(i));
      compare(name + "[" + std::to_string(i) + "]", gradients[i], difference(number) / decay);
    }
  }
  [[nodiscard]] bool passed() const {
    if (verbosity_ > 0) {
      std::cerr << "check_grad: " << (wrong_ == 0 ? "passed, " : std::to_string(wrong_) + " of ")
                << compared_ << (wrong_ == 0 ? " numbers\n" : " numbers are wrong\n");
    }
    return wrong_ == 0;
  }

 private:
  /// Stores a number, rounded to the type of the device; returns the stored number.
  static double store(const Tensor& to, double number) {
    double stored = 0.0;
    params::overwrite(to, [&](auto* x, std::int64_t) {
      *x = static_cast<std::remove_pointer_t<decltype(x)>>(number);
      stored = static_cast<double>(*x);
    });
    return stored;
  }
  double loss() { return as_double_vector(expr_.pg->forward(expr_))[0]; }
  /// The slope between both sides of the number, which stays as it is.
  double difference(const Tensor& number) {
    const double before = as_double_vector(number)[0];
    try {
      const double up = store(number, before + kStep);
      const double loss_up = loss();
      const double down = store(number, before - kStep);
      const double loss_down = loss();
      store(number, before);
      return (loss_up - loss_down) / (up - down);
    } catch (...) {
      store(number, before);
      throw;
    }
  }
  void compare(const std::string& name, double gradient, double difference) {
    double error = std::fabs(difference - gradient);
    if (error > kLargestError) {
      error /= std::max(std::fabs(difference), std::fabs(gradient));
    }
    const bool is_wrong = !(error <= kLargestError);  // also NaN
    wrong_ += is_wrong ? 1 : 0;
    ++compared_;
    if (verbosity_ > 1 || (verbosity_ == 1 && is_wrong)) {
      std::cerr << "check_grad: " << name << ": gradient " << gradient << ", difference "
                << difference << (is_wrong ? ", wrong\n" : "\n");
    }
  }

  const Expression& expr_;
  int verbosity_;
  std::size_t compared_ = 0;
  std::size_t wrong_ = 0;
};

void compare_rows(Check& check, const LookupParameter& table) {
  const LookupParameterStorage& storage = table.get_storage();
  std::vector<unsigned> rows(storage.non_zero_grads.begin(), storage.non_zero_grads.end());
  if (storage.all_updated) {
    rows.resize(storage.rows());
    std::iota(rows.begin(), rows.end(), 0U);
  }
  std::sort(rows.begin(), rows.end());
  for (const unsigned row : rows) {
    check.compare_all(storage.name + " row " + std::to_string(row), storage.values[row],
                      storage.grads[row], static_cast<double>(table.current_weight_decay()));
  }
}

void compare_model(Check& check, const ParameterCollection& m) {
  for (const auto& storage : m.parameters_list()) {
    const Parameter p(storage);
    if (p.is_updated()) {
      check.compare_all(storage->name, *p.values(), *p.gradients(),
                        static_cast<double>(p.current_weight_decay()));
    }
  }
  for (const auto& storage : m.lookup_parameters_list()) {
    const LookupParameter table(storage);
    if (table.is_updated()) {
      compare_rows(check, table);
    }
  }
}

}  // namespace

bool check_grad(ParameterCollection& m, const Expression& expr, int verbosity) {
  static_cast<void>(api::checked_node(expr, "check_grad"));
  m.reset_gradient();
  expr.pg->forward(expr);
  expr.pg->backward(expr);
  Check check(expr, verbosity);
  try {
    compare_model(check, m);
  } catch (...) {
    expr.pg->invalidate();
    throw;
  }
  expr.pg->invalidate();  // it has values of parameters that were moved
  return check.passed();
}

}  // namespace dynet
