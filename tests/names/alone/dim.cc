// Names that programs expect when they include dynet/dim.h and nothing else.

#include "dynet/dim.h"

void count_on_dim(int n);
void count_on_dim(int n) {
  std::cerr << dynet::Dim({1}) << std::endl;
  DYNET_ARG_CHECK(n > 0, "n is " << n)
}
