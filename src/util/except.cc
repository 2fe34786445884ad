#include "dynet/except.h"

#include "util/allocation.h"

namespace dynet {

Error::~Error() = default;

namespace util {
namespace {
/// Made when there is memory: copies of it take none.
const out_of_memory kRefused("out of memory: the system refused a small piece");
}  // namespace

void fail_small_allocation() { throw out_of_memory(kRefused); }

}  // namespace util
}  // namespace dynet
