// Safetensors files and checkpoints. (Files of either format by name alone: bind_params.cc.)

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dynet/checkpoint.h"
#include "dynet/devices.h"
#include "dynet/ext/additions.h"
#include "dynet/ext/new_file.h"
#include "dynet/io.h"
#include "dynet/param-init.h"
#include "dynet/safetensors.h"
#include "dynet/text/lines.h"
#include "dynet/training.h"

#include "arrays.h"
#include "binding.h"
#include "checkpoints.h"
#include "lists.h"
#include "signals.h"
#include "texts.h"

namespace dynet::python {
namespace {

constexpr nb::call_guard<Stoppable> kStoppable;

/// Python destroys objects at any time, also while an exception passes: only close() commits.
struct PySaver : SafetensorsSaver {
  using SafetensorsSaver::SafetensorsSaver;
  PySaver(const PySaver&) = delete;
  PySaver& operator=(const PySaver&) = delete;
  ~PySaver() override { abandon(); }
};

void bind_saver(nb::module_& m) {
  using nb::arg;
  nb::class_<PySaver> c(m, "SafetensorsSaver", texts::SafetensorsSaver);
  c.def(nb::init<const std::string&, bool>(), arg("fname"), arg("append") = false)
      .def(
          "save",
          [](PySaver& s, const ParameterCollection& pc, const std::string& key) {
            s.save(pc, key);
          },
          arg("object"), arg("key") = "", kStoppable, texts::SafetensorsSaver_save)
      .def(
          "save",
          [](PySaver& s, const PyParameters& p, const std::string& key) { s.save(p.p, key); },
          arg("object"), arg("key") = "", kStoppable)
      .def(
          "save",
          [](PySaver& s, const PyLookupParameters& p, const std::string& key) { s.save(p.p, key); },
          arg("object"), arg("key") = "", kStoppable)
      .def(
          "save_trainer", [](PySaver& s, Trainer& t) { s.save(t); }, arg("trainer"), kStoppable,
          texts::SafetensorsSaver_save_2)
      .def("set_metadata", &PySaver::set_metadata, arg("key"), arg("text"),
           texts::SafetensorsSaver_set_metadata)
      .def("close", &PySaver::close, texts::SafetensorsSaver_close)
      .def(
          "__enter__", [](nb::object self) { return self; },
          nb::sig("def __enter__(self) -> SafetensorsSaver"))
      .def(
          "__exit__",
          [](nb::handle self, const nb::args& args) {
            auto& saver = nb::cast<PySaver&>(self);
            if (args[0].is_none()) {
              saver.close();
            } else {
              saver.abandon();
            }
          },
          nb::sig("def __exit__(self, *args: typing.Any) -> None"));
}

/// Parameters of these names only.
void populate_chosen(SafetensorsLoader& loader, ParameterCollection& pc, const std::string& key,
                     const std::optional<TextListArg>& names) {
  if (!names) {
    loader.populate(pc, key);
    return;
  }
  const std::set<std::string> wanted(names->list.begin(), names->list.end());
  loader.populate(pc, [&](const std::string& name) { return wanted.count(name) > 0; }, key);
}

/// One tensor, through a parameter of a model that nobody else has.
nb::object array_of_tensor(SafetensorsLoader& loader, const std::string& name) {
  const std::vector<std::size_t> extents = loader.shape(name);
  ParameterCollection scratch;
  Parameter p = scratch.add_parameters(Dim(std::vector<long>(extents.begin(), extents.end())),
                                       ParameterInitConst(0.0F), "",
                                       get_device_manager()->get_global_device("CPU"));
  loader.populate(p, name);
  return to_numpy(p.get_storage().values);
}

void bind_loader(nb::module_& m) {
  using nb::arg;
  nb::class_<SafetensorsLoader> c(m, "SafetensorsLoader", texts::SafetensorsLoader);
  c.def(nb::init<const std::string&>(), arg("fname"))
      .def("populate", &populate_chosen, arg("object"), arg("key") = "", arg("names") = nb::none(),
           kStoppable,
           "Gives a collection its tensors; if `names` are given, the parameters of these names in "
           "the "
           "file only, and the file may have others.")
      .def(
          "populate",
          [](SafetensorsLoader& l, PyParameters& p, const std::string& key) {
            l.populate(p.p, key);
          },
          arg("object"), arg("key"), kStoppable)
      .def(
          "populate",
          [](SafetensorsLoader& l, PyLookupParameters& p, const std::string& key) {
            l.populate(p.p, key);
          },
          arg("object"), arg("key"), kStoppable)
      .def(
          "populate_trainer", [](SafetensorsLoader& l, Trainer& t) { l.populate(t); },
          arg("trainer"), kStoppable, texts::SafetensorsLoader_populate_3)
      .def("set_alias", &SafetensorsLoader::set_alias, arg("name"), arg("of"),
           texts::SafetensorsLoader_set_alias)
      .def("names", &SafetensorsLoader::names, texts::SafetensorsLoader_names)
      .def("keys", &SafetensorsLoader::names, "`names()`, for programs that read other files, too.")
      .def("array", &array_of_tensor, arg("name"), kStoppable,
           nb::sig("def array(self, name: str) -> numpy.typing.NDArray[typing.Any]"),
           "The numbers of a tensor, in float64: a copy of what a parameter would get. IoError if "
           "there is no tensor of that name, and for other numbers than floats.")
      .def("__contains__", &SafetensorsLoader::contains, arg("name"),
           texts::SafetensorsLoader_contains)
      .def(
          "shape",
          [](const SafetensorsLoader& l, const std::string& name) {
            nb::list extents;
            for (const std::size_t n : l.shape(name)) {
              extents.append(n);
            }
            return nb::tuple(extents);
          },
          arg("name"), nb::sig("def shape(self, name: str) -> tuple[int, ...]"),
          texts::SafetensorsLoader_shape)
      .def("metadata", &SafetensorsLoader::metadata, texts::SafetensorsLoader_metadata)
      .def("check_all", &SafetensorsLoader::check_all, kStoppable,
           texts::SafetensorsLoader_check_all);
}

}  // namespace

CheckpointPolicy policy_from(const PyPolicy& p) {
  const auto check = [](const char* what, std::int64_t n, std::int64_t least) {
    if (n < least || n > std::numeric_limits<int>::max()) {
      throw errors::ValueError(std::string("Checkpointer: ") + what + " is " + std::to_string(n) +
                               "; want " + std::to_string(least) + " or more");
    }
  };
  check("every_steps", p.every_steps, 0);
  check("keep_best", p.keep_best, 0);
  check("keep_last", p.keep_last, 1);
  CheckpointPolicy policy;
  policy.every_steps = static_cast<std::uint64_t>(p.every_steps);
  policy.every_seconds = p.every_seconds;
  policy.keep_best = static_cast<unsigned>(p.keep_best);
  policy.keep_last = static_cast<unsigned>(p.keep_last);
  policy.larger_is_better = p.larger_is_better;
  return policy;
}

namespace {

void bind_checkpointer(nb::module_& m) {
  using nb::arg;
  nb::class_<Checkpointer> c(m, "Checkpointer", texts::Checkpointer);
  c.def(
       "__init__",
       [](Checkpointer* self, const std::string& folder, const ParameterCollection& model,
          Trainer& trainer, std::int64_t every_steps, double every_seconds, std::int64_t keep_best,
          std::int64_t keep_last, bool larger_is_better) {
         new (self) Checkpointer(
             folder, model, trainer,
             policy_from({every_steps, every_seconds, keep_best, keep_last, larger_is_better}));
       },
       arg("folder"), arg("model"), arg("trainer"), arg("every_steps") = 0,
       arg("every_seconds") = 0.0, arg("keep_best") = 1, arg("keep_last") = 1,
       arg("larger_is_better") = true, nb::keep_alive<1, 4>(),
       "step() saves at every `every_steps` steps or `every_seconds` seconds (0: never). The last "
       "checkpoints are kept, and the checkpoints with the best scores.")
      .def("__repr__",
           [](const Checkpointer& it) {
             return "Checkpointer after " + std::to_string(it.steps()) +
                    (it.steps() == 1 ? " step, " : " steps, ") +
                    std::to_string(it.checkpoints().size()) +
                    (it.checkpoints().size() == 1 ? " checkpoint" : " checkpoints");
           })
      .def("resume", &Checkpointer::resume, kStoppable, texts::Checkpointer_resume)
      .def("load_best", &Checkpointer::load_best, kStoppable, texts::Checkpointer_load_best)
      .def("step", &Checkpointer::step, arg("position") = "", kStoppable, texts::Checkpointer_step)
      .def(
          "save",
          [](Checkpointer& self, const std::string& position, std::optional<double> score) {
            if (score) {
              self.save(position, *score);
            } else {
              self.save(position);
            }
          },
          arg("position") = "", arg("score") = nb::none(), kStoppable, texts::Checkpointer_save);
  bind_saved_steps(c, texts::Checkpointer_metadata, texts::Checkpointer_checkpoints);
}

void bind_additions(nb::module_& m) {
  using Additions = ext::Additions;
  nb::class_<Additions>(m, "_Additions", "The objects that are added to a collection from now on.")
      .def(nb::init<const ParameterCollection&>(), nb::arg("to"))
      .def("undo", &Additions::undo, "Takes it out again.");
}

/// The two text files of dynet.save: both are complete before the first takes its place.
void save_text(const std::string& basename, const nb::list& objects, const std::string& text) try {
  const Stoppable stoppable;
  ext::NewFile meta(basename + ".meta");
  TextFileSaver data(basename + ".data");
  for (const nb::handle pair : objects) {
    const nb::object object = pair[0];
    const auto key = nb::cast<std::string>(pair[1]);
    if (nb::isinstance<PyParameters>(object)) {
      data.save(nb::cast<const PyParameters&>(object).p, key);
    } else if (nb::isinstance<PyLookupParameters>(object)) {
      data.save(nb::cast<const PyLookupParameters&>(object).p, key);
    } else if (nb::isinstance<ParameterCollection>(object)) {
      data.save(nb::cast<const ParameterCollection&>(object), key);
    } else {
      throw nb::type_error("save: what param_collection() gives is no ParameterCollection");
    }
  }
  meta.write(text);
  data.close();
  meta.commit();
} catch (const errors::IoError& e) {
  throw errors::IoError(std::string("save: ") + e.what());  // the name of the called function
}

}  // namespace

void bind_files(nb::module_& m) {
  m.def("_save_text", &save_text, nb::arg("basename"), nb::arg("objects"), nb::arg("text"),
        nb::sig("def _save_text(basename: str, objects: list[tuple[typing.Any, str]], text: str) "
                "-> None"),
        "Writes basename.data and basename.meta; an object has its key.");
  m.def(
      "_foreign_file",
      [](const nb::bytes& begin) { return text::foreign_file({begin.c_str(), begin.size()}); },
      nb::arg("begin"), nb::sig("def _foreign_file(begin: bytes) -> str"),
      "The kind of a file that begins so; empty if unknown.");
  bind_additions(m);
  bind_saver(m);
  bind_loader(m);
  bind_checkpointer(m);
}

}  // namespace dynet::python
