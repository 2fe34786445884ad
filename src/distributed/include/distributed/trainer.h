#pragma once

#include <exception>
#include <memory>

#include "distributed/ranks.h"

namespace dynet {

class DistributedTrainer::Implementation {
 public:
  Implementation(Trainer& trainer, std::shared_ptr<distributed::Exchange> exchange,
                 const distributed::Options& options);
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;
  ~Implementation();

  [[nodiscard]] distributed::Ranks& ranks() const { return *ranks_; }

 private:
  void let_go();

  std::unique_ptr<distributed::Ranks> ranks_;
  int exceptions_ = std::uncaught_exceptions();  ///< when the trainer was made
};

}  // namespace dynet
