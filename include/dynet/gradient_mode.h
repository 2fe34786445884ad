#pragma once

namespace dynet {

/// The gradient of an operation that is flat almost everywhere: zero, or the gradient of the
/// identity.
enum GradientMode { zero_gradient, straight_through_gradient };

}  // namespace dynet
