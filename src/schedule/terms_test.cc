#include "terms.h"

#include <gtest/gtest.h>

#include "dynet/ops/linear.h"

namespace dynet::schedule {
namespace {

TEST(Terms, EveryArgumentIsAHeadAWeightOrAnEnd) {
  ext::Record record = ext::kRecord<ops::AffineTransform>;
  for (const unsigned heads : {1U, 2U, 5U}) {
    for (const unsigned each : {0U, 1U, 2U, 3U, 8U, 9U, 31U, 62U, 63U, 64U, 65U, 200U}) {
      record.outputs = static_cast<std::uint8_t>(heads);
      record.term_args = static_cast<std::uint8_t>(each);
      const Terms terms(record);
      for (std::uint32_t a = 0; a < kMaxMaskedArgs; ++a) {
        const bool is_weight = each != 0 && a >= heads && (a - heads) % each != each - 1;
        EXPECT_EQ((terms.weights() >> a) & 1, is_weight ? 1U : 0U) << heads << each << a;
        EXPECT_EQ((terms.ends() >> a) & 1, a >= heads && !is_weight ? 1U : 0U) << heads << each;
      }
    }
  }
}

}  // namespace
}  // namespace dynet::schedule
