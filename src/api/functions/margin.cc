// Written by tools/generate-api from the operations in dynet/ops/margin.h. Not to be edited.

#include "dynet/ops/margin.h"

#include "dynet/expr/margin.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression hinge(const Expression& x, unsigned v, float m, Where where) {
  return ext::add_node(ops::Hinge{m}, {x, where}, ext::NodePayload::of(v));
}
Expression hinge(const Expression& x, detail::Pointer<unsigned> v, float m, Where where) {
  return ext::add_node(ops::Hinge{m}, {x, where},
                       ext::NodePayload::of(api::pointee(v, "hinge", "v")));
}
Expression hinge(const Expression& x, const std::vector<unsigned>& v, float m, Where where) {
  return ext::add_node(ops::Hinge{m}, {x, where}, ext::NodePayload::of(v));
}
Expression hinge(const Expression& x, detail::Pointer<std::vector<unsigned>> v, float m,
                 Where where) {
  return ext::add_node(ops::Hinge{m}, {x, where},
                       ext::NodePayload::of(api::pointee(v, "hinge", "v")));
}

Expression pairwise_rank_loss(const Expression& x, const Expression& y, float m, Where where) {
  return ext::add_node(ops::PairwiseRankLoss{m}, {x, where}, y);
}

Expression poisson_loss(const Expression& x, unsigned y, Where where) {
  return ext::add_node(ops::PoissonLoss{}, {x, where}, ext::NodePayload::of(y));
}
Expression poisson_loss(const Expression& x, detail::Pointer<unsigned> y, Where where) {
  return ext::add_node(ops::PoissonLoss{}, {x, where},
                       ext::NodePayload::of(api::pointee(y, "poisson_loss", "y")));
}
Expression poisson_loss(const Expression& x, const std::vector<unsigned>& y, Where where) {
  return ext::add_node(ops::PoissonLoss{}, {x, where}, ext::NodePayload::of(y));
}
Expression poisson_loss(const Expression& x, detail::Pointer<std::vector<unsigned>> y,
                        Where where) {
  return ext::add_node(ops::PoissonLoss{}, {x, where},
                       ext::NodePayload::of(api::pointee(y, "poisson_loss", "y")));
}

template <int>
Expression cross_entropy(const Expression& x, unsigned v, float label_smoothing, unsigned ignored,
                         Where where) {
  return ext::add_node(ops::CrossEntropy{label_smoothing, ignored}, {x, where},
                       ext::NodePayload::of(v));
}
template Expression cross_entropy<>(const Expression& x, unsigned v, float label_smoothing,
                                    unsigned ignored, Where where);
template <int>
Expression cross_entropy(const Expression& x, detail::Pointer<unsigned> v, float label_smoothing,
                         unsigned ignored, Where where) {
  return ext::add_node(ops::CrossEntropy{label_smoothing, ignored}, {x, where},
                       ext::NodePayload::of(api::pointee(v, "cross_entropy", "v")));
}
template Expression cross_entropy<>(const Expression& x, detail::Pointer<unsigned> v,
                                    float label_smoothing, unsigned ignored, Where where);
template <int>
Expression cross_entropy(const Expression& x, const std::vector<unsigned>& v, float label_smoothing,
                         unsigned ignored, Where where) {
  return ext::add_node(ops::CrossEntropy{label_smoothing, ignored}, {x, where},
                       ext::NodePayload::of(v));
}
template Expression cross_entropy<>(const Expression& x, const std::vector<unsigned>& v,
                                    float label_smoothing, unsigned ignored, Where where);
template <int>
Expression cross_entropy(const Expression& x, detail::Pointer<std::vector<unsigned>> v,
                         float label_smoothing, unsigned ignored, Where where) {
  return ext::add_node(ops::CrossEntropy{label_smoothing, ignored}, {x, where},
                       ext::NodePayload::of(api::pointee(v, "cross_entropy", "v")));
}
template Expression cross_entropy<>(const Expression& x, detail::Pointer<std::vector<unsigned>> v,
                                    float label_smoothing, unsigned ignored, Where where);

template <int>
Expression weighted_cross_entropy(const Expression& x, const Expression& w, unsigned v,
                                  float label_smoothing, unsigned ignored, Where where) {
  return ext::add_node(ops::WeightedCrossEntropy{label_smoothing, ignored}, {x, where}, w,
                       ext::NodePayload::of(v));
}
template Expression weighted_cross_entropy<>(const Expression& x, const Expression& w, unsigned v,
                                             float label_smoothing, unsigned ignored, Where where);
template <int>
Expression weighted_cross_entropy(const Expression& x, const Expression& w,
                                  detail::Pointer<unsigned> v, float label_smoothing,
                                  unsigned ignored, Where where) {
  return ext::add_node(ops::WeightedCrossEntropy{label_smoothing, ignored}, {x, where}, w,
                       ext::NodePayload::of(api::pointee(v, "weighted_cross_entropy", "v")));
}
template Expression weighted_cross_entropy<>(const Expression& x, const Expression& w,
                                             detail::Pointer<unsigned> v, float label_smoothing,
                                             unsigned ignored, Where where);
template <int>
Expression weighted_cross_entropy(const Expression& x, const Expression& w,
                                  const std::vector<unsigned>& v, float label_smoothing,
                                  unsigned ignored, Where where) {
  return ext::add_node(ops::WeightedCrossEntropy{label_smoothing, ignored}, {x, where}, w,
                       ext::NodePayload::of(v));
}
template Expression weighted_cross_entropy<>(const Expression& x, const Expression& w,
                                             const std::vector<unsigned>& v, float label_smoothing,
                                             unsigned ignored, Where where);
template <int>
Expression weighted_cross_entropy(const Expression& x, const Expression& w,
                                  detail::Pointer<std::vector<unsigned>> v, float label_smoothing,
                                  unsigned ignored, Where where) {
  return ext::add_node(ops::WeightedCrossEntropy{label_smoothing, ignored}, {x, where}, w,
                       ext::NodePayload::of(api::pointee(v, "weighted_cross_entropy", "v")));
}
template Expression weighted_cross_entropy<>(const Expression& x, const Expression& w,
                                             detail::Pointer<std::vector<unsigned>> v,
                                             float label_smoothing, unsigned ignored, Where where);

}  // namespace dynet
