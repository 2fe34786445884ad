// Forward and backward of an operation called by hand, in double: every batch pattern, operands in
// one block and in two, gradients stored and added, outputs that nobody used, gradients that nobody
// wants.

#include <algorithm>
#include <cmath>

#include "ops/by_hand.h"
#include "testing/checks.h"
#include "testing/found.h"
#include "testing/tolerance.h"

namespace dynet::testing {

namespace {

using ops::testing::ByHand;
using ops::testing::Layout;

constexpr double kStep = 0x1p-17;  // see tolerance::kDifferences

/// The layouts an example is run in. Operations of whole batches repeat nothing.
std::vector<Layout> layouts(const Sample& s) {
  std::vector<Layout> all{{.batch = 1}, {.batch = 1, .adds = true}};
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
    for (const bool cuts : {false, true}) {
      all.push_back({.batch = 3, .nodes = 2, .is_cut = cuts});
      all.push_back({.batch = 3, .nodes = 2, .is_cut = cuts, .adds = true});
    }
  }
  for (const std::uint64_t m : masks) {
    all.push_back({.batch = 3, .repeated = m});
    all.push_back({.batch = 3, .repeated = m, .adds = true});
    all.push_back({.batch = 3, .repeated = m, .is_cut = true});
    all.push_back({.batch = 3, .repeated = m, .is_cut = true, .adds = true});
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

/// What is wrong with the gradients of one layout; `without_out`: outputs that nobody used.
std::string wrong_gradient(const Sample& s, const Layout& layout, std::uint64_t without_out) {
  ByHand call(s, layout, 7);
  call.loss(without_out);
  call.backward(0, without_out);
  if (s.record->surrogate_gradient) {
    return "";
  }
  std::vector<std::vector<double>> gradients(call.arity());
  for (std::size_t a = 0; a < call.arity(); ++a) {
    for (std::size_t i = 0; i < call.in(a).size(); ++i) {
      gradients[a].push_back(call.d_in(a)[i]);
    }
  }
  for (std::size_t a = 0; a < call.arity(); ++a) {
    for (std::size_t i = 0; i < call.in(a).size(); ++i) {
      double& x = call.in(a)[i];
      const double at = x;
      x = at + kStep;
      const double above = call.loss(without_out);
      x = at - kStep;
      const double below = call.loss(without_out);
      x = at;
      const double slope = s.record->stops_gradient ? 0.0 : (above - below) / (2 * kStep);
      const std::string wrong = differ(
          gradients[a][i], slope + (layout.adds ? ByHand::kBefore : 0.0), tolerance::kDifferences);
      if (!wrong.empty()) {
        return place(a, i) + wrong;
      }
    }
  }
  return "";
}

/// Where the gradient of argument `a` is not wanted, the others are the same and it is left alone.
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
  for (const Layout& layout : layouts(s)) {
    found.add("called by hand," + layout.text() + ", gradient", wrong_gradient(s, layout, 0));
  }
  for (std::uint64_t k = 0; s.record->outputs > 1 && k < s.record->outputs; ++k) {
    found.add("called by hand, nobody used output " + std::to_string(k),
              wrong_gradient(s, {.batch = 3}, std::uint64_t{1} << k));
  }
  // With one argument backward is called where its gradient is wanted.
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
