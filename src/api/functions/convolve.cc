// Written by tools/generate-api from the operations in dynet/ops/convolve.h. Not to be edited.

#include "dynet/ops/convolve.h"

#include "dynet/expr/convolve.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression maxpooling2d(const Expression& x, const std::vector<unsigned>& ksize,
                        const std::vector<unsigned>& stride, bool is_valid, Where where) {
  return ext::add_node(
      ops::MaxPooling2d{api::to_list<ext::List<unsigned, 2>>(ksize, "maxpooling2d", "ksize"),
                        api::to_list<ext::List<unsigned, 2>>(stride, "maxpooling2d", "stride"),
                        is_valid},
      {x, where});
}

}  // namespace dynet
