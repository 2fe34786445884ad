#pragma once

// A model on disk: a safetensors file, with the settings of the model in its metadata. Python reads
// and writes the same files.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include "dynet/safetensors.h"

#include "example.h"

namespace example {

/// The settings needed to make a model: numbers, and the words that have numbers.
struct Settings {
  std::string task;
  std::map<std::string, unsigned> numbers = {};
  std::map<std::string, Dict> dicts = {};  ///< frozen

  /// A number, or how many words there are.
  unsigned operator[](const std::string& name) const {
    const auto dict = dicts.find(name);
    const auto number = numbers.find(name);
    if (dict == dicts.end() && number == numbers.end()) {
      throw std::runtime_error("the settings have no '" + name + "'");
    }
    return dict == dicts.end() ? number->second : dict->second.size();
  }
};

inline void save_model(const Settings& settings, const ParameterCollection& m,
                       const std::string& file) {
  SafetensorsSaver saver(file);
  saver.save(m);
  saver.set_metadata("task", settings.task);
  for (const auto& [name, number] : settings.numbers) {
    saver.set_metadata(name, std::to_string(number));
  }
  for (const auto& [name, dict] : settings.dicts) {
    std::string lines;
    for (const std::string& word : dict.get_words()) {
      lines += word + "\n";
    }
    saver.set_metadata(name + "[]", lines);
  }
  saver.close();
}

/// The settings in a model's file. std::runtime_error for a model of another task, or for other
/// metadata.
inline Settings load_settings(const std::string& file, const std::string& task) {
  std::map<std::string, std::string> metadata = SafetensorsLoader(file).metadata();
  if (metadata["task"] != task) {
    throw std::runtime_error(file + " is not a model of " + task);
  }
  metadata.erase("task");
  Settings settings{task};
  for (const auto& [name, value] : metadata) {
    const std::size_t end = name.size() - std::min<std::size_t>(2, name.size());
    if (name.substr(end) != "[]") {
      const char* const last = value.data() + value.size();
      const auto read = std::from_chars(value.data(), last, settings.numbers[name]);
      if (read.ec != std::errc() || read.ptr != last) {
        std::ostringstream what;
        what << file << ": " << name << " is '" << value << "'; want a number";
        throw std::runtime_error(what.str());
      }
      continue;
    }
    std::istringstream lines(value);
    Dict& dict = settings.dicts[name.substr(0, end)];
    for (std::string line; std::getline(lines, line);) {
      dict.convert(line);
    }
    dict.contains("<unk>") ? freeze(dict) : dict.freeze();
  }
  return settings;
}

/// The model that `save_model` wrote.
template <class Model>
void populate(Model& model, const std::string& file) {
  SafetensorsLoader(file).populate(model.m);
}

}  // namespace example
