#pragma once

namespace dynet {

/// What takes the place of the gradient where an operation is flat almost everywhere: nothing, or
/// the gradient of the identity.
enum GradientMode { zero_gradient, straight_through_gradient };

}  // namespace dynet
