// The tenth identical step allocates nothing on the heap: build, forward, backward and update of a
// tree and of a tagger's sentence, written with the builders.
//
// Every way to the heap is counted: operator new and, unless a sanitizer stands in between, malloc
// and its relatives.

#include <execinfo.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>

#include "dynet/adaptive-softmax.h"
#include "dynet/deep-lstm.h"
#include "dynet/expr.h"
#include "dynet/ext/add_node.h"
#include "dynet/fast-lstm.h"
#include "dynet/gru.h"
#include "dynet/hsm-builder.h"
#include "dynet/lstm.h"
#include "dynet/sampled-softmax.h"
#include "dynet/training.h"
#include "dynet/tree-builders.h"
#include "dynet/treelstm.h"

#include "testing/random.h"
#include "testing/sanitized.h"
#include "testing/temporary_folder.h"
#include "user_ops/indices.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<long> allocations{0};

// The call stacks of the first allocations, for the message of a failure.
constexpr int kKept = 6;
constexpr int kFrames = 16;
void* stacks[kKept][kFrames];
int depths[kKept];

void count() {
  if (!counting.load(std::memory_order_relaxed)) {
    return;
  }
  const long number = allocations.fetch_add(1, std::memory_order_relaxed);
  if (number < kKept) {
    counting = false;  // backtrace may allocate
    depths[number] = backtrace(stacks[number], kFrames);
    counting = true;
  }
}

void print_stacks() {
  for (long i = 0; i < std::min<long>(allocations, kKept); ++i) {
    std::fprintf(stderr, "allocation %ld:\n", i + 1);
    backtrace_symbols_fd(stacks[i], depths[i], 2);
  }
}

}  // namespace

#if defined(DYNET_SANITIZED) || !defined(__GLIBC__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // gcc sees free, not that new is ours too
void* operator new(std::size_t bytes) {
  count();
  if (void* p = std::malloc(bytes)) {
    return p;
  }
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
#else
// glibc's own names behind the public ones. operator new comes here too.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

void* malloc(std::size_t bytes) noexcept {
  count();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t n, std::size_t bytes) noexcept {
  count();
  return __libc_calloc(n, bytes);
}
void* realloc(void* p, std::size_t bytes) noexcept {
  count();
  return __libc_realloc(p, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  count();
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  count();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** p, std::size_t alignment, std::size_t bytes) noexcept {
  count();
  *p = __libc_memalign(alignment, bytes);
  return *p == nullptr ? ENOMEM : 0;
}
}
#endif

namespace dynet {
namespace {

using testing::Random;

long allocations_of(const auto& work) {
  allocations = 0;
  counting = true;
  work();
  counting = false;
  return allocations;
}

TEST(Counter, SeesAllocations) {
  EXPECT_GE(allocations_of([] {
              auto p = std::make_unique<std::vector<int>>(100);
              p->push_back(1);
            }),
            3);
  EXPECT_EQ(allocations_of([] {}), 0);
}

/// A binary tree over words: the steps in order, computed before the test.
struct TreePlan {
  std::vector<unsigned> words;
  struct Join {
    std::size_t left, right;
  };
  std::vector<Join> joins;  ///< states are numbered as they are made
  explicit TreePlan(unsigned length) {
    Random random(3);
    std::vector<std::size_t> open;
    for (unsigned i = 0; i < length; ++i) {
      words.push_back(random.below(30));
      open.push_back(i);
    }
    std::size_t next = length;
    while (open.size() > 1) {
      const unsigned at = random.below(static_cast<unsigned>(open.size()) - 1);
      joins.push_back({open[at], open[at + 1]});
      open[at] = next++;
      open.erase(open.begin() + at + 1);
    }
  }
};

enum class Graphs { kNewEachStep, kCleared };
std::string name_of(const ::testing::TestParamInfo<std::tuple<Graphs, bool>>& info) {
  return std::string(std::get<0>(info.param) == Graphs::kCleared ? "Cleared" : "NewEachStep") +
         (std::get<1>(info.param) ? "Batched" : "OneByOne");
}

class Allocation : public ::testing::TestWithParam<std::tuple<Graphs, bool>> {
 protected:
  /// Runs `step(graph)` ten times and counts the tenth.
  void expect_none(const auto& step, Trainer& trainer) const {
    const auto [graphs, batching] = GetParam();
    std::unique_ptr<ComputationGraph> kept;
    if (graphs == Graphs::kCleared) {
      kept = std::make_unique<ComputationGraph>(batching);
    }
    const auto one = [&, batches = batching] {
      if (kept != nullptr) {
        kept->clear();
        step(*kept);
      } else {
        ComputationGraph cg(batches);
        step(cg);
      }
      trainer.update();
    };
    for (int i = 0; i < 9; ++i) {
      one();
    }
    EXPECT_EQ(allocations_of(one), 0);
    print_stacks();
  }
};
INSTANTIATE_TEST_SUITE_P(Steps, Allocation,
                         ::testing::Combine(::testing::Values(Graphs::kNewEachStep,
                                                              Graphs::kCleared),
                                            ::testing::Bool()),
                         name_of);

TEST_P(Allocation, TreeLstm) {
  ParameterCollection model;
  BinaryTreeLSTMBuilder tree(16, 16, model);
  LookupParameter words = model.add_lookup_parameters(30, {16});
  Parameter classifier = model.add_parameters({5, 16});
  AdamTrainer trainer(model);
  const TreePlan plan(13);
  std::vector<Expression> losses;
  losses.reserve(64);
  std::vector<TreeState> states;
  states.reserve(64);
  expect_none(
      [&](ComputationGraph& cg) {
        losses.clear();
        states.clear();
        tree.new_graph(cg);
        const Expression w = parameter(cg, classifier);
        for (const unsigned word : plan.words) {
          states.push_back(tree.add_input(lookup(cg, words, word)));
        }
        for (const TreePlan::Join& j : plan.joins) {
          states.push_back(tree.add_input(states[j.left], states[j.right]));
        }
        for (std::size_t i = 0; i < states.size(); ++i) {
          losses.push_back(pickneglogsoftmax(w * states[i].h, static_cast<unsigned>(i % 5)));
        }
        const Expression loss = sum(losses);
        cg.forward(loss);
        cg.backward(loss);
      },
      trainer);
}

TEST_P(Allocation, TaggerSentence) {
  ParameterCollection model;
  VanillaLSTMBuilder forward(1, 12, 10, model);
  VanillaLSTMBuilder backward(1, 12, 10, model);
  LookupParameter words = model.add_lookup_parameters(50, {12});
  Parameter w = model.add_parameters({8, 20});
  Parameter b = model.add_parameters({8});
  SimpleSGDTrainer trainer(model);
  constexpr unsigned kLength = 15;
  std::vector<Expression> inputs(kLength);
  std::vector<Expression> left(kLength);
  std::vector<Expression> right(kLength);
  std::vector<Expression> losses(kLength);
  expect_none(
      [&](ComputationGraph& cg) {
        forward.new_graph(cg);
        backward.new_graph(cg);
        forward.start_new_sequence();
        backward.start_new_sequence();
        for (unsigned i = 0; i < kLength; ++i) {
          inputs[i] = lookup(cg, words, (i * 7) % 50);
        }
        for (unsigned i = 0; i < kLength; ++i) {
          left[i] = forward.add_input(inputs[i]);
        }
        for (unsigned i = kLength; i-- > 0;) {
          right[i] = backward.add_input(inputs[i]);
        }
        const Expression pw = parameter(cg, w);
        const Expression pb = parameter(cg, b);
        for (unsigned i = 0; i < kLength; ++i) {
          losses[i] = pickneglogsoftmax(
              affine_transform({pb, pw, concatenate({left[i], right[i]})}), i % 8);
        }
        const Expression loss = sum(losses);
        cg.forward(loss);
        cg.backward(loss);
      },
      trainer);
}

/// Two sequences through two layers, with dropout.
template <class Builder>
class Sequences {
 public:
  template <class... Options>
  explicit Sequences(Options... options)
      : builder(2, 6, 7, model, options...),
        trainer(model),
        words_(model.add_lookup_parameters(20, {6})) {
    builder.set_dropout(0.3F);
    losses_.reserve(20);
  }
  void add(ComputationGraph& cg) {
    losses_.clear();
    builder.new_graph(cg);
    for (const unsigned length : {7U, 4U}) {
      builder.start_new_sequence();
      for (unsigned i = 0; i < length; ++i) {
        losses_.push_back(squared_norm(builder.add_input(lookup(cg, words_, i + length))));
      }
      builder.rewind_one_step();
      losses_.push_back(sum_elems(builder.back()));
    }
    const Expression loss = sum(losses_);
    cg.forward(loss);
    cg.backward(loss);
  }
  ParameterCollection model;
  Builder builder;
  AdamTrainer trainer;

 private:
  LookupParameter words_;
  std::vector<Expression> losses_;
};

TEST_P(Allocation, RecurrentBuilders) {
  const auto check = [&](auto& sequences) {
    expect_none([&](ComputationGraph& cg) { sequences.add(cg); }, sequences.trainer);
  };
  Sequences<SimpleRNNBuilder> simple;
  check(simple);
  Sequences<GRUBuilder> gru;
  check(gru);
  Sequences<VanillaLSTMBuilder> normalised(true);
  check(normalised);
  Sequences<SparseLSTMBuilder> sparse;
  sparse.builder.set_sparsity(0.5F);
  check(sparse);
  Sequences<CompactVanillaLSTMBuilder> compact;
  compact.builder.set_weightnoise(0.1F);
  check(compact);
  Sequences<CoupledLSTMBuilder> coupled;
  check(coupled);
  Sequences<FastLSTMBuilder> fast;
  check(fast);
  Sequences<DeepLSTMBuilder> deep;
  check(deep);
}

TEST_P(Allocation, TreesWithAnyNumberOfChildren) {
  const std::vector<std::vector<int>> trees[] = {{{}, {}, {0, 1}, {2}}, {{}, {0}, {}, {1, 2, 0}}};
  const auto check = [&](auto&& tree, ParameterCollection& model) {
    const LookupParameter words = model.add_lookup_parameters(20, {8});
    AdamTrainer trainer(model);
    std::vector<Expression> losses;
    losses.reserve(2);
    tree.set_dropout(0.3F);
    expect_none(
        [&](ComputationGraph& cg) {
          losses.clear();
          tree.new_graph(cg);
          for (const auto& children : trees) {
            tree.start_new_sequence();
            tree.set_num_elements(5);  // one more than there are
            for (int id = 0; id < 4; ++id) {
              tree.add_input(id, children[static_cast<std::size_t>(id)],
                             lookup(cg, words, static_cast<unsigned>(id)));
            }
            losses.push_back(squared_norm(tree.back()));
          }
          const Expression loss = sum(losses);
          cg.forward(loss);
          cg.backward(loss);
        },
        trainer);
  };
  ParameterCollection model;
  check(NaryTreeLSTMBuilder(2, 2, 8, 8, model), model);
  check(ChildSumTreeLSTMBuilder(2, 8, 8, model), model);
  check(TreeGRUBuilder(2, 8, 8, model), model);
  check(UnidirectionalTreeLSTMBuilder(2, 8, 8, model), model);
  check(BidirectionalTreeLSTMBuilder(2, 8, 8, model), model);
}

/// Losses of words one by one and as a batch.
template <class Builder>
void add_softmax(ComputationGraph& cg, Builder& builder, const Expression& x,
                 std::vector<Expression>& losses) {
  static const std::vector<unsigned> batch{3, 0, 2, 2, 1, 3};
  builder.new_graph(cg);
  for (unsigned word = 0; word < 4; ++word) {
    losses.push_back(builder.neg_log_softmax(pick_batch_elem(x, word), word));
  }
  losses.push_back(sum_batches(builder.neg_log_softmax(x, batch)));
}

TEST_P(Allocation, SoftmaxBuilders) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.file("classes")) << "a w0\nb w1\na w2\nc w3\nb w4\n";
  std::ofstream(folder.file("paths")) << "0 0\tw0\n1\tw1\n0 1\tw2\n0 2\tw3\n1\tw4\n";
  ParameterCollection model;
  Dict words;
  StandardSoftmaxBuilder standard(4, 5, model);
  ClassFactoredSoftmaxBuilder classes(4, folder.file("classes"), words, model);
  HierarchicalSoftmaxBuilder paths(4, folder.file("paths"), words, model);
  AdaptiveSoftmaxBuilder adaptive(4, 5, {2, 3}, model);
  std::vector<SampledSoftmaxBuilder> sampled;
  for (const auto loss :
       {SampledLoss::kNce, SampledLoss::kSampledSoftmax, SampledLoss::kBlackOut}) {
    sampled.emplace_back(4, NoiseDistribution({5, 4, 3, 2, 1}), 3, loss, model);
  }
  const std::vector<unsigned> batch{3, 0, 2, 2, 1, 3};
  const std::vector<unsigned> noise{3, 4, 1};
  AdamTrainer trainer(model);
  const std::vector<float> data(24, 0.5F);
  std::vector<Expression> losses;
  losses.reserve(40);
  expect_none(
      [&](ComputationGraph& cg) {
        losses.clear();
        const Expression x = input(cg, Dim({4}, 6), data);
        add_softmax(cg, standard, x, losses);
        add_softmax(cg, classes, x, losses);
        add_softmax(cg, paths, x, losses);
        add_softmax(cg, adaptive, x, losses);
        for (SampledSoftmaxBuilder& builder : sampled) {
          builder.new_graph(cg);
          builder.set_noise(noise);
          losses.push_back(builder.sampled_loss(pick_batch_elem(x, 0U), 2));
          losses.push_back(sum_batches(builder.sampled_loss(x, batch)));
        }
        cg.backward(sum(losses));
      },
      trainer);
}

/// Operations that ask for more: memory of a call, lists of indices, saved integers.
TEST_P(Allocation, OperationsFromOutside) {
  ParameterCollection model;
  Parameter w = model.add_parameters({6, 10});
  AdamTrainer trainer(model);
  const std::vector<float> data(30, 0.5F);
  const std::vector<unsigned> rows{1, 5, 1};
  expect_none(
      [&](ComputationGraph& cg) {
        const Expression x = input(cg, Dim({10}, 3), data);
        const Expression y = ext::add_node(user::ThereAndBack{}, parameter(cg, w), x);
        const Expression z = ext::add_node(user::ThereAndBack{}, parameter(cg, w), y);
        const Expression chosen =
            ext::add_node(user::SelectRows{}, parameter(cg, w), ext::NodePayload::of(rows));
        const Expression loss = sum_batches(ext::add_node(user::Largest{}, y + z));
        cg.backward(loss + sum_elems(chosen));
      },
      trainer);
}

/// With values asked for in between, inputs, dropout and broadcasting.
TEST_P(Allocation, MixedGraph) {
  ParameterCollection model;
  Parameter w = model.add_parameters({10, 10});
  Parameter b = model.add_parameters({10});
  AdamTrainer trainer(model);
  const std::vector<float> data(30, 0.5F);
  const std::vector<unsigned> labels{1, 2, 3};
  expect_none(
      [&](ComputationGraph& cg) {
        const Expression x = input(cg, Dim({10}, 3), data);
        Expression h = tanh(parameter(cg, w) * x + parameter(cg, b));
        h = dropout(h, 0.2F);
        static_cast<void>(h.value());
        const Expression loss = sum_batches(pickneglogsoftmax(softmax(h) * 2.0F + h, labels));
        static_cast<void>(loss.value());
        cg.backward(loss);
      },
      trainer);
}

/// Gradients to which many nodes add: of a parameter, and of rows of two tables.
TEST_P(Allocation, LongGradients) {
  ParameterCollection model;
  LookupParameter words = model.add_lookup_parameters(9, {4});
  LookupParameter tags = model.add_lookup_parameters(9, {4});
  Parameter bias = model.add_parameters({4});
  AdamTrainer trainer(model);
  std::vector<unsigned> rows;
  for (unsigned i = 0; i < 150; ++i) {
    rows.push_back(i % 2);
  }
  std::vector<Expression> terms;
  terms.reserve(300);
  expect_none(
      [&](ComputationGraph& cg) {
        terms.assign(1, sum_batches(lookup(cg, words, rows) + lookup(cg, tags, rows)));
        const Expression b = parameter(cg, bias);
        for (unsigned i = 0; i < 100; ++i) {
          terms.push_back(tanh(lookup(cg, tags, 5U) + b));
        }
        cg.backward(sum_elems(sum(terms)));
      },
      trainer);
}

/// The table of live graphs forgets the places where graphs were.
TEST(Graphs, AtEverNewPlacesTakeNoMemory) {
  struct alignas(ComputationGraph) Room {
    std::byte bytes[sizeof(ComputationGraph)];
  };
  std::vector<Room> rooms(4096);
  const auto use = [](Room& room) {
    auto* graph = new (&room) ComputationGraph(true);
    static_cast<void>(input(*graph, 1.0F));
    graph->~ComputationGraph();
  };
  use(rooms[0]);
  EXPECT_EQ(allocations_of([&] { std::for_each(rooms.begin(), rooms.end(), use); }), 0);
}

}  // namespace
}  // namespace dynet
