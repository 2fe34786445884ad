#pragma once

// A computation written down as data, so that one computation can be built and run many times:
// batched and one by one, in double and in float, with one number changed.
//
// Sources are the numbers (inputs, parameters, lookup tables), steps the nodes in the order of
// building, events the user's calls in between (ask for a value, checkpoint, revert). The loss is
// the sum of fixed coefficients times chosen results, so every element of the results has a
// gradient of its own. Start reading at run(). Example: a program with sources a and b, and the
// step a * b, has the loss sum_i c_i a_i b_i.

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/ext/testing.h"

#include "testing/device.h"
#include "testing/random.h"

namespace dynet::execute {
class Hook;
}

namespace dynet::testing {

/// Which output of which step.
struct Ref {
  int step = 0;
  unsigned output = 0;
};
/// Stands for an argument that is absent.
inline constexpr Ref kNoRef{-1, 0};

enum class LeafKind {
  kNone,  ///< an operation
  kInput,
  kInputPointer,
  kScalar,
  kScalarPointer,
  kParameter,
  kConstParameter,
  kLookup,
  kLookupPointer,
  kConstLookup,
  kTable,  ///< a whole lookup table as one tensor
};

/// Numbers that a program starts from. Of a lookup table `dim` is one row, and there are `rows`.
struct Source {
  enum Kind { kData, kParameter, kTable } kind = kData;
  Dim dim;
  unsigned rows = 0;
  std::vector<float> data;
};

struct Step {
  LeafKind leaf = LeafKind::kNone;
  int source = -1;  ///< of a leaf
  const Sample* sample = nullptr;
  OpBytes op;
  std::vector<Ref> args;
  std::vector<unsigned> indices;  ///< payload, or the rows of a lookup
  std::vector<float> values;
  bool by_pointer = false;
};

struct Event {
  enum Kind { kValue, kCheckpoint, kRevert } kind = kValue;
  int after = 0;  ///< happens when this step has been built
  Ref ref;        ///< of kValue
};

struct Term {
  Ref ref;
  std::vector<float> coefficients;
};

struct Program {
  std::deque<Source>
      sources;  ///< steps and sources keep their addresses: pointers to them are payload
  std::deque<Step> steps;
  std::vector<Event> events;
  std::vector<Term> terms;

  int add_source(Source::Kind kind, const Dim& dim, std::vector<float> data, unsigned rows = 0);
  int add_leaf(LeafKind kind, int source, std::vector<unsigned> rows = {});
  int add_step(const Sample& sample, std::vector<Ref> args);
  /// A listing for failure messages.
  [[nodiscard]] std::string text() const;
};

/// The numbers of one run. A step that was reverted has no gradient.
struct Result {
  std::vector<std::vector<std::vector<double>>> values;     ///< [step][output]
  std::vector<std::vector<std::vector<double>>> gradients;  ///< [step][output]
  std::vector<std::vector<double>> source_gradients;        ///< of parameters and tables
  double loss = 0.0;

  /// The largest gradient of a value, as absolute value. NaN and infinities count as 1e300.
  [[nodiscard]] double largest_gradient() const;
};

struct RunOptions {
  Device* device = nullptr;
  bool batching = true;
  bool backward = true;
  execute::Hook* hook = nullptr;
  /// Several devices, of which `device` is one: each step and each source is on one device, and
  /// operands from another device are copied there (to_device).
  std::vector<Device*> devices{};
};

/// A program being built in a graph of its own, step by step, for `run` and for the generator of
/// random graphs. Makes `device` the default device while it makes its collection and graph.
class LiveProgram {
 public:
  LiveProgram(const Program& program, Device* device, bool batching,
              std::vector<Device*> devices = {});
  /// Makes the sources that `run` would make later; sources may have been added since.
  void make_sources();
  /// Builds step number `index`. Exceptions of the library pass through.
  void build(int index);
  /// Runs the events after step `index`.
  void happen(int index);
  [[nodiscard]] const Expression& expression(Ref ref) const;
  [[nodiscard]] bool has(int step) const { return live_[static_cast<std::size_t>(step)]; }
  Expression loss();
  ComputationGraph& graph() { return graph_; }
  [[nodiscard]] std::vector<double> source_gradient(int source) const;

 private:
  Expression leaf(const Step& step, Device* device);
  Expression operation(const Step& step, Device* device);
  [[nodiscard]] Device* device_of(int index) const;

  const Program& program_;
  Device* device_;
  std::vector<Device*> devices_;
  std::optional<DefaultDevice> scope_;  ///< while the members after it are made
  ParameterCollection model_;
  std::vector<Parameter> parameters_;    ///< by source
  std::vector<LookupParameter> tables_;  ///< by source
  ComputationGraph graph_;
  std::vector<std::vector<Expression>> expressions_;
  std::vector<char> live_;
  std::vector<std::size_t> marks_;  ///< number of steps at each checkpoint
};

/// The default device, and the device of the same name in double: "CPU" and "CPU:double".
Device* float_device();
Device* double_device();

/// Builds and computes. Random nodes draw from stream 7 of the present seed, so runs are
/// repeatable.
Result run(const Program& program, const RunOptions& options);
/// Only the loss, computed from the values of the results outside the library.
double loss_of(const Program& program, const RunOptions& options);

/// The elements of a tensor of either number type.
std::vector<double> numbers(const Tensor& t);

/// Draws numbers that are exact in float, not 0, and at least 2^-12 apart from each other, so that
/// kinks (max, rectify, abs) are never within the step of a difference.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random(seed) {}
  std::vector<float> operator()(std::int64_t count, double low, double high);
  Random random;

 private:
  std::set<std::int64_t> used_;
};

/// |a - b| <= bound * max(1, |b|) for all elements; says where not. Equal NaN or infinities agree.
std::string compare(const std::vector<double>& a, const std::vector<double>& b, double bound);
/// All values and gradients of two runs.
std::string compare(const Program& program, const Result& a, const Result& b, double bound);

}  // namespace dynet::testing
