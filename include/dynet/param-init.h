#pragma once

// Initial values of parameters. All random initialisers draw from `*rndeng` in memory order.

#include <string>
#include <utility>
#include <vector>

#include "dynet/tensor.h"

namespace dynet {

/// Base of the initialisers.
///
/// C++: Fills the values of a parameter; for lookup tables the whole table, rows last. Programs may
/// derive their own. Thread rule: const, without state.
struct ParameterInit {
  ParameterInit() = default;
  ParameterInit(const ParameterInit&) = default;
  ParameterInit& operator=(const ParameterInit&) = default;
  virtual ~ParameterInit();
  virtual void initialize_params(Tensor& values) const = 0;
};

/// Normal numbers with this mean and **variance**. DomainError for a negative variance.
struct ParameterInitNormal : ParameterInit {
  explicit ParameterInitNormal(float m = 0.0F, float v = 1.0F);
  void initialize_params(Tensor& values) const override;

 private:
  float mean_, variance_;
};

/// Uniform numbers in [-scale, scale). DomainError if the interval is empty.
///
/// C++: Two numbers `l` and `r`: in [l, r).
struct ParameterInitUniform : ParameterInit {
  explicit ParameterInitUniform(float scale);
  ParameterInitUniform(float l, float r);
  void initialize_params(Tensor& values) const override;

 private:
  float left_, right_;
};

/// Every element is `c`.
struct ParameterInitConst : ParameterInit {
  explicit ParameterInitConst(float c) : value_(c) {}
  void initialize_params(Tensor& values) const override;

 private:
  float value_;
};

/// The identity matrix. UsageError unless the parameter is a square matrix.
struct ParameterInitIdentity : ParameterInit {
  ParameterInitIdentity() = default;
  void initialize_params(Tensor& values) const override;
};

/// Uniform numbers in [-s, s) with s = gain * sqrt(3 D / (d0 + ... + d_{D-1})): sqrt(6/(m+n)) for a
/// matrix. D is the number of dimensions, without the rows of a table if `is_lookup`. For D == 4, a
/// filter {h,w,ci,co}, s = gain * sqrt(6 / (h w ci + h w co)). (Glorot and Bengio, 2010.)
struct ParameterInitGlorot : ParameterInit {
  explicit ParameterInitGlorot(bool is_lookup = false, float gain = 1.0F)
      : is_lookup_(is_lookup), gain_(gain) {}
  void initialize_params(Tensor& values) const override;

 private:
  bool is_lookup_;
  float gain_;
};

/// A random orthonormal matrix times `gain` (Saxe et al., 2014). UsageError unless the parameter is
/// a square matrix.
struct ParameterInitSaxe : ParameterInit {
  explicit ParameterInitSaxe(float gain = 1.0F) : gain_(gain) {}
  void initialize_params(Tensor& values) const override;

 private:
  float gain_;
};

/// Numbers separated by white space, in memory order: column by column. IoError unless the file has
/// exactly the parameter's number of values, all readable.
struct ParameterInitFromFile : ParameterInit {
  explicit ParameterInitFromFile(std::string f) : filename_(std::move(f)) {}
  void initialize_params(Tensor& values) const override;

 private:
  std::string filename_;
};

/// The numbers of `v`, for a parameter of its shape.
///
/// C++: They are in memory order. SizeError for another number of values than the parameter's; if a
/// shape `d` is given (of a table: rows last), ShapeError for another shape than the parameter's.
struct ParameterInitFromVector : ParameterInit {
  explicit ParameterInitFromVector(std::vector<float> v) : values_(std::move(v)) {}
  ParameterInitFromVector(std::vector<float> v, const Dim& d)
      : values_(std::move(v)), dim_(d), has_dim_(true) {}
  void initialize_params(Tensor& values) const override;

 private:
  std::vector<float> values_;
  Dim dim_;
  bool has_dim_ = false;
};

}  // namespace dynet
