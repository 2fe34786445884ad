// Trees of sentences: the searches of dynet/structured.h, and the sums of dynet/expr/trees.h.

#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <variant>
#include <vector>

#include "dynet/structured.h"

#include "arrays.h"
#include "binding.h"
#include "graph.h"
#include "lists.h"
#include "where.h"

namespace dynet::python {
namespace {

using List = std::vector<unsigned>;
using Lists = std::variant<List, std::vector<List>>;
using Trees = std::vector<List>;

/// The numbers of scores, and a view of them. An array has `axes` axes, and one more in a batch.
class Scores {
 public:
  Scores(const char* name, nb::handle given, unsigned axes, bool is_batch) {
    if (is_expression(given.ptr())) {
      view_ = resolve(instance<PyExpression>(given)).value();
      return;
    }
    array_ = read_array(given);
    if (array_.shape.size() != axes && !(is_batch && array_.shape.size() == axes + 1)) {
      throw errors::ShapeError(std::string(name) + ": scores are an array with " +
                               std::to_string(array_.shape.size()) + " axes; want " +
                               std::to_string(axes) +
                               (is_batch ? ", and one more for the examples" : ""));
    }
    view_ = Tensor(array_.dim(array_.shape.size() > axes), const_cast<float*>(array_.data), nullptr,
                   DeviceMempool::NONE);
  }
  [[nodiscard]] const Tensor& view() const { return view_; }

 private:
  FloatArray array_;
  Tensor view_;
};

// ---- searches

struct Search {
  const char* name;
  Trees (*best)(const Tensor&, const List&, bool);
  const char* doc;
};

template <const Search* kSearch>
void bind_search(nb::module_& m) {
  using nb::arg;
  static const std::string one = "def " + std::string(kSearch->name) +
                                 "(scores: Expression | numpy.typing.ArrayLike, *, single_root: "
                                 "bool = True) -> list[int]";
  static const std::string many =
      "def " + std::string(kSearch->name) +
      "(scores: Expression | numpy.typing.ArrayLike, lengths: collections.abc.Sequence[int], *, "
      "single_root: bool = True) -> list[list[int]]";
  m.def(
      kSearch->name,
      [](nb::handle scores, bool single_root) {
        const Scores read(kSearch->name, scores, 2, false);
        if (read.view().d.bd != 1) {
          throw errors::ShapeError(std::string(kSearch->name) + ": scores are " +
                                   to_string(read.view().d) +
                                   "; want one example, or the lengths of a batch");
        }
        return kSearch->best(read.view(), {}, single_root)[0];
      },
      arg("scores"), nb::kw_only(), arg("single_root") = true, nb::sig(one.c_str()), kSearch->doc);
  m.def(
      kSearch->name,
      [](nb::handle scores, const List& lengths, bool single_root) {
        return kSearch->best(Scores(kSearch->name, scores, 2, true).view(), lengths, single_root);
      },
      arg("scores"), arg("lengths"), nb::kw_only(), arg("single_root") = true,
      nb::sig(many.c_str()),
      "The trees of a batch of padded sentences, which have these numbers of words.");
}

constexpr Search kSpanningTree{
    "max_spanning_tree", &max_spanning_tree<>,
    "The best dependency tree, with crossing arcs too (Chu and Liu, 1965; Edmonds, 1967): the head "
    "of each word, 0 for the root, h for word h - 1. Scores {words+1,words}, an expression or an "
    "array, have a column for each word, and a row for each head: first the root, then the words. "
    "With `single_root` one word stands at the root. A score of -inf forbids an arc. n words take "
    "n^2 steps."};
constexpr Search kEisner{
    "eisner", &eisner<>,
    "The best dependency tree without crossing arcs (Eisner, 1996). Arguments and result are the "
    "same as for `max_spanning_tree`. n words take n^3 steps."};

void bind_cky(nb::module_& m) {
  using nb::arg;
  m.def(
      "cky",
      [](nb::handle scores) { return span_list(cky(Scores("cky", scores, 3, false).view())); },
      arg("scores"),
      nb::sig("def cky(scores: Expression | numpy.typing.ArrayLike) -> list[tuple[int, int, int]]"),
      "The best binary tree of constituents: its spans (label, begin, end), `end` behind the last "
      "word, a span before the spans in it. Scores {words,words,labels}, an expression or an "
      "array: element (i, j, l) is for the words i to j with label l. A score of -inf forbids a "
      "span. n words take n^3 steps.");
  m.def(
      "cky",
      [](nb::handle scores, const List& lengths) {
        nb::list all;
        for (const std::vector<LabelledSpan>& spans :
             cky(Scores("cky", scores, 3, true).view(), lengths)) {
          all.append(span_list(spans));
        }
        return all;
      },
      arg("scores"), arg("lengths"),
      nb::sig("def cky(scores: Expression | numpy.typing.ArrayLike, lengths: "
              "collections.abc.Sequence[int]) -> list[list[tuple[int, int, int]]]"),
      "The trees of a batch of padded sentences, which have these numbers of words.");
}

// ---- sums

void bind_sums(nb::module_& m) {
  using nb::arg;
  m.def(
      "spanning_tree_log_partition",
      [](const ExprArg& scores, const List& lengths, bool single_root) {
        return PyExpression(
            spanning_tree_log_partition(scores.node(), lengths, single_root, here()));
      },
      arg("scores"), arg("lengths") = List(), arg("single_root") = true,
      "Logarithm of the sum over all dependency trees of exp(score), with crossing arcs too (the "
      "matrix-tree theorem; Koo et al., 2007). Scores are {words+1,words}, as for "
      "`max_spanning_tree`; the gradients are the probabilities of the arcs. `lengths`: of a batch "
      "of padded sentences, how many words each has.");
  m.def(
      "eisner_log_partition",
      [](const ExprArg& scores, const List& lengths, bool single_root) {
        return PyExpression(eisner_log_partition(scores.node(), lengths, single_root, here()));
      },
      arg("scores"), arg("lengths") = List(), arg("single_root") = true,
      "Logarithm of the sum over all dependency trees without crossing arcs. The arguments are the "
      "same as for `spanning_tree_log_partition`.");
  m.def(
      "tree_score",
      [](const ExprArg& scores, const Lists& heads) {
        return PyExpression(std::visit(
            [&](const auto& some) { return tree_score(scores.node(), some, here()); }, heads));
      },
      arg("scores"), arg("heads"),
      "Sum of the scores {words+1,words} of the arcs of a dependency tree. `heads`: the head of "
      "each word, 0 for the root, h for word h - 1; one list for all examples, or one for each, as "
      "long as its sentence.");
  m.def(
      "cky_log_partition",
      [](const ExprArg& scores, const List& lengths) {
        return PyExpression(cky_log_partition(scores.node(), lengths, here()));
      },
      arg("scores"), arg("lengths") = List(),
      "Logarithm of the sum over all binary trees of constituents, each span with each label. "
      "Scores are {words,words,labels}, as for `cky`; the gradients are the probabilities of the "
      "labelled spans. `lengths`: of a batch of padded sentences, how many words each has.");
  m.def(
      "spans_score",
      [](const ExprArg& scores,
         const std::variant<std::vector<List>, std::vector<std::vector<List>>>& spans) {
        if (const auto* one = std::get_if<0>(&spans)) {
          return PyExpression(
              spans_score(scores.node(), spans_of("spans_score: a span", *one), here()));
        }
        std::vector<std::vector<LabelledSpan>> lists;
        for (const std::vector<List>& list : std::get<1>(spans)) {
          lists.push_back(spans_of("spans_score: a span", list));
        }
        return PyExpression(spans_score(scores.node(), lists, here()));
      },
      arg("scores"), arg("spans"),
      nb::sig("def spans_score(scores: Expression, spans: collections.abc.Sequence[tuple[int, int, "
              "int]] | collections.abc.Sequence[collections.abc.Sequence[tuple[int, int, int]]]) "
              "-> Expression"),
      "Sum of the scores {words,words,labels} of some spans (label, begin, end), such as the spans "
      "of a tree; one list for all examples, or one for each.");
}

}  // namespace

void bind_structured(nb::module_& m) {
  bind_search<&kSpanningTree>(m);
  bind_search<&kEisner>(m);
  bind_cky(m);
  bind_sums(m);
}

}  // namespace dynet::python
