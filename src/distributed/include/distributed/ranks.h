#pragma once

// A model on all ranks: the calls that all ranks make together.
//
// Every call begins with an announcement (rounds.h), which also tells the gradients that a rank
// has. Tables need a word more: code that looks at a table stores rows that exact updates have yet
// to move, or multiplies a pending factor of weight decay into the values. The numbers are the
// same but for rounding, so a rank that looked alone, to save a file for example, would differ from
// the others. Such a table is settled on all ranks before the next update.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dynet/distributed.h"
#include "dynet/training.h"

#include "distributed/dense.h"
#include "distributed/rounds.h"
#include "distributed/rows.h"
#include "distributed/sums.h"

namespace dynet::distributed {

/// Thread rule: as Trainer::update.
class Ranks {
 public:
  Ranks(Trainer& trainer, std::shared_ptr<Exchange> exchange, const Options& options);
  /// The first call of all ranks.
  void start();

  [[nodiscard]] unsigned rank() const { return rounds_.rank(); }
  [[nodiscard]] unsigned size() const { return rounds_.size(); }
  [[nodiscard]] Trainer& trainer() const { return trainer_; }
  [[nodiscard]] const Traffic& traffic() const { return rounds_.traffic(); }

  void update(std::uint64_t examples);
  void check();
  [[nodiscard]] std::vector<double> sum(const std::vector<double>& numbers);
  [[nodiscard]] std::string from_first(const std::string& bytes);
  /// The text of each rank, on all.
  [[nodiscard]] std::vector<std::string> gather(const std::string& text);
  /// All ranks get the parameters of rank 0.
  void spread_values();
  /// Tables have no missed steps and no pending factors; gradients stay.
  void settle();
  void close();
  /// After an error in the middle of a round. Messages may still arrive: this object must stay
  /// until the process ends.
  [[nodiscard]] bool is_broken() const { return rounds_.is_broken(); }
  void note_error() { exchange_->note_error(); }
  /// Gradients move back to their own memory.
  void give_back_gradients() { dense_ = nullptr; }

 private:
  struct TableNote;
  void compare_models();
  void introduce();
  void announce(Call call, std::uint64_t size);
  [[nodiscard]] const Header& header(unsigned r) const;
  [[nodiscard]] const std::uint64_t* presence(unsigned r) const;
  [[nodiscard]] const TableNote& note(unsigned r, std::size_t table) const;
  void check_calls() const;
  [[nodiscard]] std::string described(unsigned r) const;
  void settle_alike();
  void unite_presence();
  void begin_whole(std::size_t table);
  void end_whole(std::size_t table);
  void exchange(std::uint64_t examples);
  void exchange_numbers();
  void take_factors();
  void compare_values();
  [[nodiscard]] const ParameterStorageBase* owner_of(const void* place) const;
  [[noreturn]] void tell_culprit(const std::string& text);

  Trainer& trainer_;
  ParameterCollection model_;
  std::shared_ptr<Exchange> exchange_;
  Options options_;
  Rounds rounds_;
  Sums sums_;
  std::unique_ptr<DenseGradients> dense_;
  std::vector<std::unique_ptr<Rows>> rows_;  ///< per table
  std::uint64_t signature_ = 0;
  std::uint64_t updates_ = 0;
  std::size_t words_ = 0;  ///< of the presence of gradients
  std::size_t room_ = 0;   ///< of an announcement
  std::vector<std::byte> mine_, all_, numbers_;
  std::vector<std::size_t> begins_;
  std::vector<bool> is_present_, is_whole_, has_rows_;
  std::vector<std::vector<std::byte>> staged_;  ///< whole gradients of a device, per table
  std::vector<double> factors_;
  bool is_closed_ = false;
};

}  // namespace dynet::distributed
