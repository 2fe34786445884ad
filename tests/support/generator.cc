#include "support/generator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "support/observe.h"
#include "support/samples.h"
#include "testing/cases.h"

namespace dynet::testing {

namespace {

/// A number among the attributes of a step, by its name.
double attribute_of(const Step& step, const std::string& name) {
  const std::string text = ", " + step.sample->record->attrs_text(step.op.get());
  const std::string key = ", " + name + "=";
  return std::stod(text.substr(text.find(key) + key.size()));
}
/// a_i - b_k + shift of all pairs, or of pairs with i = k.
std::vector<double> differences(const std::vector<double>& a, const std::vector<double>& b,
                                double shift, bool all_pairs) {
  std::vector<double> all;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = all_pairs ? 0 : i; k < (all_pairs ? b.size() : std::min(i + 1, b.size()));
         ++k) {
      if (!all_pairs || i != k) {
        all.push_back(a[i] - b[k] + shift);
      }
    }
  }
  return all;
}
/// How far numbers are from the nearest whole ones.
std::vector<double> from_whole(std::vector<double> numbers) {
  for (double& v : numbers) {
    v -= std::round(v);
  }
  return numbers;
}
/// The lead of the best sequence of crf_viterbi over the next one, for each example, from all
/// sequences.
template <class Values>
std::vector<double> leads_of_best(const Step& step, const Values& values) {
  const auto of = [&](std::size_t i) {
    return i < step.args.size() && step.args[i].step >= 0 ? values(i) : std::vector<double>();
  };
  const std::vector<double> given[] = {of(0), of(1), of(2), of(3), of(4)};
  const std::size_t tags = step.sample->inputs[0].rows();
  const std::size_t steps = step.sample->inputs[0].cols();
  const std::size_t sizes[] = {tags * steps, tags * tags, tags, tags, 1};
  std::size_t examples = 1;
  for (std::size_t i = 0; i < 5; ++i) {
    examples = std::max(examples, given[i].size() / sizes[i]);
  }
  std::vector<double> leads;
  for (std::size_t e = 0; e < examples; ++e) {
    const auto at = [&](std::size_t i, std::size_t k) {
      const std::size_t n = given[i].size();
      return n == 0 ? 0.0 : given[i][(n == sizes[i] ? 0 : e * sizes[i]) + k];
    };
    const auto most = static_cast<double>(steps);
    const auto length =
        static_cast<std::size_t>(given[4].empty() ? most : std::clamp(at(4, 0), 1.0, most));
    double best = -std::numeric_limits<double>::infinity();
    double next = best;
    std::vector<std::size_t> path(length);
    for (bool is_last = false; !is_last;) {
      double score = at(2, path.front()) + at(3, path.back()) + at(0, path[0]);
      for (std::size_t k = 1; k < length; ++k) {
        score += at(1, path[k] + tags * path[k - 1]) + at(0, k * tags + path[k]);
      }
      next = std::max(next, std::min(best, score));
      best = std::max(best, score);
      is_last = true;
      for (std::size_t k = 0; k < length && is_last; ++k) {
        path[k] = (path[k] + 1) % tags;
        is_last = path[k] == 0;
      }
    }
    leads.push_back(best - next);
  }
  return leads;
}
/// Lengths of chains are rounded down.
template <class Values>
void add_lengths(const Step& step, const Values& values, std::vector<std::vector<double>>& to) {
  const ext::Info& info = *step.sample->record->info;
  if (!info.name.starts_with("crf_") && info.name != "ctc_loss") {
    return;
  }
  for (std::size_t i = 0; i < step.args.size(); ++i) {
    if (info.args[i].ends_with("lengths") && step.args[i].step >= 0) {
      to.push_back(from_whole(values(i)));
    }
  }
}
/// How far the arguments of a step are from where its value or slope jumps.
template <class Values>
std::vector<std::vector<double>> distances_to_kinks(const Step& step, const Values& values) {
  static const std::set<std::string_view> at_zero{"rectify", "elu", "selu", "abs", "where"};
  static const std::set<std::string_view> at_equal{"max", "min", "l1_distance"};
  const std::string_view name = step.sample->record->info->name;
  std::vector<std::vector<double>> all;
  if (at_zero.contains(name)) {
    all.push_back(values(0));
  } else if (at_equal.contains(name)) {
    all.push_back(differences(values(0), values(1), 0.0, false));
  } else if (name == "round" || name == "ceil" || name == "floor") {
    const double edge = name == "round" ? 0.5 : 0.0;
    all.push_back(values(0));
    for (double& v : all.back()) {
      v -= edge;
    }
    all.back() = from_whole(all.back());
  } else if (name == "clip") {
    for (const char* bound : {"lo", "hi"}) {
      all.push_back(values(0));
      for (double& v : all.back()) {
        v -= attribute_of(step, bound);
      }
    }
  } else if (name == "pairwise_rank_loss") {
    all.push_back(differences(values(1), values(0), attribute_of(step, "m"), false));
  } else if (name == "argmax" || name == "topk" || name == "kmax_pooling" ||
             name == "segment_max") {
    all.push_back(differences(values(0), values(0), 0.0, true));
  } else if (name == "hinge" || name == "hinge_dim") {
    all.push_back(differences(values(0), values(0), attribute_of(step, "m"), true));
  } else if (name == "crf_viterbi") {
    all.push_back(leads_of_best(step, values));
  }
  add_lengths(step, values, all);
  return all;
}

/// The generator's facts about a result.
struct Known {
  Ref ref;
  Dim dim;
  double low, high;
};

class Generator {
 public:
  Generator(std::uint64_t seed, const std::vector<Combination>& combinations, const Counts& counts)
      : draw_(seed),
        combinations_(combinations),
        counts_(counts),
        live_(program_, double_device(), false) {
    batch_ = 2 + random().below(2);
    batched_graph_ = random().chance(0.6);
  }

  Program make() {
    const unsigned rounds = 9 + random().below(5);
    const bool reverts = random().chance(0.3);
    if (random().chance(0.4)) {
      tree();
    }
    for (unsigned r = 0; r < rounds; ++r) {
      const bool temporary = reverts && r == rounds / 2;
      const std::size_t known_before = known_.size();
      if (temporary || random().chance(0.05)) {
        event(Event::kCheckpoint, {});
      }
      round();
      if (random().chance(0.25) && !known_.empty()) {
        event(Event::kValue, known_.back().ref);
      }
      if (temporary) {
        event(Event::kRevert, {});
        known_.resize(known_before);
      }
    }
    finish();
    return std::move(program_);
  }

 private:
  Random& random() { return draw_.random; }

  void event(Event::Kind kind, Ref ref) {
    const int last = static_cast<int>(program_.steps.size()) - 1;
    if (last < 0) {
      return;
    }
    program_.events.push_back({kind, last, ref});
    // The live graph follows: happen() runs all events of the step, so only the new one is given.
    const std::vector<Event> all = program_.events;
    program_.events = {all.back()};
    live_.happen(last);
    program_.events = all;
  }

  /// Builds the last step of the program and notes its results. If the library refuses the step,
  /// removes it and returns false.
  bool built() {
    const int index = static_cast<int>(program_.steps.size()) - 1;
    const std::size_t nodes = live_.graph().nodes.size();
    live_.make_sources();
    try {
      live_.build(index);
    } catch (const std::invalid_argument&) {
      if (live_.graph().nodes.size() != nodes) {
        throw std::logic_error("a refused node stayed in the graph");
      }
      program_.steps.pop_back();
      return false;
    }
    const Step& step = program_.steps.back();
    const unsigned outputs = step.sample == nullptr ? 1 : step.sample->record->outputs;
    for (unsigned o = 0; o < outputs; ++o) {
      const Expression& e = live_.expression({index, o});
      const std::vector<double> v = numbers(e.value());
      if (v.empty()) {
        known_.push_back({{index, o}, e.dim(), 0.0, 0.0});
        continue;
      }
      const auto [low, high] = std::minmax_element(v.begin(), v.end());
      known_.push_back({{index, o}, e.dim(), *low, *high});
    }
    return true;
  }

  /// A new leaf of one of the kinds that fit.
  Ref leaf(const Dim& dim, double low, double high) {
    const std::int64_t size = dim.elements();
    int step = -1;
    if (dim.bd != 1) {
      if (has_table(dim) && random().chance(0.2)) {
        const int table = program_.add_source(Source::kTable, dim.single_batch(),
                                              draw_(4 * size / dim.bd, low, high), 4);
        std::vector<unsigned> rows(dim.bd);
        for (unsigned& row : rows) {
          row = random().below(4);
        }
        step = program_.add_leaf(
            random().chance(0.5) ? LeafKind::kLookup : LeafKind::kLookupPointer, table, rows);
      } else {
        const int source = program_.add_source(Source::kData, dim, draw_(size, low, high));
        step = program_.add_leaf(random().chance(0.5) ? LeafKind::kInput : LeafKind::kInputPointer,
                                 source);
      }
    } else {
      step = unbatched_leaf(dim, low, high);
    }
    built();
    return {step, 0};
  }

  /// Rows are one more dimension of a table.
  static bool has_table(const Dim& row) { return row.nd < DYNET_MAX_TENSOR_DIM; }
  int unbatched_leaf(const Dim& dim, double low, double high) {
    const std::int64_t size = dim.elements();
    switch (has_table(dim) ? random().below(6) : 0) {
      case 0: {
        const int p = program_.add_source(Source::kParameter, dim, draw_(size, low, high));
        return program_.add_leaf(LeafKind::kParameter, p);
      }
      case 1: {
        const int p = program_.add_source(Source::kParameter, dim, draw_(size, low, high));
        return program_.add_leaf(LeafKind::kConstParameter, p);
      }
      case 2: {
        const int t = program_.add_source(Source::kTable, dim, draw_(3 * size, low, high), 3);
        static constexpr LeafKind kKinds[] = {LeafKind::kLookup, LeafKind::kLookupPointer,
                                              LeafKind::kConstLookup};
        return program_.add_leaf(kKinds[random().below(3)], t, {random().below(3)});
      }
      case 3:
        if (dim == Dim({1})) {
          const int s = program_.add_source(Source::kData, dim, draw_(1, low, high));
          return program_.add_leaf(
              random().chance(0.5) ? LeafKind::kScalar : LeafKind::kScalarPointer, s);
        }
        [[fallthrough]];
      default: {
        const int s = program_.add_source(Source::kData, dim, draw_(size, low, high));
        return program_.add_leaf(random().chance(0.5) ? LeafKind::kInput : LeafKind::kInputPointer,
                                 s);
      }
    }
  }

  static const Sample* find(std::string_view name) {
    for (const Sample& s : all_samples()) {
      if (s.record->info->name == name && !s.is_leaf()) {
        return &s;
      }
    }
    throw std::logic_error("no operation " + std::string(name));
  }

  /// low + (high - low) * logistic(x), kept away from the ends.
  Ref squashed(Ref x, double low, double high) {
    static const Sample* const logistic = find("logistic");
    static const Sample* const scale = find("multiply_scalar");
    static const Sample* const shift = find("add_scalar");
    if (low <= -1.0 && high >= 1.0) {
      static const Sample* const tanh = find("tanh");
      program_.add_step(*tanh, {x});
      built();
      return known_.back().ref;
    }
    program_.add_step(*logistic, {x});
    built();
    program_.add_step(*scale, {known_.back().ref});
    program_.steps.back().values = {static_cast<float>(0.9 * (high - low))};
    built();
    program_.add_step(*shift, {known_.back().ref});
    program_.steps.back().values = {static_cast<float>(low + 0.05 * (high - low))};
    built();
    return known_.back().ref;
  }

  /// A result of this shape with values in the interval: an existing one, or a squashed one, or a
  /// leaf.
  Ref operand(const Dim& dim, double low, double high, std::size_t among, bool weight) {
    if (weight && dim.bd == 1 && random().chance(0.7)) {
      const int p = program_.add_source(Source::kParameter, dim, draw_(dim.elements(), low, high));
      const int node = program_.add_leaf(LeafKind::kParameter, p);
      built();
      return {node, 0};
    }
    if (random().chance(0.7)) {
      std::vector<std::size_t> fitting;
      for (std::size_t i = 0; i < among; ++i) {
        if (known_[i].dim == dim && std::isfinite(known_[i].low) && std::isfinite(known_[i].high)) {
          fitting.push_back(i);
        }
      }
      if (!fitting.empty()) {
        // Recent ones first, so that chains grow.
        const auto n = static_cast<unsigned>(fitting.size());
        const unsigned from_end = std::min(random().below(n), random().below(n));
        const Known k = known_[fitting[n - 1 - from_end]];
        return k.low >= low && k.high <= high ? k.ref : squashed(k.ref, low, high);
      }
    }
    return leaf(dim, low, high);
  }

  /// The combination that was merged least among a few drawn.
  const Combination& choose() {
    const Combination* best = nullptr;
    long best_count = 0;
    for (int tries = 0; tries < 48; ++tries) {
      const Combination& c =
          combinations_[random().below(static_cast<unsigned>(combinations_.size()))];
      const bool batched =
          std::any_of(c.batched.begin(), c.batched.end(), [](char b) { return b != 0; });
      if (batched && !batched_graph_) {
        continue;
      }
      long count = chosen_[&c] * 4;
      if (!c.reason_alone().empty()) {
        count += 60;
      }  // only to be tried, not to be counted
      count += merged_count(c);
      if (best == nullptr || count < best_count) {
        best = &c;
        best_count = count;
      }
    }
    if (best == nullptr) {
      return choose();
    }
    ++chosen_[best];
    return *best;
  }

  [[nodiscard]] long merged_count(const Combination& c) const {
    long least = 1000000;
    const std::size_t args = std::max<std::size_t>(1, c.batched.size());
    for (std::size_t i = 0; i < args; ++i) {
      if (!c.has(i)) {
        continue;
      }
      const bool shared = i < c.shared.size() && c.shared[i] != 0;
      const auto found =
          counts_.find(Observed::combination(c.sample->record->info->name, c.pattern(), i, shared));
      least = std::min(least, found == counts_.end() ? 0 : found->second);
    }
    return least;
  }

  /// Copies of one combination.
  void round() {
    const Combination& c = choose();
    const Sample& s = *c.sample;
    const unsigned copies = 2 + random().below(4);
    const std::size_t among = known_.size();
    std::vector<Ref> kept(s.inputs.size());
    std::vector<std::vector<Ref>> args(copies, std::vector<Ref>(s.inputs.size()));
    for (unsigned copy = 0; copy < copies; ++copy) {
      for (std::size_t i = 0; i < s.inputs.size(); ++i) {
        Dim dim = s.inputs[i];
        if (!c.has(i)) {
          args[copy][i] = kNoRef;
          continue;
        }
        if (c.batched[i] != 0) {
          dim.bd = batch_;
        }
        if (c.shared[i] != 0 && copy > 0) {
          args[copy][i] = again(kept[i]);
        } else {
          args[copy][i] = kept[i] = operand(dim, s.low, s.high, among, c.shared[i] != 0);
        }
      }
    }
    const bool each = random().chance(0.5);
    for (unsigned copy = 0; copy < copies; ++copy) {
      add_copy(s, args[copy], each);
    }
  }

  /// The same storage: the node, or another parameter(W) node of it.
  Ref again(Ref ref) {
    const Step& step = program_.steps[static_cast<std::size_t>(ref.step)];
    if (step.leaf != LeafKind::kParameter || random().chance(0.5)) {
      return ref;
    }
    const int node = program_.add_leaf(LeafKind::kParameter, step.source);
    built();
    return {node, 0};
  }

  void add_copy(const Sample& s, const std::vector<Ref>& args, bool each) {
    program_.add_step(s, args);
    Step& step = program_.steps.back();
    // Beside copies that differ in an attribute; if the shapes do not fit, built() refuses.
    if (!s.variants.empty() && random().chance(0.3)) {
      step.op = s.variants[random().below(static_cast<unsigned>(s.variants.size()))];
    }
    if (too_close(step)) {
      program_.steps.pop_back();
      return;
    }
    std::vector<Dim> dims;
    unsigned batch = 1;
    for (const Ref& r : args) {
      dims.push_back(r.step < 0 ? ext::absent() : live_.expression(r).dim());
      batch = std::max(batch, dims.back().bd);
    }
    if (!step.indices.empty()) {
      unsigned most = 0;
      for (const unsigned v : step.indices) {
        most = std::max(most, v + 1);
      }
      unsigned limit = index_limit(s, step.op, dims, batch, most);
      if (limit == 0) {  // along another dimension there is nothing to choose from
        step.op = s.op;
        limit = index_limit(s, step.op, dims, batch, most);
      }
      if (each && s.record->indices_per == ext::IndicesPer::kExample) {
        step.indices.resize(step.indices.size() * batch);
      }
      for (unsigned& v : step.indices) {
        v = random().below(limit);
      }
    }
    for (float& v : step.values) {
      v = static_cast<float>(random().uniform(0.5, 2.0));
    }
    step.by_pointer = random().chance(0.3);
    built();
  }

  /// At a kink (max of nearly equal numbers, rectify near 0) rounding chooses the gradient, and at
  /// the edge of a step the value, so such arguments are not given.
  bool too_close(const Step& step) {
    const auto values = [&](std::size_t i) {
      return numbers(live_.expression(step.args[i]).value());
    };
    const auto any_near = [](const std::vector<double>& distances) {
      return std::any_of(distances.begin(), distances.end(),
                         [](double v) { return std::fabs(v) < 1e-3; });
    };
    for (const std::vector<double>& distances : distances_to_kinks(step, values)) {
      if (any_near(distances)) {
        return true;
      }
    }
    return false;
  }

  /// A binary tree of h = tanh(b + W1 h1 + W2 h2) over a table, with a node of each parameter at
  /// every tree node.
  void tree() {
    static const Sample* const affine = find("affine_transform");
    static const Sample* const tanh = find("tanh");
    const unsigned width = 3 + random().below(2);
    const int table =
        program_.add_source(Source::kTable, {width}, draw_(std::int64_t{5} * width, -1.0, 1.0), 5);
    const int bias = program_.add_source(Source::kParameter, {width}, draw_(width, -1.0, 1.0));
    const int left = program_.add_source(Source::kParameter, {width, width},
                                         draw_(std::int64_t{width} * width, -1.0, 1.0));
    const int right = program_.add_source(Source::kParameter, {width, width},
                                          draw_(std::int64_t{width} * width, -1.0, 1.0));
    std::vector<Ref> open;
    const unsigned words = 3 + random().below(6);
    for (unsigned w = 0; w < words; ++w) {
      open.push_back({program_.add_leaf(LeafKind::kLookup, table, {random().below(5)}), 0});
      built();
    }
    while (open.size() > 1) {
      const unsigned i = random().below(static_cast<unsigned>(open.size()) - 1);
      std::vector<Ref> args;
      const auto parameter_node = [&](int source) {
        args.push_back({program_.add_leaf(LeafKind::kParameter, source), 0});
        built();
      };
      parameter_node(bias);
      parameter_node(left);
      args.push_back(open[i]);
      parameter_node(right);
      args.push_back(open[i + 1]);
      program_.add_step(*affine, args);
      built();
      program_.add_step(*tanh, {known_.back().ref});
      built();
      open[i] = known_.back().ref;
      open.erase(open.begin() + i + 1);
    }
  }

  /// The loss: results that nothing uses, and some others.
  void finish() {
    std::set<std::pair<int, unsigned>> used;
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      if (!live_.has(static_cast<int>(i))) {
        continue;
      }
      for (const Ref& r : program_.steps[i].args) {
        used.insert({r.step, r.output});
      }
    }
    for (const Known& k : known_) {
      const bool leaf_step = program_.steps[static_cast<std::size_t>(k.ref.step)].sample == nullptr;
      const bool finite =
          std::isfinite(k.low) && std::isfinite(k.high) && std::max(-k.low, k.high) < 1e3;
      const bool sink = !used.contains({k.ref.step, k.ref.output}) && !leaf_step;
      if (finite && (sink || random().chance(0.1))) {
        program_.terms.push_back({k.ref, draw_(k.dim.elements(), -1.0, 1.0)});
      }
    }
    if (program_.terms.empty()) {
      const Ref r = leaf({3}, -1.0, 1.0);
      program_.terms.push_back({r, {1.0F, 0.5F, -0.5F}});
    }
  }

  Program program_;
  Draw draw_;
  const std::vector<Combination>& combinations_;
  const Counts& counts_;
  LiveProgram live_;
  unsigned batch_ = 2;
  bool batched_graph_ = false;
  std::vector<Known> known_;
  std::map<const Combination*, long> chosen_;
};

}  // namespace

Program random_program(std::uint64_t seed, const std::vector<Combination>& combinations,
                       const Counts& counts) {
  return Generator(seed, combinations, counts).make();
}

}  // namespace dynet::testing
