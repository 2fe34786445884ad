#include "ops/program_run.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>

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
  if (next_ > end_) [[unlikely]] {
    throw std::logic_error("the lists of a program's call are longer than take_lists() says");
  }
  return first;
}

/// Room for the lists of a call: operands of values, gradients and steps, with their blocks. An
/// upper bound: each value and each gradient has an operand of its own at most, and so has each
/// operand of the calls of all steps, once in forward or again and once in backward.
std::byte* ProgramRun::take_lists() {
  const std::size_t steps = program_.content_.steps.size();
  const std::size_t values = program_.places_.size();
  const std::size_t way_back =
      program_.has_way_back_ ? static_cast<std::size_t>(call_.saved.back().block_count) : 0;
  constexpr std::size_t kOperand = sizeof(Operand) + sizeof(Block) + 2 * alignof(std::max_align_t);
  const std::size_t bytes =
      values * (sizeof(Value) + sizeof(Gradient) + 2 * (kOperand + way_back * sizeof(Block))) +
      program_.operands_ * 2 * kOperand + steps * 4 * kOperand +
      (program_.longest_ + 8) * 2 * sizeof(Operand) + 1024;
  if (are_lists_taken) {  // an operation of the program computes another graph
    own_ = std::make_unique<std::byte[]>(bytes);
    end_ = own_.get() + bytes;
    return own_.get();
  }
  auto* const taken = reinterpret_cast<std::byte*>(lists.get(bytes / sizeof(float) + 1));
  are_lists_taken = true;
  end_ = taken + bytes;
  return taken;
}

ProgramRun::ProgramRun(const Program& program, ext::Call& call)
    : program_(program),
      call_(call),
      case_(program.case_of(call, own_case_)),
      next_(take_lists()),
      part_(call.kernels, call.memory),
      values_(room<Value>(program.places_.size())),
      saved_(room<Saved>(program.content_.steps.size())) {
  for (std::size_t a = 0; a < program.content_.arguments(); ++a) {
    values_[a] = {&call.in[a], true};
  }
}

ProgramRun::~ProgramRun() {
  if (own_ == nullptr) {
    are_lists_taken = false;
  }
}

// ---- values

/// An operand of the value's shape without numbers.
const Operand* ProgramRun::absent(ValueId v) {
  return new (room<Operand>(1)) Operand{.dim = dim(v), .examples = examples(v)};
}

Operand* ProgramRun::in_scratch(ValueId v, Block*& block) {
  const std::int64_t count = examples(v);
  const std::int64_t bytes =
      dim(v).example_elements() * count * ext::bytes_of(call_.kernels.number());
  block = new (room<Block>(1)) Block{call_.scratch(bytes), count, true};
  return new (room<Operand>(1))
      Operand{.dim = dim(v), .examples = count, .blocks = block, .block_count = 1};
}

/// Memory that the step of value `v` writes in forward. A value of one example beside a batch is
/// computed in scratch memory, and then spread.
void ProgramRun::place_forward(ValueId v) {
  const Program::Place& place = program_.places_[v];
  const bool is_whole = examples(v) == call_.examples;
  if (is_whole && place.result != Program::kNowhere) {
    values_[v] = {&call_.out[place.result], true};
  } else if (is_whole && place.kept != Program::kNowhere) {
    values_[v] = {&call_.saved[place.kept], true};
  } else {
    Block* block = nullptr;
    values_[v] = {in_scratch(v, block), false};
  }
}

/// In backward: the memory in which forward left the value; of a value that was spread, the first
/// example.
void ProgramRun::take_stored(ValueId v) {
  const Program::Place& place = program_.places_[v];
  const Operand& stored =
      place.result != Program::kNowhere ? call_.out[place.result] : call_.saved[place.kept];
  values_[v] = {&stored, true};
  if (stored.examples != examples(v)) {
    auto* const block = new (room<Block>(1)) Block{stored.blocks[0].data, 1, false};
    values_[v].at = new (room<Operand>(1))
        Operand{.dim = dim(v), .examples = 1, .blocks = block, .block_count = 1};
  }
}

/// Memory of a value that backward computes again.
void ProgramRun::place_again(ValueId v) {
  const std::int64_t offset = program_.places_[v].value;
  const bool lasts = offset >= 0 && examples(v) == call_.examples;
  Block* blocks = nullptr;
  values_[v] = {lasts ? part_of_way_back(offset, v, blocks) : in_scratch(v, blocks), lasts};
}

/// A part of the saved output that backward alone writes: in each of its blocks, the numbers of all
/// examples of the block side by side.
Operand* ProgramRun::part_of_way_back(std::int64_t offset, ValueId v, Block*& blocks) {
  const Operand& all = call_.saved.back();
  const std::int64_t bytes = ext::bytes_of(call_.kernels.number());
  blocks = room<Block>(static_cast<std::size_t>(all.block_count));
  for (std::int64_t b = 0; b < all.block_count; ++b) {
    const Block& block = all.blocks[b];
    new (&blocks[b]) Block{static_cast<std::byte*>(block.data) + offset * block.examples * bytes,
                           block.examples, true};
  }
  return new (room<Operand>(1)) Operand{
      .dim = dim(v), .examples = all.examples, .blocks = blocks, .block_count = all.block_count};
}

Operand* ProgramRun::arguments_of(std::size_t s) {
  const std::vector<ValueId>& args = step(s).args;
  auto* const in = room<Operand>(args.size());
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == kNoValue) {
      new (&in[i]) Operand();
    } else {
      new (&in[i]) Operand(*values_[args[i]].at);
    }
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

void ProgramRun::set_payload(std::size_t s) {
  const ProgramStep& of = step(s);
  if (has_payload_) {  // of an earlier step
    part_.indices = part_.values = Operand();
    has_payload_ = false;
  }
  if (!of.indices.empty()) {
    has_payload_ = true;
    part_.indices =
        payload_operand(of.indices.data(), of.indices.size(),
                        static_cast<std::int64_t>(of.indices.size() * sizeof(unsigned)));
  }
  if (of.values.empty()) {
    return;
  }
  has_payload_ = true;
  const std::size_t count = of.values.size();
  if (call_.kernels.number() == ext::Number::kFloat) {
    part_.values =
        payload_operand(of.values.data(), count, static_cast<std::int64_t>(count * sizeof(float)));
  } else {
    part_.values = payload_operand(of.doubles.data(), count,
                                   static_cast<std::int64_t>(count * sizeof(double)));
  }
}

/// A reshaped value is the memory of its argument.
void ProgramRun::show_alias(std::size_t s) {
  const Value& of = values_[step(s).args[0]];
  auto* const shown = new (room<Operand>(1)) Operand(*of.at);
  shown->dim = dim(step(s).first);
  values_[step(s).first] = {shown, of.lasts};
}

/// Calls forward of a step, whose results have places.
void ProgramRun::run_step(std::size_t s) {
  const ProgramStep& of = step(s);
  if (program_.is_elementwise_[s] && run_elements(s)) {
    return;
  }
  auto* const saved = room<Operand>(of.saved.size());
  auto* const blocks = room<Block>(of.saved.size());
  std::byte* const before = next_;
  auto* const out = room<Operand>(outputs(s));
  for (std::size_t k = 0; k < outputs(s); ++k) {
    new (&out[k]) Operand(*values_[of.first + k].at);
  }
  part_.examples = out[0].examples;
  for (std::size_t k = 0; k < of.saved.size(); ++k) {
    const std::int64_t bytes = of.saved[k].example_elements() * part_.examples *
                               ext::saved_bytes(of.record->saved_as[k], call_.kernels.number());
    new (&blocks[k]) Block{call_.scratch(bytes), part_.examples, true};
    new (&saved[k]) Operand{
        .dim = of.saved[k], .examples = part_.examples, .blocks = &blocks[k], .block_count = 1};
  }
  saved_[s].first = saved;
  part_.absent = of.absent;
  part_.in = {arguments_of(s), of.args.size()};
  part_.out = {out, outputs(s)};
  part_.saved = {saved, of.saved.size()};
  set_payload(s);
  of.record->forward(of.op.get(), part_);
  next_ = before;
}

/// A value of one example that is kept beside a batch: backward may be called for some members of
/// the call alone, and each of them has it.
void ProgramRun::spread(ValueId v) {
  const Program::Place& place = program_.places_[v];
  if (examples(v) != call_.examples && place.kept != Program::kNowhere) {
    move_whole(call_, *values_[v].at, call_.saved[place.kept], ext::Write::kStore);
  }
}

void ProgramRun::forward() {
  const ProgramContent& content = program_.content_;
  for (std::size_t s = 0; s < content.steps.size(); ++s) {
    if (step(s).record->aliases) {
      show_alias(s);
      continue;
    }
    const ValueId first = step(s).first;
    const ValueId end = first + static_cast<ValueId>(outputs(s));
    for (ValueId v = first; v < end; ++v) {
      place_forward(v);
    }
    run_step(s);
    for (ValueId v = first; v < end; ++v) {
      spread(v);
    }
  }
  for (std::size_t k = 0; k < content.results.size(); ++k) {
    const Operand& value = *values_[content.results[k]].at;
    if (value.blocks != call_.out[k].blocks) {
      move_whole(call_, value, call_.out[k], ext::Write::kStore);
    }
  }
}

// ---- gradients

/// Places for the values that backward reads, and their numbers where forward did not keep them.
void ProgramRun::compute_again() {
  for (std::size_t s = 0; s < program_.content_.steps.size(); ++s) {
    const ProgramStep& of = step(s);
    if (of.record->aliases) {
      show_alias(s);
      continue;
    }
    for (std::size_t k = 0; k < outputs(s); ++k) {
      const auto v = of.first + static_cast<ValueId>(k);
      if (case_.steps[s].is_again) {
        place_again(v);
      } else if (program_.is_stored(v)) {
        take_stored(v);
      } else {
        values_[v] = {absent(v), false};  // nobody reads it
      }
    }
    if (case_.steps[s].is_again) {
      run_step(s);
    }
  }
}

void ProgramRun::begin_gradients() {
  for (std::size_t a = 0; a < program_.content_.arguments(); ++a) {
    if (case_.values[a].is_wanted) {
      begin_argument(static_cast<ValueId>(a));
    }
  }
}

/// An argument with one user gets its gradient in the place that the call wants. Several users add
/// in between, in one block.
void ProgramRun::begin_argument(ValueId v) {
  Gradient& g = gradients_[v];
  const Program::Place& place = program_.places_[v];
  const Operand& wanted = call_.d_in[v];
  g.to = &wanted;
  g.lasts = true;
  if (place.uses <= 1 && !place.is_partly_given) {
    return;
  }
  if (wanted.one_block()) {
    g.blocks = new (room<Block>(1)) Block(wanted.blocks[0]);
    auto* const to = new (room<Operand>(1)) Operand(wanted);
    to->blocks = g.blocks;
    g.to = to;
  } else {
    const std::int64_t bytes =
        wanted.size() * wanted.examples * ext::bytes_of(call_.kernels.number());
    g.blocks = new (room<Block>(1)) Block{call_.scratch(bytes), wanted.examples, true};
    g.to = new (room<Operand>(1)) Operand{
        .dim = wanted.dim, .examples = wanted.examples, .blocks = g.blocks, .block_count = 1};
    g.is_sum = true;
    g.lasts = false;
  }
}

/// Where a gradient of value `v` is to be stored or added next.
const Operand& ProgramRun::target(ValueId v) {
  Gradient& g = gradients_[v];
  if (g.to == nullptr) {
    const std::int64_t offset = program_.places_[v].gradient;
    g.lasts = offset >= 0 && examples(v) == call_.examples;
    g.to = g.lasts ? part_of_way_back(offset, v, g.blocks) : in_scratch(v, g.blocks);
  }
  for (std::int64_t b = 0; g.is_written && g.blocks != nullptr && b < g.to->block_count; ++b) {
    g.blocks[b].fresh = false;
  }
  return *g.to;
}

/// Zeros, for blocks in which a gradient would be stored.
void ProgramRun::zero_fresh(const Gradient& g, const Operand& to) const {
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
    if (d.absent() || !case_.values[v].is_wanted) {
      continue;
    }
    if (program_.places_[v].uses == 1 && v >= content.arguments() && d.examples == examples(v)) {
      g.to = &d;
      g.is_written = true;
      g.lasts = true;
    } else {
      give_whole(v, d);
    }
  }
}

/// Whether the factors of a gradient of a weight stay until the end of the pass.
bool ProgramRun::may_leave_products(std::size_t s) const {
  const ProgramStep& of = step(s);
  if (!program_.is_product_[s]) {
    return false;
  }
  for (std::size_t k = 0; k < outputs(s); ++k) {
    const Gradient& g = gradients_[of.first + k];
    if (g.is_written && !g.lasts) {
      return false;
    }
  }
  return std::all_of(of.args.begin(), of.args.end(),
                     [this](ValueId a) { return a == kNoValue || values_[a].lasts; });
}

/// The results of a step and their gradients, for its call of backward.
void ProgramRun::give_results(std::size_t s) {
  const ProgramStep& of = step(s);
  auto* const out = room<Operand>(outputs(s));
  auto* const d_out = room<Operand>(outputs(s));
  for (std::size_t k = 0; k < outputs(s); ++k) {
    const ValueId v = of.first + static_cast<ValueId>(k);
    new (&out[k]) Operand(*values_[v].at);
    if (gradients_[v].is_written) {
      new (&d_out[k]) Operand(*gradients_[v].to);
    } else {
      new (&d_out[k]) Operand{.dim = dim(v)};
    }
    part_.examples = out[k].examples;
  }
  part_.out = {out, outputs(s)};
  part_.d_out = {d_out, outputs(s)};
}

/// The places of the gradients of a step's arguments.
Operand* ProgramRun::gradients_of_arguments(std::size_t s) {
  const ProgramStep& of = step(s);
  const bool may_leave = may_leave_products(s);
  auto* const d_in = room<Operand>(of.args.size());
  for (std::size_t i = 0; i < of.args.size(); ++i) {
    const ValueId a = of.args[i];
    if (a == kNoValue || !case_.values[a].is_wanted) {
      new (&d_in[i]) Operand{.dim = part_.in[i].dim};
      continue;
    }
    const bool is_twice =
        program_.has_arg_twice_[s] && std::count(of.args.begin(), of.args.end(), a) > 1;
    const Operand& to = *gradients_[a].to;
    if (is_twice || of.record->partial_gradient) {
      zero_fresh(gradients_[a], to);
    }
    new (&d_in[i]) Operand(to);
    d_in[i].sink = may_leave && !is_twice ? to.sink : nullptr;
  }
  return d_in;
}

/// Calls backward of a step, whose arguments' gradients have places.
void ProgramRun::run_back(std::size_t s) {
  const ProgramStep& of = step(s);
  part_.absent = of.absent;
  part_.left_for_later = 0;
  part_.in = {arguments_of(s), of.args.size()};
  part_.saved = {of.saved.empty() ? nullptr : saved_[s].first, of.saved.size()};
  give_results(s);
  set_payload(s);
  part_.d_in = {gradients_of_arguments(s), of.args.size()};
  of.record->backward(of.op.get(), part_);
  for (std::size_t i = 0; i < of.args.size(); ++i) {
    if (!part_.d_in[i].absent()) {
      const bool is_left = i < kMaskedArgs && ((part_.left_for_later >> i) & 1) != 0;
      Gradient& g = gradients_[of.args[i]];
      g.is_left = g.is_left || is_left;
      g.is_written = g.is_written || !is_left;
    }
  }
}

void ProgramRun::step_back(std::size_t s) {
  const ProgramStep& of = step(s);
  if (of.record->aliases) {
    give_whole(of.args[0], *gradients_[of.first].to);
    return;
  }
  for (const ValueId a : of.args) {
    if (a != kNoValue && case_.values[a].is_wanted) {
      target(a);
    }
  }
  if (program_.is_elementwise_[s] && run_elements_back(s)) {
    return;
  }
  std::byte* const before = next_;
  run_back(s);
  next_ = before;
}

void ProgramRun::finish_arguments() {
  for (std::size_t a = 0; a < program_.content_.arguments(); ++a) {
    Gradient& g = gradients_[a];
    if (!case_.values[a].is_wanted) {
      continue;
    }
    if (g.is_left && !g.is_written) {
      call_.left_for_later |= std::uint64_t{1} << a;
    } else if (!g.is_written) {
      g.blocks = nullptr;
      zero_fresh(g, call_.d_in[a]);
    } else if (g.is_sum) {
      move_whole(call_, *g.to, call_.d_in[a], ext::Write::kAsBlocks);
    }
  }
}

void ProgramRun::backward() {
  gradients_ = room<Gradient>(program_.places_.size());
  std::uninitialized_value_construct_n(gradients_, program_.places_.size());
  compute_again();
  begin_gradients();
  take_result_gradients();
  for (std::size_t s = program_.content_.steps.size(); s-- > 0;) {
    if (case_.steps[s].is_active) {
      step_back(s);
    }
  }
  finish_arguments();
}

}  // namespace dynet::ops
