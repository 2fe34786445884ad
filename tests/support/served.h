#pragma once

// A model and requests for tests of servers.

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dynet/expr.h"
#include "dynet/lstm.h"
#include "dynet/serve.h"

#include "support/differences.h"

namespace dynet::testing {

/// Reads letters with an LSTM until the score of a state is small: the number of steps is decided
/// by values, and states pass the questions.
struct Reader {
  explicit Reader(ParameterCollection& m)
      : letters(m.add_lookup_parameters(kLetters, {kSize})),
        lstm(1, kSize, kSize, m),
        out(m.add_parameters({1, kSize})) {}
  void new_graph(ComputationGraph& cg) {
    lstm.new_graph(cg);
    lstm.start_new_sequence();
    o = parameter(cg, out);
  }
  static constexpr unsigned kLetters = 20, kSize = 8;
  static constexpr float kEnough = 0.05F;
  LookupParameter letters;
  VanillaLSTMBuilder lstm;
  Parameter out;
  Expression o{};
};

struct Reading {
  unsigned steps = 0;
  float score = 0;
};

inline Task<Reading> read(ComputationGraph& cg, Reader& reader, unsigned first, unsigned length) {
  Reading reading;
  RNNPointer state(-1);
  for (unsigned i = 0; i < length; ++i) {
    reader.lstm.add_input(state, lookup(cg, reader.letters, (first + i) % Reader::kLetters));
    state = reader.lstm.state();
    reading.score = as_scalar(co_await value(reader.o * reader.lstm.get_h(state)[0]));
    ++reading.steps;
    if (reading.score > Reader::kEnough) {
      break;
    }
  }
  co_return reading;
}

/// The request of `read`.
inline auto reading_of(unsigned first, unsigned length = 12) {
  return [=](ComputationGraph& cg, Reader& reader) { return read(cg, reader, first, length); };
}

struct ServedModel {
  ParameterCollection m;
  Reader reader{m};
  ServedModel() { draw_values(m, 0.6); }
  /// Without a server.
  Reading alone(unsigned first, unsigned length = 12) {
    ComputationGraph cg;
    reader.new_graph(cg);
    std::vector<Task<Reading>> one;
    one.push_back(read(cg, reader, first, length));
    return run_together(cg, std::move(one))[0];
  }
};

/// A time for things that take milliseconds: a test of a wrong server fails, and does not hang.
constexpr std::chrono::seconds kTooLong{60};

/// The result of a request.
template <class T>
T got(Answer<T>& answer) {
  if (!answer.wait_for(kTooLong)) {
    throw std::runtime_error("the request has no answer");
  }
  return answer.get();
}
template <class T>
T got(Answer<T>&& answer) {
  return got(answer);
}

/// Waits for `condition()`.
template <class Condition>
void until(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + kTooLong;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      throw std::runtime_error("waited in vain");
    }
    std::this_thread::yield();
  }
}

/// A door for requests, so that a test says when the server goes on.
class Gate {
 public:
  /// To be called by a request: waits until open().
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait_for(lock, kTooLong, [this] { return is_open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  /// Until a request is at the gate.
  void await_one() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kTooLong, [this] { return waiting_ != 0; })) {
      throw std::runtime_error("no request is at the gate");
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned waiting_ = 0;
  bool is_open_ = false;
};

template <class F>
std::string error_of(F&& f) {
  try {
    std::forward<F>(f)();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

/// Asks for ever.
inline Task<> ask_for_ever(ComputationGraph& cg, std::shared_ptr<int> held = nullptr) {
  for (float x = 0;; x += 1) {
    co_await value(input(cg, x));
  }
  static_cast<void>(held);
}

inline ServeCounts until_idle(const RequestServer<Reader>& server) {
  ServeCounts counts;
  until([&] {
    counts = server.counts();
    return counts.running + counts.waiting == 0;
  });
  return counts;
}

}  // namespace dynet::testing
