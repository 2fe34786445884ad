#pragma once

// A second implementation of each builder of trees: one node by its formula, in loops over doubles.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "dynet/tree-builders.h"
#include "dynet/treelstm.h"

#include "recurrent_oracle.h"

namespace dynet::builder_tests {

using Nodes = std::vector<Layers>;         ///< states of a node's children
using States = std::vector<LayerNumbers>;  ///< of the children, in one layer

inline void add_to(Numbers& sum, const Numbers& a) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum[i] += a[i];
  }
}
inline Numbers sum_of_h(const States& children) {
  Numbers sum(children[0].h.size(), 0.0);
  for (const LayerNumbers& child : children) {
    add_to(sum, child.h);
  }
  return sum;
}

/// c and h, from the gates before the logistic function and from the kept share of the cells.
inline LayerNumbers close_cell(const Numbers& i, const Numbers& g, const Numbers& o,
                               const Numbers& kept) {
  LayerNumbers s;
  for (std::size_t k = 0; k < i.size(); ++k) {
    s.c.push_back(sigma(i[k]) * std::tanh(g[k]) + kept[k]);
    s.h.push_back(sigma(o[k]) * std::tanh(s.c[k]));
  }
  return s;
}

inline LayerNumbers layer_node(const NaryTreeLSTMBuilder& b, std::size_t layer, const Numbers& x,
                               const States& children) {
  const auto& p = b.params[layer];
  const auto slot = [&](std::size_t j) { return std::min<std::size_t>(j, b.N - 1); };
  const auto add = [&](std::size_t table, std::size_t row, const Numbers& v, Numbers& y) {
    add_product(numbers_of(b.lparams[layer][table].get_storage().values[row]), v, y);
  };
  const auto gate = [&](std::size_t x2g, std::size_t bias, std::size_t h2g, std::size_t c2g) {
    Numbers y = affine(numbers_of(p[bias]), {{&p[x2g], x}});
    for (std::size_t j = 0; j < children.size(); ++j) {
      add(h2g, slot(j), children[j].h, y);
      if (c2g != 0) {
        add(c2g, slot(j), children[j].c, y);
      }
    }
    return y;
  };
  Numbers kept(b.hid, 0.0);
  for (std::size_t k = 0; k < children.size(); ++k) {
    Numbers f = affine(numbers_of(p[3]), {{&p[2], x}});
    for (std::size_t j = 0; j < children.size(); ++j) {
      add(1, slot(j) * b.N + slot(k), children[j].h, f);
      add(5, slot(j) * b.N + slot(k), children[j].c, f);
    }
    add_to(kept, times(map(f, [](double v) { return sigma(v + 1.0); }), children[k].c));
  }
  return close_cell(gate(0, 1, 0, 4), gate(6, 7, 3, 0), gate(4, 5, 2, 6), kept);
}

inline LayerNumbers layer_node(const ChildSumTreeLSTMBuilder& b, std::size_t layer,
                               const Numbers& x, const States& children) {
  const auto& p = b.params[layer];
  const auto gate = [&](std::size_t first) {
    const Numbers y = affine(numbers_of(p[first + 2]), {{&p[first], x}});
    return children.empty() ? y : affine(y, {{&p[first + 1], sum_of_h(children)}});
  };
  Numbers kept(b.hid, 0.0);
  for (const LayerNumbers& child : children) {
    const Numbers f = affine(numbers_of(p[5]), {{&p[3], x}, {&p[4], child.h}});
    add_to(kept, times(map(f, sigma), child.c));
  }
  return close_cell(gate(0), gate(9), gate(6), kept);
}

inline LayerNumbers layer_node(const TreeGRUBuilder& b, std::size_t layer, const Numbers& x,
                               const States& children) {
  const auto& p = b.params[layer];
  Numbers z = affine(numbers_of(p[2]), {{&p[0], x}});
  Numbers a = affine(numbers_of(p[8]), {{&p[6], x}});
  Numbers all(b.hid, 0.0);
  for (const LayerNumbers& child : children) {
    add_to(all, child.h);
    const Numbers r = map(affine(numbers_of(p[5]), {{&p[3], x}, {&p[4], child.h}}), sigma);
    a = affine(a, {{&p[7], times(r, child.h)}});
  }
  z = affine(z, {{&p[1], all}});
  LayerNumbers s;
  for (std::size_t k = 0; k < b.hid; ++k) {
    s.h.push_back((1.0 - sigma(z[k])) * all[k] + sigma(z[k]) * std::tanh(a[k]));
  }
  return s;
}

/// `initial`: empty, or the only child of a leaf.
template <class Builder>
Layers node(const Builder& b, const Numbers& x, Nodes children, const Layers& initial,
            const Masks& masks) {
  if (children.empty() && !initial.empty()) {
    children.push_back(initial);
  }
  Layers now;
  Numbers below = x;
  for (std::size_t layer = 0; layer < b.layers; ++layer) {
    States states;
    for (const Layers& child : children) {
      states.push_back({child[layer].c, masked(child[layer].h, masks, layer, 1)});
    }
    now.push_back(layer_node(b, layer, masked(below, masks, layer, 0), states));
    below = now.back().h;
  }
  return now;
}

inline Numbers read(const VanillaLSTMBuilder& lstm, const std::vector<Numbers>& inputs,
                    const Layers& initial, const Masks& masks) {
  Layers state = initial;
  for (const Numbers& x : inputs) {
    state = step(lstm, x, state, masks);
  }
  return state.back().h;
}
inline std::vector<Numbers> inputs_of(const Numbers& x, const Nodes& children) {
  std::vector<Numbers> inputs{x};
  for (const Layers& child : children) {
    inputs.push_back(child[0].h);
  }
  return inputs;
}

inline Layers node(const UnidirectionalTreeLSTMBuilder& b, const Numbers& x, const Nodes& children,
                   const Layers& initial, const Masks& masks) {
  return {{{}, read(b.node_builder, inputs_of(x, children), initial, masks)}};
}

inline Layers node(const BidirectionalTreeLSTMBuilder& b, const Numbers& x, const Nodes& children,
                   const Layers& initial, const Masks& /*masks*/) {
  const Numbers forward = read(b.fwd_node_builder, inputs_of(x, children), initial, {});
  const Nodes reversed(children.rbegin(), children.rend());
  return {{{}, joined(forward, read(b.rev_node_builder, inputs_of(x, reversed), initial, {}))}};
}

}  // namespace dynet::builder_tests
