#include "builders/sentence_scores.h"

#include <cmath>

#include "dynet/except.h"

namespace dynet::builders {

void fail_score(const std::string& at, double score, const std::string& place) {
  throw errors::NumericError(at + "the score of " + place + " is " +
                             (std::isnan(score) ? "NaN" : "inf") + "; want a number or -inf");
}

std::string example_of(const Dim& d, std::size_t example) {
  return to_string(d) + (d.bd > 1 ? " of example " + std::to_string(example) : std::string());
}

void check_one_example(const std::string& at, const Dim& d) {
  if (d.bd != 1) {
    throw errors::ShapeError(at + "scores are " + to_string(d) +
                             "; want one example, or the lengths of a batch");
  }
}

}  // namespace dynet::builders
