#include "distributed/sums.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace dynet::distributed {
namespace {

// Of a piece: so large that messages cost little beside their bytes, so small that it is still in
// the cache when it is added. All ranks together receive no more than kRoom at once.
constexpr std::int64_t kPiece = std::int64_t{1} << 18;
constexpr std::int64_t kRoom = std::int64_t{1} << 22;
constexpr std::int64_t kLine = 16;  // parts begin on 64 bytes

std::int64_t size_of(ext::Number number) { return number == ext::Number::kDouble ? 8 : 4; }

/// The first element of rank r's part of n elements.
std::int64_t begin_of(std::int64_t n, unsigned r, unsigned ranks) {
  const std::int64_t lines = (n + kLine - 1) / kLine;
  return std::min(n, (lines / ranks * r + lines % ranks * r / ranks) * kLine);
}

bool is_bad(float x) { return (std::bit_cast<std::uint32_t>(x) & 0x7f800000U) == 0x7f800000U; }
bool is_bad(double x) {
  return (std::bit_cast<std::uint64_t>(x) & 0x7ff0000000000000U) == 0x7ff0000000000000U;
}

template <class T>
std::uint64_t add_all(T* to, const std::vector<const std::byte*>& parts,
                      const std::vector<double>& factors, std::int64_t n, unsigned& bad) {
  constexpr std::int64_t kBlock = 512;
  double sum[kBlock];
  std::uint64_t found = 0;
  for (std::int64_t at = 0; at < n; at += kBlock) {
    const std::int64_t count = std::min(kBlock, n - at);
    std::fill_n(sum, count, 0.0);
    for (std::size_t r = 0; r < parts.size(); ++r) {
      if (parts[r] != nullptr) {
        const T* const part = reinterpret_cast<const T*>(parts[r]) + at;
        const double factor = factors[r];
        for (std::int64_t i = 0; i < count; ++i) {
          sum[i] += factor * static_cast<double>(part[i]);
        }
      }
    }
    std::uint64_t wrong = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      wrong += is_bad(static_cast<T>(sum[i])) ? 1U : 0U;
    }
    if (wrong != 0 && found == 0) {
      for (std::size_t r = parts.size(); r-- > 0;) {
        const T* const part = reinterpret_cast<const T*>(parts[r]);
        if (part != nullptr &&
            std::any_of(part + at, part + at + count, [](T x) { return is_bad(x); })) {
          bad = static_cast<unsigned>(r);
        }
      }
    }
    found += wrong;
    for (std::int64_t i = 0; i < count; ++i) {
      to[at + i] = static_cast<T>(sum[i]);
    }
  }
  return found;
}

}  // namespace

std::uint64_t add_parts(ext::Number number, std::byte* to,
                        const std::vector<const std::byte*>& parts,
                        const std::vector<double>& factors, std::int64_t n, unsigned& bad) {
  return number == ext::Number::kDouble
             ? add_all(reinterpret_cast<double*>(to), parts, factors, n, bad)
             : add_all(reinterpret_cast<float*>(to), parts, factors, n, bad);
}

void Sums::clear() {
  pieces_.clear();
  culprit_ = {};
}

void Sums::add(const Vector& vector) {
  const auto ranks = static_cast<std::int64_t>(rounds_.size());
  const std::int64_t count = std::max(kLine, std::min(kPiece, kRoom / ranks / kLine * kLine));
  std::int64_t longest = 0;
  for (unsigned r = 0; r < rounds_.size(); ++r) {
    longest = std::max(longest, begin_of(vector.elements, r + 1, rounds_.size()) -
                                    begin_of(vector.elements, r, rounds_.size()));
  }
  for (std::int64_t first = 0; first < longest; first += count) {
    pieces_.push_back({vector, first, count, nullptr});
  }
}

void Sums::add(Rows& rows) { pieces_.push_back({{}, 0, 0, &rows}); }

namespace {

/// Rank r's part of a piece: its first element, and the number of its elements.
struct Part {
  std::int64_t begin, count;
};
Part part_of(std::int64_t elements, std::int64_t first, std::int64_t most, unsigned r,
             unsigned ranks) {
  const std::int64_t begin = begin_of(elements, r, ranks) + first;
  const std::int64_t end = begin_of(elements, r + 1, ranks);
  return {begin, std::clamp<std::int64_t>(end - begin, 0, most)};
}

}  // namespace

void Sums::scatter(std::size_t piece) {
  const Piece& p = pieces_[piece];
  std::vector<std::byte>& room = room_[piece % 2];
  out_.clear();
  in_.clear();
  if (p.rows != nullptr) {
    p.rows->scatter(out_, in_, room);
  } else {
    const std::int64_t size = size_of(p.vector.number);
    const unsigned ranks = rounds_.size();
    const Part mine = part_of(p.vector.elements, p.first, p.count, rounds_.rank(), ranks);
    const auto bytes = static_cast<std::size_t>(mine.count * size);
    room.resize(std::max(room.size(), bytes * ranks));
    for (unsigned r = 0; r < ranks; ++r) {
      const Part part = part_of(p.vector.elements, p.first, p.count, r, ranks);
      if (r != rounds_.rank() && part.count != 0) {
        out_.push_back(
            {r, p.vector.data + part.begin * size, static_cast<std::size_t>(part.count * size)});
      }
      if (r != rounds_.rank() && bytes != 0) {
        in_.push_back({r, room.data() + bytes * r, bytes});
      }
    }
  }
  rounds_.start(static_cast<unsigned>(piece % 2), out_, in_);
}

void Sums::add_up(std::size_t piece, const std::vector<double>& factors) {
  const Piece& p = pieces_[piece];
  std::vector<std::byte>& room = room_[piece % 2];
  unsigned bad = rounds_.rank();
  std::uint64_t found = 0;
  const void* place = p.rows;
  if (p.rows != nullptr) {
    found = p.rows->add_up(room, factors, bad);
  } else {
    const std::int64_t size = size_of(p.vector.number);
    const Part mine = part_of(p.vector.elements, p.first, p.count, rounds_.rank(), rounds_.size());
    const auto bytes = static_cast<std::size_t>(mine.count * size);
    std::byte* const to = p.vector.data + mine.begin * size;
    parts_.clear();
    for (unsigned r = 0; r < rounds_.size(); ++r) {
      parts_.push_back(r == rounds_.rank() ? to : room.data() + bytes * r);
    }
    found = add_parts(p.vector.number, to, parts_, factors, mine.count, bad);
    place = to;
    for (std::int64_t i = 0; found != 0 && i < mine.count; ++i) {
      const std::byte* const x = to + i * size;
      if (size == 8 ? is_bad(*reinterpret_cast<const double*>(x))
                    : is_bad(*reinterpret_cast<const float*>(x))) {
        place = x;
        break;
      }
    }
  }
  if (found != 0 && culprit_.count == 0) {
    culprit_.rank = bad;
    culprit_.place = place;
  }
  culprit_.count += found;
}

void Sums::gather(std::size_t piece) {
  const Piece& p = pieces_[piece];
  out_.clear();
  in_.clear();
  if (p.rows != nullptr) {
    p.rows->gather(out_, in_);
  } else {
    const std::int64_t size = size_of(p.vector.number);
    const unsigned ranks = rounds_.size();
    const Part mine = part_of(p.vector.elements, p.first, p.count, rounds_.rank(), ranks);
    for (unsigned r = 0; r < ranks; ++r) {
      const Part part = part_of(p.vector.elements, p.first, p.count, r, ranks);
      if (r != rounds_.rank() && mine.count != 0) {
        out_.push_back(
            {r, p.vector.data + mine.begin * size, static_cast<std::size_t>(mine.count * size)});
      }
      if (r != rounds_.rank() && part.count != 0) {
        in_.push_back(
            {r, p.vector.data + part.begin * size, static_cast<std::size_t>(part.count * size)});
      }
    }
  }
  rounds_.start(static_cast<unsigned>(2 + piece % 2), out_, in_);
}

/// Slots 0 and 1 have the parts of pieces in turn, slots 2 and 3 their sums.
void Sums::run(const std::vector<double>& factors) {
  const std::size_t n = pieces_.size();
  const auto gather_slot = [](std::size_t piece) { return static_cast<unsigned>(2 + piece % 2); };
  if (n != 0) {
    scatter(0);
  }
  for (std::size_t piece = 0; piece < n; ++piece) {
    if (piece + 1 < n) {
      scatter(piece + 1);
    }
    rounds_.wait(static_cast<unsigned>(piece % 2));
    add_up(piece, factors);
    if (piece >= 2) {
      rounds_.wait(gather_slot(piece));
    }
    gather(piece);
  }
  for (std::size_t piece = n - std::min<std::size_t>(n, 2); piece < n; ++piece) {
    rounds_.wait(gather_slot(piece));
  }
}

}  // namespace dynet::distributed
