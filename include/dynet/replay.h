#pragma once

// Handles of what a tree of collections has already: for programs that copy models, as Python's
// pickle and deepcopy do.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dynet/model.h"

namespace dynet {

/// The collection that has no other above it.
[[nodiscard]] ParameterCollection root_of(const ParameterCollection& collection);

/// What tells it from all other collections, as long as one handle of it lives.
[[nodiscard]] const void* identity_of(const ParameterCollection& collection);
/// All parameters and tables in the order of creation, for their names and shapes: the gradients in
/// it may not be true (get_storage()).
[[nodiscard]] const std::vector<std::shared_ptr<ParameterStorageBase>>& all_of(
    const ParameterCollection& collection);

/// The sub-collection `fullname` ("/enc/") of a root, or the root for "/": the one that has been
/// made under this name, as long as a handle of it lives, else a new one. That lists the
/// parameters whose names begin so; what is added to it gets the next names, and weight decay is
/// that of the collection above. Nobody gets its name afterwards, even if it is empty. UsageError
/// for what is no name of a sub-collection.
[[nodiscard]] ParameterCollection find_subcollection(const ParameterCollection& root,
                                                     const std::string& fullname);
/// Counts names anew, after parameters were renamed, so that the next ones do not get a name twice.
void recount_names(ParameterCollection& root);

/// How often names were given in a collection: to parameters and tables, and to sub-collections.
struct NameUses {
  std::map<std::string, unsigned> parameters, subcollections;
};
/// While it lives: which names are given in a collection (and not in those below it). It costs as
/// much as these are, however many there are already. Thread rule: that of adding.
class NameLog {
 public:
  explicit NameLog(const ParameterCollection& collection);
  ~NameLog();
  NameLog(const NameLog&) = delete;
  NameLog& operator=(const NameLog&) = delete;
  /// Each name that was given, and how often it had been given before: what Replay is told. While a
  /// Replay is on in the collection, as far as that had got.
  [[nodiscard]] const NameUses& before() const { return before_; }

 private:
  ParameterCollection collection_;
  NameUses before_;
};

/// Makes an object once more of parameters that are there. While it lives, what is added to
/// `collection()`, and to collections made in that, is the parameter of the root that has the name
/// of the added one; nothing is initialised, and a missing one, or one of another shape, is a
/// UsageError. These collections are those that find_subcollection() gives, and afterwards add as
/// before, with the next names. Thread rule: that of adding, in all of the root.
class Replay {
 public:
  /// Begins in the collection `fullname` of `root` as at the time when of each name in `uses` so
  /// many parameters had been added, and of each in `sub_uses` so many sub-collections. UsageError
  /// if another one is on there.
  Replay(const ParameterCollection& root, const std::string& fullname,
         const std::map<std::string, unsigned>& uses,
         const std::map<std::string, unsigned>& sub_uses);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  [[nodiscard]] ParameterCollection collection() const { return collection_; }

 private:
  std::vector<ParameterCollection> all_;  ///< in which it is on
  ParameterCollection collection_;
};

}  // namespace dynet
