// The text of an error.

#pragma once

#include <string>

namespace dynet::testing {

/// The text of the error of type `Thrown` that `f` throws.
template <class Thrown, class F>
std::string text_of_error(const F& f) {
  try {
    f();
  } catch (const Thrown& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace dynet::testing
