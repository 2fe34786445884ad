#pragma once

// Special numbers, rows of them, and their classes.

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

/// A row that is special as a whole: all of it is `value`, or all but its first number, which
/// stays.
struct SpecialRow {
  const char* name;
  float value;
  bool keeps_first = false;
};
inline constexpr std::array<SpecialRow, 5> kSpecialRows{
    {{"0", 0.0F},
     {"equal", 0.75F},
     {"inf", std::numeric_limits<float>::infinity()},
     {"-inf", -std::numeric_limits<float>::infinity()},
     {"-inf but one", -std::numeric_limits<float>::infinity(), true}}};

/// The class of a number. Denormal floats are zeros: the library computes with them as zeros.
enum class Kind : unsigned char { kNan, kInfinity, kMinusInfinity, kZero, kFinite };
Kind kind_of(double x);

/// The program with one number replaced.
Program with_special(const Program& program, std::size_t source, std::size_t element, float value);
/// The program with the first `length` numbers of a source replaced; of a shorter one all.
Program with_row(const Program& program, std::size_t source, const SpecialRow& row,
                 std::size_t length);

}  // namespace dynet::testing
