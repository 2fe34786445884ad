// One row per recurrent builder and per builder of trees: forward and backward of two layers of
// 128, in multiply-adds per second of the processor, beside VanillaLSTMBuilder, which it should
// equal. Rounds of all builders alternate, so that a machine that becomes slower does so for all of
// them.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dynet/deep-lstm.h"
#include "dynet/expr.h"
#include "dynet/fast-lstm.h"
#include "dynet/gru.h"
#include "dynet/lstm.h"
#include "dynet/treelstm.h"

#include "report.h"

namespace dynet::bench {

namespace {

constexpr unsigned kSize = 128;
constexpr unsigned kLayers = 2;
constexpr unsigned kSteps = 20;
constexpr unsigned kVocabulary = 1000;

/// Sequences that are read in one graph.
struct Load {
  const char* name;
  unsigned batch;      ///< true batch of each sequence
  unsigned sequences;  ///< of different lengths, kSteps the longest

  [[nodiscard]] unsigned length(unsigned sequence) const { return kSteps - sequence % 8; }
  [[nodiscard]] double steps() const {
    double sum = 0;
    for (unsigned s = 0; s < sequences; ++s) {
      sum += length(s) * batch;
    }
    return sum;
  }
};
constexpr Load kLoads[] = {{"one sequence", 1, 1}, {"batch of 16", 16, 1}, {"16 merged", 1, 16}};

/// A builder with its sequences.
struct Case {
  std::string name;
  std::function<void()> train;
  double flops = 0;    ///< of a call of `train`
  double steps = 0;    ///< or nodes of trees, in a call
  double seconds = 0;  ///< of the fastest call
};

/// Elements of the matrices that a step multiplies with.
double weights_of(const LayeredRNNBuilder& builder) {
  double sum = 0;
  for (const auto& layer : builder.params) {
    for (const Parameter& p : layer) {
      const Dim dim = p.dim();
      sum += p.is_updated() && dim.nd == 2 && dim.cols() > 1 ? dim.size() : 0;
    }
  }
  return sum;
}

template <class Builder>
class Training {
 public:
  explicit Training(const Load& load)
      : load_(load),
        builder_(kLayers, kSize, kSize, parameters_),
        words_(parameters_.add_lookup_parameters(kVocabulary, {kSize})),
        indices_(load.batch) {}

  void train() {
    ComputationGraph cg(true);
    builder_.new_graph(cg);
    losses_.clear();
    for (unsigned s = 0; s < load_.sequences; ++s) {
      builder_.start_new_sequence();
      for (unsigned t = 0; t < load_.length(s); ++t) {
        for (unsigned i = 0; i < load_.batch; ++i) {
          indices_[i] = (t * 37 + s * 13 + i * 11) % kVocabulary;
        }
        losses_.push_back(squared_norm(builder_.add_input(lookup(cg, words_, indices_))));
      }
    }
    const Expression loss = sum_batches(sum(losses_));
    cg.forward(loss);
    cg.backward(loss);
    parameters_.reset_gradient();
  }
  /// A product forward and two backward.
  [[nodiscard]] double flops() const { return 3 * 2 * weights_of(builder_) * load_.steps(); }

 private:
  Load load_;
  ParameterCollection parameters_;
  Builder builder_;
  LookupParameter words_;
  std::vector<unsigned> indices_;
  std::vector<Expression> losses_;
};

template <class Builder>
Case make_case(const char* name, const Load& load) {
  auto training = std::make_shared<Training<Builder>>(load);
  const double flops = training->flops();
  return {name, [training] { training->train(); }, flops, load.steps() / load.batch, 0};
}

/// Time that this process has had of the processor: what else the machine does counts less.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double seconds_of_calls(const Case& c, int calls) {
  const double start = cpu_seconds();
  for (int i = 0; i < calls; ++i) {
    c.train();
  }
  return (cpu_seconds() - start) / calls;
}

void time_cases(std::vector<Case>& cases, double seconds, int rounds) {
  std::vector<int> calls;
  for (Case& c : cases) {
    seconds_of_calls(c, 2);  // memory grows
    c.seconds = seconds_of_calls(c, 2);
    calls.push_back(std::max(1, static_cast<int>(seconds / c.seconds)));
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < cases.size(); ++k) {
      cases[k].seconds = std::min(cases[k].seconds, seconds_of_calls(cases[k], calls[k]));
    }
  }
}

// ---- trees
// ----------------------------------------------------------------------------------------

/// Binary trees over random orders of joins, whose inner nodes have a word too.
class Trees {
 public:
  static constexpr unsigned kCount = 16;

  Trees() {
    unsigned drawn = 1;
    for (unsigned tree = 0; tree < kCount; ++tree) {
      std::vector<int> open;
      std::vector<std::vector<int>> nodes(kSteps / 2 + tree % 8);  // leaves
      open.reserve(nodes.size());
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        open.push_back(static_cast<int>(i));
      }
      while (open.size() > 1) {
        drawn = drawn * 1103515245U + 12345U;
        const auto at = static_cast<std::ptrdiff_t>((drawn >> 16U) % (open.size() - 1));
        nodes.push_back(
            {open[static_cast<std::size_t>(at)], open[static_cast<std::size_t>(at) + 1]});
        open[static_cast<std::size_t>(at)] = static_cast<int>(nodes.size()) - 1;
        open.erase(open.begin() + at + 1);
      }
      leaves_ += static_cast<double>(nodes.size() + 1) / 2;
      children_.push_back(std::move(nodes));
    }
  }
  [[nodiscard]] const std::vector<std::vector<std::vector<int>>>& children() const {
    return children_;
  }
  [[nodiscard]] double leaves() const { return leaves_; }
  [[nodiscard]] double joins() const { return leaves_ - kCount; }

 private:
  std::vector<std::vector<std::vector<int>>> children_;  ///< [tree][node]
  double leaves_ = 0;
};

/// Products with a {kSize,kSize} matrix that one layer of a leaf and of a node over two has.
struct Products {
  double leaf;
  double join;
};

template <class Builder>
class TreeTraining {
 public:
  template <class... Places>
  explicit TreeTraining(const Trees& trees, Places... places)
      : trees_(trees),
        builder_(places..., kLayers, kSize, kSize, parameters_),
        words_(parameters_.add_lookup_parameters(kVocabulary, {kSize})) {}

  void train() {
    ComputationGraph cg(true);
    builder_.new_graph(cg);
    losses_.clear();
    unsigned word = 0;
    for (const auto& nodes : trees_.children()) {
      builder_.start_new_sequence();
      for (std::size_t id = 0; id < nodes.size(); ++id) {
        const Expression x = lookup(cg, words_, (word += 37) % kVocabulary);
        losses_.push_back(squared_norm(builder_.add_input(static_cast<int>(id), nodes[id], x)));
      }
    }
    const Expression loss = sum(losses_);
    cg.forward(loss);
    cg.backward(loss);
    parameters_.reset_gradient();
  }

 private:
  const Trees& trees_;
  ParameterCollection parameters_;
  Builder builder_;
  LookupParameter words_;
  std::vector<Expression> losses_;
};

template <class Builder, class... Places>
Case make_tree_case(const char* name, const Trees& trees, Products products, Places... places) {
  auto training = std::make_shared<TreeTraining<Builder>>(trees, places...);
  const double count = products.leaf * trees.leaves() + products.join * trees.joins();
  const double flops = 3 * 2 * kLayers * kSize * kSize * count;
  return {name, [training] { training->train(); }, flops, trees.leaves() + trees.joins(), 0};
}

// ---- the table
// ------------------------------------------------------------------------------------

/// A row for each case; the first one is what the others are held against.
void add_rows(Report& report, const std::string& group, const std::vector<Case>& cases) {
  const double vanilla = cases[0].flops / cases[0].seconds;
  for (const Case& c : cases) {
    const double rate = c.flops / c.seconds;
    char note[96];
    std::snprintf(note, sizeof note, "%.2f of VanillaLSTMBuilder; %.2f us per step and layer",
                  rate / vanilla, c.seconds * 1e6 / (c.steps * kLayers));
    report.add({"builders, forward and backward, " + group, c.name, rate * 1e-9, "GF/s",
                &c == cases.data() ? Want::kNothing : Want::kAtLeast, 0.95 * vanilla * 1e-9, note});
  }
}

void time_for(std::vector<Case>& cases, const Settings& settings) {
  time_cases(cases, settings.is_quick ? 0.001 : settings.seconds / 5, settings.is_quick ? 1 : 9);
}

void measure_trees(Report& report, const Settings& settings) {
  const Trees trees;
  constexpr Load kMerged = kLoads[2];
  std::vector<Case> cases{
      make_case<VanillaLSTMBuilder>("VanillaLSTMBuilder, sequences", kMerged),
      make_tree_case<NaryTreeLSTMBuilder>("NaryTreeLSTMBuilder", trees, {3, 22}, 2U),
      make_tree_case<ChildSumTreeLSTMBuilder>("ChildSumTreeLSTMBuilder", trees, {3, 9}),
      make_tree_case<TreeGRUBuilder>("TreeGRUBuilder", trees, {2, 7}),
      make_tree_case<UnidirectionalTreeLSTMBuilder>("UnidirectionalTreeLSTMBuilder", trees,
                                                    {4, 20}),
      make_tree_case<BidirectionalTreeLSTMBuilder>("BidirectionalTreeLSTMBuilder", trees, {3, 13})};
  time_for(cases, settings);
  add_rows(report, "16 trees merged", cases);
}

}  // namespace

void measure_builders(Report& report, const Settings& settings) {
  for (const Load& load : kLoads) {
    std::vector<Case> cases{make_case<VanillaLSTMBuilder>("VanillaLSTMBuilder", load),
                            make_case<CompactVanillaLSTMBuilder>("CompactVanillaLSTMBuilder", load),
                            make_case<SparseLSTMBuilder>("SparseLSTMBuilder", load),
                            make_case<CoupledLSTMBuilder>("CoupledLSTMBuilder", load),
                            make_case<FastLSTMBuilder>("FastLSTMBuilder", load),
                            make_case<DeepLSTMBuilder>("DeepLSTMBuilder", load),
                            make_case<GRUBuilder>("GRUBuilder", load),
                            make_case<SimpleRNNBuilder>("SimpleRNNBuilder", load)};
    time_for(cases, settings);
    add_rows(report, load.name, cases);
  }
  measure_trees(report, settings);
}

}  // namespace dynet::bench
