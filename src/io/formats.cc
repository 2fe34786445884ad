// Which format a file has, and files of whole models in any of them.

#include <fstream>
#include <string>
#include <string_view>

#include "dynet/io.h"
#include "dynet/safetensors.h"

#include "io/safetensors_header.h"
#include "params/stored.h"

namespace dynet {
namespace {

bool has_safetensors_name(std::string_view name) { return name.ends_with(".safetensors"); }

/// By its first bytes: text begins with the header of an object, safetensors with a length and '{'.
bool is_safetensors(const std::string& name) {
  std::string begin(32, '\0');
  std::ifstream file(name, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(file.gcount()));
  if (io::begins_safetensors(begin)) {
    return true;
  }
  const bool is_text =
      begin.starts_with(params::type_word(false)) || begin.starts_with(params::type_word(true));
  return !is_text && has_safetensors_name(name);  // damaged: the name says the format
}

}  // namespace

Saver::~Saver() = default;
Loader::~Loader() = default;

template <int>
std::unique_ptr<Saver> make_saver(const std::string& filename, bool append) {
  if (has_safetensors_name(filename)) {
    return std::make_unique<SafetensorsSaver>(filename, append);
  }
  return std::make_unique<TextFileSaver>(filename, append);
}
template std::unique_ptr<Saver> make_saver<>(const std::string& filename, bool append);

template <int>
std::unique_ptr<Loader> make_loader(const std::string& filename) {
  if (is_safetensors(filename)) {
    return std::make_unique<SafetensorsLoader>(filename);
  }
  return std::make_unique<TextFileLoader>(filename);
}
template std::unique_ptr<Loader> make_loader<>(const std::string& filename);

// NOLINTBEGIN(performance-unnecessary-value-param): the signatures of DyNet 2.1
void save_dynet_model(std::string filename, ParameterCollection* model) {
  const std::unique_ptr<Saver> saver = make_saver(filename);
  saver->save(*model, "/model");
  saver->close();
}
void load_dynet_model(std::string filename, ParameterCollection* model) {
  make_loader(filename)->populate(*model, "/model");
}
// NOLINTEND(performance-unnecessary-value-param)

}  // namespace dynet
