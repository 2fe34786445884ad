#include "terms.h"

#include <gtest/gtest.h>

#include <string>

#include "dynet/ops/linear.h"

namespace dynet::schedule {
namespace {

/// What the arguments of a sum are whose state ends with its only vector.
void expect_kinds(unsigned heads, unsigned state, unsigned each) {
  SCOPED_TRACE(std::to_string(heads) + ' ' + std::to_string(state) + ' ' + std::to_string(each));
  ext::Record record = ext::kRecord<ops::AffineTransform>;
  record.head_args = static_cast<std::uint8_t>(heads);
  record.state_args = static_cast<std::uint8_t>(state);
  record.state_vectors = state == 0 ? 0U : 1U << (state == 1 ? 0U : 3U);
  record.term_args = static_cast<std::uint8_t>(each);
  const Terms terms(record);
  EXPECT_EQ(terms.begin(), heads + state);
  for (std::uint32_t a = 0; a < kMaxMaskedArgs; ++a) {
    const bool is_of_state = a >= heads && a < heads + state;
    const bool is_of_terms = each != 0 && a >= heads + state;
    const bool is_weight = is_of_state ? a + 1 != heads + state
                                       : is_of_terms && (a - heads - state) % each != each - 1;
    EXPECT_EQ((terms.state() >> a) & 1, is_of_state ? 1U : 0U) << a;
    EXPECT_EQ((terms.weights() >> a) & 1, is_weight ? 1U : 0U) << a;
    EXPECT_EQ((terms.ends() >> a) & 1, a >= heads && !is_weight ? 1U : 0U) << a;
  }
}

TEST(Terms, EveryArgumentIsAHeadAWeightOrAnEnd) {
  for (const unsigned heads : {1U, 2U, 5U}) {
    for (const unsigned state : {0U, 1U, 4U}) {
      for (const unsigned each : {0U, 1U, 2U, 3U, 8U, 9U, 31U, 62U, 63U, 64U, 65U, 200U}) {
        expect_kinds(heads, state, each);
      }
    }
  }
}

}  // namespace
}  // namespace dynet::schedule
