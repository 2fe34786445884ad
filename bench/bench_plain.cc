// Programs as people write them, from plain operations: examples a second, with batching on and
// off, beside the same program with cells and with builders; in brackets the rate divided by
// theirs. A row passes over kPass examples, the same ones for every number of examples in a graph.
// Training is forward, backward and forgetting the gradients: an update would be the same work for
// all. Rounds of the three programs of a row alternate, so that a machine that becomes slower does
// so for all; processor time counts.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "dynet/expr.h"

#include "api/graph_state.h"
#include "network_parts.h"
#include "networks.h"
#include "report.h"
#include "schedule/policy.h"
#include "scheduled.h"

namespace dynet::bench {
namespace {

constexpr unsigned kPlainSize = 64;
constexpr unsigned kPass = 64;

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// One way to run the examples of a network.
class PlainRun {
 public:
  PlainRun(const NetworkKind& kind, unsigned examples, bool trains, bool batching, Style style)
      : kind_(kind),
        examples_(examples),
        trains_(trains),
        batching_(batching),
        world_(kPlainSize, style) {}

  /// Keeps the time of the fastest pass.
  void time_pass() {
    const double start = processor_seconds();
    pass();
    best_ = std::min(best_, processor_seconds() - start);
  }
  void pass() {
    world_.rewind();
    for (unsigned begin = 0; begin < kPass; begin += examples_) {
      ComputationGraph cg(batching_);
      world_.begin(cg);
      const Expression loss = add_examples(kind_, world_, examples_);
      cg.forward(loss);
      if (trains_) {
        cg.backward(loss);
        world_.parameters.reset_gradient();
      }
    }
  }
  [[nodiscard]] double rate() const { return kPass / best_; }

  /// Groups of the first graph as a multiple of the lower bound.
  [[nodiscard]] double groups_to_bound() {
    world_.rewind();
    ComputationGraph cg(true);
    world_.begin(cg);
    add_examples(kind_, world_, examples_);
    const graph::Graph& nodes = cg.state().graph;
    schedule::Scheduler scheduler;
    schedule::Plan plan;
    scheduler.plan(nodes, scheduled_nodes(nodes), plan);
    return static_cast<double>(plan.groups.size()) / plan.bound;
  }

 private:
  const NetworkKind& kind_;
  unsigned examples_;
  bool trains_, batching_;
  World world_;
  double best_ = std::numeric_limits<double>::infinity();
};

void time_all(const std::vector<PlainRun*>& runs, const Settings& settings) {
  for (PlainRun* run : runs) {
    run->pass();  // a first pass, as memory grows
  }
  const double end = processor_seconds() + settings.seconds * static_cast<double>(runs.size());
  const int most = settings.is_quick ? 2 : 20;
  for (int round = 0; round < most && (round < 2 || processor_seconds() < end); ++round) {
    for (PlainRun* run : runs) {
      run->time_pass();
    }
  }
}

void add_plain_row(Report& report, const Settings& settings, const NetworkKind& kind,
                   unsigned examples, bool trains) {
  PlainRun merged(kind, examples, trains, true, Style::kNodes);
  PlainRun off(kind, examples, trains, false, Style::kNodes);
  std::vector<PlainRun*> runs{&merged, &off};
  std::optional<PlainRun> cells;
  std::optional<PlainRun> built;
  if (kind.has_cells) {
    runs.push_back(&cells.emplace(kind, examples, trains, true, Style::kCells));
  }
  if (kind.has_builders) {
    runs.push_back(&built.emplace(kind, examples, trains, true, Style::kBuilders));
  }
  time_all(runs, settings);
  char text[96];
  std::snprintf(text, sizeof text, "batching off %.0f (%.2f); groups / bound %.2f", off.rate(),
                merged.rate() / off.rate(), merged.groups_to_bound());
  std::string note = text;
  if (cells) {
    std::snprintf(text, sizeof text, "; cells %.0f (%.2f)", cells->rate(),
                  merged.rate() / cells->rate());
    note += text;
  }
  if (built) {
    std::snprintf(text, sizeof text, "; builders %.0f (%.2f)", built->rate(),
                  merged.rate() / built->rate());
    note += text;
  }
  char name[96];
  std::snprintf(name, sizeof name, "%s n%u %s", kind.name, examples,
                trains ? "training" : "inference");
  report.add({"programs in plain operations, vectors of 64", name, merged.rate(), "examples/s",
              Want::kNothing, 0, note});
}

}  // namespace

void measure_plain(Report& report, const Settings& settings) {
  for (const NetworkKind& kind : network_kinds()) {
    for (const unsigned examples : {1U, 16U, 64U}) {
      add_plain_row(report, settings, kind, examples, true);
      add_plain_row(report, settings, kind, examples, false);
    }
  }
}

}  // namespace dynet::bench
