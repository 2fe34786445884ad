#pragma once

// Wall-clock timers for programs, which make the timers and so ask for their output. As in 2.1,
// <algorithm>, <iomanip> and <iterator> come with this header: programs rely on it.

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <utility>

template <typename A, typename B>
std::pair<B, A> flip_pair(const std::pair<A, B>& p) {
  return {p.second, p.first};
}
/// Values to keys, so that a table can be printed in the order of its values.
template <typename A, typename B>
std::multimap<B, A> flip_map(const std::map<A, B>& src) {
  std::multimap<B, A> flipped;
  for (const auto& entry : src) {
    flipped.insert(flip_pair(std::pair<A, B>(entry)));
  }
  return flipped;
}

namespace dynet {

/// Prints `[msg <ms> ms]` to stderr when it ends: `{ Timer t("completed in"); ... }`.
struct Timer {
  explicit Timer(const std::string& text) : msg(text), start(std::chrono::steady_clock::now()) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() {
    const std::chrono::duration<double, std::milli> passed =
        std::chrono::steady_clock::now() - start;
    std::cerr << '[' << msg << ' ' << passed.count() << " ms]\n";
  }

  std::string msg;
  std::chrono::steady_clock::time_point start;
};

/// A stop watch, running from the start.
struct Timing {
  Timing() : begin(std::chrono::steady_clock::now()) {}
  void start() { begin = std::chrono::steady_clock::now(); }
  /// Milliseconds since the start; it runs on.
  double stop() {
    const std::chrono::duration<double, std::milli> passed =
        std::chrono::steady_clock::now() - begin;
    return passed.count();
  }

  std::chrono::steady_clock::time_point begin;
};

/// Adds up times by name, in milliseconds. Prints the table to stdout when it ends, if it has any.
class NamedTimer {
 public:
  NamedTimer() = default;
  NamedTimer(const NamedTimer&) = delete;
  NamedTimer& operator=(const NamedTimer&) = delete;
  ~NamedTimer() {
    if (!timers.empty()) {
      std::cout << "Timing Info:\n";
      show();
    }
  }
  void start(std::string name) { timers[std::move(name)] = Timing(); }
  /// Adds the time since `start`; nothing if that name was never started.
  void stop(std::string name) {
    const auto entry = timers.find(name);
    if (entry != timers.end()) {
      cumtimes[std::move(name)] += entry->second.stop();
    }
  }
  /// The table, longest time first, with shares.
  void show() {
    double total = 0.0;
    for (const auto& entry : cumtimes) {
      total += entry.second;
    }
    const auto by_time = flip_map(cumtimes);
    for (auto entry = by_time.rbegin(); entry != by_time.rend(); ++entry) {
      std::cout << entry->second << '\t' << entry->first << '\t'
                << (total > 0.0 ? 100.0 * entry->first / total : 0.0) << "%\n";
    }
  }

  std::map<std::string, double> cumtimes;
  std::map<std::string, Timing> timers;
};

}  // namespace dynet
