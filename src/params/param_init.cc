#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>

#include "dynet/except.h"
#include "dynet/param-init.h"

#include "util/foreign_file.h"
#include "util/interrupt.h"
#include "util/number_text.h"

namespace dynet {

ParameterInit::~ParameterInit() = default;

ParameterInitNormal::ParameterInitNormal(float m, float v) : mean_(m), variance_(v) {
  if (!(v >= 0.0F)) {
    throw errors::DomainError("ParameterInitNormal: the variance is " + util::text_of(v) +
                              "; want 0 or more");
  }
}
void ParameterInitNormal::initialize_params(Tensor& values) const {
  TensorTools::randomize_normal(values, mean_, std::sqrt(variance_));
}

ParameterInitUniform::ParameterInitUniform(float scale) : ParameterInitUniform(-scale, scale) {}
ParameterInitUniform::ParameterInitUniform(float l, float r) : left_(l), right_(r) {
  if (!(l < r)) {
    throw errors::DomainError("ParameterInitUniform: the interval [" + util::text_of(l) + ", " +
                              util::text_of(r) + ") is empty");
  }
}
void ParameterInitUniform::initialize_params(Tensor& values) const {
  TensorTools::randomize_uniform(values, left_, right_);
}

void ParameterInitConst::initialize_params(Tensor& values) const {
  TensorTools::constant(values, value_);
}
void ParameterInitIdentity::initialize_params(Tensor& values) const {
  TensorTools::identity(values);
}

void ParameterInitGlorot::initialize_params(Tensor& values) const {
  const unsigned nd = values.d.nd;
  const unsigned dims = is_lookup_ && nd > 0 ? nd - 1 : nd;
  double extents = 0.0;
  double weight = 3.0 * dims;
  if (dims == 4) {
    const double window = static_cast<double>(values.d[0]) * values.d[1];
    extents = window * values.d[2] + window * values.d[3];
    weight = 6.0;
  } else {
    for (unsigned i = 0; i < dims; ++i) {
      extents += values.d[i];
    }
  }
  if (extents == 0.0) {  // a scalar {} or an empty tensor
    extents = 1.0;
    weight = 3.0;
  }
  const auto scale =
      static_cast<float>(static_cast<double>(gain_) * std::sqrt(weight) / std::sqrt(extents));
  TensorTools::randomize_uniform(values, -std::fabs(scale), std::fabs(scale));
}

void ParameterInitSaxe::initialize_params(Tensor& values) const {
  TensorTools::randomize_orthonormal(values, gain_);
}

void ParameterInitFromFile::initialize_params(Tensor& values) const {
  std::ifstream in(filename_);
  if (!in) {
    throw errors::IoError("ParameterInitFromFile: cannot open '" + filename_ + "'");
  }
  if (const std::string what = util::foreign_file(in); !what.empty()) {
    throw errors::IoError("ParameterInitFromFile: '" + filename_ +
                          "' has no numbers as text: " + what);
  }
  std::vector<float> numbers;
  std::string word;
  util::Interrupt interrupt;
  while (in >> word) {
    interrupt.pass(1);
    std::size_t used = 0;
    try {
      numbers.push_back(std::stof(word, &used));
    } catch (const std::exception&) {
      used = 0;
    }
    if (used != word.size()) {
      throw errors::IoError("ParameterInitFromFile: '" + filename_ + "': entry " +
                            std::to_string(numbers.size()) + " is '" + word + "', not a number");
    }
  }
  if (static_cast<std::int64_t>(numbers.size()) != values.d.elements()) {
    throw errors::IoError("ParameterInitFromFile: '" + filename_ + "' has " +
                          std::to_string(numbers.size()) + " numbers; want " +
                          std::to_string(values.d.elements()) + " for " + to_string(values.d));
  }
  TensorTools::set_elements(values, numbers);
}

void ParameterInitFromVector::initialize_params(Tensor& values) const {
  if (has_dim_ && dim_ != values.d) {
    throw errors::ShapeError("ParameterInitFromVector: the numbers are " + to_string(dim_) +
                             " and the parameter is " + to_string(values.d) +
                             "; want equal shapes");
  }
  if (static_cast<std::int64_t>(values_.size()) != values.d.elements()) {
    throw errors::SizeError("ParameterInitFromVector: " + std::to_string(values_.size()) +
                            " numbers for " + to_string(values.d) + "; want " +
                            std::to_string(values.d.elements()));
  }
  TensorTools::set_elements(values, values_);
}

}  // namespace dynet
