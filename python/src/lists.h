#pragma once

// Lists of texts as arguments. What Python's list of words goes through is as for numbers
// (arguments.h); a type of our own, as nanobind's caster of `std::vector<std::string>` takes no
// iterators and does not say which entry is no text.

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "arguments.h"

namespace dynet::python {

/// Texts: a list, or anything that can be iterated over.
struct TextListArg {
  std::vector<std::string> list;
};

inline bool read_text(PyObject* o, std::string& text) noexcept try {
  Py_ssize_t size = 0;
  const char* chars = PyUnicode_Check(o) != 0 ? PyUnicode_AsUTF8AndSize(o, &size) : nullptr;
  if (chars == nullptr) {
    return refuse(o, "text");
  }
  text.assign(chars, static_cast<std::size_t>(size));
  return true;
} catch (const std::bad_alloc&) {
  return refuse_too_large();
}

}  // namespace dynet::python

namespace nanobind::detail {

template <>
struct type_caster<dynet::python::TextListArg> {
  NB_TYPE_CASTER(dynet::python::TextListArg, const_name("collections.abc.Iterable[str]"))
  bool from_python(handle src, uint32_t flags, cleanup_list* /*cleanup*/) noexcept {
    return dynet::python::read_list(src.ptr(), "a list of texts", value.list,
                                    dynet::python::read_text) ||
           dynet::python::refused(flags);
  }
};

}  // namespace nanobind::detail
