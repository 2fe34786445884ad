// Forward and backward of an operation called by hand, in double: every batch pattern, operands in
// one block and in two, gradients stored and added, unused outputs, gradients not wanted.
// Differences give the gradients of each pattern; the same numbers in other blocks must then give
// the same results, a faster check.

#include <algorithm>
#include <cmath>

#include "ops/by_hand.h"
#include "testing/checks.h"
#include "testing/found.h"
#include "testing/sanitized.h"
#include "testing/tolerance.h"

namespace dynet::testing {

namespace {

using ops::testing::ByHand;
using ops::testing::Layout;

constexpr double kCallStep = 0x1p-17;  // see tolerance::kDifferences
constexpr unsigned kSeed = 7;

/// The calls an example is run in: one block each, stored. Operations of whole batches repeat
/// nothing.
std::vector<Layout> layouts(const Sample& s) {
  std::vector<Layout> all{{.batch = 1}};
  std::vector<std::uint64_t> masks{0};
  if (!s.record->has_whole && s.inputs.size() > 1) {
    const std::size_t n = std::min<std::size_t>(s.inputs.size(), 5);
    for (std::uint64_t m = 1; m + 1 < (std::uint64_t{1} << n); ++m) {
      masks.push_back(m);
    }
  }
  // With indices a lone argument may be one example of which each index takes a part.
  if (!s.record->has_whole && s.record->payload == ext::Payload::kIndices &&
      s.record->indices_per == ext::IndicesPer::kExample) {
    masks.push_back(1);
  }
  if (s.record->has_whole) {
    all.push_back({.batch = 3, .nodes = 2});
  }
  for (const std::uint64_t m : masks) {
    all.push_back({.batch = 3, .repeated = m});
  }
  return all;
}
/// The same numbers cut into two blocks, and added to old numbers.
std::vector<Layout> variants(const Layout& layout) {
  std::vector<Layout> all;
  for (const bool cuts : {false, true}) {
    for (const bool adds : {false, true}) {
      if ((cuts || adds) && (!cuts || layout.batch > 1)) {
        all.push_back(layout);
        all.back().is_cut = cuts;
        all.back().adds = adds;
      }
    }
  }
  return all;
}

std::string differ(double is, double wanted, double bound) {
  return std::fabs(is - wanted) <= bound * std::max(1.0, std::fabs(wanted))
             ? ""
             : std::to_string(is) + " against " + std::to_string(wanted);
}
std::string place(std::size_t argument, std::size_t element) {
  return " argument " + std::to_string(argument) + " element " + std::to_string(element) + ": ";
}

/// The results of a call: each output, and the numbers added to each argument's gradient.
struct Written {
  std::vector<std::vector<double>> outputs, gradients;
};
/// `without_out`: outputs that nobody used.
Written written_by(ByHand& call, const Layout& layout, std::uint64_t without_out) {
  Written all;
  call.forward();
  call.backward(0, without_out);
  for (std::size_t k = 0; k < call.outputs(); ++k) {
    std::vector<double>& numbers = all.outputs.emplace_back();
    for (std::size_t i = 0; i < call.out(k).size(); ++i) {
      numbers.push_back(call.out(k)[i]);
    }
  }
  for (std::size_t a = 0; a < call.arity(); ++a) {
    std::vector<double>& numbers = all.gradients.emplace_back();
    for (std::size_t i = 0; i < call.in(a).size(); ++i) {
      numbers.push_back(call.d_in(a)[i] - (layout.adds ? ByHand::kBefore : 0.0));
    }
  }
  return all;
}

/// The first mistake in the gradients of a call, against differences. Of a large argument only some
/// elements are checked, from number `first` on.
std::string wrong_gradient(const Sample& s, ByHand& call, const Written& written,
                           std::uint64_t without_out, std::size_t first) {
  constexpr std::size_t kMost = trials(std::size_t{64}, std::size_t{2});
  if (s.record->surrogate_gradient) {
    return "";
  }
  for (std::size_t a = 0; a < call.arity(); ++a) {
    const std::size_t stride = call.in(a).size() / kMost + 1;
    for (std::size_t i = first % stride; i < call.in(a).size(); i += stride) {
      double& x = call.in(a)[i];
      const double at = x;
      x = at + kCallStep;
      const double above = call.loss(without_out);
      x = at - kCallStep;
      const double below = call.loss(without_out);
      x = at;
      const double slope = s.record->stops_gradient ? 0.0 : (above - below) / (2 * kCallStep);
      const std::string wrong = differ(written.gradients[a][i], slope, tolerance::kDifferences);
      if (!wrong.empty()) {
        return place(a, i) + wrong;
      }
    }
  }
  return "";
}

/// The first difference between calls with the same numbers in other blocks.
std::string difference(const Written& is, const Written& wanted) {
  const auto find = [](const char* what, const auto& x, const auto& y) -> std::string {
    for (std::size_t a = 0; a < x.size(); ++a) {
      for (std::size_t i = 0; i < x[a].size(); ++i) {
        const std::string wrong = differ(x[a][i], y[a][i], tolerance::kSameInDouble);
        if (!wrong.empty()) {
          return what + std::to_string(a) + " element " + std::to_string(i) + ": " + wrong;
        }
      }
    }
    return "";
  };
  const std::string output = find(" output ", is.outputs, wanted.outputs);
  return output.empty() ? find(" gradient of argument ", is.gradients, wanted.gradients) : output;
}

/// A gradient of argument `a` that is not wanted stays unchanged, and the other gradients are the
/// same.
std::string wrong_without(const Sample& s, std::size_t a) {
  const Layout layout{.batch = 3, .is_cut = true};
  ByHand all(s, layout, 5);
  ByHand some(s, layout, 5);
  all.forward();
  all.backward();
  some.forward();
  some.backward(std::uint64_t{1} << a);
  for (std::size_t b = 0; b < s.inputs.size(); ++b) {
    for (std::size_t i = 0; i < all.d_in(b).size(); ++i) {
      const double got = some.d_in(b)[i];
      if (b == a ? !std::isnan(got) && got != 0.0 : got != all.d_in(b)[i]) {
        return place(b, i) + std::to_string(got);
      }
    }
  }
  return "";
}

/// An example of a batch has the value it has alone.
std::string wrong_in_batch(const Sample& s) {
  ByHand batch(s, {.batch = 3, .is_cut = true}, 11);
  batch.forward();
  for (std::size_t e = 0; e < (s.record->payload == ext::Payload::kNone ? 3U : 1U); ++e) {
    ByHand alone(s, {.batch = 1}, 12);  // with the payload of example 0
    for (std::size_t a = 0; a < alone.arity(); ++a) {
      const std::size_t n = alone.in(a).size();
      for (std::size_t i = 0; i < n; ++i) {
        alone.in(a)[i] = batch.in(a)[e * n + i];
      }
    }
    alone.forward();
    for (std::size_t k = 0; k < alone.outputs(); ++k) {
      const std::size_t n = alone.out(k).size();
      for (std::size_t i = 0; i < n; ++i) {
        const std::string wrong =
            differ(batch.out(k)[e * n + i], alone.out(k)[i], tolerance::kSameInDouble);
        if (!wrong.empty()) {
          return "output " + std::to_string(k) + " of example " + std::to_string(e) + ": " + wrong;
        }
      }
    }
  }
  return "";
}

std::string not_written(const Sample& s) {
  ByHand call(s, {.batch = 3}, 13);
  call.forward();
  for (std::size_t k = 0; k < call.outputs(); ++k) {
    for (std::size_t i = 0; i < call.out(k).size(); ++i) {
      if (std::isnan(call.out(k)[i])) {
        return "element " + std::to_string(i) + " of output " + std::to_string(k);
      }
    }
  }
  return "";
}

}  // namespace

Failures calls_by_hand(const Sample& s) {
  Found found(s);
  if (s.record->forward == nullptr) {
    return {};
  }
  std::size_t number = 0;
  const auto gradient = [&](const std::string& how, const Layout& layout, std::uint64_t without) {
    ByHand call(s, layout, kSeed);
    const Written written = written_by(call, layout, without);
    found.add("called by hand," + how, wrong_gradient(s, call, written, without, number++));
    return written;
  };
  for (const Layout& layout : layouts(s)) {
    const Written written = gradient(layout.text() + ", gradient", layout, 0);
    for (const Layout& variant : variants(layout)) {
      ByHand call(s, variant, kSeed);
      found.add("called by hand," + variant.text(),
                difference(written_by(call, variant, 0), written));
    }
  }
  for (std::uint64_t k = 0; s.record->outputs > 1 && k < s.record->outputs; ++k) {
    gradient(" nobody used output " + std::to_string(k), {.batch = 3}, std::uint64_t{1} << k);
  }
  // An operation of one argument gets backward calls only for a wanted gradient.
  for (std::size_t a = 0; s.inputs.size() > 1 && a < s.inputs.size(); ++a) {
    found.add("called by hand, nobody wants the gradient of argument " + std::to_string(a),
              wrong_without(s, a));
  }
  if (!s.record->has_whole && !s.record->random && !s.inputs.empty()) {
    found.add("called by hand, an example of a batch against the same one alone",
              wrong_in_batch(s));
  }
  found.add("called by hand, nothing was written to", not_written(s));
  return found.take();
}

}  // namespace dynet::testing
