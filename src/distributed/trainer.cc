#include "distributed/trainer.h"

#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "dynet/distributed.h"
#include "dynet/training.h"

#include "distributed/ranks.h"

namespace dynet {
namespace {

/// Keeps the buffers of a broken exchange to the end of the process, since messages may still
/// arrive in them.
void keep_for_ever(std::unique_ptr<distributed::Ranks> ranks) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::unique_ptr<distributed::Ranks>>;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(ranks));
}

}  // namespace

DistributedTrainer::Implementation::Implementation(Trainer& trainer,
                                                   std::shared_ptr<distributed::Exchange> exchange,
                                                   const distributed::Options& options) {
  if (exchange == nullptr) {
    throw errors::ValueError(
        "DistributedTrainer: the exchange is null; want the result of mpi::start(), for example");
  }
  ranks_ = std::make_unique<distributed::Ranks>(trainer, std::move(exchange), options);
  try {
    ranks_->start();
  } catch (...) {
    ranks_->note_error();
    let_go();
    throw;
  }
}

DistributedTrainer::Implementation::~Implementation() {
  if (std::uncaught_exceptions() == exceptions_) {
    try {
      ranks_->close();
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
      // A rank that is elsewhere has the same error, and can throw it.
    }
  } else {
    ranks_->note_error();
  }
  let_go();
}

void DistributedTrainer::Implementation::let_go() {
  ranks_->give_back_gradients();
  if (ranks_->is_broken()) {
    keep_for_ever(std::move(ranks_));
  }
}

DistributedTrainer::DistributedTrainer(Trainer& trainer,
                                       std::shared_ptr<distributed::Exchange> exchange,
                                       const distributed::Options& options)
    : it_(std::make_unique<Implementation>(trainer, std::move(exchange), options)) {}
DistributedTrainer::~DistributedTrainer() = default;

unsigned DistributedTrainer::rank() const { return it_->ranks().rank(); }
unsigned DistributedTrainer::size() const { return it_->ranks().size(); }
Trainer& DistributedTrainer::trainer() const { return it_->ranks().trainer(); }
void DistributedTrainer::update(std::uint64_t examples) { it_->ranks().update(examples); }
void DistributedTrainer::check() { it_->ranks().check(); }
std::vector<double> DistributedTrainer::sum(const std::vector<double>& numbers) {
  return it_->ranks().sum(numbers);
}
double DistributedTrainer::sum(double number) { return it_->ranks().sum({number})[0]; }
std::string DistributedTrainer::from_first(const std::string& bytes) {
  return it_->ranks().from_first(bytes);
}
void DistributedTrainer::close() {
  it_->ranks().close();
  it_->ranks().give_back_gradients();
}
distributed::Traffic DistributedTrainer::traffic() const { return it_->ranks().traffic(); }

}  // namespace dynet
