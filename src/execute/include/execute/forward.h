#pragma once

#include <cstdint>

#include "execute/call_tools.h"
#include "execute/context.h"
#include "execute/device_copies.h"
#include "execute/history.h"
#include "execute/hooks.h"
#include "execute/values.h"

namespace dynet::execute {

/// Runs the calls of groups whose nodes have their memory. Not thread-safe.
class Forward {
 public:
  Forward(const Context& context, Values& values, History& history, CallTools& tools,
          DeviceCopies& copies, Hooks& hooks)
      : context_(context),
        values_(values),
        history_(history),
        tools_(tools),
        copies_(copies),
        hooks_(hooks) {}

  /// Runs the groups from `first` up to `last`. `has_backward`: backward may want their calls.
  void run(std::uint32_t first, std::uint32_t last, bool has_backward);
  /// Calls of so many first segments are kept for backward as they were made. Later calls, each
  /// some 500 bytes, are made again.
  void set_kept_calls(std::uint32_t count) { kept_calls_ = count; }
  static constexpr std::uint32_t kKeptCalls = std::uint32_t{1} << 16;

 private:
  [[nodiscard]] bool can_be_made_again(const SegmentView& segment) const;
  [[nodiscard]] bool is_uploaded(std::uint32_t g) const;
  bool assemble_uploaded(std::uint32_t g);
  void run_group(std::uint32_t g, bool is_made, bool has_backward);
  Assembled* assemble(const SegmentView& segment);
  void run_segment(const SegmentView& segment, Assembled* assembled);
  void call_segment(const SegmentView& segment, Assembled* assembled);

  const Context& context_;
  Values& values_;
  History& history_;
  CallTools& tools_;
  DeviceCopies& copies_;
  Hooks& hooks_;
  std::uint32_t kept_calls_ = kKeptCalls;
};

}  // namespace dynet::execute
