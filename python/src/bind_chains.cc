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
      arg("end").none() = nb::none(), arg("lengths") = List(),
      "Logarithm of the partition function of a linear-chain CRF: of the sum of exp(score) over "
      "all "
      "sequences of tags. Emissions are {tags,steps}, transitions {tags,tags} with element (i, j) "
      "for the step from tag j to tag i, start and end {tags}. The gradients are the marginals. "
      "`lengths`: of a batch of padded sequences, how many steps of each count.");
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
      arg("end").none() = nb::none(),
      "Score of a sequence of tags in a linear-chain CRF, with the arguments of "
      "`crf_log_partition`. `tags`: one list for all examples, or one for each; if a list is "
      "shorter than the sequence, the first steps count.");
  m.def(
      "crf_viterbi",
      [](const ExprArg& emissions, const ExprArg& transitions, const Optional& start,
         const Optional& end, const List& lengths) {
        const auto [tags, score] = crf_viterbi(emissions.node(), transitions.node(), node_of(start),
                                               node_of(end), lengths, here());
        return std::make_pair(PyExpression(tags), PyExpression(score));
      },
      arg("emissions"), arg("transitions"), arg("start").none() = nb::none(),
      arg("end").none() = nb::none(), arg("lengths") = List(),
      "The best sequence of tags of a linear-chain CRF, as numbers, and its score. The arguments "
      "are the same as for `crf_log_partition`. Of equally good sequences the lowest tag at the "
      "last step wins, then at the step before, and so on; tags after the end of a sequence are "
      "0.");
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
      arg("log_probs"), arg("labels"), arg("lengths") = List(), arg("blank") = 0U,
      "Loss of connectionist temporal classification: -ln of the probability that a sequence of "
      "classes gives these labels after equal neighbours become one and blanks are left out. Takes "
      "log-probabilities {classes,steps}: `log_softmax(x)` of plain scores. `labels`: one list for "
      "all examples, or one for each; an empty list means blanks at all steps. `lengths`: for a "
      "batch of padded sequences, the number of steps of each. Infinite, without a gradient, if "
      "there are too few steps for the labels.");
}

}  // namespace dynet::python
