#pragma once

// A part of a sequence with a label: a constituent of a tree, a segment.

namespace dynet {

/// A label for the positions from `begin` up to, not including, `end`.
struct LabelledSpan {
  unsigned label = 0;
  unsigned begin = 0;
  unsigned end = 0;
};
inline bool operator==(const LabelledSpan& a, const LabelledSpan& b) {
  return a.label == b.label && a.begin == b.begin && a.end == b.end;
}
inline bool operator!=(const LabelledSpan& a, const LabelledSpan& b) { return !(a == b); }

}  // namespace dynet
