// std: c++11
// want: DyNet is C++17 now: compile this program with -std=c++17
#include "dynet/training.h"

int main() { return 0; }
