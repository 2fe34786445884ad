#include <unistd.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>

#include "dynet/distributed.h"
#include "dynet/errors.h"
#include "dynet/except.h"
#include "dynet/training.h"

#include "distributed/random.h"
#include "distributed/ranks.h"
#include "distributed/trainer.h"

namespace dynet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRandom = "distributed.random";
constexpr char kBetween = '\n';  // the states of two ranks

/// The random state of one rank; empty: `states` has none of this rank.
std::string state_of(const std::string& states, unsigned rank) {
  std::istringstream all(states);
  std::string state;
  for (unsigned r = 0; r <= rank; ++r) {
    if (!std::getline(all, state, kBetween)) {
      return {};
    }
  }
  return state;
}

/// A folder of this process, which goes with the object.
class OwnFolder {
 public:
  OwnFolder() {
    std::string name = (fs::temp_directory_path() / "dynet-checkpoint-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw errors::IoError("DistributedCheckpointer: cannot make the folder '" + name + "'");
    }
    path_ = name;
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  ~OwnFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string bytes_of(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) {
    throw errors::IoError("DistributedCheckpointer: cannot read '" + name + "'");
  }
  return bytes;
}

}  // namespace

/// Rank 0 has a Checkpointer that saves when told; the other ranks follow its counts.
class DistributedCheckpointer::Implementation {
 public:
  Implementation(const std::string& folder, distributed::Ranks& all, const CheckpointPolicy& how)
      : ranks(all), policy(how), last_save_(std::chrono::steady_clock::now()) {
    CheckpointPolicy when_told = how;
    when_told.every_steps = 0;
    when_told.every_seconds = 0;
    on_first([&] {
      Checkpointer(folder, *ranks.trainer().model, ranks.trainer(), how);  // checks the policy
      first_ = std::make_unique<Checkpointer>(folder, *ranks.trainer().model, ranks.trainer(),
                                              when_told);
      return std::string();
    });
  }

  bool resume(std::map<std::string, std::string>& texts) {
    std::string name;
    const std::string file = on_first([&] {
      if (!first_->resume()) {
        return std::string();
      }
      name = first_->checkpoints().back().file;
      return bytes_of(name);
    });
    if (file.empty()) {
      return false;
    }
    const std::string base = ranks.from_first(fs::path(name).filename().string());
    if (ranks.rank() == 0) {
      take(*first_, texts);
    } else {
      const OwnFolder folder;
      std::ofstream copy(folder.path() / base, std::ios::binary);
      copy.write(file.data(), static_cast<std::streamsize>(file.size()));
      copy.close();
      if (!copy) {
        throw errors::IoError("DistributedCheckpointer: cannot write to '" +
                              folder.path().string() + "'");
      }
      Checkpointer other(folder.path().string(), *ranks.trainer().model, ranks.trainer());
      other.resume();
      take(other, texts);
    }
    return true;
  }

  bool step(const std::string& at, const std::map<std::string, std::string>& texts) {
    ++steps;
    on_here([&](Checkpointer& c) { c.step(at); });
    bool is_due = policy.every_steps > 0 && steps - last_saved_step_ >= policy.every_steps;
    if (!is_due && policy.every_seconds > 0) {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - last_save_;
      is_due = !ranks.from_first(passed.count() >= policy.every_seconds ? "1" : "").empty();
    }
    if (is_due) {
      save(at, nullptr, texts);
    }
    return is_due;
  }

  void save(const std::string& at, const double* score,
            const std::map<std::string, std::string>& texts) {
    ranks.check();
    ranks.settle();
    std::string states;
    for (const std::string& state : ranks.gather(distributed::random_state())) {
      states += state + kBetween;
    }
    on_first([&] {
      first_->metadata = texts;
      first_->metadata[kRandom] = states;
      score == nullptr ? first_->save(at) : first_->save(at, *score);
      return std::string();
    });
    position = at;
    last_saved_step_ = steps;
    last_save_ = std::chrono::steady_clock::now();
  }

  void load_best() {
    on_first([&] {
      first_->load_best();
      return std::string();
    });
    ranks.spread_values();
  }

  [[nodiscard]] std::vector<Checkpoint> checkpoints() const {
    return first_ ? first_->checkpoints() : std::vector<Checkpoint>();
  }

  distributed::Ranks& ranks;
  CheckpointPolicy policy;
  std::uint64_t steps = 0;
  std::string position;

 private:
  template <class F>
  void on_here(F f) {
    if (first_) {
      f(*first_);
    }
  }

  /// Runs `f` on rank 0, and gives its text to all ranks. Its error is thrown on all.
  std::string on_first(const std::function<std::string()>& f) {
    std::string text;
    std::exception_ptr error;
    if (ranks.rank() == 0) {
      try {
        text = '+' + f();
      } catch (const errors::IoError& e) {
        text = std::string("i") + e.what();
        error = std::current_exception();
      } catch (const errors::ValueError& e) {
        text = std::string("v") + e.what();
        error = std::current_exception();
      } catch (const std::exception& e) {
        text = std::string("u") + e.what();
        error = std::current_exception();
      }
    }
    text = ranks.from_first(text);
    if (error != nullptr) {
      std::rethrow_exception(error);
    }
    const std::string rest = text.substr(1);
    switch (text[0]) {
      case 'i':
        throw errors::IoError("rank 0: " + rest);
      case 'v':
        throw errors::ValueError("rank 0: " + rest);
      case 'u':
        throw errors::UsageError("rank 0: " + rest);
      default:
        return rest;
    }
  }

  /// After resume() of `from`.
  void take(const Checkpointer& from, std::map<std::string, std::string>& texts) {
    texts = from.metadata;
    const auto states = texts.find(kRandom);
    const bool has_states = states != texts.end();  // else one process wrote the checkpoint
    const std::string mine = has_states ? state_of(states->second, ranks.rank()) : "";
    if (!mine.empty()) {
      distributed::take_random_state(mine);
    } else {
      distributed::take_first_random_state(
          has_states ? state_of(states->second, 0) : distributed::random_state(), ranks.rank());
    }
    if (has_states) {
      texts.erase(states);
    }
    steps = last_saved_step_ = from.steps();
    position = from.position();
    last_save_ = std::chrono::steady_clock::now();
  }

  std::unique_ptr<Checkpointer> first_;  ///< on rank 0
  std::uint64_t last_saved_step_ = 0;
  std::chrono::steady_clock::time_point last_save_;
};

DistributedCheckpointer::DistributedCheckpointer(const std::string& folder,
                                                 DistributedTrainer& trainer,
                                                 const CheckpointPolicy& policy)
    : it_(std::make_unique<Implementation>(folder, trainer.it_->ranks(), policy)) {}
DistributedCheckpointer::~DistributedCheckpointer() = default;

bool DistributedCheckpointer::resume() { return it_->resume(metadata); }
void DistributedCheckpointer::load_best() { it_->load_best(); }
bool DistributedCheckpointer::step(const std::string& position) {
  return it_->step(position, metadata);
}
void DistributedCheckpointer::save(const std::string& position) {
  it_->save(position, nullptr, metadata);
}
void DistributedCheckpointer::save(const std::string& position, double score) {
  it_->save(position, &score, metadata);
}

std::uint64_t DistributedCheckpointer::steps() const { return it_->steps; }
const std::string& DistributedCheckpointer::position() const { return it_->position; }
const CheckpointPolicy& DistributedCheckpointer::policy() const { return it_->policy; }
std::vector<Checkpoint> DistributedCheckpointer::checkpoints() const { return it_->checkpoints(); }

}  // namespace dynet
