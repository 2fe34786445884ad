// Softmaxes over words, and the conditional random field.

#include <sstream>
#include <type_traits>

#include "dynet/adaptive-softmax.h"
#include "dynet/cfsm-builder.h"
#include "dynet/crf-builder.h"
#include "dynet/dict.h"
#include "dynet/hsm-builder.h"
#include "dynet/sampled-softmax.h"

#include "support/builder_programs.h"

namespace dynet::testing {
namespace {

constexpr unsigned kWords = 7;
const char* const kClasses = "c w0\na w1\nc w2\nb w3\nc w4\nb w5\nd w6\n";
const char* const kPaths = "0 0\tw0\n1 0\tw1\n0 1\tw2\n1 1\tw3\n1 1\tw4\n1 1\tw5\n1 2\tw6\n";

template <class Builder>
class Softmax final : public Part {
 public:
  Softmax(ParameterCollection& model, unsigned size) : builder_(made(size, model)) {}
  void enter(ComputationGraph& cg) override { builder_.new_graph(cg); }
  void act(Making& making) override {
    Random& random = making.random;
    const Expression rep = making.any();
    std::vector<unsigned> words;
    for (unsigned e = 0; e < rep.dim().bd; ++e) {
      words.push_back(random.below(kWords));
    }
    if constexpr (std::is_same_v<Builder, SampledSoftmaxBuilder>) {
      if (random.chance(0.5)) {
        making.losses.push_back(builder_.sampled_loss(rep, words));
        return;
      }
    }
    if (random.chance(0.2)) {
      making.losses.push_back(sum_elems(square(builder_.full_log_distribution(rep))));
    } else if (words.size() == 1 && random.chance(0.5)) {
      making.losses.push_back(builder_.neg_log_softmax(rep, words[0]));
    } else {
      making.losses.push_back(builder_.neg_log_softmax(rep, words));
    }
  }
  void revert() override {}

 private:
  static Builder made(unsigned size, ParameterCollection& model) {
    if constexpr (std::is_same_v<Builder, StandardSoftmaxBuilder>) {
      return Builder(size, kWords, model);
    } else if constexpr (std::is_same_v<Builder, AdaptiveSoftmaxBuilder>) {
      return Builder(size, kWords, {2, 4, 6}, model, 1.5F);
    } else if constexpr (std::is_same_v<Builder, SampledSoftmaxBuilder>) {
      const NoiseDistribution noise({7, 6, 5, 4, 3, 2, 1});
      return Builder(size, noise, 4, SampledLoss::kNce, model);
    } else {
      Dict words;
      for (unsigned w = 0; w < kWords; ++w) {
        words.convert("w" + std::to_string(w));
      }
      constexpr bool kByClass = std::is_same_v<Builder, ClassFactoredSoftmaxBuilder>;
      std::istringstream clusters(kByClass ? kClasses : kPaths);
      return Builder(size, clusters, words, model);
    }
  }

  Builder builder_;
};

/// The numbers of a vector are the scores of the tags of one step.
class Crf final : public Part {
 public:
  Crf(ParameterCollection& model, unsigned size, Random& random) : builder_(size, model) {
    if (random.chance(0.3)) {
      builder_.forbid(0, 1);
    }
  }
  void enter(ComputationGraph& cg) override { builder_.new_graph(cg); }
  void act(Making& making) override {
    Random& random = making.random;
    const Expression scores = making.columns(making.some(1, 5));
    std::vector<std::vector<unsigned>> tags(scores.dim().bd);
    for (std::vector<unsigned>& list : tags) {
      for (unsigned step = 0; step < scores.dim().cols(); ++step) {
        // From tag 0 there may be no way to tag 1.
        const bool was_first = !list.empty() && list.back() == 0;
        list.push_back(was_first ? 0 : random.below(making.size));
      }
    }
    making.losses.push_back(builder_.neg_log_likelihood(scores, tags));
  }
  void revert() override {}

 private:
  CRFBuilder builder_;
};

template <class Builder>
PartKind softmax(const std::string& name) {
  return {name, [](ParameterCollection& model, unsigned size, Random&) {
            return std::make_unique<Softmax<Builder>>(model, size);
          }};
}

}  // namespace

void add_loss_kinds(std::vector<PartKind>& kinds) {
  kinds.push_back(softmax<StandardSoftmaxBuilder>("StandardSoftmaxBuilder"));
  kinds.push_back(softmax<ClassFactoredSoftmaxBuilder>("ClassFactoredSoftmaxBuilder"));
  kinds.push_back(softmax<HierarchicalSoftmaxBuilder>("HierarchicalSoftmaxBuilder"));
  kinds.push_back(softmax<AdaptiveSoftmaxBuilder>("AdaptiveSoftmaxBuilder"));
  kinds.push_back(softmax<SampledSoftmaxBuilder>("SampledSoftmaxBuilder"));
  kinds.push_back({"CRFBuilder", [](ParameterCollection& model, unsigned size, Random& random) {
                     return std::make_unique<Crf>(model, size, random);
                   }});
}

}  // namespace dynet::testing
