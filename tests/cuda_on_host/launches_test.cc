// The starts of kernels, copies and waits of one update, against bench/launches.txt: a change that
// adds starts is seen at once, without a GPU. Sizes of layers do not matter, so they are small.
//
// An update is forward, the value of the loss, backward, clipping and Adam. The second update is
// counted. A wait is one for a number that the program or clipping asked for. Numbers may depend on
// the schedule alone: counts are exact.

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "dynet/devices.h"
#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/fast-lstm.h"
#include "dynet/gru.h"
#include "dynet/lstm.h"
#include "dynet/model.h"
#include "dynet/rnn.h"
#include "dynet/training.h"
#include "dynet/tree-builders.h"
#include "dynet/treelstm.h"

#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

constexpr unsigned kSize = 8;
constexpr unsigned kWords = 200;
constexpr unsigned kTags = 5;

using Random = std::mt19937;
unsigned below(Random& random, unsigned n) { return static_cast<unsigned>(random() % n); }

/// Two LSTMs over a sentence, a hidden layer and a loss at each word.
class Tagger {
 public:
  explicit Tagger(ParameterCollection& m)
      : words_(m.add_lookup_parameters(kWords, {kSize})),
        forward_(1, kSize, kSize, m),
        backward_(1, kSize, kSize, m),
        hidden_(m.add_parameters({kSize, 2 * kSize})),
        bias_(m.add_parameters({kSize})),
        output_(m.add_parameters({kTags, kSize})) {}
  void begin(ComputationGraph& cg) {
    forward_.new_graph(cg);
    backward_.new_graph(cg);
  }
  Expression add(ComputationGraph& cg, Random& random) {
    const unsigned length = 5 + below(random, 30);
    forward_.start_new_sequence();
    backward_.start_new_sequence();
    std::vector<Expression> inputs, left, losses;
    for (unsigned i = 0; i < length; ++i) {
      const bool is_frequent = below(random, 2) == 0;
      inputs.push_back(lookup(cg, words_, below(random, is_frequent ? 3 : kWords)));
      left.push_back(forward_.add_input(inputs.back()));
    }
    const Expression hidden = parameter(cg, hidden_);
    const Expression bias = parameter(cg, bias_);
    const Expression output = parameter(cg, output_);
    for (unsigned i = length; i-- > 0;) {
      const Expression both = concatenate({left[i], backward_.add_input(inputs[i])});
      losses.push_back(
          pickneglogsoftmax(output * tanh(hidden * both + bias), below(random, kTags)));
    }
    return sum(losses);
  }

 private:
  LookupParameter words_;
  VanillaLSTMBuilder forward_, backward_;
  Parameter hidden_, bias_, output_;
};

/// A binary tree over words with a loss at each node.
class Tree {
 public:
  explicit Tree(ParameterCollection& m)
      : words_(m.add_lookup_parameters(kWords, {kSize})),
        builder_(kSize, kSize, m),
        classifier_(m.add_parameters({kTags, kSize})) {}
  void begin(ComputationGraph& cg) { builder_.new_graph(cg); }
  Expression add(ComputationGraph& cg, Random& random) {
    std::vector<Expression> losses;
    add_node(cg, random, 5 + below(random, 20), losses);
    return sum(losses);
  }

 private:
  TreeState add_node(ComputationGraph& cg, Random& random, unsigned words,
                     std::vector<Expression>& losses) {
    TreeState state;
    if (words == 1) {
      state = builder_.add_input(lookup(cg, words_, below(random, kWords)));
    } else {
      const unsigned left_words = 1 + below(random, words - 1);
      const auto left = add_node(cg, random, left_words, losses);
      const auto right = add_node(cg, random, words - left_words, losses);
      state = builder_.add_input(left, right);
    }
    losses.push_back(pickneglogsoftmax(parameter(cg, classifier_) * state.h, below(random, kTags)));
    return state;
  }

  LookupParameter words_;
  BinaryTreeLSTMBuilder builder_;
  Parameter classifier_;
};

/// A language model over batches of sentences of one length.
class LanguageModel {
 public:
  explicit LanguageModel(ParameterCollection& m)
      : words_(m.add_lookup_parameters(kWords, {kSize})),
        lstm_(1, kSize, kSize, m),
        output_(m.add_parameters({kWords, kSize})),
        bias_(m.add_parameters({kWords})) {}
  Expression add(ComputationGraph& cg, Random& random, unsigned sentences) {
    lstm_.new_graph(cg);
    lstm_.start_new_sequence();
    std::vector<Expression> losses;
    std::vector<unsigned> now(sentences, 0), next(sentences);
    for (unsigned i = 0; i < 10; ++i) {
      for (unsigned& word : next) {
        word = below(random, kWords);
      }
      const Expression h = lstm_.add_input(lookup(cg, words_, now));
      losses.push_back(pickneglogsoftmax(
          affine_transform({parameter(cg, bias_), parameter(cg, output_), h}), next));
      now = next;
    }
    return sum_batches(sum(losses));
  }

 private:
  LookupParameter words_;
  VanillaLSTMBuilder lstm_;
  Parameter output_, bias_;
};

using Loss = std::function<Expression(ComputationGraph&, Random&)>;

/// Two updates; `loss` adds the loss of one to a graph. Gives the losses, the last one after both,
/// and the counts before the second update and after it.
struct Updates {
  std::vector<float> losses;
  cuda_on_host::Counts before{}, after{};

  Updates(ParameterCollection& m, const Loss& loss) {
    AdamTrainer trainer(m);
    for (int update = 0; update < 3; ++update) {
      before = update < 2 ? cuda_on_host::counts() : before;
      ComputationGraph cg;
      Random random(7);
      const Expression all = loss(cg, random);
      losses.push_back(as_scalar(cg.forward(all)));
      if (update < 2) {
        cg.backward(all);
        trainer.update();
        after = cuda_on_host::counts();
      }
    }
  }
};

/// While it lives, new parameters and graphs are on the CPU, with the same first values.
class OnTheCpu {
 public:
  OnTheCpu() { default_device = get_device_manager()->get_global_device("CPU"); }
  OnTheCpu(const OnTheCpu&) = delete;
  OnTheCpu& operator=(const OnTheCpu&) = delete;
  ~OnTheCpu() { default_device = before_; }

 private:
  Device* before_ = default_device;
};

/// The line of a model, whose losses have to be the CPU's.
template <class Model, class Add>
std::string counted(const std::string& name, const Add& add) {
  const auto updates = [&add] {
    reset_rng(5);
    ParameterCollection m;
    Model model(m);
    return Updates(m, [&](ComputationGraph& cg, Random& random) { return add(model, cg, random); });
  };
  const auto [losses, before, after] = updates();
  const OnTheCpu cpu;
  const std::vector<float> wanted = updates().losses;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(losses[i], wanted[i], tolerance::kThroughFloat * std::abs(wanted[i]))
        << name << ", update " << i;
  }
  std::ostringstream line;
  line << name << " launches " << after.launches - before.launches << " copies_in "
       << after.copies_in - before.copies_in << " bytes_in " << after.bytes_in - before.bytes_in
       << " copies_out " << after.copies_out - before.copies_out << " waits "
       << after.waits - before.waits;
  return line.str();
}

template <class Model>
std::string counted_examples(const std::string& name, unsigned examples) {
  return counted<Model>(name, [&](Model& model, ComputationGraph& cg, Random& random) {
    model.begin(cg);
    std::vector<Expression> losses;
    losses.reserve(examples);
    for (unsigned i = 0; i < examples; ++i) {
      losses.push_back(model.add(cg, random));
    }
    return sum(losses);
  });
}
std::string counted_language_model(const std::string& name, unsigned sentences) {
  using Model = LanguageModel;
  return counted<Model>(name, [&](Model& model, ComputationGraph& cg, Random& random) {
    return model.add(cg, random, sentences);
  });
}

/// Starts of kernels that ten more steps add to an update, forward and backward. `add_steps` adds
/// so many steps to a graph and gives the last state.
template <class Builder>
std::string counted_steps(
    const std::string& name, const std::function<Builder(ParameterCollection&)>& make,
    const std::function<Expression(Builder&, const std::function<Expression()>& word,
                                   unsigned steps)>& add_steps) {
  const auto launches = [&](unsigned steps) {
    ParameterCollection m;
    Builder builder = make(m);
    const LookupParameter words = m.add_lookup_parameters(kWords, {kSize});
    const Updates updates(m, [&](ComputationGraph& cg, Random& random) {
      builder.new_graph(cg);
      const auto word = [&] { return lookup(cg, words, below(random, kWords)); };
      return squared_norm(add_steps(builder, word, steps));
    });
    return updates.after.launches - updates.before.launches;
  };
  return name + " launches " + std::to_string(launches(30) - launches(20));
}
template <class Builder, class... Options>
std::string counted_sequence(const std::string& name, Options... options) {
  return counted_steps<Builder>(
      name + "-10-steps",
      [&](ParameterCollection& m) { return Builder(1, kSize, kSize, m, options...); },
      [](Builder& b, const std::function<Expression()>& word, unsigned steps) {
        b.start_new_sequence();
        for (unsigned i = 0; i < steps; ++i) {
          b.add_input(word());
        }
        return b.back();
      });
}
/// A tree in which each inner node has the node before and a leaf.
template <class Builder>
std::string counted_tree(const std::string& name) {
  return counted_steps<Builder>(
      name + "-10-nodes",
      [](ParameterCollection& m) {
        if constexpr (std::is_same_v<Builder, NaryTreeLSTMBuilder>) {
          return Builder(2, 1, kSize, kSize, m);
        } else {
          return Builder(1, kSize, kSize, m);
        }
      },
      [](Builder& b, const std::function<Expression()>& word, unsigned steps) {
        b.start_new_sequence();
        b.set_num_elements(static_cast<int>(2 * steps + 1));
        b.add_input(0, {}, word());
        for (unsigned i = 0; i < steps; ++i) {
          const auto leaf = static_cast<int>(2 * i + 1);
          b.add_input(leaf, {}, word());
          b.add_input(leaf + 1, {leaf - 1, leaf}, word());
        }
        return b.back();
      });
}

TEST(Launches, AreAsManyAsRecorded) {
  std::ifstream file(DYNET_SOURCE_DIR "/bench/launches.txt");
  std::string heading;
  std::getline(file, heading);
  const std::vector<std::string> found = {
      counted_examples<Tagger>("tagger-1", 1),
      counted_examples<Tagger>("tagger-64", 64),
      counted_examples<Tree>("tree-1", 1),
      counted_examples<Tree>("tree-64", 64),
      counted_language_model("language-model-1", 1),
      counted_language_model("language-model-64", 64),
      counted_sequence<VanillaLSTMBuilder>("lstm"),
      counted_sequence<VanillaLSTMBuilder>("lstm-with-norms", true),
      counted_sequence<CoupledLSTMBuilder>("coupled-lstm"),
      counted_sequence<FastLSTMBuilder>("fast-lstm"),
      counted_sequence<GRUBuilder>("gru"),
      counted_sequence<GRUBuilder>("gru-reset-after", true),
      counted_sequence<SimpleRNNBuilder>("simple-rnn"),
      counted_tree<NaryTreeLSTMBuilder>("nary-tree-lstm"),
      counted_tree<ChildSumTreeLSTMBuilder>("child-sum-tree-lstm"),
      counted_tree<TreeGRUBuilder>("tree-gru"),
  };
  for (const std::string& line : found) {
    std::string recorded;
    std::getline(file, recorded);
    EXPECT_EQ(line, recorded) << "bench/launches.txt has another line; fewer launches are better";
  }
}

}  // namespace
}  // namespace dynet::testing
