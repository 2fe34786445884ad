#pragma once

// Texts of classes whose bindings are one template: builders and trainers. A binding of one class
// names the constant in texts.h.

#include <algorithm>
#include <string>
#include <string_view>

#include "dynet/errors.h"

#include "texts.h"

namespace dynet::python {

/// The comment of a class in the C++ headers, or of its member, which may be a base's:
/// text_of("GRUBuilder", "copy"). UsageError, at import, if there is no comment.
inline const char* text_of(std::string_view name, std::string_view member = {}) {
  const std::string key = std::string(name).append(member.empty() ? "" : ".").append(member);
  const auto* const found = std::ranges::lower_bound(texts::kNamed, key, {}, &texts::Named::name);
  if (found == std::end(texts::kNamed) || found->name != key) {
    throw errors::UsageError("no comment of " + key + " in the headers of make_texts.py");
  }
  return found->text;
}

}  // namespace dynet::python
