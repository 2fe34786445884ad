#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "dynet/ext/new_file.h"
#include "dynet/io.h"

#include "program.h"

namespace examples {

namespace {

/// Null where there is none.
template <class Values>
auto* find(Values& values, const std::string& name) {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  return found == values.end() ? nullptr : &found->second;
}
[[noreturn]] void fail_find(const std::string& name) {
  throw std::runtime_error("the settings of this model have no '" + name + "'");
}

std::string settings_file(const std::string& model_file) { return model_file + ".settings"; }

void save_settings(const Settings& settings, const std::string& model_file) {
  std::ostringstream out;
  out << "task " << settings.task << "\n";
  for (const auto& [name, value] : settings.numbers) {
    out << name << " " << value << "\n";
  }
  for (const auto& [name, words] : settings.lists) {
    out << name << "[] " << words.size() << "\n";
    for (const std::string& word : words) {
      out << word << "\n";
    }
  }
  ext::NewFile file(settings_file(model_file));
  file.write(out.str());
  file.commit();
}

/// Reads settings line by line.
class SettingsReader {
 public:
  SettingsReader(const std::string& file, const std::vector<std::string>& tasks)
      : file_(file), tasks_(tasks), in_(file) {
    if (!in_) {
      throw std::runtime_error("cannot open '" + file + "', which belongs to the model file");
    }
  }

  Settings read() {
    Settings settings;
    std::string line;
    while (next(line)) {
      const std::size_t space = line.find(' ');
      if (space == std::string::npos || space == 0 || space + 1 == line.size()) {
        fail("want a name and a value");
      }
      const std::string name = line.substr(0, space);
      const std::string value = line.substr(space + 1);
      const bool is_first = line_ == 1;
      if (is_first != (name == "task")) {
        fail("want the task, and that in the first line only");
      }
      if (is_first) {
        if (std::find(tasks_.begin(), tasks_.end(), value) == tasks_.end()) {
          fail("the task is '" + value + "'; want " + tasks_.front());
        }
        settings.task = value;
      } else if (name.size() > 2 && name.substr(name.size() - 2) == "[]") {
        settings.lists.emplace_back(name.substr(0, name.size() - 2), words(number(value)));
      } else {
        settings.numbers.emplace_back(name, number(value));
      }
    }
    if (settings.task.empty()) {
      fail("the file is empty");
    }
    return settings;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw DataError(file_, std::max<std::size_t>(line_, 1), 1,
                    "no settings of this program: " + reason);
  }
  bool next(std::string& line) {
    const bool is_there = static_cast<bool>(std::getline(in_, line));
    line_ += is_there ? 1 : 0;
    return is_there;
  }
  [[nodiscard]] unsigned number(const std::string& text) const {
    if (text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) {
      fail("want a number below 10^9, not '" + text + "'");
    }
    return static_cast<unsigned>(std::stoul(text));
  }
  std::vector<std::string> words(unsigned count) {
    std::vector<std::string> list;
    std::string word;
    while (list.size() < count && next(word)) {
      list.push_back(word);
    }
    if (list.size() != count) {
      fail("the file ends before the last of " + std::to_string(count) + " words");
    }
    return list;
  }

  const std::string& file_;
  const std::vector<std::string>& tasks_;
  std::ifstream in_;
  std::size_t line_ = 0;
};

/// A number in [-1, 1) from a place: all steps are exact, in any language.
double number_at(std::uint32_t parameter, std::uint32_t element) {
  std::uint32_t x = element * 0x9e3779b1U + parameter * 0x85ebca6bU + 1U;
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  x ^= x >> 16;
  return static_cast<double>(x >> 8) / 8388608.0 - 1.0;
}

std::vector<float> values_at(std::uint32_t parameter, std::size_t first, std::size_t count,
                             double scale) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] =
        static_cast<float>(scale * number_at(parameter, static_cast<std::uint32_t>(first + i)));
  }
  return values;
}

}  // namespace

unsigned Settings::operator[](const std::string& name) const {
  const unsigned* const number = find(numbers, name);
  return number != nullptr ? *number : static_cast<unsigned>(list(name).size());
}

unsigned& Settings::number(const std::string& name) {
  unsigned* const number = find(numbers, name);
  if (number == nullptr) {
    fail_find(name);
  }
  return *number;
}

const std::vector<std::string>& Settings::list(const std::string& name) const {
  const std::vector<std::string>* const words = find(lists, name);
  if (words == nullptr) {
    fail_find(name);
  }
  return *words;
}

Dict Settings::dict(const std::string& name) const {
  Dict dict;
  for (const std::string& word : list(name)) {
    dict.convert(word);
  }
  dict.freeze();
  if (dict.size() > 0) {
    dict.set_unk(list(name).front());
  }
  return dict;
}

void save_model(const Settings& settings, const ParameterCollection& parameters,
                const std::string& model_file) {
  save_settings(settings, model_file);
  TextFileSaver saver(model_file);
  saver.save(parameters);
  saver.close();
}

Settings load_settings(const std::string& model_file, const std::vector<std::string>& tasks) {
  const std::string file = settings_file(model_file);
  return SettingsReader(file, tasks).read();
}

void populate(ParameterCollection& parameters, const std::string& model_file) {
  TextFileLoader loader(model_file);
  loader.populate(parameters);
}

void set_deterministic_values(ParameterCollection& parameters) {
  std::uint32_t number = 0;
  for (const auto& storage : parameters.parameters_list()) {
    const Dim& dim = storage->dim;
    const double scale = dim.nd < 2 ? 0.0 : std::sqrt(6.0 / dim.sum_dims());
    storage->set_value(values_at(number++, 0, dim.size(), scale));
  }
  for (const auto& storage : parameters.lookup_parameters_list()) {
    const std::size_t width = storage->dim.size();
    const std::size_t rows = storage->all_dim.size() / width;
    const double scale = std::sqrt(6.0 / (static_cast<double>(width) + 1.0));
    for (std::size_t row = 0; row < rows; ++row) {
      storage->initialize(static_cast<unsigned>(row), values_at(number, row * width, width, scale));
    }
    ++number;
  }
}

}  // namespace examples
