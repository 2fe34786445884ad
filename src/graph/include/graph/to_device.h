#pragma once

#include "dynet/devices.h"
#include "dynet/ext/op.h"

namespace dynet::graph {

/// Copies its argument to another device, and the gradient back. No other operation has its result
/// on another device than its argument. So the record is written by hand, without loops, which
/// would belong to one device, and the executor does the copying. Graph::add gets the device, a
/// part of the signature; the member is for texts.
struct ToDevice {
  const Device* device;
};
extern const ext::Record kToDevice;

}  // namespace dynet::graph
