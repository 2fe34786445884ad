#pragma once

// A second implementation of each recurrent builder: one step by its formula, in loops over
// doubles.

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "dynet/deep-lstm.h"
#include "dynet/fast-lstm.h"
#include "dynet/gru.h"
#include "dynet/lstm.h"
#include "dynet/rnn.h"

#include "test_support.h"

namespace dynet::builder_tests {

/// A layer after a step; `c` is empty in builders without cells.
struct LayerNumbers {
  Numbers c;
  Numbers h;
};
using Layers = std::vector<LayerNumbers>;         ///< empty: no state
using Masks = std::vector<std::vector<Numbers>>;  ///< [layer][input, recurrent, cell]; or empty

inline Numbers times(const Numbers& a, const Numbers& b) {
  Numbers y;
  for (std::size_t i = 0; i < a.size(); ++i) {
    y.push_back(a[i] * b[i]);
  }
  return y;
}
inline Numbers masked(const Numbers& x, const Masks& masks, std::size_t layer, std::size_t kind) {
  return masks.empty() ? x : times(x, masks[layer][kind]);
}
inline Numbers product(const Numbers& w, const Numbers& x) {
  Numbers y(w.size() / x.size(), 0.0);
  add_product(w, x, y);
  return y;
}
inline Numbers joined(Numbers a, const Numbers& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
inline double tanh_of(double x) { return std::tanh(x); }

/// LN(x; g, b) with the population deviation.
inline Numbers layer_norm(const Numbers& x, const Parameter& gain, const Parameter& bias) {
  double mean = 0.0;
  double square = 0.0;
  for (const double v : x) {
    mean += v / static_cast<double>(x.size());
  }
  for (const double v : x) {
    square += (v - mean) * (v - mean) / static_cast<double>(x.size());
  }
  const Numbers g = numbers_of(gain);
  const Numbers b = numbers_of(bias);
  Numbers y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    y.push_back(g[i] * (x[i] - mean) / (std::sqrt(square) + 1e-8) + b[i]);
  }
  return y;
}

// ---- one layer of one step
// `x` and the hidden state of `before` are masked already; `before` may be null.

inline LayerNumbers layer_step(const SimpleRNNBuilder& b, std::size_t layer, const Numbers& x,
                               const LayerNumbers* before, const Masks& /*masks*/) {
  const auto& p = b.params[layer];
  Numbers a = affine(numbers_of(p[2]), {{&p[0], x}});
  if (before != nullptr) {
    a = affine(a, {{&p[1], before->h}});
  }
  return {{}, map(a, tanh_of)};
}

inline LayerNumbers layer_step(const GRUBuilder& b, std::size_t layer, const Numbers& x,
                               const LayerNumbers* before, const Masks& /*masks*/) {
  const auto& p = b.params[layer];
  Numbers z = affine(numbers_of(p[2]), {{&p[0], x}});
  Numbers a = affine(numbers_of(p[8]), {{&p[6], x}});
  Numbers old(b.hid, 0.0);
  if (before != nullptr) {
    old = before->h;
    z = affine(z, {{&p[1], old}});
    const Numbers r = map(affine(numbers_of(p[5]), {{&p[3], x}, {&p[4], old}}), sigma);
    a = b.reset_after ? a : affine(a, {{&p[7], times(r, old)}});
  }
  if (b.reset_after) {
    const Numbers r = map(affine(numbers_of(p[5]), {{&p[3], x}, {&p[4], old}}), sigma);
    const Numbers kept = times(r, affine(numbers_of(p[9]), {{&p[7], old}}));
    for (std::size_t k = 0; k < b.hid; ++k) {
      a[k] += kept[k];
    }
  }
  LayerNumbers now;
  for (std::size_t k = 0; k < b.hid; ++k) {
    now.h.push_back((1.0 - sigma(z[k])) * old[k] + sigma(z[k]) * std::tanh(a[k]));
  }
  return now;
}

/// x2i, h2i and bi as the step uses them.
inline std::vector<Numbers> weights_of(const StandardLSTMBuilder& b, std::size_t layer) {
  const auto& p = b.params[layer];
  return {numbers_of(p[0]), numbers_of(p[1]), numbers_of(p[2])};
}
inline std::vector<Numbers> weights_of(const SparseLSTMBuilder& b, std::size_t layer) {
  const auto& p = b.params[layer];
  return {times(numbers_of(p[0]), numbers_of(p[3])), times(numbers_of(p[1]), numbers_of(p[4])),
          numbers_of(p[2])};
}

inline LayerNumbers standard_step(const StandardLSTMBuilder& b, const std::vector<Numbers>& w,
                                  std::size_t layer, const Numbers& x, const LayerNumbers* before) {
  const std::size_t n = b.hid;
  Numbers a = w[2];
  const auto add = [&](const Numbers& matrix, const Numbers& v, std::size_t norm) {
    Numbers y = product(matrix, v);
    if (b.ln_lstm) {
      y = layer_norm(y, b.ln_params[layer][norm], b.ln_params[layer][norm + 1]);
    }
    for (std::size_t i = 0; i < 4 * n; ++i) {
      a[i] += y[i];
    }
  };
  add(w[0], x, 2);
  if (before != nullptr) {
    add(w[1], before->h, 0);
  }
  LayerNumbers s;
  for (std::size_t i = 0; i < n; ++i) {
    const double old = before == nullptr ? 0.0 : before->c[i];
    s.c.push_back(sigma(a[n + i] + static_cast<double>(b.forget_bias)) * old +
                  sigma(a[i]) * std::tanh(a[3 * n + i]));
  }
  const Numbers shown =
      b.ln_lstm ? layer_norm(s.c, b.ln_params[layer][4], b.ln_params[layer][5]) : s.c;
  for (std::size_t i = 0; i < n; ++i) {
    s.h.push_back(sigma(a[2 * n + i]) * std::tanh(shown[i]));
  }
  return s;
}
inline LayerNumbers layer_step(const StandardLSTMBuilder& b, std::size_t layer, const Numbers& x,
                               const LayerNumbers* before, const Masks& /*masks*/) {
  return standard_step(b, weights_of(b, layer), layer, x, before);
}
inline LayerNumbers layer_step(const SparseLSTMBuilder& b, std::size_t layer, const Numbers& x,
                               const LayerNumbers* before, const Masks& /*masks*/) {
  return standard_step(b, weights_of(b, layer), layer, x, before);
}

/// The cell as the output gate reads it: masked, if there is a mask for cells.
inline Numbers masked_cell(const Numbers& c, const Masks& masks, std::size_t layer) {
  return masks.empty() || masks[layer].size() < 3 ? c : times(c, masks[layer][2]);
}

inline LayerNumbers coupled_step(const CoupledGatesBuilder& b, bool first_looks, bool later_looks,
                                 std::size_t layer, const Numbers& x, const LayerNumbers* before,
                                 const Masks& masks) {
  const auto& p = b.params[layer];
  Numbers i = affine(numbers_of(p[3]), {{&p[0], x}});
  Numbers g = affine(numbers_of(p[10]), {{&p[8], x}});
  Numbers o = affine(numbers_of(p[7]), {{&p[4], x}});
  const bool looks = before == nullptr ? first_looks : later_looks;
  if (before != nullptr) {
    i = affine(i, {{&p[1], before->h}});
    g = affine(g, {{&p[9], before->h}});
    o = affine(o, {{&p[5], before->h}});
    if (looks) {
      i = affine(i, {{&p[2], masked_cell(before->c, masks, layer)}});
    }
  }
  LayerNumbers s;
  for (std::size_t k = 0; k < b.hid; ++k) {
    const double old = before == nullptr ? 0.0 : before->c[k];
    s.c.push_back((1.0 - sigma(i[k])) * old + sigma(i[k]) * std::tanh(g[k]));
  }
  if (looks) {
    o = affine(o, {{&p[6], masked_cell(s.c, masks, layer)}});
  }
  for (std::size_t k = 0; k < b.hid; ++k) {
    s.h.push_back(sigma(o[k]) * std::tanh(s.c[k]));
  }
  return s;
}
inline LayerNumbers layer_step(const CoupledLSTMBuilder& b, std::size_t layer, const Numbers& x,
                               const LayerNumbers* before, const Masks& masks) {
  return coupled_step(b, true, true, layer, x, before, masks);
}
inline LayerNumbers layer_step(const FastLSTMBuilder& b, std::size_t layer, const Numbers& x,
                               const LayerNumbers* before, const Masks& masks) {
  return coupled_step(b, false, false, layer, x, before, masks);
}
inline LayerNumbers layer_step(const DeepLSTMBuilder& b, std::size_t layer, const Numbers& x,
                               const LayerNumbers* before, const Masks& masks) {
  return coupled_step(b, false, true, layer, x, before, masks);
}

// ---- a step

inline Numbers read_by(const LayeredRNNBuilder& /*b*/, std::size_t /*layer*/, const Numbers& below,
                       const Numbers& /*x*/) {
  return below;
}
inline Numbers read_by(const DeepLSTMBuilder& /*b*/, std::size_t layer, const Numbers& below,
                       const Numbers& x) {
  return layer == 0 ? below : joined(below, x);
}

inline Numbers output(const LayeredRNNBuilder& /*b*/, const Layers& layers) {
  return layers.back().h;
}
inline Numbers output(const DeepLSTMBuilder& /*b*/, const Layers& layers) {
  Numbers all;
  for (const LayerNumbers& layer : layers) {
    all = joined(all, layer.h);
  }
  return all;
}

template <class Builder>
Layers step(const Builder& b, const Numbers& x, const Layers& before, const Masks& masks = {}) {
  Layers now;
  Numbers below = x;
  for (std::size_t layer = 0; layer < b.layers; ++layer) {
    LayerNumbers old;
    if (!before.empty()) {
      old = {before[layer].c, masked(before[layer].h, masks, layer, 1)};
    }
    const Numbers in = masked(read_by(b, layer, below, x), masks, layer, 0);
    now.push_back(layer_step(b, layer, in, before.empty() ? nullptr : &old, masks));
    below = now.back().h;
  }
  return now;
}

}  // namespace dynet::builder_tests
