#pragma once

// Trainers: from gradients to parameters.
//
// In:  the gradients that backward passes left in a collection.   Out: changed parameters, and the
//      trainer's state; the gradients are empty.
//
// The base class holds the order of an update and knows no rule. A rule is a few lines of
// arithmetic in a header beside this one, with the names of its states (rule_trainer.h). A rule
// runs as one pass over a parameter, or over the rows of a table that have a gradient. In
// src/trainers trainer.cc has the order, rule_trainer.cc hands numbers to a rule's loop,
// simd_steps.cc has the loops, missed.cc exact sparse updates, averages.cc moving averages,
// table_averages.cc averages of resting rows, schedule.cc the schedules (schedule.h),
// trainer_text.cc and text_reader.cc the state as text, settings.cc the ranges of numbers,
// warnings.cc the warnings.
//
// Example: SimpleSGDTrainer with rate 0.1 and the threshold 5. A gradient of norm 10 is halved,
// then w -= 0.1 * g. Start reading at Trainer, then adagrad.h. Surprising: gradients are emptied
// without clearing their memory, so a parameter may have none. Rules then get zeros if zeros matter
// (the moments of Adam decay), and are skipped otherwise (gradient descent).

#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet/model.h"
#include "dynet/shadow-params.h"
#include "dynet/trainers/schedule.h"

namespace dynet {

namespace trainers {
class TextReader;
struct IdleMotion;
class MissedUpdates;
class TableAverages;

/// How many states a rule may keep per parameter, and how many numbers of its own.
inline constexpr unsigned kMaxStates = 4;
inline constexpr unsigned kMaxNumbers = 9;
inline constexpr unsigned kMaxUnsaved = 4;

/// The range of a number of a rule; NaN and infinity are in none. Updates refuse other values with
/// a ValueError, and populate() refuses a text that has them with an IoError.
enum class Range : unsigned char {
  kFinite,    ///< any number
  kAtLeast0,  ///< an epsilon
  kAbove0,    ///< a length
  kBelow1,    ///< at least 0: how much of a moving mean is kept
  kUpTo1,     ///< the same, if a mean that stays for ever does no harm
};

/// The state of a trainer and the numbers of its rule. Order and names are as in its text.
struct StateLists {
  struct State {
    std::vector<ShadowParameters>* parameters = nullptr;
    std::vector<ShadowLookupParameters>* lookups = nullptr;
  };
  /// One of the three: a number, a count, or a flag.
  struct Number {
    Number() = default;
    Number(const char* n, float* v, Range r = Range::kFinite) : name(n), value(v), range(r) {}
    Number(const char* n, unsigned* c) : name(n), count(c) {}
    Number(const char* n, bool* f) : name(n), flag(f) {}
    const char* name = nullptr;
    float* value = nullptr;
    unsigned* count = nullptr;
    bool* flag = nullptr;
    Range range = Range::kFinite;  ///< of a number
  };
  /// The trainer's name in its text, which no other trainer takes; null: the text is the base's.
  const char* name = nullptr;
  State states[kMaxStates];
  Number numbers[kMaxNumbers];
  Number unsaved[kMaxUnsaved] = {};  ///< others, which its text does not have

  /// Nothing but a name, which DyNet 2.1 does not write.
  [[nodiscard]] bool is_empty() const { return state_count() == 0 && number_count() == 0; }

  [[nodiscard]] unsigned state_count() const {
    unsigned n = 0;
    while (n < kMaxStates && states[n].parameters != nullptr && states[n].lookups != nullptr) {
      ++n;
    }
    return n;
  }
  [[nodiscard]] unsigned number_count() const {
    unsigned n = 0;
    while (n < kMaxNumbers && numbers[n].name != nullptr) {
      ++n;
    }
    return n;
  }
};
}  // namespace trainers

enum struct MovingAverage { None, Cumulative, Exponential };
/// "None", "Cumulative" or "Exponential".
std::ostream& operator<<(std::ostream& os, const MovingAverage& o);
/// UsageError for another word.
std::istream& operator>>(std::istream& is, MovingAverage& o);

/// The treatment of rows of lookup tables without a gradient in an update.
///   kSparse: nothing; their momentum and moments stay too (the default).
///   kDense: as for every parameter; costs a pass over the table.
///   kExact: the numbers of kDense at about the cost of kSparse. A row catches up on the updates it
///     missed when it is next read or updated, or when the table is looked at. A reference to its
///     values (`get_storage()`, `values()`) shows the values at the time of the call; ask again
///     after an update. EGTrainer and LambTrainer refuse it, as sums of steps do not say where a
///     row goes; settings whose sums grow without bound make it kDense (docs/decisions/0004).
enum struct LookupUpdates { kSparse, kDense, kExact };
/// "sparse", "dense" or "exact".
std::ostream& operator<<(std::ostream& os, const LookupUpdates& o);
/// UsageError for another word.
std::istream& operator>>(std::istream& is, LookupUpdates& o);

/// Base of all trainers. A trainer keeps the collection alive and may be made before its
/// parameters. One `update()`:
///
///   1. makes room for the state of parameters that are new,
///   2. limits each number of the gradient to clip_value, and then multiplies the gradient by
///      clip_threshold / n if its norm n is above the threshold; with or without clipping, a
///      gradient that is not finite is refused,
///   3. applies the rule to every parameter that is not frozen, whether or not it got a gradient,
///      then to every lookup table: to the rows with a gradient, or to all as `lookup_updates` says
///      or if the table was used as a whole,
///   4. moving averages, 5. counts, 6. weight decay: updated values are multiplied by 1 - lambda
///      (tables by a factor that stored values are to be multiplied with). All gradients are empty
///      then. 7. The schedule, if there is one, sets the rate of the next update.
///
/// GraphError if a graph of the model runs in another thread.
///
/// C++: Users may derive: `update_rule` and the `update_*params` get the index into the
/// collection's lists. Thread rule: the model belongs to `update()` alone.
struct Trainer {
  /// ValueError if the rate is NaN or infinite. A rate below 0 climbs: here, in
  /// set_learning_rate, restart, set_schedule and update() the log sink is told of the first one.
  explicit Trainer(ParameterCollection& m, real rate);
  virtual ~Trainer();
  Trainer(const Trainer&) = default;
  Trainer& operator=(const Trainer&) = default;

  /// Changes the parameters by their gradients, and empties these. NumericError if a gradient is
  /// NaN or infinite (or, with clipping, their norm is): then nothing but the gradients, which are
  /// emptied, is changed. ValueError if the rate is NaN or infinite, a number of the rule is out of
  /// its range (the trainer's text has it), the clip threshold is NaN or negative, or the largest
  /// number not above 0: then nothing is changed, gradients neither. A collection to which no
  /// gradient has ever come is told of in the log, once.
  virtual void update();
  /// An update with all gradients multiplied by `scale` first (as before 2.0).
  void update(real scale);
  /// An update of these parameters and tables alone, by their places in the collection's lists. The
  /// others are as if frozen; their gradients stay for an update of their own. IndexError.
  void update(const std::vector<unsigned>& updated_params,
              const std::vector<unsigned>& updated_lookup_params);
  /// Ends an epoch: `epoch` grows by `r`, and if `eta_decay` is not 0 the rate becomes
  /// eta0 / (1 + epoch * eta_decay), as before 2.0.
  void update_epoch(real r = 1.0F);
  /// Forgets momentum and moments; `updates` and the rate stay.
  virtual void restart() = 0;
  /// Assigns the rate, which the program may do itself. ValueError if it is NaN or infinite.
  void set_learning_rate(real rate);
  /// Forgets momentum and moments, and sets the rate. ValueError if it is NaN or infinite.
  void restart(real lr);
  /// The treatment of table rows without a gradient, from the next update on.
  ///
  /// C++: UsageError for kExact if the rule cannot have it.
  ///
  /// Python: 'sparse' (the default): none. 'dense': the same as of every parameter. 'exact': the
  /// numbers of 'dense' at about the cost of 'sparse'; UsageError if the rule cannot have it.
  void set_lookup_updates(LookupUpdates how);
  [[nodiscard]] LookupUpdates lookup_updates() const {
    return sparse_updates_enabled ? LookupUpdates::kSparse
                                  : (is_exact_ ? LookupUpdates::kExact : LookupUpdates::kDense);
  }

  /// Sets the rate now and after each update, counted from this call on; a rate that the program
  /// assigns holds for one update. Replaces the schedule before; without a schedule the rate stays.
  /// ValueError if the schedule's first rate is NaN or infinite.
  void set_schedule(trainers::Schedule::Pointer schedule);
  template <class S, class = std::enable_if_t<std::is_base_of_v<trainers::Schedule, S>>>
  void set_schedule(S schedule) {
    set_schedule(trainers::Schedule::Pointer(std::make_shared<S>(std::move(schedule))));
  }
  /// The schedule in use, reports included, if there is one.
  [[nodiscard]] const trainers::Schedule::Pointer& schedule() const { return schedule_; }
  /// Tells the schedule a metric, such as the loss of a development set, and sets the rate that
  /// follows from it. UsageError if no schedule takes one.
  void report_metric(double metric);

  /// Writes the state as text: the text of 2.1, and before its averages a line for each setting in
  /// use that 2.1 lacks (schedule, clipping by value, eta_decay, more than 2^24 updates). The
  /// rule's numbers and states end the text, under the trainer's name; gradient descent has the
  /// name alone, which 2.1 does not write. Averages are in the text also while they replace the
  /// parameters. Pending factors of weight decay are multiplied into stored values, so that a model
  /// read from a file written next to the text goes on to the bit.
  virtual void save(std::ostream& os);
  /// Reads the state back; all or nothing. Settings that the text does not mention, such as the
  /// schedule, stay. UsageError for the state of another trainer (gradient descent of either kind
  /// takes a text without a name) or of a larger model. IoError for damaged text, with line and
  /// byte; numbers out of range and a missing last line end are damage, too. (Two texts of 2.1 are
  /// taken: gradient descent without a name, EGTrainer without a last line end.)
  ///
  /// C++: A stream that cannot go back has no line and byte.
  virtual void populate(std::istream& is);
  void populate(std::istream& is, real lr);
  /// Clips by value, and returns the factor of the gradients for clipping by norm. NumericError as
  /// in update().
  float clip_gradients();
  /// Multiplies pending decay factors into the stored values.
  void rescale_and_reset_weight_decay();

  [[nodiscard]] MovingAverage moving_average() const { return ma_mode; }
  /// Averages parameters from the first update on, every `update_freq` of them: average = beta *
  /// average + (1 - beta) * parameter. UsageError after it, or if `update_freq` is 0. ValueError
  /// unless beta, the share of the old average, is 0 or more and less than 1.
  void exponential_moving_average(float beta, unsigned update_freq = 1U);
  /// The mean of the parameters after every `update_freq` updates, from the first on. UsageError
  /// after it, or if `update_freq` is 0.
  void cumulative_moving_average(unsigned update_freq = 1U);
  /// Puts the averages in the place of the parameters; `save_weights` keeps these for
  /// swap_params_to_weights. UsageError if there is no average.
  void swap_params_to_moving_average(bool save_weights = true, bool bias_correction = false);
  /// Puts the parameters back. Does nothing if they are in place already; update() begins with this
  /// call.
  void swap_params_to_weights();
  /// Whether the averages are in the place of the parameters.
  [[nodiscard]] bool has_swapped_averages() const { return ma_params_swapped; }

  /// Writes "[lr=... clips=... updates=...] " on the standard error stream, counted since the last
  /// call.
  void status() {
    std::cerr << "[lr=" << learning_rate << " clips=" << clips_since_status
              << " updates=" << updates_since_status << "] ";
    clips_since_status = 0;
    updates_since_status = 0;
  }

  union {  // one number under two names: `eta` is the name before 2.0
    /// The rate of the next update.
    real learning_rate;
    real eta;
  };
  bool clipping_enabled = true;
  /// Largest norm of all gradients; 0: no limit.
  real clip_threshold = 5.0F;
  /// Largest size of a number of the gradient, before the norm is looked at.
  ///
  /// C++: With `clipping_enabled` or without; above 0.
  ///
  /// Python: 0 or less: no limit (the default).
  real clip_value = std::numeric_limits<real>::infinity();
  real clips = 0.0F;
  real updates = 0.0F;
  real clips_since_status = 0.0F;
  real updates_since_status = 0.0F;
  /// False: rows of tables without a gradient move too, as `lookup_updates` says.
  ///
  /// C++: In the way of set_lookup_updates, kDense by default.
  bool sparse_updates_enabled = true;
  unsigned aux_allocated = 0;         ///< parameters with state
  unsigned aux_allocated_lookup = 0;  ///< tables with state
  ParameterCollection* model = nullptr;
  // Of update_epoch. `eta_decay` is the last argument of trainers, `edecay`, as before 2.0.
  real eta0 = 0.0F;
  real eta_decay = 0.0F;
  real epoch = 0.0F;

 protected:
  Trainer() : learning_rate(0.0F) {}

  /// Makes state for the parameters after the first `aux_allocated`; returns how many there were.
  virtual unsigned alloc_impl();
  virtual unsigned alloc_lookup_impl();
  /// Applies the rule to `values[0]` with the gradient `values[1]` and state after them.
  virtual void update_rule(real gscale, const std::vector<Tensor*>& values) = 0;
  /// Updates one dense parameter. On a device that the host does not see, trainers of this library
  /// may delay the update until end_params().
  virtual void update_params(real gscale, std::size_t idx) = 0;
  virtual void end_params() {}
  /// Updates one row. Trainers of this library may delay the update until end_rows(). An override
  /// that calls the base must change the row before the call, or in its own end_rows().
  virtual void update_lookup_params(real gscale, std::size_t idx, std::size_t lidx) = 0;
  virtual void update_lookup_params(real gscale, std::size_t idx) = 0;  ///< whole table

  /// Called before and after the rows of table `idx` are updated one by one: numbers that all rows
  /// need can be computed once.
  virtual void begin_rows(real /*gscale*/, std::size_t /*idx*/) {}
  virtual void end_rows() {}

  /// Makes room for the state of new parameters.
  void aux_alloc();
  /// The number of this update, from 1.
  [[nodiscard]] std::uint64_t step_number() const;
  /// Steps are divided by this: effective value / stored value.
  [[nodiscard]] double decay_of(const ParameterStorageBase& p) const;
  /// The factor for the values of a parameter after the step: its weight decay, as far as
  /// update_params has to apply it.
  [[nodiscard]] double keep_of(const ParameterStorageBase& p) const;
  /// Whether update_params multiplies by keep_of() itself; else update() does so after it.
  [[nodiscard]] virtual bool decays_in_rule() const { return false; }

  /// The factor for values before the step, beside the weight decay of collections: the decoupled
  /// decay of AdamW and Lion, 1 - learning_rate * weight_decay, in (0, 1]. A table is decayed as a
  /// whole, whatever rows have a gradient.
  [[nodiscard]] virtual double shrink() const { return 1.0; }

  /// Called at the end of each update that succeeded, before the schedule sets the rate.
  virtual void after_update() {}

  /// The state that alloc_impl, save and populate handle; the default has none.
  virtual trainers::StateLists states();
  /// Sets the state to zero.
  void forget_state();
  /// The motion of rows of table `idx` without a gradient, for exact updates. By default unknown:
  /// the whole table is updated.
  virtual trainers::IdleMotion idle_motion(std::size_t idx);
  /// The reason why no setting of the rule allows exact updates; null: some setting does.
  [[nodiscard]] virtual const char* why_not_exact() const { return nullptr; }

  real ema_beta = 0.0F;
  MovingAverage ma_mode = MovingAverage::None;
  bool ma_params_swapped = false;
  bool ma_params_saved = false;
  unsigned ma_update_freq = 0;
  unsigned ma_updates = 0;
  unsigned ma_aux_allocated = 0;
  unsigned ma_aux_allocated_lookup = 0;
  std::vector<ShadowParameters> ma_p, ma_saved_p;
  std::vector<ShadowLookupParameters> ma_lp, ma_saved_lp;  ///< rows of `ma_lp` lag if they rest

  /// The base part of save() and populate(); reading changes nothing, committing throws nothing.
  struct Saved;
  void save_base(std::ostream& os) const;
  Saved read_base(trainers::TextReader& in) const;
  std::string read_additions(trainers::TextReader& in, Saved& saved) const;
  void commit_base(Saved& saved);

 private:
  static void check_rate(real rate);
  static void check_beta(real beta);
  void warn_of_rate();
  void look_for_gradient(double squares);
  void check_settings(real scale);
  [[nodiscard]] double sum_of_squares() const;
  void limit_gradients(real scale);
  real clip(real scale);
  void follow_schedule();
  void update_scaled(real scale);
  void update_parameters(real gscale);
  void update_parameter(real gscale, std::size_t idx);
  void prepare_table(std::size_t idx);
  void update_table(real gscale, std::size_t idx);
  [[nodiscard]] trainers::IdleMotion motion_of(std::size_t idx);
  void attach(std::size_t idx, const trainers::IdleMotion& motion);
  void detach_all();
  void catch_up() const;
  void settle();
  [[nodiscard]] static double decay_step_of(const ParameterStorageBase& p);
  void apply_decay();
  void update_averages();
  void enable_average(MovingAverage mode, unsigned update_freq);
  void allocate_averages();
  void attach_averages();
  void catch_up_averages() const;
  void check_weights_are_saved() const;
  void restore_weights();

  std::shared_ptr<ParameterCollection> kept_;  ///< the collection of `model`
  std::uint64_t steps_ = 0;  ///< `updates` as an integer, which floats lose at 2^24
  bool is_exact_ = false;
  bool has_met_gradient_ = false;  ///< or has warned that there was none
  bool has_warned_of_rate_ = false;
  std::vector<double> ma_saved_factors_;  ///< decay factors of the saved tables, in their order
  trainers::Schedule::Pointer schedule_;
  std::uint64_t schedule_start_ = 0;                              ///< `steps_` when it was set
  std::vector<std::shared_ptr<trainers::MissedUpdates>> missed_;  ///< per table; null: none
  std::vector<std::shared_ptr<trainers::TableAverages>> table_averages_;  ///< per table of `ma_lp`
};

}  // namespace dynet

// Declares the overrides of a trainer, for programs of DyNet 2.1.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define DYNET_TRAINER_DEFINE_DEV_IMPL()                                                        \
  void update_params(::dynet::real gscale, std::size_t idx) override;                          \
  void update_lookup_params(::dynet::real gscale, std::size_t idx, std::size_t lidx) override; \
  void update_lookup_params(::dynet::real gscale, std::size_t idx) override;                   \
  template <class MyDevice>                                                                    \
  void update_rule_dev(const MyDevice& dev, ::dynet::real gscale,                              \
                       const std::vector<::dynet::Tensor*>& values);                           \
  void update_rule(::dynet::real gscale, const std::vector<::dynet::Tensor*>& values) override;
// NOLINTEND(bugprone-macro-parentheses)
