// Conditional random fields as builders: over tags, and over segments.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "dynet/crf-builder.h"
#include "dynet/semi-crf-builder.h"

#include "arrays.h"
#include "binding.h"
#include "graph.h"
#include "held.h"
#include "lists.h"
#include "texts.h"
#include "where.h"

namespace dynet::python {
namespace {

using List = std::vector<unsigned>;

std::pair<nb::list, float> pair_of(const ScoredTags& best) {
  nb::list tags;
  for (const unsigned tag : best.tags) {
    tags.append(tag);
  }
  return {tags, best.score};
}

nb::list scored_list(const std::vector<ScoredTags>& several) {
  nb::list list;
  for (const ScoredTags& best : several) {
    const auto [tags, score] = pair_of(best);
    list.append(nb::make_tuple(tags, score));
  }
  return list;
}

nb::class_<Held<CRFBuilder>> define_crf(nb::module_& m) {
  using nb::arg;
  using Py = Held<CRFBuilder>;
  auto c = define_held<CRFBuilder>(m, "CRFBuilder");
  def_init(c, &make_held<CRFBuilder, unsigned>, arg("tags"), arg("model"));
  c.def(
       "forbid",
       [](Py& b, unsigned from, unsigned to) {
         b.builder.forbid(from, to);
         b.set(std::to_string(from) + " to " + std::to_string(to), "forbid", from, to);
       },
       arg("before"), arg("after"), texts::CRFBuilder_forbid)
      .def(
          "forbid_start",
          [](Py& b, unsigned tag) {
            b.builder.forbid_start(tag);
            b.set("start " + std::to_string(tag), "forbid_start", tag);
          },
          arg("tag"), texts::CRFBuilder_forbid_start)
      .def(
          "forbid_end",
          [](Py& b, unsigned tag) {
            b.builder.forbid_end(tag);
            b.set("end " + std::to_string(tag), "forbid_end", tag);
          },
          arg("tag"), texts::CRFBuilder_forbid_end)
      .def(
          "forbid_bio",
          [](Py& b, const TextListArg& tags) {
            b.builder.forbid_bio(tags.list);
            b.set("bio", "forbid_bio", tags.list);
          },
          arg("tags"), texts::CRFBuilder_forbid_bio)
      .def(
          "neg_log_likelihood",
          [](Py& b, const ExprArg& scores, const List& tags) {
            return PyExpression(b.live().neg_log_likelihood(scores.node(), tags, here()));
          },
          arg("scores"), arg("tags"), texts::CRFBuilder_neg_log_likelihood)
      .def(
          "neg_log_likelihood",
          [](Py& b, const ExprArg& scores, const std::vector<List>& tags) {
            return PyExpression(b.live().neg_log_likelihood(scores.node(), tags, here()));
          },
          arg("scores"), arg("tags"), texts::CRFBuilder_neg_log_likelihood_2);
  return c;
}

void bind_crf_lists(nb::class_<Held<CRFBuilder>>& c) {
  using nb::arg;
  using Py = Held<CRFBuilder>;
  c.def(
       "n_best",
       [](Py& b, const ExprArg& scores, unsigned n) {
         return scored_list(b.live().n_best(scores.node(), n, here()));
       },
       arg("scores"), arg("n"),
       nb::sig("def n_best(self, scores: Expression, n: int) -> list[tuple[list[int], float]]"),
       texts::CRFBuilder_n_best)
      .def(
          "n_best",
          [](Py& b, const ExprArg& scores, unsigned n, const List& lengths) {
            nb::list all;
            for (const auto& best : b.live().n_best(scores.node(), n, lengths, here())) {
              all.append(scored_list(best));
            }
            return all;
          },
          arg("scores"), arg("n"), arg("lengths"),
          nb::sig("def n_best(self, scores: Expression, n: int, lengths: "
                  "collections.abc.Sequence[int]) -> list[list[tuple[list[int], float]]]"),
          texts::CRFBuilder_n_best_2)
      .def(
          "marginals",
          [](Py& b, const ExprArg& scores, const List& lengths) {
            const Expression x = scores.node();
            const std::vector<float> shares = b.live().marginals(x, lengths, here());
            return copied_array(x.dim(), false, shares.data());
          },
          arg("scores"), arg("lengths") = List(),
          nb::sig("def marginals(self, scores: Expression, lengths: "
                  "collections.abc.Sequence[int] = []) -> numpy.ndarray"),
          texts::CRFBuilder_marginals);
}

void bind_crf_builder(nb::module_& m) {
  using nb::arg;
  using Py = Held<CRFBuilder>;
  auto c = define_crf(m);
  bind_crf_lists(c);
  c.def(
       "viterbi",
       [](Py& b, const ExprArg& scores) {
         const auto [tags, score] = pair_of(b.live().viterbi(scores.node(), here()));
         return nb::make_tuple(tags, score);
       },
       arg("scores"), nb::sig("def viterbi(self, scores: Expression) -> tuple[list[int], float]"),
       texts::CRFBuilder_viterbi)
      .def(
          "viterbi",
          [](Py& b, const ExprArg& scores, const List& lengths) {
            return scored_list(b.live().viterbi(scores.node(), lengths, here()));
          },
          arg("scores"), arg("lengths"),
          nb::sig("def viterbi(self, scores: Expression, lengths: collections.abc.Sequence[int]) "
                  "-> list[tuple[list[int], float]]"),
          texts::CRFBuilder_viterbi_2)
      .def(
          "best_path",
          [](Py& b, const ExprArg& scores, const List& lengths) {
            const auto [tags, score] = b.live().best_path(scores.node(), lengths, here());
            return nb::make_tuple(make_expression(tags), make_expression(score));
          },
          arg("scores"), arg("lengths") = List(),
          nb::sig("def best_path(self, scores: Expression, lengths: "
                  "collections.abc.Sequence[int] = []) -> tuple[Expression, Expression]"),
          texts::CRFBuilder_best_path);
}

// ---- segments

using Segments = std::vector<LabelledSpan>;

Segments segments_of(const std::vector<List>& triples) {
  return spans_of("SemiCRFBuilder: a segment", triples);
}

nb::tuple scored_segments(const ScoredSegments& best) {
  return nb::make_tuple(span_list(best.segments), best.score);
}

using Semi = Held<SemiCRFBuilder>;

void bind_segment_losses(nb::class_<Semi>& c) {
  using nb::arg;
  c.def(
       "segment_scores",
       [](Semi& b, const ExprArg& emissions) {
         return PyExpression(b.live().segment_scores(emissions.node(), here()));
       },
       arg("emissions"), texts::SemiCRFBuilder_segment_scores)
      .def(
          "neg_log_likelihood",
          [](Semi& b, const ExprArg& scores, const std::vector<List>& segments) {
            return PyExpression(
                b.live().neg_log_likelihood(scores.node(), segments_of(segments), here()));
          },
          arg("scores"), arg("segments"),
          nb::sig("def neg_log_likelihood(self, scores: Expression, segments: "
                  "collections.abc.Sequence[tuple[int, int, int]]) -> Expression"),
          texts::SemiCRFBuilder_neg_log_likelihood)
      .def(
          "neg_log_likelihood",
          [](Semi& b, const ExprArg& scores, const std::vector<std::vector<List>>& segments) {
            std::vector<Segments> lists;
            lists.reserve(segments.size());
            for (const std::vector<List>& list : segments) {
              lists.push_back(segments_of(list));
            }
            return PyExpression(b.live().neg_log_likelihood(scores.node(), lists, here()));
          },
          arg("scores"), arg("segments"),
          nb::sig("def neg_log_likelihood(self, scores: Expression, segments: "
                  "collections.abc.Sequence[collections.abc.Sequence[tuple[int, int, int]]]) -> "
                  "Expression"),
          texts::SemiCRFBuilder_neg_log_likelihood_2);
}

void bind_semi_crf(nb::module_& m) {
  using nb::arg;
  auto c = define_held<SemiCRFBuilder>(m, "SemiCRFBuilder");
  def_init(c, &make_held<SemiCRFBuilder, unsigned, unsigned>, arg("labels"), arg("max_length"),
           arg("model"));
  bind_segment_losses(c);
  c.def(
       "viterbi",
       [](Semi& b, const ExprArg& scores) {
         return scored_segments(b.live().viterbi(scores.node(), here()));
       },
       arg("scores"),
       nb::sig("def viterbi(self, scores: Expression) -> tuple[list[tuple[int, int, int]], float]"),
       texts::SemiCRFBuilder_viterbi)
      .def(
          "viterbi",
          [](Semi& b, const ExprArg& scores, const List& lengths) {
            nb::list all;
            for (const ScoredSegments& best : b.live().viterbi(scores.node(), lengths, here())) {
              all.append(scored_segments(best));
            }
            return all;
          },
          arg("scores"), arg("lengths"),
          nb::sig("def viterbi(self, scores: Expression, lengths: collections.abc.Sequence[int]) "
                  "-> list[tuple[list[tuple[int, int, int]], float]]"),
          texts::SemiCRFBuilder_viterbi_2);
}

}  // namespace

void bind_crf_builders(nb::module_& m) {
  bind_crf_builder(m);
  bind_semi_crf(m);
}

}  // namespace dynet::python
