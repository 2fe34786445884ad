#include "distributed/ranks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>

#include "dynet/except.h"
#include "dynet/ext/memory.h"

#include "distributed/checksum.h"
#include "distributed/processors.h"
#include "distributed/random.h"
#include "kernels/targets.h"
#include "kernels/team.h"
#include "params/access.h"
#include "params/gradient.h"
#include "params/stored.h"
#include "params/use_count.h"

namespace dynet::distributed {

using detail::ModelAccess;
using detail::StorageState;

/// A table, as a rank has it before an update.
struct Ranks::TableNote {
  static constexpr std::uint32_t kWhole = 1;
  static constexpr std::uint32_t kLags = 2;
  std::uint32_t rows;   ///< touched
  std::uint32_t flags;  ///< kWhole: of the gradient; kLags: missed steps
  double factor;        ///< pending, of weight decay
};

namespace {

constexpr std::size_t kLeastRoom = 4096;  // for announcements of another model

/// The first announcement.
struct Introduction {
  Header header;
  std::uint64_t parameters;
  std::uint64_t check_every;
  std::uint64_t gradient;
  char instructions[16];
  Processors processors;
};
static_assert(sizeof(Introduction) <= kLeastRoom);

std::string rank_of(unsigned rank, unsigned size) {
  return "rank " + std::to_string(rank) + " of " + std::to_string(size);
}

std::string options_of(const Introduction& i) {
  return "check_every " + std::to_string(i.check_every) + " and the gradient's " +
         (i.gradient == static_cast<std::uint64_t>(Gradient::kSum) ? "sum" : "mean");
}

/// RankError for a rank whose introduction is not rank 0's.
[[noreturn]] void refuse(unsigned rank, unsigned size, const std::string& theirs,
                         const std::string& firsts, const std::string& want) {
  throw errors::RankError("DistributedTrainer: " + rank_of(rank, size) + ' ' + theirs +
                              ", and rank 0 " + firsts + "; want " + want,
                          rank);
}

}  // namespace

Ranks::Ranks(Trainer& trainer, std::shared_ptr<Exchange> exchange, const Options& options)
    : trainer_(trainer),
      model_(*trainer.model),
      exchange_(std::move(exchange)),
      options_(options),
      rounds_(*exchange_, options.patience),
      sums_(rounds_) {
  if (!(options.patience >= 0)) {
    throw errors::ValueError("DistributedTrainer: patience is " + std::to_string(options.patience) +
                             "; want 0 or more seconds");
  }
  for (const auto& table : ModelAccess::lookups(model_)) {
    rows_.push_back(std::make_unique<Rows>(*table, rank(), size()));
  }
  const std::size_t dense = ModelAccess::parameters(model_).size();
  words_ = (dense + 63) / 64;
  is_present_.resize(dense);
  is_whole_.resize(rows_.size());
  has_rows_.resize(rows_.size());
  staged_.resize(rows_.size());
  mine_.resize(sizeof(Header) + words_ * sizeof(std::uint64_t) + rows_.size() * sizeof(TableNote));
  room_ = std::max(kLeastRoom, mine_.size());
  all_.resize(room_ * size());
  dense_ = std::make_unique<DenseGradients>(model_);
}

void Ranks::start() {
  compare_models();
  spread_values();
  take_first_random_state(from_first(random_state()), rank());
}

/// RankError, on all ranks, unless all have the model, the options and the instructions of rank 0.
void Ranks::compare_models() {
  const auto& all = ModelAccess::all(model_);
  std::vector<std::uint64_t> signatures;
  for (const auto& p : all) {
    signatures.push_back(signature(*p));
    signature_ = std::rotl(signature_, 7) * 31 + signatures.back();
  }
  introduce();
  std::vector<std::uint64_t> theirs(signatures.size() * size());
  const std::size_t bytes = signatures.size() * sizeof(std::uint64_t);
  rounds_.gather(signatures.data(), bytes, reinterpret_cast<std::byte*>(theirs.data()), bytes);
  for (std::size_t i = 0; i < signatures.size(); ++i) {
    for (unsigned r = 1; r < size(); ++r) {
      if (theirs[r * signatures.size() + i] != theirs[i]) {
        refuse(r, size(), "has another parameter at place " + std::to_string(i) + " of its model",
               "another name, shape or type there: '" + all[i]->name + "' " +
                   to_string(params::shape_of(*all[i])) + " on rank " + std::to_string(rank()),
               "one model, made in one order");
      }
    }
  }
}

/// The first announcement. A rank that may meet another one on a processor computes on one thread,
/// unless the program has set the number.
void Ranks::introduce() {
  Introduction mine{{Call::kStart, signature_, 0, 0, 0, 0},
                    ModelAccess::all(model_).size(),
                    options_.check_every,
                    static_cast<std::uint64_t>(options_.gradient),
                    {},
                    usable_processors()};
  kernels::current_target().copy(mine.instructions, sizeof mine.instructions - 1);
  rounds_.gather(&mine, sizeof mine, all_.data(), room_);
  check_calls();
  const auto of = [&](unsigned r) {
    Introduction i{};
    std::memcpy(&i, all_.data() + r * room_, sizeof i);
    return i;
  };
  const Introduction first = of(0);
  for (unsigned r = 1; r < size(); ++r) {
    const Introduction other = of(r);
    if (other.parameters != first.parameters) {
      refuse(r, size(),
             "has a model with " + std::to_string(other.parameters) + " parameters and tables",
             "one with " + std::to_string(first.parameters), "one model");
    }
    if (std::strcmp(other.instructions, first.instructions) != 0) {
      refuse(r, size(), std::string("computes with ") + other.instructions,
             std::string("with ") + first.instructions,
             "the same instructions, as rounding depends on them: set DYNET_SIMD on all ranks");
    }
    if (other.check_every != first.check_every || other.gradient != first.gradient) {
      refuse(r, size(), "has " + options_of(other), options_of(first), "the same options");
    }
  }
  for (unsigned r = 0; r < size(); ++r) {
    if (r != rank() && have_common_processor(of(r).processors, mine.processors)) {
      kernels::set_one_thread_by_default();
    }
  }
}

void Ranks::spread_values() {
  settle();
  const params::UpdateScope scope(params::usage_of(model_), "DistributedTrainer");
  for (const auto& p : ModelAccess::all(model_)) {
    StorageState& s = p->state();
    const auto bytes = static_cast<std::size_t>(s.elements * s.number_bytes);
    s.before_change("values of rank 0");
    if (s.device.is_host_visible()) {
      rounds_.from_first(s.values.data(), bytes);
    } else {
      std::vector<std::byte> copy(bytes);
      s.device.memory->copy_out(s.values.data(), copy.data(), bytes);
      rounds_.from_first(copy.data(), bytes);
      s.device.memory->copy_in(copy.data(), s.values.data(), bytes);
    }
  }
}

void Ranks::settle() {
  params::catch_up(model_);
  const params::UpdateScope scope(params::usage_of(model_), "DistributedTrainer");
  trainer_.rescale_and_reset_weight_decay();
}

const Header& Ranks::header(unsigned r) const {
  return *reinterpret_cast<const Header*>(all_.data() + r * room_);
}
const std::uint64_t* Ranks::presence(unsigned r) const {
  return reinterpret_cast<const std::uint64_t*>(all_.data() + r * room_ + sizeof(Header));
}
const Ranks::TableNote& Ranks::note(unsigned r, std::size_t table) const {
  return reinterpret_cast<const TableNote*>(presence(r) + words_)[table];
}

/// Tells the others this call, the gradients and the tables of this rank, and hears theirs.
void Ranks::announce(Call call, std::uint64_t size) {
  if (is_closed_ && call != Call::kEnd) {
    throw errors::UsageError("DistributedTrainer: it is closed; want no call after close()");
  }
  const Header header{call,
                      signature_,
                      updates_,
                      size,
                      trainer_.learning_rate,
                      trainer_.clipping_enabled ? trainer_.clip_threshold : 0.0F};
  std::memcpy(mine_.data(), &header, sizeof header);
  auto* const words = reinterpret_cast<std::uint64_t*>(mine_.data() + sizeof header);
  std::fill_n(words, words_, 0U);
  for (std::size_t i = 0; i < is_present_.size(); ++i) {
    words[i / 64] |= std::uint64_t{dense_->has_gradient(i) ? 1U : 0U} << (i % 64);
  }
  auto* const notes = reinterpret_cast<TableNote*>(words + words_);
  for (std::size_t t = 0; t < rows_.size(); ++t) {
    const LookupParameterStorage& table = *ModelAccess::lookups(model_)[t];
    const StorageState& s = table.state();
    notes[t].rows = rows_[t]->touched();
    notes[t].flags = (table.updated && table.all_updated ? TableNote::kWhole : 0) |
                     (s.lags() ? TableNote::kLags : 0);
    notes[t].factor = s.decay_factor();
  }
  rounds_.gather(mine_.data(), mine_.size(), all_.data(), room_);
  check_calls();
}

/// The call of rank r in words.
std::string Ranks::described(unsigned r) const {
  const Header& h = header(r);
  const std::string after = " after " + std::to_string(h.updates) + " updates";
  switch (h.call) {
    case Call::kStart:
      return "at the start of a trainer";
    case Call::kUpdate:
      return "at update " + std::to_string(h.updates + 1);
    case Call::kCheck:
      return "in check()" + after;
    case Call::kSum:
      return "in a sum of " + std::to_string(h.size) + " numbers" + after;
    case Call::kFromFirst:
      return "in from_first(), or at a checkpoint," + after;
    case Call::kEnd:
      return "at its end" + after;
  }
  return "in an unknown call";
}

/// RankError, on all ranks, for the first rank with another call than rank 0.
void Ranks::check_calls() const {
  const Header& first = header(0);
  for (unsigned r = 1; r < rounds_.size(); ++r) {
    const Header& other = header(r);
    if (other.call == Call::kEnd && first.call == Call::kEnd) {
      continue;
    }
    const bool is_sum = first.call == Call::kSum;
    if (other.call != first.call || other.updates != first.updates ||
        (is_sum && other.size != first.size)) {
      throw errors::RankError("DistributedTrainer: " + rank_of(r, size()) + " is " + described(r) +
                                  ", and rank 0 is " + described(0) +
                                  "; want the same calls on all ranks",
                              r);
    }
    if (first.call == Call::kStart) {
      continue;
    }
    if (other.model != first.model) {
      throw errors::RankError("DistributedTrainer: " + rank_of(r, size()) +
                                  " is in a call for another model than rank 0; want the same "
                                  "calls on all ranks",
                              r);
    }
    if (other.rate != first.rate || other.threshold != first.threshold) {
      throw errors::RankError(
          "DistributedTrainer: " + rank_of(r, size()) + " has the learning rate " +
              std::to_string(other.rate) + " and clips at " + std::to_string(other.threshold) +
              ", and rank 0 has " + std::to_string(first.rate) + " and " +
              std::to_string(first.threshold) + "; want the same settings on all ranks",
          r);
    }
  }
}

/// Tables that some rank has settled are settled on all.
void Ranks::settle_alike() {
  bool has_other_factor = false;
  for (std::size_t t = 0; t < rows_.size(); ++t) {
    bool is_settled = false;
    for (unsigned r = 0; r < size(); ++r) {
      is_settled = is_settled || (note(r, t).flags & TableNote::kLags) == 0;
      has_other_factor = has_other_factor || note(r, t).factor != note(0, t).factor;
    }
    if (is_settled) {
      ModelAccess::lookups(model_)[t]->state().catch_up();
    }
  }
  if (has_other_factor) {
    params::catch_up(model_);
    trainer_.rescale_and_reset_weight_decay();
  }
}

void Ranks::take_factors() {
  std::uint64_t total = 0;
  for (unsigned r = 0; r < size(); ++r) {
    total += header(r).size;
  }
  const bool is_mean = options_.gradient == Gradient::kMean;
  if (is_mean && total == 0) {
    throw errors::ValueError(
        "DistributedTrainer::update: no rank has examples; want one or more on some rank");
  }
  factors_.resize(size());
  for (unsigned r = 0; r < size(); ++r) {
    factors_[r] = is_mean ? static_cast<double>(header(r).size) / static_cast<double>(total) : 1.0;
  }
}

/// The numbers of touched rows, of all tables whose rows travel.
void Ranks::exchange_numbers() {
  begins_.assign(1, 0);
  bool has_any = false;
  for (unsigned r = 0; r < size(); ++r) {
    std::size_t bytes = 0;
    for (std::size_t t = 0; t < rows_.size(); ++t) {
      bytes += has_rows_[t] ? rows_[t]->number_bytes(note(r, t).rows) : 0;
    }
    has_any = has_any || bytes != 0;
    begins_.push_back(begins_.back() + bytes);
  }
  if (!has_any) {
    return;
  }
  numbers_.resize(begins_.back());
  std::byte* to = numbers_.data() + begins_[rank()];
  for (std::size_t t = 0; t < rows_.size(); ++t) {
    if (has_rows_[t]) {
      rows_[t]->begin();
      rows_[t]->write_numbers(to);
      to += rows_[t]->number_bytes(note(rank(), t).rows);
    }
  }
  rounds_.gather_parts(numbers_.data(), begins_);
  const std::byte* from = numbers_.data();
  for (unsigned r = 0; r < size(); ++r) {
    for (std::size_t t = 0; t < rows_.size(); ++t) {
      if (has_rows_[t]) {
        rows_[t]->read_numbers(r, note(r, t).rows, from);
        from += rows_[t]->number_bytes(note(r, t).rows);
      }
    }
  }
}

/// Which gradients any rank has: of parameters, of whole tables, of rows.
void Ranks::unite_presence() {
  for (std::size_t i = 0; i < is_present_.size(); ++i) {
    is_present_[i] = false;
    for (unsigned r = 0; r < size() && !is_present_[i]; ++r) {
      is_present_[i] = (presence(r)[i / 64] >> (i % 64) & 1U) != 0;
    }
  }
  for (std::size_t t = 0; t < rows_.size(); ++t) {
    bool is_whole = false;
    bool has_rows = false;
    for (unsigned r = 0; r < size(); ++r) {
      is_whole = is_whole || (note(r, t).flags & TableNote::kWhole) != 0;
      has_rows = has_rows || note(r, t).rows != 0;
    }
    is_whole_[t] = is_whole;
    has_rows_[t] = has_rows && !is_whole;
  }
}

/// Adds the gradient of a table as a whole to the sums.
void Ranks::begin_whole(std::size_t t) {
  StorageState& s = ModelAccess::lookups(model_)[t]->state();
  const std::lock_guard lock(s.mutex);
  s.is_pristine = s.is_pristine && s.fill == detail::GradientFill::kEmpty;
  s.fill_gradient();
  std::byte* data = s.gradient.change();
  if (!s.device.is_host_visible()) {
    staged_[t].resize(static_cast<std::size_t>(s.elements * s.number_bytes));
    s.device.memory->copy_out(data, staged_[t].data(), staged_[t].size());
    data = staged_[t].data();
  }
  sums_.add(Vector{data, s.elements, s.kernels.number()});
}
void Ranks::end_whole(std::size_t t) {
  LookupParameterStorage& table = *ModelAccess::lookups(model_)[t];
  params::GradientLock lock(table);
  if (!table.device->is_host_visible()) {
    table.state().device.memory->copy_in(staged_[t].data(), lock.data(), staged_[t].size());
  }
  lock.written();
}

/// Leaves the gradient of all ranks in the model.
void Ranks::exchange(std::uint64_t examples) {
  const params::UpdateScope scope(params::usage_of(model_), "DistributedTrainer::update");
  if (ModelAccess::parameters(model_).size() != is_present_.size() ||
      ModelAccess::lookups(model_).size() != rows_.size()) {
    throw errors::UsageError(
        "DistributedTrainer::update: parameters were added to the model since the trainer was "
        "made; want them before it");
  }
  announce(Call::kUpdate, examples);
  settle_alike();
  take_factors();
  unite_presence();
  exchange_numbers();
  sums_.clear();
  dense_->begin(is_present_, sums_);
  for (std::size_t t = 0; t < rows_.size(); ++t) {
    if (has_rows_[t]) {
      rows_[t]->unite();
      sums_.add(*rows_[t]);
    } else if (is_whole_[t]) {
      begin_whole(t);
    }
  }
  sums_.run(factors_);
  dense_->end(is_present_);
  for (std::size_t t = 0; t < rows_.size(); ++t) {
    if (has_rows_[t]) {
      rows_[t]->store();
    } else if (is_whole_[t]) {
      end_whole(t);
    }
  }
}

void Ranks::update(std::uint64_t examples) {
  exchange(examples);
  try {
    trainer_.update();
  } catch (const errors::NumericError& e) {
    tell_culprit(e.what());
  }
  ++updates_;
  if (options_.check_every != 0 && updates_ % options_.check_every == 0) {
    check();
  }
}

/// The parameter or the table of a number that the sums found.
const ParameterStorageBase* Ranks::owner_of(const void* place) const {
  for (std::size_t t = 0; t < rows_.size(); ++t) {
    const auto& table = ModelAccess::lookups(model_)[t];
    const StorageState& s = table->state();
    const std::byte* const begin =
        s.device.is_host_visible() ? s.gradient.data() : staged_[t].data();
    const auto* const at = static_cast<const std::byte*>(place);
    const bool is_in_whole =
        is_whole_[t] && at >= begin && at < begin + s.elements * s.number_bytes;
    if (place == rows_[t].get() || is_in_whole) {
      return table.get();
    }
  }
  return dense_->owner_of(place);
}

/// All ranks had the same error, from the same numbers. Each tells what it found in its own sums.
void Ranks::tell_culprit(const std::string& text) {
  struct Found {
    std::uint64_t count, rank, storage;
  };
  const auto& all = ModelAccess::all(model_);
  const Culprit& culprit = sums_.culprit();
  Found mine{culprit.count, culprit.rank, all.size()};
  if (culprit.count != 0) {
    const ParameterStorageBase* const owner = owner_of(culprit.place);
    for (std::size_t i = 0; i < all.size(); ++i) {
      mine.storage = all[i].get() == owner ? i : mine.storage;
    }
  }
  std::vector<Found> theirs(size());
  rounds_.gather(&mine, sizeof mine, reinterpret_cast<std::byte*>(theirs.data()), sizeof mine);
  const Found* first = nullptr;
  std::uint64_t count = 0;
  for (const Found& f : theirs) {
    count += f.count;
    if (f.count != 0 && (first == nullptr || f.storage < first->storage)) {
      first = &f;
    }
  }
  if (first == nullptr) {
    throw errors::NumericError(text);
  }
  throw errors::NumericError(text + "\n  " + std::to_string(count) +
                             " numbers of the gradient of all ranks are not " +
                             "finite; the first are of '" + all.at(first->storage)->name +
                             "', from " + rank_of(static_cast<unsigned>(first->rank), size()));
}

void Ranks::check() {
  {
    const params::UpdateScope scope(params::usage_of(model_), "DistributedTrainer::check");
    announce(Call::kCheck, 0);
    settle_alike();
  }
  compare_values();
}

void Ranks::compare_values() {
  const auto& all = ModelAccess::all(model_);
  std::vector<std::uint64_t> mine;
  mine.reserve(all.size());
  for (const auto& p : all) {
    mine.push_back(checksum(*p));
  }
  std::vector<std::uint64_t> theirs(all.size() * size());
  const std::size_t bytes = all.size() * sizeof(std::uint64_t);
  rounds_.gather(mine.data(), bytes, reinterpret_cast<std::byte*>(theirs.data()), bytes);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (unsigned r = 1; r < size(); ++r) {
      const std::uint64_t* const its = theirs.data() + r * all.size();
      if (its[i] == theirs[i]) {
        continue;
      }
      std::size_t others = 0;
      for (std::size_t k = 0; k < all.size(); ++k) {
        others += its[k] != theirs[k] ? 1 : 0;
      }
      throw errors::RankError("DistributedTrainer: after " + std::to_string(updates_) +
                                  " updates '" + all[i]->name + "' differs between rank 0 and " +
                                  rank_of(r, size()) + ", the first of " + std::to_string(others) +
                                  " that differ, of " + std::to_string(all.size()) +
                                  "; want no change of parameters on one rank alone",
                              r);
    }
  }
}

std::vector<double> Ranks::sum(const std::vector<double>& numbers) {
  announce(Call::kSum, numbers.size());
  std::vector<double> all(numbers.size() * size());
  const std::size_t bytes = numbers.size() * sizeof(double);
  std::vector<double> total(numbers.size(), 0.0);
  if (numbers.empty()) {
    return total;
  }
  rounds_.gather(numbers.data(), bytes, reinterpret_cast<std::byte*>(all.data()), bytes);
  for (unsigned r = 0; r < size(); ++r) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      total[i] += all[r * numbers.size() + i];
    }
  }
  return total;
}

std::string Ranks::from_first(const std::string& bytes) {
  announce(Call::kFromFirst, bytes.size());
  std::string all = bytes;
  all.resize(header(0).size);
  rounds_.from_first(reinterpret_cast<std::byte*>(all.data()), all.size());
  return all;
}

std::vector<std::string> Ranks::gather(const std::string& text) {
  announce(Call::kFromFirst, text.size());
  std::vector<std::size_t> begins(1, 0);
  for (unsigned r = 0; r < size(); ++r) {
    begins.push_back(begins.back() + header(r).size);
  }
  std::string all(begins.back(), '\0');
  text.copy(all.data() + begins[rank()], text.size());
  rounds_.gather_parts(reinterpret_cast<std::byte*>(all.data()), begins);
  std::vector<std::string> texts;
  texts.reserve(size());
  for (unsigned r = 0; r < size(); ++r) {
    texts.push_back(all.substr(begins[r], begins[r + 1] - begins[r]));
  }
  return texts;
}

void Ranks::close() {
  if (is_closed_) {
    return;
  }
  is_closed_ = true;
  if (!rounds_.is_broken()) {
    announce(Call::kEnd, 0);
  }
}

}  // namespace dynet::distributed
