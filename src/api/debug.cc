#include "dynet/debug.h"

#include <cerrno>
#include <cstring>
#include <exception>

#include "dynet/dynet.h"
#include "dynet/except.h"

#include "api/graph_state.h"
#include "execute/profile.h"
#include "util/timeline.h"
#include "util/trace.h"

namespace dynet {

TraceScope::TraceScope(const std::string& words)
    : before_(util::set_trace(util::parse_trace(words, "TraceScope"))) {}
TraceScope::~TraceScope() { util::set_trace(before_); }

std::string describe(const Expression& e) {
  const graph::NodeId n = api::checked_node(e, "describe");
  return e.pg->state().graph.describe(n);
}

const Tensor* computed_value(const Expression& e) {
  const graph::NodeId n = api::checked_node(e, "computed_value");
  api::GraphState& state = e.pg->state();
  return api::exclusively(state, [&]() -> const Tensor* {
    const execute::Values& values = state.executor.values();
    const bool is_there = n < values.size() && values.has(n);
    return is_there ? &state.executor.value(n) : nullptr;
  });
}

TimelineScope::TimelineScope(const std::string& file) : name_(file) {
  util::start_timeline();  // first: if this fails, the old content of the file stays
  file_.open(file);
  if (!file_) {
    const int error = errno;
    static_cast<void>(util::take_timeline());
    throw errors::IoError("TimelineScope: cannot write " + name_ + ": " + std::strerror(error));
  }
}

TimelineScope::~TimelineScope() {
  try {
    close();
  } catch (const std::exception&) {
    return;  // the program that wants to know calls close()
  }
}

void TimelineScope::close() {
  if (!file_.is_open()) {
    return;
  }
  file_ << util::take_timeline();
  file_.close();
  if (!file_) {
    throw errors::IoError("TimelineScope: cannot write " + name_);
  }
}

std::string profile_text() { return execute::process_profile_text(); }
void reset_profile() { execute::reset_process_profile(); }

}  // namespace dynet
