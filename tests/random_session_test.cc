// Random sessions: sequences of every call that a program can make of a graph, against a plain
// recomputation.
//
// A session keeps, beside the live graph, a list of the nodes built in it. The right value or
// gradient is computed from that list: a graph of its own, made for the question, one node at a
// time, with a copy of the model, and without any of the session's events. After each event the
// executor's own state is verified, too (execute/verify.h). Parameters may change in the middle:
// there is a copy of the model for each version, and each node is recomputed with the version of
// its computation.
//
// DYNET_TEST_SEED=n runs the session of that seed alone and prints its events;
// DYNET_TEST_SESSIONS=n runs n sessions.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "dynet/except.h"
#include "dynet/expr.h"
#include "dynet/ext/add_node.h"
#include "dynet/training.h"

#include "api/graph_state.h"
#include "execute/verify.h"
#include "memory/pool.h"
#include "support/failing_new.h"
#include "support/second_device.h"
#include "support/session_model.h"
#include "testing/device.h"
#include "testing/program.h"
#include "testing/sanitized.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

constexpr std::size_t kMostNodes = 40;

enum class Kind {
  kInput,
  kInputPointer,
  kLookup,
  kLookupPointer,
  kRows,  ///< two rows at once, summed
  kConstLookup,
  kBias,
  kWeight,
  kConstWeight,
  kAttend,  ///< the whole table, weighted
  kAffine,
  kRecurrent,  ///< a sum of two products: may be computed in two parts
  kTanh,
  kAdd,
  kMultiply,
  kScaleBy,  ///< by an element that an index picks
  kReshape,
  kDetach,
  kCell,
  kSumOf,
  kElsewhere,  ///< computed on another device
  kLoss,
  kCount
};

/// A built node, with enough data to build it again.
struct Node {
  Kind kind = Kind::kInput;
  std::vector<std::size_t> args;
  std::vector<float> numbers;
  std::vector<unsigned> indices;
  bool is_loss = false;
};

Expression build(const Node& n, ComputationGraph& cg, const Model& m,
                 const std::vector<Expression>& made) {
  const auto arg = [&](std::size_t i) -> const Expression& { return made[n.args[i]]; };
  switch (n.kind) {
    case Kind::kInput:
      return input(cg, {kSize}, n.numbers);
    case Kind::kInputPointer:
      return input(cg, {kSize}, &n.numbers);
    case Kind::kLookup:
      return lookup(cg, m.e, n.indices[0]);
    case Kind::kLookupPointer:
      return lookup(cg, m.e, n.indices.data());
    case Kind::kRows:
      return sum_batches(lookup(cg, m.e, n.indices));
    case Kind::kConstLookup:
      return const_lookup(cg, m.e, n.indices[0]);
    case Kind::kBias:
      return parameter(cg, m.b);
    case Kind::kWeight:
      return parameter(cg, m.w) * arg(0);
    case Kind::kConstWeight:
      return const_parameter(cg, m.w) * arg(0);
    case Kind::kAttend: {
      const Expression all = parameter(cg, m.e);
      return all * softmax(transpose(all) * arg(0));
    }
    case Kind::kAffine:
      return affine_transform({parameter(cg, m.b), parameter(cg, m.u), arg(0)});
    case Kind::kRecurrent:
      return tanh(affine_transform(
          {parameter(cg, m.b), parameter(cg, m.w), arg(0), parameter(cg, m.u), arg(1)}));
    case Kind::kTanh:
      return tanh(arg(0));
    case Kind::kAdd:
      return arg(0) + arg(1);
    case Kind::kMultiply:
      return cmult(arg(0), arg(1));
    case Kind::kScaleBy:
      return arg(0) * pick(arg(1), n.indices.data());
    case Kind::kReshape:
      return reshape(reshape(arg(0), {1, kSize}), {kSize});
    case Kind::kDetach:
      return nobackprop(arg(0));
    case Kind::kCell: {
      const auto [h, c] = lstm_cell(concatenate({arg(0), arg(1), arg(0), arg(1)}), arg(1));
      return n.indices[0] == 0 ? h : c;
    }
    case Kind::kSumOf:
      return sum({arg(0), arg(1), arg(0)});
    case Kind::kElsewhere: {
      const Expression there = tanh(to_device(arg(0), &second_device()));
      return to_device(cmult(there, to_device(arg(1), &second_device())), double_device());
    }
    case Kind::kLoss:
    case Kind::kCount:
      break;
  }
  return squared_norm(arg(0)) * 0.5F;
}

/// One session: a live graph and the list of its nodes.
class Session {
 public:
  Session(std::uint64_t seed, Model& model, Copies& copies, Outcomes& outcomes, bool is_loud)
      : random_(seed), model_(model), copies_(copies), outcomes_(outcomes), is_loud_(is_loud) {
    const DefaultDevice device(double_device());
    graph_ = std::make_unique<ComputationGraph>(random_.chance(0.7));
    for (int i = 0; i < 3; ++i) {
      add_node();
    }
  }

  /// One event. Its failures are failures of the test.
  void step() {
    const DefaultDevice device(double_device());
    const unsigned chance = random_.below(100);
    if (chance < 34) {
      add_node();
    } else if (chance < 49) {
      check_value();
    } else if (chance < 62) {
      check_backward();
    } else if (chance < 66) {
      check_gradient();
    } else if (chance < 75) {
      checkpoint();
    } else if (chance < 84) {
      revert();
    } else if (chance < 86) {
      happen("invalidate", [&] { graph_->invalidate(); });
      was_backward_ = false;
    } else if (chance < 90) {
      set();
    } else if (chance < 93) {
      change_pointed();
    } else if (chance < 96) {
      fail_to_build();
    } else if (chance < 98) {
      happen("set_batching", [&] { graph_->set_batching(!graph_->batching()); });
    } else {
      clear();
    }
    const execute::Executor& executor = graph_->state().executor;
    EXPECT_EQ(execute::verify(executor), "");
    for (const auto& mark : graph_->state().marks) {
      EXPECT_EQ(execute::verify(executor, mark.executor, mark.graph.nodes), "");
    }
    note_versions();
  }
  void forget_values() {
    graph_->invalidate();
    was_backward_ = false;
    note_versions();
  }

 private:
  /// Makes a call of the library: plainly, in another thread, with an allocation that is refused,
  /// or with hardly any memory left. After a failure the call is made again.
  void happen(const std::string& what, const std::function<void()>& f) {
    if (is_loud_) {
      std::printf("%s\n", what.c_str());
    }
    const unsigned chance = random_.below(40);
    if (chance == 0) {
      std::exception_ptr refused;  // goes_back knows of one
      std::thread([&] {
        const DefaultDevice device(double_device());
        try {
          f();
        } catch (...) {
          refused = std::current_exception();
        }
      }).join();
      if (refused != nullptr) {
        std::rethrow_exception(refused);
      }
      return;
    }
    if (chance == 1) {
      memory::set_cap(memory::bytes_held() + std::size_t{4096} * random_.below(2) + 1);
    }
    // The queue of the far device allocates, too, and is no part of the library.
    if ((chance == 2 || chance == 3) && double_device()->is_host_visible()) {
      FailingNew::arm(random_.below(30));
      FailingNew::armed = true;
    }
    bool was_refused = false;
    try {
      f();
    } catch (const out_of_memory&) {
      was_refused = true;
    } catch (const std::bad_alloc&) {  // for a list that this test made
      was_refused = true;
    }
    FailingNew::armed = false;
    memory::set_cap(0);
    if (!was_refused) {
      return;
    }
    if (is_loud_) {
      std::printf("  out of memory, again\n");
    }
    EXPECT_EQ(execute::verify(graph_->state().executor), "");
    f();
  }

  std::size_t any_vector() {
    std::size_t i = 0;
    do {
      i = random_.below(static_cast<unsigned>(nodes_.size()));
    } while (nodes_[i]->is_loss);
    return i;
  }

  void add_node() {
    if (nodes_.size() >= kMostNodes) {
      return;
    }
    auto node = std::make_unique<Node>();
    node->kind = nodes_.empty()
                     ? Kind::kInput
                     : static_cast<Kind>(random_.below(static_cast<unsigned>(Kind::kCount)));
    node->is_loss = node->kind == Kind::kLoss;
    for (unsigned i = 0; i < kSize; ++i) {
      node->numbers.push_back(static_cast<float>(random_.uniform(-1, 1)));
    }
    const unsigned limit = node->kind == Kind::kScaleBy ? kSize : kTableRows;
    node->indices = {random_.below(limit), random_.below(limit)};
    if (node->kind == Kind::kCell) {
      node->indices[0] = random_.below(2);
    }
    for (int i = 0; i < 2 && !nodes_.empty(); ++i) {
      node->args.push_back(any_vector());
    }
    Expression e;
    happen("build " + std::to_string(nodes_.size()) + " of kind " +
               std::to_string(static_cast<int>(node->kind)),
           [&] { e = build(*node, *graph_, model_, made_); });
    nodes_.push_back(std::move(node));
    made_.push_back(e);
    versions_.emplace_back();
  }

  /// Which version of the model the values that there are were computed with.
  void note_versions() {
    const execute::Values& values = graph_->state().executor.values();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (made_[i].i >= values.size() || !values.has(made_[i].i)) {
        versions_[i].reset();
      } else if (!versions_[i]) {
        versions_[i] = copies_.newest();
      }
    }
  }
  [[nodiscard]] std::size_t version_of(std::size_t i) const {
    return is_live(i) ? copies_.newest() : versions_[i].value_or(copies_.newest());
  }
  /// Does a node show the memory of a parameter, whenever it is read?
  [[nodiscard]] bool is_live(std::size_t i) const {
    const Kind kind = nodes_[i]->kind;
    return kind == Kind::kBias ||
           ((kind == Kind::kReshape || kind == Kind::kDetach) && is_live(nodes_[i]->args[0]));
  }
  [[nodiscard]] bool has_versions() const {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (version_of(i) != copies_.newest()) {
        return true;
      }
    }
    return false;
  }

  /// Node `i` for a reader of version `version`: a node that shows a parameter is built anew.
  Expression read(std::size_t i, std::size_t version, ComputationGraph& cg,
                  const std::vector<Expression>& made) {
    if (!is_live(i) || version == copies_.newest()) {
      return made[i];
    }
    std::vector<Expression> own = made;
    if (nodes_[i]->kind != Kind::kBias) {
      own[nodes_[i]->args[0]] = read(nodes_[i]->args[0], version, cg, made);
    }
    return build(*nodes_[i], cg, copies_.at(version), own);
  }

  /// The value of node `i` from the list, or with `from` the gradient of `i` from that root.
  std::vector<double> recompute(std::size_t i, std::optional<std::size_t> from = {}) {
    ComputationGraph cg(false);
    std::vector<Expression> made;
    for (std::size_t k = 0; k <= std::max(i, from.value_or(0)); ++k) {
      const std::size_t version = version_of(k);
      std::vector<Expression> read_by_it = made;
      for (const std::size_t a : nodes_[k]->args) {
        read_by_it[a] = read(a, version, cg, made);
      }
      made.push_back(build(*nodes_[k], cg, copies_.at(version), read_by_it));
    }
    if (!from) {
      return numbers(made[i].value());
    }
    copies_.reset_gradients();
    cg.backward(made[*from], full_);
    return numbers(made[i].gradient());
  }

  /// Runs a backward pass. False if it was refused, as values from before a change are gone.
  bool goes_back(const std::string& what, const std::function<void()>& f) {
    const bool has_old = has_versions();
    try {
      happen(what, f);
    } catch (const errors::GraphError& e) {
      FailingNew::armed = false;
      memory::set_cap(0);
      EXPECT_TRUE(has_old) << e.what();
      EXPECT_NE(std::string(e.what()).find("was changed (update)"), std::string::npos) << e.what();
      ++outcomes_.gone;
      return false;
    }
    outcomes_.kept += has_old ? 1 : 0;
    return true;
  }

  void check_value() {
    const std::size_t i = random_.below(static_cast<unsigned>(nodes_.size()));
    const bool anew = random_.chance(0.3);
    std::vector<double> found;
    happen((anew ? "forward " : "value ") + std::to_string(i), [&] {
      const Tensor& t = anew ? graph_->forward(made_[i]) : made_[i].value();
      FailingNew::armed = false;
      found = numbers(t);
    });
    if (anew) {
      was_backward_ = false;
      versions_.assign(versions_.size(), {});
    }
    EXPECT_EQ(compare(found, recompute(i), tolerance::kLongInDouble), "") << "value of " << i;
  }

  void check_backward() {
    std::vector<std::size_t> losses;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i]->is_loss) {
        losses.push_back(i);
      }
    }
    if (losses.empty()) {
      return;
    }
    const std::size_t root = losses[random_.below(static_cast<unsigned>(losses.size()))];
    const bool full = random_.chance(0.3);
    const std::vector<double> before = model_.gradients();
    if (!goes_back("backward " + std::to_string(root),
                   [&] { graph_->backward(made_[root], full); })) {
      was_backward_ = false;
      EXPECT_EQ(model_.gradients(), before);
      return;
    }
    root_ = root;
    full_ = full;
    was_backward_ = true;
    recompute(root, root);
    std::vector<double> expected = copies_.gradients();
    for (std::size_t k = 0; k < expected.size(); ++k) {
      expected[k] += before[k];
    }
    EXPECT_EQ(compare(model_.gradients(), expected, tolerance::kLongInDouble), "")
        << "gradients from " << root;
    if (random_.chance(0.3)) {
      model_.all.reset_gradient();
    }
  }

  void check_gradient() {
    if (!was_backward_) {
      return;
    }
    const std::size_t i = random_.below(static_cast<unsigned>(root_ + 1));
    if (is_live(i) && has_versions()) {
      return;  // one node here, and a node for each version in the recomputation
    }
    std::vector<double> found;
    if (!goes_back("gradient " + std::to_string(i), [&] {
          const Tensor& t = made_[i].gradient();
          FailingNew::armed = false;
          found = numbers(t);
        })) {
      return;
    }
    EXPECT_EQ(compare(found, recompute(i, root_), tolerance::kLongInDouble), "")
        << "gradient of " << i << " from " << root_;
  }

  void checkpoint() {
    happen("checkpoint", [&] { graph_->checkpoint(); });
    marks_.push_back(nodes_.size());
  }

  void revert() {
    happen("revert", [&] { graph_->revert(); });
    if (marks_.empty()) {
      return;
    }
    nodes_.resize(marks_.back());
    made_.resize(marks_.back());
    versions_.resize(marks_.back());
    marks_.pop_back();
    was_backward_ = false;
  }

  void set() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i]->kind == Kind::kInput && random_.chance(0.5)) {
        nodes_[i]->numbers[0] += 0.5F;
        const std::vector<float> now = nodes_[i]->numbers;
        happen("set " + std::to_string(i),
               [&] { ext::set_payload(made_[i], std::span<const float>(now)); });
        was_backward_ = false;
        return;
      }
    }
  }

  /// Memory behind pointers is read again after values were forgotten.
  void change_pointed() {
    for (auto& node : nodes_) {
      if (node->kind == Kind::kInputPointer) {
        node->numbers[1] -= 0.25F;
      }
      if (node->kind == Kind::kLookupPointer || node->kind == Kind::kScaleBy) {
        node->indices[0] = (node->indices[0] + 1) % kSize;
      }
    }
    happen("invalidate", [&] { graph_->invalidate(); });
    was_backward_ = false;
  }

  void fail_to_build() {
    const auto size = graph_->nodes.size();
    EXPECT_THROW(concatenate({made_[0], parameter(*graph_, model_.w)}, 2U) * made_[0],
                 errors::ShapeError);
    EXPECT_THROW(lookup(*graph_, model_.e, kTableRows), errors::IndexError);
    EXPECT_THROW(lookup(*graph_, model_.e, std::vector<unsigned>{0, kTableRows}),
                 errors::IndexError);
    EXPECT_LE(graph_->nodes.size(), size + 2);
  }

  void clear() {
    happen("clear", [&] { graph_->clear(); });
    nodes_.clear();
    made_.clear();
    versions_.clear();
    marks_.clear();
    was_backward_ = false;
    for (int i = 0; i < 3; ++i) {
      add_node();
    }
  }

  Random random_;
  Model& model_;
  Copies& copies_;
  Outcomes& outcomes_;
  bool is_loud_;
  std::unique_ptr<ComputationGraph> graph_;
  std::vector<std::unique_ptr<Node>> nodes_;  ///< pointers into them are payload
  std::vector<Expression> made_;
  std::vector<std::optional<std::size_t>> versions_;  ///< of the nodes that have a value
  std::vector<std::size_t> marks_;
  bool was_backward_ = false;
  std::size_t root_ = 0;
  bool full_ = false;
};

/// Two graphs of one model, taking turns, and an update now and then.
void run_sessions(std::uint64_t seed, bool is_loud, Outcomes& outcomes) {
  Random random(seed);
  reset_rng(static_cast<unsigned>(seed));
  std::optional<Model> model;
  {
    const DefaultDevice device(double_device());
    model.emplace();
  }
  Copies copies;
  copies.take(*model);
  SimpleSGDTrainer trainer(model->all, 0.05F);
  Session one(2 * seed, *model, copies, outcomes, is_loud);
  Session other(2 * seed + 1, *model, copies, outcomes, is_loud);
  for (int event = 0; event < 60 && !::testing::Test::HasFailure(); ++event) {
    (random.chance(0.7) ? one : other).step();
    if (random.chance(0.03)) {
      if (is_loud) {
        std::printf("update\n");
      }
      trainer.update();
      copies.take(*model);
      if (random.chance(0.5)) {
        one.forget_values();
        other.forget_values();
      }
    }
  }
}

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(RandomSessions, AgreeWithAPlainRecomputation) {
  const std::uint64_t only = number_from("DYNET_TEST_SEED", 0);
  const std::uint64_t count = number_from("DYNET_TEST_SESSIONS", trials(6000U, 2000U));
  const std::uint64_t first = only == 0 ? 1 : only;
  Outcomes outcomes;
  for (std::uint64_t seed = first; seed < (only == 0 ? first + count : first + 1); ++seed) {
    SCOPED_TRACE("DYNET_TEST_SEED=" + std::to_string(seed));
    run_sessions(seed, only != 0, outcomes);
    if (HasFailure()) {
      return;
    }
  }
  if (count >= 1000 && only == 0) {
    // The purpose of the test; about one session of 200 meets it, so that fewer than a fifth of
    // that is no chance.
    EXPECT_GT(outcomes.kept, count / 20);
    EXPECT_GT(outcomes.gone, count / 1000);
  }
}

}  // namespace
}  // namespace dynet::testing
