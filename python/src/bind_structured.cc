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
#include "texts.h"
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
  const char* doc_of_batch;
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
      nb::sig(many.c_str()), kSearch->doc_of_batch);
}

constexpr Search kSpanningTree{"max_spanning_tree", &max_spanning_tree<>, texts::max_spanning_tree,
                               texts::max_spanning_tree_2};
constexpr Search kEisner{"eisner", &eisner<>, texts::eisner, texts::eisner_2};

void bind_cky(nb::module_& m) {
  using nb::arg;
  m.def(
      "cky",
      [](nb::handle scores) { return span_list(cky(Scores("cky", scores, 3, false).view())); },
      arg("scores"),
      nb::sig("def cky(scores: Expression | numpy.typing.ArrayLike) -> list[tuple[int, int, int]]"),
      texts::cky);
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
      texts::cky);
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
      texts::spanning_tree_log_partition);
  m.def(
      "eisner_log_partition",
      [](const ExprArg& scores, const List& lengths, bool single_root) {
        return PyExpression(eisner_log_partition(scores.node(), lengths, single_root, here()));
      },
      arg("scores"), arg("lengths") = List(), arg("single_root") = true,
      texts::eisner_log_partition);
  m.def(
      "tree_score",
      [](const ExprArg& scores, const Lists& heads) {
        return PyExpression(std::visit(
            [&](const auto& some) { return tree_score(scores.node(), some, here()); }, heads));
      },
      arg("scores"), arg("heads"), texts::tree_score);
  m.def(
      "cky_log_partition",
      [](const ExprArg& scores, const List& lengths) {
        return PyExpression(cky_log_partition(scores.node(), lengths, here()));
      },
      arg("scores"), arg("lengths") = List(), texts::cky_log_partition);
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
      texts::spans_score);
}

}  // namespace

void bind_structured(nb::module_& m) {
  bind_search<&kSpanningTree>(m);
  bind_search<&kEisner>(m);
  bind_cky(m);
  bind_sums(m);
}

}  // namespace dynet::python
