#pragma once

// The user's line: which Python code is making a node.

#include <string>

#include "dynet/ext/payload.h"

namespace dynet::python {

/// The code object and offset of the innermost Python frame that is not of the package itself: what
/// functions that build nodes take.
/// Nodes refer to the code object by a number, so it need not outlive them: of code that ran once
/// and that nobody else keeps, the latest few thousand objects are kept. Nothing where no Python
/// code runs. GIL held.
[[nodiscard]] Where here();

/// That line as text, "train.py:42 in forward()"; empty where no Python code runs. GIL held.
[[nodiscard]] std::string line_here();

/// Python's RuntimeWarning, at that line. -1, with Python's error set, where the program makes an
/// error of it. GIL held.
[[nodiscard]] int warn_here(const char* text);

/// Makes errors print such places: "train.py:42 in forward()".
void install_location_resolver();

}  // namespace dynet::python
