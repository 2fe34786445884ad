// WorkerPool: losses of examples, on a crew.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "dynet/dynet.h"
#include "dynet/evaluating.h"
#include "dynet/inference.h"
#include "dynet/workers.h"

namespace dynet {
namespace {

std::size_t pieces_of(const WorkerOptions& options) {
  constexpr unsigned kPieces = 4;
  return options.pieces != 0 ? options.pieces : std::max(kPieces, options.workers);
}

double loss_of(const WorkerPool::Loss& loss, const std::vector<unsigned>& examples, bool learn) {
  ComputationGraph cg;
  const Expression e = loss(cg, examples);
  const auto value = static_cast<double>(as_scalar(cg.forward(e)));
  if (learn) {
    cg.backward(e);
  }
  return value;
}

/// The work of a worker on a piece.
workers::Work work_of(WorkerPool::Loss loss, WorkerPool::Score score) {
  return [loss = std::move(loss), score = std::move(score),
          examples = std::vector<unsigned>()](const workers::Piece& piece) mutable {
    examples.assign(piece.examples, piece.examples + piece.count);
    double value = 0;
    if (piece.learn) {
      value = loss_of(loss, examples, true);
    } else {
      const InferenceScope no_gradients;
      const Evaluating no_dropout;
      value = score ? score(examples) : loss_of(loss, examples, false);
    }
    std::memcpy(piece.result, &value, sizeof value);
  };
}

/// Examples in the order of their pieces, and the ends of the pieces.
struct Cut {
  std::vector<unsigned> examples;
  std::vector<std::uint32_t> ends;
};
/// The most expensive example goes first, each to the piece that has least so far: so no piece has
/// more than the mean and one example (Graham, 1969). Within a piece examples keep their order.
Cut cut_by_cost(const std::vector<unsigned>& examples, const std::vector<double>& costs,
                std::size_t pieces) {
  if (costs.size() != examples.size() || !std::all_of(costs.begin(), costs.end(), [](double c) {
        return c >= 0 && std::isfinite(c);
      })) {
    throw errors::ValueError("WorkerPool::learn: " + std::to_string(costs.size()) + " costs for " +
                             std::to_string(examples.size()) +
                             " examples; want a number of 0 or more for each");
  }
  std::vector<std::uint32_t> order(examples.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return costs[a] != costs[b] ? costs[a] > costs[b] : a < b;
  });
  std::vector<double> total(pieces, 0);
  std::vector<std::vector<std::uint32_t>> members(pieces);
  for (const std::uint32_t i : order) {
    const auto least = [&](std::size_t a, std::size_t b) {  // so that no piece stays empty
      return total[a] != total[b] ? total[a] < total[b] : members[a].size() < members[b].size();
    };
    std::size_t piece = 0;
    for (std::size_t p = 1; p < pieces; ++p) {
      piece = least(p, piece) ? p : piece;
    }
    total[piece] += costs[i];
    members[piece].push_back(i);
  }
  Cut cut;
  for (std::vector<std::uint32_t>& piece : members) {
    std::sort(piece.begin(), piece.end());
    for (const std::uint32_t i : piece) {
      cut.examples.push_back(examples[i]);
    }
    cut.ends.push_back(static_cast<std::uint32_t>(cut.examples.size()));
  }
  return cut;
}

double sum(const workers::Crew& crew, const std::byte* results, std::size_t pieces) {
  double total = 0;
  for (std::size_t i = 0; i < pieces; ++i) {
    double value = 0;
    std::memcpy(&value, results + i * crew.result_stride(), sizeof value);
    total += value;
  }
  return total;
}

}  // namespace

WorkerPool::WorkerPool(const ParameterCollection& model, Loss loss, const WorkerOptions& options,
                       Score score)
    : pieces_(pieces_of(options)),
      gradient_(options.gradient),
      crew_(model, work_of(std::move(loss), std::move(score)), sizeof(double), pieces_, options) {}
WorkerPool::WorkerPool(const ParameterCollection& model, workers::Work work,
                       const WorkerOptions& options, workers::Hooks hooks)
    : pieces_(pieces_of(options)),
      gradient_(options.gradient),
      crew_(model, std::move(work), sizeof(double), pieces_, options, std::move(hooks)) {}
WorkerPool::~WorkerPool() = default;

double WorkerPool::learn(const std::vector<unsigned>& examples, const std::vector<double>& costs) {
  if (examples.empty()) {
    return 0;
  }
  const std::size_t pieces = std::min(pieces_, examples.size());
  const double scale =
      gradient_ == WorkerGradient::kMean ? 1.0 / static_cast<double>(examples.size()) : 1.0;
  workers::Call call{examples.data(), examples.size(), pieces, true, scale};
  Cut cut;
  if (!costs.empty()) {
    cut = cut_by_cost(examples, costs, pieces);
    call.examples = cut.examples.data();
    call.ends = cut.ends.data();
  }
  return sum(crew_, crew_.run(call), pieces);
}

double WorkerPool::evaluate(const std::vector<unsigned>& examples) {
  constexpr std::size_t kPiece = 16;
  constexpr std::size_t kMost = workers::Crew::kMaxPieces * kPiece;
  double total = 0;
  for (std::size_t first = 0; first < examples.size(); first += kMost) {
    const std::size_t count = std::min(kMost, examples.size() - first);
    const std::size_t pieces = (count + kPiece - 1) / kPiece;
    total += sum(crew_, crew_.run({examples.data() + first, count, pieces, false, 1.0}), pieces);
  }
  return total;
}

void WorkerPool::close() { crew_.close(); }
std::vector<int> WorkerPool::pids() const { return crew_.pids(); }

}  // namespace dynet
