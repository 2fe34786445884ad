// Parts of models for pickle and copy: dynet/_pickling.py puts them together.

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "dynet/io.h"
#include "dynet/replay.h"
#include "dynet/training.h"

#include "binding.h"
#include "made.h"
#include "pickling.h"
#include "signals.h"

namespace dynet::python {
namespace {

/// A parameter or a table: its name, whether trainers change it, the number of rows (0: no table),
/// its shape or the shape of a row, and its device ("": the default device).
using Entry = std::tuple<std::string, bool, unsigned, std::vector<unsigned>, std::string>;

std::vector<unsigned> shape_of(const Dim& dim) { return {dim.d, dim.d + dim.nd}; }

std::vector<Entry> entries_of(const ParameterCollection& root) {
  std::vector<Entry> entries;
  for (const auto& storage : all_of(root)) {
    const auto* const table = dynamic_cast<const LookupParameterStorage*>(storage.get());
    const Dim dim =
        table != nullptr ? table->dim : dynamic_cast<const ParameterStorage&>(*storage).dim;
    const unsigned rows = table != nullptr ? table->all_dim.d[table->all_dim.nd - 1] : 0;
    const std::string device = storage->device == default_device ? "" : storage->device->name;
    entries.emplace_back(storage->name, storage->updated, rows, shape_of(dim), device);
  }
  return entries;
}

/// Gives a new parameter or table its name, and the numbers that the file has under `key`.
template <class Handle>
void take(Loader& loader, Handle made, const std::string& key, const std::string& name,
          bool is_updated) {
  made.p->name = name;
  loader.populate(made, key);
  made.set_updated(is_updated);
}

/// A new root with the parameters of a file, in the order of `entries`. The file names them by
/// their places, "/0" and so on.
ParameterCollection load_collection(const std::string& file, const std::vector<Entry>& entries,
                                    float weight_decay) {
  ParameterCollection root;
  root.set_weight_decay_lambda(weight_decay);
  const Stoppable stoppable;
  const auto loader = make_loader(file);
  std::size_t place = 0;
  for (const auto& [name, is_updated, rows, shape, device_name] : entries) {
    const std::string key = "/" + std::to_string(place++);
    const Dim dim(std::vector<long>(shape.begin(), shape.end()));
    Device* const device = get_device_manager()->get_global_device(device_name);
    const ParameterInitConst zero(0.0F);
    if (rows > 0) {
      take(*loader, root.add_lookup_parameters(rows, dim, zero, "", device), key, name, is_updated);
    } else {
      take(*loader, root.add_parameters(dim, zero, "", device), key, name, is_updated);
    }
  }
  recount_names(root);
  return root;
}

/// The trainer's cycle, which is not in its text, as in 2.1.
struct Cycle : CyclicalSGDTrainer {
  static std::vector<float> of(const CyclicalSGDTrainer& t) {
    return {t.*(&Cycle::e_min), t.*(&Cycle::e_max), t.*(&Cycle::step_size), t.*(&Cycle::gamma)};
  }
};

/// The arguments of a trainer's constructor, beside the collection. The trainer takes its state
/// afterwards.
std::vector<float> arguments_of(const Trainer& trainer) {
  const auto* const cyclical = dynamic_cast<const CyclicalSGDTrainer*>(&trainer);
  return cyclical == nullptr ? std::vector<float>{} : Cycle::of(*cyclical);
}

std::size_t place_of(const ParameterCollection& owner, const void* storage) {
  const ParameterCollection root = root_of(owner);
  const auto& all = all_of(root);
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.get() == storage; });
  return static_cast<std::size_t>(found - all.begin());
}

/// A Parameters or a LookupParameters.
nb::object parameter_at(const ParameterCollection& root, std::size_t place) {
  const auto& all = all_of(root);
  if (place >= all.size()) {
    throw errors::IndexError("no parameter " + std::to_string(place) + " of " +
                             std::to_string(all.size()));
  }
  if (auto table = std::dynamic_pointer_cast<LookupParameterStorage>(all[place])) {
    return nb::cast(PyLookupParameters(LookupParameter(table), root), nb::rv_policy::move);
  }
  const auto parameter = std::dynamic_pointer_cast<ParameterStorage>(all[place]);
  return nb::cast(PyParameters(Parameter(parameter), root), nb::rv_policy::move);
}

/// The result of `make` for a collection in which existing parameters are found again.
nb::object replayed(const ParameterCollection& root, const std::string& parent,
                    const std::map<std::string, unsigned>& uses,
                    const std::map<std::string, unsigned>& sub_uses, const nb::object& make) {
  const Replay replay(root, parent, uses, sub_uses);
  return make(replay.collection());
}

/// `__reduce__` of a class: the function of dynet/_pickling.py.
template <class Class>
void add_reduce(Class c, const char* function) {
  c.def(
      "__reduce__", [function](nb::handle self) { return making::reduced(self, function); },
      nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"), "For pickle and copy.");
}

}  // namespace

void bind_pickling(nb::module_& m) {
  bind_made(m);
  m.def("_entries_of", &entries_of);
  m.def("_load_collection", &load_collection);
  m.def("_root_of", &root_of);
  m.def("_identity_of", [](const ParameterCollection& pc) {
    return reinterpret_cast<std::uintptr_t>(identity_of(pc));
  });
  m.def("_find_subcollection", &find_subcollection);
  m.def("_parameter_at", &parameter_at);
  m.def("_replayed", &replayed);
  m.def("_place_of", [](const PyLookupParameters& t) {
    return std::tuple(t.owner, place_of(t.owner, t.p.p.get()));
  });
  m.def("_place_of",
        [](const PyParameters& p) { return std::tuple(p.owner, place_of(p.owner, p.p.p.get())); });
  m.def("_arguments_of", &arguments_of);
  m.def("_model_of_trainer", [](const Trainer& t) { return *t.model; });
  add_reduce(nb::borrow<nb::class_<ParameterCollection>>(m.attr("ParameterCollection")),
             "collection");
  add_reduce(nb::borrow<nb::class_<PyParameters>>(m.attr("Parameters")), "parameter");
  add_reduce(nb::borrow<nb::class_<PyLookupParameters>>(m.attr("LookupParameters")), "parameter");
  add_reduce(nb::borrow<nb::class_<Trainer>>(m.attr("Trainer")), "trainer");
}

}  // namespace dynet::python
