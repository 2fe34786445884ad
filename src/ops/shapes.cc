// Texts of an operation: errors of shape rules, and printed attributes.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "dynet/dim.h"
#include "dynet/except.h"
#include "dynet/ext/op.h"

#include "ops/texts.h"
#include "util/number_text.h"

namespace dynet::ops {

std::string argument_name(const ext::Info& info, std::size_t i, std::size_t count) {
  std::size_t names = 0;
  while (names < info.args.size() && !info.args[names].empty()) {
    ++names;
  }
  if (names > 3 && info.args[names - 1] == "...") {
    const std::size_t repeated = names - 3;
    return i == 0 ? std::string(info.args[1])
                  : std::string(info.args[2 + (i - 1) % repeated]) +
                        std::to_string((i - 1) / repeated + 1);
  }
  if (names == count) {
    return std::string(info.args[i]);
  }
  std::string_view list = names == 0 ? "xs" : info.args[0];
  if (list.size() > 1 && list.back() == 's') {
    list.remove_suffix(1);
  }
  return std::string(list) + std::to_string(i + 1);
}

}  // namespace dynet::ops

namespace dynet::ext {
namespace {

constexpr std::size_t kShown = 16;  ///< most arguments that a message lists

/// "name(x1, x2): x1 is {3} and x2 is {4}; ", or, without arguments, "name(): ".
std::string call_text(const Info& info, std::span<const Dim> dims) {
  std::string call(info.name);
  std::string are;
  call += '(';
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims.size() > kShown && i == kShown / 2) {
      i = dims.size() - kShown / 2;
      call += ", ...";
      are += ", ...";
    }
    const std::string name = ops::argument_name(info, i, dims.size());
    call += (i == 0 ? "" : ", ") + name;
    if (i > 0) {
      are += i + 1 == dims.size() ? " and " : ", ";
    }
    are += name + " is " + (is_absent(dims[i]) ? "absent" : to_string(dims[i]));
  }
  return call + "): " + are + (are.empty() ? "" : "; ");
}

std::string message(const Info& info, std::span<const Dim> dims, std::string_view wanted) {
  return call_text(info, dims) + "want " + std::string(wanted);
}

}  // namespace

void Shapes::fail(std::string_view wanted) const {
  throw errors::ShapeError(message(info_, shown_, wanted));
}
void Shapes::fail_value(std::string_view wanted) const {
  throw errors::ValueError(message(info_, shown_, wanted));
}
void Shapes::fail_size(const std::string& what) const {
  throw errors::SizeError(call_text(info_, shown_) + what);
}

namespace detail {

std::string text_of(double v) { return util::text_of(v); }
std::string text_of(const Dim& d) { return to_string(d); }

}  // namespace detail
}  // namespace dynet::ext
