// Rules of a program's own: the program has loops for the host, and no kernel.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "calls.h"
#include "kernels/float_mode.h"
#include "kernels/host_copies.h"

namespace dynet::cuda {
namespace {

using ext::RowStream;
using ext::Stream;
using kernels::HostCopies;

std::size_t stream_bytes(const Stream& s, std::int64_t n) {
  const bool is_one = s.mode == Stream::kRepeat || s.mode == Stream::kSum;
  return s.mode == Stream::kSkip ? 0 : sizeof(float) * static_cast<std::size_t>(is_one ? 1 : n);
}
void copy_streams(const HostCopies& copies, std::vector<Stream>& all) {
  for (Stream& s : all) {
    s.data = s.mode == Stream::kSkip ? nullptr : copies.copy_at(s.data);
  }
}

/// The elements of a stream over rows, from the first place in memory to the last.
struct Span {
  std::int64_t first = 0, last = 0;
  void add(std::int64_t step, std::int64_t extent) {
    (step < 0 ? first : last) += step * std::max<std::int64_t>(extent - 1, 0);
  }
};
Span span_of(const RowStream& s, const ext::Rows& rows) {
  Span span;
  span.add(s.row_step, rows.inner);
  span.add(s.outer_step, rows.outer);
  for (int a = 0; a < rows.axes; ++a) {
    span.add(s.step[a], rows.axes == 1 ? rows.length : rows.extent[a]);
  }
  return span;
}
void note_rows(HostCopies& copies, const std::vector<RowStream>& all, const ext::Rows& rows,
               bool is_written) {
  for (const RowStream& s : all) {
    if (s.data != nullptr) {
      const Span span = span_of(s, rows);
      copies.note(static_cast<const float*>(s.data) + span.first,
                  sizeof(float) * static_cast<std::size_t>(span.last - span.first + 1), is_written);
    }
  }
}
void copy_rows(const HostCopies& copies, std::vector<RowStream>& all) {
  for (RowStream& s : all) {
    s.data = s.data == nullptr ? nullptr : copies.copy_at(s.data);
  }
}

}  // namespace

void run_rule_on_host(ext::Memory& memory, const ext::RuleInfo& rule, ext::Direction direction,
                      const void* op, const Stream* in, const Stream* out, std::int64_t n) {
  if (n == 0) {
    return;
  }
  const bool is_forward = direction == ext::Direction::kForward;
  const auto& counts = rule.streams[static_cast<std::size_t>(direction)];
  std::vector<Stream> reads(in, in + counts.in);
  std::vector<Stream> writes(out, out + counts.out);
  HostCopies copies(memory);
  for (const Stream& s : reads) {
    copies.note(s.data, stream_bytes(s, n), false);
  }
  for (const Stream& s : writes) {
    copies.note(s.data, stream_bytes(s, n), true);
  }
  copies.copy_out();
  copy_streams(copies, reads);
  copy_streams(copies, writes);
  const kernels::FlushDenormals float_mode;
  (is_forward ? rule.loops->forward_float : rule.loops->backward_float)(op, reads.data(),
                                                                        writes.data(), n);
  copies.copy_in();
}

void run_rows_on_host(ext::Memory& memory, const ext::RowRule& rule, ext::Direction direction,
                      const ext::RowCall& call) {
  const ext::Rows& rows = call.rows;
  if (rows.inner * rows.outer == 0) {
    return;
  }
  const bool is_forward = direction == ext::Direction::kForward;
  std::vector<RowStream> reads(call.in,
                               call.in + (is_forward ? rule.inputs : rule.backward_inputs));
  std::vector<RowStream> writes(call.out, call.out + (is_forward ? rule.results : rule.args));
  HostCopies copies(memory);
  note_rows(copies, reads, rows, false);
  note_rows(copies, writes, rows, true);
  copies.copy_out();
  copy_rows(copies, reads);
  copy_rows(copies, writes);
  const kernels::FlushDenormals float_mode;
  (is_forward ? rule.loops->forward_float
              : rule.loops->backward_float)({call.constants, reads.data(), writes.data(), rows});
  copies.copy_in();
}

}  // namespace dynet::cuda
