#include "dynet/expr/einsum.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/dim.h"
#include "dynet/except.h"
#include "dynet/expr/arithmetic.h"
#include "dynet/expr/compositions.h"
#include "dynet/expr/contract.h"
#include "dynet/expr/linear.h"
#include "dynet/expr/shape.h"
#include "dynet/ext/count.h"

#include "graph/graph.h"

namespace dynet {
namespace {

bool has(std::string_view letters, char c) { return letters.find(c) != std::string_view::npos; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
/// The letters of `of` that are in `in`, or (not `wanted`) that are not.
std::string those(std::string_view of, std::string_view in, bool wanted = true) {
  std::string kept;
  for (const char c : of) {
    if (has(in, c) == wanted) {
      kept += c;
    }
  }
  return kept;
}

/// A tensor and the names of its dimensions; without names it is {1}.
struct Term {
  Expression e;
  std::string letters;
};

/// The parsed text.
struct Spec {
  std::vector<std::string> in;
  std::string out;
};

class Einsum {
 public:
  Einsum(const std::string& text, const std::vector<Expression>& xs, const Where& where)
      : text_(text), where_(where), spec_(parsed()) {
    if (xs.size() != spec_.in.size() || xs.size() > 3) {
      refuse("one to three arguments, one for each part between commas, not " +
             std::to_string(xs.size()));
    }
    for (std::size_t i = 0; i < xs.size(); ++i) {
      add(xs[i], spec_.in[i], i);
    }
    for (const char c : spec_.out) {
      if (extent_[static_cast<unsigned char>(c)] == kUnknown) {
        refuse(std::string("letters of the arguments behind the arrow, not ") + c);
      }
    }
  }
  Expression run() {
    if (terms_.size() == 3) {
      contract_first_pair();
    }
    Term result = terms_[0];
    if (terms_.size() == 2) {
      result = contracted(terms_[0], terms_[1], spec_.out);
    } else {
      result = summed(result, spec_.out);
    }
    return arranged(result, spec_.out);
  }

 private:
  static constexpr std::int64_t kUnknown = -1;

  template <class E = errors::ValueError>
  [[noreturn]] void refuse(const std::string& wanted) const {
    throw E("einsum(\"" + text_ + "\"): want " + wanted + graph::built_at(where_));
  }
  [[nodiscard]] Spec parsed() const {
    Spec spec;
    spec.in.emplace_back();
    const std::size_t arrow = text_.find("->");
    if (arrow == std::string::npos) {
      refuse("an arrow, ->");
    }
    for (const char c : std::string_view(text_).substr(0, arrow)) {
      if (c == ',') {
        spec.in.emplace_back();
      } else {
        append(spec.in.back(), c);
      }
    }
    for (const char c : std::string_view(text_).substr(arrow + 2)) {
      append(spec.out, c);
    }
    return spec;
  }
  void append(std::string& letters, char c) const {
    if (c == ' ') {
      return;
    }
    if (!is_letter(c) || has(letters, c)) {
      refuse(std::string("letters, none of them twice in one place, not ") + c);
    }
    letters += c;
    if (letters.size() > DYNET_MAX_TENSOR_DIM) {
      refuse("at most " + std::to_string(DYNET_MAX_TENSOR_DIM) + " letters in one place");
    }
  }
  void add(const Expression& x, const std::string& letters, std::size_t index) {
    const Dim d = x.dim();
    if (letters.empty() ? d.example_elements() != 1 : d.nd != letters.size()) {
      refuse<errors::ShapeError>("one dimension per letter; argument " + std::to_string(index + 1) +
                                 " is " + to_string(d));
    }
    for (std::size_t k = 0; k < letters.size(); ++k) {
      std::int64_t& extent = extent_[static_cast<unsigned char>(letters[k])];
      const std::int64_t here = d.d[k];
      if (extent != kUnknown && extent != here) {
        refuse<errors::ShapeError>(std::string("one extent of ") + letters[k] + ", not " +
                                   std::to_string(extent) + " and " + std::to_string(here));
      }
      extent = here;
    }
    terms_.push_back({x, letters});
  }

  [[nodiscard]] unsigned extent(char c) const {
    return static_cast<unsigned>(extent_[static_cast<unsigned char>(c)]);
  }
  /// The product of the extents.
  [[nodiscard]] unsigned size(std::string_view letters) const {
    ext::Count n = 1;
    for (const char c : letters) {
      n = n * extent(c);
    }
    return to_extent(n, "einsum(\"" + text_ + "\"): several dimensions as one");
  }
  [[nodiscard]] Dim shape(std::string_view letters) const {
    Dim d = Dim({1});
    d.nd = std::max(1U, static_cast<unsigned>(letters.size()));
    for (std::size_t k = 0; k < letters.size(); ++k) {
      d.d[k] = extent(letters[k]);
    }
    return d;
  }

  [[nodiscard]] Expression reshaped(const Expression& x, const Dim& to) const {
    return x.dim().single_batch() == to ? x : reshape(x, to, where_);
  }
  /// The tensor with its dimensions in the order of `letters`.
  [[nodiscard]] Expression arranged(const Term& t, const std::string& letters) const {
    if (t.letters == letters) {
      return t.e;
    }
    std::vector<unsigned> dims;
    for (const char c : letters) {
      dims.push_back(static_cast<unsigned>(t.letters.find(c)));
    }
    return transpose(t.e, dims, where_);
  }
  /// Summed over letters that are not in `keep`.
  [[nodiscard]] Term summed(const Term& t, std::string_view keep) const {
    std::vector<unsigned> dims;
    for (unsigned k = 0; k < t.letters.size(); ++k) {
      if (!has(keep, t.letters[k])) {
        dims.push_back(k);
      }
    }
    return dims.empty() ? t : Term{sum_dim(t.e, dims, false, where_), those(t.letters, keep)};
  }
  /// The product of two terms, summed over letters that are not in `keep`.
  [[nodiscard]] Term contracted(const Term& x, const Term& y, const std::string& keep) const {
    const Term a = summed(x, keep + y.letters);
    const Term b = summed(y, keep + x.letters);
    const std::string shared = those(a.letters, b.letters);
    const std::string both = those(shared, keep);
    const std::string inner = those(shared, keep, false);
    const std::string left = those(a.letters, shared, false);
    const std::string right = those(b.letters, shared, false);
    const Expression u = arranged(a, left + inner + both);
    const Expression v = arranged(b, inner + right + both);
    const unsigned l = size(left), r = size(right), k = size(inner), n = size(both);
    Expression product;
    if (inner.empty()) {
      product = cmult(reshaped(u, Dim({l, 1, n})), reshaped(v, Dim({1, r, n})), where_);
    } else if (both.empty()) {
      product = detail::Located(reshaped(u, Dim({l, k})), where_) *
                reshaped(v, right.empty() ? Dim({k}) : Dim({k, r}));
    } else {
      product = batch_matmul(reshaped(u, Dim({l, k, n})), reshaped(v, Dim({k, r, n})), where_);
    }
    const std::string letters = left + right + both;
    return {reshaped(product, shape(letters)), letters};
  }
  /// Numbers to multiply for the product of two beside a third one.
  [[nodiscard]] double cost(const Term& x, const Term& y, const Term& other) const {
    const std::string keep = spec_.out + other.letters;
    const std::string letters =
        those(x.letters, keep + y.letters) + those(those(y.letters, keep), x.letters, false);
    double n = 1.0;
    for (const char c : letters) {
      n *= extent(c);
    }
    return n;
  }
  void contract_first_pair() {
    const std::array<std::array<std::size_t, 3>, 3> orders{{{0, 1, 2}, {0, 2, 1}, {1, 2, 0}}};
    const auto best =
        *std::min_element(orders.begin(), orders.end(), [&](const auto& p, const auto& q) {
          return cost(terms_[p[0]], terms_[p[1]], terms_[p[2]]) <
                 cost(terms_[q[0]], terms_[q[1]], terms_[q[2]]);
        });
    const Term other = terms_[best[2]];
    terms_ = {contracted(terms_[best[0]], terms_[best[1]], spec_.out + other.letters), other};
  }

  const std::string& text_;
  Where where_;
  Spec spec_;
  std::array<std::int64_t, 256> extent_ = [] {
    std::array<std::int64_t, 256> none{};
    none.fill(kUnknown);
    return none;
  }();
  std::vector<Term> terms_;
};

}  // namespace

template <int>
Expression einsum(const std::string& spec, const std::vector<Expression>& xs, Where where) {
  return Einsum(spec, xs, where).run();
}
template Expression einsum<>(const std::string& spec, const std::vector<Expression>& xs,
                             Where where);

}  // namespace dynet
