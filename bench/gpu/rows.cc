// Speed of training on the default device, in items per second of the clock: the rows of
// docs/gpus.md, on generated data, and products alone. torch_rows.py has the same models for
// PyTorch.
//
//   dynet_gpu_rows SECONDS [ROW...] [--dynet-devices GPU:0]

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/lstm.h"
#include "dynet/model.h"
#include "dynet/training.h"
#include "dynet/tree-builders.h"

namespace dynet {
namespace {

constexpr unsigned kWords = 10000;
constexpr unsigned kTags = 10;
constexpr unsigned kClasses = 5;
constexpr unsigned kLeast = 6;   // words of a sentence,
constexpr unsigned kMost = 40;   // evenly between the two
constexpr unsigned kSteps = 20;  // of the language model
constexpr unsigned kProducts = 64;

struct Row {
  std::string name, model;
  unsigned hidden, examples;
};
const std::vector<Row> kRows{{"rnnlm H256 n64", "rnnlm", 256, 64},
                             {"rnnlm H1024 n64", "rnnlm", 1024, 64},
                             {"tagger H50 n1", "tagger", 50, 1},
                             {"tagger H50 n64", "tagger", 50, 64},
                             {"tagger H512 n64", "tagger", 512, 64},
                             {"trees H128 n64", "trees", 128, 64},
                             {"trees H512 n64", "trees", 512, 64},
                             {"products H1024 n1", "products", 1024, 1},
                             {"products H1024 n8", "products", 1024, 8},
                             {"products H1024 n64", "products", 1024, 64},
                             {"products H1024 n1024", "products", 1024, 1024}};

/// Products of a matrix with the product before, so that none are merged: multiplications of a
/// million pairs.
class Products {
 public:
  explicit Products(const Row& row)
      : row_(row),
        w_(model_.add_parameters({row.hidden, row.hidden})),
        x_(static_cast<std::size_t>(row.hidden) * row.examples, 1.0F) {}
  double update() {
    ComputationGraph cg;
    Expression y = input(cg, Dim({row_.hidden}, row_.examples), x_);
    const Expression w = parameter(cg, w_);
    for (unsigned k = 0; k < kProducts; ++k) {
      y = w * y;
    }
    last_ = as_scalar(sum_batches(sum_elems(y)).value());
    return 1e-6 * kProducts * row_.hidden * row_.hidden * row_.examples;
  }
  [[nodiscard]] double last_loss() const { return last_; }

 private:
  Row row_;
  ParameterCollection model_;
  Parameter w_;
  std::vector<float> x_;
  double last_ = 0;
};

/// A model, and one update of it; `update` returns the items of the update: words, or trees.
class Training {
 public:
  explicit Training(const Row& row) : row_(row), trainer_(model_) {
    const unsigned h = row.hidden;
    words_ = model_.add_lookup_parameters(kWords, {h});
    if (row.model == "rnnlm") {
      left_ = VanillaLSTMBuilder(1, h, h, model_);
      out_ = model_.add_parameters({kWords, h});
    } else if (row.model == "tagger") {
      left_ = VanillaLSTMBuilder(1, h, h, model_);
      right_ = VanillaLSTMBuilder(1, h, h, model_);
      out_ = model_.add_parameters({kTags, 2 * h});
    } else {
      tree_ = std::make_unique<BinaryTreeLSTMBuilder>(h, h, model_);
      out_ = model_.add_parameters({kClasses, h});
    }
  }
  double update() {
    ComputationGraph cg;
    std::vector<Expression> losses;
    double items = 0;
    const Expression w = parameter(cg, out_);
    if (row_.model == "rnnlm") {
      items = language_model(cg, w, losses);
    } else {
      for (unsigned k = 0; k < row_.examples; ++k) {
        items += row_.model == "tagger" ? tag(cg, w, losses) : parse(cg, w, losses);
      }
    }
    const Expression loss = sum(losses);
    cg.forward(loss);
    cg.backward(loss);
    trainer_.update();
    last_ = as_scalar(loss.value());
    return items;
  }
  [[nodiscard]] double last_loss() const { return last_; }

 private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_()) % n; }
  unsigned length() { return kLeast + below(kMost - kLeast + 1); }

  double language_model(ComputationGraph& cg, const Expression& w,
                        std::vector<Expression>& losses) {
    left_.new_graph(cg);
    left_.start_new_sequence();
    std::vector<unsigned> words(row_.examples);
    for (unsigned t = 0; t < kSteps; ++t) {
      std::generate(words.begin(), words.end(), [&] { return below(kWords); });
      const Expression h = left_.add_input(lookup(cg, words_, words));
      std::generate(words.begin(), words.end(), [&] { return below(kWords); });
      losses.push_back(sum_batches(pickneglogsoftmax(w * h, words)));
    }
    return static_cast<double>(kSteps) * row_.examples;
  }
  double tag(ComputationGraph& cg, const Expression& w, std::vector<Expression>& losses) {
    std::vector<Expression> xs(length());
    std::generate(xs.begin(), xs.end(), [&] { return lookup(cg, words_, below(kWords)); });
    std::vector<Expression> left;
    std::vector<Expression> right(xs.size());
    for (auto* const lstm : {&left_, &right_}) {
      lstm->new_graph(cg);
      lstm->start_new_sequence();
    }
    for (std::size_t t = 0; t < xs.size(); ++t) {
      left.push_back(left_.add_input(xs[t]));
      right[xs.size() - 1 - t] = right_.add_input(xs[xs.size() - 1 - t]);
    }
    for (std::size_t t = 0; t < xs.size(); ++t) {
      losses.push_back(pickneglogsoftmax(w * concatenate({left[t], right[t]}), below(kTags)));
    }
    return static_cast<double>(xs.size());
  }
  double parse(ComputationGraph& cg, const Expression& w, std::vector<Expression>& losses) {
    tree_->new_graph(cg);
    std::vector<TreeState> open;
    for (unsigned k = length(); k > 0; --k) {
      open.push_back(node(w, tree_->add_input(lookup(cg, words_, below(kWords))), losses));
    }
    while (open.size() > 1) {  // joins neighbours anywhere
      const std::size_t at = below(static_cast<unsigned>(open.size() - 1));
      open[at] = node(w, tree_->add_input(open[at], open[at + 1]), losses);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    return 1;
  }
  TreeState node(const Expression& w, const TreeState& state, std::vector<Expression>& losses) {
    losses.push_back(pickneglogsoftmax(w * state.h, below(kClasses)));
    return state;
  }

  Row row_;
  ParameterCollection model_;
  AdamTrainer trainer_;
  LookupParameter words_;
  Parameter out_;
  VanillaLSTMBuilder left_, right_;
  std::unique_ptr<BinaryTreeLSTMBuilder> tree_;
  std::mt19937 random_{1};
  double last_ = 0;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class Training>
void run(const Row& row, double seconds) {
  reset_rng(1);
  Training training(row);
  training.update();  // memory and plans
  const double begin = now();
  double items = 0;
  int updates = 0;
  do {
    items += training.update();
    ++updates;
  } while (now() - begin < seconds);
  const double took = now() - begin;
  std::printf("%s\t%.1f\t%.3f\t%d\t%.4f\n", row.name.c_str(), items / took, 1e3 * took / updates,
              updates, training.last_loss());
  std::fflush(stdout);
}

/// The rows that the arguments name; all if they name none.
int run_rows(double seconds, const std::vector<std::string>& wanted) {
  std::printf("row\titems/s\tms/update\tupdates\tlast loss\n");
  for (const Row& row : kRows) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), row.name) != wanted.end()) {
      row.model == "products" ? run<Products>(row, seconds / 4) : run<Training>(row, seconds);
    }
  }
  return 0;
}

}  // namespace
}  // namespace dynet

int main(int argc, char** argv) {
  try {
    dynet::initialize(argc, argv);
    if (argc < 2) {
      std::fprintf(stderr,
                   "usage: dynet_gpu_rows SECONDS [ROW...]: items per second of the clock\n");
      return 2;
    }
    return dynet::run_rows(std::stod(argv[1]), {argv + 2, argv + argc});
  } catch (const std::exception& error) {  // such as a machine without the driver
    std::fprintf(stderr, "dynet_gpu_rows: %s\n", error.what());
    return 1;
  }
}
