// Vocabularies: words and their ids.

#include "bind_dict.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "dynet/dict.h"
#include "dynet/text/dict_file.h"

#include "binding.h"
#include "lists.h"
#include "texts.h"

namespace dynet::python {
namespace {

using std::filesystem::path;
using Words = std::vector<std::string>;
/// The words, whether the dictionary is frozen, and the id of the unknown word.
using State = std::tuple<Words, bool, int>;

Dict dict_of(const Words& words) {
  Dict dict;
  for (const std::string& word : words) {
    dict.convert(word);
  }
  return dict;
}

/// The dictionary of a state. After clear(), the id of the unknown word stays.
struct Restored : Dict {
  explicit Restored(const State& state) : Dict(dict_of(std::get<Words>(state))) {
    const auto& [words, is_frozen, unknown] = state;
    const bool is_there = words.empty() || unknown < static_cast<int>(words.size());
    if (size() != words.size() || unknown < -1 || (unknown >= 0 && !is_frozen) || !is_there) {
      throw errors::ValueError("Dict: the state says " + std::to_string(words.size()) + " words, " +
                               std::to_string(size()) + " of them different, " +
                               (is_frozen ? "frozen, " : "not frozen, ") + "and " +
                               std::to_string(unknown) + " for the unknown one, which cannot be");
    }
    frozen = is_frozen;
    map_unk = unknown >= 0;
    unk_id = unknown;
  }
};

void bind_words(nb::class_<Dict>& c) {
  using nb::arg;
  c.def(
       "__init__",
       [](Dict* self, const TextListArg& words) { new (self) Dict(dict_of(words.list)); },
       arg("words") = nb::make_tuple())
      .def(
          "convert", [](Dict& d, const std::string& word) { return d.convert(word); }, arg("word"),
          texts::Dict_convert)
      .def(
          "convert", [](const Dict& d, int id) { return d.convert(id); }, arg("id"),
          texts::Dict_convert_2)
      .def("__len__", &Dict::size)
      .def("__contains__", &Dict::contains, arg("word"))
      .def("get_words", &Dict::get_words, texts::Dict_get_words)
      .def("clear", &Dict::clear, texts::Dict_clear)
      .def("__repr__", [](const Dict& d) {
        return "Dict of " + std::to_string(d.size()) + (d.size() == 1 ? " word" : " words") +
               (d.is_frozen() ? ", frozen" : "");
      });
}

}  // namespace

void bind_dict(nb::module_& m) {
  using nb::arg;
  nb::class_<Dict> c(m, "Dict", texts::Dict);
  bind_words(c);
  c.def("freeze", &Dict::freeze, texts::Dict_freeze)
      .def("is_frozen", &Dict::is_frozen, texts::Dict_is_frozen)
      .def("set_unk", &Dict::set_unk, arg("word"), texts::Dict_set_unk)
      .def("get_unk_id", &Dict::get_unk_id, texts::Dict_get_unk_id)
      .def(
          "save", [](const Dict& d, const path& file) { text::save_dict(file.string(), d); },
          arg("file"), "Writes the words, one per line.")
      .def_static(
          "load", [](const path& file) { return text::load_dict(file.string()); }, arg("file"),
          "The dictionary of a file, not frozen: call `freeze` and `set_unk`.")
      .def("__getstate__",
           [](const Dict& d) { return State(d.get_words(), d.is_frozen(), d.get_unk_id()); })
      .def("__setstate__", [](Dict& d, const State& state) { new (&d) Dict(Restored(state)); });
}

}  // namespace dynet::python
