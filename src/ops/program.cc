#include "ops/program.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>
#include <utility>

#include "dynet/ops/linear.h"

#include "ops/program_run.h"

namespace dynet::ops {
namespace {

const Program& at(const void* op) { return *static_cast<const ProgramOperation*>(op)->program; }
void run_forward(const void* op, ext::Call& call) { ProgramRun(at(op), call).forward(); }
void run_backward(const void* op, ext::Call& call) { ProgramRun(at(op), call).backward(); }

bool equal_ops(const ProgramStep& a, const ProgramStep& b) {
  const std::size_t bytes = a.record->attr_bytes;
  std::vector<std::byte> of_a(bytes);
  std::vector<std::byte> of_b(bytes);
  a.record->pack(a.op.get(), of_a.data());
  b.record->pack(b.op.get(), of_b.data());
  return of_a == of_b;
}

bool equal_steps(const ProgramStep& a, const ProgramStep& b) {
  const bool equal_numbers =
      a.values.size() == b.values.size() &&
      (a.values.empty() ||
       std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(float)) == 0);
  return a.record == b.record && a.args == b.args && a.absent == b.absent &&
         a.indices == b.indices && equal_numbers && equal_ops(a, b);
}

struct Table {
  std::mutex mutex;
  std::vector<std::unique_ptr<const Program>> programs;
};
/// Never destroyed: graphs may outlive main().
Table& table() {
  static Table& all = *new Table;
  return all;
}

}  // namespace

Program::Program(ProgramContent content, ext::detail::AddGradient gradient)
    : content_(std::move(content)) {
  plan_values();
  plan_kept();
  plan_way_back();
  make_record(gradient);
}

/// Who makes each value, and who reads it.
void Program::plan_values() {
  places_.resize(content_.dims.size());
  shown_.resize(places_.size());
  std::iota(shown_.begin(), shown_.end(), ValueId{0});
  for (std::size_t a = 0; a < content_.arguments(); ++a) {
    places_[a].depends_on_weights = content_.weights[a];
  }
  for (const ProgramStep& step : content_.steps) {
    bool on_weights = true;
    for (const ValueId a : step.args) {
      if (a != kNoValue) {
        Place& place = places_[a];
        ++place.uses;
        place.is_partly_given = place.is_partly_given || step.record->partial_gradient;
        on_weights = on_weights && place.depends_on_weights;
      }
    }
    for (std::uint32_t k = 0; k < step.record->outputs; ++k) {
      places_[step.first + k].depends_on_weights = on_weights;
    }
    operands_ += step.args.size() + step.record->outputs + step.saved.size() + 2;
    longest_ = std::max(longest_, step.args.size());
    reads_.push_back(reads_of(step));
    is_product_.push_back(step.is_product());
    is_elementwise_.push_back(is_elementwise(step));
    std::vector<ValueId> present = step.args;
    std::erase(present, kNoValue);
    std::sort(present.begin(), present.end());
    has_arg_twice_.push_back(std::adjacent_find(present.begin(), present.end()) != present.end());
  }
  for (std::size_t k = 0; k < content_.results.size(); ++k) {
    Place& place = places_[content_.results[k]];
    ++place.uses;
    if (place.result == kNowhere && content_.results[k] >= content_.arguments()) {
      place.result = static_cast<std::uint8_t>(k);
    }
  }
  for (ProgramStep& step : content_.steps) {
    if (step.record->aliases) {
      places_[step.first].result = kNowhere;
      shown_[step.first] = shown_[step.args[0]];
    }
    step.doubles.assign(step.values.begin(), step.values.end());
  }
}

/// Room for the two factors of a weight's gradient, unless they lie in memory that stays anyway.
void Program::plan_way_back() {
  std::int64_t size = 0;
  const auto take = [&](std::int64_t& offset, ValueId v) {
    if (offset < 0) {
      offset = size;
      size += content_.dims[v].example_elements();
    }
  };
  for (const ProgramStep& step : content_.steps) {
    if (!step.is_product()) {
      continue;
    }
    for (std::uint32_t k = 0; k < step.record->outputs; ++k) {
      Place& place = places_[step.first + k];
      const bool is_result_alone = place.result != kNowhere && place.uses == 1;
      if (!place.depends_on_weights && !is_result_alone) {
        take(place.gradient, step.first + k);
      }
    }
    for (const ValueId a : step.args) {
      const ValueId v = a == kNoValue ? 0 : shown_[a];
      if (v >= content_.arguments() && places_[v].result == kNowhere &&
          places_[v].kept == kNowhere && !places_[v].depends_on_weights) {
        take(places_[v].value, v);
      }
    }
  }
  has_way_back_ = size != 0;
  if (has_way_back_) {
    saved_.push_back(Dim({static_cast<unsigned>(size)}));
  }
}

void Program::make_record(ext::detail::AddGradient gradient) {
  info_.name = content_.name;
  info_.args = {"exprs", "..."};
  info_.formula = "the steps of a function of the program";
  ext::Record& r = record_;
  r.info = &info_;
  r.op_bytes = sizeof(ProgramOperation);
  r.op_align = alignof(ProgramOperation);
  r.arg_count = 2;
  r.outputs = static_cast<std::uint8_t>(content_.results.size());
  r.head_args = r.outputs;
  r.saved = static_cast<std::uint8_t>(saved_.size());
  r.variadic = true;
  r.has_shared = true;
  r.minus_infinity =
      std::any_of(content_.steps.begin(), content_.steps.end(),
                  [](const ProgramStep& step) { return step.record->minus_infinity; });
  r.role_count = 1;
  for (ext::Role& role : r.roles) {
    role = ext::Role::kEither;
  }
  r.pack = [](const void* /*op*/, std::byte* /*to*/) {};
  r.shapes = [](const void* op, const ext::Shapes& /*in*/, Dim* out) {
    for (const ValueId v : at(op).content().results) {
      *out++ = at(op).content().dims[v];
    }
  };
  r.saved_shapes = [](const void* op, const ext::Shapes& /*in*/, Dim* out) {
    std::copy(at(op).saved().begin(), at(op).saved().end(), out);
  };
  r.forward = &run_forward;
  r.backward = &run_backward;
  r.gradient = gradient;
  r.attrs_text = [](const void* /*op*/) { return std::string(); };
}

bool Program::is_like(const ProgramContent& content) const {
  return content_.name == content.name && content_.weights == content.weights &&
         content_.dims == content.dims && content_.results == content.results &&
         std::equal(content_.steps.begin(), content_.steps.end(), content.steps.begin(),
                    content.steps.end(), equal_steps);
}

const Program* program_of(const ext::Record& record, const void* op) {
  return record.forward == &run_forward ? &at(op) : nullptr;
}

const Program* intern_program(ProgramContent content, ext::detail::AddGradient gradient) {
  const std::lock_guard lock(table().mutex);
  auto& all = table().programs;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const auto& program) { return program->is_like(content); });
  if (found != all.end()) {
    return found->get();
  }
  if (all.size() >= kMaxPrograms) {
    return nullptr;
  }
  all.push_back(std::make_unique<const Program>(std::move(content), gradient));
  return all.back().get();
}

}  // namespace dynet::ops
