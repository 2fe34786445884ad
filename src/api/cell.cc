#include "dynet/cell.h"

#include <algorithm>
#include <span>
#include <utility>

#include "dynet/evaluating.h"
#include "dynet/except.h"
#include "dynet/ext/add_node.h"

#include "api/cell_reader.h"
#include "api/gradient_nodes.h"
#include "api/graph_state.h"

namespace dynet::detail {
namespace {

/// The name of the cell whose function runs on placeholders in this thread.
thread_local const std::string* recorded_name = nullptr;

/// Stands for an argument while a function is recorded. It has no value.
struct Placeholder {
  Dim dim;
  unsigned index;

  static constexpr ext::Info kInfo{.name = "argument",
                                   .attrs = {"dim", "index"},
                                   .formula = "y = an argument of a cell",
                                   .shapes = "-> dim",
                                   .cpp = "-",
                                   .python = "-"};
  static constexpr ext::GradientTo kGradientGoesTo = ext::GradientTo::kNowhere;
  Dim shape(const ext::Shapes& /*in*/) const { return dim; }
  void forward(ext::Call& /*call*/) const {
    throw errors::UsageError(
        "cell(" + (recorded_name == nullptr ? std::string() : *recorded_name) +
        "): its function asks for a value that depends on argument " + std::to_string(index) +
        ", but it runs once for all values; want the value asked for outside and passed as a "
        "number, or the function called without a cell");
  }
  void backward(ext::Call& /*call*/) const {}
  static std::vector<ext::Example<Placeholder>> examples() { return {}; }
};

class Recording {
 public:
  explicit Recording(const std::string& name) : before_(std::exchange(recorded_name, &name)) {}
  ~Recording() { recorded_name = before_; }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  const std::string* before_;
};

ext::detail::AddGradient gradient_of(const ops::ProgramContent& content) {
  const bool has_all =
      std::all_of(content.steps.begin(), content.steps.end(), [](const ops::ProgramStep& step) {
        return step.record->gradient != nullptr || step.record->aliases || step.args.empty();
      });
  return has_all ? &api::add_gradient_of_program : nullptr;
}

}  // namespace

/// The properties of an argument on which a program depends.
struct CellPrograms::Kind {
  Dim dim;  ///< with the batch 1, or 2 for any larger one
  const Device* device;
  bool is_weight;

  static bool is_parameter(const graph::Node& node) {
    return node.record().reads_storage == ext::Storage::kWhole;
  }
  static Kind of(const graph::Graph& graph, graph::NodeId n) {
    Kind kind{graph.dim(n), &graph[n].device(), is_parameter(graph[n])};
    kind.dim.bd = std::min(kind.dim.bd, 2U);
    return kind;
  }
  [[nodiscard]] bool is_of(const graph::Graph& graph, graph::NodeId n) const {
    const Dim& other = graph.dim(n);
    return dim.nd == other.nd && dim.bd == std::min(other.bd, 2U) &&
           std::equal(dim.d, dim.d + dim.nd, other.d) && &graph[n].device() == device &&
           is_parameter(graph[n]) == is_weight;
  }
};

struct CellPrograms::Recorded {
  /// A program and its arguments, as numbers of arguments of the cell, then parameters, then
  /// results of the first part.
  struct Node {
    const ops::Program* program = nullptr;
    std::vector<ops::ValueId> args;
  };
  std::vector<Kind> kinds;
  bool is_evaluating = false;
  bool is_plain = false;
  unsigned form = 0;
  std::vector<api::ReadParameter> parameters;
  Node first, rest;  ///< the first part may be missing
};

CellPrograms::CellPrograms(std::string name, std::vector<unsigned> inputs)
    : name_(std::move(name)), inputs_(std::move(inputs)) {}
CellPrograms::~CellPrograms() = default;

/// Arguments of one live graph.
void CellPrograms::check(const std::vector<Expression>& args) const {
  if (args.empty()) {
    throw errors::ValueError("cell(" + name_ +
                             "): there are no arguments; want at least one expression");
  }
  if (args[0].pg == nullptr || !api::is_live(args[0].pg)) {
    static_cast<void>(api::checked_node(args[0], "cell(" + name_ + ")"));
  }
  const graph::Graph::Epochs epochs = args[0].pg->state().graph.epochs();
  for (const Expression& e : args) {
    if (e.pg != args[0].pg || !epochs.has(e.i, e.graph_id)) {
      static_cast<void>(api::checked_node(e, "cell(" + name_ + ")"));
      throw errors::GraphError("cell(" + name_ +
                               "): arguments belong to different computation graphs");
    }
  }
}

bool CellPrograms::is_of(const Recorded& recorded, const std::vector<Expression>& args) const {
  const graph::Graph& graph = args[0].pg->state().graph;
  return recorded.is_evaluating == Evaluating::is_on() &&
         std::equal(args.begin(), args.end(), recorded.kinds.begin(), recorded.kinds.end(),
                    [&](const Expression& e, const Kind& kind) { return kind.is_of(graph, e.i); });
}

CellPrograms::Recorded* CellPrograms::find(const std::vector<Expression>& args) {
  if (last_ != nullptr && is_of(*last_, args)) {
    return last_;
  }
  for (const auto& recorded : recorded_) {
    if (is_of(*recorded, args)) {
      return last_ = recorded.get();
    }
  }
  return nullptr;
}

CellPrograms::Outcome CellPrograms::call(const std::vector<Expression>& args, const Where& where,
                                         std::vector<Expression>& results) {
  check(args);
  Recorded* const recorded = find(args);
  if (recorded == nullptr || recorded->is_plain) {
    return recorded == nullptr ? Outcome::kNew : Outcome::kPlain;
  }
  ComputationGraph& cg = *args[0].pg;
  all_.assign(args.begin(), args.end());
  for (api::ReadParameter& p : recorded->parameters) {
    if (p.node.pg != &cg || !cg.state().graph.has(p.node.i, p.node.graph_id)) {
      ext::NodePayload payload;
      payload.storage = &p.storage;
      p.node = ext::add_node(ext::kRecord<ops::Parameter>, &p.op, &cg, {}, payload, where);
    }
    all_.push_back(p.node);
  }
  const auto add = [&](const Recorded::Node& node) {
    picked_.clear();
    for (const ops::ValueId a : node.args) {
      picked_.push_back(all_[a]);
    }
    return ext::add_node(node.program->record(), node.program->operation(), &cg, picked_, {},
                         where);
  };
  if (recorded->first.program != nullptr) {
    const Expression first = add(recorded->first);
    for (VariableIndex k = 0; k < recorded->first.program->record().outputs; ++k) {
      all_.emplace_back(first.pg, first.i + k, first.graph_id);
    }
  }
  const Expression rest = add(recorded->rest);
  results.clear();
  for (VariableIndex k = 0; k < recorded->rest.program->record().outputs; ++k) {
    results.emplace_back(rest.pg, rest.i + k, rest.graph_id);
  }
  return Outcome::kAdded;
}

std::vector<CellPrograms::Kind> CellPrograms::kinds_of(const std::vector<Expression>& args) const {
  std::vector<Kind> kinds;
  kinds.reserve(args.size());
  for (const Expression& e : args) {
    kinds.push_back(Kind::of(e.pg->state().graph, e.i));
  }
  return kinds;
}

namespace {

/// The nodes of the results. UsageError for results that are no node of the call.
std::vector<graph::NodeId> result_nodes(const std::string& name, const ComputationGraph& graph,
                                        const std::vector<Expression>& results, unsigned batch) {
  if (results.empty() || results.size() > ext::kMaxOutputs) {
    throw errors::UsageError("cell(" + name + "): its function has " +
                             std::to_string(results.size()) + " results; want 1 to " +
                             std::to_string(ext::kMaxOutputs) + " expressions");
  }
  std::vector<graph::NodeId> nodes;
  for (const Expression& e : results) {
    nodes.push_back(api::checked_node(e, "cell(" + name + ")"));
    if (e.pg != &graph) {
      throw errors::GraphError("cell(" + name +
                               "): a result of its function is an expression from outside; want "
                               "results of the call\n  " +
                               e.pg->state().graph.describe(nodes.back()));
    }
    if (e.dim().bd != batch) {
      throw errors::UsageError("cell(" + name + "): a result has " + std::to_string(e.dim().bd) +
                               " examples beside arguments of " + std::to_string(batch) +
                               "; want results that depend on arguments with the batch\n  " +
                               graph.state().graph.describe(nodes.back()));
    }
  }
  return nodes;
}

/// UsageError, unless all nodes are on the device of the arguments.
void check_devices(const std::string& name, const graph::Graph& graph) {
  for (graph::NodeId n = 1; n < graph.size(); ++n) {
    if (&graph[n].device() != &graph[0].device()) {
      throw errors::UsageError("cell(" + name + "): nodes on devices " + graph[0].device().name +
                               " and " + graph[n].device().name +
                               "; want one device, that of the arguments\n  " + graph.describe(n));
    }
  }
}

std::vector<Expression> results_of(const std::string& name, const CellPrograms::Function& function,
                                   const std::vector<Expression>& placeholders) {
  try {
    return function(placeholders);
  } catch (const errors::GraphError& e) {
    throw errors::GraphError(std::string(e.what()) + "\n  in cell " + name +
                             ", whose function may use its arguments and parameters; want other "
                             "expressions passed as arguments");
  }
}

}  // namespace

void CellPrograms::record(const std::vector<Expression>& args, ComputationGraph& graph,
                          const Function& function) {
  check(args);
  auto recorded = std::make_unique<Recorded>();
  recorded->kinds = kinds_of(args);
  recorded->is_evaluating = Evaluating::is_on();
  std::vector<Expression> placeholders;
  std::vector<bool> weights;
  unsigned batch = 1;
  for (unsigned a = 0; a < args.size(); ++a) {
    const Placeholder op{args[a].dim(), a};
    placeholders.push_back(ext::add_node(ext::kRecord<Placeholder>, &op, &graph, {}, {}, {},
                                         recorded->kinds[a].device));
    weights.push_back(recorded->kinds[a].is_weight);
    batch = std::max(batch, op.dim.bd);
  }
  const Recording recording(name_);
  const std::vector<Expression> results = results_of(name_, function, placeholders);
  const graph::Graph& nodes = graph.state().graph;
  const std::vector<graph::NodeId> result_ids = result_nodes(name_, graph, results, batch);
  check_devices(name_, nodes);
  api::CellContent content = api::CellReader(name_, nodes, weights).read(result_ids);
  std::vector<bool> is_input(args.size());
  for (const unsigned i : inputs_) {
    if (i < is_input.size()) {
      is_input[i] = true;
    }
  }
  api::SplitContent parts = api::split(content.program, is_input);
  if (parts.rest_args.empty()) {
    throw errors::UsageError("cell(" + name_ + "): its results depend on no argument");
  }
  const auto program = [](ops::ProgramContent part) {
    const auto gradient = gradient_of(part);
    return ops::intern_program(std::move(part), gradient);
  };
  recorded->parameters = std::move(content.parameters);
  if (parts.first.has_value()) {
    recorded->first = {program(std::move(*parts.first)), std::move(parts.first_args)};
  }
  const bool has_first = parts.first.has_value();
  recorded->rest = {program(std::move(parts.rest)), std::move(parts.rest_args)};
  recorded->is_plain =
      recorded->rest.program == nullptr || (has_first && recorded->first.program == nullptr);
  recorded_.push_back(std::move(recorded));
  last_ = recorded_.back().get();
}

unsigned& CellPrograms::form() { return last_->form; }

}  // namespace dynet::detail

namespace dynet {

Cell::Cell(std::string name, Function function, std::vector<unsigned> inputs, bool is_recorded)
    : function_(std::move(function)),
      is_recorded_(is_recorded),
      programs_(std::make_unique<detail::CellPrograms>(std::move(name), std::move(inputs))) {}

std::vector<Expression> Cell::operator()(const std::vector<Expression>& args, Where where) {
  using Outcome = detail::CellPrograms::Outcome;
  if (!is_recorded_ && !args.empty() && args[0].pg != nullptr) {
    return function_(*args[0].pg, args);
  }
  std::vector<Expression> results;
  Outcome outcome = programs_->call(args, where, results);
  if (outcome == Outcome::kNew) {
    ComputationGraph graph;
    programs_->record(args, graph, [&](const std::vector<Expression>& placeholders) {
      return function_(graph, placeholders);
    });
    outcome = programs_->call(args, where, results);
  }
  return outcome == Outcome::kPlain ? function_(*args[0].pg, args) : results;
}

}  // namespace dynet
