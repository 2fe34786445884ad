// Initial values of parameters.

#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "binding.h"
#include "params.h"
#include "texts.h"

namespace dynet::python {
namespace {

// A Python class each, so that they can be told apart and named in signatures.
struct PyNormal : PyInitializer {};
struct PyUniform : PyInitializer {};
struct PyConst : PyInitializer {};
struct PyIdentity : PyInitializer {};
struct PyGlorot : PyInitializer {};
struct PySaxe : PyInitializer {};
struct PyFromFile : PyInitializer {};
struct PyNumpy : PyInitializer {};

std::string argument_text(float number) { return short_text(number); }
std::string argument_text(bool flag) { return flag ? "True" : "False"; }
std::string argument_text(const std::string& text) {
  return nb::repr(nb::str(text.c_str())).c_str();
}

template <class PyClass, class Init, class... Args>
PyClass make(Args... args) {
  PyClass result;
  ((result.arguments += (result.arguments.empty() ? "" : ", ") + argument_text(args)), ...);
  result.init = std::make_shared<Init>(std::move(args)...);
  return result;
}

template <class PyClass>
nb::class_<PyClass, PyInitializer> define_initializer(nb::module_& m, const char* name,
                                                      const char* doc) {
  return nb::class_<PyClass, PyInitializer>(m, name, doc);
}

PyNumpy from_array(nb::handle values) {
  const FloatArray array = read_array(values);
  PyNumpy result;
  result.init = std::make_shared<ParameterInitFromVector>(
      std::vector<float>(array.data, array.data + array.size), array.dim(false));
  result.arguments = "an array " + to_string(array.dim(false));
  result.is_array = true;
  return result;
}

}  // namespace

void bind_initializers(nb::module_& m) {
  using nb::arg;
  nb::class_<PyInitializer>(m, "PyInitializer", texts::ParameterInit)
      .def("__repr__", [](nb::handle_t<PyInitializer> self) {
        const nb::handle type = self.type();
        const auto name = nb::cast<std::string>(type.attr("__name__"));
        return nb::inst_ready(self)
                   ? name + "(" + nb::inst_ptr<PyInitializer>(self)->arguments + ")"
                   : "<" + name + ", not initialised>";
      });
  define_initializer<PyNormal>(m, "NormalInitializer", texts::ParameterInitNormal)
      .def(nb::new_(&make<PyNormal, ParameterInitNormal, float, float>), arg("mean") = 0.0F,
           arg("var") = 1.0F);
  define_initializer<PyUniform>(m, "UniformInitializer", texts::ParameterInitUniform)
      .def(nb::new_(&make<PyUniform, ParameterInitUniform, float>), arg("scale"));
  define_initializer<PyConst>(m, "ConstInitializer", texts::ParameterInitConst)
      .def(nb::new_(&make<PyConst, ParameterInitConst, float>), arg("c"));
  define_initializer<PyIdentity>(m, "IdentityInitializer", texts::ParameterInitIdentity)
      .def(nb::new_(&make<PyIdentity, ParameterInitIdentity>));
  define_initializer<PyGlorot>(m, "GlorotInitializer", texts::ParameterInitGlorot)
      .def(nb::new_(&make<PyGlorot, ParameterInitGlorot, bool, float>), arg("is_lookup") = false,
           arg("gain") = 1.0F);
  define_initializer<PySaxe>(m, "SaxeInitializer", texts::ParameterInitSaxe)
      .def(nb::new_(&make<PySaxe, ParameterInitSaxe, float>), arg("scale") = 1.0F);
  define_initializer<PyFromFile>(m, "FromFileInitializer", texts::ParameterInitFromFile)
      .def(nb::new_(&make<PyFromFile, ParameterInitFromFile, std::string>), arg("fname"));
  define_initializer<PyNumpy>(m, "NumpyInitializer", texts::ParameterInitFromVector)
      .def(nb::new_(&from_array), arg("array"));
}

}  // namespace dynet::python
