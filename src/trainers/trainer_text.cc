// The state of trainers as text.
#include <cmath>
#include <istream>
#include <limits>
#include <ostream>
#include <sstream>
#include <string>

#include "params/access.h"
#include "params/host.h"
#include "params/stored.h"
#include "params/use_count.h"
#include "trainers/settings.h"
#include "trainers/text.h"
#include "util/number_text.h"

namespace dynet {

namespace {

/// The enumerator that `name_of` gives the next word of `is`; UsageError if there is none.
template <class Enum, std::size_t kN>
std::istream& read_word(std::istream& is, Enum& o, const Enum (&all)[kN], const char* what) {
  std::string word;
  is >> word;
  std::string wanted;
  for (const Enum e : all) {
    std::ostringstream name;
    name << e;
    if (name.str() == word) {
      o = e;
      return is;
    }
    wanted += (wanted.empty() ? "" : e == all[kN - 1] ? " or " : ", ") + name.str();
  }
  throw errors::UsageError(std::string(what) + ": '" + word + "'; want " + wanted);
}

}  // namespace

std::ostream& operator<<(std::ostream& os, const MovingAverage& o) {
  switch (o) {
    case MovingAverage::None:
      return os << "None";
    case MovingAverage::Cumulative:
      return os << "Cumulative";
    case MovingAverage::Exponential:
      return os << "Exponential";
  }
  return os;
}
std::istream& operator>>(std::istream& is, MovingAverage& o) {
  return read_word(is, o,
                   {MovingAverage::None, MovingAverage::Cumulative, MovingAverage::Exponential},
                   "moving average");
}

std::ostream& operator<<(std::ostream& os, const LookupUpdates& o) {
  switch (o) {
    case LookupUpdates::kSparse:
      return os << "sparse";
    case LookupUpdates::kDense:
      return os << "dense";
    case LookupUpdates::kExact:
      return os << "exact";
  }
  return os;
}
std::istream& operator>>(std::istream& is, LookupUpdates& o) {
  return read_word(is, o, {LookupUpdates::kSparse, LookupUpdates::kDense, LookupUpdates::kExact},
                   "updates of lookup tables");
}

namespace trainers {
namespace {

constexpr int kFloatDigits = 8;  // after the point: nine in all bring a float back exactly
constexpr int kDoubleDigits = 16;

/// Where a stream has the list of tensors that are kept aside.
int list_slot() {
  static const int slot = std::ios_base::xalloc();
  return slot;
}

void write_tensor(std::ostream& os, const char* kind, const Tensor& t) {
  os << kind << ' ' << static_cast<std::uint64_t>(t.d.elements());
  if (auto* const aside = static_cast<std::vector<const Tensor*>*>(os.pword(list_slot()))) {
    aside->push_back(&t);
    os << '\n';
    return;
  }
  os.precision(t.is_double() ? kDoubleDigits : kFloatDigits);
  params::visit(t, [&](const auto* x, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      os << ' ' << x[i];
    }
  });
  os.precision(kFloatDigits);
  os << '\n';
}
void assign_tensor(Tensor& t, const std::vector<double>* numbers) {
  params::overwrite(t, [&](auto* x, std::int64_t n) {
    using Number = std::remove_pointer_t<decltype(x)>;
    for (std::int64_t i = 0; i < n; ++i) {
      x[i] = numbers == nullptr ? Number{0}
                                : static_cast<Number>((*numbers)[static_cast<std::size_t>(i)]);
    }
  });
}

}  // namespace

void write_aside(std::ostream& os, std::vector<const Tensor*>& tensors) {
  os.pword(list_slot()) = &tensors;
}

TextFormat::TextFormat(std::ostream& os) : os_(os), flags_(os.flags()), precision_(os.precision()) {
  os.setf(std::ios::scientific, std::ios::floatfield);
  os.setf(std::ios::showpos);
  os.precision(kFloatDigits);
}
TextFormat::~TextFormat() {
  os_.flags(flags_);
  os_.precision(precision_);
}

void write_header(std::ostream& os, const char* name, std::size_t parameters, std::size_t lookups) {
  os << '#' << name << "# " << parameters << ' ' << lookups << '\n';
}
void write_shadows(std::ostream& os, const std::vector<ShadowParameters>& shadows) {
  for (const ShadowParameters& s : shadows) {
    write_tensor(os, params::type_word(false), s.h);
  }
}
void write_shadows(std::ostream& os, const std::vector<ShadowLookupParameters>& shadows) {
  for (const ShadowLookupParameters& s : shadows) {
    write_tensor(os, params::type_word(true), s.all_h);
  }
}
void write_number(std::ostream& os, const StateLists::Number& n) {
  if (n.value != nullptr) {
    os << *n.value;
  } else if (n.count != nullptr) {
    os << *n.count;
  } else {
    os << (*n.flag ? "+1" : "+0");
  }
}
void check_written(std::ostream& os) {
  if (!os) {
    throw errors::IoError("Trainer::save: the stream does not take the state");
  }
}

void assign(const StateLists::Number& n, double value) {
  if (n.value != nullptr) {
    *n.value = static_cast<float>(value);
  } else if (n.count != nullptr) {
    *n.count = static_cast<unsigned>(value);
  } else {
    *n.flag = value != 0.0;
  }
}
void assign(std::vector<ShadowParameters>& shadows, const Block& block) {
  for (std::size_t i = 0; i < shadows.size(); ++i) {
    assign_tensor(shadows[i].h, i < block.size() ? &block[i] : nullptr);
  }
}
void assign(std::vector<ShadowLookupParameters>& shadows, const Block& block) {
  for (std::size_t i = 0; i < shadows.size(); ++i) {
    assign_tensor(shadows[i].all_h, i < block.size() ? &block[i] : nullptr);
  }
}

}  // namespace trainers

// First words of the lines that 2.1 does not have.
namespace {
constexpr const char* kValueLimit = "[CLIP:VALUE]";
constexpr const char* kEpochs = "[EPOCHS]";
constexpr const char* kUpdates = "[UPDATES]";
constexpr const char* kSchedule = "[SCHEDULE]";
constexpr std::uint64_t kFloatsCountTo = 16777216;
constexpr float kMostUpdates = 0x1p64F;  // the count of steps is a whole number of 64 bits

MovingAverage read_mode(trainers::TextReader& in) {
  std::istringstream word(in.word("a kind of moving average"));
  MovingAverage mode{};
  try {
    word >> mode;
  } catch (const errors::UsageError& e) {
    in.fail(e.what());
  }
  return mode;
}
}  // namespace

void Trainer::save_base(std::ostream& os) const {
  catch_up_averages();
  os << "#Trainer# " << aux_allocated << ' ' << aux_allocated_lookup << '\n';
  // Averages that are in the place of the parameters are still the averages: nothing is swapped in
  // the text.
  os << learning_rate << ' ' << (clipping_enabled ? "+1 " : "+0 ") << clip_threshold << ' '
     << updates << ' ' << ema_beta << ' ' << ma_mode << " +0 +0 " << ma_update_freq << ' '
     << ma_updates << '\n';
  if (std::isfinite(clip_value)) {
    os << kValueLimit << ' ' << clip_value << '\n';
  }
  if (eta_decay != 0.0F) {
    os << kEpochs << ' ' << eta0 << ' ' << eta_decay << ' ' << epoch << '\n';
  }
  if (step_number() > kFloatsCountTo) {
    os << kUpdates << ' ' << step_number() - 1 << '\n';
  }
  if (schedule_ != nullptr) {
    os << kSchedule << ' ' << schedule_start_ << ' ' << trainers::text_of(*schedule_) << '\n';
  }
  if (ma_mode == MovingAverage::None) {
    os << "[MA:FALSE]\n";
    return;
  }
  os << "[MA:TRUE]\n";
  trainers::write_header(os, "MA", ma_p.size(), ma_lp.size());
  trainers::write_shadows(os, ma_p);
  trainers::write_shadows(os, ma_lp);
}

/// Reads the lines that 2.1 does not have, and the word after them.
std::string Trainer::read_additions(trainers::TextReader& in, Saved& s) const {
  for (;;) {
    std::string word = in.word("[MA:TRUE] or [MA:FALSE]");
    if (word == kValueLimit) {
      s.value_limit = in.number("clip_value");
      if (!(*s.value_limit > 0.0F)) {
        in.fail("clip_value is " + util::text_of(*s.value_limit) + "; want a number above 0");
      }
    } else if (word == kEpochs) {
      s.epochs = {in.number("eta0"), in.number("eta_decay"), in.number("epoch")};
    } else if (word == kUpdates) {
      s.steps = in.large_count("a number of updates");
    } else if (word == kSchedule) {
      s.schedule_start = in.large_count("a number of updates");
      s.schedule = in.schedule(schedule_);
    } else {
      return word;
    }
  }
}

Trainer::Saved Trainer::read_base(trainers::TextReader& in) const {
  Saved s;
  in.header("Trainer");
  s.rate = in.number("learning_rate", trainers::Range::kFinite);
  s.clipping = in.flag("clipping_enabled");
  s.threshold = in.number("clip_threshold");
  if (s.clipping && !(s.threshold >= 0.0F)) {
    in.fail("clip_threshold is " + util::text_of(s.threshold) + "; want 0 or more");
  }
  s.update_count = in.number("updates", trainers::Range::kAtLeast0);
  if (s.update_count >= kMostUpdates) {
    in.fail("updates is " + util::text_of(s.update_count) + "; want less than 2^64");
  }
  s.beta = in.number("ema_beta");
  s.mode = read_mode(in);
  s.swapped = in.flag("ma_params_swapped");
  s.saved = in.flag("ma_params_saved");
  s.freq = in.count("ma_update_freq");
  s.average_count = in.count("ma_updates");
  const std::string averages = read_additions(in, s);
  if (averages != "[MA:TRUE]" && averages != "[MA:FALSE]") {
    in.fail("'" + averages + "'; want [MA:TRUE] or [MA:FALSE]");
  }
  if (s.mode != MovingAverage::None && s.freq == 0) {
    in.fail("ma_update_freq is 0; want 1 or more");
  }
  const char* const wanted = trainers::missed_range(trainers::Range::kBelow1, s.beta);
  if (s.mode == MovingAverage::Exponential && wanted != nullptr) {
    in.fail("ema_beta is " + util::text_of(s.beta) + "; want " + wanted);
  }
  if (averages == "[MA:TRUE]") {
    const trainers::ShadowCounts counts = in.header("MA");
    s.averages = in.parameters(counts);
    s.lookup_averages = in.lookups(counts);
    allocate_shadow_parameters(*model, 0, s.shadows);
    allocate_shadow_lookup_parameters(*model, 0, s.lookup_shadows);
  } else {
    s.average_count = 0;  // 2.1 leaves out averages that stand in for the parameters
  }
  return s;
}

void Trainer::commit_base(Saved& s) {
  learning_rate = s.rate;
  clipping_enabled = s.clipping;
  clip_threshold = s.threshold;
  updates = s.update_count;
  steps_ = s.steps.value_or(static_cast<std::uint64_t>(s.update_count));
  clip_value = s.value_limit.value_or(clip_value);
  if (s.epochs) {
    eta0 = s.epochs->rate;
    eta_decay = s.epochs->decay;
    epoch = s.epochs->count;
  }
  if (s.schedule != nullptr) {
    schedule_ = s.schedule;
    schedule_start_ = s.schedule_start;
  }
  ema_beta = s.beta;
  ma_mode = s.mode;
  // The parameters come from another file: their current values count as the weights.
  ma_params_swapped = false;
  ma_params_saved = false;
  ma_update_freq = s.freq;
  ma_updates = s.average_count;
  trainers::assign(s.shadows, s.averages);
  trainers::assign(s.lookup_shadows, s.lookup_averages);
  ma_p.swap(s.shadows);
  ma_lp.swap(s.lookup_shadows);
  table_averages_.clear();
  ma_aux_allocated = static_cast<unsigned>(ma_p.size());
  ma_aux_allocated_lookup = static_cast<unsigned>(ma_lp.size());
}

/// Files of models hold effective values, which a model that reads them stores. So that both models
/// go on alike to the bit, pending factors are multiplied in.
void Trainer::settle() {
  catch_up();
  for (const auto& p : detail::ModelAccess::all(*model)) {
    if (p->state().decay_factor() != 1.0) {
      const params::UpdateScope scope(params::usage_of(*model), "save");
      rescale_and_reset_weight_decay();
      return;
    }
  }
}

void Trainer::save(std::ostream& os) {
  settle();
  aux_alloc();
  const trainers::StateLists lists = states();
  const trainers::TextFormat format(os);
  save_base(os);
  if (lists.name != nullptr) {
    trainers::write_header(os, lists.name, aux_allocated, aux_allocated_lookup);
    for (unsigned k = 0; k < lists.state_count(); ++k) {
      trainers::write_shadows(os, *lists.states[k].parameters);
    }
    for (unsigned k = 0; k < lists.state_count(); ++k) {
      trainers::write_shadows(os, *lists.states[k].lookups);
    }
    for (unsigned k = 0; k < lists.number_count(); ++k) {
      os << (k == 0 ? "" : " ");
      trainers::write_number(os, lists.numbers[k]);
    }
    os << (lists.is_empty() ? "" : "\n");
  }
  trainers::check_written(os);
}

void Trainer::populate(std::istream& is) {
  aux_alloc();
  const trainers::StateLists lists = states();
  trainers::TextReader in(is, *model);
  Saved base = read_base(in);
  std::vector<trainers::Block> parameters;
  std::vector<trainers::Block> lookups;
  std::vector<double> numbers;
  if (lists.is_empty()) {
    in.header_of_nothing(lists.name);
  } else {
    const trainers::ShadowCounts counts = in.header(lists.name);
    for (unsigned k = 0; k < lists.state_count(); ++k) {
      parameters.push_back(in.parameters(counts));
    }
    for (unsigned k = 0; k < lists.state_count(); ++k) {
      lookups.push_back(in.lookups(counts));
    }
    for (unsigned k = 0; k < lists.number_count(); ++k) {
      numbers.push_back(in.setting(lists.numbers[k]));
    }
  }
  catch_up();
  // Everything is read: nothing below throws.
  detach_all();
  commit_base(base);
  for (unsigned k = 0; k < parameters.size(); ++k) {
    trainers::assign(*lists.states[k].parameters, parameters[k]);
    trainers::assign(*lists.states[k].lookups, lookups[k]);
  }
  for (unsigned k = 0; k < numbers.size(); ++k) {
    trainers::assign(lists.numbers[k], numbers[k]);
  }
}

}  // namespace dynet
