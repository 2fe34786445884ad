// Sentences of many lengths in one graph: the same operations over matrices with a column for each
// item. Some nodes are cut into columns, others beside them are not (graph/columns.h).

#include <algorithm>
#include <array>

#include "dynet/expr/gradient.h"

#include "support/builder_programs.h"

namespace dynet::testing {
namespace {

/// A sentence: a matrix {size,n} that steps change, and the words. The others have as many columns.
struct Sentence {
  Expression x;
  Expression words;
  Expression vector;  ///< of this sentence alone
  Expression other;   ///< often of another sentence, which may have another batch
};

/// A last extent of 1 is there or not, as an operation likes; here it is, or for 0 columns is not.
Expression with_columns(const Making& making, const Expression& x, unsigned columns) {
  const Dim wanted =
      columns == 0 ? Dim({making.size}, x.dim().bd) : Dim({making.size, columns}, x.dim().bd);
  return x.dim() == wanted ? x : reshape(x, wanted);
}

struct Weights {
  Expression u, v, b, gain, row;
};

using Step = Expression (*)(Making& making, const Weights& w, const Sentence& s);

/// Steps that compute each column of the result from the same columns.
constexpr std::array kByColumns{
    Step([](Making&, const Weights&, const Sentence& s) { return tanh(s.x); }),
    Step([](Making&, const Weights&, const Sentence& s) { return 0.75F * s.x + 0.25F; }),
    Step([](Making&, const Weights& w, const Sentence& s) { return w.u * s.x; }),
    Step([](Making&, const Weights& w, const Sentence& s) {
      return tanh(affine_transform({w.b, w.u, s.x}));
    }),
    // One product twice.
    Step([](Making&, const Weights& w, const Sentence& s) { return w.v * s.x - tanh(w.v * s.x); }),
    Step([](Making&, const Weights& w, const Sentence& s) {
      return affine_transform({w.b, w.v, s.x, w.u, s.other});
    }),
    Step([](Making&, const Weights& w, const Sentence& s) {
      return affine_transform({s.words, w.u, tanh(s.x), w.u, s.words});
    }),
    Step([](Making&, const Weights&, const Sentence& s) { return s.x + cmult(s.words, s.x); }),
    Step([](Making&, const Weights&, const Sentence& s) { return cmult(s.x, s.other); }),
    Step([](Making&, const Weights&, const Sentence& s) { return max(s.x, s.other); }),
    Step([](Making&, const Weights&, const Sentence& s) { return s.x - logistic(s.other); }),
    Step([](Making&, const Weights&, const Sentence& s) { return softmax(s.x); }),
    Step([](Making&, const Weights&, const Sentence& s) {
      return s.x + transpose(sum_dim(s.x, {0}));
    }),
    // Two weights, in either order, or one of them twice.
    Step([](Making& making, const Weights& w, const Sentence& s) {
      const Expression& first = making.random.chance(0.5) ? w.u : w.v;
      const Expression& second = making.random.chance(0.5) ? w.u : w.v;
      return first * tanh(second * s.x);
    }),
};

/// The columns as matrices {2,size/2}, one behind the other.
Expression list_of_matrices(const Making& making, const Expression& x) {
  const unsigned n = x.dim().cols();
  if (making.form == Form::kPlain) {
    return reshape(x, Dim({2, making.size / 2, n}, x.dim().bd));
  }
  std::vector<Expression> all(n);
  for (unsigned i = 0; i < n; ++i) {
    all[i] = reshape(pick(x, i, 1), Dim({2, making.size / 2}, x.dim().bd));
  }
  return concatenate(all, 2);
}

/// Steps that look across columns, or at more than columns and parameters.
constexpr std::array kAcross{
    Step([](Making&, const Weights& w, const Sentence& s) {
      return cmult(s.x, transpose(softmax(transpose(w.row * s.x))));
    }),
    Step([](Making&, const Weights&, const Sentence& s) { return s.x + s.vector; }),
    // A sentence of one word, for each column.
    Step([](Making& making, const Weights&, const Sentence& s) {
      return s.x - making.columns({s.vector});
    }),
    Step([](Making&, const Weights&, const Sentence& s) { return softmax(s.x, 1); }),
    Step([](Making&, const Weights& w, const Sentence& s) {
      return s.x * softmax(transpose(w.u * s.x) * s.other * 0.5F);
    }),
    Step([](Making&, const Weights&, const Sentence& s) {
      return transpose(tanh(transpose(s.x) * 0.5F)) + s.words;
    }),
    Step([](Making& making, const Weights&, const Sentence& s) {
      return pick_range(concatenate({s.x, s.words}), 1, 1 + making.size);
    }),
    // Beside numbers, which have no lengths.
    Step([](Making& making, const Weights&, const Sentence& s) {
      const unsigned n = s.x.dim().cols();
      return cmult(s.x, input(making.cg, {making.size, n}, making.numbers(making.size * n)));
    }),
    Step([](Making& making, const Weights& w, const Sentence& s) {
      const Expression mask =
          input(making.cg, {making.size, making.size}, making.numbers(making.size * making.size));
      return cmult(w.v, mask) * s.x;
    }),
    Step([](Making&, const Weights&, const Sentence& s) { return dropout(s.x, 0.25F); }),
    Step([](Making& making, const Weights&, const Sentence& s) {
      const Expression blocks = list_of_matrices(making, s.x);
      const Expression y = cmult(softmax(blocks), tanh(blocks));
      return reshape(y, Dim({making.size, s.x.dim().cols()}, y.dim().bd));
    }),
    // A gradient as a node.
    Step([](Making&, const Weights& w, const Sentence& s) {
      return s.x + tanh(gradient(squared_norm(tanh(w.u * s.x)), {s.x})[0]);
    }),
    Step([](Making&, const Weights& w, const Sentence& s) {
      return 0.25F * layer_norm(s.x, w.gain, w.b);
    }),
};

/// A sentence leaves the steps of the others at this rate.
class Sentences final : public Part {
 public:
  Sentences(ParameterCollection& model, unsigned size, double rate)
      : u_(model.add_parameters({size, size})),
        v_(model.add_parameters({size, size})),
        b_(model.add_parameters({size})),
        gain_(model.add_parameters({size})),
        row_(model.add_parameters({1, size})),
        rate_(rate) {}
  void enter(ComputationGraph& cg) override {
    w_ = {parameter(cg, u_), parameter(cg, v_), parameter(cg, b_), parameter(cg, gain_),
          parameter(cg, row_)};
    matrices_.clear();
    marks_.clear();
  }
  void act(Making& making) override {
    Random& random = making.random;
    std::vector<Sentence> all(2 + random.below(3));
    for (Sentence& s : all) {
      begin(making, s);
    }
    for (unsigned i = 1 + random.below(4); i != 0; --i) {
      const Step usual = any_step(random);
      const Step rare = any_step(random);
      for (Sentence& s : all) {
        s.x = with_columns(making, (random.chance(rate_) ? rare : usual)(making, w_, s),
                           s.words.dim().cols());
      }
      if (random.chance(0.1)) {
        grow(making, all[0]);
      }
      if (random.chance(0.05)) {
        making.ask(all[random.below(static_cast<unsigned>(all.size()))].x);
      }
    }
    for (const Sentence& s : all) {
      matrices_.push_back(s.x);
      offer(making, s);
    }
    if (random.chance(0.2)) {
      differentiate(making, all[0]);
    }
  }
  void mark() override { marks_.push_back(matrices_.size()); }
  void revert() override {
    matrices_.resize(marks_.back());
    marks_.pop_back();
  }

 private:
  static Step any_step(Random& random) {
    return random.chance(0.6) ? kByColumns[random.below(kByColumns.size())]
                              : kAcross[random.below(kAcross.size())];
  }
  void begin(Making& making, Sentence& s) const {
    const bool is_fresh = making.random.chance(0.5);
    s.words = making.columns(is_fresh ? making.sentence(1, 9) : making.some(1, 9));
    s.x = s.words;
    s.vector = making.any();
    s.other = s.words;
    for (const Expression& x : matrices_) {
      if (x.dim().cols() == s.x.dim().cols() && making.random.chance(0.5)) {
        s.other = x;
      }
    }
  }
  /// One item more, or all items once more.
  static void grow(Making& making, Sentence& s) {
    const bool is_twice = making.random.chance(0.3);
    const auto longer = [&](const Expression& x) {
      return making.columns({x, is_twice ? s.words : s.vector});
    };
    s.x = longer(s.x);
    s.other = longer(s.other);
    s.words = longer(s.words);
  }
  /// A vector of a sentence.
  [[nodiscard]] Expression read(Making& making, const Sentence& s) const {
    const unsigned n = s.x.dim().cols();
    switch (making.random.below(6)) {
      case 0:
        return pick(s.x, making.random.below(n), 1);
      case 1:
        return max_dim(s.x, 1);
      case 2:
        return mean_dim(s.x, {1});
      case 3:
        return tanh(logsumexp_dim(s.x, 1));
      case 4: {  // which word?
        const Expression scores = transpose(s.x) * s.vector;
        std::vector<unsigned> classes(scores.dim().bd);
        for (unsigned& c : classes) {
          c = making.random.below(n);
        }
        making.losses.push_back(pickneglogsoftmax(scores, classes));
        return s.words * softmax(scores);
      }
      default:
        return s.x * softmax(transpose(s.words) * (w_.v * s.vector));
    }
  }
  void offer(Making& making, const Sentence& s) const {
    making.offer(with_columns(making, read(making, s), 0));
  }
  /// A gradient through all steps of a sentence, which backward differentiates once more.
  void differentiate(Making& making, const Sentence& s) const {
    const Expression y = squared_norm(tanh(s.x));
    offer(making, {0.5F * tanh(gradient(y, {s.words})[0]), s.words, s.vector, s.other});
  }

  Parameter u_, v_, b_, gain_, row_;
  double rate_;
  Weights w_;
  std::vector<Expression> matrices_;
  std::vector<std::size_t> marks_;
};

PartKind sentences(const std::string& name, double rate) {
  return {name, [rate](ParameterCollection& model, unsigned size, Random&) {
            return std::make_unique<Sentences>(model, size, rate);
          }};
}

}  // namespace

void add_sentence_kinds(std::vector<PartKind>& kinds) {
  kinds.push_back(sentences("sentences, 5 % branch", 0.05));
  kinds.push_back(sentences("sentences, 50 % branch", 0.5));
  kinds.push_back(sentences("sentences, 95 % branch", 0.95));
}

}  // namespace dynet::testing
