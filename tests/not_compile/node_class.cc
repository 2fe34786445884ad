// want: Node
// want: write a struct for dynet/ext/op.h: docs/coming-from-dynet-2.1.md
#include "dynet/nodes.h"

struct Twice : public dynet::Node {};
