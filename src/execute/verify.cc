#include "execute/verify.h"

#include <algorithm>
#include <map>
#include <new>
#include <string>
#include <tuple>
#include <vector>

#include "dynet/except.h"

#include "util/env.h"

namespace dynet::execute {
namespace {

/// One pass over everything; the first violation stays.
class Verifier {
 public:
  explicit Verifier(const Executor& executor)
      : graph_(executor.context().graph),
        context_(executor.context()),
        history_(executor.history()),
        values_(executor.values()),
        gradients_(executor.gradients()),
        has_gradients_(executor.has_gradients()) {}

  std::string run() {
    computed_.assign(values_.size(), 0);
    if (values_.size() > graph_.size()) {
      fail("there are values of " + std::to_string(values_.size()) + " nodes", graph_.size());
      return found_;
    }
    for (std::uint32_t g = 0; g < history_.size() && found_.empty(); ++g) {
      check_group(g);
    }
    is_loose_.assign(values_.size(), false);
    for (const NodeId n : values_.loose()) {
      if (n != Values::kNoNode) {
        is_loose_[n] = values_.has(n) || graph_[n].record().reads_storage != ext::Storage::kWhole;
      }
    }
    for (NodeId n = 0; n < values_.size() && found_.empty(); ++n) {
      check_node(n);
    }
    check_ranges();
    check_slots();
    return found_;
  }

 private:
  // What groups have computed of a node.
  static constexpr std::uint8_t kFirst = 1;
  static constexpr std::uint8_t kDone = 2;

  void fail(const std::string& what, NodeId n) {
    if (found_.empty()) {
      found_ = what + (n < graph_.size() ? "\n  " + graph_.describe(n) : std::string());
    }
  }

  void check_group(std::uint32_t g) {
    const schedule::Group& group = history_.group(g);
    if (group.members == 0 || group.count == 0) {
      fail("group " + std::to_string(g) + " is empty", graph_.size());
      return;
    }
    std::uint32_t in_segments = 0;
    for (std::uint32_t s = group.begin; s < group.begin + group.count; ++s) {
      const SegmentView segment = history_.segment(group, s);
      if (segment.members.data() != history_.members(g).data() + in_segments) {
        fail("segment " + std::to_string(s) + " does not follow the one before",
             segment.members[0]);
      }
      in_segments += static_cast<std::uint32_t>(segment.members.size());
      check_segment(segment, history_.call(s));
    }
    if (in_segments != group.members) {
      fail("the segments of group " + std::to_string(g) + " are not its members",
           history_.members(g)[0]);
    }
    check_members(g, group.part);
  }

  void check_segment(const SegmentView& segment, const Assembled* call) {
    const graph::Node& first = graph_[segment.members[0]];
    std::int64_t examples = 0;
    const graph::Seen seen(graph_, segment.members[0]);
    for (const NodeId m : segment.members) {  // operations of whole batches count nodes
      examples += first.record().has_whole ? 1 : seen.examples(m);
    }
    if (call == nullptr) {
      return;  // it needs none, or is made again for backward
    }
    if (!needs_call(first)) {
      fail("a call that nothing needs", segment.members[0]);
    } else if (call->call.examples != examples) {
      fail("a call of " + std::to_string(call->call.examples) + " examples for members of " +
               std::to_string(examples),
           segment.members[0]);
    } else if (&call->call.kernels != first.device().kernels) {
      fail("a call on another device than its members", segment.members[0]);
    } else {
      check_operands(segment, *call);
    }
  }

  /// What a call writes, and what it reads, lies where its nodes do.
  void check_operands(const SegmentView& segment, const Assembled& assembled) {
    const ext::Call& call = assembled.call;
    const graph::Node& first = graph_[segment.members[0]];
    const ext::Record& record = first.record();
    const auto of_value = [&](std::uint32_t output) {
      return [this, output](NodeId n) {
        return Bytes{static_cast<const std::byte*>(values_.at(n + output)),
                     graph_.bytes(n + output)};
      };
    };
    const std::int64_t width = ext::bytes_of(first.signature->number);
    for (std::uint32_t k = 0; k < record.outputs; ++k) {
      check_operand("a result", call.out[k], width, segment.members, of_value(k));
    }
    for (std::uint32_t k = 0; k < record.saved; ++k) {
      const Values::Saved saved(values_, first, k);
      check_operand("what it saves", call.saved[k],
                    ext::saved_bytes(record.saved_as[k], first.signature->number), segment.members,
                    [&](NodeId n) { return bytes_saved(saved, n); });
    }
    // What a group has computed once more lay elsewhere when others read it.
    const std::span<const NodeId> loose = values_.loose();
    if (std::find(loose.begin(), loose.end(), Values::kNoNode) != loose.end()) {
      return;
    }
    for (std::size_t i = 0; i < assembled.arguments.size(); ++i) {
      const std::span<const NodeId> nodes = assembled.arguments[i].nodes;
      if (std::none_of(nodes.begin(), nodes.end(), [this](NodeId n) { return may_move(n); })) {
        check_operand("an argument", call.in[i], width, nodes, of_value(0));
      }
    }
  }

  /// Parameters that changed lie elsewhere since (changes.h), and so do nodes that show their
  /// memory.
  [[nodiscard]] bool may_move(NodeId n) const {
    while (graph_[n].record().aliases) {
      n = graph_.args(n)[0];
    }
    return graph_[n].record().reads_storage == ext::Storage::kWhole;
  }

  struct Bytes {
    const std::byte* at;
    std::int64_t count;
  };
  [[nodiscard]] Bytes bytes_saved(const Values::Saved& saved, NodeId n) const {
    const bool is_whole = graph_[n].record().has_whole;
    return {saved.at(n), saved.bytes() * (is_whole ? 1 : graph::Seen(graph_, n).examples(n))};
  }

  /// The blocks of an operand are the bytes of its nodes, one after the other. `width`: of a
  /// number.
  template <class Place>
  void check_operand(const char* what, const ext::Operand& o, std::int64_t width,
                     std::span<const NodeId> nodes, Place place) {
    const std::byte* at = nullptr;
    std::int64_t left = 0;
    std::int64_t block = 0;
    for (const NodeId n : nodes) {
      const Bytes wanted = place(n);
      while (left == 0 && wanted.count != 0 && block < o.block_count) {
        at = static_cast<const std::byte*>(o.blocks[block].data);
        left = o.blocks[block].examples * o.size() * width;
        ++block;
      }
      if (wanted.count != 0 && (at != wanted.at || left < wanted.count)) {
        fail(std::string("its call has ") + what + " elsewhere than the node", n);
        return;
      }
      at += wanted.count;
      left -= wanted.count;
    }
  }

  void check_members(std::uint32_t g, schedule::Part part) {
    const std::span<const NodeId> members = history_.members(g);
    const graph::Signature& first = *graph_[members[0]].signature;
    for (const NodeId m : members) {
      if (m >= computed_.size() || graph_.owner(m) != m) {
        fail("group " + std::to_string(g) + " computes node " + std::to_string(m), m);
        return;
      }
      if (graph_[m].signature->key != first.key || (members.size() > 1 && first.alone)) {
        fail("group " + std::to_string(g) + " holds nodes of different keys", m);
      }
      if (graph_[m].signature->device != first.device) {
        fail("group " + std::to_string(g) + " holds nodes on different devices", m);
      }
      const std::uint8_t wanted = part == schedule::Part::kRest ? kFirst : 0;
      if (computed_[m] != wanted) {
        fail("computed twice, or its parts in the wrong order", m);
      }
      computed_[m] = part == schedule::Part::kFirst ? kFirst : kDone;
      const std::uint32_t noted =
          part == schedule::Part::kRest ? values_.rest_of(m) : values_.group_of(m);
      if (noted != g) {
        fail("computed by group " + std::to_string(g) + ", noted as " + std::to_string(noted), m);
      }
    }
    if (part != schedule::Part::kRest && !first.record->aliases) {
      check_places(members);
    }
  }

  /// The values of a group lie one behind the other.
  void check_places(std::span<const NodeId> members) {
    const Device& device = *graph_[members[0]].signature->device;
    const std::byte* next = nullptr;
    std::uint32_t offset = 0;
    for (const NodeId m : members) {
      const auto* at = static_cast<const std::byte*>(values_.at(m));
      if (graph_.bytes(m) != 0 && !values_.pools().contains(*device.memory, at)) {
        fail("its value is not in the memory of its device", m);
      }
      if (values_.offset(m) != offset || (next != nullptr && at != next)) {
        fail("does not lie beside the member before", m);
      }
      offset += static_cast<std::uint32_t>(graph::Seen(graph_, members[0]).examples(m));
      next = at + graph_.bytes(m);
    }
    const ext::Record& record = graph_[members[0]].record();
    for (std::uint32_t k = 0; k < record.outputs; ++k) {
      std::int64_t bytes = 0;
      for (const NodeId m : members) {
        bytes += graph_.bytes(m + k);
      }
      note_range(members[0], {static_cast<const std::byte*>(values_.at(members[0] + k)), bytes});
    }
    for (std::uint32_t k = 0; k < record.saved; ++k) {
      check_saved(*device.memory, members, k);
    }
  }

  /// So does what it saves.
  void check_saved(ext::Memory& memory, std::span<const NodeId> members, std::uint32_t index) {
    const Values::Saved saved(values_, graph_[members[0]], index);
    Bytes all{saved.at(members[0]), 0};
    for (const NodeId m : members) {
      const Bytes own = bytes_saved(saved, m);
      if (own.count != 0 && !values_.pools().contains(memory, own.at)) {
        fail("what it saves is not in the memory of its device", m);
      }
      if (own.at != all.at + all.count) {
        fail("what it saves does not lie beside that of the member before", m);
      }
      all.count += own.count;
    }
    note_range(members[0], all);
  }

  void note_range(NodeId n, const Bytes& bytes) {
    if (bytes.count != 0) {
      ranges_.push_back({bytes, n});
    }
  }

  /// No two groups have results, or what they save, in one place.
  void check_ranges() {
    std::sort(ranges_.begin(), ranges_.end(),
              [](const Range& a, const Range& b) { return a.bytes.at < b.bytes.at; });
    for (std::size_t i = 1; i < ranges_.size(); ++i) {
      const Range& before = ranges_[i - 1];
      if (before.bytes.at + before.bytes.count > ranges_[i].bytes.at) {
        fail("lies where node " + std::to_string(before.node) + " or its group does",
             ranges_[i].node);
      }
    }
  }

  void check_node(NodeId n) {
    const NodeId owner = graph_.owner(n);
    const bool should_have = is_loose_[n] || computed_[owner] == kDone;
    if (is_loose_[n] && computed_[owner] != 0) {
      fail("was computed by a group, and is said to have a value without one", n);
    }
    if (values_.has(n) != should_have) {
      fail(values_.has(n) ? "has a value that no group computed" : "was computed and has no value",
           n);
    }
    if (n < values_.complete_below() && !values_.has(n)) {
      fail("has no value, and all below " + std::to_string(values_.complete_below()) +
               " are said to",
           n);
    }
    if (values_.has(n) && values_.group_of(n) != values_.group_of(owner)) {
      fail("an output of another group than the first", n);
    }
    if (has_gradients_ && n < gradients_.size() && gradients_.is_written(n)) {
      if (gradients_.at(n) == nullptr) {
        fail("has a gradient without memory", n);
      } else if (graph_.bytes(n) != 0 &&
                 !gradients_.pools().contains(context_.memory(n), gradients_.at(n))) {
        fail("its gradient is not in the memory of its device", n);
      }
    }
  }

  void check_slots() {
    struct Seen {
      NodeId first;
      std::uint32_t nodes = 0;
    };
    std::map<std::uint32_t, Seen> slots;
    for (NodeId n = 0; n < graph_.size(); ++n) {
      const graph::StoredPayload* payload = graph_[n].payload;
      if (payload == nullptr || payload->storage == nullptr) {
        continue;
      }
      Seen& seen = slots.try_emplace(payload->storage_slot, Seen{n}).first->second;
      ++seen.nodes;
      if (payload->storage_slot >= graph_.storages().size()) {
        fail("its slot is gone", n);
        return;
      }
      const graph::StorageUse& use = graph_.storages()[payload->storage_slot];
      const bool is_whole = graph_[n].record().reads_storage == ext::Storage::kWhole;
      if (use.storage.get() != payload->storage || use.is_whole != is_whole ||
          use.trainable != graph_.is_trainable(n)) {
        fail("its slot is of another storage or kind", n);
      }
      if (use.first != seen.first) {
        fail("the first node of its slot is said to be " + std::to_string(use.first), n);
      }
    }
    for (std::uint32_t s = 0; s < graph_.storages().size(); ++s) {
      const auto found = slots.find(s);
      if (found == slots.end() || graph_.storages()[s].nodes != found->second.nodes) {
        fail("slot " + std::to_string(s) + " counts nodes that are not there", graph_.size());
      }
    }
  }

  const graph::Graph& graph_;
  const Context& context_;
  const History& history_;
  const Values& values_;
  const Gradients& gradients_;
  bool has_gradients_;
  std::vector<std::uint8_t> computed_;
  std::vector<bool> is_loose_;
  /// What a group, named by its first member, has of one result or saves.
  struct Range {
    Bytes bytes;
    NodeId node;
  };
  std::vector<Range> ranges_;
  std::string found_;
};

/// Without memory for it a check is left out: what it follows is done, and a caller that was told
/// of a failure would do it twice.
template <class Check>
void check_if_paranoid(const char* event, Check check) {
  if (!is_paranoid()) {
    return;
  }
  std::string found;
  try {
    found = check();
  } catch (const std::bad_alloc&) {
    return;
  }
  if (!found.empty()) {
    throw errors::GraphError(std::string("internal error after ") + event + ": " + found);
  }
}

}  // namespace

bool is_paranoid() {
  static const bool is_on = util::is_paranoid();
  return is_on;
}

std::string verify(const Executor& executor) { return Verifier(executor).run(); }

std::string verify(const Executor& executor, const Executor::Mark& mark, NodeId first_removed) {
  if (first_removed > executor.context().graph.size()) {
    return "a mark beyond the end of the graph";
  }
  if (mark.generation != executor.history().generation()) {
    return "";  // counts for nothing any more
  }
  if (mark.groups > executor.history().size()) {
    return "a mark beyond the end of the history";
  }
  for (std::uint32_t g = 0; g < executor.history().size(); ++g) {
    for (const NodeId m : executor.history().members(g)) {
      if ((g < mark.groups) != (m < first_removed)) {
        return "a group on one side of a mark computed a node on the other\n  " +
               executor.context().graph.describe(m);
      }
    }
  }
  return "";
}

void verify_if_paranoid(const Executor& executor, const char* event) {
  check_if_paranoid(event, [&] { return verify(executor); });
}

void verify_if_paranoid(const Executor& executor, const Executor::Mark& mark,
                        NodeId first_removed) {
  check_if_paranoid("what came before revert",
                    [&] { return verify(executor, mark, first_removed); });
}

}  // namespace dynet::execute
