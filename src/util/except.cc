#include "dynet/except.h"

namespace dynet {

errors::Error::~Error() = default;

namespace detail {
namespace {
/// Made when there is memory: copies of it take none. Never destroyed: graphs may outlive main().
const out_of_memory& refused =
    *new out_of_memory("out of memory: the system refused a small piece");
}  // namespace

void fail_small_allocation() { throw out_of_memory(refused); }

}  // namespace detail
}  // namespace dynet
