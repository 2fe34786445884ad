#include "distributed/rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <string>

#include "dynet/ext/memory.h"

#include "distributed/sums.h"
#include "params/gradient.h"
#include "params/state.h"

namespace dynet::distributed {

using detail::StorageState;

Rows::Rows(LookupParameterStorage& table, unsigned rank, unsigned ranks)
    : table_(table),
      rank_(rank),
      row_bytes_(static_cast<std::size_t>(table.state().row_bytes)),
      rows_(ranks),
      bits_((table.rows() + 63U) / 64U) {}

std::uint32_t Rows::touched() const {
  StorageState& s = table_.state();
  const std::lock_guard lock(s.mutex);
  s.absorb_exposed_rows();
  return !table_.updated || table_.all_updated ? 0 : static_cast<std::uint32_t>(s.touched.size());
}

bool Rows::is_list(std::uint32_t count) const {
  return count * sizeof(unsigned) <= bits_.size() * sizeof(std::uint64_t);
}
std::size_t Rows::number_bytes(std::uint32_t count) const {
  if (count == 0) {
    return 0;
  }
  return is_list(count) ? count * sizeof(unsigned) : bits_.size() * sizeof(std::uint64_t);
}

void Rows::begin() {
  const StorageState& s = table_.state();
  rows_[rank_].assign(s.touched.begin(), table_.updated ? s.touched.end() : s.touched.begin());
  std::sort(rows_[rank_].begin(), rows_[rank_].end());
}

void Rows::write_numbers(std::byte* to) const {
  const std::vector<unsigned>& mine = rows_[rank_];
  const std::size_t bytes = number_bytes(static_cast<std::uint32_t>(mine.size()));
  if (bytes == 0) {
    return;
  }
  if (is_list(static_cast<std::uint32_t>(mine.size()))) {
    std::memcpy(to, mine.data(), bytes);
    return;
  }
  std::memset(to, 0, bytes);
  for (const unsigned row : mine) {
    to[row / 8] |= std::byte{1} << (row % 8);
  }
}

void Rows::read_numbers(unsigned rank, std::uint32_t count, const std::byte* from) {
  std::vector<unsigned>& rows = rows_[rank];
  rows.clear();
  if (is_list(count)) {
    rows.resize(count);
    std::memcpy(rows.data(), from, count * sizeof(unsigned));
  } else {
    for (unsigned row = 0; row < table_.rows(); ++row) {
      if ((from[row / 8] & std::byte{1} << (row % 8)) != std::byte{0}) {
        rows.push_back(row);
      }
    }
  }
  const bool is_right = rows.size() == count && std::is_sorted(rows.begin(), rows.end()) &&
                        (rows.empty() || rows.back() < table_.rows());
  if (!is_right) {
    throw errors::RankError("distributed: rank " + std::to_string(rank) + " announced " +
                                std::to_string(count) + " rows of '" + table_.name +
                                "' and sent other row numbers; the table has " +
                                std::to_string(table_.rows()) + " rows",
                            rank);
  }
}

void Rows::unite() {
  std::fill(bits_.begin(), bits_.end(), 0U);
  for (const std::vector<unsigned>& rows : rows_) {
    for (const unsigned row : rows) {
      bits_[row / 64] |= std::uint64_t{1} << (row % 64);
    }
  }
  union_.clear();
  for (std::size_t word = 0; word < bits_.size(); ++word) {
    for (std::uint64_t left = bits_[word]; left != 0; left &= left - 1) {
      union_.push_back(static_cast<unsigned>(word * 64) +
                       static_cast<unsigned>(std::countr_zero(left)));
    }
  }
  const std::vector<unsigned>& mine = rows_[rank_];
  mine_.resize(mine.size() * row_bytes_);
  sums_.resize(union_.size() * row_bytes_);
  StorageState& s = table_.state();
  for (std::size_t i = 0; i < mine.size(); ++i) {
    std::byte* const to = mine_.data() + i * row_bytes_;
    if (table_.device->is_host_visible()) {
      std::memcpy(to, s.gradient_row(mine[i]), row_bytes_);
    } else {
      s.device.memory->copy_out(s.gradient_row(mine[i]), to, row_bytes_);
    }
  }
}

/// Where the part of an owner begins in the union.
std::size_t Rows::begin_of(unsigned owner) const {
  const std::size_t ranks = rows_.size();
  return union_.size() / ranks * owner + union_.size() % ranks * owner / ranks;
}

Rows::Span Rows::owned(unsigned r, unsigned owner) const {
  const std::vector<unsigned>& rows = rows_[r];
  const auto place = [&](std::size_t at) {
    return at == union_.size()
               ? rows.size()
               : static_cast<std::size_t>(std::lower_bound(rows.begin(), rows.end(), union_[at]) -
                                          rows.begin());
  };
  return {place(begin_of(owner)), place(begin_of(owner + 1))};
}

void Rows::scatter(std::vector<Message>& out, std::vector<Message>& in,
                   std::vector<std::byte>& room) {
  const auto ranks = static_cast<unsigned>(rows_.size());
  std::size_t bytes = 0;
  for (unsigned r = 0; r < ranks; ++r) {
    const Span theirs = owned(r, rank_);
    bytes += r == rank_ ? 0 : (theirs.end - theirs.begin) * row_bytes_;
  }
  room.resize(std::max(room.size(), bytes));
  std::size_t at = 0;
  for (unsigned r = 0; r < ranks; ++r) {
    if (r == rank_) {
      continue;
    }
    const Span sent = owned(rank_, r);
    const Span got = owned(r, rank_);
    if (sent.begin != sent.end) {
      out.push_back(
          {r, mine_.data() + sent.begin * row_bytes_, (sent.end - sent.begin) * row_bytes_});
    }
    if (got.begin != got.end) {
      const std::size_t here = (got.end - got.begin) * row_bytes_;
      in.push_back({r, room.data() + at, here});
      at += here;
    }
  }
}

std::uint64_t Rows::add_up(const std::vector<std::byte>& room, const std::vector<double>& factors,
                           unsigned& bad) {
  const auto ranks = static_cast<unsigned>(rows_.size());
  const StorageState& s = table_.state();
  std::vector<std::size_t> next(ranks);       // row of each rank
  std::vector<const std::byte*> data(ranks);  // of this row
  std::vector<const std::byte*> parts(ranks);
  const std::byte* at = room.data();
  for (unsigned r = 0; r < ranks; ++r) {
    const Span span = owned(r, rank_);
    next[r] = span.begin;
    data[r] = r == rank_ ? mine_.data() + span.begin * row_bytes_ : at;
    at += r == rank_ ? 0 : (span.end - span.begin) * row_bytes_;
  }
  std::uint64_t found = 0;
  for (std::size_t u = begin_of(rank_); u < begin_of(rank_ + 1); ++u) {
    for (unsigned r = 0; r < ranks; ++r) {
      const bool is_there = next[r] < rows_[r].size() && rows_[r][next[r]] == union_[u];
      parts[r] = is_there ? data[r] : nullptr;
      next[r] += is_there ? 1 : 0;
      data[r] += is_there ? row_bytes_ : 0;
    }
    unsigned rank = bad;
    const std::uint64_t here = add_parts(s.kernels.number(), sums_.data() + u * row_bytes_, parts,
                                         factors, s.row_elements(), rank);
    bad = found == 0 && here != 0 ? rank : bad;
    found += here;
  }
  return found;
}

void Rows::gather(std::vector<Message>& out, std::vector<Message>& in) {
  const std::size_t mine = (begin_of(rank_ + 1) - begin_of(rank_)) * row_bytes_;
  for (unsigned r = 0; r < rows_.size(); ++r) {
    const std::size_t theirs = (begin_of(r + 1) - begin_of(r)) * row_bytes_;
    if (r != rank_ && mine != 0) {
      out.push_back({r, sums_.data() + begin_of(rank_) * row_bytes_, mine});
    }
    if (r != rank_ && theirs != 0) {
      in.push_back({r, sums_.data() + begin_of(r) * row_bytes_, theirs});
    }
  }
}

void Rows::store() {
  StorageState& s = table_.state();
  const std::byte* from = sums_.data();
  if (!table_.device->is_host_visible() && !union_.empty()) {
    if (staged_rows_ < union_.size()) {
      staged_rows_ = table_.rows();
      staged_ = params::Buffer(s.device, s.elements, "gradients of " + table_.name);
    }
    s.device.memory->copy_in(sums_.data(), staged_.data(), sums_.size());
    from = staged_.data();
  }
  {
    const std::lock_guard lock(s.mutex);
    s.forget_gradient();
  }
  is_first_.resize(std::max(is_first_.size(), union_.size()));
  params::LookupGradientLock(table_).add_rows(union_, from, 1.0, is_first_.data());
}

}  // namespace dynet::distributed
