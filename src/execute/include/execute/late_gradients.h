#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "execute/assembly.h"
#include "execute/computed_weights.h"
#include "execute/gradients.h"
#include "execute/operand_arena.h"
#include "execute/segment.h"
#include "util/stamped.h"

namespace dynet::execute {

/// Gradients of parameters that come from a weight that was computed of parameters alone, element
/// by element, such as a matrix behind a mask. A pass may fail, so what it finds is kept until its
/// end and then added to the storages: of such a parameter a whole matrix would be written, read
/// and written again. Instead the nodes of these weights are run when gradients are delivered, one
/// after the other, and write to the storages themselves. Their own gradients pass through the same
/// memory, which stays in the cache, or through none: the products of a matrix behind a mask are
/// multiplied by the mask as they are written. All that can fail is done when they are noted. Not
/// thread-safe.
class LateGradients {
 public:
  LateGradients(Gradients& gradients, ComputedWeights& computed, Assembly& assembly,
                OperandArena& arena)
      : gradients_(gradients), computed_(computed), assembly_(assembly), arena_(arena) {}
  LateGradients(const LateGradients&) = delete;
  LateGradients& operator=(const LateGradients&) = delete;
  ~LateGradients() = default;

  /// Begins a pass: forgets what was noted.
  void begin() { notes_.clear(); }
  /// Whether all members of the segment are such weights.
  [[nodiscard]] bool can_wait(const SegmentView& segment) const;
  /// Notes the members of a segment that can wait; `whole` is its call.
  void note(const SegmentView& segment, const Assembled& whole);
  /// Whether `n` is a noted weight, or a parameter that gradients were noted for: neither has its
  /// whole gradient in the memory of the graph.
  [[nodiscard]] bool has(NodeId n) const { return !notes_.empty() && last_of_[n] != 0; }
  /// Stores (`fresh`) or adds the noted gradients of a parameter, of which there are some, to
  /// `data`.
  void add(NodeId parameter, void* data, bool fresh);

 private:
  struct Note {
    NodeId weight;
    NodeId parameter;
    ext::Call* call;
    ext::Block* to;   ///< where the call writes the parameter's gradient
    void* gradient;   ///< of the weight
    bool is_passing;  ///< it has been written by nobody, and lies there while the call runs
    /// What alone stands between the weight's gradient and the parameter's, as the other factor of
    /// a product does; null: the call says what does.
    const ext::Operand* slope = nullptr;
    std::uint32_t next = 0;  ///< the note of the same parameter that was made before, + 1
  };

  [[nodiscard]] bool can_wait(NodeId weight) const;
  [[nodiscard]] const ext::Operand* slope_of(const Note& note) const;

  Gradients& gradients_;
  ComputedWeights& computed_;
  Assembly& assembly_;
  OperandArena& arena_;
  std::vector<Note> notes_;
  /// The last note of a weight or a parameter, + 1; where nothing was noted, of an earlier pass.
  util::Stamped<std::uint32_t> last_of_;
};

}  // namespace dynet::execute
