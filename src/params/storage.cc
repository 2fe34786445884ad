#include <string>

#include "params/access.h"
#include "params/addition_limit.h"
#include "params/gradient.h"
#include "params/host.h"

namespace dynet {
namespace {

using detail::StorageState;

void require_size(const char* what, const std::string& name, std::size_t have, std::int64_t want) {
  if (static_cast<std::int64_t>(have) != want) {
    throw errors::SizeError(std::string(what) + ": " + std::to_string(have) + " values for " +
                            name + "; want " + std::to_string(want));
  }
}
void scale_values(StorageState& s, float a) {
  s.catch_up();
  s.before_change("scale");
  s.kernels.add_scaled(a, s.values.data(), s.values.data(), s.elements, true);
}
void scale_stored_gradient(StorageState& s, float a) {
  const std::lock_guard lock(s.mutex);
  s.absorb_exposed_rows();
  s.for_gradient([&](std::byte* g, std::int64_t n) { s.kernels.add_scaled(a, g, g, n, true); });
}
float norm_of_values(const StorageState& s) {
  params::SquaredNorm norm;
  norm.add(s.device, s.values.data(), s.elements);
  return static_cast<float>(norm.value());
}
void gradient_norm(StorageState& s, float* sqnorm) {
  params::SquaredNorm norm;
  {
    const std::lock_guard lock(s.mutex);
    s.add_gradient_to(norm);
  }
  *sqnorm = static_cast<float>(norm.value());
}
void forget(StorageState& s) {
  const std::lock_guard lock(s.mutex);
  s.forget_gradient();
}
void copy_values(StorageState& to, const Tensor& target, const Tensor& from,
                 const std::string& name) {
  if (target.d != from.d) {
    throw errors::ShapeError("copy to " + name + ": it is " + to_string(target.d) +
                             " and the other is " + to_string(from.d));
  }
  Tensor view = target;
  to.before_change("copy");
  TensorTools::copy_elements(view, from);
  to.factor = 1.0;
}
/// The numbers of `t` on the device of `storage`: in place if they are there, else in `scratch`.
const void* on_device_of(const ParameterStorageBase& storage, const Tensor& t,
                         params::Buffer& scratch) {
  if (t.device == storage.device) {
    return t.v;
  }
  scratch = params::Buffer(*storage.device, t.d.elements(), "accumulate_grad");
  Tensor there(t.d, reinterpret_cast<float*>(scratch.data()), storage.device, DeviceMempool::SCS);
  TensorTools::copy_elements(there, t);
  return there.v;
}
void accumulate_all(ParameterStorageBase& storage, const Tensor& gradient) {
  const StorageState& s = storage.state();
  require_size("accumulate_grad", storage.name, static_cast<std::size_t>(gradient.d.elements()),
               s.elements);
  params::Buffer scratch;
  const void* from = on_device_of(storage, gradient, scratch);
  params::GradientLock lock(storage);
  s.kernels.add_scaled(1.0, from, lock.data(), s.elements, lock.fresh());
  lock.written();
}
float* as_floats(std::byte* p) { return reinterpret_cast<float*>(p); }

}  // namespace

ParameterStorageBase::ParameterStorageBase(std::unique_ptr<detail::StorageState> state)
    : state_(std::move(state)) {
  state_->storage = this;
}
ParameterStorageBase::~ParameterStorageBase() = default;
std::size_t ParameterStorageBase::size() const {
  return static_cast<std::size_t>(state_->elements);
}

ParameterStorage::ParameterStorage(std::unique_ptr<detail::StorageState> state, const Dim& d,
                                   Device* dev)
    : ParameterStorageBase(std::move(state)),
      dim(d),
      values(d, as_floats(state_->values.data()), dev, DeviceMempool::PS),
      g(d, as_floats(state_->gradient.change()), dev, DeviceMempool::PS) {
  device = dev;
}

void ParameterStorage::scale_parameters(float a) { scale_values(*state_, a); }
void ParameterStorage::scale_gradient(float a) { scale_stored_gradient(*state_, a); }
void ParameterStorage::zero() {
  state_->before_change("zero");
  TensorTools::zero(values);
  clear();
}
void ParameterStorage::squared_l2norm(float* sqnorm) const { *sqnorm = norm_of_values(*state_); }
void ParameterStorage::g_squared_l2norm(float* sqnorm) const { gradient_norm(*state_, sqnorm); }
void ParameterStorage::copy(const ParameterStorage& val) {
  copy_values(*state_, values, val.values, name);
}
void ParameterStorage::accumulate_grad(const Tensor& gradient) { accumulate_all(*this, gradient); }
void ParameterStorage::clear() { forget(*state_); }
void ParameterStorage::clip(float left, float right) {
  state_->before_change("clip");
  TensorTools::clip(values, left, right);
}
void ParameterStorage::set_value(const std::vector<float>& val) {
  require_size("set_value", name, val.size(), state_->elements);
  state_->before_change("set_value");
  TensorTools::set_elements(values, val);
}

LookupParameterStorage::LookupParameterStorage(std::unique_ptr<detail::StorageState> state,
                                               const Dim& row, unsigned rows, const Dim& all,
                                               Device* dev)
    : ParameterStorageBase(std::move(state)),
      all_dim(all),
      all_values(all, as_floats(state_->values.data()), dev, DeviceMempool::PS),
      all_grads(all, as_floats(state_->gradient.change()), dev, DeviceMempool::PS),
      dim(row),
      rows_(rows) {
  device = dev;
  state_->table = this;
}

void LookupParameterStorage::scale_parameters(float a) { scale_values(*state_, a); }
void LookupParameterStorage::scale_gradient(float a) { scale_stored_gradient(*state_, a); }
void LookupParameterStorage::zero() {
  state_->catch_up();
  state_->before_change("zero");
  TensorTools::zero(all_values);
}
void LookupParameterStorage::squared_l2norm(float* sqnorm) const {
  state_->catch_up();
  *sqnorm = norm_of_values(*state_);
}
void LookupParameterStorage::g_squared_l2norm(float* sqnorm) const {
  gradient_norm(*state_, sqnorm);
}
void LookupParameterStorage::initialize(unsigned index, const std::vector<float>& val) {
  if (index >= rows_) {
    throw errors::IndexError("initialize: row " + std::to_string(index) + " of " + name +
                             "; there are " + std::to_string(rows_));
  }
  require_size("initialize", name, val.size(), state_->row_elements());
  state_->catch_up();
  state_->before_change("initialize");
  std::byte* const row = state_->value_row(index);
  params::copy_in(state_->device, val.data(), row, state_->row_elements());
  const double pending = state_->decay_factor();  // of the whole table: it is multiplied in again
  if (pending != 1.0) {
    state_->kernels.add_scaled(1.0 / pending, row, row, state_->row_elements(), true);
  }
}
void LookupParameterStorage::copy(const LookupParameterStorage& val) {
  state_->catch_up();
  val.state_->catch_up();
  copy_values(*state_, all_values, val.all_values, name);
  state_->factor = val.state_->factor;
}
void LookupParameterStorage::accumulate_grad(const Tensor& gradient) {
  accumulate_all(*this, gradient);
}
void LookupParameterStorage::accumulate_grad(unsigned index, const Tensor& gradient) {
  require_size("accumulate_grad", name, static_cast<std::size_t>(gradient.d.elements()),
               state_->row_elements());
  params::Buffer scratch;
  const void* from = on_device_of(*this, gradient, scratch);
  params::LookupGradientLock(*this).add_row(index, from);
}
void LookupParameterStorage::accumulate_grads(unsigned n, const unsigned* ids_host,
                                              const unsigned* /*ids_dev*/, float* g) {
  for (unsigned i = 0; i < n; ++i) {
    if (ids_host[i] >= rows_) {
      throw errors::IndexError("accumulate_grads: row " + std::to_string(ids_host[i]) + " of " +
                               name + "; there are " + std::to_string(rows_));
    }
  }
  params::LookupGradientLock lock(*this);
  const auto* from = reinterpret_cast<const std::byte*>(g);
  for (unsigned i = 0; i < n; ++i) {
    lock.add_row(ids_host[i], from);
    from += state_->row_bytes;
  }
}
void LookupParameterStorage::clear() { forget(*state_); }
void LookupParameterStorage::settle_values() {
  const std::lock_guard lock(state_->mutex);
  state_->catch_up();
  initialize_lookups();
}
void LookupParameterStorage::initialize_lookups() {
  if (values.size() == rows_) {
    return;
  }
  std::vector<Tensor> rows;
  std::vector<Tensor> row_gradients;
  rows.reserve(rows_);
  row_gradients.reserve(rows_);
  for (unsigned r = 0; r < rows_; ++r) {
    rows.emplace_back(dim, as_floats(state_->value_row(r)), device, DeviceMempool::PS);
    row_gradients.emplace_back(dim, as_floats(state_->gradient_row(r)), device, DeviceMempool::PS);
  }
  values = std::move(rows);
  grads = std::move(row_gradients);
}

namespace detail {

void ModelAccess::expose(ParameterStorageBase& storage) {
  StorageState& s = storage.state();
  if (s.exposed && !s.is_table()) {
    return;
  }
  const std::lock_guard lock(s.mutex);
  if (s.is_table()) {
    s.catch_up();
    s.catch_up_averages();
    s.table->initialize_lookups();
    s.table->non_zero_grads.insert(s.touched.begin(), s.touched.end());
  }
  s.fill_gradient();
  s.is_pristine = false;
  s.gradient.expose();
  s.exposed = true;
}

std::shared_ptr<ParameterStorage> ModelAccess::make_parameter(const Dim& dim, Device& device,
                                                              const std::string& what) {
  params::AdditionLimit::take(static_cast<std::uint64_t>(dim.elements()), what);
  auto state = std::make_unique<StorageState>(device, dim.elements(), 0, what);
  return std::shared_ptr<ParameterStorage>(new ParameterStorage(std::move(state), dim, &device));
}

std::shared_ptr<LookupParameterStorage> ModelAccess::make_lookup(unsigned rows, const Dim& dim,
                                                                 Device& device,
                                                                 const std::string& what) {
  Dim all = dim;
  all.add_dim(rows);
  params::AdditionLimit::take(static_cast<std::uint64_t>(all.elements()), what);
  auto state = std::make_unique<StorageState>(device, all.elements(), rows, what);
  return std::shared_ptr<LookupParameterStorage>(
      new LookupParameterStorage(std::move(state), dim, rows, all, &device));
}

}  // namespace detail
}  // namespace dynet
