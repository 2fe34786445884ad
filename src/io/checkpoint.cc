#include "dynet/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "dynet/except.h"
#include "dynet/training.h"

#include "io/model_reader.h"
#include "io/replace_file.h"
#include "io/safetensors_file.h"
#include "io/safetensors_writer.h"
#include "io/trainer_tensors.h"
#include "params/random_streams.h"
#include "params/settings.h"
#include "params/use_count.h"
#include "util/number_text.h"

namespace dynet {
namespace {

namespace fs = std::filesystem;
using io::SafetensorsFile;

constexpr std::string_view kBegin = "checkpoint-";
constexpr std::string_view kEnd = ".safetensors";
constexpr std::size_t kDigits = 12;  // at least; so that a list of names is in order
constexpr const char* kSteps = "dynet.checkpoint.steps";
constexpr const char* kScore = "dynet.checkpoint.score";
constexpr const char* kPosition = "dynet.checkpoint.position";
constexpr const char* kRandom = "dynet.checkpoint.random";

std::string name_of(std::uint64_t steps) {
  std::string digits = std::to_string(steps);
  digits.insert(0, kDigits - std::min(kDigits, digits.size()), '0');
  return std::string(kBegin) + digits + std::string(kEnd);
}
bool has_name_of_checkpoint(std::string_view name) {
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) {
    return false;
  }
  const std::string_view digits =
      name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
  return digits.size() >= kDigits &&
         digits.find_first_not_of("0123456789") == std::string_view::npos;
}

template <class T>
std::optional<T> number_from(const std::string& text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end ? std::optional<T>(value) : std::nullopt;
}

/// The text under a key; IoError if there is none.
const std::string& text_of(const SafetensorsFile& file, const char* key) {
  const auto& metadata = file.header().metadata;
  const auto found = metadata.find(key);
  if (found == metadata.end()) {
    throw errors::IoError("'" + file.name() + "' is no checkpoint: its metadata have no '" + key +
                          "'");
  }
  return found->second;
}
[[noreturn]] void bad_text(const SafetensorsFile& file, const char* key) {
  throw errors::IoError("'" + file.name() + "': '" + key + "' of the metadata is '" +
                        text_of(file, key) + "'; want what a checkpoint has there");
}

Checkpoint describe(const SafetensorsFile& file) {
  Checkpoint c;
  c.file = file.name();
  const auto steps = number_from<std::uint64_t>(text_of(file, kSteps));
  if (!steps) {
    bad_text(file, kSteps);
  }
  c.steps = *steps;
  if (file.header().metadata.count(kScore) > 0) {
    const auto score = number_from<double>(text_of(file, kScore));
    if (!score) {
      bad_text(file, kScore);
    }
    c.has_score = true;
    c.score = *score;
  }
  return c;
}

/// All files of a folder that have names of checkpoints. IoError.
std::vector<std::string> checkpoints_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (has_name_of_checkpoint(entry->path().filename().string())) {
      files.push_back(entry->path().string());
    }
  }
  if (error) {
    throw errors::IoError("Checkpointer: cannot read the folder '" + folder +
                          "': " + error.message());
  }
  return files;
}

params::RandomState read_random_state(const SafetensorsFile& file) {
  auto state = params::random_state_from(text_of(file, kRandom));
  if (!state) {
    bad_text(file, kRandom);
  }
  return *state;
}

}  // namespace

Checkpointer::Checkpointer(const std::string& folder, const ParameterCollection& model,
                           Trainer& trainer, const CheckpointPolicy& policy)
    : folder_(folder),
      model_(model),
      trainer_(&trainer),
      policy_(policy),
      last_save_(std::chrono::steady_clock::now()) {
  if (policy.keep_last == 0) {
    throw errors::ValueError("Checkpointer: keep_last is 0; want 1 or more");
  }
  if (!(policy.every_seconds >= 0.0)) {
    throw errors::ValueError("Checkpointer: every_seconds is " +
                             util::text_of(policy.every_seconds) + "; want 0 or more");
  }
  std::error_code error;
  fs::create_directories(folder, error);
  std::error_code also_said_above;
  if (!fs::is_directory(folder, also_said_above)) {
    throw errors::IoError("Checkpointer: cannot make the folder '" + folder +
                          "': " + error.message());
  }
  io::remove_abandoned(folder, has_name_of_checkpoint);
}

/// Reads the headers of all checkpoints of the folder, without damaged files.
void Checkpointer::list() {
  std::vector<Checkpoint> found;
  for (const std::string& file : checkpoints_in(folder_)) {
    try {
      found.push_back(describe(SafetensorsFile(file)));
    } catch (const errors::IoError& e) {
      params::log(std::string("Checkpointer: passed over: ") + e.what());
    }
  }
  std::sort(found.begin(), found.end(),
            [](const Checkpoint& a, const Checkpoint& b) { return a.steps < b.steps; });
  checkpoints_ = std::move(found);
}

bool Checkpointer::resume() {
  list();
  std::optional<SafetensorsFile> file;
  while (!file && !checkpoints_.empty()) {
    try {
      file.emplace(checkpoints_.back().file);
      file->check_all();
    } catch (const errors::IoError& e) {
      file.reset();
      params::log(std::string("Checkpointer: passed over: ") + e.what());
      checkpoints_.pop_back();
    }
  }
  if (!file) {
    for (const std::string& name : checkpoints_in(folder_)) {
      const SafetensorsFile damaged(name);  // throws the error
      damaged.check_all();
      describe(damaged);
    }
    owns_folder_ = true;
    return false;
  }
  const params::RandomState random = read_random_state(*file);
  std::string position = text_of(*file, kPosition);
  std::map<std::string, std::string> texts;
  for (const auto& [key, text] : file->header().metadata) {
    if (!std::string_view(key).starts_with(io::kOwnKeys)) {
      texts.emplace(key, text);
    }
  }
  io::ModelReader reader(*file);
  reader.want_all(model_, "");
  reader.want_gradients(model_);
  reader.prepare();
  {  // a computing graph is an error before the trainer changes, which checks by itself
    const params::UpdateScope scope(params::usage_of(model_), "Checkpointer::resume");
  }
  io::populate_trainer(*file, *trainer_);
  // Nothing below can fail: it puts the read numbers into place.
  const params::UpdateScope scope(params::usage_of(model_), "Checkpointer::resume");
  reader.commit();
  params::restore_random_state(random);
  steps_ = last_saved_step_ = checkpoints_.back().steps;
  position_ = std::move(position);
  metadata = std::move(texts);
  last_save_ = std::chrono::steady_clock::now();
  owns_folder_ = true;
  return true;
}

void Checkpointer::load_best() {
  list();
  const Checkpoint* best = nullptr;
  for (const Checkpoint& c : checkpoints_) {
    const bool is_better =
        c.has_score && (best == nullptr || (policy_.larger_is_better ? c.score >= best->score
                                                                     : c.score <= best->score));
    best = is_better ? &c : best;
  }
  if (best == nullptr) {
    throw errors::UsageError("Checkpointer::load_best: no checkpoint in '" + folder_ +
                             "' has a score");
  }
  const SafetensorsFile file(best->file);
  io::ModelReader reader(file);
  reader.want_all(model_, "");
  reader.prepare();
  const params::UpdateScope scope(params::usage_of(model_), "Checkpointer::load_best");
  reader.commit();
}

bool Checkpointer::step(const std::string& position) {
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - last_save_;
  const bool is_due =
      (policy_.every_steps > 0 && steps_ + 1 - last_saved_step_ >= policy_.every_steps) ||
      (policy_.every_seconds > 0.0 && passed.count() >= policy_.every_seconds);
  ++steps_;
  if (is_due) {
    try {
      save(position);
    } catch (...) {
      --steps_;  // the program may repeat the call
      throw;
    }
  }
  return is_due;
}

void Checkpointer::save(const std::string& position) { save(position, nullptr); }
void Checkpointer::save(const std::string& position, double score) {
  if (std::isnan(score)) {
    throw errors::ValueError("Checkpointer::save: the score is NaN; want a number");
  }
  save(position, &score);
}

void Checkpointer::save(const std::string& position, const double* score) {
  if (trainer_->has_swapped_averages()) {
    throw errors::UsageError(
        "Checkpointer::save: the averages are in the place of the parameters; call "
        "swap_params_to_weights() first");
  }
  if (!owns_folder_) {
    list();
    if (!checkpoints_.empty()) {
      throw errors::UsageError(
          "Checkpointer::save: '" + folder_ + "' has checkpoints, '" + checkpoints_.back().file +
          "' among them; call resume() before the first step, or take another folder");
    }
    owns_folder_ = true;
  }
  const std::string file = (fs::path(folder_) / name_of(steps_)).string();
  write(file, position, score);
  Checkpoint done;
  done.file = file;
  done.steps = steps_;
  done.has_score = score != nullptr;
  done.score = score != nullptr ? *score : 0.0;
  if (!checkpoints_.empty() && checkpoints_.back().steps == steps_) {
    checkpoints_.pop_back();
  }
  checkpoints_.push_back(done);
  position_ = position;
  last_saved_step_ = steps_;
  last_save_ = std::chrono::steady_clock::now();
  prune();
}

void Checkpointer::write(const std::string& file, const std::string& position,
                         const double* score) {
  io::SafetensorsWriter writer(file, false);
  auto& texts = writer.metadata();
  for (const auto& [key, text] : metadata) {
    if (std::string_view(key).starts_with(io::kOwnKeys)) {
      throw errors::ValueError("Checkpointer::save: the key '" + key +
                               "' of the metadata begins with 'dynet.'; want another");
    }
    texts[key] = text;
  }
  texts[kSteps] = std::to_string(steps_);
  texts[kPosition] = position;
  texts[kRandom] = params::random_state_text();
  if (score != nullptr) {
    char digits[32];
    texts[kScore] = std::string(digits, std::to_chars(digits, digits + sizeof(digits), *score).ptr);
  }
  writer.save(*trainer_);  // first: it stores pending changes in the parameters
  writer.save(model_, "");
  writer.save_gradients(model_);  // gradients that no update has taken
  writer.commit();
}

/// Removes checkpoints that are neither among the last nor among the best. A file that cannot be
/// removed stays.
void Checkpointer::prune() {
  std::vector<Checkpoint> ranked;
  std::copy_if(checkpoints_.begin(), checkpoints_.end(), std::back_inserter(ranked),
               [](const Checkpoint& c) { return c.has_score; });
  std::sort(ranked.begin(), ranked.end(), [&](const Checkpoint& a, const Checkpoint& b) {
    if (a.score != b.score) {
      return policy_.larger_is_better ? a.score > b.score : a.score < b.score;
    }
    return a.steps > b.steps;
  });
  ranked.resize(std::min<std::size_t>(ranked.size(), policy_.keep_best));
  std::vector<Checkpoint> kept;
  for (std::size_t i = 0; i < checkpoints_.size(); ++i) {
    const Checkpoint& c = checkpoints_[i];
    const bool is_best = std::any_of(ranked.begin(), ranked.end(),
                                     [&](const Checkpoint& b) { return b.steps == c.steps; });
    if (checkpoints_.size() - i <= policy_.keep_last || is_best) {
      kept.push_back(c);
    } else {
      std::error_code ignored;
      fs::remove(c.file, ignored);
    }
  }
  checkpoints_ = std::move(kept);
}

}  // namespace dynet
