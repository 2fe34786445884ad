#pragma once

#include <cstddef>
#include <cstdint>

#include "dynet/model.h"

namespace dynet::distributed {

/// A number that depends on every bit of the stored values and of the pending factor. Equal values
/// have equal checksums on every machine of one byte order.
[[nodiscard]] std::uint64_t checksum(const ParameterStorageBase& storage);
/// A number that depends on name, shape and number type.
[[nodiscard]] std::uint64_t signature(const ParameterStorageBase& storage);

}  // namespace dynet::distributed
