#pragma once

// Parameters: the state of a storage beside its public data.
//
// A storage owns two blocks, values and gradient, each starting on 64 bytes, in the number type of
// its device. Emptying the gradient does not clear its memory: `fill` says which numbers are true.
// The first write after that stores, later writes add (gradient.h). A table also lists the written
// rows, without allocating in the steady state: `touched`, and `stamps[row] == stamp` for
// membership. Example: after a backward over rows 3 and 7 of a million, `touched` has 3 and 7, and
// an update visits only these rows.
//
// Once a user has a reference to the storage (`exposed`), the gradient's memory is always true,
// because the user may read or write it at any time: then emptying clears the memory.
//
// Start reading here, then gradient.h (for the executor), access.h (for trainers and files),
// storage.cc. Surprising: decay acts on the values of dense parameters at once, on tables by
// `factor`.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "dynet/ext/kernels.h"
#include "dynet/model.h"

#include "params/buffer.h"
#include "params/missed.h"
#include "params/squared_norm.h"
#include "params/use_count.h"
#include "util/fork.h"

namespace dynet {
struct NameUses;
}

namespace dynet::detail {

/// A collection's rate of weight decay; kept alive by its parameters and sub-collections.
struct Decay {
  L2WeightDecay own;
  std::shared_ptr<Decay> parent;
};

/// The true numbers in the gradient's memory: none (all are zero), the touched rows, or all.
enum class GradientFill : std::uint8_t { kEmpty, kRows, kAll };

/// Memory of a gradient, and the squared norm of the gradient while it is unchanged: the writer of
/// a gradient often knows the norm for nothing. Pointers for writing come from change() alone, and
/// must not be used after the next keep_squared_norm(), so no wrong norm is kept. Thread rule: the
/// storage's.
class GradientMemory {
 public:
  GradientMemory(const Device& device, std::int64_t elements, const std::string& what)
      : memory_(device, elements, what, params::Reach::kProcess, params::kGradientLane),
        place_(memory_.data()) {}
  [[nodiscard]] const std::byte* data() const { return place_; }
  [[nodiscard]] std::byte* change() {
    squared_norm_.reset();
    return place_;
  }
  /// Moves the gradient to other memory of the same size, which outlives this object.
  void move_to(std::byte* place) {
    squared_norm_.reset();
    place_ = place;
  }
  /// From now on a user may write at any time: no norm is kept any more.
  void expose() {
    squared_norm_.reset();
    is_exposed_ = true;
  }
  [[nodiscard]] std::optional<double> squared_norm() const { return squared_norm_; }
  void keep_squared_norm(std::optional<double> norm) {
    squared_norm_ = is_exposed_ ? std::nullopt : norm;
  }

 private:
  params::Buffer memory_;
  std::byte* place_;
  std::optional<double> squared_norm_;
  bool is_exposed_ = false;
};

/// The values of a storage between two changes. A graph that read the values in place holds this
/// object while a backward may need the values; the next change leaves a copy here for the holders.
/// Thread rule: as the storage's values; a holder may read the copy at any time.
struct HeldValues {
  params::Buffer copy;  ///< empty before the change, and after it without memory for a copy
};

/// Thread rule: gradient, fill, touched and stamps under `mutex`; values and factor change only
/// while no graph runs (use_count.h).
struct StorageState {
  /// `rows` is 0 for a dense parameter. Errors name the parameter as `what`.
  StorageState(const Device& own_device, std::int64_t all_elements, unsigned rows,
               const std::string& what);

  [[nodiscard]] bool is_table() const { return table != nullptr; }
  [[nodiscard]] std::byte* value_row(unsigned row) const { return values.data() + row * row_bytes; }
  [[nodiscard]] std::byte* gradient_row(unsigned row) {
    return gradient.change() + row * row_bytes;
  }
  [[nodiscard]] std::int64_t row_elements() const { return row_bytes / number_bytes; }
  [[nodiscard]] double decay_factor() const {
    return factor * static_cast<double>(decay->own.current_weight_decay());
  }
  [[nodiscard]] bool is_touched(unsigned row) const { return stamps[row] == stamp; }
  /// The lane for a further state of a trainer. States made one after the other get different
  /// lanes, never the lane of values or gradients, however many trainers there were.
  params::Lane next_state_lane() {
    return params::kFirstStateLane + states++ % (params::kLanes - params::kFirstStateLane);
  }
  /// Lists `row`; true when it was not listed.
  bool touch(unsigned row);
  /// Writes zeros over the gradient's memory: all of it, or one row.
  void zero_gradient() { kernels.fill(gradient.change(), 0.0, elements); }
  void zero_gradient_row(unsigned row) { kernels.fill(gradient_row(row), 0.0, row_elements()); }
  /// Moves the gradient to `place`, empty; the old gradient is forgotten. Worker processes have
  /// gradients of their own in memory that their parent sees.
  void move_gradient(std::byte* place);
  /// Makes the whole gradient true.
  void fill_gradient();
  /// Takes over rows that a user noted in `non_zero_grads`.
  void absorb_exposed_rows();
  /// Empties the gradient.
  void forget_gradient();
  /// To be called before each change of the storage's values; a second call in one change does no
  /// harm. `by` is a literal that names the change in errors.
  void before_change(const char* by);
  /// `before_change` for changes of some rows, whose averages the caller has caught up.
  void before_change_of_rows(const char* by);
  /// Another process has changed the values, and the old values are lost. Sets the version.
  void changed_elsewhere(std::uint64_t its_version);
  /// Multiplies pending factors into the values: the storage's own and the collection's.
  void apply_factor();
  /// Stores the missed updates of rows, so that `values` is true. GraphError if a graph is running,
  /// whose values would change.
  void catch_up();
  /// Brings moving averages of the rows up to date with the values.
  void catch_up_averages() const;
  [[nodiscard]] bool lags() const { return missed != nullptr && !missed->is_current(); }
  /// Runs `f(pointer, elements)` over the parts of the gradient that may not be zero.
  template <class F>
  void for_gradient(F f) {
    if (is_table() && !table->all_updated) {
      for (const unsigned row : touched) {
        f(gradient_row(row), row_elements());
      }
    } else if (fill != GradientFill::kEmpty) {
      fill_gradient();
      f(gradient.change(), elements);
    }
  }
  /// The sum of the squares of the gradient.
  void add_gradient_to(params::SquaredNorm& norm);

  const Device& device;
  const ext::Kernels& kernels;  ///< of the device
  std::int64_t elements;
  std::int64_t number_bytes;
  std::int64_t row_bytes = 0;  ///< of a table
  params::Buffer values;
  GradientMemory gradient;
  std::uint64_t version = 0;    ///< of the values: larger after each change
  const char* changed_by = "";  ///< the last change
  std::shared_ptr<HeldValues> held = std::make_shared<HeldValues>();  ///< null: not to be had
  std::atomic<unsigned> states{0};                                    ///< of trainers, made so far
  util::ForkMutex mutex;
  GradientFill fill = GradientFill::kEmpty;
  bool is_pristine = true;     ///< the gradient's memory was never written
  bool has_followers = false;  ///< trainers keep state by its place in the lists
  std::atomic<bool> exposed{false};
  std::vector<unsigned> touched;
  std::vector<std::uint32_t> stamps;  ///< one a row
  std::uint32_t stamp = 1;
  LookupParameterStorage* table = nullptr;
  ParameterStorageBase* storage = nullptr;
  double factor = 1.0;                      ///< of a table: yet to be multiplied into the values
  std::shared_ptr<MissedSteps> missed;      ///< of a table with exact updates, in stored units
  std::weak_ptr<LaggingAverages> averages;  ///< of a table; the trainer owns them
  std::shared_ptr<Decay> decay;
  std::shared_ptr<params::Usage> usage;
};

/// The data of a Replay (dynet/replay.h) at a collection whose additions are found: the uses of
/// names so far, in place of the collection's own, the listed objects by full name, and the list of
/// all such collections.
struct Replayed {
  std::unordered_map<std::string, unsigned> names, sub_names;
  std::unordered_map<std::string, std::shared_ptr<ParameterStorage>> parameters;
  std::unordered_map<std::string, std::shared_ptr<LookupParameterStorage>> tables;
  std::vector<ParameterCollection>* all = nullptr;
};

/// The state of a collection beside its lists. Thread rule: one thread at a time.
struct CollectionState {
  std::string name;
  std::shared_ptr<ParameterCollectionStorage> parent;
  std::shared_ptr<Decay> decay;
  std::shared_ptr<params::Usage> usage;
  std::unordered_map<std::string, unsigned> names;      ///< uses of each given name
  std::unordered_map<std::string, unsigned> sub_names;  ///< the same for sub-collections
  std::unique_ptr<ParameterCollection> self;            ///< of a root: the target of `owner`
  /// In a root: the collections below by full name, to find a living one. Dead entries are swept
  /// out when the map has `parts_swept` entries.
  std::unordered_map<std::string, std::weak_ptr<ParameterCollectionStorage>> parts;
  std::size_t parts_swept = 16;
  /// Parameters of this collection's builder that were made in the collection above. They are not
  /// listed here, but belong to a file of this collection.
  std::vector<std::shared_ptr<ParameterStorage>> beside;
  bool exposed = false;                ///< its lists were given to a user
  std::unique_ptr<Replayed> replayed;  ///< null but while a Replay is on
  std::vector<NameUses*> logs;         ///< of the NameLogs that live
};

}  // namespace dynet::detail
