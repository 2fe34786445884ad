#pragma once

// What is added to a collection can be taken out again: for loaders of several objects, such as
// Python's dynet.load, whose last object may turn out to be damaged when the first is there.

#include <memory>

#include "dynet/model.h"

namespace dynet::ext {

/// What is added to a collection from now on, by any handle of it, and to sub-collections that are
/// made from now on. Not for what is added to one that was there before: that one would keep it.
/// Thread rule: the collection's.
class Additions {
 public:
  explicit Additions(const ParameterCollection& to);
  Additions(const Additions&) = delete;
  Additions& operator=(const Additions&) = delete;
  ~Additions();
  /// Takes the parameters and tables out again, of the collection and those above, and gives their
  /// names free. Handles of them keep their numbers. GraphError while a graph computes.
  void undo();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dynet::ext
