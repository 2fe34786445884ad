#include "distributed/processors.h"

#include <unistd.h>

#include <cstring>

namespace dynet::distributed {

Processors usable_processors() {
  Processors mine{};
  gethostname(mine.machine, sizeof mine.machine - 1);
  if (sched_getaffinity(0, sizeof mine.set, &mine.set) != 0) {
    std::memset(&mine.set, 0xff, sizeof mine.set);  // a machine with more than a set can name
  }
  return mine;
}

bool have_common_processor(const Processors& a, const Processors& b) {
  cpu_set_t common;
  CPU_AND(&common, &a.set, &b.set);
  return std::strcmp(a.machine, b.machine) == 0 && CPU_COUNT(&common) > 0;
}

}  // namespace dynet::distributed
