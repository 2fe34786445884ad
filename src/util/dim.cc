#include "dynet/dim.h"

#include <algorithm>
#include <istream>
#include <limits>
#include <ostream>
#include <sstream>

namespace dynet {
namespace {

[[noreturn]] void too_many(std::size_t n) {
  throw errors::SizeError("Dim: " + std::to_string(n) + " dimensions; at most " +
                          std::to_string(DYNET_MAX_TENSOR_DIM) + " are possible");
}

constexpr std::int64_t kMostExtent = std::numeric_limits<unsigned>::max();

unsigned narrow(std::int64_t n, const char* member, const Dim& d) {
  if (n > kMostExtent) {
    throw errors::SizeError(std::string("Dim::") + member + ": " + to_string(d) + " has " +
                            std::to_string(n) +
                            " elements, more than 32 bits count; use elements()");
  }
  return static_cast<unsigned>(n);
}

void print_extents(std::ostream& os, const Dim& d) {
  for (unsigned i = 0; i < d.nd; ++i) {
    if (i != 0) {
      os << ',';
    }
    os << d.d[i];
  }
}

}  // namespace

Dim::Dim(std::initializer_list<unsigned> x, unsigned b) : bd(b) {
  if (x.size() > DYNET_MAX_TENSOR_DIM) {
    too_many(x.size());
  }
  for (const unsigned extent : x) {
    d[nd++] = extent;
  }
}

Dim::Dim(const std::vector<long>& x, unsigned b) : bd(b) {
  if (x.size() > DYNET_MAX_TENSOR_DIM) {
    too_many(x.size());
  }
  for (const long extent : x) {
    if (extent < 0) {
      throw errors::ValueError("Dim: extent " + std::to_string(extent) + " is negative");
    }
    if (static_cast<unsigned long>(extent) > std::numeric_limits<unsigned>::max()) {
      throw errors::SizeError("Dim: extent " + std::to_string(extent) + " does not fit 32 bits");
    }
    d[nd++] = static_cast<unsigned>(extent);
  }
}

unsigned Dim::size() const { return narrow(elements(), "size", *this); }
unsigned Dim::batch_size() const { return narrow(example_elements(), "batch_size", *this); }

unsigned Dim::sum_dims() const {
  ext::Count sum = 0;
  for (unsigned i = 0; i < nd; ++i) {
    sum = sum + d[i];
  }
  return to_extent(sum, "Dim::sum_dims of " + to_string(*this));
}

Dim Dim::truncate() const {
  Dim r = *this;
  while (r.nd > 1 && r.d[r.nd - 1] == 1) {
    --r.nd;
  }
  return r;
}

void Dim::resize(unsigned i) {
  if (i > DYNET_MAX_TENSOR_DIM) {
    too_many(i);
  }
  for (unsigned k = i; k < nd; ++k) {
    d[k] = 1;
  }
  nd = i;
}

unsigned Dim::num_nonone_dims() const {
  return static_cast<unsigned>(
      std::count_if(d, d + nd, [](unsigned extent) { return extent != 1; }));
}

void Dim::set(unsigned i, unsigned s) {
  if (!(i < nd || s == 1) || s == 0) {
    throw errors::ValueError("Dim::set(" + std::to_string(i) + ", " + std::to_string(s) + ") of " +
                             to_string(*this) +
                             ": want an existing dimension and an extent that is not 0");
  }
  if (i < nd) {
    d[i] = s;
  }
}

void Dim::delete_dim(unsigned i) {
  if (i >= nd) {
    throw errors::ValueError("Dim::delete_dim(" + std::to_string(i) + ") of " + to_string(*this) +
                             ": there is no such dimension");
  }
  if (nd == 1) {
    d[0] = 1;
    return;
  }
  std::copy(d + i + 1, d + nd, d + i);
  d[--nd] = 1;
}

void Dim::delete_dims(std::vector<unsigned> dims, bool reduce_batch) {
  std::sort(dims.begin(), dims.end());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  if (!dims.empty() && dims.back() >= nd) {
    throw errors::ValueError("Dim::delete_dims of " + to_string(*this) +
                             ": there is no dimension " + std::to_string(dims.back()));
  }
  Dim r;
  r.bd = reduce_batch ? 1 : bd;
  for (unsigned i = 0; i < nd; ++i) {
    if (!std::binary_search(dims.begin(), dims.end(), i)) {
      r.d[r.nd++] = d[i];
    }
  }
  if (r.nd == 0 && nd > 0) {
    r.nd = 1;
  }
  *this = r;
}

void Dim::add_dim(unsigned n) {
  if (nd == DYNET_MAX_TENSOR_DIM) {
    too_many(nd + 1);
  }
  d[nd++] = n;
}

void Dim::insert_dim(unsigned i, unsigned n) {
  if (i > nd) {
    throw errors::ValueError("Dim::insert_dim(" + std::to_string(i) + ") into " + to_string(*this) +
                             ": want a position up to " + std::to_string(nd));
  }
  if (nd == DYNET_MAX_TENSOR_DIM) {
    too_many(nd + 1);
  }
  std::copy_backward(d + i, d + nd, d + nd + 1);
  d[i] = n;
  ++nd;
}

Dim Dim::transpose() const {
  Dim r = *this;
  if (nd == 1) {
    r.insert_dim(0, 1);
  } else if (nd == 2) {
    std::swap(r.d[0], r.d[1]);
  } else {
    throw errors::ShapeError("Dim::transpose of " + to_string(*this) +
                             ": want one or two dimensions");
  }
  return r;
}

void Dim::print_profile(std::ostream& out) const {
  out << '{';
  print_extents(out, *this);
  out << '}';
}

void Dim::too_large() const {
  throw errors::SizeError("the shape " + to_string(*this) + " has more than 2^60 elements");
}

template <int>
unsigned to_extent(ext::Count count, const std::string& what) {
  if (!count.fits(kMostExtent)) {
    throw errors::SizeError(what + ": " + count.text() + "; an extent is at most " +
                            std::to_string(kMostExtent));
  }
  return static_cast<unsigned>(count.value());
}
template unsigned to_extent<>(ext::Count count, const std::string& what);

bool operator==(const Dim& a, const Dim& b) {
  return a.nd == b.nd && a.bd == b.bd && std::equal(a.d, a.d + a.nd, b.d);
}

std::ostream& operator<<(std::ostream& os, const Dim& d) {
  os << '{';
  print_extents(os, d);
  if (d.bd != 1) {
    os << 'X' << d.bd;
  }
  return os << '}';
}

std::ostream& operator<<(std::ostream& os, const std::vector<Dim>& ds) {
  os << '[';
  for (std::size_t i = 0; i < ds.size(); ++i) {
    os << (i != 0 ? " " : "") << ds[i];
  }
  return os << ']';
}

/// On a malformed text the stream fails and `d` stays as it was.
std::istream& operator>>(std::istream& is, Dim& d) {
  Dim r;
  r.bd = d.bd;  // kept unless there is an X part
  char c = '\0';
  if (!(is >> c) || c != '{') {
    is.setstate(std::ios::failbit);
    return is;
  }
  while (is >> std::ws && is.peek() != '}') {
    unsigned extent = 0;
    if (is.peek() == 'X') {
      is.get();
      if (!(is >> r.bd)) {
        return is;
      }
      break;
    }
    if (r.nd == DYNET_MAX_TENSOR_DIM || is.peek() == '-' || !(is >> extent)) {
      is.setstate(std::ios::failbit);
      return is;
    }
    r.d[r.nd++] = extent;
    if (is >> std::ws && is.peek() == ',') {
      is.get();
    }
  }
  if (!(is >> c) || c != '}') {
    is.setstate(std::ios::failbit);
    return is;
  }
  d = r;
  return is;
}

template <int>
std::string to_string(const Dim& d) {
  std::string s = "{";
  for (unsigned i = 0; i < d.nd; ++i) {
    s += (i != 0 ? "," : "") + std::to_string(d.d[i]);
  }
  s += '}';
  if (d.bd != 1) {
    s += "x" + std::to_string(d.bd);
  }
  return s;
}
template std::string to_string<>(const Dim& d);

}  // namespace dynet
