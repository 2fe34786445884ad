#pragma once

// Ranks that are threads of one process, for tests of the exchange without MPI, and the model of
// all ranks in tests.

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "dynet/distributed.h"
#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/training.h"

namespace dynet::testing {

/// The messages under way, by slot, sender and receiver. Thread-safe.
class Post {
 public:
  using Key = std::tuple<unsigned, unsigned, unsigned>;
  void put(const Key& key, const distributed::Message& m) {
    const auto* const data = static_cast<const std::byte*>(m.data);
    const std::lock_guard lock(mutex_);
    boxes_[key].emplace_back(data, data + m.bytes);
  }
  /// False if nothing has come. Throws for a message that is longer than the memory.
  bool take(const Key& key, const distributed::Message& m) {
    const std::lock_guard lock(mutex_);
    auto& box = boxes_[key];
    if (box.empty()) {
      return false;
    }
    if (box.front().size() > m.bytes) {
      throw std::logic_error("a message of " + std::to_string(box.front().size()) +
                             " bytes for memory of " + std::to_string(m.bytes));
    }
    std::memcpy(m.data, box.front().data(), box.front().size());
    box.pop_front();
    return true;
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::deque<std::vector<std::byte>>> boxes_;
};

/// The exchange of one thread.
class ThreadExchange final : public distributed::Exchange {
 public:
  ThreadExchange(std::shared_ptr<Post> post, unsigned rank, unsigned size)
      : post_(std::move(post)), rank_(rank), size_(size) {}
  [[nodiscard]] unsigned rank() const override { return rank_; }
  [[nodiscard]] unsigned size() const override { return size_; }
  void start(unsigned slot, const std::vector<distributed::Message>& out,
             const std::vector<distributed::Message>& in) override {
    if (!waiting_[slot].empty()) {
      throw std::logic_error("slot " + std::to_string(slot) + " is in use");
    }
    for (const distributed::Message& m : out) {
      post_->put({slot, rank_, m.peer}, m);
    }
    waiting_[slot] = in;
  }
  bool test(unsigned slot) override {
    auto& waiting = waiting_[slot];
    while (!waiting.empty() && post_->take({slot, waiting.back().peer, rank_}, waiting.back())) {
      waiting.pop_back();
    }
    return waiting.empty();
  }
  unsigned waiting_for(unsigned slot) override { return waiting_[slot].back().peer; }

 private:
  std::shared_ptr<Post> post_;
  unsigned rank_, size_;
  std::vector<distributed::Message> waiting_[kSlots];
};

/// Runs `f(rank, exchange)` in a thread for each rank. The texts of the errors, by rank.
inline std::vector<std::string> run_ranks(
    unsigned size, const std::function<void(unsigned, std::shared_ptr<distributed::Exchange>)>& f) {
  const auto post = std::make_shared<Post>();
  std::vector<std::string> errors(size);
  std::vector<std::thread> threads;
  threads.reserve(size);
  for (unsigned r = 0; r < size; ++r) {
    threads.emplace_back([&, r] {
      try {
        f(r, std::make_shared<ThreadExchange>(post, r, size));
      } catch (const std::exception& e) {
        errors[r] = e.what();
      }
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
  return errors;
}

/// Words are looked up and scored through a layer. The bias is used by every third sentence alone,
/// `unused` never.
struct RankModel {
  static constexpr unsigned kWords = 200;

  explicit RankModel(float decay = 0.0F)
      : parameters(decay),
        words(parameters.add_lookup_parameters(kWords, {6}, "words")),
        hidden(parameters.add_parameters({8, 6}, 0.0F, "hidden")),
        bias(parameters.add_parameters({8}, 0.0F, "bias")),
        unused(parameters.add_parameters({3}, 0.0F, "unused")),
        scores(parameters.add_parameters({5, 8}, 0.0F, "scores")) {}

  [[nodiscard]] Expression sentence(ComputationGraph& cg, unsigned n) const {
    std::vector<Expression> losses;
    losses.reserve(1 + n % 5);
    for (unsigned i = 0; i <= n % 5; ++i) {
      Expression x = parameter(cg, hidden) * lookup(cg, words, (7 * n + 3 * i) % kWords);
      x = tanh(n % 3 == 0 ? x + parameter(cg, bias) : x);
      losses.push_back(pickneglogsoftmax(parameter(cg, scores) * x, (n + i) % 5));
    }
    return sum(losses);
  }
  [[nodiscard]] Expression sum_of(ComputationGraph& cg,
                                  const std::vector<unsigned>& sentences) const {
    std::vector<Expression> losses;
    losses.reserve(sentences.size());
    for (const unsigned n : sentences) {
      losses.push_back(sentence(cg, n));
    }
    return sum(losses);
  }
  /// Backward of the mean loss of some sentences.
  void learn(const std::vector<unsigned>& sentences) const {
    ComputationGraph cg;
    const Expression loss = sum_of(cg, sentences) / static_cast<float>(sentences.size());
    cg.forward(loss);
    cg.backward(loss);
  }
  /// Backward of a sum of all words: a gradient of the whole table.
  void look_at_all_words() const {
    ComputationGraph cg;
    const Expression e = sum_elems(parameter(cg, words));
    cg.forward(e);
    cg.backward(e);
  }
  /// All stored values.
  [[nodiscard]] std::vector<float> values() const {
    std::vector<float> all;
    for (const Tensor& t : {words.p->all_values, hidden.p->values, bias.p->values, unused.p->values,
                            scores.p->values}) {
      const std::vector<float> some = as_vector(t);
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  ParameterCollection parameters;
  LookupParameter words;
  Parameter hidden, bias, unused, scores;
};

/// Models for ranks, whose values differ until a trainer makes them alike.
inline std::vector<std::unique_ptr<RankModel>> models(unsigned size, float decay = 0.0F) {
  std::vector<std::unique_ptr<RankModel>> all;
  all.reserve(size);
  for (unsigned r = 0; r < size; ++r) {
    all.push_back(std::make_unique<RankModel>(decay));
  }
  return all;
}

constexpr unsigned kSentences = 97;
/// The sentences of one rank in a step, of 12 in all: 12, 6, 4 or 3 of them.
inline std::vector<unsigned> sentences(unsigned step, unsigned rank, unsigned size) {
  std::vector<unsigned> mine;
  mine.reserve(12);
  for (unsigned i = 0; i < 12; ++i) {
    if (i * size / 12 == rank) {
      mine.push_back((step * 17 + i * 5) % kSentences);
    }
  }
  return mine;
}

}  // namespace dynet::testing
