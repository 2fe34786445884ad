// Random programs with steps of builders: merged and one by one give the same values and the same
// gradients of parameters and inputs; so do programs in an inference scope, values alone.
//
// DYNET_TEST_SEED=n runs the program of that seed alone and prints its steps; DYNET_TEST_PROGRAMS=n
// runs n programs. With DYNET_PARANOID or a far device there are fewer.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "dynet/except.h"
#include "dynet/inference.h"
#include "dynet/init.h"
#include "dynet/model.h"

#include "api/graph_state.h"
#include "execute/verify.h"
#include "support/builder_programs.h"
#include "support/observe.h"
#include "testing/device.h"
#include "testing/program.h"
#include "testing/sanitized.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

constexpr unsigned kRows = 5;           // of the lookup table
constexpr std::uint64_t kEnough = 100;  // programs, to say how often things are seen

/// The numbers from a run of a program.
struct Numbers {
  std::vector<std::vector<double>> values;     ///< asked for on the way, then of all that is left
  std::vector<std::vector<double>> gradients;  ///< of all that is left, and of the model
  std::size_t joined = 0;                      ///< of joined_sums()
  bool has_pieces = false;                     ///< of gradients that many nodes add to
};

struct HowToRun {
  bool batching = true;
  bool infers = false;  ///< in an inference scope, without gradients
  bool is_loud = false;
};

/// A program: a model with some builders, and its steps.
class RandomProgram {
 public:
  RandomProgram(std::uint64_t seed, Device* device) : seed_(seed), device_(device) {
    const DefaultDevice scope(device_);
    Random random(2 * seed);
    const std::vector<PartKind>& kinds = part_kinds();
    size_ = random.chance(0.04) ? 48 : 2 + 2 * random.below(2);  // some with large weights
    batch_ = random.chance(0.3) ? 2 + random.below(2) : 1;
    is_quiet_ = random.chance(0.5);
    if (random.chance(0.25)) {  // as large graphs meet them
      limits_ = {.planned_nodes = 20 + random.below(200),
                 .kept_calls = random.below(40),
                 .pieces = {.whole = 0, .piece = 16}};
    }
    const unsigned count = 1 + random.below(3);
    for (unsigned i = 0; i < count; ++i) {  // each kind as often as others
      const std::size_t kind =
          i == 0 ? seed % kinds.size() : random.below(static_cast<unsigned>(kinds.size()));
      names_.push_back(kinds[kind].name);
      parts_.push_back(kinds[kind].make(model_, size_, random));
    }
    w_ = model_.add_parameters({size_, size_});
    v_ = model_.add_parameters({size_, size_});
    b_ = model_.add_parameters({size_});
    words_ = model_.add_lookup_parameters(kRows, {size_});
    draw_values(random, size_ > 8 ? 0.125 : 0.75);
  }

  Numbers run(const HowToRun& how);
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

void RandomProgram::draw_values(Random& random, double scale) {
  const auto numbers = [&](std::size_t count) {
    std::vector<float> list(count);
    for (float& x : list) {
      x = static_cast<float>(random.uniform(-scale, scale));
    }
    return list;
  };
  for (const auto& p : model_.parameters_list()) {
    p->set_value(numbers(p->size()));
  }
  for (const auto& table : model_.lookup_parameters_list()) {
    for (unsigned row = 0; row < table->rows(); ++row) {
      table->initialize(row, numbers(table->dim.size()));
    }
  }
}

Numbers RandomProgram::run(const HowToRun& how) {
  const DefaultDevice scope(device_);
  reset_rng(static_cast<unsigned>(seed_));
  model_.reset_gradient();
  std::optional<InferenceScope> inference;
  if (how.infers) {
    inference.emplace();
  }
  ComputationGraph cg(how.batching);
  cg.set_random_stream(7);
  cg.state().executor.set_limits(limits_);
  Run run{Making(cg, 2 * seed_ + 1, size_, batch_), how, {}, {}, {}};
  for (const auto& part : parts_) {
    part->enter(cg);
  }
  compute_weights(run);
  for (int i = 0; i < 3; ++i) {
    add_leaf(run);
  }
  const unsigned steps = 8 + run.making.random.below(24);
  for (unsigned i = 0; i < steps; ++i) {
    step(run);
  }
  finish(run);
  EXPECT_EQ(execute::verify(cg.state().executor), "");
  run.numbers.joined = joined_sums(cg);
  return run.numbers;
}

void RandomProgram::step(Run& run) {
  Random& random = run.making.random;
  // Half of the programs ask for nothing before the end, so that many steps are planned together.
  const unsigned chance = random.below(is_quiet_ ? 82 : 100);
  if (chance < 62) {
    const std::size_t i = random.below(static_cast<unsigned>(parts_.size()));
    say(run, names_[i]);
    parts_[i]->act(run.making);
  } else if (chance < 70) {
    add_leaf(run);
  } else if (chance < 82) {
    combine(run);
  } else if (chance < 89) {
    ask(run);
  } else if (chance < 90) {
    ask_in_scope(run);
  } else if (chance < 92) {
    go_back(run);
  } else if (chance < 96) {
    checkpoint(run);
  } else if (chance < 99) {
    revert(run);
  } else if (run.how.batching) {
    run.making.cg.set_batching(!run.making.cg.batching());
  }
}

/// Their parameter has no other use, so that their gradients may wait for the end of a pass.
void RandomProgram::compute_weights(Run& run) const {
  const Expression v = parameter(run.making.cg, v_);
  const std::vector<float> mask = run.making.numbers(size_ * size_);
  run.weights = {v * 0.5F, cmult(v, input(run.making.cg, {size_, size_}, mask))};
}

/// Enough products for their gradients to be held for one product.
Expression RandomProgram::weigh(Run& run) {
  Making& making = run.making;
  std::vector<Expression> terms;
  for (unsigned i = 2 + making.random.below(6); i != 0; --i) {
    const Expression& weight = run.weights[making.random.below(2)];
    terms.push_back(weight * making.any());
  }
  return average(terms);
}

/// A matrix, of a parameter or computed, whose gradient has so many terms that it is in pieces.
Expression RandomProgram::read_often(Run& run) const {
  Making& making = run.making;
  const bool is_computed = making.random.chance(0.5);
  const Expression weight = is_computed ? run.weights[making.random.below(2)] : Expression();
  std::vector<Expression> terms;
  for (unsigned i = 40 + making.random.below(30); i != 0; --i) {
    const Expression& read = is_computed ? weight : parameter(making.cg, w_);
    terms.push_back(pick(read, i % size_, 1));
  }
  return average(terms);
}

/// Rows that are read so often that their gradients are added up before they go to the table.
Expression RandomProgram::look_up_often(Run& run) const {
  Making& making = run.making;
  std::vector<unsigned> rows(70 + making.random.below(30), making.random.below(kRows));
  for (std::size_t i = 0; i < rows.size(); i += 7) {
    rows[i] = making.random.below(kRows);
  }
  return sum_batches(lookup(making.cg, words_, rows)) * (1.0F / static_cast<float>(rows.size()));
}

/// A vector that is there at once.
void RandomProgram::add_leaf(Run& run) const {
  Making& making = run.making;
  const unsigned examples = making.random.chance(0.5) ? batch_ : 1;
  if (making.random.chance(0.6)) {
    making.offer(input(making.cg, Dim({size_}, examples), making.numbers(size_ * examples)));
    return;
  }
  std::vector<unsigned> rows(examples);
  for (unsigned& row : rows) {
    row = making.random.below(kRows);
  }
  making.offer(lookup(making.cg, words_, rows));
}

/// A vector that waits for others.
void RandomProgram::combine(Run& run) const {
  Making& making = run.making;
  const Expression x = making.any();
  switch (making.random.below(8)) {
    case 0:
      making.offer(tanh(x));
      break;
    case 1:
      making.offer(parameter(making.cg, w_) * x + parameter(making.cg, b_));
      break;
    case 2:
      making.offer(cmult(x, making.any()));
      break;
    case 3:
      making.offer(dropout(x, 0.25F));
      break;
    case 4:
      making.offer(weigh(run));
      break;
    case 5:
      making.offer(read_often(run));
      break;
    case 6:
      making.offer(look_up_often(run));
      break;
    default:
      making.offer(average(making.some(2, 4)));
  }
}

void RandomProgram::ask(Run& run) const {
  const Expression x = run.making.any();
  say(run, "value of v" + std::to_string(x.i));
  run.numbers.values.push_back(testing::numbers(x.value()));
}

/// A value that a scope has dropped has no gradient: the graph forgets it.
void RandomProgram::ask_in_scope(Run& run) const {
  {
    const InferenceScope scope;
    for (const Expression& x : run.making.some(1, 3)) {
      say(run, "value of v" + std::to_string(x.i) + " in an inference scope");
      run.numbers.values.push_back(testing::numbers(x.value()));
    }
  }
  run.making.cg.invalidate();
}

/// Backward in the middle; later steps build on its nodes.
void RandomProgram::go_back(Run& run) const {
  const Expression loss = loss_of(run.making);
  say(run, "backward from v" + std::to_string(loss.i));
  if (!run.how.infers) {
    run.making.cg.backward(loss);
  }
}

void RandomProgram::checkpoint(Run& run) {
  say(run, "checkpoint");
  run.making.cg.checkpoint();
  run.marks.push_back({run.making.vectors.size(), run.making.losses.size()});
  for (const auto& part : parts_) {
    part->mark();
  }
}

void RandomProgram::revert(Run& run) {
  if (run.marks.empty()) {
    return;
  }
  say(run, "revert");
  run.making.cg.revert();
  run.making.vectors.resize(run.marks.back().vectors);
  run.making.losses.resize(run.marks.back().losses);
  run.marks.pop_back();
  for (const auto& part : parts_) {
    part->revert();
  }
}

/// Each number of some vectors with a factor of its own, and the losses.
Expression RandomProgram::loss_of(Making& making) {
  std::vector<Expression> terms;
  for (const Expression& x : making.vectors) {
    if (making.random.chance(0.6)) {
      const std::vector<float> factors = making.numbers(making.size);
      terms.push_back(sum_batches(dot_product(input(making.cg, {making.size}, factors), x)));
    }
  }
  for (const Expression& loss : making.losses) {
    terms.push_back(sum_batches(loss));
  }
  terms.push_back(sum_batches(squared_norm(making.vectors.back())));
  return sum(terms);
}

void RandomProgram::finish(Run& run) const {
  Making& making = run.making;
  const Expression loss = loss_of(making);
  const bool is_full = making.random.chance(0.5);
  Numbers& numbers = run.numbers;
  say(run, is_full ? "full backward" : "backward");
  numbers.values.push_back(testing::numbers(loss.value()));
  if (!run.how.infers) {
    making.cg.backward(loss, is_full);
    numbers.has_pieces = making.cg.state().executor.gradients().has_pieces();
  }
  for (const Expression& x : making.vectors) {
    numbers.values.push_back(testing::numbers(x.value()));
    if (!run.how.infers && is_full) {
      numbers.gradients.push_back(testing::numbers(x.gradient()));
    }
  }
  for (const auto& p : model_.parameters_list()) {
    numbers.gradients.push_back(p->has_grad() ? testing::numbers(p->g)
                                              : std::vector<double>(p->size(), 0.0));
  }
  for (const auto& table : model_.lookup_parameters_list()) {
    numbers.gradients.push_back(testing::numbers(table->all_grads));
  }
}

std::string compare(const std::vector<std::vector<double>>& a,
                    const std::vector<std::vector<double>>& b, double bound) {
  if (a.size() != b.size()) {
    return std::to_string(a.size()) + " lists and " + std::to_string(b.size());
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string bad = testing::compare(a[i], b[i], bound);
    if (!bad.empty()) {
      return "list " + std::to_string(i) + " of " + std::to_string(a.size()) + ": " + bad;
    }
  }
  return "";
}

double largest(const std::vector<std::vector<double>>& lists) {
  double found = 0.0;
  for (const auto& list : lists) {
    for (const double x : list) {
      found = std::isfinite(x) ? std::max(found, std::fabs(x)) : 1e300;
    }
  }
  return found;
}

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Counts over all programs.
struct Seen {
  std::size_t programs = 0;
  std::size_t steep = 0;  ///< programs with gradients above 1000, in which rounding decides
  std::size_t in_float = 0;
  std::size_t rounded = 0;  ///< of these, programs whose numbers no float has, one by one either
  std::size_t joined = 0;   ///< sums that were begun in another group than the first of their call
  std::size_t pieces = 0;   ///< programs with gradients in pieces, one by one and merged
};

void check(std::uint64_t seed, bool is_loud, Seen& seen) {
  RandomProgram program(seed, double_device());
  std::string names;
  for (const std::string& name : program.names()) {
    names += (names.empty() ? "" : ", ") + name;
  }
  SCOPED_TRACE("DYNET_TEST_SEED=" + std::to_string(seed) + ": " + names);
  const Numbers alone = program.run({.batching = false, .is_loud = is_loud});
  const Numbers merged = program.run({});
  const Numbers inferred = program.run({.infers = true});
  ++seen.programs;
  seen.joined += merged.joined;
  seen.pieces += alone.has_pieces && merged.has_pieces ? 1 : 0;
  if (largest(alone.gradients) > 1e3) {
    ++seen.steep;
    return;
  }
  EXPECT_EQ(compare(merged.values, alone.values, tolerance::kMergedInDouble), "") << "values";
  EXPECT_EQ(compare(merged.gradients, alone.gradients, tolerance::kMergedInDouble), "")
      << "gradients";
  EXPECT_EQ(compare(inferred.values, alone.values, tolerance::kMergedInDouble), "")
      << "values in an inference scope";
  if (seed % 4 == 0) {
    RandomProgram in_float(seed, float_device());
    const Numbers one = in_float.run({.batching = false});
    const Numbers together = in_float.run({});
    ++seen.in_float;
    if (!compare(one.gradients, alone.gradients, tolerance::kFloatAgainstDouble).empty()) {
      ++seen.rounded;
      return;
    }
    EXPECT_EQ(compare(together.values, one.values, tolerance::kFloatAgainstDouble), "")
        << "values in float";
    EXPECT_EQ(compare(together.gradients, one.gradients, tolerance::kFloatAgainstDouble), "")
        << "gradients in float";
  }
}

TEST(RandomPrograms, MergedEqualsOneByOne) {
  const std::uint64_t only = number_from("DYNET_TEST_SEED", 0);
  const bool is_far = !double_device()->is_host_visible();
  const std::uint64_t usual = execute::is_paranoid() ? 300U : (is_far ? 1000U : 3000U);
  const std::uint64_t count =
      number_from("DYNET_TEST_PROGRAMS", trials(usual, std::max(kEnough, usual / 10)));
  if (only != 0) {
    Seen seen;
    check(only, true, seen);
    return;
  }
  Seen seen;
  for (std::uint64_t seed = 1; seed <= count && !HasFailure(); ++seed) {
    check(seed, false, seen);
  }
  std::printf("%zu programs, %zu with gradients above 1000; %zu in float, %zu of them rounded; ",
              seen.programs, seen.steep, seen.in_float, seen.rounded);
  std::printf("%zu sums joined from several groups; %zu with gradients in pieces\n", seen.joined,
              seen.pieces);
  if (!HasFailure()) {
    EXPECT_LE(seen.steep, seen.programs / 50);
    EXPECT_LE(seen.rounded, 1 + seen.in_float / 20);
    if (seen.programs >= kEnough) {
      EXPECT_GE(seen.joined, seen.programs / 3);  // the purpose of the test
      EXPECT_GE(seen.pieces, seen.programs / 20);
    }
  }
}

}  // namespace
}  // namespace dynet::testing
