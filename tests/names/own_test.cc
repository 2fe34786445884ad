// Programs with names of their own that the library has, too: they compile, and their own functions
// are called. own.h has the names that are compiled after each header.

#include <gtest/gtest.h>

#include "alone/attention.h"

namespace {

TEST(Own, TheAttentionExampleCallsItsOwnFunctions) {
  const AttentionRun run = run_attention();
  // Per epoch a gather for each of 3 sentences, and 3 calls for each of their 9 words.
  EXPECT_EQ(run.calls, 20U * (3 + 3 * 9));
  EXPECT_LT(run.last_loss, 0.5F * run.first_loss);
}

}  // namespace
