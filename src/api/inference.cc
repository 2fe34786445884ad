#include "dynet/inference.h"

#include "execute/lifetimes.h"

namespace dynet {

InferenceScope::InferenceScope() { execute::enter_inference_scope(); }
InferenceScope::~InferenceScope() { execute::leave_inference_scope(); }

}  // namespace dynet
