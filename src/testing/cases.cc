#include "testing/cases.h"

#include <functional>

namespace dynet::testing {

namespace {

/// The use of the arguments of each copy in one case.
struct Plan {
  std::string name;
  int copies = 1;
  unsigned batch = 1;                        ///< examples of the batched arguments
  std::function<bool(std::size_t)> batched;  ///< is argument i?
  std::function<bool(std::size_t)> shared;   ///< one node for all copies?
  bool parameters = false;                   ///< unbatched arguments are parameters
  bool only_shared = false;                  ///< and of these only the shared ones
  bool parameter_nodes = false;              ///< shared ones: a parameter(W) node for each copy
  bool one_node = false;                     ///< one node for all arguments of equal shape
  bool payload_each = false;                 ///< one index or value for each example
};

bool never(std::size_t) { return false; }
bool always(std::size_t) { return true; }

ext::Role role_of(const Sample& s, std::size_t arg) { return s.record->role(arg); }

std::vector<Plan> plans_of(const Sample& s) {
  const std::size_t n = s.inputs.size();
  const auto weight = [&s](std::size_t i) { return role_of(s, i) == ext::Role::kShared; };
  const auto no_weight = [&s](std::size_t i) { return role_of(s, i) != ext::Role::kShared; };
  std::vector<Plan> plans;
  const auto add = [&](const char* name, int copies, unsigned batch, auto batched,
                       auto shared) -> Plan& {
    Plan p;
    p.name = name;
    p.copies = copies;
    p.batch = batch;
    p.batched = batched;
    p.shared = shared;
    plans.push_back(p);
    return plans.back();
  };
  add("unbatched", 1, 1, never, never);
  add("three copies", 3, 1, never, never);
  if (n == 0) {
    return plans;
  }
  add("parameters", 1, 1, never, never).parameters = true;
  add("batched", 1, 3, always, never);
  add("batched, weights not", 1, 3, no_weight, never).parameters = true;
  if (s.record->payload != ext::Payload::kNone) {
    add("batched, payload for each", 1, 3, always, never).payload_each = true;
    add("payload for each of an unbatched argument", 1, 3, never, never).payload_each = true;
    add("three copies batched, payload for each", 3, 2, no_weight, weight).payload_each = true;
  }
  add("three copies batched", 3, 2, always, never);
  Plan& weights = add("three copies, weights shared", 3, 1, never, weight);
  weights.parameters = true;
  weights.only_shared = true;
  add("three copies batched, weights shared", 3, 2, no_weight, weight).parameters = true;
  Plan& nodes = add("three copies, a parameter node each", 3, 1, never, weight);
  nodes.parameters = true;
  nodes.parameter_nodes = true;
  add("three copies of one node", 3, 1, never, always);
  for (std::size_t i = 0; i < n && n > 1; ++i) {
    if (ext::is_absent(s.inputs[i])) {
      continue;
    }
    const auto is_i = [i](std::size_t a) { return a == i; };
    const auto not_i = [i](std::size_t a) { return a != i; };
    const std::string number = std::to_string(i);
    add(("only argument " + number + " batched").c_str(), 1, 3, is_i, never);
    add(("argument " + number + " not batched").c_str(), 1, 3, not_i, never);
    add(("three copies share argument " + number).c_str(), 3, 1, never, is_i).parameters = true;
    add(("three copies batched share argument " + number).c_str(), 3, 2, not_i, is_i);
    add(("three copies batched share the batched argument " + number).c_str(), 3, 2, always, is_i);
  }
  add("one node for all arguments", 1, 1, never, never).one_node = true;
  add("one node for all arguments, batched", 1, 3, always, never).one_node = true;
  return plans;
}

/// Makes the operand steps, and remembers operands shared by copies or arguments.
class Operands {
 public:
  Operands(Program& program, const Sample& sample, const Plan& plan, Draw& draw)
      : program_(program),
        sample_(sample),
        plan_(plan),
        draw_(draw),
        kept_(sample.inputs.size(), -1) {}

  int get(std::size_t arg) {
    const bool shared = plan_.shared(arg);
    if (shared && kept_[arg] >= 0) {
      if (!plan_.parameter_nodes) {
        return kept_[arg];
      }
      return program_.add_leaf(LeafKind::kParameter,
                               program_.steps[static_cast<std::size_t>(kept_[arg])].source);
    }
    Dim dim = sample_.inputs[arg];
    if (plan_.batched(arg)) {
      dim.bd = plan_.batch;
    }
    std::vector<float> data = draw_(dim.elements(), sample_.low, sample_.high);
    const bool parameter = plan_.parameters && dim.bd == 1 && (shared || !plan_.only_shared);
    const int source =
        program_.add_source(parameter ? Source::kParameter : Source::kData, dim, std::move(data));
    const int step = program_.add_leaf(parameter ? LeafKind::kParameter : LeafKind::kInput, source);
    if (shared) {
      kept_[arg] = step;
    }
    return step;
  }

 private:
  Program& program_;
  const Sample& sample_;
  const Plan& plan_;
  Draw& draw_;
  std::vector<int> kept_;
};

void draw_payload(Step& step, const Sample& sample, const std::vector<Dim>& dims, unsigned batch,
                  std::uint32_t count, Draw& draw) {
  if (sample.record->payload == ext::Payload::kIndices && !sample.indices.empty()) {
    unsigned most = 0;
    for (const unsigned v : sample.indices) {
      most = std::max(most, v + 1);
    }
    const unsigned limit = index_limit(sample, step.op, dims, batch, most);
    step.indices.clear();
    for (std::uint32_t i = 0; i < count; ++i) {
      step.indices.push_back(draw.random.below(limit));
    }
  }
  if (sample.record->payload == ext::Payload::kValues && !sample.values.empty()) {
    step.values = draw(count, 0.5, 2.0);
  }
}

Case make_case(const Sample& sample, const Plan& plan, Draw& draw) {
  Case c;
  c.name = plan.name;
  c.copies = plan.copies;
  Program& program = c.program;
  Operands operands(program, sample, plan, draw);
  for (int copy = 0; copy < plan.copies; ++copy) {
    std::vector<Ref> args;
    std::vector<Dim> dims;
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      if (ext::is_absent(sample.inputs[i])) {
        args.push_back(kNoRef);
        dims.push_back(ext::absent());
        continue;
      }
      if (plan.one_node && i > 0 && sample.inputs[i] == sample.inputs[0]) {
        args.push_back(args[0]);
      } else {
        args.push_back({operands.get(i), 0});
      }
      const Step& leaf = program.steps[static_cast<std::size_t>(args.back().step)];
      dims.push_back(program.sources[static_cast<std::size_t>(leaf.source)].dim);
    }
    const int step = program.add_step(sample, args);
    const std::uint32_t count = sample.payload_count() * (plan.payload_each ? plan.batch : 1);
    draw_payload(program.steps[static_cast<std::size_t>(step)], sample, dims, plan.batch, count,
                 draw);
  }
  return c;
}

}  // namespace

unsigned index_limit(const Sample& sample, const OpBytes& op, const std::vector<Dim>& args,
                     unsigned batch, unsigned fallback) {
  if (sample.record->index_limit == nullptr) {
    return fallback;
  }
  std::vector<Dim> dims = args;
  if (!sample.record->has_whole) {
    for (Dim& d : dims) {
      d.bd = std::min(d.bd, 1U);  // 0: it is absent
    }
  }
  const ext::Shapes shapes(*sample.record->info, dims, batch, sample.payload_count());
  return sample.record->index_limit(op.get(), shapes);
}

void add_terms(Program& program, Draw& draw) {
  LiveProgram live(program, double_device(), false);
  program.terms.clear();
  for (int i = 0; i < static_cast<int>(program.steps.size()); ++i) {
    live.build(i);
    const Step& step = program.steps[static_cast<std::size_t>(i)];
    for (unsigned o = 0; step.sample != nullptr && o < step.sample->record->outputs; ++o) {
      const Dim& dim = live.expression({i, o}).dim();
      program.terms.push_back({{i, o}, draw(dim.elements(), -1.0, 1.0)});
    }
  }
}

Case copies_sharing(const Sample& sample, const std::set<std::size_t>& shared) {
  Plan plan;
  plan.name = "three copies";
  plan.copies = 3;
  plan.batched = never;
  plan.shared = [&shared](std::size_t a) { return shared.contains(a); };
  plan.parameters = true;
  plan.only_shared = true;
  Draw draw(31);
  Case c = make_case(sample, plan, draw);
  add_terms(c.program, draw);
  return c;
}

std::vector<Case> cases_of(const Sample& sample, std::vector<std::string>* refused) {
  std::vector<Case> cases;
  std::uint64_t seed = 17 + static_cast<std::uint64_t>(sample.example);
  for (const char ch : sample.record->info->name) {
    seed = seed * 31 + static_cast<unsigned char>(ch);
  }
  for (const Plan& plan : plans_of(sample)) {
    Draw draw(seed++);
    Case c = make_case(sample, plan, draw);
    try {
      add_terms(c.program, draw);
    } catch (const std::invalid_argument& e) {
      if (plan.name == "unbatched" || plan.name == "three copies") {
        throw;
      }
      if (refused != nullptr) {
        refused->push_back(plan.name + ": " + e.what());
      }
      continue;
    }
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace dynet::testing
