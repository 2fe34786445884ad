#include "workers/slots.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <string>

#include "dynet/except.h"

#include "kernels/float_mode.h"
#include "kernels/team.h"
#include "params/access.h"
#include "params/gradient.h"
#include "params/stored.h"

namespace dynet::workers {

using detail::ModelAccess;
using detail::StorageState;

/// The parent's knowledge of a storage.
struct Slots::Published {
  double decay_factor;  ///< effective value / stored value
  std::uint64_t version;
  bool is_updated;
};
/// A piece's gradient of a table: `count` rows, or all.
struct Slots::Rows {
  std::uint64_t count;
  bool is_whole;
};

namespace {

using Counter = std::atomic<std::uint32_t>;

constexpr std::size_t kPart = 4096;  // numbers that two threads share out; trainers have the same

std::size_t gradient_bytes(const StorageState& s) {
  return static_cast<std::size_t>(s.elements * s.number_bytes);
}

void check_shared(const ParameterStorageBase& storage) {
  if (!storage.state().values.is_shared()) {
    throw errors::UsageError(
        "workers: the parameter " + storage.name +
        " is not in memory that processes share; want initialize(argc, argv, true) "
        "before it is made, in Python dynet_config.set(shared_parameters=1), on the command line "
        "--dynet-shared-parameters 1" +
        (storage.device->is_host_visible()
             ? std::string()
             : ", and a device of the host, not " + storage.device->name));
  }
}

}  // namespace

Slots::Slots(const ParameterCollection& model, std::size_t slots)
    : model_(model), area_([&] {
        Layout slot;
        for (const auto& p : ModelAccess::parameters(model)) {
          check_shared(*p);
          dense_.push_back({p.get(), slot.take(gradient_bytes(p->state()))});
          const auto elements = static_cast<std::size_t>(p->state().elements);
          norms_.resize(std::max(norms_.size(), (elements + kPart - 1) / kPart));
        }
        flags_ = slot.take(dense_.size());
        for (const auto& p : ModelAccess::lookups(model)) {
          check_shared(*p);
          const std::size_t header = slot.take(sizeof(Rows));
          const std::size_t ids = slot.take(p->rows() * sizeof(unsigned));
          tables_.push_back({p.get(), header, ids, slot.take(gradient_bytes(p->state()))});
          room_.resize(std::max<std::size_t>(room_.size(), p->rows()));
        }
        slot_bytes_ = slot.bytes();
        Layout all;
        published_ = all.take((dense_.size() + tables_.size()) * sizeof(Published));
        counters_ = 2 * slots + 64;  // fewer nodes than this has a tree
        arrived_ = all.take(counters_ * sizeof(Counter));
        slots_at_ = all.bytes();
        if (slot_bytes_ != 0 && slots > (SIZE_MAX / 4 - slots_at_) / slot_bytes_) {
          throw out_of_memory("workers: gradients of " + std::to_string(slots) +
                              " pieces are more than can be addressed");
        }
        return Area(slots_at_ + slots * slot_bytes_, Area::Kind::kShared);
      }()) {}

bool& Slots::is_present(std::size_t piece, std::size_t dense) const {
  return *reinterpret_cast<bool*>(slot(piece) + flags_ + dense);
}
Slots::Published& Slots::published(std::size_t index) const {
  return reinterpret_cast<Published*>(area_.data() + published_)[index];
}
Slots::Rows& Slots::rows(std::size_t piece, const Table& table) const {
  return *reinterpret_cast<Rows*>(slot(piece) + table.header);
}

void Slots::publish(std::size_t index, const ParameterStorageBase& storage) {
  published(index) = {storage.state().decay_factor(), storage.state().version, storage.updated};
}

void Slots::begin(std::size_t pieces) {
  if (ModelAccess::parameters(model_).size() != dense_.size() ||
      ModelAccess::lookups(model_).size() != tables_.size()) {
    throw errors::UsageError(
        "workers: parameters were added to the model since the workers were made; want them before "
        "it");
  }
  params::catch_up(model_);  // rows that exact updates have yet to move: only the parent knows how
  for (std::size_t i = 0; i < dense_.size(); ++i) {
    publish(i, *dense_[i].storage);
  }
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    publish(dense_.size() + i, *tables_[i].storage);
  }
  if (pieces > 2) {
    std::memset(area_.data() + arrived_, 0, counters_ * sizeof(Counter));
  }
}

void Slots::collect(std::size_t pieces, double scale) {
  const kernels::FlushDenormals float_mode;
  for (std::size_t i = 0; i < dense_.size(); ++i) {
    collect_dense(i, pieces, scale);
  }
  for (const Table& table : tables_) {
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      collect_rows(piece, table, scale);
    }
  }
}

/// The root of the tree: gradient += scale * left, gradient += scale * right. The trainer wants the
/// squared norm, and here the numbers are in the cache.
void Slots::collect_dense(std::size_t index, std::size_t pieces, double scale) {
  const Dense& d = dense_[index];
  const std::size_t right = std::bit_ceil(pieces) / 2;  // 0: there is none
  const bool has_left = is_present(0, index);
  const bool has_right = right != 0 && is_present(right, index);
  if (!has_left && !has_right) {
    return;
  }
  params::GradientLock lock(*d.storage);
  const StorageState& s = d.storage->state();
  auto* const to = static_cast<std::byte*>(lock.data());
  const bool is_fresh = lock.fresh();
  const auto run_part = [&](std::size_t first, std::size_t n) {
    const std::size_t at = first * static_cast<std::size_t>(s.number_bytes);
    const auto add_scaled = [&](std::size_t slot_index, bool is_stored) {
      s.kernels.add_scaled(scale, slot(slot_index) + d.offset + at, to + at,
                           static_cast<std::int64_t>(n), is_stored);
    };
    if (has_left) {
      add_scaled(0, is_fresh);
    }
    if (has_right) {
      add_scaled(right, is_fresh && !has_left);
    }
    double& norm = norms_[first / kPart];
    norm = 0;
    s.kernels.add_squared_norm(to + at, static_cast<std::int64_t>(n), &norm);
  };
  const auto elements = static_cast<std::size_t>(s.elements);
  const kernels::FlushDenormals float_mode;
  constexpr double kNumber = 0.5;  // nanoseconds, for two slots, the gradient and its norm
  kernels::cut(elements, kPart, kNumber * static_cast<double>(elements),
               [&](std::size_t first, std::size_t last) {
                 for (std::size_t at = first; at < last;
                      at += kPart) {  // a norm is the same on one thread
                   run_part(at, std::min(kPart, last - at));
                 }
               });
  double norm = 0;
  for (std::size_t part = 0; part * kPart < elements; ++part) {
    norm += norms_[part];
  }
  lock.written(norm);
}

void Slots::collect_rows(std::size_t piece, const Table& table, double scale) {
  const Rows& got = rows(piece, table);
  const std::byte* data = slot(piece) + table.data;
  if (got.is_whole) {
    params::GradientLock lock(*table.storage);
    const StorageState& s = table.storage->state();
    s.kernels.add_scaled(scale, data, lock.data(), s.elements, lock.fresh());
    lock.written();
    return;
  }
  if (got.count == 0) {
    return;
  }
  const auto* ids = reinterpret_cast<const unsigned*>(slot(piece) + table.ids);
  params::LookupGradientLock(*table.storage)
      .add_rows({ids, static_cast<std::size_t>(got.count)}, data, scale, room_.data());
}

void Slots::forget() {
  for (const auto& storage : ModelAccess::all(model_)) {
    StorageState& s = storage->state();
    const std::lock_guard lock(s.mutex);
    s.is_pristine = false;
    s.forget_gradient();
  }
}

void Slots::enter() {
  for (const Table& table : tables_) {
    StorageState& s = table.storage->state();
    s.missed = nullptr;  // the parent itself makes missed updates
    own_.emplace_back(gradient_bytes(s), Area::Kind::kPrivate);
    s.move_gradient(own_.back().data());
  }
}

void Slots::follow() {
  const auto take = [&](std::size_t index, ParameterStorageBase& storage) {
    StorageState& s = storage.state();
    const Published& now = published(index);
    storage.updated = now.is_updated;
    if (s.version != now.version) {
      s.changed_elsewhere(now.version);
    }
    s.factor = now.decay_factor / static_cast<double>(s.decay->own.current_weight_decay());
  };
  for (std::size_t i = 0; i < dense_.size(); ++i) {
    take(i, *dense_[i].storage);
  }
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    take(dense_.size() + i, *tables_[i].storage);
  }
}

void Slots::start_piece(std::size_t piece) {
  for (const Dense& d : dense_) {
    d.storage->state().move_gradient(slot(piece) + d.offset);
  }
  for (const Table& table : tables_) {
    table.storage->state().forget_gradient();
  }
}

void Slots::finish_piece(std::size_t piece) {
  for (std::size_t i = 0; i < dense_.size(); ++i) {
    const StorageState& s = dense_[i].storage->state();
    is_present(piece, i) = s.fill != detail::GradientFill::kEmpty;
  }
  for (const Table& table : tables_) {
    copy_rows(piece, table);
  }
}

void Slots::copy_rows(std::size_t piece, const Table& table) const {
  StorageState& s = table.storage->state();
  s.absorb_exposed_rows();
  Rows& put = rows(piece, table);
  std::byte* data = slot(piece) + table.data;
  put.is_whole = table.storage->all_updated;
  if (put.is_whole) {
    s.fill_gradient();
    std::memcpy(data, s.gradient.data(), gradient_bytes(s));
    return;
  }
  auto* ids = reinterpret_cast<unsigned*>(slot(piece) + table.ids);
  put.count = s.touched.size();
  for (std::size_t r = 0; r < s.touched.size(); ++r) {
    ids[r] = s.touched[r];
    std::memcpy(data + r * static_cast<std::size_t>(s.row_bytes), s.gradient_row(ids[r]),
                static_cast<std::size_t>(s.row_bytes));
  }
}

/// left += right.
void Slots::add(std::size_t left, std::size_t right) const {
  for (std::size_t i = 0; i < dense_.size(); ++i) {
    if (is_present(right, i)) {
      const Dense& d = dense_[i];
      const StorageState& s = d.storage->state();
      s.kernels.add_scaled(1.0, slot(right) + d.offset, slot(left) + d.offset, s.elements,
                           !is_present(left, i));
      is_present(left, i) = true;
    }
  }
}

void Slots::add_up(std::size_t piece, std::size_t pieces) {
  const kernels::FlushDenormals float_mode;
  auto* arrived = reinterpret_cast<Counter*>(area_.data() + arrived_);
  std::size_t node = piece;
  std::size_t span = 1;  // pieces below a node
  for (std::size_t width = pieces; width > 2; width = (width + 1) / 2, node /= 2, span *= 2) {
    const std::size_t neighbour = node ^ 1U;
    if (neighbour < width) {
      if (arrived[node / 2].fetch_add(1, std::memory_order_acq_rel) == 0) {
        return;  // whoever finishes the neighbour goes on
      }
      const std::size_t left = (node & ~std::size_t{1}) * span;
      add(left, left + span);
    }
    arrived += (width + 1) / 2;
  }
}

}  // namespace dynet::workers
