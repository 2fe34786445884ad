#pragma once

// Saving and loading parameters: the interfaces of all formats, and the text format of DyNet 2.1.
// Safetensors are in dynet/safetensors.h, whole training sessions in dynet/checkpoint.h.
//
// A saver writes a temporary file beside the target and renames it over the target in close(), so a
// crash, a full disk or an exception leaves the old file. A loader reads and checks everything
// before it changes anything. Example: a file with 4 numbers for a parameter {2,3} is an IoError,
// and the parameter keeps its values.

#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "dynet/dim.h"
#include "dynet/except.h"
#include "dynet/model.h"
#include "dynet/str-util.h"
#include "dynet/tensor.h"

namespace dynet {

/// Elements, each followed by a space; reading fills a vector that already has its size.
template <class T>
std::ostream& operator<<(std::ostream& os, const std::vector<T>& v) {
  std::copy(v.begin(), v.end(), std::ostream_iterator<T>(os, " "));
  return os;
}
template <class T>
std::istream& operator>>(std::istream& is, std::vector<T>& v) {
  std::copy(std::istream_iterator<T>(is), std::istream_iterator<T>(), v.begin());
  return is;
}

/// Writes collections and parameters. Keys of collections are empty or start with '/', keys of
/// parameters need not; neither has a space or '#' nor is "/": ValueError.
class Saver {
 public:
  Saver() = default;
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;
  virtual ~Saver();
  /// All parameters, then all lookup tables, of the collection and its sub-collections. A key
  /// replaces the collection's own name at the front of the names.
  virtual void save(const ParameterCollection& model, const std::string& key = "") = 0;
  virtual void save(const Parameter& param, const std::string& key = "") = 0;
  virtual void save(const LookupParameter& param, const std::string& key = "") = 0;
  /// Ends the file, if the format has one; nothing can be saved afterwards. IoError.
  virtual void close() {}
};

/// Reads collections and parameters. An error leaves everything unchanged.
class Loader {
 public:
  Loader() = default;
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  virtual ~Loader();
  /// Assigns the objects whose names start with `key` in order: the i-th parameter of the file to
  /// the i-th parameter of the collection, and lookup tables in the same way. IoError unless
  /// numbers and shapes agree.
  virtual void populate(ParameterCollection& model, const std::string& key = "") = 0;
  /// Takes the object named `key`.
  virtual void populate(Parameter& param, const std::string& key = "") = 0;
  virtual void populate(LookupParameter& lookup_param, const std::string& key = "") = 0;
  /// Adds the object named `key` to a collection, under that name.
  virtual Parameter load_param(ParameterCollection& model, const std::string& key) = 0;
  virtual LookupParameter load_lookup_param(ParameterCollection& model, const std::string& key) = 0;
};

/// Numbers are written with enough digits to read the same number: nine for float, 17 on a device
/// in double. Each `save` hands its text to the system: IoError on a full disk. Thread rule: one
/// thread at a time; the model must not change meanwhile.
class TextFileSaver : public Saver {
 public:
  /// IoError when the file cannot be written. `append`: the objects in the file stay, also when a
  /// save fails; ValueError for a safetensors file.
  explicit TextFileSaver(const std::string& filename, bool append = false);
  TextFileSaver(const TextFileSaver&) = delete;
  TextFileSaver& operator=(const TextFileSaver&) = delete;
  /// Closes; an error goes to the log sink. During an exception, or after a failed save, the old
  /// file stays.
  ~TextFileSaver() override;
  void save(const ParameterCollection& model, const std::string& key = "") override;
  void save(const Parameter& param, const std::string& key = "") override;
  void save(const LookupParameter& param, const std::string& key = "") override;
  /// Puts the new file in the place of the old one, on the disk. IoError when that fails. Nothing
  /// can be saved afterwards.
  void close() override;

 protected:
  void save(const ParameterStorage& param, const std::string& key = "");
  void save(const LookupParameterStorage& param, const std::string& key = "");

 private:
  struct File;
  struct Stream;
  std::unique_ptr<File> file_;
  std::unique_ptr<Stream> stream_;

 protected:
  /// The text of a derived class, written between the objects. Loaders take no text but objects.
  /// Throws as `save`.
  std::ostream& datastream;
};

/// Remembers the name; each call reads the file anew. IoError names the file, the byte and the
/// expected text.
class TextFileLoader : public Loader {
 public:
  explicit TextFileLoader(const std::string& filename);
  ~TextFileLoader() override;
  void populate(ParameterCollection& model, const std::string& key = "") override;
  void populate(Parameter& param, const std::string& key = "") override;
  void populate(LookupParameter& lookup_param, const std::string& key = "") override;
  Parameter load_param(ParameterCollection& model, const std::string& key) override;
  LookupParameter load_lookup_param(ParameterCollection& model, const std::string& key) override;

 private:
  std::string dataname_;
};

/// A saver in the format of the name: safetensors for ".safetensors", else text. IoError when the
/// file cannot be written.
template <int = 0>
std::unique_ptr<Saver> make_saver(const std::string& filename, bool append = false);
/// A loader for the format of the file's content, whatever the name. A file that cannot be read is
/// an IoError here or in the first load.
template <int = 0>
std::unique_ptr<Loader> make_loader(const std::string& filename);

}  // namespace dynet
