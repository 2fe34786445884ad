#pragma once

// The layout of a plan: the places of its results, as numbers. Only the two functions at the end
// touch memory. Example: a group of three tanh of {4} in float takes 48 bytes; its members lie at
// 0, 16 and 32 of a run that starts on kAlignment.

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "memory/pool.h"
#include "schedule/plan.h"
#include "util/stamped.h"

namespace dynet::memory {

/// Offsets in bytes from the start of a block; there is one block for each memory with results of
/// the plan, and blocks start on kAlignment. The results of a group lie side by side in the order
/// of its members, which is the order of their users' calls; each such run starts on kAlignment.
/// Kept results lie below `kept_bytes`; a result above may be overwritten after its last reader in
/// the plan.
///
/// Invariant: two results that are needed at the same time do not overlap. A group of second terms
/// (Part::kRest) has no places of its own, nor has a group of aliases, which lie in their
/// argument's place.
struct Layout {
  static constexpr std::int64_t kAlignment = 64;
  static constexpr std::int64_t kNowhere = -1;

  struct Block {
    ext::Memory* memory;
    std::int64_t kept_bytes = 0;
    std::int64_t bytes = 0;
  };
  std::vector<Block> blocks;
  std::vector<std::uint32_t> block;   ///< group -> the block that its results lie in
  std::vector<std::uint32_t> first;   ///< group -> its places in `outputs`
  std::vector<std::int64_t> outputs;  ///< output k of member i: first[group] + k * members + i
  std::vector<std::int64_t> saved;    ///< group * kMaxSaved + k: of the first member

  /// Sums over the blocks.
  [[nodiscard]] std::int64_t kept_bytes() const;
  [[nodiscard]] std::int64_t bytes() const;
  [[nodiscard]] std::int64_t output(const schedule::Group& group, std::size_t group_index,
                                    std::uint32_t k, std::uint32_t member) const {
    return outputs[first[group_index] + k * group.members + member];
  }
  void clear() {
    blocks.clear();
    block.clear();
    first.clear();
    outputs.clear();
    saved.clear();
  }
};

/// Makes layouts. Owns its buffers. Thread rule: one thread at a time.
class LayoutMaker {
 public:
  /// Keeps only the results marked in `stays` (node -> not 0; one mark per result of a node); saved
  /// outputs are not kept. Memory is used again as soon as it is free. Also marks nodes whose
  /// aliases stay. out_of_memory naming a node of the plan if the sum of bytes cannot be addressed.
  void lay_out(const graph::Graph& graph, const schedule::Plan& plan,
               util::Stamped<std::uint8_t>& stays, Layout& layout);

 private:
  /// One output, or one saved output, of one group.
  struct Run {
    std::int64_t bytes = 0;
    std::int64_t offset = 0;
    std::uint32_t last_use = 0;  ///< group
  };
  /// Free memory, by place and by size. Neighbouring pieces are joined.
  class Room {
   public:
    std::int64_t take(std::int64_t bytes);
    void give(std::int64_t offset, std::int64_t bytes);
    void clear();
    [[nodiscard]] std::int64_t end() const { return end_; }

   private:
    void add(std::int64_t offset, std::int64_t bytes);
    void remove(std::map<std::int64_t, std::int64_t>::iterator piece);
    std::map<std::int64_t, std::int64_t> by_place_;  ///< offset -> bytes
    std::set<std::pair<std::int64_t, std::int64_t>> by_size_;
    std::int64_t end_ = 0;
  };

  void number_places(const graph::Graph& graph, const schedule::Plan& plan, Layout& layout);
  void find_groups(const graph::Graph& graph, const schedule::Plan& plan,
                   util::Stamped<std::uint8_t>& stays);
  void find_runs(const graph::Graph& graph, const schedule::Plan& plan,
                 const util::Stamped<std::uint8_t>& stays);
  void add_results(const graph::Graph& graph, graph::NodeId m, std::uint32_t g, schedule::Part part,
                   const util::Stamped<std::uint8_t>& stays);
  void check_sum(const graph::Graph& graph, const schedule::Plan& plan) const;
  void place_runs(const schedule::Plan& plan, const Layout& layout);
  void place_results(const graph::Graph& graph, const schedule::Plan& plan, std::size_t g,
                     bool kept, const util::Stamped<std::uint8_t>& stays, Layout& layout);
  Run* runs_of(std::size_t g) { return runs_.data() + g * kRunsPerGroup; }

  static constexpr std::size_t kRunsPerGroup = ext::kMaxOutputs + ext::kMaxSaved;

  util::Stamped<std::uint32_t> group_;  ///< node -> the group that places it, + 1
  std::vector<Run> runs_;               ///< of each group the outputs, then the saved outputs
  std::vector<std::vector<std::size_t>> ends_;  ///< group -> runs to give back after it
  std::vector<Room> rooms_;                     ///< by block
};

/// Where the results of one group lie: the first member's. Members follow each other. Results that
/// the operation does not have are not set.
struct Placement {
  void* outputs[ext::kMaxOutputs];
  void* saved[ext::kMaxSaved];
};

/// Places all outputs and saved outputs of one group, whose nodes are no aliases. Throws
/// out_of_memory naming the operation, its shape and the bytes; the pool is then as it was.
Placement place_group(const graph::Graph& graph, std::span<const graph::NodeId> members,
                      Pool& pool);

/// One block for output `output` of `members` (gradients have the layout of the values).
void* place_output(const graph::Graph& graph, std::span<const graph::NodeId> members,
                   std::uint32_t output, Pool& pool);

}  // namespace dynet::memory
