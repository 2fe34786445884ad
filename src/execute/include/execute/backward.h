#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynet/tensor.h"

#include "execute/call_tools.h"
#include "execute/changes.h"
#include "execute/context.h"
#include "execute/device_copies.h"
#include "execute/gradient_operands.h"
#include "execute/gradients.h"
#include "execute/history.h"
#include "execute/hooks.h"
#include "execute/long_rows.h"
#include "execute/path.h"
#include "execute/products.h"
#include "execute/row_lists.h"
#include "execute/values.h"
#include "execute/views.h"

namespace dynet::execute {

/// Runs backward passes over the history of a graph, delivers gradients to parameters, and answers
/// later questions for the gradient of a node. Owns the memory of gradients. Not thread-safe.
class Backward {
 public:
  Backward(const Context& context, const Values& values, const History& history, Changes& changes,
           CallTools& tools, Hooks& hooks)
      : context_(context),
        values_(values),
        history_(history),
        changes_(changes),
        tools_(tools),
        hooks_(hooks) {}
  Backward(const Backward&) = delete;
  Backward& operator=(const Backward&) = delete;
  ~Backward() = default;

  /// Adds the gradient of `root`, which has been computed, to the parameters. After a pass that
  /// fails there are no gradients.
  void run(NodeId root, bool full);
  /// The gradient of a node in the last pass. GraphError if there was none, or if it did not reach
  /// so far up.
  const Tensor& gradient(NodeId n);
  /// Whether a pass was run from this node or one after it.
  [[nodiscard]] bool can_have_gradient(NodeId n) const {
    return request_.is_valid && n <= request_.root;
  }
  /// Whether the gradients are of a pass over the graph as it is.
  [[nodiscard]] bool has_gradients() const { return request_.done != Pass::kNone; }
  /// Forgets the last pass.
  void forget() {
    request_ = {};
    views_.clear();
  }

  [[nodiscard]] Gradients& gradients() { return gradients_; }
  [[nodiscard]] const Gradients& gradients() const { return gradients_; }
  [[nodiscard]] const Products& products() const { return products_; }
  [[nodiscard]] const Path& path() const { return path_; }
  /// Forward copies between devices with the same buffers.
  [[nodiscard]] DeviceCopies& copies() { return copies_; }

 private:
  /// The gradients that a pass left behind for `gradient`.
  enum class Pass : std::uint8_t {
    kNone,        ///< nothing: it failed, or something was computed anew
    kAccumulate,  ///< nodes of one parameter share their gradient
    kInspect,     ///< each node has its own
  };
  struct Request {
    bool is_valid = false;  ///< whether a pass was run since values were last forgotten
    bool full = false;
    NodeId root = 0;
    Pass done = Pass::kNone;
  };

  // backward.cc
  void walk(NodeId root, bool full, Pass pass);
  [[nodiscard]] Assembled* put_back(const SegmentView& segment, Assembled* call);
  void run_segment(const SegmentView& segment, Assembled* whole, Pass pass);
  void settle_gradients(std::span<const NodeId> members);
  void finish_products(NodeId n);
  void finish_weights(std::span<const NodeId> members);
  void copy_back(std::span<const NodeId> active);
  void run_alias(NodeId n);
  void call(const SegmentView& segment, std::span<const NodeId> active, Assembled& whole,
            Pass pass);

  // asked_gradients.cc
  void inspect();
  void finish_gradient_of_parameter(NodeId n);

  // deliver.cc
  void deliver();
  void deliver_parameter(NodeId n);
  void deliver_lookup(NodeId n);
  void prepare_rows();
  template <class F>
  void for_each_lookup(F f) const;
  [[nodiscard]] std::span<const unsigned> rows_of(NodeId lookup) const;

  const Context& context_;
  const Values& values_;
  const History& history_;
  Changes& changes_;
  CallTools& tools_;
  Hooks& hooks_;

  Gradients gradients_{context_, values_, history_};
  Products products_;
  GradientOperands operands_{gradients_, products_, tools_.arena};
  LongRows long_rows_{gradients_};  ///< on devices that the host sees
  RowLists row_lists_{gradients_};  ///< on other devices
  DeviceCopies copies_{context_, values_, gradients_, tools_.memory};
  Path path_{context_, values_, history_};
  Request request_;
  Views views_;
  std::vector<NodeId> active_;  ///< members of the segment that runs
};

}  // namespace dynet::execute
