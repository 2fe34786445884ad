#include "support/named_operations.h"

#include <cstring>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "dynet/ops/all.h"

namespace dynet::testing {

namespace {

std::vector<double> numbers_of(const std::string& text) {
  std::vector<double> all;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, ',');) {
    all.push_back(std::stod(one));
  }
  return all;
}

template <class T>
T attribute_of(const std::string& text) {
  if constexpr (std::is_same_v<T, Dim>) {
    return shape_of_text(text);
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    return static_cast<T>(std::stod(text));
  } else {  // a List
    T list{};
    using Item = std::remove_cvref_t<decltype(list.items[0])>;
    for (const double v : numbers_of(text)) {
      list.items[list.count++] = static_cast<Item>(v);
    }
    return list;
  }
}

/// An attribute: its place in the struct, and the function that writes it.
struct Attribute {
  std::size_t offset;
  std::function<void(std::byte* at, const std::string& text)> write;
};
struct Entry {
  NamedOperation plain;
  std::map<std::string, Attribute> attributes;
};

template <class Op>
Entry entry_of() {
  Entry entry;
  Op op{};
  entry.plain = {&ext::kRecord<Op>, detail::bytes_of(op)};
  [[maybe_unused]] const auto attributes = ext::attributes(op);
  [&]<std::size_t... kI>(std::index_sequence<kI...>) {
    [[maybe_unused]] const auto add = [&](std::string_view name, auto& member) {
      using T = std::remove_cvref_t<decltype(member)>;
      const auto offset = reinterpret_cast<std::byte*>(&member) - reinterpret_cast<std::byte*>(&op);
      entry.attributes[std::string(name)] = {static_cast<std::size_t>(offset),
                                             [](std::byte* at, const std::string& text) {
                                               const T value = attribute_of<T>(text);
                                               std::memcpy(at, &value, sizeof value);
                                             }};
    };
    (add(Op::kInfo.attrs[kI], std::get<kI>(attributes)), ...);
  }(std::make_index_sequence<ext::kAttrCount<Op>>{});
  return entry;
}

const std::map<std::string, Entry>& entries() {
  static const std::map<std::string, Entry> all = [] {
    std::map<std::string, Entry> made;
    ops::AllOps::for_each([&]<class Op>() { made[std::string(Op::kInfo.name)] = entry_of<Op>(); });
    return made;
  }();
  return all;
}

}  // namespace

NamedOperation named_operation(const std::string& name,
                               const std::map<std::string, std::string>& attributes) {
  const auto found = entries().find(name);
  if (found == entries().end()) {
    return {};
  }
  NamedOperation result = found->second.plain;
  for (const auto& [attribute, text] : attributes) {
    const auto at = found->second.attributes.find(attribute);
    if (at == found->second.attributes.end()) {
      throw std::invalid_argument(name + " has no attribute " + attribute);
    }
    at->second.write(result.op.bytes.data() + at->second.offset, text);
  }
  return result;
}

Dim shape_of_text(const std::string& text) {
  const std::size_t end = text.find('}');
  Dim d;
  for (const double extent : numbers_of(text.substr(1, end - 1))) {
    d.add_dim(static_cast<unsigned>(extent));
  }
  if (end + 1 < text.size()) {
    d.bd = static_cast<unsigned>(std::stoul(text.substr(end + 2)));
  }
  return d;
}

}  // namespace dynet::testing
