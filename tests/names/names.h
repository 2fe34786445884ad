#pragma once

// The tests of this folder show the names that a program for DyNet 2.1 may write: one line for each
// name of its public headers, as a call with the arguments and the type that it has there, and one
// for each default. Each prints a tick. absent_test.cc has the missing names, with reasons.
// Example: DYNET_HAS(E, tanh(x)) proves that tanh of an Expression is an Expression.
//
// A line cannot pass without its name: the call is compiled as C++17, linked and made.

#include <gtest/gtest.h>

#include <iostream>
#include <type_traits>
#include <vector>

#include "dynet/dynet.h"

namespace names {

inline void tick(const char* name) { std::cout << "  ok " << name << '\n'; }

/// Computed anew with the same random numbers.
template <class Make>
std::vector<float> numbers_of(Make make) {
  dynet::reset_rng(7);
  dynet::ComputationGraph cg;
  return dynet::as_vector(make(cg).value());
}

}  // namespace names

/// The expression behind the type has that type (maybe a reference), and is evaluated.
#define DYNET_HAS(Type, ...)                                                                \
  do {                                                                                      \
    static_assert(std::is_same_v<decltype(__VA_ARGS__), Type>, "another type than " #Type); \
    static_cast<void>(__VA_ARGS__);                                                         \
    names::tick(#__VA_ARGS__);                                                              \
  } while (false)

/// The expression behind the value has that value, in the program or at compile time.
#define DYNET_EQ(value, ...)         \
  do {                               \
    EXPECT_EQ((__VA_ARGS__), value); \
    names::tick(#__VA_ARGS__);       \
  } while (false)

/// A statement, such as one that makes an object or throws.
#define DYNET_CAN(...)         \
  do {                         \
    __VA_ARGS__;               \
    names::tick(#__VA_ARGS__); \
  } while (false)

#define DYNET_THROWS(Type, ...)      \
  do {                               \
    EXPECT_THROW(__VA_ARGS__, Type); \
    names::tick(#__VA_ARGS__);       \
  } while (false)

#define DYNET_DERIVES(Derived, Base)                                 \
  do {                                                               \
    static_assert(std::is_base_of_v<Base, Derived>, "another base"); \
    names::tick(#Derived " : " #Base);                               \
  } while (false)

/// Both expressions, of `cg`, draw and compute the same: the shorter one has the defaults.
#define DYNET_DEFAULT(shorter, ...)                                                               \
  do {                                                                                            \
    EXPECT_EQ(                                                                                    \
        names::numbers_of([&]([[maybe_unused]] dynet::ComputationGraph& cg) { return shorter; }), \
        names::numbers_of(                                                                        \
            [&]([[maybe_unused]] dynet::ComputationGraph& cg) { return __VA_ARGS__; }))           \
        << #shorter;                                                                              \
    names::tick(#shorter);                                                                        \
  } while (false)
