#pragma once

// The cases of bench/ops/cases.txt: an operation, its attributes, the shapes of its arguments. The
// file explains its lines; bench/ops/case.py reads the file too.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/ext/testing.h"

namespace dynet::bench {

struct OpCase {
  std::string text;  ///< "softmax d=0 : {64,64}", as bench/ops/cases.txt has it
  std::string name;
  std::map<std::string, std::string> attributes;
  std::vector<Dim> in;  ///< ext::absent() for an absent argument
  std::vector<unsigned> indices;
  std::vector<float> values;
  double from = -2;
  double to = 2;
};

/// A case from its text. Throws std::invalid_argument if there is no such operation or attribute.
OpCase op_case(const std::string& text);
/// All cases of a file. Throws std::runtime_error if an operation of the list has neither a case
/// nor a reason, or has both.
std::vector<OpCase> op_cases(const std::string& file);

/// CPU seconds of one node, in a graph whose other nodes are computed already.
struct OpSeconds {
  std::int64_t numbers;  ///< of the value
  double forward;        ///< to build and compute it
  double backward;       ///< to build it and its sum, and to compute both and the gradients of all
                         ///< arguments; 0 without arguments
  double floor;  ///< to copy the arguments and the value, or the multiply-adds of a product at the
                 ///< rate of this core: no forward can take less
};
/// The best of `rounds`, each of about `round_seconds`.
OpSeconds op_seconds(const OpCase& c, double round_seconds, int rounds);

}  // namespace dynet::bench
