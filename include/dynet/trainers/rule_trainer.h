#pragma once

// Trainers that are rules. Such a trainer is one header beside this file: the rule (a struct of
// doubles with `step`, ext/update.h), and a class with the name in Python (kAbout), the names of
// the states, and the rule's numbers for given settings. The common code is here and in
// src/trainers: dense parameters, rows of tables and whole tables go through one loop, on every
// device. A rule with sums over the whole parameter (lamb.h, eg.h) takes a table row by row.
//
// Start reading at adagrad.h, the shortest trainer with a state. all.h has the list. Programs read
// these files as C++17, in which rules are templates that nothing calls, and the library reads them
// as C++20; hence `template <class W, ...>` instead of `auto`.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <vector>

#include "dynet/trainers/trainer.h"

#if __cplusplus >= 202002L
#include "dynet/ext/over.h"
#include "dynet/ext/rule.h"
/// Rules of updates, and the words that they may use.
namespace dynet::trainers::updates {
using rule::each, rule::exp, rule::log, rule::max, rule::min, rule::select, rule::sqrt;
}
#else
#define DYNET_DEVICE_FN
/// Named by rules that C++17 never calls.
namespace dynet::over {
template <class E>
void sum(E);
template <class E>
void max(E);
}  // namespace dynet::over
#endif

namespace dynet {

namespace ext {
class Kernels;
struct UpdateInfo;
/// Defined in ext/update.h; the library has it for all trainers of the list.
template <class Rule>
const UpdateInfo& update_info();  // NOLINT(readability-redundant-declaration)
}  // namespace ext

namespace trainers {

/// The name and the arguments of a trainer, in its text and in Python: `Trainer(m, *arguments)`.
template <std::size_t kArguments>
struct About {
  struct Argument {
    const char* name = nullptr;
    float value = 0.0F;  ///< the default
  };
  const char* name = nullptr;
  Argument arguments[kArguments] = {};
};

/// The numbers of a step of a rule beside the trainer's own settings.
struct Facts {
  double rate;                  ///< learning_rate
  double gradient_scale = 1.0;  ///< from clipping: factor of the gradient in memory
  double decay = 1.0;           ///< steps are divided by it: effective value / stored value, and
                                ///< Trainer::shrink if `keep` has it
  double keep = 1.0;            ///< factor of the values after the step
  double number = 1.0;          ///< of the update, from 1
};

/// The motion of a row without gradients, update after update, if it can be summed up. In the k-th
/// update after the last gradient, values change by
///   weight * ratio^k * f(spread^k),  and state i is multiplied by shrink[i],
/// with f, the catch-up rule, a function of the values' state alone.
///
/// The catch-up rule is an update rule without a gradient, step(w, state...) -> each(w). Its first
/// four members are filled in: with the sums over the missed updates of S = weight * ratio^k,
/// `total` is their sum, and `mean`, `variance` and `skew` are the mean of spread^k under these
/// weights and its second and third central moments. Others are the trainer's own.
struct IdleMotion {
  enum class Kind : unsigned char {
    kUnknown,  ///< whole tables are to be updated
    kRests,    ///< values and state stay as they are
    kMoves,
  };
  Kind kind = Kind::kUnknown;
  double weight = 0.0;  ///< of this update
  double ratio = 0.0;   ///< at least 0
  double spread = 1.0;  ///< at least 1
  double shrink[kMaxStates] = {1.0, 1.0, 1.0, 1.0};
  const ext::UpdateInfo* catch_up = nullptr;  ///< null: values stay
  double numbers[8] = {};                     ///< the catch-up rule

  static IdleMotion rests() {
    IdleMotion m;
    m.kind = Kind::kRests;
    return m;
  }
  /// Only the state changes.
  static IdleMotion shrinks(std::initializer_list<double> by) {
    IdleMotion m;
    m.kind = Kind::kMoves;
    std::size_t i = 0;
    for (const double s : by) {
      m.shrink[i++] = s;
    }
    return m;
  }
  template <class CatchUp>
  static IdleMotion moves(double weight, double ratio, double spread,
                          std::initializer_list<double> by, const CatchUp& rule) {
    static_assert(std::is_trivially_copyable_v<CatchUp> && sizeof rule <= sizeof(numbers));
    IdleMotion m = shrinks(by);
    m.weight = weight;
    m.ratio = ratio;
    m.spread = spread;
    m.catch_up = &ext::update_info<CatchUp>();
    std::memcpy(m.numbers, &rule, sizeof rule);
    return m;
  }
};

/// Base of the trainers that are rules; see RuleTrainer.
struct RuleTrainerBase : Trainer {
  RuleTrainerBase(ParameterCollection& m, real rate);
  void restart() override { forget_state(); }
  using Trainer::restart;

 protected:
  /// The motion of the rule without a gradient; see IdleMotion.
  [[nodiscard]] virtual IdleMotion idle(const Facts& /*facts*/) const { return {}; }

  void update_rule(real gscale, const std::vector<Tensor*>& values) override;
  void update_params(real gscale, std::size_t idx) override;
  void end_params() override;
  void update_lookup_params(real gscale, std::size_t idx, std::size_t lidx) override;
  void update_lookup_params(real gscale, std::size_t idx) override;
  void begin_rows(real gscale, std::size_t idx) override;
  void end_rows() override;
  [[nodiscard]] bool decays_in_rule() const override { return true; }
  IdleMotion idle_motion(std::size_t idx) override;

 private:
  [[nodiscard]] virtual const ext::UpdateInfo& info() const = 0;
  virtual void write_rule(const Facts& facts, void* to) const = 0;
  [[nodiscard]] Facts facts_for(real gscale, const ParameterStorageBase& p, double keep) const;
  void prepare(const Facts& facts);
  void apply(const Device& device, const Facts& facts, void* const* data, std::int64_t elements);
  void apply_to_rows(const Device& device, const Facts& facts, void* const* data, std::int64_t rows,
                     std::int64_t row_elements, std::int64_t row_bytes);
  void open_rows(real gscale, std::size_t idx);
  void step_waiting_rows();
  void step_row(std::size_t row) const;
  void find_row(std::size_t row, void** data) const;
  void note(const Device& device, void* const* data, std::int64_t elements);
  void run_noted();

  // The last step, ready to run: it is the same for many parameters.
  alignas(16) unsigned char step_[512] = {};
  bool has_step_ = false;
  /// Operands of `step_` on one device, which have yet to be stepped, in one call: a start of a
  /// loop costs on a device that the host does not see.
  struct Noted {
    void* data[2 + kMaxStates];
    std::int64_t elements;
  };
  std::vector<Noted> noted_;
  const Device* noted_on_ = nullptr;
  std::size_t next_noted_ = 0;  ///< no parameter from this number on is among the notes
  /// Between begin_rows and end_rows: where row 0 of a table and of its states lie, and the next
  /// rows. Rows from `waiting` to `next` were requested and have yet to be stepped; a request for
  /// another row than `next` is stepped at once. `step_` is the step of these rows.
  struct Rows {
    const Device* device = nullptr;  ///< null: no rows are being updated
    std::size_t table = 0;
    real gscale = 1.0F;
    real rate = 0.0F;
    std::int64_t row_bytes = 0;
    std::int64_t row_elements = 0;
    unsigned char* first[2 + kMaxStates] = {};
    const unsigned* waiting = nullptr;
    const unsigned* next = nullptr;
    const unsigned* end = nullptr;
  };
  Rows rows_;
};

struct NoCatchUp {};

/// A trainer whose updates are the rule R; C is its catch-up rule, if there is one. A class
/// derived from it gives kAbout, rule() and states(), and, if exact updates can be had, idle().
template <class R, class C = NoCatchUp>
struct RuleTrainer : RuleTrainerBase {
  using Rule = R;
  using CatchUp = C;
  using RuleTrainerBase::RuleTrainerBase;

 protected:
  /// The numbers of the next step.
  [[nodiscard]] virtual R rule(const Facts& facts) const = 0;

 private:
  [[nodiscard]] const ext::UpdateInfo& info() const final { return ext::update_info<R>(); }
  void write_rule(const Facts& facts, void* to) const final { ::new (to) R(rule(facts)); }
};

/// A list of trainers.
template <class... T>
struct TrainerList {
  template <class... More>
  using With = TrainerList<T..., More...>;
  template <class F>
  static void for_each(F&& f) {
    (f(static_cast<T*>(nullptr)), ...);
  }
};

}  // namespace trainers
}  // namespace dynet
