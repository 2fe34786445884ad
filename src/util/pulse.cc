#include "util/pulse.h"

namespace dynet::util {
std::atomic<std::uint64_t>* pulse_word = nullptr;
}  // namespace dynet::util
