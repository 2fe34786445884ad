// Softmaxes over many words.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "dynet/adaptive-softmax.h"
#include "dynet/hsm-builder.h"
#include "dynet/sampled-softmax.h"

#include "binding.h"
#include "graph.h"
#include "made.h"
#include "texts.h"
#include "where.h"

namespace dynet::python {

/// A description of clusters: lines, or their file, which is read once.
struct Clusters {
  std::optional<std::string> file;  ///< its name, until it is read
  std::string called = "the clusters";
  std::string text;  ///< the lines, each with its end
  /// Reads the file. ValueError if it cannot be read.
  void read();
};

}  // namespace dynet::python

namespace nanobind::detail {
template <>
struct type_caster<dynet::python::Clusters> {
  NB_TYPE_CASTER(dynet::python::Clusters, const_name("str | collections.abc.Sequence[str]"))
  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept;
  /// The lines, without their ends.
  static handle from_cpp(const dynet::python::Clusters& clusters, rv_policy policy,
                         cleanup_list* cleanup) noexcept;
};
}  // namespace nanobind::detail

namespace dynet::python {
namespace {

/// Appends a line from Python, with or without its end. False, with an error, for an object that is
/// no text.
bool append_line(std::string& text, nb::handle line) {
  const nb::object bytes =
      nb::steal(PyUnicode_AsEncodedString(line.ptr(), "utf-8", "surrogateescape"));
  if (!bytes.is_valid()) {
    return false;
  }
  text.append(PyBytes_AS_STRING(bytes.ptr()),
              static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr())));
  if (PyBytes_GET_SIZE(bytes.ptr()) == 0 || text.back() != '\n') {
    text += '\n';
  }
  return true;
}

struct PySoftmaxBuilder : Made {
  std::unique_ptr<SoftmaxBuilder> builder;
  /// Ready in this thread's graph.
  [[nodiscard]] SoftmaxBuilder& in_graph(bool update) const {
    builder->new_graph(current_graph().cg, update);
    return *builder;
  }
};
struct PyStandardSoftmaxBuilder : PySoftmaxBuilder {};
struct PyClassFactoredSoftmaxBuilder : PySoftmaxBuilder {
  [[nodiscard]] ClassFactoredSoftmaxBuilder& get(bool update) const {
    return static_cast<ClassFactoredSoftmaxBuilder&>(in_graph(update));
  }
};
struct PyHierarchicalSoftmaxBuilder : PySoftmaxBuilder {};
struct PyAdaptiveSoftmaxBuilder : PySoftmaxBuilder {};
struct PySampledSoftmaxBuilder : PySoftmaxBuilder {
  [[nodiscard]] SampledSoftmaxBuilder& get(bool update) const {
    return static_cast<SampledSoftmaxBuilder&>(in_graph(update));
  }
};

/// The dictionary of words and their ids, which must be 0, 1, 2, ...
Dict words_of(const nb::dict& ids) {
  std::vector<std::string> words(ids.size());
  std::vector<char> is_set(ids.size(), 0);
  for (const auto& [key, value] : ids) {
    const auto word = nb::cast<std::string>(key);
    const unsigned id = read_index(value);
    if (id >= words.size() || is_set[id] != 0) {
      throw errors::ValueError("dict: '" + word + "' has id " + std::to_string(id) +
                               "; want the ids 0 to " + std::to_string(words.size() - 1) +
                               ", each for one word");
    }
    words[id] = word;
    is_set[id] = 1;
  }
  Dict dict;
  for (const std::string& word : words) {
    dict.convert(word);
  }
  return dict;
}

/// Makes a builder with a file of clusters, then enters the words that were new in `ids`.
template <class Builder, class... Options>
std::unique_ptr<SoftmaxBuilder> make_of_clusters(unsigned input_dim, Clusters& clusters,
                                                 const nb::dict& ids, ParameterCollection& pc,
                                                 Options... options) {
  Dict dict = words_of(ids);
  const unsigned known = dict.size();
  clusters.read();
  std::istringstream lines(clusters.text);
  auto builder = std::make_unique<Builder>(input_dim, lines, dict, pc, options..., clusters.called);
  for (unsigned id = known; id < dict.size(); ++id) {
    ids[nb::cast(dict.convert(static_cast<int>(id)))] = nb::cast(id);
  }
  return builder;
}

/// A function of a vector for class Py; `call(b, x)` is its result in the graph.
template <class Class, class Call>
void def_of_vector(Class& c, const char* name, const char* doc, Call call) {
  using Py = typename Class::Type;
  c.def(
      name,
      [call](const Py& b, const ExprArg& x, bool update) {
        return PyExpression(call(b, update, x.node()));
      },
      nb::arg("x"), nb::arg("update") = true, doc);
}

/// A function of a vector and an index.
template <class Class, class Call>
void def_of_index(Class& c, const char* name, const char* index, const char* sig, const char* doc,
                  Call call) {
  using Py = typename Class::Type;
  c.def(
      name,
      [call](const Py& b, const ExprArg& x, nb::handle which, bool update) {
        const unsigned i = read_index(which);
        return PyExpression(call(b, update, x.node(), i));
      },
      nb::arg("x"), nb::arg(index), nb::arg("update") = true, nb::sig(sig), doc);
}

/// A function of a batch and an index for each of its examples.
template <class Class, class Call>
void def_of_indices(Class& c, const char* name, const char* sig, const char* doc, Call call) {
  using Py = typename Class::Type;
  c.def(
      name,
      [call](const Py& b, const ExprArg& x, nb::handle which, bool update) {
        const std::vector<unsigned> words = read_indices(which);
        return PyExpression(call(b, update, x.node(), words));
      },
      nb::arg("x"), nb::arg("c"), nb::arg("update") = true, nb::sig(sig), doc);
}

void bind_softmax_base(nb::module_& m) {
  using nb::arg;
  using Py = PySoftmaxBuilder;
  nb::class_<Py> c(m, "SoftmaxBuilder", texts::SoftmaxBuilder);
  def_of_index(c, "neg_log_softmax", "c",
               "def neg_log_softmax(self, x: Expression, c: int, update: bool = True) -> "
               "Expression",
               texts::SoftmaxBuilder_neg_log_softmax,
               [](const Py& b, bool update, const Expression& x, unsigned word) {
                 return b.in_graph(update).neg_log_softmax(x, word, here());
               });
  def_of_indices(
      c, "neg_log_softmax_batch",
      "def neg_log_softmax_batch(self, x: Expression, c: "
      "collections.abc.Iterable[int], update: bool = True) -> Expression",
      texts::SoftmaxBuilder_neg_log_softmax_2,
      [](const Py& b, bool update, const Expression& x, const std::vector<unsigned>& words) {
        return b.in_graph(update).neg_log_softmax(x, words, here());
      });
  c.def(
      "sample",
      [](const Py& b, const ExprArg& x) { return b.in_graph(true).sample(x.node(), here()); },
      arg("x"), texts::SoftmaxBuilder_sample);
  def_of_vector(c, "full_log_distribution", texts::SoftmaxBuilder_full_log_distribution,
                [](const Py& b, bool update, const Expression& x) {
                  return b.in_graph(update).full_log_distribution(x, here());
                });
  def_of_vector(c, "full_logits", texts::SoftmaxBuilder_full_logits,
                [](const Py& b, bool update, const Expression& x) {
                  return b.in_graph(update).full_logits(x, here());
                });
  c.def(
      "param_collection", [](const Py& b) { return b.builder->get_parameter_collection(); },
      texts::SoftmaxBuilder_get_parameter_collection);
}

void bind_class_factored(nb::module_& m) {
  using nb::arg;
  using Py = PyClassFactoredSoftmaxBuilder;
  nb::class_<Py, PySoftmaxBuilder> c(m, "ClassFactoredSoftmaxBuilder",
                                     texts::ClassFactoredSoftmaxBuilder);
  def_init(c, &make_of_clusters<ClassFactoredSoftmaxBuilder, bool>, arg("input_dim"),
           arg("cluster_file"), arg("dict"), arg("pc"), arg("bias") = true);
  def_of_vector(c, "class_logits", texts::ClassFactoredSoftmaxBuilder_class_logits,
                [](const Py& b, bool update, const Expression& x) {
                  return b.get(update).class_logits(x, here());
                });
  def_of_vector(c, "class_log_distribution",
                texts::ClassFactoredSoftmaxBuilder_class_log_distribution,
                [](const Py& b, bool update, const Expression& x) {
                  return b.get(update).class_log_distribution(x, here());
                });
  def_of_index(c, "subclass_logits", "classid",
               "def subclass_logits(self, x: Expression, classid: int, update: bool = True) -> "
               "Expression",
               texts::ClassFactoredSoftmaxBuilder_subclass_logits,
               [](const Py& b, bool update, const Expression& x, unsigned id) {
                 return b.get(update).subclass_logits(x, id, here());
               });
  def_of_index(c, "subclass_log_distribution", "classid",
               "def subclass_log_distribution(self, x: Expression, classid: int, update: bool = "
               "True) -> Expression",
               texts::ClassFactoredSoftmaxBuilder_subclass_log_distribution,
               [](const Py& b, bool update, const Expression& x, unsigned id) {
                 return b.get(update).subclass_log_distribution(x, id, here());
               });
}

SampledLoss loss_of(const std::string& name) {
  if (name == "nce") {
    return SampledLoss::kNce;
  }
  if (name == "sampled_softmax") {
    return SampledLoss::kSampledSoftmax;
  }
  if (name == "blackout") {
    return SampledLoss::kBlackOut;
  }
  throw errors::ValueError("SampledSoftmaxBuilder: loss is '" + name +
                           "'; want nce, sampled_softmax or blackout");
}

void bind_sampled(nb::module_& m) {
  using nb::arg;
  using Py = PySampledSoftmaxBuilder;
  nb::class_<Py, PySoftmaxBuilder> c(m, "SampledSoftmaxBuilder", texts::SampledSoftmaxBuilder);
  def_init(
      c,
      +[](unsigned input_dim, const std::vector<double>& counts, unsigned samples,
          ParameterCollection& pc, const std::string& loss, double alpha,
          bool bias) -> std::unique_ptr<SoftmaxBuilder> {
        return std::make_unique<SampledSoftmaxBuilder>(input_dim, NoiseDistribution(counts, alpha),
                                                       samples, loss_of(loss), pc, bias);
      },
      arg("input_dim"), arg("counts"), arg("samples"), arg("pc"), arg("loss") = "sampled_softmax",
      arg("alpha") = 0.75, arg("bias") = true);
  def_of_index(c, "sampled_loss", "c",
               "def sampled_loss(self, x: Expression, c: int, update: bool = True) -> Expression",
               texts::SampledSoftmaxBuilder_sampled_loss,
               [](const Py& b, bool update, const Expression& x, unsigned word) {
                 return b.get(update).sampled_loss(x, word, here());
               });
  def_of_indices(
      c, "sampled_loss_batch",
      "def sampled_loss_batch(self, x: Expression, c: collections.abc.Iterable[int], "
      "update: bool = True) -> Expression",
      texts::SampledSoftmaxBuilder_sampled_loss_2,
      [](const Py& b, bool update, const Expression& x, const std::vector<unsigned>& words) {
        return b.get(update).sampled_loss(x, words, here());
      });
  c.def(
       "resample", [](const Py& b) { b.get(true).resample(); },
       texts::SampledSoftmaxBuilder_resample)
      .def(
          "set_noise",
          [](const Py& b, nb::handle words) { b.get(true).set_noise(read_indices(words)); },
          arg("words"),
          nb::sig("def set_noise(self, words: collections.abc.Iterable[int]) -> None"),
          texts::SampledSoftmaxBuilder_set_noise)
      .def(
          "noise", [](const Py& b) { return b.get(true).noise(); },
          texts::SampledSoftmaxBuilder_noise);
}

void bind_adaptive(nb::module_& m) {
  using nb::arg;
  nb::class_<PyAdaptiveSoftmaxBuilder, PySoftmaxBuilder> c(m, "AdaptiveSoftmaxBuilder",
                                                           texts::AdaptiveSoftmaxBuilder);
  def_init(
      c,
      +[](unsigned input_dim, unsigned num_classes, const IndexListArg& cutoffs,
          ParameterCollection& pc, float div_value, bool bias) -> std::unique_ptr<SoftmaxBuilder> {
        return std::make_unique<AdaptiveSoftmaxBuilder>(input_dim, num_classes, cutoffs.list, pc,
                                                        div_value, bias);
      },
      arg("input_dim"), arg("num_classes"), arg("cutoffs"), arg("pc"), arg("div_value") = 4.0F,
      arg("bias") = true);
}

}  // namespace

void Clusters::read() {
  if (!file.has_value()) {
    return;
  }
  called = std::move(*file);
  file.reset();
  std::ifstream in(called, std::ios::binary);
  if (!in) {
    throw errors::ValueError("'" + called + "': the file of clusters cannot be opened");
  }
  for (std::string line; std::getline(in, line);) {
    text.append(line).append("\n");
  }
  if (in.bad()) {
    throw errors::ValueError("'" + called + "': the file of clusters cannot be read");
  }
}

void bind_softmax_builders(nb::module_& m) {
  using nb::arg;
  bind_softmax_base(m);
  nb::class_<PyStandardSoftmaxBuilder, PySoftmaxBuilder> standard(m, "StandardSoftmaxBuilder",
                                                                  texts::StandardSoftmaxBuilder);
  def_init(
      standard,
      +[](unsigned input_dim, unsigned num_classes, ParameterCollection& pc,
          bool bias) -> std::unique_ptr<SoftmaxBuilder> {
        return std::make_unique<StandardSoftmaxBuilder>(input_dim, num_classes, pc, bias);
      },
      arg("input_dim"), arg("num_classes"), arg("pc"), arg("bias") = true);
  bind_class_factored(m);
  bind_adaptive(m);
  bind_sampled(m);
  nb::class_<PyHierarchicalSoftmaxBuilder, PySoftmaxBuilder> hierarchical(
      m, "HierarchicalSoftmaxBuilder", texts::HierarchicalSoftmaxBuilder);
  def_init(hierarchical, &make_of_clusters<HierarchicalSoftmaxBuilder>, arg("input_dim"),
           arg("cluster_file"), arg("dict"), arg("pc"));
}

}  // namespace dynet::python

namespace nanobind::detail {

using dynet::python::Clusters;

bool type_caster<Clusters>::from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept
    try {
  using namespace dynet::python;  // NOLINT(google-build-using-namespace): this is its caster
  if (PyUnicode_Check(src.ptr())) {
    make_caster<std::string> name;
    if (!name.from_python(src, flags, cleanup)) {
      refuse(src.ptr(), "the name of a file");
      return refused(flags);
    }
    value.file = std::move(name.value);
    return true;
  }
  const object lines = read_sequence(src.ptr(), "the name of a file, or a list of its lines");
  if (!lines.is_valid()) {
    return refused(flags);
  }
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(lines.ptr());
  for (Py_ssize_t i = 0; i < count; ++i) {
    const auto held = entry_of(lines.ptr(), i);
    PyObject* const line = held.ptr();
    if (PyUnicode_Check(line) == 0 || !append_line(value.text, line)) {
      refuse(line, "a line of a file");
      refuse_entry(src.ptr(), i);
      return refused(flags);
    }
  }
  return true;
} catch (const std::bad_alloc&) {
  return dynet::python::refuse_too_large();
}

handle type_caster<Clusters>::from_cpp(const Clusters& clusters, rv_policy /*policy*/,
                                       cleanup_list* /*cleanup*/) noexcept {
  const std::string& text = clusters.text;
  object lines = steal(PyList_New(0));
  if (!lines.is_valid()) {
    return {};
  }
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const object line = steal(PyUnicode_DecodeUTF8(
        text.data() + begin, static_cast<Py_ssize_t>(end - begin), "surrogateescape"));
    if (!line.is_valid() || PyList_Append(lines.ptr(), line.ptr()) != 0) {
      return {};
    }
    begin = end + 1;
  }
  return lines.release();
}

}  // namespace nanobind::detail
