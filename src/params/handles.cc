#include <string>

#include "params/access.h"

namespace dynet {
namespace {

template <class Handle>
auto& stored(const Handle& handle, const char* call) {
  if (handle.p == nullptr) {
    throw errors::StateError(std::string(call) +
                             ": the parameter is unset; make it with add_parameters or " +
                             "add_lookup_parameters first");
  }
  return *handle.p;
}
template <class Handle>
auto& exposed(const Handle& handle, const char* call) {
  auto& storage = stored(handle, call);
  detail::ModelAccess::expose(storage);
  return storage;
}

}  // namespace

ParameterStorage& Parameter::get_storage() const { return exposed(*this, "get_storage"); }
std::string Parameter::get_fullname() const { return stored(*this, "get_fullname").name; }
void Parameter::zero() { stored(*this, "zero").zero(); }
Dim Parameter::dim() const { return stored(*this, "dim").dim; }
Tensor* Parameter::values() const { return &stored(*this, "values").values; }
Tensor* Parameter::gradients() const { return &exposed(*this, "gradients").g; }
float Parameter::current_weight_decay() const {
  return static_cast<float>(stored(*this, "current_weight_decay").state().decay_factor());
}
void Parameter::set_updated(bool b) { stored(*this, "set_updated").updated = b; }
bool Parameter::is_updated() const { return stored(*this, "is_updated").updated; }
void Parameter::scale(float s) { stored(*this, "scale").scale_parameters(s); }
void Parameter::scale_gradient(float s) { stored(*this, "scale_gradient").scale_gradient(s); }
void Parameter::clip_inplace(float left, float right) {
  const float decay = current_weight_decay();
  stored(*this, "clip_inplace").clip(left / decay, right / decay);
}
void Parameter::set_value(const std::vector<float>& val) {
  stored(*this, "set_value").set_value(val);
}

LookupParameterStorage& LookupParameter::get_storage() const {
  return exposed(*this, "get_storage");
}
void LookupParameter::initialize(unsigned index, const std::vector<float>& val) const {
  stored(*this, "initialize").initialize(index, val);
}
void LookupParameter::zero() { stored(*this, "zero").zero(); }
std::string LookupParameter::get_fullname() const { return stored(*this, "get_fullname").name; }
Dim LookupParameter::dim() const { return stored(*this, "dim").dim; }
std::vector<Tensor>* LookupParameter::values() const {
  auto& storage = stored(*this, "values");
  storage.settle_values();
  const std::lock_guard lock(storage.state().mutex);
  storage.state().catch_up_averages();  // the caller may write
  return &storage.values;
}
float LookupParameter::current_weight_decay() const {
  return static_cast<float>(stored(*this, "current_weight_decay").state().decay_factor());
}
void LookupParameter::scale(float s) { stored(*this, "scale").scale_parameters(s); }
void LookupParameter::scale_gradient(float s) { stored(*this, "scale_gradient").scale_gradient(s); }
void LookupParameter::set_updated(bool b) { stored(*this, "set_updated").updated = b; }
bool LookupParameter::is_updated() const { return stored(*this, "is_updated").updated; }

}  // namespace dynet
