// Softmaxes over many words.

#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dynet/hsm-builder.h"

#include "binding.h"
#include "graph.h"
#include "where.h"

namespace dynet::python {
namespace {

struct PySoftmaxBuilder {
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

/// The dictionary of words and their ids, which must be 0, 1, 2, ...
Dict words_of(const nb::dict& ids) {
  std::vector<std::string> words(ids.size());
  std::vector<char> is_set(ids.size(), 0);
  for (const auto& [key, value] : ids) {
    const auto word = nb::cast<std::string>(key);
    const unsigned id = read_index(value);
    if (id >= words.size() || is_set[id] != 0) {
      throw ValueError("dict: '" + word + "' has id " + std::to_string(id) +
                       "; want each of 0 to " + std::to_string(words.size()) + ", exclusive, once");
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
std::unique_ptr<SoftmaxBuilder> make_of_file(unsigned input_dim, const std::string& file,
                                             const nb::dict& ids, ParameterCollection& pc,
                                             Options... options) {
  Dict dict = words_of(ids);
  const unsigned known = dict.size();
  auto builder = std::make_unique<Builder>(input_dim, file, dict, pc, options...);
  for (unsigned id = known; id < dict.size(); ++id) {
    ids[nb::cast(dict.convert(static_cast<int>(id)))] = nb::cast(id);
  }
  return builder;
}

void bind_base(nb::module_& m) {
  using nb::arg;
  nb::class_<PySoftmaxBuilder>(m, "SoftmaxBuilder",
                               "A distribution over words (or other classes), given a vector. "
                               "Without `update` its parameters get no gradient.")
      .def(
          "neg_log_softmax",
          [](const PySoftmaxBuilder& b, const ExprArg& x, nb::handle c, bool update) {
            const unsigned word = read_index(c);
            return PyExpression(b.in_graph(update).neg_log_softmax(x.node(), word, here()));
          },
          arg("x"), arg("c"), arg("update") = true,
          nb::sig("def neg_log_softmax(self, x: Expression, c: int, update: bool = True) -> "
                  "Expression"),
          "The negative log likelihood of a word.")
      .def(
          "neg_log_softmax_batch",
          [](const PySoftmaxBuilder& b, const ExprArg& x, nb::handle c, bool update) {
            const std::vector<unsigned> words = read_indices(c);
            return PyExpression(b.in_graph(update).neg_log_softmax(x.node(), words, here()));
          },
          arg("x"), arg("c"), arg("update") = true,
          nb::sig("def neg_log_softmax_batch(self, x: Expression, c: "
                  "collections.abc.Iterable[int], update: bool = True) -> Expression"),
          "The negative log likelihoods of a batch, a word for each example.")
      .def(
          "sample",
          [](const PySoftmaxBuilder& b, const ExprArg& x) {
            return b.in_graph(true).sample(x.node(), here());
          },
          arg("x"), "A word drawn from the distribution.")
      .def(
          "full_log_distribution",
          [](const PySoftmaxBuilder& b, const ExprArg& x, bool update) {
            return PyExpression(b.in_graph(update).full_log_distribution(x.node(), here()));
          },
          arg("x"), arg("update") = true, "The logarithms of the probabilities of all words.")
      .def(
          "full_logits",
          [](const PySoftmaxBuilder& b, const ExprArg& x, bool update) {
            return PyExpression(b.in_graph(update).full_logits(x.node(), here()));
          },
          arg("x"), arg("update") = true, "Scores of all words, whose softmax is the distribution.")
      .def(
          "param_collection",
          [](const PySoftmaxBuilder& b) { return b.builder->get_parameter_collection(); },
          "The collection of the builder's parameters.");
}

void bind_class_factored(nb::module_& m) {
  using nb::arg;
  using Py = PyClassFactoredSoftmaxBuilder;
  nb::class_<Py, PySoftmaxBuilder>(
      m, "ClassFactoredSoftmaxBuilder",
      "The softmax in two steps: first the word's class, then the word among those of its class. "
      "Each line of the file is a class and a word; `dict` maps words to ids 0, 1, 2, ..., and "
      "words that it lacks are entered.")
      .def(
          "__init__",
          [](Py* self, unsigned input_dim, const std::string& cluster_file, const nb::dict& dict,
             ParameterCollection& pc, bool bias) {
            auto builder =
                make_of_file<ClassFactoredSoftmaxBuilder>(input_dim, cluster_file, dict, pc, bias);
            (new (self) Py)->builder = std::move(builder);
          },
          arg("input_dim"), arg("cluster_file"), arg("dict"), arg("pc"), arg("bias") = true)
      .def(
          "class_logits",
          [](const Py& b, const ExprArg& x, bool update) {
            return PyExpression(b.get(update).class_logits(x.node(), here()));
          },
          arg("x"), arg("update") = true, "Scores of the classes.")
      .def(
          "class_log_distribution",
          [](const Py& b, const ExprArg& x, bool update) {
            return PyExpression(b.get(update).class_log_distribution(x.node(), here()));
          },
          arg("x"), arg("update") = true, "The logarithms of the classes' probabilities.")
      .def(
          "subclass_logits",
          [](const Py& b, const ExprArg& x, nb::handle classid, bool update) {
            const unsigned id = read_index(classid);
            return PyExpression(b.get(update).subclass_logits(x.node(), id, here()));
          },
          arg("x"), arg("classid"), arg("update") = true,
          nb::sig("def subclass_logits(self, x: Expression, classid: int, update: bool = True) -> "
                  "Expression"),
          "Scores of the words of a class.")
      .def(
          "subclass_log_distribution",
          [](const Py& b, const ExprArg& x, nb::handle classid, bool update) {
            const unsigned id = read_index(classid);
            return PyExpression(b.get(update).subclass_log_distribution(x.node(), id, here()));
          },
          arg("x"), arg("classid"), arg("update") = true,
          nb::sig("def subclass_log_distribution(self, x: Expression, classid: int, update: bool = "
                  "True) -> Expression"),
          "The logarithms of the probabilities of a class's words, given the class.");
}

}  // namespace

void bind_softmax_builders(nb::module_& m) {
  using nb::arg;
  bind_base(m);
  nb::class_<PyStandardSoftmaxBuilder, PySoftmaxBuilder>(m, "StandardSoftmaxBuilder",
                                                         "The plain softmax: softmax(W x + b).")
      .def(
          "__init__",
          [](PyStandardSoftmaxBuilder* self, unsigned input_dim, unsigned num_classes,
             ParameterCollection& pc, bool bias) {
            auto builder =
                std::make_unique<StandardSoftmaxBuilder>(input_dim, num_classes, pc, bias);
            (new (self) PyStandardSoftmaxBuilder)->builder = std::move(builder);
          },
          arg("input_dim"), arg("num_classes"), arg("pc"), arg("bias") = true);
  bind_class_factored(m);
  nb::class_<PyHierarchicalSoftmaxBuilder, PySoftmaxBuilder>(
      m, "HierarchicalSoftmaxBuilder",
      "The softmax as a walk down a tree. Each line of the file is symbols between spaces, which "
      "lead to the word, a tab and the word; `dict` maps words to ids 0, 1, 2, ..., and words that "
      "it lacks are entered.")
      .def(
          "__init__",
          [](PyHierarchicalSoftmaxBuilder* self, unsigned input_dim,
             const std::string& cluster_file, const nb::dict& dict, ParameterCollection& pc) {
            auto builder =
                make_of_file<HierarchicalSoftmaxBuilder>(input_dim, cluster_file, dict, pc);
            (new (self) PyHierarchicalSoftmaxBuilder)->builder = std::move(builder);
          },
          arg("input_dim"), arg("cluster_file"), arg("dict"), arg("pc"));
}

}  // namespace dynet::python
