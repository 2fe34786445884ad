#include "ops/program_run.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "dynet/ext/memory.h"

#include "util/scratch.h"

namespace dynet::ops {
namespace {

using ext::Block;
using ext::Operand;

constexpr std::size_t kMaskedArgs = 64;  // of Call::left_for_later

thread_local util::Scratch lists;
thread_local bool are_lists_taken = false;

/// The sum over examples, if `to` has one; repeated, if `from` has.
void move_whole(const ext::Call& call, const Operand& from, const Operand& to, ext::Write write) {
  call.kernels.move(ext::whole_move(to.size()), from, to, write);
}

}  // namespace

template <class T>
T* ProgramRun::room(std::size_t count) {
  constexpr std::size_t kAlign = alignof(std::max_align_t);
  auto* const first = reinterpret_cast<T*>(next_);
  next_ += (count * sizeof(T) + kAlign - 1) / kAlign * kAlign;
  return first;
}
template <class T>
T* ProgramRun::cleared(std::size_t count) {
  auto* const first = room<T>(count);
  for (std::size_t i = 0; i < count; ++i) {
    new (first + i) T();
  }
  return first;
}

ProgramRun::ProgramRun(const Program& program, ext::Call& call)
    : program_(program), call_(call), values_count_(program.places_.size()) {
  const std::size_t steps = program.content_.steps.size();
  const std::size_t way_back =
      program.has_way_back_ ? static_cast<std::size_t>(call.saved.back().block_count) : 0;
  const std::size_t bytes =
      values_count_ * (sizeof(Value) + sizeof(Gradient) + 2 * way_back * sizeof(Block)) +
      program.operands_ * 2 * (sizeof(Operand) + sizeof(Block)) + steps * (2 + sizeof(Saved)) +
      (program.longest_ + 8) * 2 * sizeof(Operand) + 1024 + steps * 8 * alignof(std::max_align_t);
  if (are_lists_taken) {  // an operation of the program computes another graph
    own_ = std::make_unique<std::byte[]>(bytes);
    next_ = own_.get();
  } else {
    next_ = reinterpret_cast<std::byte*>(lists.get(bytes / sizeof(float) + 1));
    are_lists_taken = true;
  }
  values_ = cleared<Value>(values_count_);
  saved_ = room<Saved>(steps);
  count_examples();
}

ProgramRun::~ProgramRun() {
  if (own_ == nullptr) {
    are_lists_taken = false;
  }
}

// ---- values

/// How many examples each value has: one, if it depends on nothing else.
void ProgramRun::count_examples() {
  for (std::size_t a = 0; a < program_.content_.arguments(); ++a) {
    values_[a].at = call_.in[a];
    values_[a].lasts = true;
  }
  for (const ProgramStep& s : program_.content_.steps) {
    std::int64_t examples = 1;
    for (const ValueId a : s.args) {
      examples = a == kNoValue ? examples : std::max(examples, values_[a].at.examples);
    }
    for (std::uint32_t k = 0; k < s.record->outputs; ++k) {
      values_[s.first + k].at = {.dim = program_.content_.dims[s.first + k], .examples = examples};
    }
  }
}

void ProgramRun::use_scratch(Value& value, const Dim& dim, std::int64_t examples) {
  const std::int64_t bytes =
      dim.example_elements() * examples * ext::bytes_of(call_.kernels.number());
  value.block = {call_.scratch(bytes), examples, true};
  value.at = {.dim = dim, .examples = examples, .blocks = &value.block, .block_count = 1};
}

/// Memory that the step of value `v` writes in forward. A value of one example beside a batch is
/// computed in scratch memory, and then spread.
void ProgramRun::place_forward(ValueId v) {
  const Program::Place& place = program_.places_[v];
  Value& value = values_[v];
  const bool is_whole = value.at.examples == call_.examples;
  if (is_whole && place.result != Program::kNowhere) {
    value.at = call_.out[place.result];
  } else if (is_whole && place.kept != Program::kNowhere) {
    value.at = call_.saved[place.kept];
  } else {
    use_scratch(value, value.at.dim, value.at.examples);
  }
}

bool ProgramRun::is_stored(ValueId v) const {
  const Program::Place& place = program_.places_[v];
  return v < program_.content_.arguments() || place.result != Program::kNowhere ||
         place.kept != Program::kNowhere;
}

/// In backward: the memory in which forward left the value; of a value that was spread, the first
/// example.
void ProgramRun::take_stored(ValueId v) {
  const Program::Place& place = program_.places_[v];
  Value& value = values_[v];
  const std::int64_t examples = value.at.examples;
  value.at = place.result != Program::kNowhere ? call_.out[place.result] : call_.saved[place.kept];
  value.lasts = true;
  if (value.at.examples != examples) {
    value.block = {value.at.blocks[0].data, 1, false};
    value.at = {.dim = value.at.dim, .examples = 1, .blocks = &value.block, .block_count = 1};
  }
}

/// Memory of a value that backward computes again.
void ProgramRun::place_again(ValueId v) {
  Value& value = values_[v];
  const std::int64_t offset = program_.places_[v].value;
  if (offset >= 0 && value.at.examples == call_.examples) {
    auto* const blocks = room<Block>(static_cast<std::size_t>(call_.saved.back().block_count));
    value.at = part_of_way_back(offset, value.at.dim, blocks);
    value.lasts = true;
  } else {
    use_scratch(value, value.at.dim, value.at.examples);
  }
}

/// A part of the saved output that backward alone writes: in each of its blocks, the numbers of all
/// examples of the block side by side.
Operand ProgramRun::part_of_way_back(std::int64_t offset, const Dim& dim, Block* blocks) const {
  const Operand& all = call_.saved.back();
  const std::int64_t bytes = ext::bytes_of(call_.kernels.number());
  for (std::int64_t b = 0; b < all.block_count; ++b) {
    const Block& block = all.blocks[b];
    blocks[b] = {static_cast<std::byte*>(block.data) + offset * block.examples * bytes,
                 block.examples, true};
  }
  return {.dim = dim, .examples = all.examples, .blocks = blocks, .block_count = all.block_count};
}

Operand* ProgramRun::arguments_of(std::size_t s) {
  const std::vector<ValueId>& args = step(s).args;
  auto* const in = room<Operand>(args.size());
  for (std::size_t i = 0; i < args.size(); ++i) {
    new (&in[i]) Operand(args[i] == kNoValue ? Operand() : values_[args[i]].at);
  }
  return in;
}

Operand ProgramRun::payload_operand(const void* numbers, std::size_t count, std::int64_t bytes) {
  ext::Memory& memory = call_.memory->memory();
  auto* const block = room<Block>(1);
  block->data = const_cast<void*>(numbers);  // it is read alone
  if (!memory.is_host_visible()) {
    block->data = call_.scratch(bytes);
    memory.copy_in(numbers, block->data, static_cast<std::size_t>(bytes));
  }
  block->examples = 1;
  block->fresh = false;
  return {
      .dim = Dim({static_cast<unsigned>(count)}), .examples = 1, .blocks = block, .block_count = 1};
}

void ProgramRun::set_payload(std::size_t s, ext::Call& part) {
  const ProgramStep& of = step(s);
  if (!of.indices.empty()) {
    part.indices = payload_operand(of.indices.data(), of.indices.size(),
                                   static_cast<std::int64_t>(of.indices.size() * sizeof(unsigned)));
  }
  if (of.values.empty()) {
    return;
  }
  const std::size_t count = of.values.size();
  if (call_.kernels.number() == ext::Number::kFloat) {
    part.values =
        payload_operand(of.values.data(), count, static_cast<std::int64_t>(count * sizeof(float)));
  } else {
    part.values = payload_operand(of.doubles.data(), count,
                                  static_cast<std::int64_t>(count * sizeof(double)));
  }
}

/// A reshaped value is the memory of its argument.
void ProgramRun::show_alias(std::size_t s) {
  Value& value = values_[step(s).first];
  const Value& of = values_[step(s).args[0]];
  const Dim dim = value.at.dim;
  value.at = of.at;
  value.at.dim = dim;
  value.lasts = of.lasts;
}

/// Calls forward of a step, whose results have places.
void ProgramRun::run_step(std::size_t s) {
  const ProgramStep& of = step(s);
  ext::Call part(call_.kernels, call_.memory);
  auto* const saved = room<Operand>(of.saved.size());
  auto* const blocks = room<Block>(of.saved.size());
  std::byte* const before = next_;
  auto* const out = room<Operand>(outputs(s));
  for (std::size_t k = 0; k < outputs(s); ++k) {
    new (&out[k]) Operand(values_[of.first + k].at);
  }
  part.examples = out[0].examples;
  for (std::size_t k = 0; k < of.saved.size(); ++k) {
    const std::int64_t bytes = of.saved[k].example_elements() * part.examples *
                               ext::saved_bytes(of.record->saved_as[k], call_.kernels.number());
    blocks[k] = {call_.scratch(bytes), part.examples, true};
    new (&saved[k]) Operand{
        .dim = of.saved[k], .examples = part.examples, .blocks = &blocks[k], .block_count = 1};
  }
  saved_[s].first = saved;
  part.absent = of.absent;
  part.in = {arguments_of(s), of.args.size()};
  part.out = {out, outputs(s)};
  part.saved = {saved, of.saved.size()};
  set_payload(s, part);
  of.record->forward(of.op.get(), part);
  next_ = before;
}

/// A value of one example that is kept beside a batch: backward may be called for some members of
/// the call alone, and each of them has it.
void ProgramRun::spread(ValueId v) {
  const Program::Place& place = program_.places_[v];
  if (values_[v].at.examples != call_.examples && place.kept != Program::kNowhere) {
    move_whole(call_, values_[v].at, call_.saved[place.kept], ext::Write::kStore);
  }
}

void ProgramRun::forward() {
  const ProgramContent& content = program_.content_;
  for (std::size_t s = 0; s < content.steps.size(); ++s) {
    if (step(s).record->aliases) {
      show_alias(s);
      continue;
    }
    for (std::size_t k = 0; k < outputs(s); ++k) {
      place_forward(step(s).first + static_cast<ValueId>(k));
    }
    run_step(s);
    for (std::size_t k = 0; k < outputs(s); ++k) {
      spread(step(s).first + static_cast<ValueId>(k));
    }
  }
  for (std::size_t k = 0; k < content.results.size(); ++k) {
    const Operand& value = values_[content.results[k]].at;
    if (value.blocks != call_.out[k].blocks) {
      move_whole(call_, value, call_.out[k], ext::Write::kStore);
    }
  }
}

// ---- gradients: the steps to run

void ProgramRun::find_wanted() {
  for (std::size_t a = 0; a < program_.content_.arguments(); ++a) {
    gradients_[a].is_wanted = !call_.d_in[a].absent();
  }
  for (const ProgramStep& s : program_.content_.steps) {
    const bool is_wanted =
        !s.record->stops_gradient && std::any_of(s.args.begin(), s.args.end(), [this](ValueId a) {
          return a != kNoValue && gradients_[a].is_wanted;
        });
    for (std::uint32_t k = 0; k < s.record->outputs; ++k) {
      gradients_[s.first + k].is_wanted = is_wanted;
    }
  }
}

/// The steps that backward runs: from the results with gradients to the wanted arguments.
void ProgramRun::find_reached() {
  const ProgramContent& content = program_.content_;
  for (std::size_t k = 0; k < content.results.size(); ++k) {
    Gradient& g = gradients_[content.results[k]];
    g.is_reached = g.is_reached || (g.is_wanted && !call_.d_out[k].absent());
  }
  for (std::size_t s = content.steps.size(); s-- > 0;) {
    const ProgramStep& of = content.steps[s];
    for (std::size_t k = 0; k < outputs(s); ++k) {
      is_active_[s] = is_active_[s] || gradients_[of.first + k].is_reached;
    }
    for (const ValueId a : of.args) {
      if (is_active_[s] && a != kNoValue && gradients_[a].is_wanted) {
        gradients_[a].is_reached = true;
      }
    }
  }
}

/// The steps that run once more, since backward reads their results and forward did not keep them.
void ProgramRun::find_needed() {
  for (std::size_t s = program_.content_.steps.size(); s-- > 0;) {
    const ProgramStep& of = step(s);
    const StepReads& reads = program_.reads_[s];
    bool is_read = is_active_[s] && !of.saved.empty();
    for (std::size_t k = 0; k < outputs(s); ++k) {
      const auto v = of.first + static_cast<ValueId>(k);
      values_[v].is_needed = values_[v].is_needed || (is_active_[s] && reads.reads_result(k));
      is_read = is_read || (values_[v].is_needed && !is_stored(v));
    }
    is_again_[s] = is_read && !of.record->aliases;
    const bool reads_all = is_again_[s] || (is_read && of.record->aliases);
    for (std::size_t i = 0; i < of.args.size(); ++i) {
      const bool is_argument_read =
          reads_all || (is_active_[s] && !of.record->aliases && reads.reads_argument(i));
      if (is_argument_read && of.args[i] != kNoValue) {
        values_[of.args[i]].is_needed = true;
      }
    }
  }
}

void ProgramRun::compute_again() {
  for (std::size_t s = 0; s < program_.content_.steps.size(); ++s) {
    const ProgramStep& of = step(s);
    if (of.record->aliases) {
      show_alias(s);
      continue;
    }
    for (std::size_t k = 0; k < outputs(s); ++k) {
      const auto v = of.first + static_cast<ValueId>(k);
      if (is_again_[s]) {
        place_again(v);
      } else if (is_stored(v)) {
        take_stored(v);
      }  // else nobody reads it
    }
    if (is_again_[s]) {
      run_step(s);
    }
  }
}

// ---- gradients

void ProgramRun::begin_gradients() {
  for (std::size_t a = 0; a < program_.content_.arguments(); ++a) {
    if (gradients_[a].is_wanted) {
      begin_argument(static_cast<ValueId>(a));
    }
  }
}

/// An argument with one user gets its gradient in the place that the call wants. Several users add
/// in between, in one block.
void ProgramRun::begin_argument(ValueId v) {
  Gradient& g = gradients_[v];
  const Program::Place& place = program_.places_[v];
  g.to = call_.d_in[v];
  g.lasts = true;
  if (place.uses <= 1 && !place.is_partly_given) {
    return;
  }
  if (g.to.one_block()) {
    g.block = g.to.blocks[0];
    g.to.blocks = &g.block;
  } else {
    const std::int64_t bytes = g.to.size() * g.to.examples * ext::bytes_of(call_.kernels.number());
    g.block = {call_.scratch(bytes), g.to.examples, true};
    g.to.blocks = &g.block;
    g.to.block_count = 1;
    g.to.sink = nullptr;
    g.is_sum = true;
    g.lasts = false;
  }
  g.blocks = &g.block;
}

/// Where a gradient of value `v` is to be stored or added next.
const Operand& ProgramRun::target(ValueId v) {
  Gradient& g = gradients_[v];
  if (g.to.absent()) {
    const Value& value = values_[v];
    const std::int64_t offset = program_.places_[v].gradient;
    if (offset >= 0 && value.at.examples == call_.examples) {
      g.blocks = room<Block>(static_cast<std::size_t>(call_.saved.back().block_count));
      g.to = part_of_way_back(offset, value.at.dim, g.blocks);
      g.lasts = true;
    } else {
      const std::int64_t bytes =
          value.at.size() * value.at.examples * ext::bytes_of(call_.kernels.number());
      g.block = {call_.scratch(bytes), value.at.examples, true};
      g.to = {
          .dim = value.at.dim, .examples = value.at.examples, .blocks = &g.block, .block_count = 1};
      g.blocks = &g.block;
    }
  }
  for (std::int64_t b = 0; g.is_written && g.blocks != nullptr && b < g.to.block_count; ++b) {
    g.blocks[b].fresh = false;
  }
  return g.to;
}

/// Zeros, for blocks in which a gradient would be stored.
void ProgramRun::zero_fresh(Gradient& g, const Operand& to) const {
  for (std::int64_t b = 0; b < to.block_count; ++b) {
    if (to.blocks[b].fresh) {
      call_.kernels.fill(to.blocks[b].data, 0.0, to.blocks[b].examples * to.size());
      if (g.blocks != nullptr) {
        g.blocks[b].fresh = false;
      }
    }
  }
}

void ProgramRun::give_whole(ValueId v, const Operand& gradient) {
  const Operand& to = target(v);
  move_whole(call_, gradient, to, ext::Write::kAsBlocks);
  gradients_[v].is_written = true;
}

/// The gradient of a result that nothing else reads stays where it is.
void ProgramRun::take_result_gradients() {
  const ProgramContent& content = program_.content_;
  for (std::size_t k = 0; k < content.results.size(); ++k) {
    const ValueId v = content.results[k];
    Gradient& g = gradients_[v];
    const Operand& d = call_.d_out[k];
    if (d.absent() || !g.is_wanted) {
      continue;
    }
    if (program_.places_[v].uses == 1 && v >= content.arguments() &&
        d.examples == values_[v].at.examples) {
      g.to = d;
      g.is_written = true;
      g.lasts = true;
    } else {
      give_whole(v, d);
    }
  }
}

/// Whether the factors of a gradient of a weight stay until the end of the pass.
bool ProgramRun::may_leave_products(std::size_t s, const ext::Call& part) const {
  const ProgramStep& of = step(s);
  for (std::size_t k = 0; k < outputs(s); ++k) {
    if (!part.d_out[k].absent() && !gradients_[of.first + k].lasts) {
      return false;
    }
  }
  return std::all_of(of.args.begin(), of.args.end(),
                     [this](ValueId a) { return a == kNoValue || values_[a].lasts; });
}

/// Calls backward of a step, whose arguments' gradients have places.
void ProgramRun::run_back(std::size_t s) {
  const ProgramStep& of = step(s);
  ext::Call part(call_.kernels, call_.memory);
  auto* const out = room<Operand>(outputs(s));
  auto* const d_out = room<Operand>(outputs(s));
  auto* const d_in = room<Operand>(of.args.size());
  for (std::size_t k = 0; k < outputs(s); ++k) {
    const ValueId v = of.first + static_cast<ValueId>(k);
    new (&out[k]) Operand(values_[v].at);
    new (&d_out[k])
        Operand(gradients_[v].is_written ? gradients_[v].to : Operand{.dim = out[k].dim});
    part.examples = out[k].examples;
  }
  part.absent = of.absent;
  part.in = {arguments_of(s), of.args.size()};
  part.out = {out, outputs(s)};
  part.saved = {saved_[s].first, of.saved.size()};
  part.d_out = {d_out, outputs(s)};
  set_payload(s, part);
  const bool may_leave = may_leave_products(s, part);
  for (std::size_t i = 0; i < of.args.size(); ++i) {
    const ValueId a = of.args[i];
    if (a == kNoValue || !gradients_[a].is_wanted) {
      new (&d_in[i]) Operand{.dim = part.in[i].dim};
      continue;
    }
    const bool is_twice = std::count(of.args.begin(), of.args.end(), a) > 1;
    const Operand& to = gradients_[a].to;
    if (is_twice || of.record->partial_gradient) {
      zero_fresh(gradients_[a], to);
    }
    new (&d_in[i]) Operand(to);
    d_in[i].sink = may_leave && !is_twice ? to.sink : nullptr;
  }
  part.d_in = {d_in, of.args.size()};
  of.record->backward(of.op.get(), part);
  for (std::size_t i = 0; i < of.args.size(); ++i) {
    if (!d_in[i].absent()) {
      const bool is_left = i < kMaskedArgs && ((part.left_for_later >> i) & 1) != 0;
      Gradient& g = gradients_[of.args[i]];
      g.is_left = g.is_left || is_left;
      g.is_written = g.is_written || !is_left;
    }
  }
}

void ProgramRun::step_back(std::size_t s) {
  const ProgramStep& of = step(s);
  if (of.record->aliases) {
    give_whole(of.args[0], gradients_[of.first].to);
    return;
  }
  for (const ValueId a : of.args) {
    if (a != kNoValue && gradients_[a].is_wanted) {
      target(a);
    }
  }
  std::byte* const before = next_;
  run_back(s);
  next_ = before;
}

void ProgramRun::finish_arguments() {
  for (std::size_t a = 0; a < program_.content_.arguments(); ++a) {
    Gradient& g = gradients_[a];
    if (!g.is_wanted) {
      continue;
    }
    if (g.is_left && !g.is_written) {
      call_.left_for_later |= std::uint64_t{1} << a;
    } else if (!g.is_written) {
      g.blocks = nullptr;
      zero_fresh(g, call_.d_in[a]);
    } else if (g.is_sum) {
      move_whole(call_, g.to, call_.d_in[a], ext::Write::kAsBlocks);
    }
  }
}

void ProgramRun::backward() {
  const std::size_t steps = program_.content_.steps.size();
  gradients_ = cleared<Gradient>(values_count_);
  is_active_ = cleared<bool>(steps);
  is_again_ = cleared<bool>(steps);
  find_wanted();
  find_reached();
  find_needed();
  compute_again();
  begin_gradients();
  take_result_gradients();
  for (std::size_t s = steps; s-- > 0;) {
    if (is_active_[s]) {
      step_back(s);
    }
  }
  finish_arguments();
}

}  // namespace dynet::ops
