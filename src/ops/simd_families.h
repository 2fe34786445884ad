#pragma once

// One function for each family of operations that has rules, each in a file of its own (they take
// longest to compile): puts the loops of the SIMD target in use into ext::rule_loops.

namespace dynet::ops {

void install_activation();
void install_arithmetic();
void install_linear();
void install_loss();
void install_recurrent();
void install_reduce();

}  // namespace dynet::ops
