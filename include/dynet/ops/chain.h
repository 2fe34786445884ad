#pragma once

// Sequences as chains: the linear-chain conditional random field, and connectionist temporal
// classification (CTC). Both call Kernels::chain; this header defines the states and steps of their
// chains.
//
// The functions of the CRF have their arguments in common: emissions {tags,steps}, transitions
// {tags,tags} with element (i, j) for the step from tag j to tag i, and arguments that may be
// absent: start and end {tags}, and the lengths of padded sequences, one number per example. In C++
// and Python lengths and labels are lists, from which dynet/expr/chains.h makes arguments and
// payload.

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "dynet/ext/chain.h"
#include "dynet/ops/common.h"
#include "dynet/ops/order.h"
#include "dynet/ops/steps.h"

namespace dynet::ops {

// ---- steps
// ---------------------------------------------------------------------------------------

/// Starts and ends of paths through the 2 * most + 1 states of CTC: 0 at the first two states, at
/// the last label and at the blank after it; -inf elsewhere.
struct CtcEnds {
  float most;
  static constexpr ext::Info kInfo{.name = "ctc_ends", .args = {"x", "count"}, .attrs = {"most"}};
  static constexpr std::array kAlong{rule::Along::kElements, rule::Along::kOnce};
  static constexpr unsigned kOutputs = 2;
  static constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
  std::uint32_t row_axes() const { return ext::kWholeExample; }
  DYNET_DEVICE_FN constexpr auto value(auto /*x*/, auto count) const {
    const auto last = 2.0 * floor(max(min(count, most), 0.0));
    const auto p = over::position();
    return rule::each(select(p < 2.0, 0.0, kMinusInf),
                      select(p > last, kMinusInf, select(p < last - 1.0, kMinusInf, 0.0)));
  }
  DYNET_DEVICE_FN constexpr auto pull(auto /*x*/, auto count, auto /*start*/, auto /*end*/,
                                      auto d_start, auto /*d_end*/) const {
    return rule::each(0.0 * d_start, 0.0 * count);
  }
  static std::vector<ext::Example<CtcEnds>> examples() { return {{{3.0F}, {{7}, {1}}, 0.1, 0.9}}; }
};

/// 0 if two labels differ, else -inf: whether a path may go from one to the other without a blank
/// between them.
struct CtcSkips {
  static constexpr ext::Info kInfo{.name = "ctc_skips", .args = {"label", "before"}};
  static constexpr std::array kAlong{rule::Along::kElements, rule::Along::kElements};
  static constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
  std::uint32_t row_axes() const { return ext::kWholeExample; }
  DYNET_DEVICE_FN constexpr auto value(auto label, auto before) const {
    return rule::each(select(label == before, kMinusInf, 0.0));
  }
  DYNET_DEVICE_FN constexpr auto pull(auto /*label*/, auto /*before*/, auto /*y*/, auto dy) const {
    return rule::each(0.0 * dy, 0.0 * dy);
  }
  static std::vector<ext::Example<CtcSkips>> examples() { return {{{}, {{4}, {4}}}}; }
};

using ChainSteps = ext::OpList<CtcEnds, CtcSkips>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::ChainSteps)

namespace dynet::ops {

// ---- conditional random fields
// -------------------------------------------------------------------

inline constexpr std::array kChainRoles{ext::Role::kStacked, ext::Role::kEither, ext::Role::kEither,
                                        ext::Role::kEither, ext::Role::kStacked};
inline constexpr std::array kChainOptional{0, 0, 1, 1, 2};
inline constexpr std::string_view kChainErrors =
    "ShapeError unless emissions are {tags,steps} with at least one tag and one step, transitions "
    "{tags,tags}, start and end both {tags} or both absent, and for lengths beside more than 2^24 "
    "steps; ValueError for another number of lengths than examples, IndexError if a length is 0 or "
    "more than the steps";

/// Checks the arguments of a CRF, and returns the shape of its emissions.
inline Dim check_chain(const ext::Shapes& in) {
  const Dim& e = in[0];
  const unsigned n = e.rows();
  const auto is_of_tags = [&](std::size_t i) {
    return !in.has(i) || (is_vector_like(in[i]) && in[i].rows() == n);
  };
  if (e.nd > 2 || n == 0 || e.cols() == 0 || in[1].nd > 2 || in[1].rows() != n ||
      in[1].cols() != n || !is_of_tags(2) || !is_of_tags(3) ||
      (in.has(4) && in[4].example_elements() != 1)) {
    in.fail(
        "emissions {tags,steps} with a tag and a step at least, transitions {tags,tags}, start and "
        "end {tags}, lengths {1}");
  }
  if (in.has(4)) {
    check_positions(in, e.cols(), "steps beside lengths");
  }
  return Dim({n, e.cols()});
}
/// The chain of a CRF, forward.
inline ext::Chain crf_of(const ext::Call& call, ext::Paths paths) {
  ext::Chain c;
  c.paths = paths;
  c.emissions = call.in[0];
  c.transitions = call.in[1];
  c.start = call.in[2];
  c.end = call.in[3];
  c.lengths = call.in[4];
  return c;
}
/// The chain with the gradients to which backward adds.
inline ext::Chain crf_gradient(const ext::Call& call, ext::Paths paths) {
  ext::Chain c = crf_of(call, paths);
  c.d_emissions = call.d_in[0];
  c.d_transitions = call.d_in[1];
  c.d_start = call.d_in[2];
  c.d_end = call.d_in[3];
  return c;
}
/// Examples of a CRF: all arguments, without ends, without lengths, with emissions alone; one tag,
/// one step, and more tags than a vector has lanes. Lengths are drawn as all arguments are.
template <class Op>
std::vector<ext::Example<Op>> crf_examples(auto of_steps) {
  const Dim none = ext::absent();
  const auto of = [&](unsigned tags, unsigned steps, bool has_ends, bool has_lengths) {
    const Dim ends = has_ends ? Dim({tags}) : none;
    return of_steps(
        steps, ext::Example<Op>(
                   {}, {{tags, steps}, {tags, tags}, ends, ends, has_lengths ? Dim({1}) : none},
                   has_lengths ? 1.1 : -2.0, has_lengths ? 3.9 : 2.0));
  };
  return {of(3, 4, true, true),  of(3, 4, false, false), of(2, 5, true, false),
          of(4, 3, false, true), of(1, 1, true, false),  of(1, 4, false, true),
          of(5, 1, true, false), of(9, 2, true, false),  of(2, 12, false, false)};
}

struct CrfLogPartition {
  static constexpr ext::Info kInfo{
      .name = "crf_log_partition",
      .args = {"emissions", "transitions", "start", "end", "lengths"},
      .formula =
          "y = ln(sum over all sequences t of exp(start[t_0] + sum_k emissions[t_k,k] + sum_k "
          "transitions[t_k,t_(k-1)] + end[t_last]))",
      .summary =
          "Logarithm of the partition function of a linear-chain CRF. The gradients are the "
          "marginals: how probable each tag is at each step, and each pair of tags. The result is "
          "-inf, without a gradient, if all sequences have a score of -inf. Sentences of equal "
          "length, or padded to one, merge.",
      .shapes = "{tags,steps}, {tags,tags}, {tags}, {tags}, {1} -> {1}",
      .errors = kChainErrors,
      .source = "Lafferty et al., 2001",
      .cpp = "-",
      .python = "-"};
  static constexpr std::array kRoles = kChainRoles;
  static constexpr std::array kOptional = kChainOptional;
  static constexpr unsigned kSaved = 1;  // ext::Chain::before
  static constexpr bool kPartialGradient = true;
  Dim shape(const ext::Shapes& in) const {
    check_chain(in);
    return {1};
  }
  std::array<Dim, 1> saved(const ext::Shapes& in) const { return {check_chain(in)}; }
  void forward(ext::Call& call) const {
    ext::Chain c = crf_of(call, ext::Paths::kSum);
    c.before = call.saved[0];
    c.value = call.out[0];
    call.kernels.chain(c, ext::Direction::kForward);
  }
  void backward(ext::Call& call) const {
    ext::Chain c = crf_gradient(call, ext::Paths::kSum);
    c.before = call.saved[0];
    c.value = call.out[0];
    c.d_value = call.d_out[0];
    call.kernels.chain(c, ext::Direction::kBackward);
  }
  static std::vector<ext::Example<CrfLogPartition>> examples() {
    return crf_examples<CrfLogPartition>([](unsigned /*steps*/, auto e) { return e; });
  }
};

struct CrfScore {
  unsigned steps;

  static constexpr ext::Info kInfo{
      .name = "crf_score",
      .args = {"emissions", "transitions", "start", "end", "lengths"},
      .attrs = {"steps"},
      .payload = "tags",
      .formula =
          "y = start[t_0] + sum_k emissions[t_k,k] + sum_k transitions[t_k,t_(k-1)] + end[t_last]",
      .summary =
          "Score of a sequence of tags t in a linear-chain CRF. The log-likelihood of the sequence "
          "is its score minus crf_log_partition. If there are fewer tags than steps, the first "
          "steps count.",
      .shapes = "{tags,steps}, {tags,tags}, {tags}, {tags}, {1} -> {1}",
      .errors =
          "ShapeError unless emissions are {tags,steps} with at least one tag and one step, "
          "transitions {tags,tags}, start and end both {tags} or both absent, and if there are "
          "more tags than steps; ValueError for an empty sequence or another number of sequences "
          "than examples, IndexError for a tag that does not exist",
      .source = "Lafferty et al., 2001",
      .cpp = "-",
      .python = "-"};
  static constexpr std::array kRoles = kChainRoles;
  static constexpr std::array kOptional = kChainOptional;
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr bool kPartialGradient = true;
  Dim shape(const ext::Shapes& in) const {
    const Dim e = check_chain(in);
    if (steps == 0 || steps > e.cols()) {
      in.fail("from 1 to " + std::to_string(e.cols()) + " tags, not " + std::to_string(steps));
    }
    return {1};
  }
  unsigned index_limit(const ext::Shapes& in) const { return in[0].rows(); }
  [[nodiscard]] unsigned index_count() const { return steps; }
  void forward(ext::Call& call) const {
    ext::Chain c = crf_of(call, ext::Paths::kGiven);
    c.path = call.indices;
    c.value = call.out[0];
    call.kernels.chain(c, ext::Direction::kForward);
  }
  void backward(ext::Call& call) const {
    ext::Chain c = crf_gradient(call, ext::Paths::kGiven);
    c.path = call.indices;
    c.d_value = call.d_out[0];
    call.kernels.chain(c, ext::Direction::kBackward);
  }
  static std::vector<ext::Example<CrfScore>> examples() {
    return crf_examples<CrfScore>([](unsigned steps, ext::Example<CrfScore> e) {
      e.op.steps = steps == 4 ? 3 : steps;  // of some, only the first steps
      for (unsigned k = 0; k < e.op.steps; ++k) {
        e.indices.push_back(k % e.inputs[0].rows());
      }
      return e;
    });
  }
};

struct CrfViterbi {
  static constexpr ext::Info kInfo{
      .name = "crf_viterbi",
      .args = {"emissions", "transitions", "start", "end", "lengths"},
      .formula =
          "t = the tags for which start[t_0] + sum_k emissions[t_k,k] + sum_k "
          "transitions[t_k,t_(k-1)] + end[t_last] is the largest; y = that score",
      .summary =
          "The best sequence of tags of a linear-chain CRF, as numbers through which no gradient "
          "flows, and its score, with the gradient of crf_score. Of equally good sequences the "
          "result has the first tag at the last step, then at the step before, and so on; NaN "
          "counts as the largest. At steps after the end of a sequence the tag is 0.",
      .shapes = "{tags,steps}, {tags,tags}, {tags}, {tags}, {1} -> {steps}, {1}",
      .errors = kChainErrors,
      .source = "Viterbi, 1967",
      .cpp = "-",
      .python = "-"};
  using Steps = ext::OpList<Positions>;
  static constexpr std::array kRoles = kChainRoles;
  static constexpr std::array kOptional = kChainOptional;
  static constexpr unsigned kOutputs = 2;
  static constexpr unsigned kSaved = 1;  // the tags
  static constexpr std::array kSavedAs{ext::SavedAs::kIndices};
  static constexpr bool kPartialGradient = true;
  std::array<Dim, 2> shapes(const ext::Shapes& in) const {
    const Dim e = check_chain(in);
    check_positions(in, e.rows());
    return {Dim({e.cols()}), Dim({1})};
  }
  std::array<Dim, 1> saved(const ext::Shapes& in) const { return {Dim({in[0].cols()})}; }
  void forward(ext::Call& call) const {
    const ScratchOperand before(call, call.in[0].dim, call.examples);
    ext::Chain c = crf_of(call, ext::Paths::kBest);
    c.path = call.saved[0];
    c.before = before;
    c.value = call.out[1];
    call.kernels.chain(c, ext::Direction::kForward);
    names_of(call, call.in[0].dim.rows(), call.saved[0], call.out[0]);
  }
  void backward(ext::Call& call) const {
    if (call.d_out[1].absent()) {
      return;
    }
    ext::Chain c = crf_gradient(call, ext::Paths::kBest);
    c.path = call.saved[0];
    c.value = call.out[1];
    c.d_value = call.d_out[1];
    call.kernels.chain(c, ext::Direction::kBackward);
  }
  static std::vector<ext::Example<CrfViterbi>> examples() {
    return crf_examples<CrfViterbi>([](unsigned /*steps*/, auto e) { return e; });
  }
  /// y = indices below n as numbers.
  static void names_of(const ext::Call& call, unsigned n, const ext::Operand& indices,
                       const ext::Operand& y) {
    ext::Call one(call.kernels, call.memory);
    one.examples = 1;
    const ScratchOperand numbers(call, {n}, 1);
    forward_step(Positions{0}, one, {nothing({n})}, {numbers});
    ext::Move m;
    m.box = indices.dim;
    m.index = indices;
    m.index_axis = ext::Move::kPerElement;
    m.from_index_stride = 1;
    ext::strides_of(m.box, m.to_stride);
    call.kernels.move(m, numbers, y);
  }
};

// ---- connectionist temporal classification
// ------------------------------------------------------

/// Labels with blanks between and around them are the states of a chain, which a path goes through
/// in order: it stays, goes on by one state, or by two from a label to a different one.
struct CtcLoss {
  unsigned count;
  unsigned blank = 0;

  static constexpr ext::Info kInfo{
      .name = "ctc_loss",
      .args = {"log_probs", "lengths", "label_lengths"},
      .attrs = {"count", "blank"},
      .payload = "labels",
      .formula =
          "y = -ln(sum of exp(sum_k log_probs[c_k,k]) over all sequences of classes c that are "
          "the labels once neighbours that are equal became one and blanks were left out)",
      .summary =
          "Loss of connectionist temporal classification: -ln of the probability of a sequence of "
          "labels, which is shorter than the sequence of steps. Takes log-probabilities: "
          "log_softmax(x) of plain scores x. The loss is infinite, without a gradient, if there "
          "are too few steps for the labels (each label needs a step, and equal neighbours a blank "
          "between them). An empty list of labels means blanks at all steps. Nodes merge that have "
          "equal numbers of steps and of labels, or are padded to them.",
      .shapes = "{classes,steps}, {1}, {1} -> {1}",
      .errors =
          "ShapeError unless log_probs are {classes,steps} with at least one class and one step, "
          "at most 2^24 classes and, beside lengths, 2^24 steps, and blank is a class; ValueError "
          "if a label is the blank, or for another number of lists than examples, IndexError for a "
          "label that is no class and if a length is 0 or more than the steps",
      .source = "Graves et al., 2006",
      .cpp = "-",
      .python = "-"};
  using Steps = ext::OpList<Positions, CtcEnds, CtcSkips>;
  static constexpr std::array kOptional{0, 1, 2};
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr unsigned kSaved = 1;  // ext::Chain::before
  static constexpr bool kPartialGradient = true;
  static constexpr unsigned kMostLabels = 1U << 23;  // positions of states are exact in float

  Dim shape(const ext::Shapes& in) const {
    const Dim& x = in[0];
    if (x.nd > 2 || x.rows() == 0 || x.cols() == 0 || blank >= x.rows() ||
        (in.has(1) && in[1].example_elements() != 1) ||
        (in.has(2) && in[2].example_elements() != 1)) {
      in.fail("log_probs {classes,steps} with a class and a step at least, the blank " +
              std::to_string(blank) + " among them, lengths {1}, label_lengths {1}");
    }
    check_positions(in, x.rows());
    if (in.has(1)) {
      check_positions(in, x.cols(), "steps beside lengths");
    }
    if (count == 0 || count >= kMostLabels) {
      in.fail("from 1 to 2^23 - 1 labels, not " + std::to_string(count));
    }
    return {1};
  }
  std::array<Dim, 1> saved(const ext::Shapes& in) const { return {Dim({states(), in[0].cols()})}; }
  unsigned index_limit(const ext::Shapes& in) const { return in[0].rows(); }
  [[nodiscard]] unsigned index_count() const { return count; }

  void forward(ext::Call& call) const {
    const Lattice lattice(*this, call);
    const ScratchOperand value(call, {1}, call.examples);
    ext::Chain c = lattice.chain(call);
    c.value = value;
    call.kernels.chain(c, ext::Direction::kForward);
    call.kernels.move(ext::whole_move(1, -1.0), value, call.out[0]);
  }
  void backward(ext::Call& call) const {
    if (call.d_in[0].absent()) {
      return;
    }
    const Lattice lattice(*this, call);
    const ScratchOperand value(call, {1}, call.examples);
    const ScratchOperand d_value(call, {1}, call.examples);
    const ScratchOperand d_emissions(call, {states(), call.in[0].dim.cols()}, call.examples);
    call.kernels.move(ext::whole_move(1, -1.0), call.out[0], value);
    call.kernels.move(ext::whole_move(1, -1.0), call.d_out[0], d_value);
    d_emissions.fill(call.kernels, 0.0);
    ext::Chain c = lattice.chain(call);
    c.value = value;
    c.d_value = d_value;
    c.d_emissions = d_emissions;
    call.kernels.chain(c, ext::Direction::kBackward);
    const Dim& x = call.in[0].dim;
    call.kernels.move(ext::reversed(of_labels(x, call.indices)), d_emissions, call.d_in[0]);
    call.kernels.move(ext::reversed(of_blanks(x)), d_emissions, call.d_in[0]);
  }
  static std::vector<ext::Example<CtcLoss>> examples() {
    const auto of = [](const Dim& x, std::vector<unsigned> labels, unsigned blank = 0) {
      const auto n = static_cast<unsigned>(labels.size());
      return ext::Example<CtcLoss>({n, blank}, {x, ext::absent(), ext::absent()})
          .with_indices(std::move(labels));
    };
    // Lengths are drawn as the log-probabilities are: from 3 to 5 of them.
    const auto padded = [](const Dim& x, bool lengths, bool label_lengths) {
      return ext::Example<CtcLoss>(
                 {2, 1},
                 {x, lengths ? Dim({1}) : ext::absent(), label_lengths ? Dim({1}) : ext::absent()},
                 3.1, 5.9)
          .with_indices({2, 2});
    };
    return {of({3, 5}, {1, 2}),
            of({3, 7}, {1, 1, 2}),
            of({4, 4}, {3}, 2),
            of({1, 3}, {0}),
            of({5, 1}, {4}),
            of({2, 20}, {1, 1, 1, 1, 1}),
            of({6, 8}, {1, 2, 3, 5}),
            padded({3, 7}, true, true),
            padded({3, 5}, false, true),
            padded({4, 6}, true, false)};
  }

 private:
  [[nodiscard]] unsigned states() const { return 2 * count + 1; }

  /// From log-probabilities to emissions of the states: labels at the odd states, blanks between.
  [[nodiscard]] ext::Move of_labels(const Dim& x, const ext::Operand& labels) const {
    ext::Move m = of_blanks(x);
    m.box.d[0] = count;
    m.from_offset = 0;
    m.to_offset = 1;
    m.index = labels;
    m.index_axis = 0;
    m.from_index_stride = 1;
    return m;
  }
  [[nodiscard]] ext::Move of_blanks(const Dim& x) const {
    ext::Move m;
    m.box = Dim({count + 1, x.cols()});
    m.from_stride[1] = x.rows();
    m.from_offset = blank;
    m.to_stride[0] = 2;
    m.to_stride[1] = states();
    return m;
  }

  /// The chain: emissions of the call's examples, starts, ends, and transitions as a band of three.
  class Lattice {
   public:
    Lattice(const CtcLoss& op, const ext::Call& call)
        : emissions(call, {op.states(), call.in[0].dim.cols()}, call.examples),
          band_(call, {op.states(), 3}, call.indices.examples),
          count_(call, {1}, 1),
          start_(call, {op.states()}, ends_examples(call)),
          end_(call, {op.states()}, ends_examples(call)) {
      const Dim& x = call.in[0].dim;
      call.kernels.move(op.of_blanks(x), call.in[0], emissions);
      call.kernels.move(op.of_labels(x, call.indices), call.in[0], emissions);
      make_ends(op, call);
      make_band(op, call);
    }
    [[nodiscard]] ext::Chain chain(const ext::Call& call) const {
      ext::Chain c;
      c.is_band = true;
      c.emissions = emissions;
      c.transitions = band_;
      c.start = start_;
      c.end = end_;
      c.lengths = call.in[1];
      c.before = call.saved[0];
      return c;
    }
    ScratchOperand emissions;

   private:
    static std::int64_t ends_examples(const ext::Call& call) {
      return call.in[2].absent() ? 1 : call.in[2].examples;
    }
    void make_ends(const CtcLoss& op, const ext::Call& call) {
      ext::Call part(call.kernels, call.memory);
      part.examples = ends_examples(call);
      count_.fill(call.kernels, op.count);
      const ext::Operand& length = call.in[2].absent() ? count_ : call.in[2];
      forward_step(CtcEnds{static_cast<float>(op.count)}, part, {nothing({op.states()}), length},
                   {start_, end_});
    }
    /// Staying and going on by one are free. Going on by two is for labels: the odd states from the
    /// second label on.
    void make_band(const CtcLoss& op, const ext::Call& call) {
      const unsigned n = op.states();
      const std::int64_t lists = call.indices.examples;
      band_.fill(call.kernels, -std::numeric_limits<double>::infinity());
      count_.fill(call.kernels, 0.0);
      ext::Move free;
      free.box = Dim({2 * n});
      free.to_stride[0] = 1;
      call.kernels.move(free, count_, band_);
      if (op.count < 2) {
        return;
      }
      const ScratchOperand labels(call, {op.count}, lists);
      const ScratchOperand later(call, {op.count - 1}, lists);
      const ScratchOperand earlier(call, {op.count - 1}, lists);
      const ScratchOperand skips(call, {op.count - 1}, lists);
      CrfViterbi::names_of(call, call.in[0].dim.rows(), call.indices, labels);
      ext::Move m = ext::whole_move(op.count - 1);
      call.kernels.move(m, labels, earlier);
      m.from_offset = 1;
      call.kernels.move(m, labels, later);
      ext::Call part(call.kernels, call.memory);
      part.examples = lists;
      forward_step(CtcSkips{}, part, {later, earlier}, {skips});
      m = ext::whole_move(op.count - 1);
      m.to_offset = std::int64_t{2} * n + 3;
      m.to_stride[0] = 2;
      call.kernels.move(m, skips, band_);
    }
    ScratchOperand band_, count_, start_, end_;
  };
};

using ChainOps = ext::OpList<CrfLogPartition, CrfScore, CrfViterbi, CtcLoss>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::ChainOps)
