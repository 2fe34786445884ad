#include "execute/forward.h"

#include <algorithm>
#include <vector>

#include "params/gradient.h"

namespace dynet::execute {
namespace {

/// Rows of lookup nodes, for devices on which a start of a loop costs: a call for each table.
/// `rows` are the rows of all members.
void read_rows_at_once(const Context& context, const Values& values,
                       std::span<const NodeId> members, const unsigned* rows) {
  std::vector<params::RowRead> all;
  std::vector<ext::Addition> room;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const NodeId m = members[i];
    void* const storage = context.graph[m].payload->storage;
    auto* to = static_cast<std::byte*>(values.at(m));
    for (std::int64_t e = 0; e < context.graph.examples(m); ++e) {
      all.push_back({*rows++, to});
      to += context.graph.example_bytes(m);
    }
    if (i + 1 == members.size() || context.graph[members[i + 1]].payload->storage != storage) {
      params::read_rows(params::lookup_storage(storage), all, room);
      all.clear();
    }
  }
}

}  // namespace

/// Whether backward would read the same payload as forward: no indices or numbers behind a
/// program's pointer, and no random numbers, whose seed may have been set anew.
bool Forward::can_be_made_again(const SegmentView& segment) const {
  return std::all_of(segment.members.begin(), segment.members.end(), [&](NodeId m) {
    const graph::Node& node = context_.graph[m];
    return !node.record().random &&
           (node.payload == nullptr || node.payload->form == ext::NodePayload::kCopied);
  });
}

/// The payload of all groups goes to devices that the host does not see in one copy. If nothing
/// is kept for backward it goes in parts, each of which takes the memory of the one before: the
/// queues keep their order.
void Forward::run(std::uint32_t first, std::uint32_t last, bool has_backward) {
  if (values_.pools().are_host_visible()) {
    for (std::uint32_t g = first; g < last; ++g) {
      run_group(g, false, has_backward);
    }
    return;
  }
  constexpr std::size_t kPart = std::size_t{1} << 16;
  std::uint32_t end = first;
  while (end < last) {
    const std::uint32_t begin = end;
    const util::Arena::Mark calls = tools_.arena.mark();
    const memory::Pools::Mark payload = values_.pools().mark();
    bool are_some_made = false;
    do {
      are_some_made = assemble_uploaded(end++) || are_some_made;
    } while (end < last && (has_backward || tools_.upload.bytes() < kPart));
    tools_.upload.send(values_.pools());
    for (std::uint32_t g = begin; g < end; ++g) {
      run_group(g, are_some_made && is_uploaded(g), has_backward);
    }
    if (!has_backward) {
      tools_.arena.release(calls);
      values_.pools().release(payload);
    }
  }
}

/// Whether the payload of the calls of a group has to be brought to its device.
bool Forward::is_uploaded(std::uint32_t g) const {
  return !context_.memory(history_.members(g)[0]).is_host_visible();
}

/// Makes the calls of a group whose payload is uploaded. False if it is not uploaded.
bool Forward::assemble_uploaded(std::uint32_t g) {
  if (!is_uploaded(g)) {
    return false;
  }
  const schedule::Group& group = history_.group(g);
  for (std::uint32_t s = group.begin; s < group.begin + group.count; ++s) {
    history_.set_call(s, assemble(history_.segment(group, s)));
  }
  return true;
}

/// `is_made`: its calls are.
void Forward::run_group(std::uint32_t g, bool is_made, bool has_backward) {
  hooks_.each([g](Hook& hook) { hook.before_group(g); });
  const schedule::Group& group = history_.group(g);
  for (std::uint32_t s = group.begin; s < group.begin + group.count; ++s) {
    const SegmentView segment = history_.segment(group, s);
    if (is_made) {
      run_segment(segment, history_.call(s));
      continue;
    }
    const util::Arena::Mark before = tools_.arena.mark();
    Assembled* const call = assemble(segment);
    run_segment(segment, call);
    if (has_backward && (s < kept_calls_ || !can_be_made_again(segment))) {
      history_.set_call(s, call);
    } else {
      tools_.arena.release(before);
    }
  }
}

/// Null if there is nothing to call.
Assembled* Forward::assemble(const SegmentView& segment) {
  const graph::Node& node = context_.graph[segment.members[0]];
  return needs_call(node) ? tools_.assembly.call(segment) : nullptr;
}

/// Calls the kernel of a segment, or copies its numbers to their place, between the hooks.
void Forward::run_segment(const SegmentView& segment, Assembled* assembled) {
  const ext::Record& record = context_.graph[segment.members[0]].record();
  if (record.aliases) {
    return;
  }
  if (hooks_.empty()) {
    call_segment(segment, assembled);
    return;
  }
  const bool has_kernel = assembled != nullptr && !record.payload_is_value &&
                          record.reads_storage != ext::Storage::kRows;
  const Hook::Call call{segment.members, segment.shared, segment.args,
                        segment.part,    false,          has_kernel};
  hooks_.each([&](Hook& hook) { hook.before_call(context_.graph, call); });
  call_segment(segment, assembled);
  hooks_.each([&](Hook& hook) { hook.after_call(context_.graph, call); });
}

void Forward::call_segment(const SegmentView& segment, Assembled* assembled) {
  const graph::Node& node = context_.graph[segment.members[0]];
  const ext::Record& record = node.record();
  if (assembled == nullptr) {
    if (node.signature->from != nullptr) {
      copies_.forward(segment.members);
    } else {
      tools_.payload.write_inputs(segment.members, values_);
    }
  } else if (record.payload_is_value) {
    const ext::Call& call = assembled->call;
    call.kernels.move(ext::whole_move(call.out[0].size()), call.values, call.out[0]);
  } else if (record.reads_storage == ext::Storage::kRows) {
    const unsigned* rows = assembled->host_indices();
    if (!node.device().is_host_visible()) {
      read_rows_at_once(context_, values_, segment.members, rows);
      return;
    }
    for (const NodeId m : segment.members) {
      tools_.payload.write_rows(m, rows, values_.at(m));
      rows += context_.graph.examples(m);
    }
  } else {
    tools_.memory.begin_call(*node.device().memory);
    record.forward(node.signature->op, assembled->call);
    tools_.memory.end_call();
  }
}

}  // namespace dynet::execute
