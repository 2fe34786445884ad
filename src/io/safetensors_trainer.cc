// The state of a trainer in safetensors files. A source of its own, compiled by itself: the library
// for programs that only use models (cmake/inference.cmake) is without it.
#include <sstream>
#include <vector>

#include "dynet/except.h"
#include "dynet/safetensors.h"
#include "dynet/training.h"

#include "io/safetensors_file.h"
#include "io/safetensors_writer.h"
#include "io/saver_file.h"
#include "io/trainer_tensors.h"
#include "params/host.h"
#include "trainers/text.h"

namespace dynet {
namespace io {

void SafetensorsWriter::save(Trainer& trainer) {
  std::ostringstream text;
  std::vector<const Tensor*> tensors;
  trainers::write_aside(text, tensors);
  trainer.save(text);
  header_.metadata[kTrainerKey] = text.str();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = *tensors[i];
    announce(trainer_tensor(i), {static_cast<std::uint64_t>(t.d.elements())}, t.is_double());
  }
  make_room();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const params::HostNumbers host(*tensors[i], params::HostNumbers::Use::kRead);
    write_bytes(header_.tensors.at(trainer_tensor(i)), host.data());
  }
}

namespace {
/// For a handler of `e`: the same error with the name of the file, unless the text has the name, as
/// errors of tensors do.
template <class E>
[[noreturn]] void rethrow_named(const E& e, const SafetensorsFile& file) {
  const std::string what = e.what();
  if (what.find(file.name()) != std::string::npos) {
    throw;
  }
  throw E("the trainer's state in '" + file.name() + "': " + what);
}
}  // namespace

void populate_trainer(const SafetensorsFile& file, Trainer& trainer) {
  const auto text = file.header().metadata.find(kTrainerKey);
  if (text == file.header().metadata.end()) {
    throw errors::IoError("'" + file.name() + "' has no state of a trainer");
  }
  const trainers::TensorSource source = [&](std::size_t i, std::size_t size) {
    const std::string name = trainer_tensor(i);
    const FileTensor* const tensor = file.find(name);
    if (tensor == nullptr) {
      throw errors::IoError(no_tensor(file, name) + ", which the trainer's state mentions");
    }
    if (tensor->shape != std::vector<std::uint64_t>{size}) {
      file.fail(*tensor, "'" + name + "' has shape " + to_string(tensor->shape) + "; want [" +
                             std::to_string(size) + "]");
    }
    return SafetensorsReader(file).in_file_order(name, *tensor);
  };
  std::istringstream in(text->second);
  trainers::read_aside(in, source);
  try {
    trainer.populate(in);
  } catch (const errors::IoError& e) {
    rethrow_named(e, file);
  } catch (const errors::UsageError& e) {
    rethrow_named(e, file);
  }
}

}  // namespace io

void SafetensorsSaver::save(Trainer& trainer) {
  io::guarded(io::kSaverName, file_.get(), [&] { file_->save(trainer); });
}
void SafetensorsLoader::populate(Trainer& trainer) { io::populate_trainer(*file_, trainer); }

}  // namespace dynet
