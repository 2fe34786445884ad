#pragma once

#include <string>

namespace dynet::util {

/// The shortest text that reads back as the same number, or as the same float if it is one:
/// "0.1", "3", "1e-08", "-inf". For messages.
std::string text_of(double v);
inline std::string text_of(float v) { return text_of(static_cast<double>(v)); }

}  // namespace dynet::util
