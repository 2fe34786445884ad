#include "dynet/expr/chains.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "dynet/except.h"
#include "dynet/ext/add_node.h"
#include "dynet/ops/chain.h"
#include "dynet/ops/input.h"

#include "api/functions.h"
#include "api/lengths.h"
#include "graph/graph.h"

namespace dynet {
namespace {

using List = std::span<const unsigned>;
using Lists = std::span<const std::vector<unsigned>>;

/// One number per example, on the device of x.
Expression numbers_beside(const Expression& x, List numbers, Where where) {
  const std::vector<float> values(numbers.begin(), numbers.end());
  const ops::Input op{Dim({1}, static_cast<unsigned>(values.size()))};
  return ext::add_node(op, {*x.pg, where}, ext::NodePayload::of(values), api::device_of(x));
}

/// ShapeError while there is no node of the lengths yet.
void check_shapes(const ext::Info& info, std::initializer_list<Expression> args,
                  const std::function<void(const ext::Shapes&)>& check, Where where) {
  std::vector<Dim> dims;
  for (const Expression& x : args) {
    dims.push_back(x.pg == nullptr ? ext::absent() : x.dim().single_batch());
  }
  try {
    check(ext::Shapes(info, dims, 1, 0));
  } catch (const errors::ShapeError& e) {
    throw errors::ShapeError(e.what() + graph::built_at(where));
  }
}
template <class Op>
void check_crf(const Expression& emissions, const Expression& transitions, const Expression& start,
               const Expression& end, Where where) {
  check_shapes(
      Op::kInfo, {emissions, transitions, start, end, {}},
      [](const ext::Shapes& in) { static_cast<void>(ops::check_chain(in)); }, where);
}

/// The lengths of the examples of x {rows,steps} as an argument; absent if all steps count.
Expression lengths_of(const char* name, const Expression& x, List lengths, Where where) {
  const unsigned steps = x.dim().cols();
  api::check_lengths(std::string(name) + ": ", x.dim(), steps, lengths, where);
  const bool all =
      std::all_of(lengths.begin(), lengths.end(), [steps](unsigned n) { return n == steps; });
  return all ? Expression() : numbers_beside(x, lengths, where);
}

/// Lists as payload: one after the other, filled up with zeros to the longest, or to one entry.
class Padded {
 public:
  Padded(const char* name, const char* argument, const Expression& x, Lists lists, Where where) {
    if (lists.size() != 1 && (lists.empty() || (x.dim().bd != 1 && lists.size() != x.dim().bd))) {
      throw errors::ValueError(std::string(name) + ": " + argument + " has " +
                               std::to_string(lists.size()) +
                               " lists; want one, or one for each of the " +
                               std::to_string(x.dim().bd) + " examples" + graph::built_at(where));
    }
    for (const std::vector<unsigned>& list : lists) {
      lengths_.push_back(to_extent(static_cast<std::int64_t>(list.size()), name));
    }
    width_ = std::max(1U, *std::max_element(lengths_.begin(), lengths_.end()));
    for (const std::vector<unsigned>& list : lists) {
      numbers_.insert(numbers_.end(), list.begin(), list.end());
      numbers_.resize(numbers_.size() + width_ - list.size());
    }
    const unsigned limit = x.dim().rows();
    for (const std::vector<unsigned>& list : lists) {
      const auto most = std::max_element(list.begin(), list.end());
      if (most != list.end() && *most >= limit) {
        throw errors::IndexError(std::string(name) + ": " + argument + " is " +
                                 std::to_string(*most) + "; want less than " +
                                 std::to_string(limit) + graph::built_at(where));
      }
    }
  }
  [[nodiscard]] unsigned width() const { return width_; }
  [[nodiscard]] ext::NodePayload payload() const { return ext::NodePayload::of(numbers_); }
  [[nodiscard]] bool has_empty() const {
    return std::find(lengths_.begin(), lengths_.end(), 0U) != lengths_.end();
  }
  /// The lengths of the lists, as an argument beside x; absent if they are equal.
  [[nodiscard]] Expression lengths(const Expression& x, Where where) const {
    const bool all =
        std::all_of(lengths_.begin(), lengths_.end(), [this](unsigned n) { return n == width_; });
    return all ? Expression() : numbers_beside(x, lengths_, where);
  }

 private:
  std::vector<unsigned> numbers_, lengths_;
  unsigned width_ = 1;
};

Expression score_of(const Expression& emissions, const Expression& transitions, const Padded& tags,
                    const Expression& start, const Expression& end, Where where) {
  if (tags.has_empty()) {
    throw errors::ValueError("crf_score: a list of tags is empty; want at least one tag" +
                             graph::built_at(where));
  }
  const ops::CrfScore op{tags.width()};
  check_shapes(
      ops::CrfScore::kInfo, {emissions, transitions, start, end, {}},
      [&](const ext::Shapes& in) { static_cast<void>(op.shape(in)); }, where);
  const Expression args[] = {emissions, transitions, start, end, tags.lengths(emissions, where)};
  return ext::add_node(ext::kRecord<ops::CrfScore>, &op, nullptr, args, tags.payload(), where);
}

Expression ctc_of(const Expression& log_probs, Lists labels, List lengths, unsigned blank,
                  Where where) {
  for (const std::vector<unsigned>& list : labels) {
    if (std::find(list.begin(), list.end(), blank) != list.end()) {
      throw errors::ValueError("ctc_loss: a label is the blank, " + std::to_string(blank) +
                               graph::built_at(where));
    }
  }
  const Padded padded("ctc_loss", "labels", log_probs, labels, where);
  const ops::CtcLoss op{padded.width(), blank};
  check_shapes(
      ops::CtcLoss::kInfo, {log_probs, {}, {}},
      [&](const ext::Shapes& in) { static_cast<void>(op.shape(in)); }, where);
  const Expression args[] = {log_probs, lengths_of("ctc_loss", log_probs, lengths, where),
                             padded.lengths(log_probs, where)};
  return ext::add_node(ext::kRecord<ops::CtcLoss>, &op, nullptr, args, padded.payload(), where);
}

}  // namespace

template <int>
Expression crf_log_partition(const Expression& emissions, const Expression& transitions,
                             const Expression& start, const Expression& end,
                             const std::vector<unsigned>& lengths, Where where) {
  const ops::CrfLogPartition op;
  check_crf<ops::CrfLogPartition>(emissions, transitions, start, end, where);
  const Expression args[] = {emissions, transitions, start, end,
                             lengths_of("crf_log_partition", emissions, lengths, where)};
  return ext::add_node(ext::kRecord<ops::CrfLogPartition>, &op, nullptr, args, {}, where);
}
template Expression crf_log_partition<>(const Expression& emissions, const Expression& transitions,
                                        const Expression& start, const Expression& end,
                                        const std::vector<unsigned>& lengths, Where where);

template <int>
Expression crf_score(const Expression& emissions, const Expression& transitions,
                     const std::vector<unsigned>& tags, const Expression& start,
                     const Expression& end, Where where) {
  if (tags.empty()) {
    throw errors::ValueError("crf_score: the list of tags is empty; want at least one tag" +
                             graph::built_at(where));
  }
  const ops::CrfScore op{to_extent(static_cast<std::int64_t>(tags.size()), "crf_score")};
  const Expression args[] = {emissions, transitions, start, end};
  return ext::add_node(ext::kRecord<ops::CrfScore>, &op, nullptr, args, ext::NodePayload::of(tags),
                       where);
}
template Expression crf_score<>(const Expression& emissions, const Expression& transitions,
                                const std::vector<unsigned>& tags, const Expression& start,
                                const Expression& end, Where where);
template <int>
Expression crf_score(const Expression& emissions, const Expression& transitions,
                     const std::vector<std::vector<unsigned>>& tags, const Expression& start,
                     const Expression& end, Where where) {
  return score_of(emissions, transitions, {"crf_score", "tags", emissions, tags, where}, start, end,
                  where);
}
template Expression crf_score<>(const Expression& emissions, const Expression& transitions,
                                const std::vector<std::vector<unsigned>>& tags,
                                const Expression& start, const Expression& end, Where where);

template <int>
std::array<Expression, 2> crf_viterbi(const Expression& emissions, const Expression& transitions,
                                      const Expression& start, const Expression& end,
                                      const std::vector<unsigned>& lengths, Where where) {
  const ops::CrfViterbi op;
  check_crf<ops::CrfViterbi>(emissions, transitions, start, end, where);
  const Expression args[] = {emissions, transitions, start, end,
                             lengths_of("crf_viterbi", emissions, lengths, where)};
  return api::outputs<2>(
      ext::add_node(ext::kRecord<ops::CrfViterbi>, &op, nullptr, args, {}, where));
}
template std::array<Expression, 2> crf_viterbi<>(const Expression& emissions,
                                                 const Expression& transitions,
                                                 const Expression& start, const Expression& end,
                                                 const std::vector<unsigned>& lengths, Where where);

template <int>
Expression ctc_loss(const Expression& log_probs, const std::vector<unsigned>& labels,
                    const std::vector<unsigned>& lengths, unsigned blank, Where where) {
  return ctc_of(log_probs, {&labels, 1}, lengths, blank, where);
}
template Expression ctc_loss<>(const Expression& log_probs, const std::vector<unsigned>& labels,
                               const std::vector<unsigned>& lengths, unsigned blank, Where where);
template <int>
Expression ctc_loss(const Expression& log_probs, const std::vector<std::vector<unsigned>>& labels,
                    const std::vector<unsigned>& lengths, unsigned blank, Where where) {
  return ctc_of(log_probs, labels, lengths, blank, where);
}
template Expression ctc_loss<>(const Expression& log_probs,
                               const std::vector<std::vector<unsigned>>& labels,
                               const std::vector<unsigned>& lengths, unsigned blank, Where where);

}  // namespace dynet
