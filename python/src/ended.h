#pragma once

// The line where this thread last renewed, reverted or gave up a graph, for errors about
// expressions from before.

#include <string>

namespace dynet::python {

/// The user's line is that place now. `by`: "renew_cg()"; lives for ever. GIL held.
void note_end(const char* by);
/// "\n  renew_cg() at train.py:42"; empty if there was none.
[[nodiscard]] std::string end_text();

}  // namespace dynet::python
