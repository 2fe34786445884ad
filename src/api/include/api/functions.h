#pragma once

// Code shared by the generated functions (src/api/functions) and the hand-written leaves.

#include <array>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet/devices.h"
#include "dynet/except.h"
#include "dynet/expr/arguments.h"

namespace dynet::api {

/// The list attribute `name` of operation `op`. ValueError if it has more entries than fit.
template <class List, class T>
List to_list(const std::vector<T>& from, const char* op, const char* name) {
  List list;
  constexpr std::size_t kMax = std::extent_v<decltype(list.items)>;
  if (from.size() > kMax) {
    throw errors::ValueError(std::string(op) + ": " + name + " has " + std::to_string(from.size()) +
                             " entries; want at most " + std::to_string(kMax));
  }
  for (const T& item : from) {
    list.items[list.count++] = item;
  }
  return list;
}

/// The target of a pointer argument. ValueError if the pointer is null.
template <class T>
const T* pointee(const detail::Pointer<T>& pointer, const char* op, const char* name) {
  if (pointer.to == nullptr) {
    throw errors::ValueError(std::string(op) + ": " + name + " is a null pointer");
  }
  return pointer.to;
}

/// The device of a node.
inline Device* device_of(const Expression& x) {
  return get_device_manager()->get_global_device(x.get_device_name());
}

/// All outputs of a node, from its first.
template <std::size_t kN>
std::array<Expression, kN> outputs(const Expression& first) {
  return [&]<std::size_t... kI>(std::index_sequence<kI...>) {
    return std::array<Expression, kN>{
        Expression(first.pg, first.i + static_cast<VariableIndex>(kI), first.graph_id)...};
  }(std::make_index_sequence<kN>{});
}

}  // namespace dynet::api
