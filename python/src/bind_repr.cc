// `repr` and `str` of objects.

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "dynet/debug.h"
#include "dynet/except.h"
#include "dynet/ext/memory.h"
#include "dynet/replay.h"
#include "dynet/training.h"

#include "binding.h"
#include "graph.h"
#include "made.h"

namespace dynet::python {
namespace {

std::string number_text(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", x);
  return text;
}

/// 1234567 as 1,234,567.
std::string count_text(std::uint64_t n) {
  std::string text = std::to_string(n);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string shape_text(const Dim& d, bool rows_first) {
  std::vector<unsigned> extents(d.d, d.d + d.nd);
  if (rows_first && !extents.empty()) {
    extents.insert(extents.begin(), extents.back());
    extents.pop_back();
  }
  std::string text;
  for (const unsigned extent : extents) {
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  }
  return "(" + text + (extents.size() == 1 ? ",)" : ")");
}

// ---- expressions
// --------------------------------------------------------------------------------------

std::string old_text(const PyExpression& x) {
  return "expression " + std::to_string(x.e.i) + "/" + std::to_string(x.version);
}

template <class T>
std::string numbers_text(const Tensor& t, std::int64_t count) {
  std::vector<T> numbers(static_cast<std::size_t>(count));
  t.device->memory->copy_out(t.v, numbers.data(), numbers.size() * sizeof(T));
  std::string text;
  for (const T x : numbers) {
    text += (text.empty() ? "" : ", ") + number_text(static_cast<double>(x));
  }
  return text;
}

/// The first numbers, if they are computed.
std::string value_text(const Expression& e) {
  constexpr std::int64_t kShown = 6;
  const Tensor* t = computed_value(e);
  if (t == nullptr) {
    return "";
  }
  const std::int64_t count = t->d.elements();
  const std::int64_t shown = std::min(count, kShown);
  const std::string text =
      t->is_double() ? numbers_text<double>(*t, shown) : numbers_text<float>(*t, shown);
  if (count == 1) {
    return ", value " + text;
  }
  return ", value [" + text + (count > kShown ? ", ..." : "") + "]";
}

std::string expression_text(const PyExpression& x) {
  if (x.e.pg == nullptr || x.e.is_stale()) {
    return "expression " + std::to_string(x.e.i) + ", stale: its graph has gone on";
  }
  const std::string node = describe(x.e);  // "node 5, tanh(...) {3}, built at ..."
  std::string text = old_text(x) + ": " + node.substr(node.find(", ") + 2);
  try {
    text += value_text(x.e);
  } catch (const errors::GraphError&) {
    return text;  // another thread computes in the graph
  }
  return text;
}

void bind_expressions(nb::module_& m) {
  auto c = nb::borrow<nb::class_<PyExpression>>(m.attr("Expression"));
  c.def("__repr__", &expression_text).def("__str__", [](const PyExpression& x) {
    return old_text(x);
  });
}

// ---- parameters
// ---------------------------------------------------------------------------------------

double norm_of(const ParameterStorageBase& storage) {
  float squares = 0.0F;
  storage.squared_l2norm(&squares);
  return std::sqrt(static_cast<double>(squares));
}

std::string parameter_text(const char* kind, const ParameterStorageBase& storage, const Dim& d,
                           bool rows_first, double decay) {
  return std::string(kind) + " " + storage.name + " " + shape_text(d, rows_first) + ", norm " +
         number_text(decay * norm_of(storage)) + (storage.updated ? "" : ", frozen");
}

void bind_parameter_texts(nb::module_& m) {
  auto p = nb::borrow<nb::class_<PyParameters>>(m.attr("Parameters"));
  p.def("__repr__", [](const PyParameters& x) {
     return parameter_text("Parameter", *x.p.p, x.p.p->dim, false,
                           static_cast<double>(x.p.current_weight_decay()));
   }).def("__str__", [](const PyParameters& x) { return "Parameter " + x.p.get_fullname(); });
  auto t = nb::borrow<nb::class_<PyLookupParameters>>(m.attr("LookupParameters"));
  t.def("__repr__", [](const PyLookupParameters& x) {
     return parameter_text("LookupParameter", *x.p.p, x.p.p->all_dim, true,
                           static_cast<double>(x.p.current_weight_decay()));
   }).def("__str__", [](const PyLookupParameters& x) {
    return "LookupParameter " + x.p.get_fullname();
  });
}

// ---- collections
// --------------------------------------------------------------------------------------

struct Row {
  std::string name, shape, count;
};

/// In the order of creation.
std::vector<Row> rows_of(const ParameterCollection& pc) {
  std::vector<Row> rows;
  for (const auto& storage : all_of(pc)) {
    const auto* const table = dynamic_cast<const LookupParameterStorage*>(storage.get());
    const auto* const parameter = dynamic_cast<const ParameterStorage*>(storage.get());
    rows.push_back(
        {storage->name + (storage->updated ? "" : " (frozen)"),
         table != nullptr ? shape_text(table->all_dim, true) : shape_text(parameter->dim, false),
         count_text(storage->size())});
  }
  return rows;
}

std::string summary_of(const ParameterCollection& pc) {
  const auto& all = all_of(pc);
  const auto tables =
      static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& storage) {
        return dynamic_cast<const LookupParameterStorage*>(storage.get()) != nullptr;
      }));
  const std::size_t parameters = all.size() - tables;
  const auto plural = [](std::size_t n, const char* what) {
    return count_text(n) + " " + what + (n == 1 ? "" : "s");
  };
  return "ParameterCollection " + pc.get_fullname() + ": " + plural(parameters, "parameter") +
         ", " + plural(tables, "table") + ", " + plural(pc.parameter_count(), "value");
}

std::string collection_text(const ParameterCollection& pc) {
  std::vector<Row> rows = rows_of(pc);
  constexpr std::size_t kShown = 100;
  const std::size_t hidden = rows.size() > kShown ? rows.size() - kShown : 0;
  rows.resize(rows.size() - hidden);
  std::size_t name = 0;
  std::size_t shape = 0;
  std::size_t count = 0;
  for (const Row& row : rows) {
    name = std::max(name, row.name.size());
    shape = std::max(shape, row.shape.size());
    count = std::max(count, row.count.size());
  }
  std::string text = summary_of(pc);
  for (const Row& row : rows) {
    text += "\n  " + row.name + std::string(name - row.name.size() + 2, ' ') + row.shape +
            std::string(shape - row.shape.size() + count - row.count.size() + 2, ' ') + row.count;
  }
  return hidden == 0 ? text : text + "\n  and " + count_text(hidden) + " more";
}

std::string collection_html(const ParameterCollection& pc) {
  std::string text = "<table><caption>" + summary_of(pc) +
                     "</caption><thead><tr><th>name</th><th>shape</th><th>values</th></tr>"
                     "</thead><tbody>";
  for (const Row& row : rows_of(pc)) {
    std::string name;
    for (const char c : row.name) {
      name += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
    }
    text += "<tr><td>" + name + "</td><td>" + row.shape + "</td><td>" + row.count + "</td></tr>";
  }
  return text + "</tbody></table>";
}

void bind_collections(nb::module_& m) {
  auto c = nb::borrow<nb::class_<ParameterCollection>>(m.attr("ParameterCollection"));
  c.def("__repr__", &collection_text)
      .def("_repr_html_", &collection_html, "What notebooks show.")
      .def("__str__", &summary_of);
}

// ---- builders, trainers, the graph
// --------------------------------------------------------------------

/// "GRUBuilder of 2 layers, 3 -> 4, in /gru-builder/: 1,234 values".
std::string builder_text(nb::handle self) {
  if (!nb::inst_check(self)) {
    refuse(self.ptr(), "a builder");
    throw Refused();
  }
  const BuilderClass* const builder = builder_of(self);
  if (builder == nullptr) {
    return "<" + class_name(self) + ", not initialised>";
  }
  std::string text = class_name(self);
  if (nb::hasattr(builder->type, "initial_state")) {  // a recurrent one
    const nb::tuple spec(builder->made(self).spec);
    const auto size = [&](std::size_t i) {
      return std::to_string(nb::cast<unsigned>(nb::object(spec[i])));
    };
    if (size(0) == "0") {
      return text + " without layers";
    }
    text +=
        " of " + size(0) + (size(0) == "1" ? " layer, " : " layers, ") + size(1) + " -> " + size(2);
  }
  const nb::object held = builder->type.attr("param_collection")(self);
  const auto& pc = nb::cast<const ParameterCollection&>(held);
  return text + ", in " + pc.get_fullname() + ": " + count_text(pc.parameter_count()) + " values";
}

std::string trainer_text(nb::handle self) {
  if (!nb::isinstance<Trainer>(self)) {
    refuse(self.ptr(), "a trainer");
    throw Refused();
  }
  if (!nb::inst_ready(self)) {
    return "<" + class_name(self) + ", not initialised>";
  }
  const auto& t = instance<Trainer>(self);
  const auto updates = static_cast<std::uint64_t>(t.updates);
  return class_name(self) + "(learning_rate=" + number_text(static_cast<double>(t.learning_rate)) +
         ") after " + count_text(updates) + (updates == 1 ? " update" : " updates") + ", of " +
         count_text(t.model->parameter_count()) + " values";
}

/// All classes of the module that have a collection of parameters, and the trainers.
void bind_by_kind(const nb::module_& m) {
  const auto set_repr = [](nb::handle type, std::string (*text)(nb::handle)) {
    if (nb::cast<bool>(type.attr("__dict__").attr("__contains__")("__repr__"))) {
      return;  // a class that has two names
    }
    const nb::object function =
        nb::cpp_function(text, nb::is_method(), nb::scope(type), nb::name("__repr__"));
    nb::setattr(type, "__repr__", function);
  };
  const nb::object trainer = m.attr("Trainer");
  for (const auto& [name, value] : nb::borrow<nb::dict>(m.attr("__dict__"))) {
    if (PyType_Check(value.ptr()) == 0) {
      continue;
    }
    if (nb::hasattr(value, "param_collection")) {
      set_repr(value, &builder_text);
    } else if (PyObject_IsSubclass(value.ptr(), trainer.ptr()) == 1) {
      set_repr(value, &trainer_text);
    }
  }
}

}  // namespace

void bind_repr(nb::module_& m) {
  bind_expressions(m);
  bind_parameter_texts(m);
  bind_collections(m);
  bind_by_kind(m);
  nb::borrow<nb::class_<PyGraph>>(m.attr("ComputationGraph"))
      .def("__repr__", [](const std::shared_ptr<PyGraph>& graph) {
        const std::size_t n = graph->cg.nodes.size();
        return "ComputationGraph of " + count_text(n) + (n == 1 ? " node" : " nodes") +
               ", renewed " + count_text(graph->version()) +
               (graph->version() == 1 ? " time" : " times");
      });
}

}  // namespace dynet::python
