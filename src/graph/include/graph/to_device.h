#pragma once

#include "dynet/devices.h"
#include "dynet/ext/op.h"

namespace dynet::graph {

/// Copies its argument to another device, and the gradient back. The one operation whose result is
/// on another device than its argument, so its record is written by hand: it has no loops, which
/// would be those of one device, and the executor does the copying. The device is given to
/// Graph::add and part of the signature; here it is for texts.
struct ToDevice {
  const Device* device;
};
extern const ext::Record kToDevice;

}  // namespace dynet::graph
