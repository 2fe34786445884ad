#pragma once

// Lists of texts and of lists of triples as arguments, with the same iterables as for numbers
// (arguments.h). For texts a type of our own, as nanobind's caster of `std::vector<std::string>`
// takes no iterators and does not say which entry is no text.

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "dynet/except.h"
#include "dynet/labelled-span.h"

#include "arguments.h"

namespace dynet::python {

/// Texts: a list, or anything that can be iterated over.
struct TextListArg {
  static constexpr auto kType = nanobind::detail::const_name("collections.abc.Iterable[str]");
  static constexpr const char* kList = "a list of texts";
  static bool read(PyObject* o, std::string& text) noexcept try {
    const bool is_text = PyUnicode_Check(o) != 0;
    Py_ssize_t size = 0;
    const char* chars = is_text ? PyUnicode_AsUTF8AndSize(o, &size) : nullptr;
    if (chars == nullptr) {
      PyErr_Clear();
      return refuse(o, is_text ? "text without lone surrogates" : "text");
    }
    text.assign(chars, static_cast<std::size_t>(size));
    return true;
  } catch (const std::bad_alloc&) {
    return refuse_too_large();
  }

  std::vector<std::string> list;
};

/// Triples (label, begin, end). ValueError for other lists, which names `one`, such as "f: a span".
inline std::vector<LabelledSpan> spans_of(const char* one,
                                          const std::vector<std::vector<unsigned>>& triples) {
  std::vector<LabelledSpan> spans;
  spans.reserve(triples.size());
  for (const std::vector<unsigned>& t : triples) {
    if (t.size() != 3) {
      throw errors::ValueError(std::string(one) + " has " + std::to_string(t.size()) +
                               " numbers; want (label, begin, end)");
    }
    spans.push_back({t[0], t[1], t[2]});
  }
  return spans;
}
/// The triples (label, begin, end).
inline nanobind::list span_list(const std::vector<LabelledSpan>& spans) {
  nanobind::list list;
  for (const LabelledSpan& s : spans) {
    list.append(nanobind::make_tuple(s.label, s.begin, s.end));
  }
  return list;
}

}  // namespace dynet::python

namespace nanobind::detail {

/// Lists of triples, such as the spans of each sentence: nanobind's own caster notes no place.
template <>
struct type_caster<std::vector<std::vector<std::vector<unsigned>>>>
    : SequenceCaster<std::vector<std::vector<unsigned>>> {};

template <>
struct type_caster<dynet::python::TextListArg> : ListCaster<dynet::python::TextListArg> {};

}  // namespace nanobind::detail
