// One choice, and the softmax that is one.

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "dynet/cfsm-builder.h"
#include "dynet/except.h"
#include "dynet/globals.h"

#include "api/graph_state.h"
#include "builders/builder_support.h"
#include "builders/softmax_support.h"
#include "params/random_streams.h"

namespace dynet {

SoftmaxBuilder::~SoftmaxBuilder() = default;

namespace builders {

void check_word_ids(const char* builder, const std::vector<unsigned>& words, std::size_t size) {
  for (const unsigned word : words) {
    if (word >= size) {
      throw errors::IndexError(std::string(builder) + ": word " + std::to_string(word) + " of " +
                               std::to_string(size));
    }
  }
}

unsigned draw_index(const std::vector<double>& scores) {
  double highest = -std::numeric_limits<double>::infinity();
  for (const double s : scores) {
    highest = std::isnan(s) ? s : std::max(highest, s);
    if (!(highest < std::numeric_limits<double>::infinity())) {
      throw errors::NumericError("sample: a score is " + std::to_string(highest));
    }
  }
  double all = 0.0;
  for (const double s : scores) {
    all += std::exp(s - highest);
  }
  if (!(all > 0.0)) {
    throw errors::NumericError("sample: all scores are -inf");
  }
  double left = static_cast<double>(rand01()) * all;
  std::size_t last = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double p = std::exp(scores[i] - highest);
    if (p > 0.0) {
      last = i;
    }
    left -= p;
    if (left < 0.0) {
      break;
    }
  }
  return static_cast<unsigned>(last);  // rand01() rounds up to 1 once in a while
}

}  // namespace builders

namespace detail {

Choice::Choice(Kind kind, unsigned outcomes, unsigned rep_dim, bool has_bias,
               ParameterCollection& model)
    : kind_(kind), outcomes_(outcomes) {
  if (kind_ == Kind::kNone) {
    return;
  }
  const unsigned rows = kind_ == Kind::kLogistic ? 1 : outcomes;
  p_w_ = model.add_parameters({rows, rep_dim});
  if (has_bias) {
    p_b_ = model.add_parameters({rows}, ParameterInitConst(0.0F));
  }
}

Choice::Choice(const Parameter& w, const Parameter* b)
    : kind_(Kind::kSoftmax), outcomes_(w.dim().rows()), p_w_(w) {
  const Dim d = w.dim();
  if (d.ndims() > 2) {
    throw errors::ShapeError("StandardSoftmaxBuilder: w is " + to_string(d) + "; want a matrix");
  }
  if (b != nullptr) {
    p_b_ = *b;
    if (b->dim() != Dim({outcomes_})) {
      throw errors::ShapeError("StandardSoftmaxBuilder: w is " + to_string(d) + " and b is " +
                               to_string(b->dim()) + "; want {" + std::to_string(outcomes_) + "}");
    }
  }
}

void Choice::enter(const InGraph& in, Where where) const {
  if (w_.pg == in.graph && updated_ == in.update && !w_.is_stale()) {
    return;
  }
  const LocatedGraph graph(*in.graph, where);
  const auto node = [&](const Parameter& p) {
    return in.update ? parameter(graph, p) : const_parameter(graph, p);
  };
  const Expression b = p_b_ ? node(p_b_) : Expression();
  w_ = node(p_w_);
  b_ = b;
  updated_ = in.update;
}

Expression Choice::weights(const InGraph& in, Where where) const {
  if (!has_parameters()) {
    throw errors::StateError("Cluster: a choice of one outcome has no parameters");
  }
  enter(in, where);
  return w_;
}

Expression Choice::bias(const InGraph& in, Where where) const {
  if (!p_b_) {
    throw errors::StateError("Cluster: a choice without a bias");
  }
  enter(in, where);
  return b_;
}

Expression Choice::scores(const InGraph& in, const Expression& x, Where where) const {
  if (!has_parameters()) {
    Device* const device = get_device_manager()->get_global_device(x.get_device_name());
    return zeros({*in.graph, where}, Dim({1}, x.dim().bd), device);
  }
  enter(in, where);
  return p_b_ ? affine_transform({b_, w_, x}, where) : Located(w_, where) * x;
}

Expression Choice::loss(const InGraph& in, const Expression& x,
                        const std::vector<unsigned>& outcomes, std::vector<float>& signs,
                        Where where) const {
  const Expression z = scores(in, x, where);
  if (kind_ != Kind::kLogistic) {
    return pickneglogsoftmax(z, outcomes, where);
  }
  // -ln logistic(z) = ln(1 + exp(-z)), and the other outcome has the other sign.
  signs.clear();
  for (const unsigned outcome : outcomes) {
    signs.push_back(outcome == 0 ? -1.0F : 1.0F);
  }
  const Dim shape({1}, static_cast<unsigned>(outcomes.size()));
  const Expression sign = input({*in.graph, where}, shape, signs, p_w_.p->device);
  return softplus(cmult(z, sign, where), 1.0F, where);
}

Expression Choice::log_probabilities(const InGraph& in, const Expression& x, Where where) const {
  const Expression z = scores(in, x, where);
  if (kind_ != Kind::kLogistic) {
    return log_softmax(z, 0, where);
  }
  return concatenate({log_sigmoid(z, where), log_sigmoid(-Located(z, where), where)}, 0, where);
}

unsigned Choice::draw(const InGraph& in, const Expression& x, Where where) const {
  if (outcomes_ == 1) {
    return 0;
  }
  std::vector<double> z = as_double_vector(scores(in, x, where).value());
  if (kind_ == Kind::kLogistic) {
    z.push_back(0.0);
  }
  return builders::draw_index(z);
}

// ---- what they share
// ------------------------------------------------------------------------------

void LossesByExample::clear() {
  whole_.clear();
  parts_.clear();
  owners_.clear();
}

void LossesByExample::add(const Expression& loss, const std::vector<unsigned>& examples,
                          std::size_t size) {
  if (examples.size() == size) {
    add(loss);
    return;
  }
  parts_.push_back(loss);
  owners_.insert(owners_.end(), examples.begin(), examples.end());
}

Expression LossesByExample::add_up(const InGraph& in, const Expression& rep, Where where) {
  const Dim shape({1}, rep.dim().bd);
  if (!parts_.empty()) {
    const Expression joined = concatenate_to_batch(parts_, where);
    const Expression flat = reshape(joined, Dim({static_cast<unsigned>(owners_.size())}), where);
    whole_.push_back(reshape(scatter_add(flat, owners_, shape.bd, 0, where), shape, where));
  }
  if (whole_.empty()) {
    Device* const device = get_device_manager()->get_global_device(rep.get_device_name());
    return zeros({*in.graph, where}, shape, device);
  }
  return whole_.size() == 1 ? whole_[0] : sum(whole_, where);
}

void CheckedSoftmaxBuilder::new_graph(ComputationGraph& cg, bool update) {
  in_ = {&cg, update, cg.state().born};
}

Dim CheckedSoftmaxBuilder::ready_shape(const char* call, const Expression& rep, Where where) const {
  if (in_.graph == nullptr) {
    throw errors::StateError(std::string(name()) + ": " + call + " before new_graph");
  }
  const Dim& d = builders::dim_of(rep, where, [&] { return std::string(name()) + ": " + call; });
  if (rep.pg != in_.graph) {
    throw errors::GraphError(std::string(name()) + ": " + call +
                             " with a node of another graph than the one that new_graph was given");
  }
  check_made(call);
  return d;
}

const InGraph& CheckedSoftmaxBuilder::ready(const char* call, const Expression& rep,
                                            Where where) const {
  const Dim d = ready_shape(call, rep, where);
  if (d.example_elements() != d.rows()) {  // its size is for the product to check
    throw errors::ShapeError(std::string(name()) + ": " + call + ": rep is " + to_string(d) +
                             "; want a vector");
  }
  return in_;
}

void CheckedSoftmaxBuilder::check_batch(const char* call, const Expression& rep,
                                        const std::vector<unsigned>& words, Where where) const {
  static_cast<void>(ready(call, rep, where));
  if (rep.dim().bd != words.size()) {
    throw errors::ValueError(std::string(name()) + ": " + call + ": rep is " +
                             to_string(rep.dim()) + " and there are " +
                             std::to_string(words.size()) + " words; want one for each example");
  }
  check_words(words);
}

Expression CheckedSoftmaxBuilder::neg_log_softmax(const Expression& rep, unsigned classidx,
                                                  Where where) {
  detail::with_typed_allocation([&] { one_.assign(1, classidx); });
  return neg_log_softmax(rep, one_, where);
}

Expression CheckedSoftmaxBuilder::neg_log_softmax(const Expression& rep,
                                                  const std::vector<unsigned>& classidxs,
                                                  Where where) {
  return detail::with_typed_allocation([&] {
    check_batch("neg_log_softmax", rep, classidxs, where);
    return losses(rep, classidxs, where);
  });
}

unsigned CheckedSoftmaxBuilder::sample(const Expression& rep, Where where) {
  static_cast<void>(ready("sample", rep, where));
  if (rep.dim().bd != 1) {
    throw errors::ShapeError(std::string(name()) + ": sample: rep is " + to_string(rep.dim()) +
                             "; want one example");
  }
  return params::draw_repeatably(  // a choice below another one may fail
      [&] { return detail::with_typed_allocation([&] { return draw(rep, where); }); });
}

Expression CheckedSoftmaxBuilder::full_logits(const Expression& rep, Where where) {
  const Dim d = ready_shape("full_logits", rep, where);
  if (d.example_elements() == d.rows()) {
    return detail::with_typed_allocation([&] { return scores_of_all(rep, where); });
  }
  if (d.ndims() > 2) {
    throw errors::ShapeError(std::string(name()) + ": full_logits: rep is " + to_string(d) +
                             "; want a vector, or a matrix with a vector in each column");
  }
  return detail::with_typed_allocation([&] {  // the columns are examples meanwhile
    const Expression examples = reshape(rep, Dim({d.rows()}, d.cols() * d.bd), where);
    const Expression scores = scores_of_all(examples, where);
    return reshape(scores, Dim({scores.dim().rows(), d.cols()}, d.bd), where);
  });
}

Expression CheckedSoftmaxBuilder::full_log_distribution(const Expression& rep, Where where) {
  const Expression scores = full_logits(rep, where);
  return is_normalised() ? scores : log_softmax(scores, 0, where);
}

}  // namespace detail

// ---- the plain softmax
// ----------------------------------------------------------------------------

StandardSoftmaxBuilder::StandardSoftmaxBuilder(unsigned rep_dim, unsigned num_classes,
                                               ParameterCollection& pc, bool bias) {
  local_model = pc.add_subcollection("standard-softmax-builder");
  choice_ = detail::Choice(detail::Choice::Kind::kSoftmax, num_classes, rep_dim, bias, local_model);
}

StandardSoftmaxBuilder::StandardSoftmaxBuilder(const Parameter& p_w, const Parameter& p_b)
    : choice_(p_w, &p_b) {}

StandardSoftmaxBuilder::StandardSoftmaxBuilder(const Parameter& p_w) : choice_(p_w, nullptr) {}

void StandardSoftmaxBuilder::check_made(const char* call) const {
  if (!choice_.has_parameters()) {
    throw errors::StateError(std::string(name()) + ": " + call + " without parameters");
  }
}

void StandardSoftmaxBuilder::check_words(const std::vector<unsigned>& words) const {
  builders::check_word_ids(name(), words, choice_.outcomes());
}

Expression StandardSoftmaxBuilder::losses(const Expression& rep, const std::vector<unsigned>& words,
                                          Where where) {
  return pickneglogsoftmax(choice_.scores(in_, rep, where), words, where);
}

unsigned StandardSoftmaxBuilder::draw(const Expression& rep, Where where) {
  return choice_.draw(in_, rep, where);
}

Expression StandardSoftmaxBuilder::scores_of_all(const Expression& rep, Where where) {
  return choice_.scores(in_, rep, where);
}

}  // namespace dynet
