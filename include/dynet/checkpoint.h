#pragma once

// Checkpoints: a training that is stopped at any moment, or killed, goes on as if nothing had
// happened.
//
// A checkpoint is one safetensors file in a folder, "checkpoint-000000000120.safetensors" after 120
// steps: the parameters under their own names, the trainer's state with averages and schedule, the
// state of the random numbers (`rndeng`, and the seed and stream counter of random operations), the
// program's position in the data, and text of the program's own. The file appears when it is
// complete and on the disk; only then are older checkpoints removed.
//
// A resumed run computes the numbers of an uninterrupted run, to the bit, if the program reads the
// same data from the position on. Checkpoints also have gradients that no update has taken. They
// lack open graphs, random numbers of the program's own (put these into `metadata`), and settings
// that the program makes again when it starts: the trainer, the way of updating tables, decay,
// frozen parameters.
//
//   Checkpointer checkpoints("run", model, trainer, {100});  // every 100 steps
//   std::size_t sentence = checkpoints.resume() ? std::stoul(checkpoints.position()) : 0;
//   for (; sentence < data.size(); ++sentence) {
//     ...  // forward, backward
//     trainer.update();
//     checkpoints.step(std::to_string(sentence + 1));
//   }

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dynet/model.h"

namespace dynet {

struct Trainer;

/// When checkpoints are written, and which are kept.
struct CheckpointPolicy {
  std::uint64_t every_steps = 0;  ///< step() saves after so many steps; 0: never
  double every_seconds = 0.0;     ///< step() saves when so long has passed; 0: never
  unsigned keep_best = 1;         ///< checkpoints to keep for their scores
  unsigned keep_last = 1;         ///< newest checkpoints to keep; at least 1
  bool larger_is_better = true;   ///< of scores
};

/// A checkpoint in the folder.
struct Checkpoint {
  std::string file;
  std::uint64_t steps = 0;
  bool has_score = false;
  double score = 0.0;
};

/// Writes and reads the checkpoints of one training in one folder, which is made if missing: the
/// parameters, the trainer's state with averages and schedule, the random numbers of the library,
/// the position in the data, and `metadata`. A run that is killed and resumed goes on to the bit as
/// if it had not been. One process at a time.
///
/// C++: The trainer must outlive the Checkpointer. Thread rule: as Trainer::update.
class Checkpointer {
 public:
  /// ValueError for a `keep_last` of 0, or an interval that is no number or negative; IoError if
  /// the folder cannot be made. Removes unfinished files of killed savers.
  Checkpointer(const std::string& folder, const ParameterCollection& model, Trainer& trainer,
               const CheckpointPolicy& policy = {});

  /// Goes on from the newest checkpoint; false, without any change, if there is none. A damaged
  /// checkpoint is passed over, with a line in the log, in favour of the one before; IoError if all
  /// are damaged, or the folder cannot be read. Removes no checkpoint: the run may have had a
  /// policy that keeps more. All or nothing: IoError, or as Trainer::populate, if a checkpoint is
  /// not of this model and trainer.
  bool resume();
  /// Gives the model the parameters of the checkpoint with the best score, and nothing else: for
  /// use, not to go on training. UsageError without a score; IoError as resume().
  void load_best();

  /// To be called after each update; `position` says where in the data the next step begins. Saves
  /// when it is time, as save(); returns whether it saved. A call that throws has not counted:
  /// repeat it.
  bool step(const std::string& position = "");
  /// Saves now. Then removes checkpoints that are neither among the last nor among the best.
  /// UsageError if the averages are in the place of the parameters, or if the folder has
  /// checkpoints of another run (resume() was not called); IoError. A checkpoint of the same step
  /// is replaced.
  void save(const std::string& position = "");
  /// ValueError for a score that is NaN.
  void save(const std::string& position, double score);

  /// Calls of step(), including calls before resume().
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  /// The position of the last save() or resume().
  [[nodiscard]] const std::string& position() const { return position_; }
  /// The checkpoints in the folder, by steps; as of the last save() or resume().
  ///
  /// Python: File, steps and score of each.
  [[nodiscard]] const std::vector<Checkpoint>& checkpoints() const { return checkpoints_; }

  [[nodiscard]] const CheckpointPolicy& policy() const { return policy_; }

  /// Text that is saved with each checkpoint; resume() gives it back. Keys must not begin with
  /// "dynet.".
  ///
  /// Python: A dict; assign another to change it.
  std::map<std::string, std::string> metadata;

 private:
  void save(const std::string& position, const double* score);
  void write(const std::string& file, const std::string& position, const double* score);
  void list();
  void prune();

  std::string folder_;
  ParameterCollection model_;
  Trainer* trainer_;
  CheckpointPolicy policy_;
  std::uint64_t steps_ = 0;
  std::string position_;
  std::vector<Checkpoint> checkpoints_;
  std::chrono::steady_clock::time_point last_save_;
  std::uint64_t last_saved_step_ = 0;
  bool owns_folder_ = false;  ///< resumed, or the first to save there
};

}  // namespace dynet
