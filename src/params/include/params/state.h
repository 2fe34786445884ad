#pragma once

// Parameters: what a storage keeps beside its public data.
//
// A storage owns two blocks, values and gradient, each starting on 64 bytes, in the number type of
// its device. The gradient's memory is not cleared when it is emptied: `fill` says what of it is
// true. The first to write after that stores, later ones add (gradient.h). A table also lists the
// rows that were written, without allocating in the steady state: `touched`, and `stamps[row] ==
// stamp` for membership.
//
// Once a user has been given a reference to the storage (`exposed`), the gradient's memory is
// always true, because they may read or write it at any time: then emptying does clear it.
//
// Start reading here, then gradient.h (what the executor does), access.h (what trainers and files
// do), storage.cc. Surprising: decay acts on the values of dense parameters at once, on tables by
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

/// What of the gradient's memory is true: nothing (all zero), the touched rows, or everything.
enum class GradientFill : std::uint8_t { kEmpty, kRows, kAll };

/// Memory of a gradient, and its squared norm as long as nobody changed it since that was found:
/// who wrote the gradient often knows it for nothing. Pointers to write through come from change()
/// alone, are used up before the next keep_squared_norm(), and so cannot leave a wrong one behind.
/// Thread rule: the storage's.
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
  /// From now on the gradient lies elsewhere, in memory of as many numbers that outlives this.
  void move_to(std::byte* place) {
    squared_norm_.reset();
    place_ = place;
  }
  /// Somebody may write at any time from now on: nothing is kept any more.
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

/// The values of a storage between two changes. A graph that read them in place holds this while a
/// backward may yet want them: the change that ends them leaves a copy here for its holders. Thread
/// rule: the storage's values; whoever holds it may read the copy at any time.
struct HeldValues {
  params::Buffer copy;  ///< empty before the change; and after it where there was no memory for one
};

/// Thread rule: gradient, fill, touched and stamps under `mutex`; values and factor change only
/// while no graph runs (use_count.h).
struct StorageState {
  /// `rows` is 0 for a dense parameter. `what` names it in errors.
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
  /// For one more state of a trainer. States made one after the other get different ones, which no
  /// value and no gradient has, however many trainers there were.
  params::Lane next_state_lane() {
    return params::kFirstStateLane + states++ % (params::kLanes - params::kFirstStateLane);
  }
  /// Lists `row`; true when it was not listed.
  bool touch(unsigned row);
  /// Writes zeros over the gradient's memory: all of it, or one row.
  void zero_gradient() { kernels.fill(gradient.change(), 0.0, elements); }
  void zero_gradient_row(unsigned row) { kernels.fill(gradient_row(row), 0.0, row_elements()); }
  /// The gradient lies in `place` from now on, empty; what it was is forgotten. Worker processes
  /// have gradients of their own, where their parent sees them.
  void move_gradient(std::byte* place);
  /// Makes the whole gradient true.
  void fill_gradient();
  /// Takes over rows that a user noted in `non_zero_grads`.
  void absorb_exposed_rows();
  /// Empties the gradient.
  void forget_gradient();
  /// To be called before the values of the storage change, by whoever changes them; a second call
  /// in one change does no harm. `by` is a literal that names the change in errors.
  void before_change(const char* by);
  /// Instead of it, for who changes some rows and has the averages of these caught up.
  void before_change_of_rows(const char* by);
  /// Another process has changed the values: nobody kept the old ones. The version is now this.
  void changed_elsewhere(std::uint64_t its_version);
  /// Multiplies what is pending into the values: of the own factor and the collection's.
  void apply_factor();
  /// Stores what rows have missed, so that `values` is true. GraphError where that would change
  /// values under a running graph.
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
  /// The squares of the gradient.
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
  bool has_followers = false;  ///< trainers keep something for it by its place in the lists
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

/// What a Replay (dynet/replay.h) keeps with a collection in which additions are found: the uses of
/// names so far, in the place of the collection's own, what is listed there by its full name, and
/// the list of all such collections.
struct Replayed {
  std::unordered_map<std::string, unsigned> names, sub_names;
  std::unordered_map<std::string, std::shared_ptr<ParameterStorage>> parameters;
  std::unordered_map<std::string, std::shared_ptr<LookupParameterStorage>> tables;
  std::vector<ParameterCollection>* all = nullptr;
};

/// What one collection keeps beside its lists. Thread rule: one thread at a time.
struct CollectionState {
  std::string name;
  std::shared_ptr<ParameterCollectionStorage> parent;
  std::shared_ptr<Decay> decay;
  std::shared_ptr<params::Usage> usage;
  std::unordered_map<std::string, unsigned> names;      ///< uses of each given name
  std::unordered_map<std::string, unsigned> sub_names;  ///< the same for sub-collections
  std::unique_ptr<ParameterCollection> self;            ///< of a root: what `owner` points to
  /// In a root: those below it by their full names, for who asks for one that lives. Those that do
  /// not are swept out when there are `parts_swept` of all.
  std::unordered_map<std::string, std::weak_ptr<ParameterCollectionStorage>> parts;
  std::size_t parts_swept = 16;
  /// Parameters of the builder whose collection this is that were made in the one above. They are
  /// not listed here, but a file of this collection has them too.
  std::vector<std::shared_ptr<ParameterStorage>> beside;
  bool exposed = false;                ///< its lists were given to a user
  std::unique_ptr<Replayed> replayed;  ///< null but while a Replay is on
  std::vector<NameUses*> logs;         ///< of the NameLogs that live
};

}  // namespace dynet::detail
