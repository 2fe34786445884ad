#pragma once

// The user's line: which Python code is making a node.

#include <string>

#include "dynet/ext/payload.h"

namespace dynet::python {

/// The code object and offset of the innermost Python frame outside of the package: the place for
/// functions that build nodes. Nodes refer to the code object by a number, so it need not outlive
/// them: of code that ran once and that nobody else keeps, the latest few thousand objects are
/// kept. Empty if no Python code runs. GIL held.
[[nodiscard]] Where here();

/// That line as text, "train.py:42 in forward()"; empty if no Python code runs. GIL held.
[[nodiscard]] std::string line_here();

/// Python's RuntimeWarning, at that line. -1, with Python's error set, if the program makes it an
/// error. GIL held.
[[nodiscard]] int warn_here(const char* text);

/// Makes errors print such places: "train.py:42 in forward()".
void install_location_resolver();

}  // namespace dynet::python
