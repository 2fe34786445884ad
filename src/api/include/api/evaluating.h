#pragma once

namespace dynet::api {

/// Takes this thread out of all Evaluating scopes while it lives.
class OutsideEvaluating {
 public:
  OutsideEvaluating();
  ~OutsideEvaluating();
  OutsideEvaluating(const OutsideEvaluating&) = delete;
  OutsideEvaluating& operator=(const OutsideEvaluating&) = delete;

 private:
  int depth_;
};

}  // namespace dynet::api
