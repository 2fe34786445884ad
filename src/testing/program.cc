#include "testing/program.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string_view>

#include "dynet/expr.h"
#include "dynet/ext/add_node.h"
#include "dynet/globals.h"
#include "dynet/param-init.h"

#include "api/graph_state.h"
#include "execute/executor.h"

namespace dynet::testing {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

// ---- Program ---------------------------------------------------------------------------------

int Program::add_source(Source::Kind kind, const Dim& dim, std::vector<float> data, unsigned rows) {
  sources.push_back({kind, dim, rows, std::move(data)});
  return static_cast<int>(sources.size()) - 1;
}

int Program::add_leaf(LeafKind kind, int source, std::vector<unsigned> rows) {
  Step s;
  s.leaf = kind;
  s.source = source;
  s.indices = std::move(rows);
  steps.push_back(std::move(s));
  return static_cast<int>(steps.size()) - 1;
}

int Program::add_step(const Sample& sample, std::vector<Ref> args) {
  Step s;
  s.sample = &sample;
  s.op = sample.op;
  s.args = std::move(args);
  s.indices = sample.indices;
  s.values = sample.values;
  steps.push_back(std::move(s));
  return static_cast<int>(steps.size()) - 1;
}

// ---- LiveProgram -----------------------------------------------------------------------------

LiveProgram::LiveProgram(const Program& program, Device* device, bool batching,
                         std::vector<Device*> devices)
    : program_(program),
      device_(device),
      devices_(std::move(devices)),
      scope_(device),
      graph_(batching) {
  graph_.set_random_stream(7);
  make_sources();
  scope_.reset();
}

/// Mixed, so that neighbours are on different devices, and on the same, in no simple order.
Device* LiveProgram::device_of(int index) const {
  return devices_.empty() ? device_
                          : devices_[Random(static_cast<std::uint64_t>(index))
                                         .below(static_cast<unsigned>(devices_.size()))];
}

void LiveProgram::make_sources() {
  const DefaultDevice scope(device_);
  for (std::size_t i = parameters_.size(); i < program_.sources.size(); ++i) {
    const Source& s = program_.sources[i];
    Device* const device = device_of(static_cast<int>(i));
    parameters_.emplace_back();
    tables_.emplace_back();
    if (s.kind == Source::kParameter) {
      parameters_.back() =
          model_.add_parameters(s.dim, ParameterInitFromVector(s.data), "", device);
    } else if (s.kind == Source::kTable) {
      tables_.back() =
          model_.add_lookup_parameters(s.rows, s.dim, ParameterInitFromVector(s.data), "", device);
    }
  }
}

Expression LiveProgram::leaf(const Step& step, Device* device) {
  const Source& s = program_.sources[at(step.source)];
  const Parameter& p = parameters_[at(step.source)];
  const LookupParameter& t = tables_[at(step.source)];
  const bool one = step.indices.size() == 1;
  switch (step.leaf) {
    case LeafKind::kNone:
      break;
    case LeafKind::kInput:
      return input(graph_, s.dim, s.data, device);
    case LeafKind::kInputPointer:
      return input(graph_, s.dim, &s.data, device);
    case LeafKind::kScalar:
      return input(graph_, s.data[0], device);
    case LeafKind::kScalarPointer:
      return input(graph_, s.data.data(), device);
    case LeafKind::kParameter:
      return parameter(graph_, p);
    case LeafKind::kConstParameter:
      return const_parameter(graph_, p);
    case LeafKind::kLookup:
      return one ? lookup(graph_, t, step.indices[0]) : lookup(graph_, t, step.indices);
    case LeafKind::kLookupPointer:
      return one ? lookup(graph_, t, step.indices.data()) : lookup(graph_, t, &step.indices);
    case LeafKind::kConstLookup:
      return one ? const_lookup(graph_, t, step.indices[0]) : const_lookup(graph_, t, step.indices);
    case LeafKind::kTable:
      return parameter(graph_, t);
  }
  throw std::logic_error("a step without leaf and operation");
}

Expression LiveProgram::operation(const Step& step, Device* device) {
  std::vector<Expression> args;
  args.reserve(step.args.size());
  for (const Ref& r : step.args) {
    args.push_back(r.step < 0 ? Expression() : to_device(expression(r), device));
  }
  ext::NodePayload payload;
  if (!step.indices.empty()) {
    payload =
        step.by_pointer ? ext::NodePayload::of(&step.indices) : ext::NodePayload::of(step.indices);
  } else if (!step.values.empty()) {
    payload =
        step.by_pointer ? ext::NodePayload::of(&step.values) : ext::NodePayload::of(step.values);
  }
  return ext::add_node(*step.sample->record, step.op.get(), &graph_, args, payload, Where::here());
}

void LiveProgram::build(int index) {
  const Step& step = program_.steps[at(index)];
  const DefaultDevice scope(device_);
  const Expression first =
      step.sample == nullptr ? leaf(step, device_of(index)) : operation(step, device_of(index));
  if (expressions_.size() <= at(index)) {
    expressions_.resize(at(index) + 1);
    live_.resize(at(index) + 1, 0);
  }
  expressions_[at(index)] = {first};
  live_[at(index)] = 1;
  const unsigned outputs = step.sample == nullptr ? 1 : step.sample->record->outputs;
  for (unsigned o = 1; o < outputs; ++o) {
    expressions_[at(index)].emplace_back(first.pg, first.i + o, first.graph_id);
  }
}

void LiveProgram::happen(int index) {
  for (const Event& e : program_.events) {
    if (e.after != index) {
      continue;
    }
    if (e.kind == Event::kValue) {
      static_cast<void>(expression(e.ref).value());
    } else if (e.kind == Event::kCheckpoint) {
      graph_.checkpoint();
      marks_.push_back(at(index) + 1);
    } else {
      graph_.revert();
      for (std::size_t i = marks_.back(); i <= at(index); ++i) {
        live_[i] = 0;
      }
      marks_.pop_back();
    }
  }
}

const Expression& LiveProgram::expression(Ref ref) const {
  return expressions_[at(ref.step)][ref.output];
}

Expression LiveProgram::loss() {
  std::vector<Expression> terms;
  for (const Term& t : program_.terms) {
    const Expression& e = expression(t.ref);
    Device* const device = get_device_manager()->get_global_device(e.get_device_name());
    const Expression product = dot_product(e, input(graph_, e.dim(), t.coefficients, device));
    terms.push_back(to_device(e.dim().bd == 1 ? product : sum_batches(product), device_));
  }
  return sum(terms);
}

std::vector<double> LiveProgram::source_gradient(int source) const {
  const Source& s = program_.sources[at(source)];
  if (s.kind == Source::kParameter) {
    return numbers(parameters_[at(source)].get_storage().g);
  }
  return s.kind == Source::kTable ? numbers(tables_[at(source)].get_storage().all_grads)
                                  : std::vector<double>{};
}

// ---- running -----------------------------------------------------------------------------------

namespace {
constexpr std::string_view kInDouble = ":double";
std::string plain_name() {
  const std::string& name = default_device->name;
  return name.ends_with(kInDouble) ? name.substr(0, name.size() - kInDouble.size()) : name;
}
}  // namespace

Device* float_device() { return get_device_manager()->get_global_device(plain_name()); }
Device* double_device() {
  return get_device_manager()->get_global_device(plain_name() + std::string(kInDouble));
}

namespace {
std::vector<double> coefficients_of(const Term& t) {
  return {t.coefficients.begin(), t.coefficients.end()};
}
}  // namespace

Result run(const Program& program, const RunOptions& options) {
  LiveProgram live(program, options.device, options.batching, options.devices);
  if (options.hook != nullptr) {
    live.graph().state().executor.hooks().add(*options.hook);
  }
  const int count = static_cast<int>(program.steps.size());
  for (int i = 0; i < count; ++i) {
    live.build(i);
    live.happen(i);
  }
  Result result;
  const Expression loss = live.loss();
  result.loss = numbers(loss.value())[0];
  if (options.backward) {
    live.graph().backward(loss, true);
  }
  for (int i = 0; i < count; ++i) {
    auto& values = result.values.emplace_back();
    auto& gradients = result.gradients.emplace_back();
    if (!live.has(i)) {
      continue;
    }
    const Step& step = program.steps[at(i)];
    const unsigned outputs = step.sample == nullptr ? 1 : step.sample->record->outputs;
    for (unsigned o = 0; o < outputs; ++o) {
      const Expression& e = live.expression({i, o});
      values.push_back(numbers(e.value()));
      if (options.backward) {
        gradients.push_back(numbers(e.gradient()));
      }
    }
  }
  for (int s = 0; s < static_cast<int>(program.sources.size()); ++s) {
    result.source_gradients.push_back(options.backward ? live.source_gradient(s)
                                                       : std::vector<double>{});
  }
  return result;
}

double Result::largest_gradient() const {
  double most = 0.0;
  for (const auto& step : gradients) {
    for (const auto& output : step) {
      for (const double g : output) {
        most = std::max(most, std::isfinite(g) ? std::fabs(g) : 1e300);
      }
    }
  }
  return most;
}

double loss_of(const Program& program, const RunOptions& options) {
  LiveProgram live(program, options.device, options.batching);
  for (int i = 0; i < static_cast<int>(program.steps.size()); ++i) {
    live.build(i);
    live.happen(i);
  }
  double loss = 0.0;
  for (const Term& t : program.terms) {
    const std::vector<double> y = numbers(live.expression(t.ref).value());
    const std::vector<double> c = coefficients_of(t);
    for (std::size_t i = 0; i < y.size(); ++i) {
      loss += c[i] * y[i];
    }
  }
  return loss;
}

std::vector<float> Draw::operator()(std::int64_t count, double low, double high) {
  constexpr double kGrid = 4096.0;
  const auto first = static_cast<std::int64_t>(std::ceil(low * kGrid));
  const auto slots =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(high * kGrid)) - first);
  std::vector<float> v;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t slot = 0;
    for (int tries = 0; tries < 50; ++tries) {
      slot = first + static_cast<std::int64_t>(random.below(static_cast<unsigned>(slots)));
      if (slot != 0 && used_.insert(slot).second) {
        break;
      }
    }
    v.push_back(static_cast<float>(static_cast<double>(slot) / kGrid));
  }
  return v;
}

std::vector<double> numbers(const Tensor& t) { return as_double_vector(t); }

std::string compare(const std::vector<double>& a, const std::vector<double>& b, double bound) {
  std::ostringstream os;
  if (a.size() != b.size()) {
    os << a.size() << " elements against " << b.size();
    return os.str();
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) {
      continue;
    }
    if (a[i] == b[i]) {
      continue;
    }
    // Beside an infinity every difference and every bound is infinite.
    if (std::isinf(a[i]) || std::isinf(b[i]) ||
        !(std::fabs(a[i] - b[i]) <= bound * std::max(1.0, std::fabs(b[i])))) {
      os.precision(12);
      os << "element " << i << " of " << a.size() << ": " << a[i] << " against " << b[i];
      return os.str();
    }
  }
  return "";
}

namespace {
std::string compare_lists(const char* what, const std::vector<std::vector<std::vector<double>>>& a,
                          const std::vector<std::vector<std::vector<double>>>& b, double bound) {
  if (a.size() != b.size()) {
    return std::string(what) + ": another number of steps";
  }
  for (std::size_t s = 0; s < a.size(); ++s) {
    if (a[s].size() != b[s].size()) {
      return std::string(what) + ": another number of outputs";
    }
    for (std::size_t o = 0; o < a[s].size(); ++o) {
      const std::string difference = compare(a[s][o], b[s][o], bound);
      if (!difference.empty()) {
        return std::string(what) + " of s" + std::to_string(s) + "." + std::to_string(o) + ": " +
               difference;
      }
    }
  }
  return "";
}
}  // namespace

std::string compare(const Program& program, const Result& a, const Result& b, double bound) {
  std::string difference = compare_lists("value", a.values, b.values, bound);
  if (difference.empty()) {
    difference = compare_lists("gradient", a.gradients, b.gradients, bound);
  }
  for (std::size_t s = 0; difference.empty() && s < program.sources.size(); ++s) {
    difference = compare(a.source_gradients[s], b.source_gradients[s], bound);
    if (!difference.empty()) {
      difference.insert(0, "gradient of source " + std::to_string(s) + ": ");
    }
  }
  if (difference.empty()) {
    difference = compare({a.loss}, {b.loss}, bound);
  }
  return difference.empty() ? "" : difference + "\n" + program.text();
}

}  // namespace dynet::testing
