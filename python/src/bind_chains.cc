// Conditional random fields and CTC: the C++ functions of dynet/expr/chains.h.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "dynet/expr/chains.h"

#include "binding.h"
#include "graph.h"
#include "texts.h"
#include "where.h"

namespace dynet::python {
namespace {

using List = std::vector<unsigned>;
/// One list for all examples, or one for each.
using Lists = std::variant<List, std::vector<List>>;
using Optional = std::optional<ExprArg>;

void bind_crf(nb::module_& m) {
  using nb::arg;
  m.def(
      "crf_log_partition",
      [](const ExprArg& emissions, const ExprArg& transitions, const Optional& start,
         const Optional& end, const List& lengths) {
        return PyExpression(crf_log_partition(emissions.node(), transitions.node(), node_of(start),
                                              node_of(end), lengths, here()));
      },
      arg("emissions"), arg("transitions"), arg("start").none() = nb::none(),
      arg("end").none() = nb::none(), arg("lengths") = List(), texts::crf_log_partition);
  m.def(
      "crf_score",
      [](const ExprArg& emissions, const ExprArg& transitions, const Lists& tags,
         const Optional& start, const Optional& end) {
        return PyExpression(std::visit(
            [&](const auto& lists) {
              return crf_score(emissions.node(), transitions.node(), lists, node_of(start),
                               node_of(end), here());
            },
            tags));
      },
      arg("emissions"), arg("transitions"), arg("tags"), arg("start").none() = nb::none(),
      arg("end").none() = nb::none(), texts::crf_score);
  m.def(
      "crf_viterbi",
      [](const ExprArg& emissions, const ExprArg& transitions, const Optional& start,
         const Optional& end, const List& lengths) {
        const auto [tags, score] = crf_viterbi(emissions.node(), transitions.node(), node_of(start),
                                               node_of(end), lengths, here());
        return std::make_pair(PyExpression(tags), PyExpression(score));
      },
      arg("emissions"), arg("transitions"), arg("start").none() = nb::none(),
      arg("end").none() = nb::none(), arg("lengths") = List(), texts::crf_viterbi);
}

}  // namespace

void bind_chains(nb::module_& m) {
  using nb::arg;
  bind_crf(m);
  m.def(
      "ctc_loss",
      [](const ExprArg& log_probs, const Lists& labels, const List& lengths, unsigned blank) {
        return PyExpression(std::visit(
            [&](const auto& lists) {
              return ctc_loss(log_probs.node(), lists, lengths, blank, here());
            },
            labels));
      },
      arg("log_probs"), arg("labels"), arg("lengths") = List(), arg("blank") = 0U, texts::ctc_loss);
}

}  // namespace dynet::python
