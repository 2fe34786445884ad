#pragma once

#include <sched.h>

namespace dynet::distributed {

/// The processors that a process may use, on its machine. Plain bytes: ranks send it.
struct Processors {
  char machine[64];  ///< the host's name, which ends with a zero
  cpu_set_t set;
};
/// The processors of this process; all that a set can name, if the system does not tell.
[[nodiscard]] Processors usable_processors();
/// Whether two processes may run on one processor.
[[nodiscard]] bool have_common_processor(const Processors& a, const Processors& b);

}  // namespace dynet::distributed
