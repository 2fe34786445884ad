#pragma once

// The run of attention.cc, which own_test.cc looks at.

struct AttentionRun {
  float first_loss = 0.0F;
  float last_loss = 0.0F;
  unsigned calls = 0;  ///< of the program's own functions
};
AttentionRun run_attention();
