// The state of trainers as text.
#include <charconv>
#include <cmath>
#include <istream>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>

#include "params/access.h"
#include "params/host.h"
#include "params/stored.h"
#include "trainers/text.h"

namespace dynet {

namespace {

/// The enumerator that `name_of` gives the next word of `is`; UsageError where there is none.
template <class Enum, std::size_t N>
std::istream& read_word(std::istream& is, Enum& o, const Enum (&all)[N], const char* what) {
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
    wanted += (wanted.empty() ? "" : e == all[N - 1] ? " or " : ", ") + name.str();
  }
  throw UsageError(std::string(what) + ": '" + word + "'; want " + wanted);
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

void write_tensor(std::ostream& os, const char* kind, const Tensor& t) {
  os << kind << ' ' << static_cast<std::uint64_t>(t.d.elements());
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
void check_written(std::ostream& os) {
  if (!os) {
    throw IoError("Trainer::save: the stream does not take the state");
  }
}

std::string TextReader::word(const char* wanted) {
  std::string w;
  if (!(is_ >> w)) {
    throw IoError(std::string("Trainer::populate: the text ends; want ") + wanted);
  }
  return w;
}

namespace {
double parse(const std::string& w, const char* wanted) {
  const char* begin = w.data() + (w[0] == '+' ? 1 : 0);
  const char* const end = w.data() + w.size();
  double value = 0.0;
  const auto [rest, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || rest != end) {
    throw IoError("Trainer::populate: '" + w + "'; want " + wanted);
  }
  return value;
}
}  // namespace

float TextReader::number(const char* wanted) {
  return static_cast<float>(parse(word(wanted), wanted));
}

unsigned TextReader::count(const char* wanted) {
  const std::string w = word(wanted);
  const char* begin = w.data() + (w[0] == '+' ? 1 : 0);
  const char* const end = w.data() + w.size();
  unsigned value = 0;
  const auto [rest, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || rest != end) {
    throw IoError("Trainer::populate: '" + w + "'; want " + wanted);
  }
  return value;
}

bool TextReader::flag(const char* wanted) {
  const unsigned value = count(wanted);
  if (value > 1) {
    throw IoError(std::string("Trainer::populate: a flag is not 0 or 1; want ") + wanted);
  }
  return value == 1;
}

ShadowCounts TextReader::header(const std::string& name) {
  const std::string w = word(name.c_str());
  if (w != "#" + name + "#") {
    throw UsageError("Trainer::populate: Type does not match expected type: '" + w + "'; want '#" +
                     name + "#'");
  }
  ShadowCounts counts;
  counts.parameters = count("a number of parameters");
  counts.lookups = count("a number of lookup parameters");
  if (counts.parameters > detail::ModelAccess::parameters(model_).size() ||
      counts.lookups > detail::ModelAccess::lookups(model_).size()) {
    throw UsageError("Trainer::populate: #" + name + "# has state for " +
                     std::to_string(counts.parameters) + " parameters and " +
                     std::to_string(counts.lookups) + " lookup parameters; the model has " +
                     std::to_string(detail::ModelAccess::parameters(model_).size()) + " and " +
                     std::to_string(detail::ModelAccess::lookups(model_).size()));
  }
  return counts;
}

std::vector<double> TextReader::tensor(const char* kind, std::size_t size) {
  const std::string w = word(kind);
  if (w != kind) {
    throw IoError("Trainer::populate: '" + w + "'; want " + kind);
  }
  const std::string found = word("a number of values");
  if (found != std::to_string(size) && found != "+" + std::to_string(size)) {
    throw UsageError("Trainer::populate: " + std::string(kind) + " has " + found +
                     " values; the model's has " + std::to_string(size));
  }
  std::vector<double> numbers(size);
  for (double& n : numbers) {
    n = parse(word("a value"), "a value");
  }
  return numbers;
}

Block TextReader::parameters(ShadowCounts counts) {
  Block block;
  for (std::size_t i = 0; i < counts.parameters; ++i) {
    block.push_back(
        tensor(params::type_word(false), detail::ModelAccess::parameters(model_)[i]->size()));
  }
  return block;
}
Block TextReader::lookups(ShadowCounts counts) {
  Block block;
  for (std::size_t i = 0; i < counts.lookups; ++i) {
    block.push_back(
        tensor(params::type_word(true), detail::ModelAccess::lookups(model_)[i]->size()));
  }
  return block;
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

void Trainer::save_base(std::ostream& os) const {
  os << "#Trainer# " << aux_allocated << ' ' << aux_allocated_lookup << '\n';
  os << learning_rate << ' ' << (clipping_enabled ? "+1 " : "+0 ") << clip_threshold << ' '
     << updates << ' ' << ema_beta << ' ' << ma_mode << (ma_params_swapped ? " +1" : " +0")
     << (ma_params_saved ? " +1 " : " +0 ") << ma_update_freq << ' ' << ma_updates << '\n';
  if (ma_mode == MovingAverage::None || ma_params_swapped) {
    os << "[MA:FALSE]\n";
    return;
  }
  os << "[MA:TRUE]\n";
  trainers::write_header(os, "MA", ma_p.size(), ma_lp.size());
  trainers::write_shadows(os, ma_p);
  trainers::write_shadows(os, ma_lp);
}

Trainer::Saved Trainer::read_base(trainers::TextReader& in) const {
  Saved s;
  in.header("Trainer");
  s.rate = in.number("a learning rate");
  s.clipping = in.flag("clipping_enabled");
  s.threshold = in.number("clip_threshold");
  if (!std::isfinite(s.rate) || (s.clipping && !(s.threshold >= 0.0F))) {
    throw IoError("Trainer::populate: the learning rate is " + std::to_string(s.rate) +
                  " and clip_threshold " + std::to_string(s.threshold) +
                  "; want a finite rate, and a threshold of 0 or more");
  }
  s.update_count = in.number("updates");
  s.beta = in.number("ema_beta");
  std::istringstream mode(in.word("a kind of moving average"));
  mode >> s.mode;
  s.swapped = in.flag("ma_params_swapped");
  s.saved = in.flag("ma_params_saved");
  s.freq = in.count("ma_update_freq");
  s.average_count = in.count("ma_updates");
  const std::string averages = in.word("[MA:TRUE] or [MA:FALSE]");
  if (averages != "[MA:TRUE]" && averages != "[MA:FALSE]") {
    throw IoError("Trainer::populate: '" + averages + "'; want [MA:TRUE] or [MA:FALSE]");
  }
  if (s.mode != MovingAverage::None && s.freq == 0) {
    throw IoError("Trainer::populate: ma_update_freq is 0; want 1 or more");
  }
  if (averages == "[MA:TRUE]") {
    const trainers::ShadowCounts counts = in.header("MA");
    s.averages = in.parameters(counts);
    s.lookup_averages = in.lookups(counts);
    allocate_shadow_parameters(*model, 0, s.shadows);
    allocate_shadow_lookup_parameters(*model, 0, s.lookup_shadows);
  }
  return s;
}

void Trainer::commit_base(Saved& s) {
  learning_rate = s.rate;
  clipping_enabled = s.clipping;
  clip_threshold = s.threshold;
  updates = s.update_count;
  steps_ = static_cast<std::uint64_t>(s.update_count);
  ema_beta = s.beta;
  ma_mode = s.mode;
  // The parameters are those of another file: whatever they are now counts as the weights.
  ma_params_swapped = false;
  ma_params_saved = false;
  ma_update_freq = s.freq;
  ma_updates = s.average_count;
  trainers::assign(s.shadows, s.averages);
  trainers::assign(s.lookup_shadows, s.lookup_averages);
  ma_p.swap(s.shadows);
  ma_lp.swap(s.lookup_shadows);
  ma_aux_allocated = static_cast<unsigned>(ma_p.size());
  ma_aux_allocated_lookup = static_cast<unsigned>(ma_lp.size());
}

void Trainer::save(std::ostream& os) {
  catch_up();
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
    const char* space = "";
    for (unsigned k = 0; k < lists.number_count(); ++k) {
      os << std::exchange(space, " ") << *lists.numbers[k].value;
    }
    os << '\n';
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
  std::vector<float> numbers;
  if (lists.name != nullptr) {
    const trainers::ShadowCounts counts = in.header(lists.name);
    for (unsigned k = 0; k < lists.state_count(); ++k) {
      parameters.push_back(in.parameters(counts));
    }
    for (unsigned k = 0; k < lists.state_count(); ++k) {
      lookups.push_back(in.lookups(counts));
    }
    for (unsigned k = 0; k < lists.number_count(); ++k) {
      numbers.push_back(in.number(lists.numbers[k].name));
      if (!std::isfinite(numbers.back())) {
        throw IoError(std::string("Trainer::populate: ") + lists.numbers[k].name + " is " +
                      std::to_string(numbers.back()) + "; want a finite number");
      }
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
    *lists.numbers[k].value = numbers[k];
  }
}

}  // namespace dynet
