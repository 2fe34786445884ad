#pragma once

// The making of builders, as Python remembers it: for `spec` and `from_spec`, which files need, and
// for pickle and copy (dynet/_pickling.py), which make a builder again of existing parameters.
//
// A class of builders is derived from `Made`, and `def_init` defines its `__init__`. Later settings
// that are no parameters, such as dropout, are noted by `set`. Programs derive classes of their own
// from these, which may have attributes of any name: `builder_of` does not look at them. Example:
// the spec of GRUBuilder(2, 100, 200, model) is (2, 100, 200).

#include <nanobind/nanobind.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "dynet/model.h"
#include "dynet/replay.h"

#include "arguments.h"

namespace dynet::python {

/// The arguments of a builder's constructor. GIL held.
struct Made {
  nanobind::object spec;                      ///< a tuple: the arguments without the collection
  std::optional<ParameterCollection> parent;  ///< the collection; empty if there is none
  NameUses before;  ///< uses there of the names that the builder was given, as they were before
  struct Setting {
    const char* method;
    nanobind::object arguments;  ///< a tuple
  };
  std::map<std::string, Setting> settings;  ///< by their subject

  /// `method(arguments...)` was called. Replaces the last setting of the same subject.
  template <class... T>
  void set(const std::string& about, const char* method, T... arguments) {
    settings.insert_or_assign(about, Setting{method, nanobind::make_tuple(arguments...)});
  }
  void unset(const std::string& about) { settings.erase(about); }
  /// It uses the parameters of another one from now on.
  void share(const Made& other) {
    parent = other.parent;
    before = other.before;
  }
};

/// An argument that belongs to another class of builders; it is not in the spec.
struct Elsewhere : nanobind::object {
  NB_OBJECT_DEFAULT(Elsewhere, nanobind::object, "object", is_anything)
  static bool is_anything(nanobind::handle /*value*/) { return true; }
};
/// One of the classes that have `def_init`.
struct BuilderClass {
  nanobind::handle type;
  int collection_at;  ///< the place of the collection among the arguments; -1: there is none
  const Made& (*made)(nanobind::handle self);
};
/// The class of the module of an object, or the module's class from which a program derived it;
/// null if the object is no builder, or was not initialised.
const BuilderClass* builder_of(nanobind::handle object);

namespace making {

template <class T>
void append_to_spec(nanobind::list& spec, const T& argument) {
  spec.append(argument);
}
inline void append_to_spec(nanobind::list& spec, const IndexListArg& indices) {
  spec.append(indices.list);
}
inline void append_to_spec(nanobind::list& spec, const nanobind::dict& dict) {
  spec.append(dict.attr("copy")());  // it is the program's
}
inline void append_to_spec(nanobind::list& spec, const NewFlag& flag) {
  if (flag.is_set) {
    spec.append(true);
  }
}
inline void append_to_spec(nanobind::list& /*spec*/, const ParameterCollection& /*model*/) {}
inline void append_to_spec(nanobind::list& /*spec*/, const Elsewhere& /*argument*/) {}

inline void find_collection(std::optional<ParameterCollection>& found,
                            const ParameterCollection& model) {
  found = model;
}
template <class T>
void find_collection(std::optional<ParameterCollection>& /*found*/, const T& /*argument*/) {}

template <class T>
constexpr bool kIsCollection = std::is_same_v<std::decay_t<T>, ParameterCollection>;
/// The place of the collection among the arguments; -1 if there is none.
template <class... A>
constexpr int collection_at() {
  const bool is[] = {kIsCollection<A>...};
  for (std::size_t i = 0; i < sizeof...(A); ++i) {
    if (is[i]) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

/// Calls the function of dynet/_pickling.py.
nanobind::object reduced(nanobind::handle self, const char* function);
/// Enters a class, and gives it `from_spec` if it has a collection.
void add_class(const BuilderClass& builder);

}  // namespace making

/// Defines `__init__` of a class derived from Made, and `spec`, `from_spec` and `__reduce__`.
/// `make(arguments...)` gives the argument of the class's constructor, or its member `builder`.
template <class Class, class R, class... A, class... Extra>
void def_init(Class& c, R (*make)(A...), const Extra&... extra) {
  using Py = typename Class::Type;
  c.def(
      "__init__",
      [make](Py* self, A... arguments) {
        Made how;
        (making::find_collection(how.parent, arguments), ...);
        std::optional<NameLog> names;
        if (how.parent) {
          names.emplace(*how.parent);
        }
        R made = make(arguments...);
        nanobind::list spec;
        (making::append_to_spec(spec, arguments), ...);
        how.spec = nanobind::tuple(spec);
        how.before = names ? names->before() : NameUses();
        if constexpr (std::is_default_constructible_v<Py>) {
          (new (self) Py)->builder = std::move(made);
        } else {
          new (self) Py(std::move(made));
        }
        static_cast<Made&>(*self) = std::move(how);
      },
      extra...);
  c.def_prop_ro(
       "spec", [](const Py& b) { return b.spec; },
       nanobind::sig("def spec(self) -> tuple[typing.Any, ...]"),
       "The arguments that it was made with, but for the collection.")
      .def(
          "__reduce__", [](nanobind::handle self) { return making::reduced(self, "builder"); },
          nanobind::sig("def __reduce__(self) -> tuple[typing.Any, ...]"), "For pickle and copy.");
  making::add_class(
      {.type = c,
       .collection_at = making::collection_at<A...>(),
       .made = [](nanobind::handle self) -> const Made& { return *nanobind::inst_ptr<Py>(self); }});
}

/// `_made_of`, for dynet/_pickling.py.
void bind_made(nanobind::module_& m);

}  // namespace dynet::python
