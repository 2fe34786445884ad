// Searches of CRFBuilder on the host: the n best sequences, and marginals. And the rules of BIO.

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/crf-builder.h"
#include "dynet/except.h"

#include "api/lengths.h"
#include "builders/sentence_scores.h"

namespace dynet {

namespace {
constexpr double kNoPath = -std::numeric_limits<double>::infinity();

double log_of_sum(const std::vector<double>& logs) {
  const double most = *std::max_element(logs.begin(), logs.end());
  if (most == kNoPath) {
    return most;
  }
  double sum = 0.0;
  for (const double x : logs) {
    sum += std::exp(x - most);
  }
  return most + std::log(sum);
}
}  // namespace

/// The scores of all sequences, as numbers.
struct CRFBuilder::Numbers {
  std::size_t tags;
  Dim dim;
  std::vector<double> scores, transitions, start, end;
  std::vector<unsigned> lengths;

  /// The score of a tag at a step, with the start's and the end's.
  [[nodiscard]] double at(std::size_t example, std::size_t step, std::size_t tag) const {
    double score = scores[(((example * dim.cols()) + step) * tags) + tag];
    score += step == 0 ? start[tag] : 0.0;
    return score + (step + 1 == lengths[example] ? end[tag] : 0.0);
  }
  [[nodiscard]] double between(std::size_t from, std::size_t to) const {
    return transitions[(from * tags) + to];
  }
  /// The n best sequences of an example.
  [[nodiscard]] std::vector<ScoredTags> n_best(std::size_t example, std::size_t n) const;
  /// Writes the marginals of an example to its place in the batch.
  void write_marginals(std::size_t example, std::vector<float>& shares) const;
  [[noreturn]] void fail(const char* call, std::size_t example) const {
    throw errors::NumericError("CRFBuilder: " + std::string(call) + ": scores are " +
                               builders::example_of(dim, example) +
                               ", and each sequence has a score of -inf");
  }
};

CRFBuilder::Numbers CRFBuilder::numbers_of(const char* call, const Expression& scores,
                                           const std::vector<unsigned>& lengths,
                                           Where where) const {
  check_scores(call, scores, where);
  const std::string at = parameters_.at(call);
  Numbers numbers;
  numbers.tags = tags_;
  numbers.dim = scores.dim();
  numbers.lengths = api::checked_lengths(at, numbers.dim, numbers.dim.cols(), lengths);
  numbers.scores = as_double_vector(scores.value());
  const auto read = [&at](const Expression& parameter) {
    std::vector<double> values = as_double_vector(parameter.value());
    for (const double score : values) {
      builders::check_score(at, score, [] { return std::string("a transition, start or end"); });
    }
    return values;
  };
  numbers.transitions = read(scores_[0]);
  numbers.start = read(scores_[1]);
  numbers.end = read(scores_[2]);
  for (std::size_t e = 0; e < numbers.lengths.size(); ++e) {
    for (std::size_t k = 0; k < numbers.lengths[e]; ++k) {
      for (std::size_t tag = 0; tag < tags_; ++tag) {
        builders::check_score(
            at, numbers.scores[(((e * numbers.dim.cols()) + k) * tags_) + tag], [&] {
              return "tag " + std::to_string(tag) + " at step " + std::to_string(k) + " in " +
                     builders::example_of(numbers.dim, e);
            });
      }
    }
  }
  return numbers;
}

// ---- the n best

namespace {
/// A sequence up to some tag: its score, and the tag and the place among the sequences before.
struct Partial {
  double score = kNoPath;
  unsigned tag = 0;
  unsigned rank = 0;
};

/// Picks the n best candidates, best first, and equal scores by tag and rank. Sequences that
/// are not allowed are left out.
std::vector<Partial> best_of(std::vector<Partial> candidates, std::size_t n) {
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(),
                                  [](const Partial& p) { return p.score == kNoPath; }),
                   candidates.end());
  n = std::min(n, candidates.size());
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(n),
                    candidates.end(), [](const Partial& a, const Partial& b) {
                      if (a.score != b.score) {
                        return a.score > b.score;
                      }
                      return a.tag != b.tag ? a.tag < b.tag : a.rank < b.rank;
                    });
  candidates.resize(n);
  return candidates;
}

/// The n best of all sequences that end with some tag of a step.
std::vector<Partial> extended(const std::vector<std::vector<Partial>>& before, std::size_t n,
                              const std::vector<double>& to) {
  std::vector<Partial> candidates;
  for (unsigned tag = 0; tag < before.size(); ++tag) {
    for (unsigned rank = 0; rank < before[tag].size(); ++rank) {
      candidates.push_back({before[tag][rank].score + to[tag], tag, rank});
    }
  }
  return best_of(std::move(candidates), n);
}
}  // namespace

std::vector<ScoredTags> CRFBuilder::Numbers::n_best(std::size_t example, std::size_t n) const {
  std::vector<std::vector<std::vector<Partial>>> steps(lengths[example]);
  for (std::size_t k = 0; k < steps.size(); ++k) {
    steps[k].resize(tags);
    for (std::size_t tag = 0; tag < tags; ++tag) {
      const double own = at(example, k, tag);
      if (k == 0) {
        if (own != kNoPath) {
          steps[k][tag].push_back({own, 0, 0});
        }
        continue;
      }
      std::vector<double> to(tags);
      for (std::size_t from = 0; from < tags; ++from) {
        to[from] = between(from, tag) + own;
      }
      steps[k][tag] = extended(steps[k - 1], n, to);
    }
  }
  std::vector<ScoredTags> all;
  for (Partial last : extended(steps.back(), n, std::vector<double>(tags, 0.0))) {
    ScoredTags found{std::vector<unsigned>(steps.size()), static_cast<float>(last.score)};
    for (std::size_t k = steps.size(); k-- > 0;) {
      found.tags[k] = last.tag;
      last = steps[k][last.tag][last.rank];
    }
    all.push_back(std::move(found));
  }
  if (all.empty()) {
    fail("n_best", example);
  }
  return all;
}

std::vector<std::vector<ScoredTags>> CRFBuilder::n_best(const Expression& scores, unsigned n,
                                                        const std::vector<unsigned>& lengths,
                                                        Where where) {
  if (n == 0) {
    throw errors::ValueError("CRFBuilder: n_best: n is 0; want at least 1");
  }
  return detail::with_typed_allocation([&] {
    const Numbers numbers = numbers_of("n_best", scores, lengths, where);
    std::vector<std::vector<ScoredTags>> all;
    all.reserve(numbers.lengths.size());
    for (std::size_t e = 0; e < numbers.lengths.size(); ++e) {
      all.push_back(numbers.n_best(e, n));
    }
    return all;
  });
}

std::vector<ScoredTags> CRFBuilder::n_best(const Expression& scores, unsigned n, Where where) {
  return detail::with_typed_allocation([&] {
    check_scores("n_best", scores, where);
    builders::check_one_example("CRFBuilder: n_best: ", scores.dim());
    return n_best(scores, n, std::vector<unsigned>(), where)[0];
  });
}

// ---- marginals

void CRFBuilder::Numbers::write_marginals(std::size_t example, std::vector<float>& shares) const {
  const std::size_t steps = lengths[example];
  std::vector<double> terms(tags);
  // Sums over all that stands before a tag, with its own score, and over all that stands after.
  std::vector<double> before(steps * tags);
  std::vector<double> after(steps * tags);
  for (std::size_t k = 0; k < steps; ++k) {
    for (std::size_t tag = 0; tag < tags; ++tag) {
      for (std::size_t from = 0; k > 0 && from < tags; ++from) {
        terms[from] = before[((k - 1) * tags) + from] + between(from, tag);
      }
      before[(k * tags) + tag] = at(example, k, tag) + (k > 0 ? log_of_sum(terms) : 0.0);
    }
  }
  for (std::size_t k = steps - 1; k-- > 0;) {
    for (std::size_t tag = 0; tag < tags; ++tag) {
      for (std::size_t to = 0; to < tags; ++to) {
        terms[to] = between(tag, to) + at(example, k + 1, to) + after[((k + 1) * tags) + to];
      }
      after[(k * tags) + tag] = log_of_sum(terms);
    }
  }
  std::copy_n(&before[(steps - 1) * tags], tags, terms.begin());
  const double all = log_of_sum(terms);
  if (all == kNoPath) {
    fail("marginals", example);
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    shares[(example * dim.cols() * tags) + i] =
        static_cast<float>(std::exp(before[i] + after[i] - all));
  }
}

std::vector<float> CRFBuilder::marginals(const Expression& scores,
                                         const std::vector<unsigned>& lengths, Where where) {
  return detail::with_typed_allocation([&] {
    const Numbers numbers = numbers_of("marginals", scores, lengths, where);
    std::vector<float> shares(numbers.scores.size());
    for (std::size_t e = 0; e < numbers.lengths.size(); ++e) {
      numbers.write_marginals(e, shares);
    }
    return shares;
  });
}

// ---- BIO

namespace {
/// "B-PER" as B and PER; the type of "O" is empty.
struct BioTag {
  char letter;
  std::string_view type;
  /// Whether a span goes on behind the tag, if all spans are closed by E or S; else it may.
  [[nodiscard]] bool is_open() const { return letter == 'B' || letter == 'I'; }
  [[nodiscard]] bool goes_on() const { return letter == 'I' || letter == 'E'; }
};

BioTag bio_tag(const std::string& name) {
  const bool is_outside = name == "O";
  const bool has_type = name.size() > 2 && name[1] == '-' &&
                        std::string_view("BIES").find(name[0]) != std::string_view::npos;
  if (!is_outside && !has_type) {
    throw errors::ValueError("CRFBuilder: forbid_bio: the tag '" + name +
                             "'; want O, or B, I, E or S with '-' and a type, such as B-PER");
  }
  return {name[0], is_outside ? std::string_view() : std::string_view(name).substr(2)};
}
}  // namespace

void CRFBuilder::forbid_bio(const std::vector<std::string>& tags) {
  if (tags.size() != tags_) {
    throw errors::ValueError("CRFBuilder: forbid_bio: " + std::to_string(tags.size()) +
                             " names; want one for each of " + std::to_string(tags_) + " tags");
  }
  std::set<std::string_view> seen;
  std::vector<BioTag> parts;
  bool closed = false;
  for (const std::string& name : tags) {
    parts.push_back(bio_tag(name));
    closed = closed || name[0] == 'E' || name[0] == 'S';
    if (!seen.insert(name).second) {
      throw errors::ValueError("CRFBuilder: forbid_bio: the tag '" + name + "' stands twice");
    }
  }
  for (unsigned to = 0; to < tags_; ++to) {
    if (parts[to].goes_on()) {
      forbid_start(to);
    }
    if (closed && parts[to].is_open()) {
      forbid_end(to);
    }
    for (unsigned from = 0; from < tags_; ++from) {
      const bool fits = parts[from].is_open() && parts[from].type == parts[to].type;
      if (parts[to].goes_on() ? !fits : closed && parts[from].is_open()) {
        forbid(from, to);
      }
    }
  }
}

}  // namespace dynet
