#include "memory/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <string>

#include "dynet/except.h"
#include "dynet/ops/activation.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/input.h"
#include "dynet/ops/linear.h"
#include "dynet/ops/recurrent.h"
#include "dynet/ops/shape.h"

#include "schedule/policy.h"
#include "schedule/shorten.h"

namespace dynet::memory {
namespace {

using graph::NodeId;

/// Graphs of shapes alone: no number is ever computed.
struct LayoutTest : ::testing::Test {
  graph::Interner interner;
  graph::Graph graph{interner};
  schedule::Scheduler scheduler;
  schedule::Plan plan;
  LayoutMaker maker;
  Layout layout;
  util::Stamped<std::uint8_t> stays;
  std::vector<NodeId> weights;

  template <class Op>
  NodeId add(const Op& op, std::vector<NodeId> args) {
    return graph.add(ext::kRecord<Op>, &op, args, {}, {}, 1);
  }
  NodeId leaf(const Dim& dim) { return add(ops::Constant{dim, 1.0F}, {}); }

  /// Weights are computed already, as parameters are.
  [[nodiscard]] bool is_weight(NodeId n) const {
    return std::find(weights.begin(), weights.end(), n) != weights.end();
  }
  NodeId weight(const Dim& dim) {
    weights.push_back(leaf(dim));
    return weights.back();
  }
  void schedule_all() {
    std::vector<NodeId> wanted;
    for (NodeId n = 0; n < graph.size(); ++n) {
      if (graph.owner(n) == n && !is_weight(n)) {
        wanted.push_back(n);
      }
    }
    scheduler.plan(graph, wanted, plan);
  }
  /// Cuts and reorders the plan as an inference scope does.
  void shorten(const schedule::Shortener::Limits& limits = {}) {
    const schedule::Plan longer = plan;
    schedule::Shortener shortener;
    shortener.set_limits(limits);
    shortener.shorten(graph, longer, plan);
  }
  void lay_out_keeping(const std::vector<NodeId>& kept) {
    stays.begin(graph.size());
    for (const NodeId n : kept) {
      stays.set(n, 1);
    }
    maker.lay_out(graph, plan, stays, layout);
  }
  void lay_out_keeping_all() {
    std::vector<NodeId> all(graph.size());
    std::iota(all.begin(), all.end(), NodeId{0});
    lay_out_keeping(all);
  }

  /// The size of all results of the plan and of all numbers saved for the backward pass.
  [[nodiscard]] std::int64_t bytes_of_all() const {
    std::int64_t sum = 0;
    for (const NodeId m : plan.members) {
      const graph::Signature& signature = *graph[m].signature;
      for (std::uint32_t k = 0; k < signature.record->outputs; ++k) {
        sum += graph.bytes(m + k);
      }
      for (std::uint32_t k = 0; k < signature.record->saved; ++k) {
        sum += signature.saved[k].elements() * graph.examples(m) *
               ext::saved_bytes(signature.record->saved_as[k], signature.number);
      }
    }
    return sum;
  }

  struct Place {
    std::uint32_t block;
    std::int64_t offset;
    std::int64_t bytes;
  };
  std::map<NodeId, Place> places;                  // of all results
  std::vector<std::vector<std::int64_t>> writers;  // block -> byte -> who wrote it last

  void write(std::int64_t who, const Place& place) {
    ASSERT_GE(place.offset, 0);
    ASSERT_LE(place.offset + place.bytes, layout.blocks[place.block].bytes);
    std::fill_n(writers[place.block].begin() + place.offset, place.bytes, who);
  }
  [[nodiscard]] bool is_intact(std::int64_t who, const Place& place) const {
    const auto first = writers[place.block].begin() + place.offset;
    return std::all_of(first, first + place.bytes, [&](std::int64_t w) { return w == who; });
  }
  void expect_shown(NodeId n, const Place& place, NodeId reader) const {
    while (graph[n].output == 0 && graph[n].record().aliases) {
      n = graph.args(n)[0];
    }
    EXPECT_TRUE(is_intact(n, place)) << "node " << n << ", read by node " << reader;
  }
  [[nodiscard]] std::span<const NodeId> members_of(std::size_t g) const {
    const schedule::Group& group = plan.groups[g];
    return std::span(plan.members).subspan(group.first, group.members);
  }
  [[nodiscard]] const graph::Signature& first_of(std::size_t g) const {
    return *graph[members_of(g)[0]].signature;
  }

  void write_outputs(std::size_t g) {
    const schedule::Group& group = plan.groups[g];
    std::uint32_t i = 0;
    for (const NodeId m : members_of(g)) {
      const ext::Record& record = graph[m].record();
      if (record.aliases) {
        places[m] = places.at(graph.args(m)[0]);
        continue;
      }
      for (std::uint32_t k = 0; k < record.outputs && group.part != schedule::Part::kRest; ++k) {
        places[m + k] = {layout.block[g], layout.output(group, g, k, i), graph.bytes(m + k)};
        write(m + k, places[m + k]);
      }
      ++i;
    }
  }
  void write_saved(std::size_t g) {
    if (plan.groups[g].part == schedule::Part::kRest) {
      return;
    }
    const graph::Signature& signature = first_of(g);
    const ext::Record& record = *signature.record;
    std::int64_t examples = 0;
    for (const NodeId m : members_of(g)) {
      examples += record.has_whole ? 1 : graph.examples(m);
    }
    for (std::uint32_t k = 0; k < record.saved; ++k) {
      const Dim& dim = signature.saved[k];  // of one example, or of a node with its batch
      const std::int64_t at = layout.saved[g * ext::kMaxSaved + k];
      EXPECT_EQ(at % Layout::kAlignment, 0);
      write(-2 - static_cast<std::int64_t>(g * ext::kMaxSaved + k),
            {layout.block[g], at,
             dim.elements() * examples * ext::saved_bytes(record.saved_as[k], signature.number)});
    }
  }
  /// The arguments and the results of a group that was just computed.
  void expect_intact(std::size_t g) {
    const schedule::Group& group = plan.groups[g];
    for (const NodeId m : members_of(g)) {
      for (std::uint32_t a = 0; a < graph[m].arity; ++a) {
        if ((a >= schedule::kMaxMaskedArgs || ((group.args >> a) & 1) != 0) &&
            !is_weight(graph.args(m)[a])) {
          expect_shown(graph.args(m)[a], places.at(graph.args(m)[a]), m);
        }
      }
      for (std::uint32_t k = 0; k < graph[m].record().outputs; ++k) {
        EXPECT_TRUE(is_intact(m + k, places.at(m + k))) << "result of node " << m;
      }
    }
  }

  /// Follows the plan as an executor would, with the last writer of each byte: every argument must
  /// still be as its node wrote it, and kept results must be there at the end, below kept_bytes.
  void expect_sound() {
    places.clear();
    writers.clear();
    writers.reserve(layout.blocks.size());
    for (const Layout::Block& block : layout.blocks) {
      writers.emplace_back(static_cast<std::size_t>(block.bytes), -1);
      EXPECT_EQ(block.kept_bytes % Layout::kAlignment, 0);
    }
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
      EXPECT_EQ(layout.blocks[layout.block[g]].memory, first_of(g).device->memory);
      write_outputs(g);
      if (!first_of(g).record->aliases) {
        write_saved(g);
        expect_intact(g);
      }
    }
    for (const auto& [n, place] : places) {
      if (stays[n] != 0) {
        expect_shown(n, place, n);
        EXPECT_LE(place.offset + place.bytes, layout.blocks[place.block].kept_bytes);
      } else if (graph[n].output != 0 || !graph[n].record().aliases) {
        EXPECT_GE(place.offset, layout.blocks[place.block].kept_bytes);
      }
    }
  }

  /// An LSTM over `steps` vectors {rows} x `batch`; its last output.
  NodeId lstm(unsigned steps, unsigned rows, unsigned batch) {
    const NodeId w = weight({4 * rows, rows});
    const NodeId u = weight({4 * rows, rows});
    const NodeId b = weight({4 * rows});
    const Dim state = Dim({rows}, batch);
    NodeId h = leaf(state);
    NodeId c = leaf(state);
    for (unsigned t = 0; t < steps; ++t) {
      const NodeId x = leaf(state);
      const NodeId gates = add(ops::AffineTransform{}, {b, w, x, u, h});
      c = add(ops::LstmCell{}, {gates, c});
      h = c + 1;
    }
    return h;
  }
};

TEST_F(LayoutTest, MembersLieSideBySideAndRunsAreAligned) {
  const NodeId x = leaf({3});
  leaf({3});
  leaf({3});
  leaf({5});
  schedule_all();
  lay_out_keeping_all();
  ASSERT_EQ(plan.groups.size(), 2U);
  ASSERT_EQ(plan.members[0], x);
  EXPECT_EQ(layout.outputs, (std::vector<std::int64_t>{0, 12, 24, 64}));
  EXPECT_EQ(layout.bytes(), 128);
  EXPECT_EQ(layout.kept_bytes(), 128);
}

TEST_F(LayoutTest, SeveralResultsAndSavedOnesHaveRunsOfTheirOwn) {
  const NodeId gates = leaf({8});
  const NodeId c = leaf({2});
  const NodeId cell = add(ops::LstmCell{}, {gates, c});
  schedule_all();
  lay_out_keeping_all();
  const std::size_t last = plan.groups.size() - 1;
  ASSERT_EQ(plan.members[plan.groups[last].first], cell);
  EXPECT_EQ(layout.output(plan.groups[last], last, 0, 0), 128);
  EXPECT_EQ(layout.output(plan.groups[last], last, 1, 0), 192);
  EXPECT_EQ(layout.saved[last * ext::kMaxSaved], 256);
  expect_sound();
}

TEST_F(LayoutTest, MemoryIsUsedAgain) {
  NodeId n = leaf({16});
  for (int i = 0; i < 100; ++i) {
    n = add(ops::Tanh{}, {n});
  }
  schedule_all();
  lay_out_keeping({n});
  expect_sound();
  EXPECT_EQ(layout.kept_bytes(), 64);
  EXPECT_EQ(layout.bytes(), 64 + 2 * 64);  // an argument and a result at a time
}

TEST_F(LayoutTest, WhatAnAliasShowsStays) {
  const NodeId x = leaf({4, 4});
  const NodeId y = add(ops::Tanh{}, {x});
  const NodeId alias = add(ops::Reshape{{16}}, {y});
  const NodeId z = add(ops::Tanh{}, {add(ops::Tanh{}, {add(ops::Tanh{}, {x})})});
  schedule_all();
  lay_out_keeping({alias, z});
  EXPECT_EQ(stays[y], 1);
  EXPECT_EQ(stays[x], 0);
  expect_sound();
}

TEST_F(LayoutTest, MembersOfAGroupStayOneByOne) {
  std::vector<NodeId> tips;
  tips.reserve(8);
  for (int i = 0; i < 8; ++i) {
    tips.push_back(add(ops::Tanh{}, {leaf({5})}));
  }
  schedule_all();
  lay_out_keeping({tips[2], tips[5]});
  expect_sound();
  EXPECT_EQ(layout.kept_bytes(), 64);  // 40 bytes, side by side
}

/// Mixes its batch into one example and saves the whole batch.
struct Mix {
  static constexpr ext::Info kInfo{.name = "mix", .args = {"x"}};
  static constexpr std::array kRoles{ext::Role::kWhole};
  static constexpr unsigned kSaved = 1;
  Dim shape(const ext::Shapes& in) const { return in[0].single_batch(); }
  std::array<Dim, 1> saved(const ext::Shapes& in) const { return {in[0]}; }
  void forward(ext::Call& /*call*/) const {}
  void backward(ext::Call& /*call*/) const {}
  static std::vector<ext::Example<Mix>> examples() { return {{{}, {{3}}}}; }
};

/// The saved numbers of a node may have more examples than its result.
TEST_F(LayoutTest, SavedBatchesHaveTheirRoom) {
  std::vector<NodeId> ends;
  ends.reserve(3);
  for (int i = 0; i < 3; ++i) {
    ends.push_back(add(Mix{}, {leaf(Dim({40}, 5))}));
  }
  const NodeId end = add(ops::Sum{}, ends);
  schedule_all();
  lay_out_keeping({end});
  expect_sound();
}

/// Devices with one memory share a block, whatever their numbers.
TEST_F(LayoutTest, EachMemoryHasABlock) {
  NodeId end = 0;
  for (const char* name : {"CPU", "CPU:double", "FAR:0", "FAR:1"}) {
    const Device* device = get_device_manager()->get_global_device(name);
    const ops::Constant constant{Dim({5}, 3), 1.0F};
    NodeId n = graph.add(ext::kRecord<ops::Constant>, &constant, {}, {}, {}, 1, device);
    for (int i = 0; i < 6; ++i) {
      n = add(ops::Tanh{}, {n});
    }
    end = n;
  }
  schedule_all();
  lay_out_keeping({end, NodeId{6}});
  expect_sound();
  ASSERT_EQ(layout.blocks.size(), 3U);
  std::int64_t all = 0;
  for (const Layout::Block& block : layout.blocks) {
    EXPECT_EQ(block.kept_bytes,
              block.memory == get_device_manager()->get_global_device("FAR:0")->memory ? 0 : 64);
    all += block.bytes;
  }
  EXPECT_EQ(layout.bytes(), all);
  EXPECT_EQ(layout.kept_bytes(), 2 * 64);
}

TEST_F(LayoutTest, RandomPlansAreSound) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return static_cast<NodeId>(random() % n); };
  for (int round = 0; round < 60; ++round) {
    graph.clear();
    std::vector<NodeId> vectors{leaf({4}), leaf(Dim({4}, 3))};
    const NodeId w = leaf({16, 4});
    for (int i = 0; i < 60; ++i) {
      const NodeId x = vectors[below(vectors.size())];
      const NodeId y = vectors[below(vectors.size())];
      switch (below(6)) {
        case 0:
          vectors.push_back(add(ops::Tanh{}, {x}));
          break;
        case 1:
          vectors.push_back(add(ops::Reshape{graph.dim(x)}, {x}));
          break;
        case 2: {
          const NodeId gates = add(ops::AffineTransform{}, {add(ops::MatMul{}, {w, y}), w, x});
          const NodeId cell = add(ops::LstmCell{}, {gates, y});
          vectors.push_back(cell);
          vectors.push_back(cell + 1);
          break;
        }
        case 3:
          vectors.push_back(leaf(Dim({4}, below(2) == 0 ? 1 : 3)));
          break;
        default:
          vectors.push_back(add(ops::Sum{}, {x, x}));
          break;
      }
    }
    std::vector<NodeId> kept;
    kept.reserve(5);
    for (int i = 0; i < 5; ++i) {
      kept.push_back(vectors[below(vectors.size())]);
    }
    scheduler.choose(round % 2 == 0 ? schedule::kBatching : schedule::kOneByOne);
    schedule_all();
    lay_out_keeping(kept);
    expect_sound();
    shorten({.whole = 0, .piece = 16});
    lay_out_keeping(kept);
    expect_sound();
  }
}

TEST_F(LayoutTest, ALongRecurrenceNeedsATwentiethOfItsResults) {
  for (const unsigned rows : {64U, 512U}) {
    for (const unsigned batch : {16U, 64U}) {
      graph.clear();
      weights.clear();
      const NodeId h = lstm(200, rows, batch);
      schedule_all();
      const std::int64_t all = bytes_of_all();
      shorten();
      lay_out_keeping({h, h - 1});
      expect_sound();
      EXPECT_LE(layout.bytes() * 20, all) << rows << " rows, batch " << batch;
    }
  }
}

TEST_F(LayoutTest, LossesOfEachStepRunBesideTheRecurrence) {
  lstm(200, 64, 8);
  std::vector<NodeId> losses;
  const NodeId v = weight({10, 64});
  for (NodeId n = 0, end = graph.size(); n < end; ++n) {
    if (graph[n].output == 1) {
      losses.push_back(add(ops::SquaredNorm{}, {add(ops::MatMul{}, {v, n})}));
    }
  }
  const NodeId loss = add(ops::Sum{}, losses);
  schedule_all();
  const std::int64_t all = bytes_of_all();
  shorten();
  lay_out_keeping({loss});
  expect_sound();
  EXPECT_LE(layout.bytes() * 12, all);
}

TEST_F(LayoutTest, MoreThanCanBeAddressedIsAnError) {
  const Dim large = Dim({1U << 30, 1U << 30});
  for (int i = 0; i < 8; ++i) {
    leaf(large);
  }
  schedule_all();
  stays.begin(graph.size());
  EXPECT_THROW(maker.lay_out(graph, plan, stays, layout), out_of_memory);
}

}  // namespace
}  // namespace dynet::memory
