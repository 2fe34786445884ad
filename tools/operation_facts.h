#pragma once

// Facts about an operation, from which generate_api.cc writes its function: arguments, payload, and
// members with their types and defaults.

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet/ops/all.h"

namespace generate_api {

using dynet::ext::Info;
using dynet::ext::Payload;
using std::string;
using std::string_view;

/// The functions of DyNet 2.1 that are operations. A function with another name is new.
// clang-format off
inline constexpr string_view kOldNames[] = {
    "abs", "acos", "acosh", "affine_transform", "argmax", "asin", "asinh", "atan", "atanh",
    "average", "binary_log_loss", "block_dropout", "cdiv", "ceil", "circ_conv", "circ_corr",
    "cmult", "concatenate", "concatenate_to_batch", "constrained_softmax", "contract3d_1d", "cos",
    "cosh", "cube", "cumsum", "dot_product", "dropout", "dropout_batch", "dropout_dim", "elu",
    "erf", "exp", "filter1d_narrow", "flip_gradient", "floor", "fold_rows", "hinge",
    "huber_distance", "inverse", "kmax_pooling", "kmh_ngram", "l1_distance", "l2_norm",
    "layer_norm", "lgamma", "log", "log_sigmoid", "log_softmax", "logdet", "logistic",
    "logsumexp_dim", "max", "max_dim", "maxpooling2d", "min", "min_dim", "nobackprop", "noise",
    "pairwise_rank_loss", "pick", "pick_batch_elem", "pick_batch_elems", "pick_range",
    "pickneglogsoftmax", "poisson_loss", "pow", "rectify", "reshape", "round", "scale_gradient",
    "select_cols", "select_rows", "selu", "silu", "sin", "sinh", "softmax", "softsign",
    "sparsemax", "sparsemax_loss", "sqrt", "square", "squared_distance", "squared_norm", "sum",
    "sum_batches", "sum_elems", "tan", "tanh", "transpose", "vanilla_lstm_c", "vanilla_lstm_h",
    "weight_norm"};
// clang-format on

struct Attribute {
  string name;
  string type;           ///< as a parameter: "float", "const Dim&", "const std::vector<unsigned>&"
  string default_value;  ///< empty: the caller must say
  string list_type;      ///< "ext::List<unsigned, 7>" for a list
};

struct Function {
  Info info;
  string op;  ///< "ops::Tanh"
  std::vector<Attribute> attributes;
  std::size_t arg_count = 0;
  std::vector<bool> optional;  ///< of each argument
  bool variadic = false;
  Payload payload = Payload::kNone;
  bool one_list = false;  ///< of indices, for all examples
  unsigned outputs = 1;

  [[nodiscard]] string name() const {
    if (only_mirrored()) {
      return mirrored_name();
    }
    return string(info.cpp.empty() ? info.name : info.cpp);
  }
  /// `a - x` has no form with the number on the right.
  [[nodiscard]] bool only_mirrored() const { return info.cpp == "-" && !info.mirrored.empty(); }
  [[nodiscard]] string mirrored_name() const {
    for (const auto& [python, cpp] : {std::pair{"__radd__", "operator+"},
                                      {"__rsub__", "operator-"},
                                      {"__rmul__", "operator*"},
                                      {"__rtruediv__", "operator/"}}) {
      if (info.mirrored == python) {
        return cpp;
      }
    }
    throw std::runtime_error("no C++ operator for " + string(info.mirrored));
  }
  [[nodiscard]] bool is_operator() const { return name().starts_with("operator"); }
  [[nodiscard]] bool is_new() const {
    return !is_operator() &&
           std::find(std::begin(kOldNames), std::end(kOldNames), name()) == std::end(kOldNames);
  }
};

template <class T>
string type_name() {
  const string_view whole = __PRETTY_FUNCTION__;
  const std::size_t from = whole.find("T = ") + 4;
  return string(whole.substr(from, whole.find_first_of(";]", from) - from));
}

template <class T>
string number_text(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else {
    std::ostringstream os;
    os << value;
    string s = os.str();
    if constexpr (std::is_same_v<T, float>) {
      if (s.find_first_of(".en") == string::npos) {
        s += ".0";
      }
      s += "F";
    }
    return s;
  }
}

template <class T>
concept IsList = requires(T t) {
  t.items;
  t.count;
};

template <class Op, std::size_t kI>
Attribute describe_attribute() {
  const Op op{};
  const auto& value = std::get<kI>(dynet::ext::attributes(op));
  using T = std::remove_cvref_t<decltype(value)>;
  Attribute a;
  a.name = Op::kInfo.attrs[kI];
  if constexpr (std::is_same_v<T, dynet::Dim>) {
    a.type = "const Dim&";
  } else if constexpr (IsList<T>) {
    using Item = std::remove_cvref_t<decltype(value.items[0])>;
    const string item = std::is_same_v<Item, unsigned> ? "unsigned" : type_name<Item>();
    a.type = "const std::vector<" + item + ">&";
    a.list_type = "ext::List<" + item + ", " + std::to_string(std::size(value.items)) + ">";
    a.default_value = "{";
    for (const auto& v : value) {
      a.default_value += (a.default_value.size() > 1 ? ", " : "") + number_text(v);
    }
    a.default_value += "}";
  } else {
    a.type = std::is_same_v<T, unsigned> ? "unsigned" : type_name<T>();
    if (a.type.starts_with("dynet::")) {
      a.type.erase(0, string_view("dynet::").size());
    }
    if constexpr (dynet::ext::kHasDefault<Op, kI>) {
      a.default_value = number_text(value);
    }
  }
  return a;
}

template <class Op>
Function describe() {
  Function f;
  f.info = Op::kInfo;
  f.op = type_name<Op>();
  f.op.erase(0, string_view("dynet::").size());
  f.arg_count = dynet::ext::kArgCount<Op>;
  for (std::size_t i = 0; i < f.arg_count; ++i) {
    f.optional.push_back(!dynet::ext::detail::is_there<Op>(i, ~0U));
  }
  f.variadic = dynet::ext::detail::is_variadic<Op>();
  f.payload = dynet::ext::detail::payload_of<Op>();
  f.one_list = dynet::ext::detail::indices_per<Op>() == dynet::ext::IndicesPer::kNode ||
               requires(const Op op) { op.index_count(); };
  f.outputs = dynet::ext::detail::outputs_of<Op>();
  [&]<std::size_t... kI>(std::index_sequence<kI...>) {
    (f.attributes.push_back(describe_attribute<Op, kI>()), ...);
  }(std::make_index_sequence<dynet::ext::kAttrCount<Op>>{});
  // A default argument before one without is none.
  bool required = false;
  for (auto a = f.attributes.rbegin(); a != f.attributes.rend(); ++a) {
    required = required || a->default_value.empty();
    if (required) {
      a->default_value.clear();
    }
  }
  return f;
}

}  // namespace generate_api
