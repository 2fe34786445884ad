#include "util/timeline.h"

#include <unistd.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "dynet/except.h"

#include "util/fork.h"

namespace dynet::util {
namespace {

constexpr std::size_t kMostEvents = std::size_t{1} << 20;

struct Timeline {
  ForkMutex mutex;
  TimelineClock::time_point start;
  std::vector<std::pair<unsigned, TimelineEvent>> events;  ///< with the number of their thread
  std::map<std::thread::id, unsigned> threads;             ///< numbered from 1 as they come
  std::size_t dropped = 0;
};
/// Never destroyed: graphs may outlive main().
Timeline& timeline() {
  static Timeline& all = *new Timeline;
  return all;
}

double microseconds(TimelineClock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

std::string event_text(unsigned thread, const TimelineEvent& event,
                       TimelineClock::time_point start) {
  char times[128];
  std::snprintf(times, sizeof times, R"("ph":"X","ts":%.3f,"dur":%.3f,"pid":%ld,"tid":%u)",
                microseconds(event.begin - start), microseconds(event.end - event.begin),
                static_cast<long>(getpid()), thread);
  return R"({"name":")" + json_escaped(event.name) + R"(","cat":")" + event.kind + "\"," + times +
         ",\"args\":{" + event.details + "}}";
}

}  // namespace

std::string json_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else {
      out += c;
    }
  }
  return out;
}

void record(TimelineEvent event) {
  if (!is_recording()) {
    return;
  }
  Timeline& all = timeline();
  const std::lock_guard lock(all.mutex);
  if (!is_recording() || event.begin < all.start) {
    return;  // it began for a recording that has ended
  }
  if (all.events.size() >= kMostEvents) {
    ++all.dropped;
    return;
  }
  const unsigned next = static_cast<unsigned>(all.threads.size()) + 1;
  const unsigned thread = all.threads.try_emplace(std::this_thread::get_id(), next).first->second;
  all.events.emplace_back(thread, std::move(event));
}

void Slice::end() noexcept {
  try {
    record({name_, "stage", begin_, TimelineClock::now(), {}});
  } catch (const std::bad_alloc&) {
    return;  // a picture is not worth the end of the program
  }
}

void start_timeline() {
  Timeline& all = timeline();
  const std::lock_guard lock(all.mutex);
  if (is_recording()) {
    throw errors::UsageError("TimelineScope: another one records already; want one at a time");
  }
  all.events.clear();
  all.threads.clear();
  all.dropped = 0;
  all.start = TimelineClock::now();
  detail::is_recording.store(true);
}

std::string take_timeline() {
  Timeline& all = timeline();
  const std::lock_guard lock(all.mutex);
  detail::is_recording.store(false);
  std::string text = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped\":\"" +
                     std::to_string(all.dropped) + "\"},\"traceEvents\":[";
  const char* separator = "\n";
  for (const auto& [thread, event] : all.events) {
    text += separator + event_text(thread, event, all.start);
    separator = ",\n";
  }
  all.events = {};
  all.threads.clear();
  all.dropped = 0;
  return text + "\n]}\n";
}

}  // namespace dynet::util
