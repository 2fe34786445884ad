#pragma once

// How operations look in Python: names of parameters, types of attributes.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/expression.h"
#include "dynet/ext/op.h"

#include "binding.h"

namespace dynet::python {

/// Parameter names of an operation, from kInfo.
struct Names {
  std::vector<std::string> all;  ///< arguments, payload, attributes
  int payload_default = -1;      ///< none

  explicit Names(const ext::Info& info, bool variadic) {
    if (!info.python_params.empty()) {
      read(info.python_params);
      return;
    }
    for (const std::string_view name : info.args) {
      if (name.empty() || (variadic && !all.empty())) {
        break;
      }
      all.emplace_back(name);
    }
    if (!info.payload.empty()) {
      all.emplace_back(info.payload);
    }
    for (const std::string_view name : info.attrs) {
      if (!name.empty()) {
        all.emplace_back(name);
      }
    }
  }

 private:
  void read(std::string_view list) {
    for (std::size_t at = 0; at < list.size();) {
      const std::size_t end = std::min(list.find(", ", at), list.size());
      const std::string_view one = list.substr(at, end - at);
      const std::size_t equals = one.find('=');
      all.emplace_back(one.substr(0, equals));
      if (equals != std::string_view::npos) {
        payload_default = one[equals + 1] - '0';
      }
      at = end + 2;
    }
  }
};

/// Operations whose indices are places in their argument: -1 is the last place. Indices of others
/// are labels, or rows of their results, for which a negative number is a mistake.
inline constexpr std::string_view kOfPlaces[] = {
    "pick", "gather", "select_rows", "select_cols", "pick_batch_elem", "pick_batch_elems"};
constexpr bool is_of_places(std::string_view name) {
  for (const std::string_view one : kOfPlaces) {
    if (one == name) {
      return true;
    }
  }
  return false;
}

inline std::string plural(const std::string& name) {
  return name == "index" ? "indices" : name + "s";
}

// ---- how an attribute arrives from Python
// ----------------------------------------------------------

template <class T>
struct AttrParam {
  using Type = T;
  static T read(T v) { return v; }
  static T write(T v) { return v; }
};
template <class T, std::size_t kMax>
struct AttrParam<ext::List<T, kMax>> {
  using Type = std::vector<T>;
  static ext::List<T, kMax> read(const Type& from) {
    if (from.size() > kMax) {
      throw errors::ValueError("a list of " + std::to_string(from.size()) +
                               " entries; want at most " + std::to_string(kMax));
    }
    ext::List<T, kMax> list;
    for (const T& item : from) {
      list.items[list.count++] = item;
    }
    return list;
  }
  static Type write(const ext::List<T, kMax>& list) { return Type(list.begin(), list.end()); }
};
template <>
struct AttrParam<Dim> {
  using Type = DimArg;
  static Dim read(const DimArg& d) { return d.dim; }
};
template <>
struct AttrParam<GradientMode> {
  using Type = std::string;
  static GradientMode read(const std::string& mode) {
    if (mode == "zero_gradient") {
      return zero_gradient;
    }
    if (mode == "straight_through_gradient") {
      return straight_through_gradient;
    }
    throw errors::ValueError("gradient_mode is \"" + mode +
                             "\"; want \"zero_gradient\" or \"straight_through_gradient\"");
  }
  static std::string write(GradientMode mode) {
    return mode == zero_gradient ? "zero_gradient" : "straight_through_gradient";
  }
};

}  // namespace dynet::python
