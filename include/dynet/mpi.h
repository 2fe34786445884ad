#pragma once

// Ranks by MPI, for dynet/distributed.h: a library of its own, dynet::mpi, so that only programs
// that ask for it need MPI.
//
//   int main(int argc, char** argv) {
//     return dynet::mpi::run([&](const std::shared_ptr<dynet::distributed::Exchange>& world) {
//       ...  // initialize(argc, argv), model, trainer
//       dynet::DistributedTrainer distributed(trainer, world);
//       ...
//       return 0;
//     });
//   }
//
//   mpirun -n 2 ./program
//
// No rank is left waiting for a rank that is gone. A rank that throws out of run(), or whose
// Exchange ends while an exception passes, prints its number and the error, and MPI ends the job.
// A rank that is killed is seen by mpirun. A rank that hangs is seen after
// distributed::Options::patience.

#include <functional>
#include <memory>
#include <string>

#include "dynet/distributed.h"

namespace dynet::mpi {

/// All processes of the job. Starts MPI if the program has not; then the end of the Exchange, which
/// waits for all ranks, ends MPI. UsageError if MPI has ended.
[[nodiscard]] std::shared_ptr<distributed::Exchange> start();
/// The processes of a communicator of the program, a call of all its processes: `communicator` is
/// the address of an MPI_Comm, which is duplicated, so that no message of the program is mixed up.
/// UsageError if MPI has not started or has ended.
[[nodiscard]] std::shared_ptr<distributed::Exchange> over(const void* communicator);
/// Calls `program` with all processes of the job. An exception ends the job, with the rank and the
/// text on the standard error stream. Returns the program's result.
int run(const std::function<int(const std::shared_ptr<distributed::Exchange>&)>& program);
/// Ends all processes of the job, with the rank and the text on the standard error stream.
[[noreturn]] void abort(const std::string& text);

}  // namespace dynet::mpi
