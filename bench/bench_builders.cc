// One row per recurrent builder and per builder of trees: forward and backward of two layers of
// 128, in multiply-adds per second of the processor, beside VanillaLSTMBuilder, which each row
// should equal. Costs of a node beside its multiply-adds weigh more in a step with few of them. So
// a note says the share of VanillaLSTMBuilder three times: with the same hidden size, with the size
// at which a step has about equally many multiply-adds, and with both sizes doubled. Rounds of all
// builders alternate, so that a machine that becomes slower does so for all.

#include <algorithm>
#include <cmath>
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
#include "dynet/tree-builders.h"
#include "dynet/treelstm.h"

#include "report.h"

namespace dynet::bench {

namespace {

constexpr unsigned kSize = 128;
constexpr unsigned kLarge = 256;
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
  unsigned size;  ///< of the input and of the state
  std::function<void()> train;
  double flops = 0;    ///< of a call of `train`
  double steps = 0;    ///< steps, or nodes of trees, of a call
  double seconds = 0;  ///< of the fastest call

  [[nodiscard]] double rate() const { return flops / seconds; }
};

/// The size at which a step has about equally many multiply-adds as a step of VanillaLSTMBuilder of
/// kSize; a layer has `products` products with a matrix {size,size}. A multiple of 16, like kSize:
/// whole vectors of any processor.
unsigned equal_size(double products) {
  constexpr double kOfVanilla = 8;
  const double size = kSize * std::sqrt(kOfVanilla / products);
  return static_cast<unsigned>(std::lround(size / 16)) * 16;
}

/// Elements of the matrices that a step multiplies.
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
  Training(const Load& load, unsigned size)
      : load_(load),
        builder_(kLayers, size, size, parameters_),
        words_(parameters_.add_lookup_parameters(kVocabulary, {size})),
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
  /// One product forward and two backward.
  [[nodiscard]] double flops() const { return 3 * 2 * weights_of(builder_) * load_.steps(); }
  [[nodiscard]] double weights() const { return weights_of(builder_); }

 private:
  Load load_;
  ParameterCollection parameters_;
  Builder builder_;
  LookupParameter words_;
  std::vector<unsigned> indices_;
  std::vector<Expression> losses_;
};

/// Cases of a builder: kSize, the size with equally many multiply-adds, and kLarge.
constexpr std::size_t kCases = 3;
template <class Builder>
void add_cases(const char* name, const Load& load, std::vector<Case>& to) {
  const auto add = [&](unsigned size) {
    auto training = std::make_shared<Training<Builder>>(load, size);
    const double flops = training->flops();
    to.push_back({name, size, [training] { training->train(); }, flops, load.steps() / load.batch});
    return training->weights();
  };
  const double products = add(kSize) / (kLayers * kSize * kSize);
  add(equal_size(products));
  add(kLarge);
}

/// Processor time of this process, because other programs on the machine disturb it less.
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
    seconds_of_calls(c, 2);  // a first call, as memory grows
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

/// Binary trees over random orders of joins. Inner nodes have a word too.
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

/// Products with a {size,size} matrix, in one layer, of a leaf and of a node over two.
struct Products {
  double leaf;
  double join;
  double cells_of_leaf = 1;  ///< steps of an LSTM, if nodes are read as sequences
  double cells_of_join = 1;
};

template <class Builder>
class TreeTraining {
 public:
  template <class... Places>
  explicit TreeTraining(const Trees& trees, unsigned size, Places... places)
      : trees_(trees),
        builder_(places..., kLayers, size, size, parameters_),
        words_(parameters_.add_lookup_parameters(kVocabulary, {size})) {}

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
void add_tree_cases(const char* name, const Trees& trees, Products products, std::vector<Case>& to,
                    Places... places) {
  const double count = products.leaf * trees.leaves() + products.join * trees.joins();
  const double nodes = trees.leaves() + trees.joins();
  const double cells =
      products.cells_of_leaf * trees.leaves() + products.cells_of_join * trees.joins();
  for (const unsigned size : {kSize, equal_size(count / cells), kLarge}) {
    auto training = std::make_shared<TreeTraining<Builder>>(trees, size, places...);
    const double flops = 3 * 2 * kLayers * count * size * size;
    to.push_back({name, size, [training] { training->train(); }, flops, nodes});
  }
}

// ---- the table

/// A row for each builder. The first row is the measure of the others.
void add_rows(Report& report, const std::string& group, const std::vector<Case>& cases) {
  const double vanilla = cases[0].rate();
  for (std::size_t k = 0; k < cases.size(); k += kCases) {
    const Case& same = cases[k];
    const Case& equal = cases[k + 1];
    const Case& large = cases[k + 2];
    char note[200];
    std::snprintf(note, sizeof note,
                  "of VanillaLSTMBuilder %.2f at size %u, %.2f at %u, with as many multiply-adds, "
                  "%.2f where both have %u; %.2f us per step and layer",
                  same.rate() / vanilla, same.size, equal.rate() / vanilla, equal.size,
                  large.rate() / cases[2].rate(), large.size,
                  same.seconds * 1e6 / (same.steps * kLayers));
    report.add({"builders, forward and backward, " + group, same.name, same.rate() * 1e-9, "GF/s",
                k == 0 ? Want::kNothing : Want::kAtLeast, 0.95 * vanilla * 1e-9, note});
  }
}

void time_for(std::vector<Case>& cases, const Settings& settings) {
  time_cases(cases, settings.is_quick ? 0.001 : settings.seconds / 5, settings.is_quick ? 1 : 9);
}

void measure_trees(Report& report, const Settings& settings) {
  const Trees trees;
  constexpr Load kMerged = kLoads[2];
  std::vector<Case> cases;
  add_cases<VanillaLSTMBuilder>("VanillaLSTMBuilder, sequences", kMerged, cases);
  add_tree_cases<NaryTreeLSTMBuilder>("NaryTreeLSTMBuilder", trees, {3, 22}, cases, 2U);
  add_tree_cases<ChildSumTreeLSTMBuilder>("ChildSumTreeLSTMBuilder", trees, {3, 9}, cases);
  add_tree_cases<TreeGRUBuilder>("TreeGRUBuilder", trees, {2, 7}, cases);
  add_tree_cases<UnidirectionalTreeLSTMBuilder>("UnidirectionalTreeLSTMBuilder", trees,
                                                {4, 20, 1, 3}, cases);
  add_tree_cases<BidirectionalTreeLSTMBuilder>("BidirectionalTreeLSTMBuilder", trees, {3, 13, 2, 6},
                                               cases);
  time_for(cases, settings);
  add_rows(report, "16 trees merged", cases);
}

/// The gated recurrent unit of PyTorch.
struct ResetAfterGru : public GRUBuilder {
  ResetAfterGru(unsigned count, unsigned in, unsigned hidden, ParameterCollection& model)
      : GRUBuilder(count, in, hidden, model, true) {}
};

}  // namespace

void measure_builders(Report& report, const Settings& settings) {
  for (const Load& load : kLoads) {
    std::vector<Case> cases;
    add_cases<VanillaLSTMBuilder>("VanillaLSTMBuilder", load, cases);
    add_cases<CompactVanillaLSTMBuilder>("CompactVanillaLSTMBuilder", load, cases);
    add_cases<SparseLSTMBuilder>("SparseLSTMBuilder", load, cases);
    add_cases<CoupledLSTMBuilder>("CoupledLSTMBuilder", load, cases);
    add_cases<FastLSTMBuilder>("FastLSTMBuilder", load, cases);
    add_cases<DeepLSTMBuilder>("DeepLSTMBuilder", load, cases);
    add_cases<GRUBuilder>("GRUBuilder", load, cases);
    add_cases<ResetAfterGru>("GRUBuilder, reset after", load, cases);
    add_cases<SimpleRNNBuilder>("SimpleRNNBuilder", load, cases);
    time_for(cases, settings);
    add_rows(report, load.name, cases);
  }
  measure_trees(report, settings);
}

}  // namespace dynet::bench
