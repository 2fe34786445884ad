#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "dynet/except.h"
#include "dynet/expr/trees.h"

#include "api/tree_nodes.h"
#include "graph/graph.h"

namespace dynet {

namespace api {

unsigned words_of_arcs(const char* name, const Dim& d, Where where) {
  if (d.nd > 2 || d.cols() == 0 || d.rows() != d.cols() + 1) {
    throw errors::ShapeError(std::string(name) + ": scores are " + to_string(d) +
                             "; want {words+1,words}: a row for the root and for each word as a "
                             "head, a column for each word" +
                             graph::built_at(where));
  }
  return d.cols();
}

unsigned words_of_spans(const char* name, const Dim& d, Where where) {
  if (d.nd > 3 || d.rows() == 0 || d.rows() != d.cols() || d[2] == 0) {
    throw errors::ShapeError(std::string(name) + ": scores are " + to_string(d) +
                             "; want {words,words,labels} with a word and a label at least" +
                             graph::built_at(where));
  }
  return d.rows();
}

Expression sum_of_places(const Expression& x, const std::vector<std::vector<unsigned>>& places,
                         Where where) {
  const Building b(x, where);
  std::size_t n = 0;
  for (const std::vector<unsigned>& list : places) {
    n = std::max(n, list.size());
  }
  std::vector<unsigned> all;
  std::vector<float> counts;
  for (const std::vector<unsigned>& list : places) {
    all.insert(all.end(), list.begin(), list.end());
    all.resize(all.size() + n - list.size());
    counts.insert(counts.end(), list.size(), 1.0F);
    counts.resize(all.size());
  }
  Expression picked = gather(b.flat(x), all, static_cast<unsigned>(n), 0, where);
  if (std::find(counts.begin(), counts.end(), 0.0F) != counts.end()) {
    const Dim d({static_cast<unsigned>(n)}, static_cast<unsigned>(places.size()));
    picked = b.chosen(b.numbers(d, counts), picked, b.nothing({1}));
  }
  return sum_elems(picked, where);
}

}  // namespace api

namespace {

[[noreturn]] void fail_lists(const char* name, const std::string& text, Where where) {
  throw errors::ValueError(std::string(name) + ": " + text + graph::built_at(where));
}

template <class List>
void check_lists(const char* name, const char* argument, const Dim& d,
                 const std::vector<List>& lists, Where where) {
  if (lists.size() != 1 && (lists.empty() || (d.bd != 1 && lists.size() != d.bd))) {
    fail_lists(name,
               "scores are " + to_string(d) + " and " + argument + " has " +
                   std::to_string(lists.size()) + " lists; want one, or one for each example",
               where);
  }
  for (const List& list : lists) {
    if (list.empty()) {
      fail_lists(name, std::string("a list of ") + argument + " is empty; want one entry at least",
                 where);
    }
  }
}

/// ValueError unless each word is below the root.
void check_tree(const std::vector<unsigned>& heads, Where where) {
  for (std::size_t d = 0; d < heads.size(); ++d) {
    if (heads[d] > heads.size()) {
      throw errors::IndexError("tree_score: the head of word " + std::to_string(d) + " of " +
                               std::to_string(heads.size()) + " is " + std::to_string(heads[d]) +
                               "; want 0 for the root, or h for word h - 1" +
                               graph::built_at(where));
    }
  }
  std::vector<std::size_t> seen(heads.size() + 1);  // the walk that came by
  seen[0] = heads.size() + 1;
  for (std::size_t d = 1; d <= heads.size(); ++d) {
    std::size_t node = d;
    while (seen[node] == 0) {
      seen[node] = d;
      node = heads[node - 1];
    }
    if (seen[node] == d) {
      fail_lists("tree_score",
                 "heads are no tree: word " + std::to_string(node - 1) + " is below itself", where);
    }
  }
}

Expression score_of_trees(const Expression& scores, const std::vector<std::vector<unsigned>>& heads,
                          Where where) {
  const Dim& d = scores.dim();
  const unsigned words = api::words_of_arcs("tree_score", d, where);
  check_lists("tree_score", "heads", d, heads, where);
  std::vector<std::vector<unsigned>> places;
  for (const std::vector<unsigned>& list : heads) {
    if (list.size() > words) {
      fail_lists("tree_score",
                 "scores are " + to_string(d) + " and a list has " + std::to_string(list.size()) +
                     " heads; want at most " + std::to_string(words),
                 where);
    }
    check_tree(list, where);
    places.emplace_back();
    for (unsigned word = 0; word < list.size(); ++word) {
      places.back().push_back((word * (words + 1)) + list[word]);
    }
  }
  return api::sum_of_places(scores, places, where);
}

Expression score_of_spans(const Expression& scores,
                          const std::vector<std::vector<LabelledSpan>>& spans, Where where) {
  const Dim& d = scores.dim();
  const unsigned words = api::words_of_spans("spans_score", d, where);
  check_lists("spans_score", "spans", d, spans, where);
  std::vector<std::vector<unsigned>> places;
  for (const std::vector<LabelledSpan>& list : spans) {
    places.emplace_back();
    for (const LabelledSpan& s : list) {
      if (s.begin >= s.end || s.end > words || s.label >= d[2]) {
        throw errors::IndexError(
            "spans_score: scores are " + to_string(d) + " and there is no span (label " +
            std::to_string(s.label) + ", begin " + std::to_string(s.begin) + ", end " +
            std::to_string(s.end) + "); want begin < end <= " + std::to_string(words) +
            " and a label below " + std::to_string(d[2]) + graph::built_at(where));
      }
      places.back().push_back((((s.label * words) + s.end - 1) * words) + s.begin);
    }
  }
  return api::sum_of_places(scores, places, where);
}

}  // namespace

template <int>
Expression tree_score(const Expression& scores, const std::vector<unsigned>& heads, Where where) {
  return score_of_trees(scores, {heads}, where);
}
template Expression tree_score<>(const Expression& scores, const std::vector<unsigned>& heads,
                                 Where where);
template <int>
Expression tree_score(const Expression& scores, const std::vector<std::vector<unsigned>>& heads,
                      Where where) {
  return score_of_trees(scores, heads, where);
}
template Expression tree_score<>(const Expression& scores,
                                 const std::vector<std::vector<unsigned>>& heads, Where where);

template <int>
Expression spans_score(const Expression& scores, const std::vector<LabelledSpan>& spans,
                       Where where) {
  return score_of_spans(scores, {spans}, where);
}
template Expression spans_score<>(const Expression& scores, const std::vector<LabelledSpan>& spans,
                                  Where where);
template <int>
Expression spans_score(const Expression& scores,
                       const std::vector<std::vector<LabelledSpan>>& spans, Where where) {
  return score_of_spans(scores, spans, where);
}
template Expression spans_score<>(const Expression& scores,
                                  const std::vector<std::vector<LabelledSpan>>& spans, Where where);

}  // namespace dynet
