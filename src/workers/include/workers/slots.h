#pragma once

// Gradients of pieces, from the workers to the parent.
//
// Each piece of a minibatch has a slot in shared memory. Dense gradients of a worker lie in the
// slot of its piece from the start, so that backward writes to the slot; of tables the worker
// copies the touched rows there afterwards. Slots of dense gradients are then added in a tree that
// depends only on the number of pieces: the worker that finishes the second of two neighbours adds
// it to the first, so that there is no barrier. The parent adds the last two slots into its
// gradient, scaled, and the rows, in the order of the pieces. Example: of 4 pieces, workers add
// slot 1 to 0 and slot 3 to 2; the parent adds slots 0 and 2.
//
// The parent publishes its own knowledge of parameters (frozen or not, factors of weight decay)
// before each call.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dynet/model.h"

#include "params/state.h"
#include "workers/area.h"

namespace dynet::workers {

/// Made before the workers. Thread rule: `begin`, `collect` and `forget` in the parent, the others
/// in workers; several workers may call `add_up` at the same time.
class Slots {
 public:
  /// UsageError if a parameter is not in shared memory.
  Slots(const ParameterCollection& model, std::size_t slots);

  /// Before a call, which is then to add gradients of `pieces` pieces. UsageError if the model has
  /// other parameters than in the constructor.
  void begin(std::size_t pieces);
  /// After it: leaves `scale` times the sum of the pieces in the gradients.
  void collect(std::size_t pieces, double scale);
  /// Empties all gradients, whatever a call that failed wrote.
  void forget();

  /// Once in a new worker, before its first call. out_of_memory.
  void enter();
  /// At the begin of a call.
  void follow();
  void start_piece(std::size_t piece);
  void finish_piece(std::size_t piece);
  /// Adds all finished neighbours after `piece` is finished, except at the root of the tree.
  void add_up(std::size_t piece, std::size_t pieces);

 private:
  struct Published;
  struct Rows;
  struct Dense {
    ParameterStorage* storage;
    std::size_t offset;  ///< in a slot
  };
  struct Table {
    LookupParameterStorage* storage;
    std::size_t header;  ///< offset of a Rows in a slot
    std::size_t ids;     ///< offset of the numbers of the rows
    std::size_t data;    ///< offset of the rows
  };
  [[nodiscard]] std::byte* slot(std::size_t piece) const {
    return area_.data() + slots_at_ + piece * slot_bytes_;
  }
  [[nodiscard]] bool& is_present(std::size_t piece, std::size_t dense) const;
  [[nodiscard]] Published& published(std::size_t index) const;
  [[nodiscard]] Rows& rows(std::size_t piece, const Table& table) const;
  void publish(std::size_t index, const ParameterStorageBase& storage);
  void add(std::size_t left, std::size_t right) const;
  void copy_rows(std::size_t piece, const Table& table) const;
  void collect_dense(std::size_t index, std::size_t pieces, double scale);
  void collect_rows(std::size_t piece, const Table& table, double scale);

  ParameterCollection model_;
  std::vector<Dense> dense_;
  std::vector<Table> tables_;
  std::vector<unsigned char> room_;  ///< a byte for each row of a piece
  std::vector<double> norms_;        ///< squared, of the parts of a dense gradient
  std::size_t slot_bytes_ = 0;
  std::size_t flags_ = 0;      ///< offset in a slot
  std::size_t published_ = 0;  ///< offset in the area
  std::size_t arrived_ = 0;    ///< likewise: counters of the tree
  std::size_t slots_at_ = 0;   ///< likewise
  std::size_t counters_ = 0;
  Area area_;
  std::vector<Area> own_;  ///< a worker's gradients of tables
};

}  // namespace dynet::workers
