#include "dynet/beam.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "dynet/except.h"

#include "builders/builder_support.h"
#include "util/number_text.h"

namespace dynet {

namespace {
/// ValueError unless the norm of this exponent grows with the length, or is constant.
void check_exponent(const char* function, double alpha) {
  if (!(alpha >= 0.0 && std::isfinite(alpha))) {
    throw errors::ValueError(std::string(function) + ": alpha is " + util::text_of(alpha) +
                             "; want a finite number of at least 0");
  }
}
}  // namespace

LengthNorm length_power(double alpha) {
  check_exponent("length_power", alpha);
  return [alpha](unsigned length) { return std::pow(static_cast<double>(length), alpha); };
}

LengthNorm length_wu(double alpha) {
  check_exponent("length_wu", alpha);
  return [alpha](unsigned length) {
    return std::pow((5.0 + static_cast<double>(length)) / 6.0, alpha);
  };
}

namespace detail {

// ---- hypotheses

Beam::Beam(unsigned end, BeamOptions options) : end_(end), options_(std::move(options)), live_(1) {
  if (options_.width == 0 || options_.max_length == 0 || options_.n_best == 0 ||
      !(options_.prune >= 0.0)) {
    throw errors::ValueError(
        "beam_search: width " + std::to_string(options_.width) + ", max_length " +
        std::to_string(options_.max_length) + ", n_best " + std::to_string(options_.n_best) +
        ", prune " + util::text_of(options_.prune) + "; want 1 at least, and prune 0 at least");
  }
  static_cast<void>(score(0.0, options_.max_length));  // throws for a norm that is not positive
}

double Beam::score(double log_probability, std::size_t length) const {
  if (!options_.length_norm) {
    return log_probability;
  }
  const double norm = options_.length_norm(static_cast<unsigned>(length));
  if (!(norm > 0.0)) {
    throw errors::ValueError("beam_search: the norm of length " + std::to_string(length) + " is " +
                             util::text_of(norm) + "; want a positive number");
  }
  return log_probability / norm;
}

bool Beam::is_open() const {
  if (live_.empty() || live_[0].words.size() >= options_.max_length) {
    return false;
  }
  // A log-probability only falls, and the norm only grows with the length: the score with
  // max_length is a bound.
  return finished_.size() < options_.n_best ||
         score(live_[0].log_probability, options_.max_length) > finished_.back().score;
}

bool Beam::Candidate::is_before(const Candidate& other) const {
  if (log_probability != other.log_probability) {
    return log_probability > other.log_probability;
  }
  return from != other.from ? from < other.from : word < other.word;
}

std::vector<Beam::Candidate> Beam::choose(const std::vector<double>& logs, unsigned words) const {
  const auto is_before = [](const Candidate& a, const Candidate& b) { return a.is_before(b); };
  std::vector<Candidate> kept;  // a heap with the last of them at its top
  for (std::size_t k = 0; k < logs.size(); ++k) {
    const std::size_t from = k / words;
    const auto word = static_cast<unsigned>(k % words);
    const Candidate c{live_[from].log_probability + logs[k], from, word};
    if (c.log_probability == -HUGE_VAL) {
      continue;
    }
    if (!std::isfinite(c.log_probability)) {
      throw errors::NumericError("beam_search: the log-probability of word " +
                                 std::to_string(word) + " after " +
                                 std::to_string(live_[from].words.size()) + " words is " +
                                 (std::isnan(c.log_probability) ? "NaN" : "infinite") +
                                 " (hypothesis " + std::to_string(from) + ")");
    }
    if (kept.size() == options_.width) {
      if (!c.is_before(kept.front())) {
        continue;
      }
      std::pop_heap(kept.begin(), kept.end(), is_before);
      kept.pop_back();
    }
    kept.push_back(c);
    std::push_heap(kept.begin(), kept.end(), is_before);
  }
  std::sort_heap(kept.begin(), kept.end(), is_before);
  const auto is_poor = [&](const Candidate& c) {
    return c.log_probability < kept.front().log_probability - options_.prune;
  };
  kept.erase(std::find_if(kept.begin(), kept.end(), is_poor), kept.end());
  return kept;
}

void Beam::finish(Hypothesis&& h) {
  h.finished = true;
  h.score = score(h.log_probability, h.words.size());
  const auto place =
      std::upper_bound(finished_.begin(), finished_.end(), h,
                       [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  finished_.insert(place, std::move(h));
  if (finished_.size() > options_.n_best) {
    finished_.pop_back();
  }
}

Expression Beam::question(const std::vector<Expression>& log_probabilities) const {
  const auto shape_of = [](const Expression& e) -> const Dim& {
    return builders::dim_of(e, Where(),
                            [] { return std::string("beam_search: the log-probabilities"); });
  };
  const Dim& d = shape_of(log_probabilities[0]);
  const unsigned words = d.rows();
  for (const Expression& e : log_probabilities) {
    const Dim& own = shape_of(e);
    if (own.bd != 1 || own.rows() != words || own.example_elements() != words || words == 0) {
      throw errors::ShapeError("beam_search: log-probabilities are " + to_string(own) + " and " +
                               to_string(d) + "; want vectors of one size and one example");
    }
  }
  if (end_ >= words) {
    throw errors::IndexError("beam_search: the end symbol is " + std::to_string(end_) +
                             ", and log-probabilities are " + to_string(d));
  }
  const bool is_one = log_probabilities.size() == 1;
  return is_one ? log_probabilities[0] : concatenate_to_batch(log_probabilities, Where());
}

std::vector<std::size_t> Beam::advance(const Expression& question) {
  return detail::with_typed_allocation([&] { return checked_advance(question); });
}

std::vector<std::size_t> Beam::checked_advance(const Expression& question) {
  const std::vector<Candidate> chosen =
      choose(as_double_vector(question.value()), question.dim().rows());
  std::vector<Hypothesis> next;
  std::vector<std::size_t> from;
  for (const Candidate& c : chosen) {
    Hypothesis h = live_[c.from];
    h.words.push_back(c.word);
    h.log_probability = c.log_probability;
    if (c.word == end_) {
      finish(std::move(h));
    } else {
      next.push_back(std::move(h));
      from.push_back(c.from);
    }
  }
  live_ = std::move(next);
  return from;
}

std::vector<Hypothesis> Beam::best() const {
  std::vector<Hypothesis> all = finished_;
  for (const Hypothesis& h : live_) {
    if (all.size() == options_.n_best) {
      break;
    }
    all.push_back(h);
    all.back().score = score(h.log_probability, h.words.size());
  }
  return all;
}

// ---- checkpoints

SearchMark::SearchMark(ComputationGraph& cg, bool is_used, std::function<void()> revert)
    : graph_(cg), revert_(std::move(revert)), first_(cg.nodes.size()) {
  if (is_used) {
    graph_.checkpoint();
    is_set_ = true;
  }
}

SearchMark::~SearchMark() {
  if (is_set_) {
    revert_();
  }
}

void SearchMark::renew() {
  is_set_ = false;
  revert_();
  graph_.checkpoint();
  is_set_ = true;
}

Carried carry(const Expression& e) {
  return {e.dim(), as_vector(e.value()),
          get_device_manager()->get_global_device(e.get_device_name())};
}

Expression put_back(ComputationGraph& cg, const Carried& carried) {
  return input({cg, Where()}, carried.dim, carried.numbers, carried.device);
}

void fail_carry() {
  throw errors::UsageError(
      "beam_search: checkpoints want for_each_expression for the type of the state, which has "
      "none; "
      "states of recurrent builders are carried as the vector of final_s()");
}

void fail_checkpoints_in_task() {
  throw errors::UsageError(
      "beam_search_task: checkpoints would remove nodes of other tasks; want checkpoints = false");
}

}  // namespace detail

}  // namespace dynet
