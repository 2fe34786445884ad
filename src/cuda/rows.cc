// Rules over rows whose rows share a result, such as the gradient of a gain: the sum has to have
// one order. Example: the gradient of a bias {3} from 10 rows is written as {3,10}, and then summed
// by a move.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "calls.h"
#include "kernels/device_loops.h"
#include "kernels/device_scratch.h"

namespace dynet::cuda {
namespace {

using ext::Rows;
using ext::RowStream;

/// The axes of a result: of the row, of the rows side by side, and of the others.
struct ResultAxes {
  static constexpr int kMost = ext::kMaxRowAxes + 2;
  std::int64_t extent[kMost], step[kMost];
  int count = 0;

  ResultAxes(const RowStream& s, const Rows& rows, bool is_once) {
    for (int a = 0; a < rows.axes && !is_once; ++a) {
      add(rows.axes == 1 ? rows.length : rows.extent[a], s.step[a]);
    }
    add(rows.inner, s.row_step);
    add(rows.outer, s.outer_step);
  }
  [[nodiscard]] bool share() const {
    for (int k = 0; k < count; ++k) {
      if (extent[k] > 1 && step[k] == 0) {
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] std::int64_t elements() const {
    std::int64_t n = 1;
    for (int k = 0; k < count; ++k) {
      n *= extent[k];
    }
    return n;
  }

 private:
  void add(std::int64_t e, std::int64_t s) {
    extent[count] = e;
    step[count++] = s;
  }
};

struct SharedResult {
  SharedResult(const ResultAxes& of, std::size_t number, void* stream)
      : axes(of), result(number), numbers(of.elements() * std::int64_t{sizeof(float)}, stream) {}
  ResultAxes axes;
  std::size_t result;  ///< of the rule
  kernels::DeviceScratch numbers;
};

/// The same result with a number for each element of each row, side by side.
RowStream apart(const RowStream& s, const Rows& rows, bool is_once, float* data) {
  RowStream there = s;
  there.data = data;
  there.adds = false;
  std::int64_t step = 1;
  for (int a = 0; a < rows.axes; ++a) {
    there.step[a] = is_once ? 0 : step;
    step *= is_once ? 1 : (rows.axes == 1 ? rows.length : rows.extent[a]);
  }
  there.row_step = step;
  there.outer_step = step * rows.inner;
  return there;
}

/// Adds what apart() has got.
void add_together(const ResultAxes& axes, const float* from, const RowStream& to, void* stream) {
  ext::Move m;
  m.box.nd = static_cast<unsigned>(axes.count);
  std::int64_t dense = 1;
  std::int64_t reach = 1;
  for (int k = 0; k < axes.count; ++k) {
    m.box.d[k] = static_cast<unsigned>(axes.extent[k]);
    m.from_stride[k] = dense;
    m.to_stride[k] = axes.step[k];
    dense *= axes.extent[k];
    reach += (axes.extent[k] - 1) * axes.step[k];
  }
  const ext::Block source{const_cast<float*>(from), 1, false};
  const ext::Block target{to.data, 1, false};
  kernels::start_move(m, {m.box, 1, &source, 1},
                      {Dim({static_cast<unsigned>(reach)}), 1, &target, 1}, ext::Write::kAdd,
                      stream);
}

}  // namespace

void run_rows_in_order(ops::DeviceRowLoop loop, const ext::RowRule& rule, ext::Direction direction,
                       const ext::RowCall& call, void* cuda_stream) {
  const bool is_forward = direction == ext::Direction::kForward;
  const std::size_t count = is_forward ? rule.results : rule.args;
  std::deque<SharedResult> all;
  std::vector<RowStream> out(call.out, call.out + count);
  for (std::size_t j = 0; j < count; ++j) {
    const bool is_once = is_forward ? rule.once[j] : rule.along[j] == rule::Along::kOnce;
    const ResultAxes axes(out[j], call.rows, is_once);
    if (out[j].data != nullptr && out[j].adds && axes.share() && axes.elements() != 0) {
      const SharedResult& s = all.emplace_back(axes, j, cuda_stream);
      out[j] = apart(out[j], call.rows, is_once, s.numbers.numbers());
    }
  }
  loop({call.constants, call.in, out.data(), call.rows}, cuda_stream);
  for (const SharedResult& s : all) {
    add_together(s.axes, s.numbers.numbers(), call.out[s.result], cuda_stream);
  }
}

}  // namespace dynet::cuda
