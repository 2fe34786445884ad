#pragma once

// Saving and loading parameters: what all formats have in common, and text, in the format of DyNet
// 2.1. Safetensors are in dynet/safetensors.h, whole training sessions in dynet/checkpoint.h.
//
// A saver writes a temporary file beside the target and renames it over the target when it is
// closed, so a crash, a full disk or an exception leaves the old file. A loader reads and checks
// everything it needs before it changes anything.

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

/// Elements, each followed by a space; and back into a vector that already has its size.
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
  /// All parameters, then all lookup tables, of the collection and those below. With a key the
  /// collection's own name in front of theirs is replaced by it.
  virtual void save(const ParameterCollection& model, const std::string& key = "") = 0;
  virtual void save(const Parameter& param, const std::string& key = "") = 0;
  virtual void save(const LookupParameter& param, const std::string& key = "") = 0;
  /// Ends the file, if the format has one; nothing can be saved afterwards. IoError.
  virtual void close() {}
};

/// Reads them. On any error nothing was changed.
class Loader {
 public:
  Loader() = default;
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  virtual ~Loader();
  /// Assigns the objects whose names start with `key` in order: the i-th parameter of the file to
  /// the i-th of the collection, lookup tables likewise. IoError unless numbers and shapes agree.
  virtual void populate(ParameterCollection& model, const std::string& key = "") = 0;
  /// Takes the object named `key`.
  virtual void populate(Parameter& param, const std::string& key = "") = 0;
  virtual void populate(LookupParameter& lookup_param, const std::string& key = "") = 0;
  /// Adds the object named `key` to a collection, under that name.
  virtual Parameter load_param(ParameterCollection& model, const std::string& key) = 0;
  virtual LookupParameter load_lookup_param(ParameterCollection& model, const std::string& key) = 0;
};

/// Numbers are written with as many digits as bring them back exactly: nine for float, 17 on a
/// device in double. Each `save` gives what it writes to the system: IoError on a full disk. Thread
/// rule: one thread at a time; the model must not change meanwhile.
class TextFileSaver : public Saver {
 public:
  /// IoError when the file cannot be written. `append`: what is there stays, and is kept as it is
  /// when something fails; ValueError if that is a safetensors file.
  explicit TextFileSaver(const std::string& filename, bool append = false);
  TextFileSaver(const TextFileSaver&) = delete;
  TextFileSaver& operator=(const TextFileSaver&) = delete;
  /// Closes; an error goes to the log sink. When an exception is on its way out, or a save failed,
  /// the old file stays.
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
  /// What a derived class writes here goes into the file where it is written, between the objects.
  /// Loaders take no text but objects. Throws as `save`.
  std::ostream& datastream;
};

/// Remembers the name; each call reads the file anew. IoError names file, byte and what was wanted.
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

/// A saver of the format that the name asks for: safetensors if it ends in ".safetensors", else
/// text. IoError when the file cannot be written.
std::unique_ptr<Saver> make_saver(const std::string& filename, bool append = false);
/// A loader of the format that the file has, whatever its name. A file that cannot be read is an
/// IoError here or when it is loaded from.
std::unique_ptr<Loader> make_loader(const std::string& filename);

}  // namespace dynet
