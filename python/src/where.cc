#include "where.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ended.h"
#include "frames.h"
#include "gil.h"
#include "lock.h"

namespace dynet::python {
namespace {

/// A number that KeptCode gave to a code object, or 0, and an offset in it.
struct Place {
  std::uintptr_t code = 0;
  int offset = 0;
};

/// The folder of the package, with a slash at its end; empty as long as it is not imported.
const std::string& package_folder() {
  static auto* folder = new std::string;  // never destroyed, as KeptCode
  if (folder->empty()) {
    PyObject* name = PyUnicode_FromString("dynet");
    PyObject* module = name == nullptr ? nullptr : PyImport_GetModule(name);
    PyObject* file = module == nullptr ? nullptr : PyModule_GetFilenameObject(module);
    const char* path = file == nullptr ? nullptr : PyUnicode_AsUTF8(file);
    if (path != nullptr) {
      const std::string text = path;
      *folder = text.substr(0, text.find_last_of("/\\") + 1);
    }
    Py_XDECREF(file);
    Py_XDECREF(module);
    Py_XDECREF(name);
    PyErr_Clear();
  }
  return *folder;
}

/// Code objects to which nodes may refer, by numbers that are never given twice, and code objects
/// of the package, to which no node refers. Keeps all code that Python has, and some thousands of
/// objects that only this class keeps: code that ran once (`exec`, cells of notebooks) ends at
/// last, and a place in it is then unknown. Guarded by the GIL, or by the module's lock (lock.h);
/// never destroyed, as nodes may outlive the module's own statics.
class KeptCode {
 public:
  /// The number of code of the program. 0 for code of the package, and for imports of it: the
  /// caller's line tells the user more.
  std::uintptr_t keep(PyCodeObject* code) {
    const Recent& recent = recent_[place_of(code)];
    return recent.code == code ? recent.number : keep_other(code);
  }
  /// The code object with this number, or null if it has ended. Borrowed.
  [[nodiscard]] PyCodeObject* find(std::uintptr_t number) const {
    const auto found = codes_.find(number);
    return found == codes_.end() ? nullptr : found->second;
  }

 private:
  struct Recent {
    PyCodeObject* code = nullptr;
    std::uintptr_t number = 0;
  };
  static constexpr std::size_t kRecent = 256;
  static constexpr std::size_t kMostEnded = 4096;

  static std::size_t place_of(PyCodeObject* code) {
    return (reinterpret_cast<std::uintptr_t>(code) >> 6) % kRecent;
  }
  /// Not inline: nearly all code is recent, and this takes registers from the caller.
  [[gnu::noinline]] std::uintptr_t keep_other(PyCodeObject* code) {
    const std::uintptr_t number = number_of(code);
    recent_[place_of(code)] = {code, number};
    return number;
  }
  std::uintptr_t number_of(PyCodeObject* code) {
    if (const auto found = numbers_.find(code); found != numbers_.end()) {
      return found->second;
    }
    const bool is_packages = is_of_package(code);  // first: other threads may come here meanwhile
    const auto [entry, is_new] = numbers_.emplace(code, 0);
    if (is_new) {
      Py_INCREF(code);
      if (!is_packages) {
        entry->second = ++last_number_;
        codes_.emplace(last_number_, code);
      }
    }
    const std::uintptr_t number = entry->second;
    if (numbers_.size() >= next_sweep_) {
      sweep(code);
    }
    return number;
  }
  /// Releases the older half of the code that nobody else keeps, except `asked`.
  void sweep(PyCodeObject* asked) {
    std::vector<std::pair<std::uintptr_t, PyCodeObject*>> ended;
    for (const auto& [code, number] : numbers_) {
      if (code != asked && Py_REFCNT(code) == 1) {
        ended.emplace_back(number, code);
      }
    }
    std::sort(ended.begin(), ended.end());
    ended.resize((ended.size() + 1) / 2);
    for (const auto& [number, code] : ended) {
      numbers_.erase(code);
      codes_.erase(number);
      if (Recent& recent = recent_[place_of(code)]; recent.code == code) {
        recent = {};
      }
    }
    next_sweep_ = std::max(kMostEnded, 2 * numbers_.size());
    for (const auto& [number, code] : ended) {  // last: this may run code of the program's
      Py_DECREF(code);
    }
  }
  /// Python's own code between `import dynet` and the package counts as the package.
  static bool is_of_package(PyCodeObject* code) {
    static constexpr char kImport[] = "<frozen importlib";
    const std::string& folder = package_folder();
    const char* file = PyUnicode_AsUTF8(code->co_filename);
    PyErr_Clear();
    return file != nullptr &&
           (std::strncmp(file, kImport, sizeof kImport - 1) == 0 ||
            (!folder.empty() && std::strncmp(file, folder.c_str(), folder.size()) == 0));
  }

  Recent recent_[kRecent] = {};
  std::unordered_map<PyCodeObject*, std::uintptr_t> numbers_;
  std::unordered_map<std::uintptr_t, PyCodeObject*> codes_;  ///< of the program
  std::uintptr_t last_number_ = 0;
  std::size_t next_sweep_ = kMostEnded;
};
KeptCode& kept_code() {
  static auto* kept = new KeptCode;
  return *kept;
}

/// The innermost frame that is the program's.
Place innermost() {
  Place place;
  place.offset = find_frame(
      [&place](PyCodeObject* code) { return (place.code = kept_code().keep(code)) != 0; });
  return place;
}

std::string text_of(PyObject* string) {
  const char* text = PyUnicode_AsUTF8(string);
  if (text == nullptr) {
    PyErr_Clear();
    return "?";
  }
  return text;
}

std::string text_of(const Place& place) {
  PyCodeObject* const code = kept_code().find(place.code);
  if (code == nullptr) {
    return "Python code that has ended";
  }
  const int line = PyCode_Addr2Line(code, place.offset);
  const std::string function = text_of(code->co_name);
  std::string text = text_of(code->co_filename) + ":" + std::to_string(line);
  if (function != "<module>") {
    text += " in " + function + "()";
  }
  return text;
}

std::string describe(const void* code, unsigned offset) {
  if (!is_python_alive()) {
    return "Python code";
  }
  const WithGil gil;
  const Entered entered;
  return text_of({reinterpret_cast<std::uintptr_t>(code), static_cast<int>(offset)});
}

}  // namespace

Where here() {
  const Place place = innermost();
  if (place.code == 0) {
    return {};
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): CPython gives the address as a number
  const auto* code = reinterpret_cast<const void*>(place.code);
  return Where::in_code(code, static_cast<unsigned>(place.offset));
}

namespace {
struct End {
  const char* by = nullptr;
  Place place;
};
End& last_end() {
  static thread_local End of_thread;
  return of_thread;
}
}  // namespace

void note_end(const char* by) { last_end() = {by, innermost()}; }

std::string end_text() {
  const End& end = last_end();
  return end.place.code == 0 ? std::string()
                             : std::string("\n  ") + end.by + " at " + text_of(end.place);
}

std::string line_here() {
  const Place place = innermost();
  return place.code == 0 ? std::string() : text_of(place);
}

int warn_here(const char* text) {
  const Entered entered;
  const Place place = innermost();
  PyCodeObject* const code = kept_code().find(place.code);
  if (code == nullptr) {
    return PyErr_WarnEx(PyExc_RuntimeWarning, text, 1);
  }
  const int line = PyCode_Addr2Line(code, place.offset);
  PyObject* const file = code->co_filename;
  Py_INCREF(file);  // the call may end the code
  PyObject* const message = PyUnicode_FromString(text);
  const int result = message == nullptr ? -1
                                        : PyErr_WarnExplicitObject(PyExc_RuntimeWarning, message,
                                                                   file, line, nullptr, nullptr);
  Py_XDECREF(message);
  Py_DECREF(file);
  return result;
}

void install_location_resolver() { ext::set_location_resolver(&describe); }

}  // namespace dynet::python
