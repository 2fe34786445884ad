#include "params/state.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "kernels/float_mode.h"
#include "kernels/team.h"
#include "params/gradient.h"
#include "util/fork.h"
#include "util/prefetch.h"

namespace dynet::detail {

StorageState::StorageState(const Device& own_device, std::int64_t all_elements, unsigned rows,
                           const std::string& what)
    : device(own_device),
      kernels(*own_device.kernels),
      elements(all_elements),
      number_bytes(own_device.number_bytes()),
      row_bytes(rows == 0 ? 0 : all_elements / rows * number_bytes),
      values(own_device, all_elements, what, params::Reach::kWorkers),
      gradient(own_device, all_elements, what),
      stamps(rows, 0) {
  touched.reserve(rows);  // so that listing a row cannot fail in the middle of a gradient
}

bool StorageState::touch(unsigned row) {
  if (stamps[row] == stamp) {
    return false;
  }
  touched.push_back(row);
  stamps[row] = stamp;
  is_pristine = false;
  return true;
}

void StorageState::move_gradient(std::byte* place) {
  gradient.move_to(place);
  is_pristine = false;
  auto* const numbers = reinterpret_cast<float*>(place);
  if (is_table()) {
    table->all_grads.v = numbers;
    auto* row = place;
    for (Tensor& view : table->grads) {
      view.v = reinterpret_cast<float*>(row);
      row += row_bytes;
    }
  } else {
    static_cast<ParameterStorage*>(storage)->g.v = numbers;
  }
  if (exposed) {
    zero_gradient();
  }
  forget_gradient();
}

void StorageState::fill_gradient() {
  if (fill == GradientFill::kAll) {
    return;
  }
  if (fill == GradientFill::kRows) {
    for (unsigned r = 0; r < stamps.size(); ++r) {
      if (!is_touched(r)) {
        zero_gradient_row(r);
      }
    }
  } else if (!is_pristine) {
    zero_gradient();
  }
  fill = GradientFill::kAll;
}

void StorageState::absorb_exposed_rows() {
  if (!is_table() || !exposed) {
    return;
  }
  for (const unsigned r : table->non_zero_grads) {
    if (r < stamps.size()) {
      touch(r);
    }
  }
}

void StorageState::forget_gradient() {
  gradient.keep_squared_norm(std::nullopt);
  const bool whole = !is_table() || table->all_updated;
  if (!exposed) {
    fill = GradientFill::kEmpty;
  } else if (whole) {
    zero_gradient();
  } else {
    absorb_exposed_rows();
    for (const unsigned r : touched) {
      zero_gradient_row(r);
    }
  }
  touched.clear();
  if (++stamp == 0) {
    std::fill(stamps.begin(), stamps.end(), 0U);
    stamp = 1;
  }
  storage->nonzero_grad = false;
  if (is_table()) {
    table->all_updated = false;
    table->non_zero_grads.clear();
  }
}

void StorageState::catch_up() {
  if (!lags()) {
    return;
  }
  if (usage->users() > 0) {  // an update itself may do it
    throw errors::GraphError(
        "values of " + storage->name +
        ": rows have to catch up on exact updates first, and a graph of the model is "
        "running");
  }
  missed->catch_up();
}

void StorageState::catch_up_averages() const {
  if (const auto lagging = averages.lock()) {
    lagging->catch_up();
  }
}

void StorageState::before_change(const char* by) {
  catch_up_averages();
  before_change_of_rows(by);
}

/// Without memory for a copy the change goes on: a graph that wants the old values says so then.
void StorageState::before_change_of_rows(const char* by) {
  ++version;
  changed_by = by;
  if (usage != nullptr) {
    usage->note_change();
  }
  if (held.use_count() == 1) {
    return;  // no graph has them
  }
  try {
    auto next = std::make_shared<HeldValues>();
    if (held != nullptr) {
      held->copy = params::Buffer(device, elements, storage->name);
      kernels.add_scaled(1.0, values.data(), held->copy.data(), elements, true);
    }
    held = std::move(next);
  } catch (const out_of_memory&) {  // of the device
    held = nullptr;
  } catch (const std::bad_alloc&) {
    held = nullptr;
  }
}

void StorageState::changed_elsewhere(std::uint64_t its_version) {
  version = its_version;
  changed_by = "another process";
  if (usage != nullptr) {
    usage->note_change();
  }
  if (held.use_count() > 1) {
    try {
      held = std::make_shared<HeldValues>();
    } catch (const std::bad_alloc&) {  // as in before_change_of_rows
      held = nullptr;
    }
  }
}

void StorageState::apply_factor() {
  catch_up();
  const double pending = decay_factor();
  factor = 1.0;
  if (pending != 1.0) {
    before_change("weight decay");
    kernels.add_scaled(pending, values.data(), values.data(), elements, true);
  }
}

void StorageState::add_gradient_to(params::SquaredNorm& norm) {
  if (const std::optional<double> known = gradient.squared_norm()) {
    norm.add(*known);
    return;
  }
  absorb_exposed_rows();
  for_gradient([&](const std::byte* g, std::int64_t n) { norm.add(device, g, n); });
}

}  // namespace dynet::detail

namespace dynet::params {

using detail::GradientFill;

void read(const ParameterStorageBase& storage, void* to) {
  const detail::StorageState& s = storage.state();
  if (!s.lags()) {
    s.kernels.add_scaled(s.decay_factor(), s.values.data(), to, s.elements, true);
    return;
  }
  auto* row = static_cast<std::byte*>(to);
  for (unsigned r = 0; r < s.table->rows(); ++r, row += s.row_bytes) {
    read_row(*s.table, r, row);
  }
}

void read_row(const LookupParameterStorage& table, unsigned index, void* to) {
  const detail::StorageState& s = table.state();
  const double decay = s.decay_factor();
  s.kernels.add_scaled(decay, s.value_row(index), to, s.row_elements(), true);
  if (s.missed != nullptr) {
    s.missed->add_to(index, decay, to);
  }
}

void read_rows(const LookupParameterStorage& table, std::span<const RowRead> all,
               std::vector<ext::Addition>& room) {
  const detail::StorageState& s = table.state();
  if (s.missed != nullptr) {
    for (const RowRead& r : all) {
      read_row(table, r.row, r.to);
    }
    return;
  }
  room.clear();
  for (const RowRead& r : all) {
    room.push_back({s.value_row(r.row), r.to, true});
  }
  s.kernels.add_all(s.decay_factor(), room, s.row_elements());
}

GradientLock::GradientLock(ParameterStorageBase& storage)
    : state_(storage.state()), lock_(state_.mutex) {
  if (state_.fill == GradientFill::kRows) {
    state_.fill_gradient();
  }
  state_.is_pristine = false;  // even if the holder fails half-way
}

void GradientLock::written(std::optional<double> squared_norm) {
  state_.gradient.keep_squared_norm(squared_norm);
  state_.fill = GradientFill::kAll;
  state_.storage->nonzero_grad = true;
  if (state_.is_table()) {
    state_.table->all_updated = true;
  }
}

LookupGradientLock::LookupGradientLock(LookupParameterStorage& storage)
    : state_(storage.state()), lock_(state_.mutex) {}

/// Lists the row. Returns whether its gradient is stored, for lack of an old gradient.
bool LookupGradientLock::begin_row(unsigned index) {
  const bool is_stored = state_.touch(index) && state_.fill != GradientFill::kAll;
  if (state_.fill == GradientFill::kEmpty) {
    state_.fill = GradientFill::kRows;
  }
  state_.storage->nonzero_grad = true;
  return is_stored;
}

void LookupGradientLock::check_row(unsigned index) const {
  if (index >= state_.stamps.size()) {
    throw errors::IndexError("lookup " + state_.storage->name + ": gradient of row " +
                             std::to_string(index) + "; there are " +
                             std::to_string(state_.stamps.size()));
  }
}

void LookupGradientLock::add_row(unsigned index, const void* gradient) {
  check_row(index);
  const bool is_stored = begin_row(index);
  state_.kernels.add_scaled(1.0, gradient, state_.gradient_row(index), state_.row_elements(),
                            is_stored);
}

void LookupGradientLock::add_list(std::span<const RowGradient> all,
                                  std::vector<ext::Addition>& room) {
  for (const RowGradient& r : all) {
    check_row(r.row);
  }
  room.clear();
  for (const RowGradient& r : all) {
    room.push_back({r.gradient, state_.gradient_row(r.row), begin_row(r.row)});
  }
  state_.kernels.add_all(1.0, room, state_.row_elements());
}

void LookupGradientLock::add_rows(std::span<const unsigned> rows, const std::byte* gradients,
                                  double scale, unsigned char* room) {
  constexpr std::size_t kAhead = 6;
  constexpr double kRow = 40.0;     // nanoseconds to begin a row, which mostly is in no cache
  constexpr double kNumber = 0.25;  // and for each number
  for (std::size_t i = 0; i < rows.size(); ++i) {
    room[i] = begin_row(rows[i]) ? 1 : 0;
  }
  std::byte* const to = state_.gradient.change();
  const std::int64_t bytes = state_.row_bytes;
  const kernels::FlushDenormals float_mode;
  const double row = kRow + kNumber * static_cast<double>(state_.row_elements());
  kernels::cut(rows.size(), 1, row * static_cast<double>(rows.size()),
               [&](std::size_t first, std::size_t last) {
                 for (std::size_t i = first; i < last; ++i) {
                   util::fetch_row(to + rows[std::min(i + kAhead, last - 1)] * bytes, bytes);
                   state_.kernels.add_scaled(
                       scale, gradients + static_cast<std::int64_t>(i) * bytes,
                       to + rows[i] * bytes, state_.row_elements(), room[i] != 0);
                 }
               });
}

namespace {
std::uint64_t pack(std::uint32_t process, int users) {
  return std::uint64_t{process} << 32 | static_cast<std::uint32_t>(users);
}
/// Counts of another process do not count here.
int users_of(std::uint64_t word, std::uint32_t process) {
  return word >> 32 == process ? static_cast<int>(static_cast<std::uint32_t>(word)) : 0;
}
}  // namespace

int Usage::users() const {
  return users_of(word_.load(std::memory_order_acquire), util::fork_count());
}

bool Usage::begin_run(std::uint32_t& process) {
  process = util::fork_count();
  std::uint64_t word = word_.load(std::memory_order_relaxed);
  int users = 0;
  do {
    users = users_of(word, process);
    if (users < 0) {
      return false;
    }
  } while (!word_.compare_exchange_weak(word, pack(process, users + 1), std::memory_order_acquire));
  return true;
}

void Usage::end_run(std::uint32_t process) {
  if (process == util::fork_count()) {  // else it began in the parent, where it is counted
    word_.fetch_sub(1, std::memory_order_release);
  }
}

int Usage::begin_update() {
  const std::uint32_t process = util::fork_count();
  std::uint64_t word = word_.load(std::memory_order_relaxed);
  int users = 0;
  do {
    users = users_of(word, process);
  } while (users == 0 &&
           !word_.compare_exchange_weak(word, pack(process, -1), std::memory_order_acquire));
  return users;
}

void Usage::end_update() { word_.store(pack(util::fork_count(), 0), std::memory_order_release); }

RunScope::RunScope(Usage& usage) : usage_(usage) {
  if (!usage_.begin_run(process_)) {
    throw errors::GraphError(
        "a graph was run while its model is being updated; update() needs the model for itself");
  }
}

UpdateScope::UpdateScope(Usage& usage, const char* action) : usage_(usage) {
  const int users = usage_.begin_update();
  if (users != 0) {
    throw errors::GraphError(std::string(action) +
                             (users > 0 ? ": a graph of this model is running in another thread"
                                        : ": the model is being updated in another thread") +
                             "; nothing was changed");
  }
}

Usage& usage_of(const ParameterStorageBase& storage) { return *storage.state().usage; }

}  // namespace dynet::params
