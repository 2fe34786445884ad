#pragma once

// Training on several machines: one process per rank, each with a copy of the model and its own
// share of every minibatch.
//
//   auto world = dynet::mpi::start();                        // dynet/mpi.h
//   dynet::SimpleSGDTrainer sgd(model, 0.1F);
//   dynet::DistributedTrainer trainer(sgd, world);           // all ranks: the parameters of rank 0
//   for (...) {
//     ...                                                    // forward, backward on a share
//     trainer.update();                                      // in place of sgd.update()
//   }
//
// An update gives every rank the mean of all ranks' gradients, and then calls the trainer. So the
// trainer clips by the norm of the whole gradient, and all ranks make the same step. Dense
// gradients lie in one buffer from the start, so backward writes there. Rank r adds the r-th part
// of the buffer, in double and in the order of ranks, and sends the sums to all; a sum is therefore
// made in one place and has the same bits on all ranks. Of lookup tables only rows with a gradient
// travel: each rank tells the numbers of its rows, as a list or as a bit per row, whichever has
// fewer bytes, and rows then travel as dense numbers do. Example: of a table of 10,000 rows, rank 0
// has touched 3 and 7, rank 1 has touched 7 and 9; after the update both ranks have changed the
// rows 3, 7 and 9.
//
// Ranks must make the same calls with the same settings. A rank that does not is a RankError on
// all, with its number: another model, another learning rate, another number of updates, other
// SIMD instructions. Checksums find parameters that differ, whatever the reason. A gradient that is
// not finite is a NumericError on all ranks, with the rank and the parameter.
//
// A rank that may run on a processor of another rank computes on one thread from the trainer's
// start on, as a worker process does, unless the number of threads is set.
//
// An Exchange carries the bytes: dynet/mpi.h has the one of MPI. docs/machines.md has examples, the
// bytes that travel, and the limits. Thread rule: as Trainer::update.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "dynet/checkpoint.h"
#include "dynet/errors.h"
#include "dynet/model.h"

namespace dynet {
struct Trainer;
}

namespace dynet::errors {

/// Ranks of a job disagree, or a rank is silent.
///
/// Python: `rank` is the number of the rank.
struct RankError : detail::ErrorOf<std::runtime_error> {
  RankError(const std::string& text, unsigned rank_number) : ErrorOf(text), rank(rank_number) {}
  unsigned rank;  ///< that differs or is silent
};

}  // namespace dynet::errors

namespace dynet::distributed {

/// The place of a process in its job.
struct Place {
  unsigned rank = 0;
  unsigned size = 1;
  unsigned local_rank = 0;  ///< among the processes of this machine; for the choice of a GPU
  std::string source;       ///< "torchrun", "Open MPI", "MPICH", "SLURM"; empty: started alone
};
/// Reads the variables of torchrun (RANK, WORLD_SIZE, LOCAL_RANK), Open MPI (OMPI_COMM_WORLD_*),
/// MPICH (PMI_*, MPI_LOCALRANKID) and SLURM (SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID), before MPI
/// starts. ValueError, with the variables, if one is no number, if a rank is not below the size, or
/// if two launchers contradict each other.
[[nodiscard]] Place place();

/// One message of a round, from or to the memory of this rank.
struct Message {
  unsigned peer;
  void* data;
  std::size_t bytes;  ///< to receive: at most
};

/// The messages of one job. An implementation carries bytes between ranks and knows nothing of
/// gradients. Thread rule: one thread at a time.
class Exchange {
 public:
  static constexpr unsigned kSlots = 6;

  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;

  [[nodiscard]] virtual unsigned rank() const = 0;
  [[nodiscard]] virtual unsigned size() const = 0;
  /// Begins a round in a free slot: messages out and in, at most one each per peer, never to this
  /// rank. All ranks begin the rounds of a slot in the same order. The memory must stay until
  /// test() is true.
  virtual void start(unsigned slot, const std::vector<Message>& out,
                     const std::vector<Message>& in) = 0;
  /// Whether all messages of the slot have left and arrived; then the slot is free. Does not wait.
  [[nodiscard]] virtual bool test(unsigned slot) = 0;
  /// After test() was false: the peer of a message that has not arrived or left.
  [[nodiscard]] virtual unsigned waiting_for(unsigned slot) = 0;
  /// A trainer of this rank ended by an exception: other ranks may wait for this one in vain.
  virtual void note_error() {}
};

/// The gradient of an update: the mean of the ranks' gradients, weighted by their examples, or the
/// sum.
enum class Gradient { kMean, kSum };

struct Options {
  Gradient gradient = Gradient::kMean;
  /// Parameters are compared after so many updates; 0: never.
  std::uint64_t check_every = 100;
  /// Seconds of waiting after which another rank counts as hanging. 0: no limit.
  double patience = 600;
};

/// The data sent by one rank since the start.
struct Traffic {
  std::uint64_t bytes = 0;     ///< sent
  std::uint64_t messages = 0;  ///< sent
  std::uint64_t rounds = 0;    ///< in which this rank waited for others
  double seconds = 0;          ///< of waiting
};

}  // namespace dynet::distributed

namespace dynet {

/// Updates with the gradients of all ranks. Between two updates all ranks have the same parameters,
/// to the bit.
///
/// C++: The trainer must outlive this object.
class DistributedTrainer {
 public:
  /// A call of all ranks, when all parameters exist. Gives all ranks the parameters of rank 0, and
  /// moves dense gradients to one buffer. RankError if ranks have other models, options or SIMD
  /// instructions. UsageError if a parameter has another DistributedTrainer that is not closed.
  /// ValueError for an exchange that is null, or a patience that is negative or no number.
  DistributedTrainer(Trainer& trainer, std::shared_ptr<distributed::Exchange> exchange,
                     const distributed::Options& options = {});
  DistributedTrainer(const DistributedTrainer&) = delete;
  DistributedTrainer& operator=(const DistributedTrainer&) = delete;
  /// As close(), unless an exception passes; then other ranks hear nothing.
  ~DistributedTrainer();

  /// The number of this rank, from 0.
  [[nodiscard]] unsigned rank() const;
  /// The number of ranks.
  [[nodiscard]] unsigned size() const;
  [[nodiscard]] Trainer& trainer() const;

  /// A call of all ranks: Trainer::update with the gradient of all. `examples` are the examples
  /// that this rank's gradient is a mean of, 0 for a rank that had none; for a sum, they do not
  /// matter. NumericError as Trainer::update, on all ranks, with the rank and the parameter;
  /// RankError if ranks make other calls; ValueError if no rank has examples. UsageError if
  /// parameters were added since the start.
  void update(std::uint64_t examples = 1);
  /// A call of all ranks: compares the parameters. RankError with the first one that differs.
  void check();
  /// A call of all ranks: the sum of each number over the ranks, in their order, with the same bits
  /// on all. RankError unless all ranks have as many numbers.
  [[nodiscard]] std::vector<double> sum(const std::vector<double>& numbers);
  [[nodiscard]] double sum(double number);
  /// A call of all ranks: the bytes of rank 0.
  [[nodiscard]] std::string from_first(const std::string& bytes);
  /// A call of all ranks, the last one: a rank that is elsewhere gets a RankError, and later calls
  /// are a UsageError. Gradients move back to their own memory. Does nothing a second time. The end
  /// of the program makes the call, too.
  void close();
  /// Bytes and messages that this rank has sent, rounds in which the rank waited, and the seconds
  /// of waiting.
  [[nodiscard]] distributed::Traffic traffic() const;

 private:
  friend class DistributedCheckpointer;
  class Implementation;
  std::unique_ptr<Implementation> it_;
};

/// The checkpoints of a distributed training, in the folder of rank 0. Other ranks need not see the
/// folder. A checkpoint is as one of Checkpointer, and has the random state of each rank. N ranks
/// resume on M: a rank that the checkpoint lacks draws random numbers from a seed of its own.
/// All functions but the last four are calls of all ranks. Errors of rank 0 are errors on all.
class DistributedCheckpointer {
 public:
  /// As Checkpointer. The trainer must outlive this object.
  DistributedCheckpointer(const std::string& folder, DistributedTrainer& trainer,
                          const CheckpointPolicy& policy = {});
  DistributedCheckpointer(const DistributedCheckpointer&) = delete;
  DistributedCheckpointer& operator=(const DistributedCheckpointer&) = delete;
  ~DistributedCheckpointer();

  /// Goes on from the newest checkpoint that is whole, as Checkpointer::resume.
  bool resume();
  /// Gives the model the parameters of the checkpoint with the best score, as
  /// Checkpointer::load_best.
  void load_best();
  /// To be called after each update; `position` says where in the data the next step begins. As
  /// Checkpointer::step, but a call that throws has counted: do not repeat it.
  bool step(const std::string& position = "");
  /// Saves now, as Checkpointer::save.
  void save(const std::string& position = "");
  void save(const std::string& position, double score);

  /// Calls of step(), including calls before resume().
  [[nodiscard]] std::uint64_t steps() const;
  /// The position of the last save() or resume().
  [[nodiscard]] const std::string& position() const;
  [[nodiscard]] const CheckpointPolicy& policy() const;
  /// The checkpoints of the folder, on rank 0; elsewhere none.
  ///
  /// Python: File, steps and score of each.
  [[nodiscard]] std::vector<Checkpoint> checkpoints() const;

  /// Text that is saved with each checkpoint, as of Checkpointer: the texts of rank 0 are saved,
  /// and resume() gives them to all.
  ///
  /// Python: A dict; assign another to change it.
  std::map<std::string, std::string> metadata;

 private:
  class Implementation;
  std::unique_ptr<Implementation> it_;
};

}  // namespace dynet
