#include "api/lengths.h"

#include "dynet/except.h"

#include "graph/graph.h"

namespace dynet::api {

void check_lengths(const std::string& at, const Dim& d, unsigned steps,
                   std::span<const unsigned> lengths, Where where) {
  if (!lengths.empty() && lengths.size() != d.bd) {
    throw errors::ValueError(at + std::to_string(lengths.size()) + " lengths for " + to_string(d) +
                             "; want one for each example" + graph::built_at(where));
  }
  for (const unsigned length : lengths) {
    if (length == 0 || length > steps) {
      throw errors::IndexError(at + "a length is " + std::to_string(length) + " for " +
                               to_string(d) + "; want 1 to " + std::to_string(steps) +
                               graph::built_at(where));
    }
  }
}

std::vector<unsigned> checked_lengths(const std::string& at, const Dim& d, unsigned steps,
                                      const std::vector<unsigned>& lengths, Where where) {
  check_lengths(at, d, steps, lengths, where);
  return lengths.empty() ? std::vector<unsigned>(d.bd, steps) : lengths;
}

}  // namespace dynet::api
