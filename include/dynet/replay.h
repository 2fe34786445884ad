#pragma once

// Handles of existing parameters and collections, for programs that copy models, as Python's pickle
// and deepcopy do. Example: a copy of the builder in the collection "/enc/" begins a Replay there;
// its constructor adds "W" and gets the existing parameter "/enc/W".

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dynet/model.h"

namespace dynet {

/// The root of the tree of a collection.
[[nodiscard]] ParameterCollection root_of(const ParameterCollection& collection);

/// The identity of a collection, as long as one handle of it lives.
[[nodiscard]] const void* identity_of(const ParameterCollection& collection);
/// All parameters and tables in the order of creation, for names and shapes: gradients may not be
/// true (get_storage()).
[[nodiscard]] const std::vector<std::shared_ptr<ParameterStorageBase>>& all_of(
    const ParameterCollection& collection);

/// The sub-collection `fullname` ("/enc/") of a root, or the root for "/": the collection that was
/// made under this name, as long as a handle of it lives, else a new collection. A new collection
/// lists the parameters whose names begin with `fullname`; additions get the next names, and weight
/// decay is as in the collection above. No other collection gets the name afterwards, even if this
/// one is empty. UsageError for a text that is no name of a sub-collection.
[[nodiscard]] ParameterCollection find_subcollection(const ParameterCollection& root,
                                                     const std::string& fullname);
/// Counts names anew, after parameters were renamed, so that no name is given twice.
void recount_names(ParameterCollection& root);

/// Numbers of uses of names in a collection: by parameters and tables, and by sub-collections.
struct NameUses {
  std::map<std::string, unsigned> parameters, subcollections;
};
/// Records the names that are given in a collection (and not below) while the log lives. The cost
/// grows with the recorded names, not with the names in the collection. Thread rule: as adding.
class NameLog {
 public:
  explicit NameLog(const ParameterCollection& collection);
  ~NameLog();
  NameLog(const NameLog&) = delete;
  NameLog& operator=(const NameLog&) = delete;
  /// Each given name, with its number of uses before, for Replay. During a Replay in the
  /// collection, as far as the Replay had got.
  [[nodiscard]] const NameUses& before() const { return before_; }

 private:
  ParameterCollection collection_;
  NameUses before_;
};

/// Makes an object again of existing parameters. While a Replay lives, an addition to
/// `collection()`, or to a collection made in it, returns the root's parameter of the same name;
/// nothing is initialised, and a missing parameter or another shape is a UsageError. These
/// collections are the results of find_subcollection(), and afterwards add as before, with the next
/// names. Thread rule: as adding, in all of the root.
class Replay {
 public:
  /// Begins in the collection `fullname` of `root`, after the given numbers of additions: `uses` of
  /// parameters and `sub_uses` of sub-collections, by name. UsageError during another Replay there.
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
