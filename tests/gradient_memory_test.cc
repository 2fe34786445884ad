// The memory of a gradient that many nodes add to does not grow with their number (gradients.h).

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "dynet/expr.h"
#include "dynet/param-init.h"

#include "api/graph_state.h"
#include "testing/program.h"
#include "testing/sanitized.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

constexpr unsigned kOrder = 128;
constexpr double kCopy = 4.0 * kOrder * kOrder;  ///< bytes of the matrix

/// A number that is made of the matrix.
struct Reader {
  const char* name;
  std::function<Expression(const Expression& w, unsigned i)> read;
  double slope;      ///< of the number by each element that it depends on
  double share;      ///< the share of readers that depend on an element
  double own_bytes;  ///< of the gradients of its nodes
};
const Reader kReaders[] = {
    {"pick", [](const Expression& w, unsigned i) { return sum_elems(pick(w, i % kOrder, 1)); }, 1.0,
     1.0 / kOrder, 4.0 * kOrder + 4.0},
    {"sum_elems", [](const Expression& w, unsigned) { return sum_elems(w); }, 1.0, 1.0, 4.0},
    {"squared_norm", [](const Expression& w, unsigned) { return squared_norm(w); }, 0.2, 1.0, 4.0},
};

class GradientMemory : public ::testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  /// Bytes of all gradients in a graph, in copies of the matrix, without gradients of the readers
  /// themselves, which count twice as a pool has ends of chunks without use. Checks the numbers.
  [[nodiscard]] double copies(const Reader& reader, unsigned uses) const {
    const auto [batching, is_computed] = GetParam();
    ParameterCollection model;
    const Parameter p = model.add_parameters({kOrder, kOrder}, ParameterInitConst(0.1F));
    ComputationGraph graph(batching);
    const Expression w = parameter(graph, p);
    const Expression read = is_computed ? w + 0.0F : w;
    std::vector<Expression> terms;
    terms.reserve(uses);
    for (unsigned i = 0; i < uses; ++i) {
      terms.push_back(reader.read(read, i));
    }
    graph.backward(sum(terms));
    const double wanted = reader.slope * reader.share * uses;
    for (const double g : numbers(p.get_storage().g)) {
      EXPECT_LE(std::abs(g / wanted - 1.0), tolerance::kLongSum) << reader.name << ' ' << uses;
    }
    const auto bytes = static_cast<double>(graph.state().executor.gradients().pools().used());
    return (bytes - 2.0 * reader.own_bytes * uses) / kCopy;
  }
};
INSTANTIATE_TEST_SUITE_P(Batching, GradientMemory,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool()),
                         [](const auto& p) {
                           return std::string(std::get<0>(p.param) ? "Merged" : "OneByOne") +
                                  (std::get<1>(p.param) ? "Computed" : "Parameter");
                         });

/// One by one: the current piece, one whose call has run, and two sums. A call has at most 256
/// members, whose pieces are there at the same time.
TEST_P(GradientMemory, DoesNotGrowWithTheReaders) {
  constexpr unsigned kUses = trials(8192U, 2048U);
  const double bound = std::get<0>(GetParam()) ? 256.0 / 31.0 + 5.0 : 5.0;
  for (const Reader& reader : kReaders) {
    const double few = copies(reader, kOrder);
    const double many = copies(reader, kUses);
    EXPECT_LE(many, few + bound) << reader.name;
    std::printf("%s: %.1f copies for %u readers, %.1f for %u\n", reader.name, few, kOrder, many,
                kUses);
  }
}

}  // namespace
}  // namespace dynet::testing
