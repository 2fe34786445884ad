#pragma once

// Data of a node beside operation and arguments: the payload, and the text of the place where it
// was built.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dynet/except.h"
#include "dynet/where.h"

namespace dynet::ext {

/// Turns a place in a code object into "file.py:42 in function".
using LocationResolver = std::string (*)(const void* code, unsigned offset);
void set_location_resolver(LocationResolver resolver);

/// The data that vary per node: indices or values, copied into the graph or re-read through a
/// pointer at each run. For parameters and lookups also the storage (kept alive by the graph).
struct NodePayload {
  enum Form : std::uint8_t { kNone, kCopied, kPointer, kVector, kLists };
  Form form = kNone;
  /// unsigned or float; kVector: std::vector of them; kLists: a vector of vectors of unsigned, of
  /// equal lengths
  const void* data = nullptr;
  std::uint32_t count = 0;
  const std::shared_ptr<void>* storage = nullptr;  ///< parameter or lookup storage

  NodePayload() = default;
  // Each refers to the caller's data for the duration of the call; copied ones are copied then.
  // SizeError for 2^32 numbers and more.
  static NodePayload of(const unsigned& v) { return {kCopied, &v, 1}; }
  static NodePayload of(const float& v) { return {kCopied, &v, 1}; }
  static NodePayload of(const unsigned* v) { return {kPointer, v, 1}; }
  static NodePayload of(const float* v) { return {kPointer, v, 1}; }
  static NodePayload of(const std::vector<unsigned>& v) {
    return {kCopied, v.data(), count_of(v.size())};
  }
  static NodePayload of(const std::vector<float>& v) {
    return {kCopied, v.data(), count_of(v.size())};
  }
  static NodePayload of(const std::vector<unsigned>* v) {
    return {kVector, v, count_of(v->size())};
  }
  static NodePayload of(const std::vector<float>* v) { return {kVector, v, count_of(v->size())}; }
  static NodePayload of(const std::vector<std::vector<unsigned>>* v) {
    return {kLists, v, count_of(v->empty() ? 0 : v->size() * v->front().size())};
  }
  static NodePayload of(std::span<const unsigned> v) {
    return {kCopied, v.data(), count_of(v.size())};
  }
  static NodePayload of(std::span<const float> v) {
    return {kCopied, v.data(), count_of(v.size())};
  }

 private:
  NodePayload(Form f, const void* d, std::uint32_t n) : form(f), data(d), count(n) {}
  static std::uint32_t count_of(std::size_t n) {
    if (n > std::numeric_limits<std::uint32_t>::max()) {
      throw errors::SizeError("a node's payload has " + std::to_string(n) +
                              " numbers; want below 2^32");
    }
    return static_cast<std::uint32_t>(n);
  }
};

}  // namespace dynet::ext
