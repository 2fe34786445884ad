// Products on CUDA, one launch for a call. A block of threads has a tile of results. It brings the
// factors of some terms to shared memory, where each number is read once for the whole tile, and
// its groups of threads share out the terms. Example: of {512,256} * {256}, a block has 32 results,
// and each of its 8 warps adds every eighth term.
//
// Several sums of products of equal shapes are one launch: three gates of a cell, with a matrix
// each, are the tiles of three results.
//
// Examples that share a matrix are columns of one product: w * x over 64 examples reads w as often
// as for one example of 64 columns, wherever the columns lie. Examples that share a result are
// terms: dw += dy * transpose(x).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../operands.h"
#include "kernels/device_loops.h"
#include "kernels/device_operands.h"
#include "kernels/device_sum.h"
#include "kernels/launch.h"
#include "kernels/long_sums.h"

namespace dynet::kernels {
namespace {

using ext::Transposed;

constexpr int kMostPairs = 16;  ///< of factors in one launch
constexpr int kMostSums = 8;    ///< of a launch

/// Tiles of so many rows and columns. A thread has a square of them, whose elements lie as far
/// apart as there are threads in their direction, so that neighbours write neighbours. A group of
/// threads has the whole tile, for its part of `kTerms` terms at a time.
template <int rows, int columns, int side, int across, int groups, int terms>
struct TileShape {
  static constexpr int kRows = rows, kColumns = columns;
  static constexpr int kSide = side, kAcross = across;  ///< of a thread's square
  static constexpr int kMostGroups = groups, kTerms = terms;
  static constexpr int kDownThreads = rows / side;
  static constexpr int kThreads = kDownThreads * (columns / across);  ///< of a group
  static_assert(kTerms <= kMostSteps);
};
using OneColumn = TileShape<32, 1, 1, 1, 8, 64>;
using FewColumns = TileShape<32, 8, 1, 8, 8, 64>;
using Middle = TileShape<32, 32, 4, 4, 4, 32>;
using Large = TileShape<128, 64, 8, 4, 1, 32>;

/// A factor: element (i, k) lies at i * row + k * column.
struct Factor {
  DeviceOperand operand;
  std::int64_t row, column;
};
struct FactorPair {
  Factor a, b;
  std::int64_t inner;
};
/// What examples are in a product.
enum class Examples : std::uint32_t {
  kApart,      ///< products of their own
  kAsColumns,  ///< columns of one product
  kAsTerms,    ///< terms of one result
  kInOrder     ///< products whose results meet: a thread has an element of all of them
};
/// A result, and the pairs of factors whose products it sums.
struct SumOfPairs {
  std::int32_t first, end;
  DeviceOperand c, start;  ///< `start`: of each column
};
/// Some sums of products, as a kernel's parameter.
struct ProductCall {
  FactorPair pairs[kMostPairs];
  SumOfPairs sums[kMostSums];
  std::int32_t sum_count;
  std::uint32_t has_start;
  std::int64_t rows, columns, examples;
  std::int64_t all_columns;  ///< of all examples, if they are columns
  Examples examples_are;
  std::uint32_t padding;
  DeviceSegments segments;
  DeviceWords words;
};

/// The memory that the threads of a block share: factors of some terms, and the sums of groups. The
/// number beside each row keeps a column's elements in different banks.
template <class S>
struct TileMemory {
  float a[S::kTerms][S::kRows + 1];
  float b[S::kTerms][S::kColumns + 1];
  float sums[S::kMostGroups > 1 ? S::kMostGroups* S::kColumns* S::kRows : 1];
  std::uint64_t a_of_term[S::kTerms];  ///< the address of the tile's first element of a
  std::uint64_t b_of_term[S::kTerms], b_of_column[S::kColumns];  ///< their sum is an address
};

/// A tile. All threads of the block call each function together, but write().
template <class S>
class Tile {
 public:
  __device__ Tile(const ProductCall& p, const SumOfPairs& sum, TileMemory<S>& memory,
                  std::int64_t row, std::int64_t column)
      : p_(p),
        sum_(sum),
        memory_(memory),
        row_(row),
        column_(column),
        rows_(static_cast<int>(p.rows - row < S::kRows ? p.rows - row : S::kRows)),
        columns_(static_cast<int>(p.all_columns - column < S::kColumns ? p.all_columns - column
                                                                       : S::kColumns)),
        thread_(static_cast<int>(threadIdx.x)),
        threads_(static_cast<int>(blockDim.x)),
        group_(thread_ / S::kThreads),
        groups_(threads_ / S::kThreads),
        down_(thread_ % S::kThreads % S::kDownThreads),
        right_(thread_ % S::kThreads / S::kDownThreads) {}

  /// Sums the products of `examples` examples from `first` on, and writes the result of `first`.
  __device__ void run(std::int64_t first, std::int64_t examples) {
    Part part{sum_.first, 0, 0};
    find(part, examples);
    set_addresses(part, first);
    while (part.pair < sum_.end) {
      __syncthreads();  // the addresses are there, and the factors of the last part have been read
      bring(part);
      __syncthreads();
      const int terms = part.terms;
      part.term += terms;
      find(part, examples);
      set_addresses(part, first);
      add(terms);
    }
    add_groups();
    if (group_ == 0) {
      write(first);
    }
  }

 private:
  static constexpr int kStepDown = S::kDownThreads;
  static constexpr int kStepRight = S::kColumns / S::kAcross;

  /// Terms of one pair of factors.
  struct Part {
    int pair;
    std::int64_t term;
    int terms;
  };

  /// Goes on to the next pair if `part` is at the end of its own.
  __device__ void find(Part& part, std::int64_t examples) const {
    for (; part.pair < sum_.end; ++part.pair, part.term = 0) {
      const std::int64_t left = p_.pairs[part.pair].inner * examples - part.term;
      if (left > 0) {
        part.terms = static_cast<int>(left < S::kTerms ? left : S::kTerms);
        return;
      }
    }
  }
  [[nodiscard]] __device__ std::uint64_t address(const Factor& f, const DeviceExample& e,
                                                 std::int64_t at) const {
    return reinterpret_cast<std::uint64_t>(
        place_of<const float>(f.operand, p_.segments, p_.words, e, at * 4).at);
  }
  __device__ void set_addresses(const Part& part, std::int64_t first) const {
    if (part.pair == sum_.end) {
      return;
    }
    const FactorPair& pair = p_.pairs[part.pair];
    const bool are_columns = p_.examples_are == Examples::kAsColumns;
    for (int t = thread_; t < part.terms; t += threads_) {
      const std::int64_t term = part.term + t;
      const DeviceExample e = example_at(p_.segments, p_.words, first + term / pair.inner);
      const std::int64_t k = term % pair.inner;
      memory_.a_of_term[t] = address(pair.a, e, row_ * pair.a.row + k * pair.a.column);
      const std::int64_t at = k * pair.b.row;
      memory_.b_of_term[t] =
          are_columns ? static_cast<std::uint64_t>(at * 4) : address(pair.b, e, at);
    }
    if (part.term != 0) {
      return;
    }
    for (int j = thread_; j < columns_; j += threads_) {
      const std::int64_t column = column_ + j;
      if (are_columns) {
        const DeviceExample e = example_at(p_.segments, p_.words, column / p_.columns);
        memory_.b_of_column[j] = address(pair.b, e, column % p_.columns * pair.b.column);
      } else {
        memory_.b_of_column[j] = static_cast<std::uint64_t>(column * pair.b.column * 4);
      }
    }
  }
  /// Brings the factors of a part to shared memory.
  __device__ void bring(const Part& part) const {
    const FactorPair& pair = p_.pairs[part.pair];
    const auto row = static_cast<std::uint64_t>(pair.a.row * 4);
    bring<S::kRows>(
        pair.a.row == 1, rows_, part.terms,
        [&](int t, int i) { return memory_.a_of_term[t] + static_cast<std::uint64_t>(i) * row; },
        [&](int t, int i) -> float& { return memory_.a[t][i]; });
    bring<S::kColumns>(
        pair.b.column == 1, columns_, part.terms,
        [&](int t, int j) { return memory_.b_of_term[t] + memory_.b_of_column[j]; },
        [&](int t, int j) -> float& { return memory_.b[t][j]; });
  }
  /// Rows of a, or columns of b, of some terms. Neighbours read neighbours: of one term, or of one
  /// line. A thread asks for some numbers before it writes the first, so that it waits once.
  template <int kLines, class From, class To>
  __device__ void bring(bool terms_have_neighbours, int lines, int terms, From from, To to) const {
    constexpr int kAtOnce = 8;
    for (int first = thread_; first < kLines * S::kTerms; first += kAtOnce * threads_) {
      float numbers[kAtOnce];
      int line[kAtOnce];
      int term[kAtOnce];
      for (int k = 0; k < kAtOnce; ++k) {
        const int n = first + k * threads_;
        line[k] = terms_have_neighbours ? n % kLines : n / S::kTerms;
        term[k] = terms_have_neighbours ? n / kLines : n % S::kTerms;
        if (line[k] < lines && term[k] < terms) {
          numbers[k] = *reinterpret_cast<const float*>(from(term[k], line[k]));
        }
      }
      for (int k = 0; k < kAtOnce; ++k) {
        if (line[k] < lines && term[k] < terms) {
          to(term[k], line[k]) = numbers[k];
        }
      }
    }
  }
  /// Adds the group's terms of a part. Beyond the tile's edges the sums are of any numbers, and no
  /// one reads them.
  __device__ void add(int terms) {
    if (down_ >= rows_ || right_ >= columns_) {
      return;
    }
    if (steps_ + S::kTerms > kMostSteps) {
      carry();
    }
    steps_ += S::kTerms;
    for (int t = group_; t < terms; t += groups_) {
      float left[S::kSide];
      for (int i = 0; i < S::kSide; ++i) {
        left[i] = memory_.a[t][down_ + i * kStepDown];
      }
      for (int j = 0; j < S::kAcross; ++j) {
        const float right = memory_.b[t][right_ + j * kStepRight];
        for (int i = 0; i < S::kSide; ++i) {
          short_[j][i] = std::fma(left[i], right, short_[j][i]);
        }
      }
    }
  }
  __device__ void carry() {
    for (int j = 0; j < S::kAcross; ++j) {
      for (int i = 0; i < S::kSide; ++i) {
        long_[j][i].add(short_[j][i]);
        short_[j][i] = 0.0F;
      }
    }
    steps_ = 0;
  }
  /// The first group adds the sums of the others, from the second to the last.
  __device__ void add_groups() {
    carry();
    if (groups_ == 1) {
      return;
    }
    for_each_sum(group_, [](DeviceSum& own, float& shared) { shared = own.get(); });
    __syncthreads();
    for (int g = 1; g < groups_ && group_ == 0; ++g) {
      for_each_sum(g, [](DeviceSum& own, float& shared) { own.add(shared); });
    }
  }
  /// Calls f(the thread's sum, this sum of `group` in shared memory).
  template <class F>
  __device__ void for_each_sum(int group, F f) {
    if constexpr (S::kMostGroups > 1) {
      for (int j = 0; j < S::kAcross; ++j) {
        float* const column =
            memory_.sums + (group * S::kColumns + right_ + j * kStepRight) * S::kRows;
        for (int i = 0; i < S::kSide; ++i) {
          f(long_[j][i], column[down_ + i * kStepDown]);
        }
      }
    }
  }
  __device__ void write(std::int64_t example) const {
    for (int j = 0; j < S::kAcross; ++j) {
      const std::int64_t column = column_ + right_ + j * kStepRight;
      if (column >= p_.all_columns) {
        continue;
      }
      const bool are_columns = p_.examples_are == Examples::kAsColumns;
      const DeviceExample e =
          example_at(p_.segments, p_.words, are_columns ? column / p_.columns : example);
      const DevicePlace<float> c = place_of<float>(sum_.c, p_.segments, p_.words, e, 0);
      const float* const start =
          p_.has_start != 0 ? place_of<const float>(sum_.start, p_.segments, p_.words, e, 0).at
                            : nullptr;
      float* const to = c.at + (are_columns ? column % p_.columns : column) * p_.rows;
      for (int i = 0; i < S::kSide; ++i) {
        const std::int64_t row = row_ + down_ + i * kStepDown;
        if (row < p_.rows) {
          const float sum = long_[j][i].get();
          to[row] = start != nullptr ? start[row] + sum : (c.adds ? to[row] + sum : sum);
        }
      }
    }
  }

  const ProductCall& p_;
  const SumOfPairs& sum_;
  TileMemory<S>& memory_;
  const std::int64_t row_, column_;
  const int rows_, columns_, thread_, threads_, group_, groups_, down_, right_;
  int steps_ = 0;
  float short_[S::kAcross][S::kSide] = {};
  DeviceSum long_[S::kAcross][S::kSide];
};

template <class S>
__global__ void __launch_bounds__(S::kThreads* S::kMostGroups)
    run_product(const __grid_constant__ ProductCall p) {
  __shared__ TileMemory<S> memory;
  const std::int64_t down = (p.rows + S::kRows - 1) / S::kRows;
  const std::int64_t across = (p.all_columns + S::kColumns - 1) / S::kColumns;
  const std::int64_t of_sum = down * across * (p.examples_are == Examples::kApart ? p.examples : 1);
  const std::int64_t in_order = p.examples_are == Examples::kInOrder ? p.examples : 1;
  for (std::int64_t n = blockIdx.x; n < of_sum * p.sum_count; n += gridDim.x) {
    const std::int64_t t = n % of_sum;
    const std::int64_t first = t / down / across;
    for (std::int64_t e = first; e < first + in_order; ++e) {
      Tile<S> tile(p, p.sums[n / of_sum], memory, t % down * S::kRows,
                   t / down % across * S::kColumns);
      tile.run(e, p.examples_are == Examples::kAsTerms ? p.examples : 1);
    }
  }
}

template <class S>
[[nodiscard]] std::int64_t tiles_of(const ProductCall& p) {
  return (p.rows + S::kRows - 1) / S::kRows * ((p.all_columns + S::kColumns - 1) / S::kColumns) *
         (p.examples_are == Examples::kApart ? p.examples : 1) * p.sum_count;
}
template <class S>
void start_tiles(const ProductCall& p, void* stream) {
  std::int64_t terms = 0;  // of the longest sum
  for (int n = 0; n < p.sum_count; ++n) {
    std::int64_t inner = 0;
    for (int k = p.sums[n].first; k < p.sums[n].end; ++k) {
      inner += p.pairs[k].inner;
    }
    terms = std::max(terms, inner * (p.examples_are == Examples::kAsTerms ? p.examples : 1));
  }
  constexpr std::int64_t kTermsOfGroup = 8;  // fewer do not pay the addition of groups
  const auto groups =
      static_cast<unsigned>(std::clamp<std::int64_t>(terms / kTermsOfGroup, 1, S::kMostGroups));
  launch("product", run_product<S>, blocks_for(tiles_of<S>(p), 1), S::kThreads * groups, stream, p);
}
/// In the largest tiles that keep the device busy.
void start_in_tiles(const ProductCall& p, void* stream) {
  constexpr std::int64_t kFew = FewColumns::kColumns;
  constexpr unsigned kMostAtOnce = 16;  // blocks of a multiprocessor, in most_blocks()
  if (p.all_columns == 1) {
    start_tiles<OneColumn>(p, stream);
  } else if (p.all_columns <= kFew) {
    start_tiles<FewColumns>(p, stream);
  } else if (tiles_of<Large>(p) * kMostAtOnce < most_blocks()) {
    start_tiles<Middle>(p, stream);
  } else {
    start_tiles<Large>(p, stream);
  }
}

std::int64_t rows_of(const Operand& o, Transposed t) {
  return t == Transposed::kNo ? o.dim[0] : o.dim[1];
}
std::int64_t columns_of(const Operand& o, Transposed t) {
  return t == Transposed::kNo ? o.dim[1] : o.dim[0];
}

/// A product or a sum of products, without pairs that have no examples.
struct HostSum {
  const Operand* c;
  const Operand* start;
  Write write;
  Transposed ta, tb;
  std::span<const ext::Factors> pairs;
  std::int64_t rows, columns, examples;
  bool shares;  ///< all examples have the same left factors
};
[[nodiscard]] std::int64_t examples_of(const ext::Factors& f, const Operand& c) {
  return f.a->examples == 0 || f.b->examples == 0
             ? std::int64_t{0}
             : std::max({f.a->examples, f.b->examples, c.examples});
}

/// Sums of equal shapes on their way to a launch.
class DeviceProducts {
 public:
  explicit DeviceProducts(void* stream) : stream_(stream) {}
  /// Starts the sums until now first, if this one does not fit beside them.
  void add(const HostSum& s) {
    const std::size_t pairs = pair_count() + s.pairs.size();
    if (count_ != 0 && (count_ == kMostSums || pairs > kMostPairs || !fits(s, sums_[0]))) {
      start();
    }
    sums_[count_++] = s;
  }
  void start() {
    const std::span<const HostSum> all(sums_, count_);
    count_ = 0;
    if (!all.empty() && !start_at_once(all)) {
      for (const HostSum& s : all) {
        (void)start_at_once({&s, 1});
      }
    }
  }

 private:
  [[nodiscard]] std::size_t pair_count() const {
    std::size_t count = 0;
    std::for_each(sums_, sums_ + count_, [&](const HostSum& s) { count += s.pairs.size(); });
    return count;
  }
  [[nodiscard]] static bool fits(const HostSum& s, const HostSum& other) {
    return s.rows == other.rows && s.columns == other.columns && s.examples == other.examples &&
           s.shares == other.shares && (s.c->examples == 1) == (other.c->examples == 1) &&
           (s.start == nullptr) == (other.start == nullptr);
  }
  /// False, without a start, if results of several sums meet.
  [[nodiscard]] bool start_at_once(std::span<const HostSum> all) const {
    const HostSum& first = all[0];
    ProductCall p{};
    p.rows = first.rows;
    p.columns = first.columns;
    p.examples = first.examples;
    p.has_start = first.start != nullptr ? 1 : 0;
    OperandTable table(p.examples);
    std::size_t numbers[kMostPairs][2];
    std::size_t results[kMostSums][2];
    for (const HostSum& s : all) {
      SumOfPairs& sum = p.sums[p.sum_count];
      sum.first = p.sum_count == 0 ? 0 : p.sums[p.sum_count - 1].end;
      sum.end = sum.first;
      for (const ext::Factors& f : s.pairs) {
        numbers[sum.end][0] = table.read(*f.a);
        numbers[sum.end][1] = table.read(*f.b);
        p.pairs[sum.end++] = {factor(*f.a, s.ta), factor(*f.b, s.tb), columns_of(*f.a, s.ta)};
      }
      results[p.sum_count][0] = table.write(*s.c, s.write);
      results[p.sum_count][1] = s.start != nullptr ? table.read(*s.start) : results[p.sum_count][0];
      ++p.sum_count;
    }
    table.cut();
    // A product reads no memory of its results, so results meet results at most.
    const Meeting meeting =
        p.examples > 1 || all.size() > 1 ? table.meeting(false) : Meeting::kNowhere;
    if (all.size() > 1 && meeting != Meeting::kNowhere) {
      return false;
    }
    for (int k = 0; k < p.sums[p.sum_count - 1].end; ++k) {
      p.pairs[k].a.operand = table.operand(numbers[k][0]);
      p.pairs[k].b.operand = table.operand(numbers[k][1]);
    }
    for (int n = 0; n < p.sum_count; ++n) {
      p.sums[n].c = table.operand(results[n][0]);
      p.sums[n].start = table.operand(results[n][1]);
    }
    p.segments = table.segments();
    p.examples_are = examples_are(first, meeting);
    p.all_columns = p.columns * (p.examples_are == Examples::kAsColumns ? p.examples : 1);
    if (p.rows * p.all_columns != 0 && p.examples != 0) {
      const WordsOnDevice words(table.words(), stream_);
      p.words = words.get();
      start_in_tiles(p, stream_);
    }
    return true;
  }
  [[nodiscard]] static Factor factor(const Operand& o, Transposed t) {
    const std::int64_t rows = o.dim[0];
    return t == Transposed::kNo ? Factor{{}, 1, rows} : Factor{{}, rows, 1};
  }
  [[nodiscard]] static Examples examples_are(const HostSum& s, Meeting meeting) {
    if (s.c->examples == 1 && s.examples != 1) {
      return Examples::kAsTerms;
    }
    if (meeting != Meeting::kNowhere) {
      return Examples::kInOrder;
    }
    return s.shares ? Examples::kAsColumns : Examples::kApart;
  }

  void* stream_;
  HostSum sums_[kMostSums];
  std::size_t count_ = 0;
};

/// Adds a sum whose pairs have equally many examples, of at most kMostPairs pairs at a time.
void add_pairs(DeviceProducts& to, HostSum s) {
  for (std::span<const ext::Factors> left = s.pairs; !left.empty();) {
    s.pairs = left.first(std::min<std::size_t>(left.size(), kMostPairs));
    s.shares = std::all_of(s.pairs.begin(), s.pairs.end(),
                           [](const ext::Factors& f) { return f.a->examples == 1; });
    to.add(s);
    left = left.subspan(s.pairs.size());
    if (!left.empty()) {
      to.start();
    }
    s.write = Write::kAdd;
    s.start = nullptr;
  }
}
void add_sum(DeviceProducts& to, HostSum s) {
  const ext::Factors& first = s.pairs.front();
  s.rows = rows_of(*first.a, s.ta);
  s.columns = columns_of(*first.b, s.tb);
  s.examples = examples_of(first, *s.c);
  const bool is_one = std::all_of(s.pairs.begin(), s.pairs.end(), [&](const ext::Factors& f) {
    return examples_of(f, *s.c) == s.examples;
  });
  if (is_one && s.examples != 0) {
    add_pairs(to, s);
    return;
  }
  for (const ext::Factors& f : s.pairs) {
    HostSum one = s;
    one.examples = examples_of(f, *s.c);
    one.pairs = {&f, 1};
    if (one.examples != 0) {
      add_pairs(to, one);
    } else {
      one.examples = s.c->examples;
      one.pairs = {};
      to.add(one);
    }
    to.start();
    s.write = Write::kAdd;
    s.start = nullptr;
  }
}

}  // namespace

void start_product(const Operand& a, Transposed ta, const Operand& b, Transposed tb,
                   const Operand& c, Write write, void* cuda_stream) {
  const ext::Factors pair{&a, &b};
  DeviceProducts products(cuda_stream);
  add_sum(products, {&c, nullptr, write, ta, tb, {&pair, 1}, 0, 0, 0, false});
  products.start();
}

void start_products(std::span<const ext::ProductSum> all, void* cuda_stream) {
  DeviceProducts products(cuda_stream);
  for (const ext::ProductSum& s : all) {
    const Write write = s.start != nullptr ? Write::kStore : s.write;
    add_sum(products, {s.c, s.start, write, s.ta, Transposed::kNo, s.pairs, 0, 0, 0, false});
  }
  products.start();
}

}  // namespace dynet::kernels
