#pragma once

// The user's line: which Python code is making a node.

#include "dynet/ext/payload.h"

namespace dynet::python {

/// The code object and offset of the innermost Python frame, for a node. The code object is kept
/// alive for the rest of the process, so nodes may refer to it. Nothing where no Python code runs.
/// GIL held.
[[nodiscard]] ext::Where here();

/// The same as file and line, for functions that take these (builders). The text lives as long as
/// the process.
struct SourceLine {
  const char* file;
  unsigned line;
};
[[nodiscard]] SourceLine here_line();

/// Makes errors print such places: "train.py:42 in forward()".
void install_location_resolver();

}  // namespace dynet::python
