#include "distributed/dense.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>

#include "dynet/except.h"
#include "dynet/ext/memory.h"

#include "params/access.h"
#include "params/gradient.h"
#include "params/state.h"

namespace dynet::distributed {
namespace {

using detail::GradientFill;
using detail::StorageState;

constexpr std::size_t kAlignment = 64;

/// Parameters whose gradients lie in a buffer: a second buffer would take them from the first.
struct Held {
  std::mutex mutex;
  std::set<const ParameterStorage*> parameters;
};
Held& held() {
  static Held& it = *new Held;  // trainers may outlive main()
  return it;
}

std::size_t round_up(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

/// Moves a gradient, and its numbers if there are any.
void DenseGradients::move(ParameterStorage& storage, std::byte* place) {
  StorageState& s = storage.state();
  const std::byte* const old = s.gradient.data();
  const bool has_numbers = s.fill == GradientFill::kAll;
  {
    const std::lock_guard lock(s.mutex);
    s.move_gradient(place);
  }
  if (has_numbers) {
    params::GradientLock lock(storage);
    std::memcpy(lock.data(), old, static_cast<std::size_t>(s.elements * s.number_bytes));
    lock.written();
  }
}

DenseGradients::DenseGradients(const ParameterCollection& model) : model_(model) {
  std::size_t bytes = 0;
  for (const auto& p : detail::ModelAccess::parameters(model)) {
    const StorageState& s = p->state();
    members_.push_back({p.get(), nullptr, 0, static_cast<std::size_t>(s.elements * s.number_bytes),
                        !p->device->is_host_visible()});
  }
  for (const ext::Number number : {ext::Number::kFloat, ext::Number::kDouble}) {
    for (Member& m : members_) {
      if (m.storage->state().kernels.number() == number) {
        m.offset = bytes;
        bytes += round_up(m.bytes);
      }
    }
  }
  memory_.resize((bytes + 2 * kAlignment) / sizeof(std::uint64_t));
  {
    std::set<const ParameterStorage*> mine;
    Held& all = held();
    const std::lock_guard lock(all.mutex);
    for (const Member& m : members_) {
      if (all.parameters.count(m.storage) != 0) {
        throw errors::UsageError("DistributedTrainer: '" + m.storage->name +
                                 "' has another DistributedTrainer; want its close() first");
      }
      mine.insert(m.storage);
    }
    all.parameters.merge(mine);
  }
  data_ = reinterpret_cast<std::byte*>(memory_.data());
  data_ += (kAlignment - reinterpret_cast<std::uintptr_t>(data_) % kAlignment) % kAlignment;
  for (Member& m : members_) {
    if (!m.is_staged) {
      m.home = m.storage->state().gradient.change();
      move(*m.storage, data_ + m.offset);
    }
  }
  std::sort(members_.begin(), members_.end(), [](const Member& a, const Member& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.bytes < b.bytes;
  });
}

DenseGradients::~DenseGradients() {
  for (const Member& m : members_) {
    const bool is_here = m.storage->state().gradient.data() == data_ + m.offset;
    if (!m.is_staged && is_here) {
      move(*m.storage, m.home);
    }
  }
  Held& all = held();
  const std::lock_guard lock(all.mutex);
  for (const Member& m : members_) {
    all.parameters.erase(m.storage);
  }
}

bool DenseGradients::has_gradient(std::size_t i) const {
  const ParameterStorage& p = *members_[i].storage;
  return p.updated && p.state().fill != GradientFill::kEmpty;
}

void DenseGradients::begin(const std::vector<bool>& is_present, Sums& sums) {
  Vector run{};
  std::size_t end = 0;  // of the run, in the buffer
  const auto finish = [&] {
    if (run.elements != 0) {
      sums.add(run);
    }
    run.elements = 0;
  };
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!is_present[i]) {
      continue;
    }
    const Member& m = members_[i];
    StorageState& s = m.storage->state();
    std::byte* const to = data_ + m.offset;
    {
      const std::lock_guard lock(s.mutex);
      if (m.is_staged && s.fill != GradientFill::kEmpty) {
        s.device.memory->copy_out(s.gradient.data(), to, m.bytes);
      } else if (s.fill == GradientFill::kEmpty) {
        std::memset(to, 0, m.bytes);
      }
    }
    if (run.elements == 0 || end != m.offset || run.number != s.kernels.number()) {
      finish();
      run = {to, 0, s.kernels.number()};
    }
    end = m.offset + round_up(m.bytes);
    run.elements = (data_ + end - run.data) / s.number_bytes;
  }
  finish();
}

void DenseGradients::end(const std::vector<bool>& is_present) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (is_present[i]) {
      const Member& m = members_[i];
      params::GradientLock lock(*m.storage);
      void* const gradient = lock.data();
      if (m.is_staged) {
        m.storage->state().device.memory->copy_in(data_ + m.offset, gradient, m.bytes);
      }
      lock.written();
    }
  }
}

const ParameterStorage* DenseGradients::owner_of(const void* place) const {
  const auto* const at = static_cast<const std::byte*>(place);
  for (const Member& m : members_) {
    if (at >= data_ + m.offset && at < data_ + m.offset + m.bytes) {
      return m.storage;
    }
  }
  return nullptr;
}

}  // namespace dynet::distributed
