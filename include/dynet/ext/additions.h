#pragma once

// Undoing additions to a collection, for loaders of several objects, such as Python's dynet.load:
// the last object may turn out to be damaged when the first is already added.

#include <memory>

#include "dynet/model.h"

namespace dynet::ext {

/// The additions to a collection from now on, by any handle of the collection or of a
/// sub-collection. Thread rule: the collection's.
class Additions {
 public:
  explicit Additions(const ParameterCollection& to);
  Additions(const Additions&) = delete;
  Additions& operator=(const Additions&) = delete;
  ~Additions();
  /// Takes the parameters and tables out again, of all collections that list them, and gives the
  /// names free that the collection gave. Handles of them keep their numbers, and a sub-collection
  /// that the collection made meanwhile is a root of its own, which is empty. GraphError while a
  /// graph computes; UsageError if a trainer has updated them, and so has a state for each.
  void undo();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dynet::ext
