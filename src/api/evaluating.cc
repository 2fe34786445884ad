#include "dynet/evaluating.h"

#include <utility>

#include "api/evaluating.h"

namespace dynet {
namespace {
thread_local int depth = 0;
}  // namespace

Evaluating::Evaluating() { ++depth; }
Evaluating::~Evaluating() { --depth; }
bool Evaluating::is_on() { return depth > 0; }

namespace api {

OutsideEvaluating::OutsideEvaluating() : depth_(std::exchange(depth, 0)) {}
OutsideEvaluating::~OutsideEvaluating() { depth = depth_; }

}  // namespace api
}  // namespace dynet
