#include "execute/profile.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "dynet/globals.h"

#include "execute/executor.h"
#include "util/timeline.h"
#include "util/trace.h"

namespace dynet::execute {
namespace {

/// The profile of all graphs, while `--dynet-profiling` is on. Never destroyed: graphs may outlive
/// main().
struct ProcessProfile {
  std::mutex mutex;
  Profile profile;
};
ProcessProfile& process_profile() {
  static ProcessProfile& all = *new ProcessProfile;
  return all;
}

void print_at_exit() { std::fputs(process_profile_text().c_str(), stdout); }

void add_to_process_profile(const Profile& profile) {
  static const int registered = std::atexit(print_at_exit);
  static_cast<void>(registered);
  ProcessProfile& all = process_profile();
  const std::lock_guard lock(all.mutex);
  all.profile.add(profile);
}

const char* name_of(bool backward) { return backward ? "backward" : "forward"; }

}  // namespace

void Profile::add(const ext::Record& record, bool backward, std::int64_t nodes, std::int64_t bytes,
                  double seconds) {
  Row& row = rows_[{&record, backward}];
  ++row.calls;
  row.nodes += nodes;
  row.bytes += bytes;
  row.seconds += seconds;
}

void Profile::add(const Profile& other) {
  for (const auto& [key, from] : other.rows_) {
    Row& row = rows_[key];
    row.calls += from.calls;
    row.nodes += from.nodes;
    row.bytes += from.bytes;
    row.seconds += from.seconds;
  }
}

double Profile::seconds() const {
  double sum = 0.0;
  for (const auto& [key, row] : rows_) {
    sum += row.seconds;
  }
  return sum;
}

std::string Profile::to_text(bool details) const {
  std::vector<std::pair<Key, Row>> sorted(rows_.begin(), rows_.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.seconds > b.second.seconds;
  });
  const double all = std::max(seconds(), 1e-12);
  std::string text;
  char line[256];
  for (const auto& [key, row] : sorted) {
    std::snprintf(line, sizeof line, "%9.6f s %5.1f %%  %-8s %s: %lld calls, %lld nodes",
                  row.seconds, 100.0 * row.seconds / all, name_of(key.backward),
                  std::string(key.record->info->name).c_str(), static_cast<long long>(row.calls),
                  static_cast<long long>(row.nodes));
    text += line;
    if (details) {
      std::snprintf(line, sizeof line, ", %.1f nodes per call, %lld bytes of results",
                    static_cast<double>(row.nodes) / static_cast<double>(row.calls),
                    static_cast<long long>(row.bytes));
      text += line;
    }
    text += '\n';
  }
  return text;
}

std::string process_profile_text() {
  ProcessProfile& all = process_profile();
  const std::lock_guard lock(all.mutex);
  if (all.profile.empty()) {
    return "";
  }
  char line[64];
  std::snprintf(line, sizeof line, "profile: %.6f s in kernel calls\n", all.profile.seconds());
  return line + all.profile.to_text(profiling_flag > 1);
}

void reset_process_profile() {
  ProcessProfile& all = process_profile();
  const std::lock_guard lock(all.mutex);
  all.profile.clear();
}

namespace {

/// Traces the calls of one graph and takes their times, as DYNET_TRACE, `--dynet-profiling` and a
/// TimelineScope say. Thread rule: the rule of its graph.
class CallTimes final : public Hook {
 public:
  explicit CallTimes(const graph::Graph& graph) : graph_(graph) {}

  void begin_request(bool backward) noexcept override;
  void end_request() noexcept override;
  void before_group(std::uint32_t g) override { group_ = g; }
  void before_call(const graph::Graph& graph, const Call& call) override;
  void after_call(const graph::Graph& graph, const Call& call) override;

 private:
  using Clock = std::chrono::steady_clock;

  void report();
  void record_call(std::span<const NodeId> members, std::int64_t bytes, Clock::time_point end);

  const graph::Graph& graph_;
  // Of the request:
  bool backward_ = false;
  bool traces_calls_ = false;
  bool traces_time_ = false;
  bool is_recording_ = false;
  bool takes_times_ = false;
  std::uint32_t group_ = 0;
  Clock::time_point begin_;
  Clock::time_point call_;
  Profile profile_;
};

void CallTimes::begin_request(bool backward) noexcept {
  backward_ = backward;
  traces_calls_ = util::is_traced(util::TraceWord::kExecute);
  traces_time_ = util::is_traced(util::TraceWord::kTime);
  is_recording_ = util::is_recording();
  takes_times_ = traces_time_ || is_recording_ || profiling_flag > 0;
  profile_.clear();
  begin_ = Clock::now();
}

void CallTimes::end_request() noexcept {
  try {
    report();
  } catch (const std::bad_alloc&) {
    return;  // a report is not worth the end of the program
  }
}

void CallTimes::report() {
  if (is_recording_) {
    util::record({name_of(backward_), "request", begin_, Clock::now(),
                  "\"graph nodes\":" + std::to_string(graph_.size())});
  }
  if (takes_times_ && profiling_flag > 0) {
    add_to_process_profile(profile_);
  }
  if (traces_time_) {
    const std::chrono::duration<double> all = Clock::now() - begin_;
    char line[96];
    std::snprintf(line, sizeof line, "time: %s, %.6f s, of which %.6f s in kernel calls\n",
                  name_of(backward_), all.count(), profile_.seconds());
    util::write_trace(line + profile_.to_text(true));
  }
}

void CallTimes::before_call(const graph::Graph& graph, const Call& call) {
  if (traces_calls_) {
    std::string text = std::string("execute: ") + name_of(backward_) + ' ' +
                       std::string(graph[call.members[0]].record().info->name) + " of " +
                       std::to_string(call.members.size()) +
                       (call.members.size() == 1 ? " node:" : " nodes:");
    for (const NodeId n : call.members) {
      text += " v" + std::to_string(n);
    }
    util::write_trace(text + '\n');
  }
  call_ = Clock::now();
}

void CallTimes::after_call(const graph::Graph& graph, const Call& call) {
  if (!takes_times_) {
    return;
  }
  const Clock::time_point end = Clock::now();
  const std::chrono::duration<double> taken = end - call_;
  const ext::Record& record = graph[call.members[0]].record();
  std::int64_t bytes = 0;
  for (const NodeId n : call.members) {
    for (std::uint32_t k = 0; k < record.outputs; ++k) {
      bytes += graph.bytes(n + k);
    }
  }
  profile_.add(record, backward_, static_cast<std::int64_t>(call.members.size()), bytes,
               taken.count());
  if (is_recording_) {
    record_call(call.members, bytes, end);
  }
}

/// The record is named by the operation and its number of members; the details name the nodes, and
/// the line of the first.
void CallTimes::record_call(std::span<const NodeId> members, std::int64_t bytes,
                            Clock::time_point end) {
  constexpr std::size_t kNamed = 16;
  const graph::Node& first = graph_[members[0]];
  std::string nodes;
  for (std::size_t m = 0; m < std::min(members.size(), kNamed); ++m) {
    nodes += (m == 0 ? "v" : " v") + std::to_string(members[m]);
  }
  nodes += members.size() > kNamed ? " ..." : "";
  const std::string place = graph::place_text(first.where);
  util::record({std::to_string(members.size()) + " x " + std::string(first.record().info->name),
                backward_ ? "backward" : "forward", call_, end,
                "\"group\":" + std::to_string(group_) + ",\"nodes\":\"" + nodes +
                    "\",\"shape\":\"" + to_string(graph_.dim(members[0])) + "\",\"bytes\":" +
                    std::to_string(bytes) + ",\"built at\":\"" + util::json_escaped(place) + "\""});
}

}  // namespace

bool wants_profile() {
  return util::is_traced(util::TraceWord::kExecute) || util::is_traced(util::TraceWord::kTime) ||
         util::is_recording() || profiling_flag > 0;
}

std::unique_ptr<Hook> make_profile(const HookParts& parts) {
  return std::make_unique<CallTimes>(parts.executor.context().graph);
}

}  // namespace dynet::execute
