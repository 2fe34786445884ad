#pragma once

// Numbers that are no ordinary ones, and what becomes of them.

#include <array>
#include <limits>
#include <string>

#include "testing/program.h"

namespace dynet::testing {

struct Special {
  const char* name;
  float value;
};
inline constexpr std::array<Special, 8> kSpecials{
    {{"NaN", std::numeric_limits<float>::quiet_NaN()},
     {"inf", std::numeric_limits<float>::infinity()},
     {"-inf", -std::numeric_limits<float>::infinity()},
     {"0", 0.0F},
     {"-0", -0.0F},
     {"denormal", std::numeric_limits<float>::denorm_min()},
     {"largest", std::numeric_limits<float>::max()},
     {"-largest", std::numeric_limits<float>::lowest()}}};

/// What a number is. Denormal floats are zeros: the library computes with them as zeros.
enum class Kind : unsigned char { kNan, kInfinity, kMinusInfinity, kZero, kFinite };
Kind kind_of(double x);

/// The program with one number replaced.
Program with_special(const Program& program, std::size_t source, std::size_t element, float value);

}  // namespace dynet::testing
