// One choice, and the softmax that is one.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "dynet/cfsm-builder.h"
#include "dynet/except.h"

#include "builders/softmax_support.h"

namespace dynet {

SoftmaxBuilder::~SoftmaxBuilder() = default;

namespace builders {

void check_ready(const char* builder, const char* call, const detail::InGraph& in,
                 const Expression& rep) {
  if (in.graph == nullptr) {
    throw StateError(std::string(builder) + ": " + call + " before new_graph");
  }
  const Dim& d = rep.dim();
  if (rep.pg != in.graph) {
    throw GraphError(std::string(builder) + ": " + call +
                     " with a node of another graph than the one that new_graph was given");
  }
  if (d.example_elements() != d.rows()) {
    throw ShapeError(std::string(builder) + ": " + call + ": rep is " + to_string(d) +
                     "; want a vector");
  }
}

void check_one_example(const char* builder, const char* call, const Expression& rep) {
  if (rep.dim().bd != 1) {
    throw ShapeError(std::string(builder) + ": " + call + ": rep is " + to_string(rep.dim()) +
                     "; want one example");
  }
}

void check_words_given(const char* builder, const Expression& rep, std::size_t words) {
  if (rep.dim().bd != words) {
    throw ValueError(std::string(builder) + ": neg_log_softmax: rep is " + to_string(rep.dim()) +
                     " and there are " + std::to_string(words) +
                     " words; want one for each example");
  }
}

}  // namespace builders

namespace detail {

namespace {

/// An index drawn with the probabilities softmax(scores), by taking them off a uniform number one
/// after the other.
unsigned draw_index(const std::vector<double>& scores) {
  double highest = -std::numeric_limits<double>::infinity();
  for (const double s : scores) {
    highest = std::isnan(s) ? s : std::max(highest, s);
    if (!(highest < std::numeric_limits<double>::infinity())) {
      throw NumericError("sample: a score is " + std::to_string(highest));
    }
  }
  double all = 0.0;
  for (const double s : scores) {
    all += std::exp(s - highest);
  }
  if (!(all > 0.0)) {
    throw NumericError("sample: all scores are -inf");
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

}  // namespace

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
    throw ShapeError("StandardSoftmaxBuilder: w is " + to_string(d) + "; want a matrix");
  }
  if (b != nullptr) {
    p_b_ = *b;
    if (b->dim() != Dim({outcomes_})) {
      throw ShapeError("StandardSoftmaxBuilder: w is " + to_string(d) + " and b is " +
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
    throw StateError("Cluster: a choice of one outcome has no parameters");
  }
  enter(in, where);
  return w_;
}

Expression Choice::bias(const InGraph& in, Where where) const {
  if (!p_b_) {
    throw StateError("Cluster: a choice without a bias");
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
  return draw_index(z);
}

}  // namespace detail

// ---- the plain softmax
// ----------------------------------------------------------------------------

namespace {
constexpr const char* kStandard = "StandardSoftmaxBuilder";

void check(const char* call, const detail::Choice& choice, const detail::InGraph& in,
           const Expression& rep) {
  builders::check_ready(kStandard, call, in, rep);
  if (!choice.has_parameters()) {
    throw StateError(std::string(kStandard) + ": " + call + " without parameters");
  }
}
}  // namespace

StandardSoftmaxBuilder::StandardSoftmaxBuilder(unsigned rep_dim, unsigned num_classes,
                                               ParameterCollection& pc, bool bias)
    : local_model(pc.add_subcollection("standard-softmax-builder")),
      choice_(detail::Choice::Kind::kSoftmax, num_classes, rep_dim, bias, local_model) {}

StandardSoftmaxBuilder::StandardSoftmaxBuilder(const Parameter& p_w, const Parameter& p_b)
    : choice_(p_w, &p_b) {}

StandardSoftmaxBuilder::StandardSoftmaxBuilder(const Parameter& p_w) : choice_(p_w, nullptr) {}

void StandardSoftmaxBuilder::new_graph(ComputationGraph& cg, bool update) { in_ = {&cg, update}; }

Expression StandardSoftmaxBuilder::neg_log_softmax(const Expression& rep, unsigned classidx,
                                                   Where where) {
  check("neg_log_softmax", choice_, in_, rep);
  builders::check_words_given(kStandard, rep, 1);
  return pickneglogsoftmax(choice_.scores(in_, rep, where), classidx, where);
}

Expression StandardSoftmaxBuilder::neg_log_softmax(const Expression& rep,
                                                   const std::vector<unsigned>& classidxs,
                                                   Where where) {
  check("neg_log_softmax", choice_, in_, rep);
  builders::check_words_given(kStandard, rep, classidxs.size());
  return pickneglogsoftmax(choice_.scores(in_, rep, where), classidxs, where);
}

unsigned StandardSoftmaxBuilder::sample(const Expression& rep, Where where) {
  check("sample", choice_, in_, rep);
  builders::check_one_example(kStandard, "sample", rep);
  return choice_.draw(in_, rep, where);
}

Expression StandardSoftmaxBuilder::full_log_distribution(const Expression& rep, Where where) {
  return log_softmax(full_logits(rep, where), 0, where);
}

Expression StandardSoftmaxBuilder::full_logits(const Expression& rep, Where where) {
  check("full_logits", choice_, in_, rep);
  return choice_.scores(in_, rep, where);
}

}  // namespace dynet
