#include "support/random_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "dynet/except.h"
#include "dynet/inference.h"
#include "dynet/init.h"

#include "api/graph_state.h"
#include "execute/verify.h"
#include "memory/pool.h"
#include "support/observe.h"
#include "testing/device.h"
#include "testing/program.h"

namespace dynet::testing {
namespace {

constexpr unsigned kRows = 5;  // of the lookup table

/// A number between -scale and scale with 12 bits behind the point.
float on_grid(Random& random, double scale) {
  constexpr double kGrid = 4096.0;
  return static_cast<float>(std::round(random.uniform(-scale, scale) * kGrid) / kGrid);
}

/// 1 or -1, for the number with this position in a model.
float sign_of(std::size_t position) { return Random(position).chance(0.5) ? 1.0F : -1.0F; }

/// Calls `f(values, gradient, set)` for each tensor of a model that has a gradient.
template <class F>
void for_each_trained(const ParameterCollection& model, const F& f) {
  for (const auto& p : model.parameters_list()) {
    if (p->has_grad()) {
      f(as_vector(p->values), testing::numbers(p->g),
        [&](const std::vector<float>& values) { p->set_value(values); });
    }
  }
  for (const auto& table : model.lookup_parameters_list()) {
    for (unsigned row = 0; row < table->rows(); ++row) {
      f(as_vector(table->values[row]), testing::numbers(table->grads[row]),
        [&](const std::vector<float>& values) { table->initialize(row, values); });
    }
  }
}

}  // namespace

RandomProgram::RandomProgram(std::uint64_t seed, Device* device) : seed_(seed), device_(device) {
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

void RandomProgram::draw_values(Random& random, double scale) {
  const auto numbers = [&](std::size_t count) {
    std::vector<float> list(count);
    for (float& x : list) {
      x = on_grid(random, scale);
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

void RandomProgram::move(float step) {
  std::size_t position = 0;
  for_each_trained(model_,
                   [&](std::vector<float> values, const auto& /*gradient*/, const auto& set) {
                     for (float& x : values) {
                       x += step * sign_of(position++);
                     }
                     set(values);
                   });
}

double RandomProgram::slope() const {
  double sum = 0.0;
  std::size_t position = 0;
  for_each_trained(model_, [&](const auto& /*values*/, const auto& gradient, const auto& /*set*/) {
    for (const double g : gradient) {
      sum += g * static_cast<double>(sign_of(position++));
    }
  });
  return sum;
}

void RandomProgram::enter(ComputationGraph& cg) {
  for (const auto& part : parts_) {
    part->enter(cg);
  }
}

Numbers RandomProgram::run(const HowToRun& how) {
  const DefaultDevice scope(device_);
  ComputationGraph cg(how.batching);
  return run_in(cg, how);
}

Numbers RandomProgram::run_in(ComputationGraph& cg, const HowToRun& how) {
  const DefaultDevice scope(device_);
  reset_rng(static_cast<unsigned>(seed_));
  model_.reset_gradient();
  std::optional<InferenceScope> inference;
  if (how.infers) {
    inference.emplace();
  }
  cg.set_random_stream(7);
  cg.state().executor.set_limits(limits_);
  Run run{Making(cg, 2 * seed_ + 1, size_, batch_, how.form), how, {}, {}, {}};
  enter(cg);
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
  run.numbers.mixed = groups_of_many_shapes(cg);
  return std::move(run.numbers);
}

void RandomProgram::step(Run& run) {
  Random& random = run.making.random;
  // Half of the programs ask for nothing before the end, so that many steps are planned together.
  const unsigned chance = random.below(is_quiet_ ? 82 : 106);
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
  } else if (chance < 100) {
    if (run.how.batching) {
      run.making.cg.set_batching(!run.making.cg.batching());
    }
  } else if (chance < 102) {
    run_again(run);
  } else if (chance < 104) {
    fail(run);
  } else {
    change_batch(run);
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
  const unsigned examples = making.random.chance(0.5) ? making.batch : 1;
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
  run.making.ask(x);
}

/// A value that a scope has dropped has no gradient: the graph forgets it.
void RandomProgram::ask_in_scope(Run& run) const {
  {
    const InferenceScope scope;
    for (const Expression& x : run.making.some(1, 3)) {
      say(run, "value of v" + std::to_string(x.i) + " in an inference scope");
      run.making.ask(x);
    }
  }
  run.making.cg.invalidate();
}

/// All values are forgotten, and random nodes draw anew.
void RandomProgram::run_again(Run& run) const {
  const Expression x = run.making.any();
  say(run, "forward to v" + std::to_string(x.i));
  run.making.cg.forward(x);
}

/// Mistakes, and memory that does not suffice in the middle of a computation.
void RandomProgram::fail(Run& run) const {
  Making& making = run.making;
  const Expression x = making.any();
  say(run, "failures at v" + std::to_string(x.i));
  const std::size_t nodes = making.cg.nodes.size();
  EXPECT_THROW(static_cast<void>(x + input(making.cg, {size_ + 1}, making.numbers(size_ + 1))),
               errors::ShapeError);
  EXPECT_THROW(lookup(making.cg, words_, kRows), errors::IndexError);
  EXPECT_EQ(making.cg.nodes.size(), nodes + 1);
  memory::set_cap(memory::bytes_held() + 1);
  try {
    static_cast<void>(x.value());
  } catch (const out_of_memory&) {
    memory::set_cap(0);
    EXPECT_EQ(execute::verify(making.cg.state().executor), "");
  }
  memory::set_cap(0);
  making.ask(x);
}

/// From here on the program's batches have another number of examples. Vectors of before go on with
/// one, and builders begin anew.
void RandomProgram::change_batch(Run& run) {
  Making& making = run.making;
  if (!run.marks.empty()) {
    return;
  }
  making.batch = 1 + making.random.below(4);
  say(run, "batches of " + std::to_string(making.batch));
  for (Expression& x : making.vectors) {
    x = x.dim().bd == 1 ? x : tanh(sum_batches(x));
  }
  for (Expression& x : making.losses) {
    x = x.dim().bd == 1 ? x : sum_batches(x);
  }
  enter(making.cg);
}

/// Backward in the middle; later steps build on its nodes.
void RandomProgram::go_back(Run& run) const {
  Making& making = run.making;
  const Expression loss = loss_of(making);
  const std::vector<Expression> asked = making.some(0, 2);
  say(run, "backward from v" + std::to_string(loss.i));
  if (!run.how.infers) {
    run.numbers.total += testing::numbers(loss.value())[0];
    making.cg.backward(loss);
    ask_gradients(run, asked);
  }
}

/// Gradients of inner nodes that nobody asked for before backward.
void RandomProgram::ask_gradients(Run& run, const std::vector<Expression>& of) const {
  for (const Expression& x : of) {
    say(run, "gradient of v" + std::to_string(x.i));
    run.numbers.gradients.push_back(testing::numbers(x.gradient()));
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
  const std::vector<Expression> asked = is_full ? making.vectors : making.some(0, 3);
  Numbers& numbers = run.numbers;
  say(run, is_full ? "full backward" : "backward");
  making.ask(loss);
  if (!run.how.infers) {
    numbers.total += making.asked.back()[0];
    making.cg.backward(loss, is_full);
    numbers.has_pieces = making.cg.state().executor.gradients().has_pieces();
    ask_gradients(run, asked);
  }
  for (const Expression& x : making.vectors) {
    making.ask(x);
  }
  numbers.values = std::move(making.asked);
  for (const auto& p : model_.parameters_list()) {
    numbers.gradients.push_back(p->has_grad() ? testing::numbers(p->g)
                                              : std::vector<double>(p->size(), 0.0));
  }
  for (const auto& table : model_.lookup_parameters_list()) {
    numbers.gradients.push_back(testing::numbers(table->all_grads));
  }
}

}  // namespace dynet::testing
