#include "dynet/debug.h"

#include "execute/profile.h"
#include "util/trace.h"

namespace dynet {

TraceScope::TraceScope(const std::string& words)
    : before_(util::set_trace(util::parse_trace(words, "TraceScope"))) {}
TraceScope::~TraceScope() { util::set_trace(before_); }

std::string profile_text() { return execute::process_profile_text(); }
void reset_profile() { execute::reset_process_profile(); }

}  // namespace dynet
