#pragma once

// Minibatches of examples of like lengths, in a random order that can be resumed.
//
// The examples of an epoch are taken in windows. The examples of a window are sorted by length, cut
// into batches, and the batches are shuffled; equally long examples are in random order. A larger
// window gives batches of more equal lengths, a smaller window more chance. Example: a window of
// 1,000 sentences and a size of 20 make 50 batches.
//
//   std::vector<std::size_t> batch;
//   Buckets buckets(lengths);              // of examples in memory: gives their places
//   while (buckets.next(batch)) { ... }    // an epoch; the next call begins another
//
// Random numbers depend on the seed, the epoch and the window alone: a position is a few numbers,
// and the batches after `seek(position)` are the batches that followed `position()`.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dynet/except.h"

namespace dynet::text {

/// The measure of the size of a batch: its examples; the sum of their lengths; the longest length
/// times the examples, the size of the padded batch.
enum class BatchSize : std::uint8_t { kExamples, kTokens, kPaddedTokens };

struct BucketOptions {
  /// The largest size of a batch, at least 1; a longer example is a batch of its own.
  std::size_t size = 32;
  BatchSize of = BatchSize::kExamples;
  /// Examples that are sorted together; 0: all.
  std::size_t window = 10000;
  /// False: examples keep their order but for the sorting, and batches of each window grow.
  bool shuffle = true;
  std::uint64_t seed = 1;
};

/// The place of the next batch.
struct BucketPosition {
  std::uint64_t epoch = 0;
  std::uint64_t window = 0;  ///< of the epoch
  std::uint64_t batch = 0;   ///< of the window
  std::uint64_t of = 0;      ///< a checksum of options and lengths: positions of others are refused

  /// Four numbers with spaces between them.
  [[nodiscard]] std::string to_string() const;
  /// ValueError for another text.
  [[nodiscard]] static BucketPosition from_string(const std::string& text);
};
[[nodiscard]] bool operator==(const BucketPosition& a, const BucketPosition& b);

/// The batches of one window, as places in `lengths`. ValueError for a size of 0.
[[nodiscard]] std::vector<std::vector<std::size_t>> cut_window(
    const std::vector<std::size_t>& lengths, const BucketOptions& options, std::uint64_t epoch,
    std::uint64_t window);
/// The order in which an epoch takes `count` examples in memory.
[[nodiscard]] std::vector<std::size_t> epoch_order(std::size_t count, const BucketOptions& options,
                                                   std::uint64_t epoch);
/// The checksum of a position.
[[nodiscard]] std::uint64_t checksum(const BucketOptions& options,
                                     const std::vector<std::size_t>& lengths);

/// Batches of examples in memory, as places in the list of lengths; every example once per epoch.
/// Windows are equally large, but for one example. Not thread-safe.
class Buckets {
 public:
  /// ValueError for a size of 0.
  explicit Buckets(std::vector<std::size_t> lengths, const BucketOptions& options = {});
  /// False at the end of an epoch; the next call begins another.
  bool next(std::vector<std::size_t>& batch);
  [[nodiscard]] const BucketPosition& position() const { return position_; }
  /// Goes to a position. ValueError, and nothing changes, if it is one of other options, of
  /// other lengths, or of no batch.
  void seek(const BucketPosition& position);

 private:
  void enter(const BucketPosition& position);
  [[nodiscard]] std::size_t begin_of(std::uint64_t window) const;

  std::vector<std::size_t> lengths_;
  BucketOptions options_;
  std::size_t windows_ = 0;
  BucketPosition position_;
  std::vector<std::size_t> order_;                 ///< of the epoch
  std::vector<std::vector<std::size_t>> batches_;  ///< of the window
};

/// Batches of examples from a reader, such as the readers of dynet/text:
///
///   BucketStream<Words> batches([] { return PlainReader("train.txt"); },
///                               [](const Words& words) { return words.size(); });
///   std::vector<Words> batch;
///   while (batches.next(batch)) { ... }  // an epoch; the next call opens the file anew
///
/// Memory holds one window. `open` returns an object with `bool next(Example&)`. Not thread-safe.
template <class Example>
class BucketStream {
 public:
  /// ValueError for a size or a window of 0.
  template <class Open>
  BucketStream(const Open& open, std::function<std::size_t(const Example&)> length,
               const BucketOptions& options = {})
      : open_([open]() -> Source {
          using Reader = decltype(open());
          auto reader = std::make_shared<Reader>(open());
          return [reader](Example& example) { return reader->next(example); };
        }),
        length_(std::move(length)),
        options_(options) {
    if (options.window == 0) {
      throw errors::ValueError("text::BucketStream: a window of 0 examples; want 1 or more");
    }
    position_.of = checksum(options, {});
  }

  /// False at the end of an epoch. An exception of the source leaves `batch` as it was; the next
  /// call goes on in the same window.
  bool next(std::vector<Example>& batch) {
    if (!source_) {
      source_ = open_();
    }
    if (!has_window_) {
      fill();
    }
    if (position_.batch >= batches_.size() && !is_last_) {
      ++position_.window;
      position_.batch = 0;
      has_window_ = false;
      fill();
    }
    if (position_.batch >= batches_.size()) {
      position_ = {position_.epoch + 1, 0, 0, position_.of};
      forget();
      return false;
    }
    std::vector<Example> taken;
    for (const std::size_t place : batches_[position_.batch]) {
      taken.push_back(std::move(window_[place]));
    }
    ++position_.batch;
    batch.swap(taken);
    return true;
  }

  [[nodiscard]] const BucketPosition& position() const { return position_; }

  /// Calls `visit` for each example that was read and is kept; examples that a batch took are
  /// moved-from.
  template <class Visit>
  void for_each_held(Visit visit) const {
    std::for_each(window_.begin(), window_.end(), visit);
    visit(ahead_);
  }

  /// Opens the source anew and reads up to the position. ValueError if it is one of other options,
  /// or the source has no such batch; then the next call begins an epoch. Exceptions of the source
  /// come through: a source cannot be resumed behind an error.
  void seek(const BucketPosition& position) {
    if (position.of != position_.of) {
      throw errors::ValueError("text::BucketStream: a position of other options");
    }
    if (position.window > std::numeric_limits<std::uint64_t>::max() / options_.window) {
      throw errors::ValueError("text::BucketStream: the source ends before the position");
    }
    position_ = {position_.epoch, 0, 0, position_.of};
    forget();
    Source source = open_();
    Example example;
    for (std::uint64_t i = position.window * options_.window; i > 0; --i) {
      if (!source(example)) {
        throw errors::ValueError("text::BucketStream: the source ends before the position");
      }
    }
    source_ = std::move(source);
    position_ = position;
    fill();
    if (position.batch > batches_.size()) {
      position_ = {position.epoch, 0, 0, position.of};
      forget();
      throw errors::ValueError("text::BucketStream: the source has no batch at the position");
    }
  }

 private:
  using Source = std::function<bool(Example&)>;

  /// Reads the window of the position. One example more is read to know whether it is the last.
  void fill() {
    if (!has_started_) {
      window_.clear();
      is_last_ = false;
      has_started_ = true;
      if (has_ahead_) {
        window_.push_back(std::move(ahead_));
        has_ahead_ = false;
      }
    }
    Example example;
    while (window_.size() < options_.window && !is_last_) {
      if (source_(example)) {
        window_.push_back(std::move(example));
        example = Example();
      } else {
        is_last_ = true;
      }
    }
    if (!is_last_) {
      has_ahead_ = source_(ahead_);
      is_last_ = !has_ahead_;
    }
    std::vector<std::size_t> lengths;
    lengths.reserve(window_.size());
    for (const Example& one : window_) {
      lengths.push_back(length_(one));
    }
    batches_ = cut_window(lengths, options_, position_.epoch, position_.window);
    has_window_ = true;
    has_started_ = false;
  }
  void forget() {
    source_ = nullptr;
    has_window_ = has_started_ = has_ahead_ = is_last_ = false;
    batches_.clear();
    window_.clear();
  }

  std::function<Source()> open_;
  std::function<std::size_t(const Example&)> length_;
  BucketOptions options_;
  BucketPosition position_;
  Source source_;
  std::vector<Example> window_;
  Example ahead_{};  ///< the first of the next window
  bool has_ahead_ = false;
  bool is_last_ = false;      ///< the source has ended with this window
  bool has_window_ = false;   ///< `batches_` belong to the position
  bool has_started_ = false;  ///< a window is being read; an error leaves its examples
  std::vector<std::vector<std::size_t>> batches_;
};

}  // namespace dynet::text
