#pragma once

// Kept so that programs that include it compile: DeviceType and DeviceMempool.

#include "dynet/devices.h"
