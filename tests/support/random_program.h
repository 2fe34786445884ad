#pragma once

// A random program with its model (builder_programs.h), which can be run in several ways.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dynet/model.h"

#include "execute/executor.h"
#include "support/builder_programs.h"

namespace dynet::testing {

/// The numbers from a run of a program.
struct Numbers {
  std::vector<std::vector<double>> values;     ///< asked for on the way, then of all that is left
  std::vector<std::vector<double>> gradients;  ///< likewise, then of the model
  double total = 0.0;                          ///< of the losses that were differentiated
  std::size_t joined = 0;                      ///< of joined_sums()
  std::size_t mixed = 0;                       ///< of groups_of_many_shapes()
  bool has_pieces = false;                     ///< of gradients that many nodes add to
};

struct HowToRun {
  bool batching = true;
  bool infers = false;  ///< in an inference scope, without gradients
  Form form = Form::kUsual;
  bool is_loud = false;
};

/// A program: a model with some builders, and its steps.
class RandomProgram {
 public:
  RandomProgram(std::uint64_t seed, Device* device);

  Numbers run(const HowToRun& how);
  /// `run` in a graph that is given, and has no nodes.
  Numbers run_in(ComputationGraph& cg, const HowToRun& how);
  /// Adds to the numbers of the model, which are multiples of 2^-12, `step` or -`step` each.
  void move(float step);
  /// The change of the total that the gradients of `move(1)` give.
  [[nodiscard]] double slope() const;
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  struct Mark {
    std::size_t vectors;
    std::size_t losses;
  };
  struct Run {
    Making making;
    const HowToRun& how;
    Numbers numbers;
    std::vector<Mark> marks;
    std::vector<Expression> weights;  ///< matrices that are computed from one parameter
  };

  void draw_values(Random& random, double scale);
  void enter(ComputationGraph& cg);
  void say(const Run& run, const std::string& what) const {
    if (run.how.is_loud) {
      std::printf("%3zu vectors, %2zu losses: %s\n", run.making.vectors.size(),
                  run.making.losses.size(), what.c_str());
    }
  }
  void step(Run& run);
  void add_leaf(Run& run) const;
  void combine(Run& run) const;
  void compute_weights(Run& run) const;
  static Expression weigh(Run& run);
  Expression read_often(Run& run) const;
  Expression look_up_often(Run& run) const;
  void ask(Run& run) const;
  void ask_in_scope(Run& run) const;
  void go_back(Run& run) const;
  void ask_gradients(Run& run, const std::vector<Expression>& of) const;
  void run_again(Run& run) const;
  void fail(Run& run) const;
  void change_batch(Run& run);
  void checkpoint(Run& run);
  void revert(Run& run);
  void finish(Run& run) const;
  static Expression loss_of(Making& making);

  std::uint64_t seed_;
  Device* device_;
  unsigned size_ = 0;
  unsigned batch_ = 1;
  bool is_quiet_ = false;
  execute::Executor::Limits limits_;
  ParameterCollection model_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<std::string> names_;
  Parameter w_, v_, b_;
  LookupParameter words_;
};

}  // namespace dynet::testing
