// The host's side of operands of one launch: device_operands.h.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "../operands.h"
#include "kernels/device_operands.h"

namespace dynet::kernels {
namespace {

std::uint64_t address_of(const void* data) { return reinterpret_cast<std::uint64_t>(data); }

bool adds_to(const Block& b, Write write) {
  return write == Write::kAdd || write == Write::kMax || (write == Write::kAsBlocks && !b.fresh);
}

}  // namespace

std::size_t OperandTable::add(const Operand& o, bool writes, Write write) {
  Entry e{};
  e.operand = &o;
  e.bytes = elements_of(o.dim) * std::int64_t{sizeof(float)};
  e.writes = writes;
  e.steps = o.examples != 1 || examples_ == 1;
  e.write = write;
  all_.push_back(e);
  return all_.size() - 1;
}

/// Finds the operands that lie evenly, and cuts the examples for all others.
void OperandTable::cut() {
  bool is_all_even = true;
  for (Entry& e : all_) {
    const Operand& o = *e.operand;
    const Block* const end = o.blocks + o.block_count;
    const Block* first =
        std::find_if(o.blocks, end, [](const Block& b) { return b.examples != 0; });
    first = first == end ? o.blocks : first;
    e.where = {address_of(first->data), e.steps ? e.bytes : 0, -1,
               adds_to(*first, e.write) ? 1U : 0U};
    e.is_even = true;
    std::int64_t done = 0;
    for (const Block* b = first; b != end && e.steps && e.is_even; ++b) {
      if (b->examples == 0) {
        continue;
      }
      const std::uint64_t here = address_of(b->data);
      if (done == 1 && first->examples == 1) {  // the distance may be any
        e.where.step = static_cast<std::int64_t>(here - e.where.base);
      }
      e.is_even = here == e.where.base + static_cast<std::uint64_t>(done * e.where.step) &&
                  (b->examples == 1 || e.where.step == e.bytes) &&
                  (!e.writes || adds_to(*b, e.write) == (e.where.adds != 0));
      done += b->examples;
    }
    is_all_even = is_all_even && e.is_even;
  }
  if (is_all_even) {
    segments_ = {1, std::max<std::int64_t>(examples_, 1)};
    return;
  }
  cut_at_blocks();
  std::int32_t columns = 0;
  for (Entry& e : all_) {
    if (!e.is_even) {
      e.where.step = e.bytes;
      e.where.column = columns++;
      fill_column(e);
    }
  }
}

void OperandTable::cut_at_blocks() {
  for (const Entry& e : all_) {
    std::int64_t at = 0;
    for (std::int64_t b = 0; b < e.operand->block_count && !e.is_even; ++b) {
      first_.push_back(at);
      at += e.operand->blocks[b].examples;
    }
  }
  std::sort(first_.begin(), first_.end());
  first_.erase(std::unique(first_.begin(), first_.end()), first_.end());
  while (first_.back() >= examples_) {  // blocks without examples at the end
    first_.pop_back();
  }
  segments_.count = static_cast<std::int64_t>(first_.size());
  segments_.even = first_.size() == 1 ? examples_ : first_[1];
  for (std::size_t k = 0; k < first_.size(); ++k) {
    const std::int64_t end = k + 1 < first_.size() ? first_[k + 1] : examples_;
    if (end - first_[k] != segments_.even) {
      segments_.even = 0;
      words_.assign(first_.begin(), first_.end());
      return;
    }
  }
}

void OperandTable::fill_column(Entry& entry) {
  const Block* b = entry.operand->blocks;
  std::int64_t before = 0;
  for (const std::int64_t first : first_) {
    while (first >= before + b->examples) {
      before += (b++)->examples;
    }
    const std::uint64_t address =
        address_of(b->data) + static_cast<std::uint64_t>((first - before) * entry.bytes);
    words_.push_back(address | (entry.writes && adds_to(*b, entry.write) ? 1U : 0U));
  }
}

std::vector<OperandTable::Piece> OperandTable::pieces(bool written) const {
  std::vector<Piece> all;
  for (std::size_t k = 0; k < all_.size(); ++k) {
    const Entry& e = all_[k];
    std::int64_t first = 0;
    for (std::int64_t b = 0; b < e.operand->block_count && e.writes == written; ++b) {
      const Block& block = e.operand->blocks[b];
      const std::uint64_t begin = address_of(block.data);
      if (block.examples != 0 && e.bytes != 0) {
        all.push_back({begin, begin + static_cast<std::uint64_t>(block.examples * e.bytes), first,
                       e.bytes, k});
      }
      first += block.examples;
    }
  }
  return all;
}

Meeting OperandTable::meeting(bool element_wise) {
  std::vector<Piece> results = pieces(true);
  std::sort(results.begin(), results.end(),
            [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  Meeting found = Meeting::kNowhere;
  const auto note = [&](const Piece& a, const Piece& b) {
    const auto start = [](const Piece& p) {
      return p.begin - static_cast<std::uint64_t>(p.first * p.bytes);
    };
    const bool are_results = all_[a.entry].writes && all_[b.entry].writes;
    // Examples lie in the memory of the same examples, which one thread has if the call is
    // element-wise.
    if (a.bytes == b.bytes && start(a) == start(b) && all_[a.entry].steps == all_[b.entry].steps &&
        (element_wise || !are_results || a.entry == b.entry)) {
      return;
    }
    all_[a.entry].meets = all_[b.entry].meets = true;
    const auto distance = static_cast<std::int64_t>(a.begin - b.begin);
    const bool in_order =
        a.bytes == b.bytes && distance % a.bytes == 0 && (element_wise || are_results);
    found = in_order ? std::max(found, Meeting::kInOrder) : Meeting::kAnywhere;
  };
  std::uint64_t longest = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    longest = std::max(longest, results[i].end - results[i].begin);
    for (std::size_t j = i + 1; j < results.size() && results[j].begin < results[i].end; ++j) {
      note(results[i], results[j]);
    }
  }
  for (const Piece& read : pieces(false)) {
    const std::uint64_t from = read.begin > longest ? read.begin - longest : 0;
    auto w = std::lower_bound(results.begin(), results.end(), from,
                              [](const Piece& p, std::uint64_t at) { return p.begin < at; });
    for (; w != results.end() && w->begin < read.end; ++w) {
      if (w->end > read.begin) {
        note(*w, read);
      }
    }
  }
  return found;
}

}  // namespace dynet::kernels
