#include <charconv>
#include <optional>
#include <vector>

#include "dynet/distributed.h"

#include "util/env.h"

namespace dynet::distributed {
namespace {

/// The variables of a launcher. `local` may be missing.
struct Launcher {
  const char* name;
  const char* rank;
  const char* size;
  const char* local;
};
// SLURM is the last one: mpirun within a job of SLURM has its variables, too, with a size of the
// step that started mpirun.
constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"SLURM", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};

std::optional<unsigned> number_in(const char* variable) {
  const std::string text(util::launcher_variable(variable));
  if (text.empty()) {
    return std::nullopt;
  }
  unsigned value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) {
    throw errors::ValueError("distributed::place: " + std::string(variable) + " is '" + text +
                             "'; want a number of 0 or more");
  }
  return value;
}

/// The place of a launcher whose variables are set.
std::optional<Place> place_of(const Launcher& launcher) {
  const std::optional<unsigned> rank = number_in(launcher.rank);
  const std::optional<unsigned> size = number_in(launcher.size);
  if (!rank && !size) {
    return std::nullopt;
  }
  if (!rank || !size) {
    throw errors::ValueError(std::string("distributed::place: ") +
                             (rank ? launcher.rank : launcher.size) + " is set and " +
                             (rank ? launcher.size : launcher.rank) + " is not; want both, from " +
                             launcher.name);
  }
  if (*rank >= *size) {
    throw errors::ValueError("distributed::place: " + std::string(launcher.rank) + " is " +
                             std::to_string(*rank) + " and " + launcher.size + " is " +
                             std::to_string(*size) + "; want a rank below the size");
  }
  return Place{*rank, *size, number_in(launcher.local).value_or(0), launcher.name};
}

}  // namespace

Place place() {
  std::optional<Place> first;
  for (const Launcher& launcher : kLaunchers) {
    const std::optional<Place> found = place_of(launcher);
    if (!found) {
      continue;
    }
    if (!first) {
      first = found;
      continue;
    }
    // One task of SLURM that started mpirun or torchrun says nothing about their processes.
    const bool is_around = found->source == "SLURM" && found->size == 1;
    if (!is_around && (found->rank != first->rank || found->size != first->size)) {
      throw errors::ValueError("distributed::place: " + first->source + " says rank " +
                               std::to_string(first->rank) + " of " + std::to_string(first->size) +
                               ", and " + found->source + " says rank " +
                               std::to_string(found->rank) + " of " + std::to_string(found->size) +
                               "; want one launcher, or unset the variables of the other");
    }
  }
  return first.value_or(Place{});
}

}  // namespace dynet::distributed
