// Rules as nodes: walks the steps of a formula (ext/formula.h) and adds for each word the operation
// that computes it.
//
// A step is a number, as long as only constants are in it, or a node. Nodes have the shapes of
// their arguments and broadcast as operations do; only the gradient of an argument gets its shape,
// at the end. Example: the slope 1 - y * y of tanh becomes the nodes y * y, 1 and 1 - y * y. In a
// rule over rows a row goes along some dimensions of one shape: numbers that are once per row have
// 1 in these dimensions, and numbers that are one per position have 1 in all others.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "dynet/ops/activation.h"
#include "dynet/ops/elementary.h"
#include "dynet/ops/input.h"
#include "dynet/ops/order.h"
#include "dynet/ops/reduce.h"
#include "dynet/ops/shape.h"
#include "dynet/ops/trigonometry.h"

#include "api/gradient_arithmetic.h"
#include "api/gradient_nodes.h"

namespace dynet::api {
namespace {

using ext::Formula;
using ext::Word;

/// A rule and its operands: of the node in hand, or other nodes.
struct Subject {
  struct Operand {
    Operand() = default;
    Operand(Node n) : is_there(true), node(n) {}  // NOLINT(google-explicit-constructor)
    bool is_there = false;
    Node node{};
  };

  /// The node in hand.
  explicit Subject(GradientNodes& to)
      : rule(to.graph()[to.node()].record().rule),
        row_rule(to.graph()[to.node()].record().row_rule),
        op(to.graph()[to.node()].signature->op) {
    for (std::size_t a = 0; a < to.args(); ++a) {
      in.push_back(to.has(a) ? Operand(to.in(a)) : Operand());
      wants.push_back(to.wants(a));
    }
    for (std::size_t k = 0; k < to.graph()[to.node()].record().outputs; ++k) {
      results.emplace_back(to.out(k));
      const bool is_used = to.has_parts(to.out(k).id);
      d_out.push_back(is_used ? Operand(to.d_out(k)) : Operand());
    }
    d_in.resize(in.size());
  }
  explicit Subject(const ext::GradientBuilder::RuleAt& at)
      : rule(at.rule),
        row_rule(at.row_rule),
        op(at.op),
        in(at.in.begin(), at.in.end()),
        results(at.results.begin(), at.results.end()),
        d_out(at.d_out.begin(), at.d_out.end()),
        d_in(in.size()) {
    for (std::size_t a = 0; a < in.size(); ++a) {
      wants.push_back((at.wanted >> a & 1U) != 0);
    }
  }

  const ext::RuleInfo* rule;
  const ext::RowRule* row_rule;
  const void* op;
  std::vector<Operand> in;     ///< empty: the argument is absent
  std::vector<Node> results;   ///< outputs; saved outputs if there are nodes for them
  std::vector<Operand> d_out;  ///< empty: nobody used the output
  std::vector<bool> wants;     ///< of each argument
  std::vector<Operand> d_in;   ///< a result: empty if the gradient is 0
};

/// How the arguments, outputs and gradients of a rule are the inputs of its formula.
class Inputs {
 public:
  Inputs(GradientNodes& to, Subject& of) : to_(to), of_(of) {}
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;
  virtual ~Inputs() = default;

  /// Inputs that are arguments or payload; the `outputs` inputs behind them are outputs.
  [[nodiscard]] virtual std::size_t arguments() const = 0;
  [[nodiscard]] virtual std::size_t outputs() const = 0;
  /// The saved output k, counted in inputs; empty if the formula has to compute it.
  [[nodiscard]] virtual std::optional<Value> saved(std::size_t k) = 0;
  virtual Value argument(std::size_t input) = 0;
  virtual Value output(std::size_t k) = 0;
  virtual Value d_output(std::size_t k) = 0;
  /// Whether result `i` of the formula is wanted. give() adds its gradient.
  [[nodiscard]] virtual bool wants(std::size_t i) const = 0;
  virtual void give(std::size_t i, const Value& gradient) = 0;
  /// The shape of all rows of an example, and which of its dimensions lie along a row.
  [[nodiscard]] virtual Dim rows() const { return {}; }
  [[nodiscard]] virtual std::uint32_t axes() const { return 0; }

 protected:
  /// The gradient of output k; 0 if nobody used the output.
  [[nodiscard]] Value gradient_of(std::size_t k) const {
    return of_.d_out[k].is_there ? Value(of_.d_out[k].node) : Value(0.0);
  }

  GradientNodes& to_;
  Subject& of_;
};

/// An elementwise rule: pieces of its operands, each of h numbers if an operand has several pieces.
class Elements final : public Inputs {
 public:
  Elements(GradientNodes& to, Subject& of) : Inputs(to, of) {
    for (std::size_t a = 0; a < of.in.size(); ++a) {
      if (of.in[a].is_there) {
        cut(pieces_, of.in[a].node, a, of.rule->parts[a]);
      }
    }
    for (std::size_t k = 0; k < of.d_out.size(); ++k) {
      cut(outputs_, of.results[k], k, of.rule->out_parts[k]);
    }
    work_.nd = 1;
    for (const Piece& p : pieces_) {
      work_ = broadcast(work_, p.shape);
    }
    work_.bd = to.dim(of.results[0]).bd;
    gradients_.resize(pieces_.size(), Value(0.0));
  }
  [[nodiscard]] std::size_t arguments() const override {
    return pieces_.size() + (of_.rule->has_scalar ? 1 : 0);
  }
  [[nodiscard]] std::size_t outputs() const override { return outputs_.size(); }
  Value argument(std::size_t input) override {
    return input < pieces_.size() ? piece(pieces_[input], of_.in[pieces_[input].of].node)
                                  : scalar();
  }
  Value output(std::size_t k) override { return piece(outputs_[k], of_.results[outputs_[k].of]); }
  [[nodiscard]] std::optional<Value> saved(std::size_t /*k*/) override { return std::nullopt; }
  Value d_output(std::size_t k) override {
    const Value all = gradient_of(outputs_[k].of);
    return all.is_number ? all : piece(outputs_[k], all.node);
  }
  [[nodiscard]] bool wants(std::size_t i) const override {
    return i < pieces_.size() && of_.wants[pieces_[i].of];
  }
  /// With the last piece of an argument it is complete.
  void give(std::size_t i, const Value& gradient) override {
    gradients_[i] = gradient;
    const Piece& p = pieces_[i];
    if (p.number + 1 < p.count) {
      return;
    }
    const std::size_t first = i - p.number;
    if (std::all_of(gradients_.begin() + static_cast<std::ptrdiff_t>(first),
                    gradients_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                    [](const Value& v) { return v.is(0.0); })) {
      return;
    }
    std::vector<Node> parts;
    for (std::size_t k = first; k <= i; ++k) {
      const Node g =
          gradients_[k].is_number ? to_.constant({1}, gradients_[k].number) : gradients_[k].node;
      parts.push_back(to_.fitted(g, work_, p.shape));
    }
    const ops::Concatenate joined{0};
    of_.d_in[p.of] =
        parts.size() == 1 ? parts[0] : to_.add(ext::kRecord<ops::Concatenate>, &joined, parts, {});
  }

 private:
  /// Piece `number` of `count` of an operand.
  struct Piece {
    std::size_t of;
    unsigned number, count;
    Dim shape;
  };
  void cut(std::vector<Piece>& all, Node operand, std::size_t of, unsigned count) const {
    Dim shape = to_.dim(operand);
    shape.d[0] /= count;
    for (unsigned p = 0; p < count; ++p) {
      all.push_back({of, p, count, shape});
    }
  }
  Node piece(const Piece& p, Node operand) {
    return p.count == 1 ? operand : to_.part(operand, p.number * p.shape.d[0], p.shape.d[0], 0);
  }
  /// The number that is payload: given by pointer it is read again at every run.
  Value scalar() {
    const ext::NodePayload payload = to_.graph().payload(to_.node());
    if (payload.form == ext::NodePayload::kCopied) {
      return static_cast<double>(to_.graph().values(to_.node())[0]);
    }
    const ops::Input op{Dim({1})};
    return to_.add_with(ext::kRecord<ops::Input>, &op, {}, payload);
  }

  std::vector<Piece> pieces_, outputs_;
  std::vector<Value> gradients_;
  Dim work_;
};

/// A rule over rows. An example that is one row is seen as a vector.
class RowInputs final : public Inputs {
 public:
  RowInputs(GradientNodes& to, Subject& of) : Inputs(to, of), rule_(*of.row_rule) {
    axes_ = rule_.row_axes(of.op);
    std::size_t a = 0;
    while (rule_.along[a] != rule::Along::kElements) {
      ++a;
    }
    rows_ = to.dim(of.in[a].node);
    if (axes_ == ext::kWholeExample) {
      rows_ = Dim({static_cast<unsigned>(rows_.example_elements())});
      axes_ = 1;
    }
    rows_.bd = to.dim(of.results[0]).bd;
    once_ = positions_ = rows_;
    for (unsigned k = 0; k < rows_.nd; ++k) {
      ((axes_ >> k & 1U) != 0 ? once_ : positions_).d[k] = 1;
    }
  }
  [[nodiscard]] std::size_t arguments() const override {
    return rule_.args + (rule_.has_payload ? 1U : 0U);
  }
  [[nodiscard]] std::size_t outputs() const override { return rule_.outputs; }
  Value argument(std::size_t input) override {
    if (input >= rule_.args) {
      return to_.indices_as_numbers(once_.single_batch());
    }
    return seen(of_.in[input].node, shape_of(rule_.along[input]));
  }
  Value output(std::size_t k) override { return seen(of_.results[k], shape_of_result(k)); }
  [[nodiscard]] std::optional<Value> saved(std::size_t k) override {
    const std::size_t result = rule_.outputs + k;
    return result < of_.results.size()
               ? std::optional<Value>(seen(of_.results[result], shape_of_result(result)))
               : std::nullopt;
  }
  Value d_output(std::size_t k) override {
    const Value all = gradient_of(k);
    return all.is_number ? all : Value(seen(all.node, shape_of_result(k)));
  }
  [[nodiscard]] bool wants(std::size_t i) const override { return of_.wants[i]; }
  void give(std::size_t i, const Value& gradient) override {
    if (gradient.is(0.0)) {
      return;
    }
    const Node g = gradient.is_number ? to_.constant({1}, gradient.number) : gradient.node;
    const Dim to = to_.dim(of_.in[i].node);
    Dim shape = shape_of(rule_.along[i]);
    shape.bd = to.bd;
    const Dim& work = rule_.along[i] == rule::Along::kOnce ? once_ : rows_;
    of_.d_in[i] = to_.reshaped(to_.fitted(g, work, shape), to);
  }
  [[nodiscard]] Dim rows() const override { return rows_; }
  [[nodiscard]] std::uint32_t axes() const override { return axes_; }

 private:
  [[nodiscard]] const Dim& shape_of(rule::Along along) const {
    return along == rule::Along::kOnce        ? once_
           : along == rule::Along::kPositions ? positions_
                                              : rows_;
  }
  [[nodiscard]] const Dim& shape_of_result(std::size_t k) const {
    return rule_.once[k] ? once_ : rows_;
  }
  Node seen(Node x, Dim shape) {
    shape.bd = to_.dim(x).bd;
    return to_.reshaped(x, shape);
  }

  const ext::RowRule& rule_;
  Dim rows_, once_, positions_;
  std::uint32_t axes_ = 0;
};

/// Walks a formula.
class Walk {
 public:
  Walk(GradientNodes& to, const Formula& formula, Inputs& inputs)
      : to_(to), formula_(formula), inputs_(inputs), math_(to), values_(formula.steps.size()) {}

  const Value& at(std::uint16_t step) {
    std::optional<Value>& value = values_[step];
    return value.has_value() ? *value : value.emplace(compute(formula_.steps[step]));
  }

 private:
  Value compute(const Formula::Step& step);
  Value input(std::size_t i);
  Value of_one(Word word, const Value& a);
  Value over_row(const Formula::Step& step);
  Value select(const Formula::Step& step);
  Value sum(const Value& e);
  /// A root of a sum that is 0, such as the deviation of equal numbers, has no part in a gradient.
  Value root_of_sum(const Value& a) {
    const Value root = math_.of_one(ops::Sqrt{}, math_.choose(a, a, 1.0));
    return math_.choose(a, root, 0.0);
  }
  Value largest(const Value& e);
  Value position();
  /// e at position i, and 0 elsewhere.
  Value only_at(const Value& i, const Value& e) {
    return math_.choose(math_.subtract(position(), i), 0.0, e);
  }

  GradientNodes& to_;
  const Formula& formula_;
  Inputs& inputs_;
  Arithmetic math_;
  std::vector<std::optional<Value>> values_;
};

Value Walk::input(std::size_t i) {
  const std::size_t outs = inputs_.arguments();
  const std::size_t saved = outs + inputs_.outputs();
  const std::size_t d_outs =
      saved + (formula_.results.empty() ? 0 : formula_.results.size() - inputs_.outputs());
  if (i < outs) {
    return inputs_.argument(i);
  }
  if (i < saved) {
    return inputs_.output(i - outs);
  }
  if (i >= d_outs) {
    return inputs_.d_output(i - d_outs);
  }
  const std::optional<Value> kept = inputs_.saved(i - saved);
  return kept.has_value() ? *kept : at(formula_.results[i - outs]);
}

Value Walk::compute(const Formula::Step& step) {
  const auto a = [&]() -> Value { return at(step.args[0]); };
  const auto b = [&]() -> Value { return at(step.args[1]); };
  switch (step.word) {
    case Word::kInput:
      return input(step.input);
    case Word::kConstant:
      return step.value;
    case Word::kAdd:
      return math_.add(a(), b());
    case Word::kSub:
      return math_.subtract(a(), b());
    case Word::kMul:
      // A factor of 0 makes the other factor unnecessary.
      return a().is(0.0) ? Value(0.0) : math_.multiply(a(), b());
    case Word::kDiv:
      return math_.divide(a(), b());
    case Word::kNeg:
      return math_.negate(a());
    case Word::kMax:
      return math_.largest(a(), b());
    case Word::kMin:
      return math_.smallest(a(), b());
    case Word::kPower:
    case Word::kPow:
      return math_.power(a(), b());
    case Word::kCopySign: {
      const Value size = of_one(Word::kAbs, a());
      return math_.choose(math_.less(b(), 0.0), math_.negate(size), size);
    }
    case Word::kSelect:
      return select(step);
    case Word::kPosition:
    case Word::kCount:
    case Word::kSumOf:
    case Word::kMaxOf:
    case Word::kIndexOfMax:
    case Word::kValueAt:
    case Word::kOnlyAt:
      return over_row(step);
    default:
      return of_one(step.word, a());
  }
}

Value Walk::select(const Formula::Step& step) {
  const Formula::Step& c = formula_.steps[step.args[0]];
  const Value a = at(c.args[0]);
  const Value b = at(c.args[1]);
  const Value x = at(step.args[1]);
  const Value y = at(step.args[2]);
  switch (c.word) {
    case Word::kLess:
      return math_.choose(math_.less(a, b), x, y);
    case Word::kLessEqual:
      return math_.choose(math_.less(b, a), y, x);
    default:
      return math_.choose(math_.subtract(a, b), y, x);
  }
}

Value Walk::of_one(Word word, const Value& a) {
  switch (word) {
    case Word::kExp:
      return math_.of_one(ops::Exp{}, a);
    case Word::kLog:
      return math_.of_one(ops::Log{}, a);
    case Word::kLog1p:
      return math_.of_one(ops::Log1p{}, a);
    case Word::kExpm1:
      return math_.of_one(ops::Expm1{}, a);
    case Word::kTanh:
      return math_.of_one(ops::Tanh{}, a);
    case Word::kLogistic:
      return math_.of_one(ops::Logistic{}, a);
    case Word::kSqrt:
      return inputs_.axes() == 0 ? math_.of_one(ops::Sqrt{}, a) : root_of_sum(a);
    case Word::kAbs:
      return math_.of_one(ops::Abs{}, a);
    case Word::kFloor:
      return math_.of_one(ops::Floor{zero_gradient}, a);
    case Word::kErf:
      return math_.of_one(ops::Erf{}, a);
    case Word::kSin:
      return math_.of_one(ops::Sin{}, a);
    case Word::kCos:
      return math_.of_one(ops::Cos{}, a);
    case Word::kTan:
      return math_.of_one(ops::Tan{}, a);
    case Word::kAsin:
      return math_.of_one(ops::Asin{}, a);
    case Word::kAcos:
      return math_.of_one(ops::Acos{}, a);
    case Word::kAtan:
      return math_.of_one(ops::Atan{}, a);
    case Word::kLogGamma:
      return math_.of_one(ops::LogGamma{}, a);
    default:
      throw std::logic_error("a word of a formula without an operation");
  }
}

Value Walk::over_row(const Formula::Step& step) {
  switch (step.word) {
    case Word::kPosition:
      return position();
    case Word::kCount: {
      double count = 1.0;
      for (unsigned k = 0; k < inputs_.rows().nd; ++k) {
        count *= (inputs_.axes() >> k & 1U) != 0 ? inputs_.rows()[k] : 1.0;
      }
      return count;
    }
    case Word::kSumOf:
      return sum(at(step.args[0]));
    case Word::kMaxOf:
      return largest(at(step.args[0]));
    case Word::kIndexOfMax: {
      const Node e = to_.broadcast_to(math_.node(at(step.args[0])), inputs_.rows());
      const auto axis = static_cast<unsigned>(std::countr_zero(inputs_.axes()));
      const Node first = to_.add(ops::TopK{1, axis}, e);
      return to_.add(ops::NoBackprop{}, Node{first.id + 1});
    }
    case Word::kValueAt: {
      const Value i = at(step.args[1]);
      return sum(only_at(i, at(step.args[0])));
    }
    default: {
      const Value i = at(step.args[0]);
      return only_at(i, at(step.args[1]));
    }
  }
}

/// The sum over a row. A number that is equal along the row counts once per position.
Value Walk::sum(const Value& e) {
  if (e.is(0.0)) {
    return e;
  }
  const Dim rows = inputs_.rows();
  Dim work = e.is_number ? Dim({1}) : to_.dim(e.node);
  Dim once = work;
  work.nd = once.nd = std::max(work.nd, rows.nd);
  for (unsigned k = 0; k < rows.nd; ++k) {
    if ((inputs_.axes() >> k & 1U) != 0) {
      work.d[k] = rows[k];
      once.d[k] = 1;
    }
  }
  return to_.fitted(math_.node(e), work, once);
}

Value Walk::largest(const Value& e) {
  Node x = math_.node(e);
  for (unsigned k = 0; k < to_.dim(x).nd; ++k) {
    Dim once = to_.dim(x);
    if ((inputs_.axes() >> k & 1U) != 0 && once.d[k] != 1) {
      once.d[k] = 1;
      x = to_.reshaped(to_.add(ops::MaxDim{k}, x), once);
    }
  }
  return x;
}

Value Walk::position() {
  Dim shape = inputs_.rows().single_batch();
  for (unsigned k = 0; k < shape.nd; ++k) {
    shape.d[k] = (inputs_.axes() >> k & 1U) != 0 ? shape.d[k] : 1;
  }
  return to_.number_line(shape);
}

void give_all(GradientNodes& to, const Formula& formula, Inputs& inputs) {
  Walk walk(to, formula, inputs);
  for (std::size_t i = 0; i < formula.gradients.size(); ++i) {
    if (inputs.wants(i)) {
      inputs.give(i, walk.at(formula.gradients[i]));
    }
  }
}
void give_all(GradientNodes& to, const Formula& formula, Subject& of) {
  if (of.row_rule != nullptr) {
    RowInputs inputs(to, of);
    give_all(to, formula, inputs);
  } else {
    Elements inputs(to, of);
    give_all(to, formula, inputs);
  }
}

}  // namespace

void give_formula(GradientNodes& to, const ext::Formula& formula) {
  Subject in_hand(to);
  give_all(to, formula, in_hand);
  for (std::size_t a = 0; a < in_hand.in.size(); ++a) {
    if (in_hand.d_in[a].is_there) {
      to.add_part(in_hand.in[a].node.id, in_hand.d_in[a].node);
    }
  }
}

void add_formula(GradientNodes& to, const ext::GradientBuilder::RuleAt& at, const Formula& formula,
                 std::span<Node> d_in) {
  Subject other(at);
  give_all(to, formula, other);
  for (std::size_t a = 0; a < d_in.size(); ++a) {
    if (other.wants[a]) {
      d_in[a] = other.d_in[a].is_there ? other.d_in[a].node : to.constant(to.dim(at.in[a]), 0.0);
    }
  }
}

}  // namespace dynet::api
