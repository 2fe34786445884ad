// The module `_dynet`. `import dynet` starts the library; importing this alone does not.

#include "binding.h"
#include "calls.h"
#include "functions.h"
#include "lock.h"
#include "operators.h"
#include "pickling.h"
#include "where.h"

NB_MODULE(_dynet, m) {
  namespace py = dynet::python;
  py::make_module_lock();
  // A library must not write to the streams of its program, not even at exit.
  nb::set_leak_warnings(false);
  // What users read says `dynet`, where they find it all: types and functions take it from here.
  const nb::object own_name = m.attr("__name__");
  m.attr("__name__") = "dynet";
  m.attr("__doc__") = "DyNet: neural networks whose structure changes with every input.";
  py::bind_errors(m);
  py::install_location_resolver();
  py::bind_expression(m);
  py::bind_ops(m);
  py::bind_compositions(m);
  py::bind_selections(m);
  py::bind_chains(m);
  py::install_operators();  // before types derived from Expression, which inherit them
  py::bind_graph(m);
  py::bind_params(m);
  py::bind_collection(m);
  py::install_expression_objects();
  py::bind_inputs(m);
  py::bind_initializers(m);
  py::bind_trainers(m);
  py::bind_files(m);
  py::bind_builders(m);
  py::bind_tree_builders(m);
  py::bind_softmax_builders(m);
  py::bind_attention_builders(m);
  py::bind_beam(m);
  py::bind_sequence(m);
  py::bind_text(m);
  py::bind_custom(m);
  py::bind_debug(m);
  py::bind_start(m);
  py::bind_workers(m);
  py::bind_views(m);
  py::bind_old_names(m);
  py::bind_pickling(m);
  py::bind_repr(m);  // last: of all classes
  py::bind_functions(m);
  py::watch_calls(m);
  m.attr("__name__") = own_name;
}
