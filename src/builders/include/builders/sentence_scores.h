#pragma once

// Scores of the sentences of a batch as numbers, for searches on the host.

#include <cstddef>
#include <limits>
#include <string>

#include "dynet/tensor.h"

namespace dynet::builders {

/// NumericError, beginning with `at`, for a score of NaN or inf; `place` names the score.
[[noreturn]] void fail_score(const std::string& at, double score, const std::string& place);
/// Calls fail_score for NaN and inf, with the text of `place()`.
template <class Place>
void check_score(const std::string& at, double score, Place place) {
  if (!(score < std::numeric_limits<double>::infinity())) {
    fail_score(at, score, place());
  }
}
/// "{4,3} of example 1": which scores an error is about.
[[nodiscard]] std::string example_of(const Dim& d, std::size_t example);
/// ShapeError if the tensor is a batch.
void check_one_example(const std::string& at, const Dim& d);

}  // namespace dynet::builders
