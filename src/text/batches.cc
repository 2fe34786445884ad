#include "dynet/text/batches.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <numeric>

namespace dynet::text {

namespace {

/// splitmix64: the state counts, the output is scrambled.
std::uint64_t scrambled(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

/// A hash of numbers in which their order matters.
std::uint64_t joined(std::initializer_list<std::uint64_t> numbers) {
  std::uint64_t sum = 0;
  for (const std::uint64_t number : numbers) {
    sum = scrambled(sum ^ number);
  }
  return sum;
}

/// Fisher and Yates. The standard's shuffle and distributions differ between libraries.
template <class T>
void shuffle(std::vector<T>& list, std::uint64_t state) {
  if (list.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw errors::SizeError("text: more than 2^32 examples to shuffle; want a smaller window");
  }
  for (std::size_t i = list.size(); i > 1; --i) {
    const std::uint64_t draw = scrambled(state++) >> 32U;
    std::swap(list[i - 1], list[(draw * i) >> 32U]);
  }
}

constexpr std::uint64_t kOfEpoch = 1;
constexpr std::uint64_t kOfExamples = 2;
constexpr std::uint64_t kOfBatches = 3;

void check_size(const BucketOptions& options) {
  if (options.size == 0) {
    throw errors::ValueError("text: batches of size 0; want 1 or more");
  }
}

}  // namespace

std::string BucketPosition::to_string() const {
  return std::to_string(epoch) + ' ' + std::to_string(window) + ' ' + std::to_string(batch) + ' ' +
         std::to_string(of);
}

BucketPosition BucketPosition::from_string(const std::string& text) {
  std::array<std::uint64_t, 4> numbers{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) {
      if (at == end || *at != ' ') {
        throw errors::ValueError("text::BucketPosition: '" + text + "'; want four numbers");
      }
      ++at;
    }
    const auto [rest, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc()) {
      throw errors::ValueError("text::BucketPosition: '" + text + "'; want four numbers");
    }
    at = rest;
  }
  if (at != end) {
    throw errors::ValueError("text::BucketPosition: '" + text + "'; want four numbers");
  }
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

bool operator==(const BucketPosition& a, const BucketPosition& b) {
  return a.epoch == b.epoch && a.window == b.window && a.batch == b.batch && a.of == b.of;
}

std::vector<std::vector<std::size_t>> cut_window(const std::vector<std::size_t>& lengths,
                                                 const BucketOptions& options, std::uint64_t epoch,
                                                 std::uint64_t window) {
  check_size(options);
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (options.shuffle) {
    shuffle(order, joined({kOfExamples, options.seed, epoch, window}));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lengths[a] < lengths[b]; });
  std::vector<std::vector<std::size_t>> batches;
  std::size_t size = 0;  // of the last batch, if examples had no end
  for (const std::size_t place : order) {
    const std::size_t length = lengths[place];
    std::size_t grown = 0;
    if (!batches.empty()) {
      const std::size_t count = batches.back().size() + 1;
      grown = options.of == BatchSize::kExamples ? count
              : options.of == BatchSize::kTokens ? size + length
                                                 : count * length;
    }
    if (batches.empty() || grown > options.size) {
      batches.emplace_back();
      grown = options.of == BatchSize::kExamples ? 1 : length;
    }
    batches.back().push_back(place);
    size = grown;
  }
  if (options.shuffle) {
    shuffle(batches, joined({kOfBatches, options.seed, epoch, window}));
  }
  return batches;
}

std::vector<std::size_t> epoch_order(std::size_t count, const BucketOptions& options,
                                     std::uint64_t epoch) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (options.shuffle) {
    shuffle(order, joined({kOfEpoch, options.seed, epoch}));
  }
  return order;
}

std::uint64_t checksum(const BucketOptions& options, const std::vector<std::size_t>& lengths) {
  check_size(options);
  std::uint64_t sum = joined({options.size, static_cast<std::uint64_t>(options.of), options.window,
                              options.shuffle ? 1U : 0U, options.seed, lengths.size()});
  for (const std::size_t length : lengths) {
    sum = scrambled(sum ^ length);
  }
  return sum;
}

Buckets::Buckets(std::vector<std::size_t> lengths, const BucketOptions& options)
    : lengths_(std::move(lengths)), options_(options) {
  const std::size_t window = options.window == 0 ? lengths_.size() : options.window;
  windows_ = lengths_.empty() ? 1 : 1 + (lengths_.size() - 1) / window;
  position_.of = checksum(options, lengths_);
  enter(position_);
}

std::size_t Buckets::begin_of(std::uint64_t window) const {
  const std::size_t least = lengths_.size() / windows_;
  return window * least + std::min<std::size_t>(window, lengths_.size() % windows_);
}

/// Makes the batches of the position's window.
void Buckets::enter(const BucketPosition& position) {
  const bool is_new_epoch = order_.size() != lengths_.size() || position.epoch != position_.epoch;
  std::vector<std::size_t> order =
      is_new_epoch ? epoch_order(lengths_.size(), options_, position.epoch) : order_;
  const std::size_t begin = begin_of(position.window);
  const std::size_t end = begin_of(position.window + 1);
  std::vector<std::size_t> lengths;
  lengths.reserve(end - begin);
  for (std::size_t i = begin; i < end; ++i) {
    lengths.push_back(lengths_[order[i]]);
  }
  auto batches = cut_window(lengths, options_, position.epoch, position.window);
  if (position.batch > batches.size()) {
    throw errors::ValueError("text::Buckets: batch " + std::to_string(position.batch) + " of " +
                             std::to_string(batches.size()));
  }
  for (std::vector<std::size_t>& batch : batches) {
    for (std::size_t& place : batch) {
      place = order[begin + place];
    }
  }
  order_.swap(order);
  batches_.swap(batches);
  position_ = position;
}

bool Buckets::next(std::vector<std::size_t>& batch) {
  if (position_.batch == batches_.size() && position_.window + 1 < windows_) {
    enter({position_.epoch, position_.window + 1, 0, position_.of});
  }
  if (position_.batch == batches_.size()) {
    enter({position_.epoch + 1, 0, 0, position_.of});
    return false;
  }
  batch = batches_[position_.batch];
  ++position_.batch;
  return true;
}

void Buckets::seek(const BucketPosition& position) {
  if (position.of != position_.of) {
    throw errors::ValueError("text::Buckets: a position of other options or other examples");
  }
  if (position.window >= windows_) {
    throw errors::ValueError("text::Buckets: window " + std::to_string(position.window) + " of " +
                             std::to_string(windows_));
  }
  enter(position);
}

}  // namespace dynet::text
