// The collections that hold parameters and tables.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "binding.h"
#include "errors.h"
#include "params.h"
#include "signals.h"
#include "texts.h"

namespace dynet::python {
namespace {

// ---- initial values
// -----------------------------------------------------------------------------------

struct InitArguments {
  nb::object init;
  float scale, mean, std;
};

/// NumPy's scalars and arrays of no dimension are numbers, though NumPy makes arrays of them.
bool is_scalar(const nb::object& o) {
  return nb::getattr(o, "shape", nb::none()).equal(nb::make_tuple());
}

bool is_array(const nb::object& o) { return nb::hasattr(o, "__array__") && !is_scalar(o); }

/// The initialiser that `init` means for a shape.
PyInitializer read_init(const InitArguments& args, const Dim& d) {
  PyInitializer result;
  const auto set = [&result](auto init) {
    result.init = std::make_shared<decltype(init)>(std::move(init));
  };
  if (args.init.is_none()) {
    set(ParameterInitGlorot());
  } else if (PyUnicode_Check(args.init.ptr())) {
    const auto name = nb::cast<std::string>(args.init);
    if (name == "glorot") {
      set(ParameterInitGlorot());
    } else if (name == "identity") {
      set(ParameterInitIdentity());
    } else if (name == "uniform") {
      set(ParameterInitUniform(args.scale));
    } else if (name == "normal") {
      set(ParameterInitNormal(args.mean, args.std * args.std));
    } else if (name == "he") {
      const unsigned last = d.nd == 0 ? 1 : d.d[d.nd - 1];
      set(ParameterInitNormal(0.0F, 1.0F / (2.0F * static_cast<float>(last))));
    } else {
      throw errors::ValueError(
          "init is \"" + name +
          "\"; want \"glorot\", \"identity\", \"uniform\", \"normal\" or \"he\"");
    }
  } else if (nb::isinstance<PyInitializer>(args.init)) {
    result = nb::cast<PyInitializer>(args.init);
  } else if (PyNumber_Check(args.init.ptr()) != 0 &&
             (is_one_number(args.init) || is_scalar(args.init))) {
    set(ParameterInitConst(nb::cast<float>(args.init)));
  } else {
    throw errors::ValueError(
        "init is " + told(args.init) +
        "; want None, a number, \"glorot\" or another name, an initializer or an array");
  }
  return result;
}

// ---- collections
// ----------------------------------------------------------------------------------------

PyParameters parameters_of(ParameterCollection& pc, const FloatArray& array, const Dim& d,
                           const std::string& name, const std::string& device) {
  const ParameterInitFromVector init(std::vector<float>(array.data, array.data + array.size), d);
  return {pc.add_parameters(d, init, name, get_device_manager()->get_global_device(device)), pc};
}

PyParameters parameters_from_array(ParameterCollection& pc, nb::handle values,
                                   const std::string& name, const std::string& device) {
  const FloatArray array = read_array(values);
  return parameters_of(pc, array, array.dim(false), name, device);
}

/// `array`: of read_rows_first.
PyLookupParameters table_of(ParameterCollection& pc, const FloatArray& array,
                            const std::string& name, const std::string& device) {
  Dim row = array.dim(true);  // rows are the last axis here, as a batch would be
  const unsigned rows = row.bd;
  row.bd = 1;
  Dim all = row;
  all.add_dim(rows);
  const ParameterInitFromVector init(std::vector<float>(array.data, array.data + array.size), all);
  return {pc.add_lookup_parameters(rows, row, init, name,
                                   get_device_manager()->get_global_device(device)),
          pc};
}

PyLookupParameters table_from_array(ParameterCollection& pc, nb::handle values,
                                    const std::string& name, const std::string& device) {
  return table_of(pc, read_rows_first(values), name, device);
}

/// The last dimension, a table's rows, before the others.
Dim rows_first(Dim d) {
  std::rotate(d.d, d.d + d.nd - 1, d.d + d.nd);
  return d;
}

std::string shape_text(const Dim& d) { return nb::repr(shape_tuple(d)).c_str(); }

/// An array gives a parameter its numbers, and must have the asked shape. A 1 at the end makes no
/// difference.
void check_shape(const Dim& asked, const Dim& has) {
  if (asked.truncate() != has.truncate()) {
    throw errors::ShapeError("dim is " + shape_text(asked) + " and init is an array of shape " +
                             shape_text(has) + "; want equal shapes");
  }
}

PyParameters add_parameters(ParameterCollection& pc, const DimArg& dim, const nb::object& init,
                            const std::string& name, const std::string& device, float scale,
                            float mean, float std) {
  const Stoppable stoppable;
  if (is_array(init)) {
    const FloatArray array = read_array(init);
    check_shape(dim.dim, array.dim(false));
    return parameters_of(pc, array, dim.dim, name, device);
  }
  const PyInitializer values = read_init({init, scale, mean, std}, dim.dim);
  return {pc.add_parameters(dim.dim, *values.init, name,
                            get_device_manager()->get_global_device(device)),
          pc};
}

PyLookupParameters add_lookup_parameters(ParameterCollection& pc, const DimArg& dim,
                                         const nb::object& init, const std::string& name,
                                         const std::string& device, float scale, float mean,
                                         float std) {
  const Stoppable stoppable;
  if (is_array(init)) {
    const FloatArray array = read_rows_first(init);
    check_shape(dim.dim, rows_first(array.dim(false)));
    return table_of(pc, array, name, device);
  }
  const Dim& all = dim.dim;
  if (all.nd == 0) {
    throw errors::ValueError("add_lookup_parameters: want the number of rows first");
  }
  Dim row;
  row.nd = std::max(1U, all.nd - 1);
  for (unsigned i = 1; i < all.nd; ++i) {
    row.d[i - 1] = all.d[i];
  }
  const PyInitializer values = read_init({init, scale, mean, std}, row);
  if (values.is_array) {
    throw errors::ValueError("add_lookup_parameters: give the array itself as init");
  }
  return {pc.add_lookup_parameters(all.d[0], row, *values.init, name,
                                   get_device_manager()->get_global_device(device)),
          pc};
}

void bind_additions(nb::class_<ParameterCollection>& c) {
  using nb::arg;
  c.def("add_parameters", &add_parameters, arg("dim"), arg("init") = nb::none(), arg("name") = "",
        arg("device") = "", arg("scale") = 1.0F, arg("mean") = 0.0F, arg("std") = 1.0F,
        texts::ParameterCollection_add_parameters)
      .def("add_lookup_parameters", &add_lookup_parameters, arg("dim"), arg("init") = nb::none(),
           arg("name") = "", arg("device") = "", arg("scale") = 1.0F, arg("mean") = 0.0F,
           arg("std") = 1.0F, texts::ParameterCollection_add_lookup_parameters)
      .def("parameters_from_numpy", &parameters_from_array, arg("array"), arg("name") = "",
           arg("device") = "", "A parameter with the shape and the numbers of an array.")
      .def("lookup_parameters_from_numpy", &table_from_array, arg("array"), arg("name") = "",
           arg("device") = "", "A table; the first axis of the array counts its rows.")
      .def(
          "add_subcollection",
          [](ParameterCollection& pc, const nb::object& name) {
            return pc.add_subcollection(name.is_none() ? std::string()
                                                       : nb::cast<std::string>(name));
          },
          arg("name") = nb::none(),
          nb::sig("def add_subcollection(self, name: str | None = None) -> ParameterCollection"),
          texts::ParameterCollection_add_subcollection);
}

void bind_collection_files(nb::class_<ParameterCollection>& c) {
  using nb::arg;
  const auto save = [](const ParameterCollection& pc, const std::string& fname,
                       const std::string& name, bool append) { save_to(pc, fname, name, append); };
  const auto populate = [](ParameterCollection& pc, const std::string& fname,
                           const std::string& key) { populate_from(pc, fname, key); };
  c.def("save", save, arg("fname"), arg("name") = "", arg("append") = false,
        "Writes all parameters to a file: as safetensors if the name ends so, else as text. On an "
        "error the old file stays.")
      .def("write_to_textfile", save, arg("fname"), arg("key") = "", arg("append") = false,
           "`save` by another name.");
  for (const char* name : {"populate", "populate_from_textfile", "load"}) {
    c.def(
        name, populate, arg("fname"), arg("key") = "",
        "Reads parameters from a file of either format: text in order, safetensors by name. All or "
        "nothing.");
  }
  c.def(
       "load_param",
       [](ParameterCollection& pc, const std::string& fname, const std::string& key) {
         const Stoppable stoppable;
         return PyParameters(make_loader(fname)->load_param(pc, key), pc);
       },
       arg("fname"), arg("key"), "Adds the parameter of that name in a file.")
      .def(
          "load_lookup_param",
          [](ParameterCollection& pc, const std::string& fname, const std::string& key) {
            const Stoppable stoppable;
            return PyLookupParameters(make_loader(fname)->load_lookup_param(pc, key), pc);
          },
          arg("fname"), arg("key"), "Adds the table of that name in a file.");
}

}  // namespace

void bind_collection(nb::module_& m) {
  using nb::arg;
  nb::class_<ParameterCollection> c(m, "ParameterCollection", texts::ParameterCollection);
  c.def(
       "__init__",
       [](ParameterCollection* self, std::optional<ParameterCollection> parent) {
         new (self)
             ParameterCollection(parent ? parent->add_subcollection() : ParameterCollection());
       },
       arg("parent") = nb::none())
      .def(
          "parameters_list",
          [](const ParameterCollection& pc) {
            std::vector<PyParameters> list;
            for (const auto& p : pc.parameters_list()) {
              list.emplace_back(Parameter(p), pc);
            }
            return list;
          },
          texts::ParameterCollection_parameters_list)
      .def(
          "lookup_parameters_list",
          [](const ParameterCollection& pc) {
            std::vector<PyLookupParameters> list;
            for (const auto& p : pc.lookup_parameters_list()) {
              list.emplace_back(LookupParameter(p), pc);
            }
            return list;
          },
          texts::ParameterCollection_lookup_parameters_list)
      .def("name", &ParameterCollection::get_fullname, texts::ParameterCollection_get_fullname)
      .def("parameter_count", &ParameterCollection::parameter_count,
           texts::ParameterCollection_parameter_count)
      .def("gradient_l2_norm", &ParameterCollection::gradient_l2_norm,
           texts::ParameterCollection_gradient_l2_norm)
      .def("reset_gradient", &ParameterCollection::reset_gradient,
           texts::ParameterCollection_reset_gradient)
      .def("get_weight_decay", &ParameterCollection::get_weight_decay_lambda,
           texts::ParameterCollection_get_weight_decay_lambda)
      .def("set_weight_decay", &ParameterCollection::set_weight_decay_lambda, arg("lam"),
           texts::ParameterCollection_set_weight_decay_lambda)
      .def("set_weight_decay_lambda", &ParameterCollection::set_weight_decay_lambda, arg("lam"),
           texts::ParameterCollection_set_weight_decay_lambda);
  bind_additions(c);
  bind_collection_files(c);
  m.attr("Model") = m.attr("ParameterCollection");
  m.attr("model") = m.attr("ParameterCollection");
}

}  // namespace dynet::python
