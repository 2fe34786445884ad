#include "models/builders.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <type_traits>

#include "dynet/adaptive-softmax.h"
#include "dynet/attention.h"
#include "dynet/birnn.h"
#include "dynet/crf-builder.h"
#include "dynet/except.h"
#include "dynet/fast-lstm.h"
#include "dynet/gru.h"
#include "dynet/hsm-builder.h"
#include "dynet/lstm.h"
#include "dynet/rnn.h"
#include "dynet/sampled-softmax.h"
#include "dynet/semi-crf-builder.h"
#include "dynet/transformer.h"
#include "dynet/tree-builders.h"
#include "dynet/treelstm.h"

#include "io/keys.h"

namespace dynet::models {
namespace {

// ---- settings of finished builders. Python does not save settings for training.

template <class B>
bool set_one(B& b, const std::string& method, const Arguments& a) {
  if constexpr (std::is_base_of_v<StandardLSTMBuilder, B>) {
    if (method == "set_ln_epsilon") {
      b.set_ln_epsilon(static_cast<float>(a.at(0).number()));
      return true;
    }
  }
  if constexpr (std::is_same_v<B, CRFBuilder>) {
    if (method == "forbid") {
      b.forbid(a.size(0), a.size(1));
      return true;
    }
    if (method == "forbid_start" || method == "forbid_end") {
      method == "forbid_start" ? b.forbid_start(a.size(0)) : b.forbid_end(a.size(0));
      return true;
    }
    if (method == "forbid_bio") {
      std::vector<std::string> tags;
      for (const Value& tag : a.at(0).list()) {
        tags.push_back(tag.text());
      }
      b.forbid_bio(tags);
      return true;
    }
  }
  return false;
}
template <class B>
bool set(B& b, unsigned i, const std::string& method, const Arguments& a) {
  return i == 0 && set_one(b, method, a);
}
/// Its builders are counted layer by layer, the forward one first.
template <class B>
bool set(BiRNNBuilder<B>& both, unsigned i, const std::string& method, const Arguments& a) {
  if (i / 2 >= both.builder_layers.size()) {
    return false;
  }
  auto& layer = both.builder_layers[i / 2];
  return set_one(i % 2 == 0 ? layer.forward : layer.backward, method, a);
}

/// `Base`: a second class by which programs may ask for the builder.
template <class Base, class B>
Built built(B made) {
  auto object = std::make_shared<B>(std::move(made));
  return {object,
          {{typeid(B), object.get()}, {typeid(Base), static_cast<Base*>(object.get())}},
          name_of(typeid(B)),
          object->get_parameter_collection(),
          [b = object.get()](unsigned i, const std::string& method, const Arguments& a) {
            return set(*b, i, method, a);
          }};
}

// ---- recurrent builders

/// Options that Python gives by name, to builders of a BiRNNBuilder.
struct NamedOptions {
  std::optional<bool> ln_lstm, reset_after;
  std::optional<float> forget_bias;
};

/// (layers, input_dim, hidden_dim): a builder, or an empty one without layers, as in Python.
template <class B, class... Options>
Built recurrent(const Arguments& a, ParameterCollection& model, Options... options) {
  const unsigned layers = a.size(0);
  return built<RNNBuilder>(layers == 0 ? B() : B(layers, a.size(1), a.size(2), model, options...));
}
template <class B>
Built plain(const Arguments& a, ParameterCollection& model) {
  return recurrent<B>(a, model);
}
template <class B>
Built standard(const Arguments& a, ParameterCollection& model) {
  return recurrent<B>(a, model, a.truth(3, false), a.number(4, 1.0F));
}
Built gru(const Arguments& a, ParameterCollection& model) {
  return recurrent<GRUBuilder>(a, model, a.truth(3, false));
}

/// (layers, input_dim, hidden_dim) of a BiRNNBuilder.
template <class B, class... Options>
Built both_ways(const Arguments& a, ParameterCollection& model, Options... options) {
  using Both = BiRNNBuilder<B>;
  return built<Both>(Both(a.size(0), a.size(1), a.size(2), model, options...));
}
template <class B>
Built plain_both(const Arguments& a, ParameterCollection& model, const NamedOptions& /*none*/) {
  return both_ways<B>(a, model);
}
template <class B>
Built standard_both(const Arguments& a, ParameterCollection& model, const NamedOptions& options) {
  return both_ways<B>(a, model, options.ln_lstm.value_or(false),
                      options.forget_bias.value_or(1.0F));
}
/// With options that the coupled LSTM lacks, Python makes the standard one.
Built coupled_both(const Arguments& a, ParameterCollection& model, const NamedOptions& options) {
  return options.ln_lstm || options.forget_bias
             ? standard_both<VanillaLSTMBuilder>(a, model, options)
             : both_ways<CoupledLSTMBuilder>(a, model);
}
Built gru_both(const Arguments& a, ParameterCollection& model, const NamedOptions& options) {
  return both_ways<GRUBuilder>(a, model, options.reset_after.value_or(false));
}

struct BothClass {
  const char* name;
  std::type_index type;
  Built (*make)(const Arguments& a, ParameterCollection& model, const NamedOptions& options);
  std::vector<std::string> options;
};

const std::vector<BothClass>& both_classes() {
  const std::vector<std::string> standard = {"ln_lstm", "forget_bias"};
  static const std::vector<BothClass> all = {
      {"SimpleRNNBuilder",
       typeid(BiRNNBuilder<SimpleRNNBuilder>),
       &plain_both<SimpleRNNBuilder>,
       {}},
      {"GRUBuilder", typeid(BiRNNBuilder<GRUBuilder>), &gru_both, {"reset_after"}},
      {"CoupledLSTMBuilder", typeid(BiRNNBuilder<CoupledLSTMBuilder>), &coupled_both, standard},
      {"VanillaLSTMBuilder", typeid(BiRNNBuilder<VanillaLSTMBuilder>),
       &standard_both<VanillaLSTMBuilder>, standard},
      {"SparseLSTMBuilder", typeid(BiRNNBuilder<SparseLSTMBuilder>),
       &standard_both<SparseLSTMBuilder>, standard},
      {"CompactVanillaLSTMBuilder",
       typeid(BiRNNBuilder<CompactVanillaLSTMBuilder>),
       &plain_both<CompactVanillaLSTMBuilder>,
       {}},
      {"FastLSTMBuilder", typeid(BiRNNBuilder<FastLSTMBuilder>), &plain_both<FastLSTMBuilder>, {}}};
  return all;
}

NamedOptions named_options(const Value& given, const BothClass& both) {
  NamedOptions options;
  for (const auto& [name, value] : given.items()) {
    if (value.is_none()) {
      continue;
    }
    if (std::find(both.options.begin(), both.options.end(), name) == both.options.end()) {
      throw errors::IoError(value.place() + ": an option that " + both.name +
                            " does not have; want none");
    }
    if (name == "forget_bias") {
      options.forget_bias = static_cast<float>(value.number());
    } else {
      (name == "ln_lstm" ? options.ln_lstm : options.reset_after) = value.truth();
    }
  }
  return options;
}

/// (num_layers, input_dim, hidden_dim, class of the builders, None), and perhaps a dict of options.
Built birnn(const Arguments& a, ParameterCollection& model) {
  const std::string name = a.at(3).class_name();
  if (!a.at(4).is_none()) {
    a.at(4).fail("None, as for builders that BiRNNBuilder made");
  }
  for (const BothClass& both : both_classes()) {
    if (name == std::string("dynet:") + both.name) {
      return both.make(a, model, a.has(5) ? named_options(a.at(5), both) : NamedOptions());
    }
  }
  a.at(3).fail("a recurrent builder of dynet");
}

// ---- trees

template <class B>
Built tree_nodes(const Arguments& a, ParameterCollection& model) {
  return built<TreeNodesBuilder>(B(a.size(0), a.size(1), a.size(2), model));
}
Built nary_tree(const Arguments& a, ParameterCollection& model) {
  return built<TreeNodesBuilder>(
      NaryTreeLSTMBuilder(a.size(0), a.size(1), a.size(2), a.size(3), model));
}
Built binary_tree(const Arguments& a, ParameterCollection& model) {
  return built<BinaryTreeBuilder>(BinaryTreeLSTMBuilder(a.size(0), a.size(1), model));
}
Built recursive_net(const Arguments& a, ParameterCollection& model) {
  return built<BinaryTreeBuilder>(TreeRNNBuilder(a.size(0), model));
}

// ---- softmaxes

Built standard_softmax(const Arguments& a, ParameterCollection& model) {
  return built<SoftmaxBuilder>(
      StandardSoftmaxBuilder(a.size(0), a.size(1), model, a.truth(2, true)));
}

/// (input_dim, lines of the clusters, words and ids, options...).
template <class B, class... Options>
Built of_clusters(const Arguments& a, ParameterCollection& model, Options... options) {
  std::string text;
  for (const Value& line : a.at(1).list()) {
    text.append(line.text()).append("\n");
  }
  std::istringstream lines(text);
  Dict words = a.at(2).dict();
  return built<SoftmaxBuilder>(
      B(a.size(0), lines, words, model, options..., a.at(1).place() + ", the clusters"));
}
Built class_factored(const Arguments& a, ParameterCollection& model) {
  return of_clusters<ClassFactoredSoftmaxBuilder>(a, model, a.truth(3, true));
}
Built hierarchical(const Arguments& a, ParameterCollection& model) {
  return of_clusters<HierarchicalSoftmaxBuilder>(a, model);
}

/// (input_dim, num_classes, cutoffs, div_value, bias).
Built adaptive(const Arguments& a, ParameterCollection& model) {
  std::vector<unsigned> cutoffs;
  for (const Value& cutoff : a.at(2).list()) {
    cutoffs.push_back(cutoff.size());
  }
  return built<SoftmaxBuilder>(AdaptiveSoftmaxBuilder(a.size(0), a.size(1), cutoffs, model,
                                                      a.number(3, 4.0F), a.truth(4, true)));
}

SampledLoss loss_of(const Value& name) {
  constexpr std::array<std::pair<const char*, SampledLoss>, 3> kLosses{
      {{"nce", SampledLoss::kNce},
       {"sampled_softmax", SampledLoss::kSampledSoftmax},
       {"blackout", SampledLoss::kBlackOut}}};
  for (const auto& [known, loss] : kLosses) {
    if (name.text() == known) {
      return loss;
    }
  }
  name.fail("nce, sampled_softmax or blackout");
}

/// (input_dim, counts, samples, loss, alpha, bias).
Built sampled(const Arguments& a, ParameterCollection& model) {
  std::vector<double> counts;
  for (const Value& count : a.at(1).list()) {
    counts.push_back(count.number());
  }
  const double alpha = a.has(4) ? a.at(4).number() : 0.75;
  return built<SoftmaxBuilder>(SampledSoftmaxBuilder(
      a.size(0), NoiseDistribution(counts, alpha), a.size(2),
      a.has(3) ? loss_of(a.at(3)) : SampledLoss::kSampledSoftmax, model, a.truth(5, true)));
}

// ---- attention and Transformers

Built mlp_attention(const Arguments& a, ParameterCollection& model) {
  return built<AttentionBuilder>(MLPAttentionBuilder(a.size(0), a.size(1), a.size(2), model));
}
Built dot_attention(const Arguments& a, ParameterCollection& model) {
  return built<AttentionBuilder>(DotAttentionBuilder(a.size(0), model));
}
Built biaffine_attention(const Arguments& a, ParameterCollection& model) {
  return built<AttentionBuilder>(BiaffineAttentionBuilder(a.size(0), a.size(1), model));
}
Built multi_head_attention(const Arguments& a, ParameterCollection& model) {
  return built<AttentionBuilder>(
      MultiHeadAttentionBuilder(a.size(0), a.size(1), model, a.size(2, 0)));
}

/// (layers, dim, heads, hidden_dim, pre_norm, gelu, epsilon).
Built encoder(const Arguments& a, ParameterCollection& model) {
  TransformerOptions options;
  options.pre_norm = a.truth(4, true);
  options.gelu = a.truth(5, false);
  options.epsilon = a.number(6, 0.0F);
  using B = TransformerEncoderBuilder;
  return built<B>(B(a.size(0), a.size(1), a.size(2), a.size(3), model, options));
}
/// (layers, dim, heads, hidden_dim, pre_norm, gelu, has_memory, memory_dim, epsilon).
Built decoder(const Arguments& a, ParameterCollection& model) {
  TransformerOptions options;
  options.pre_norm = a.truth(4, true);
  options.gelu = a.truth(5, false);
  options.has_memory = a.truth(6, true);
  options.memory_dim = a.size(7, 0);
  options.epsilon = a.number(8, 0.0F);
  using B = TransformerDecoderBuilder;
  return built<B>(B(a.size(0), a.size(1), a.size(2), a.size(3), model, options));
}
Built learned_encoding(const Arguments& a, ParameterCollection& model) {
  return built<LearnedEncoding>(LearnedEncoding(a.size(0), a.size(1), model));
}
Built crf(const Arguments& a, ParameterCollection& model) {
  return built<CRFBuilder>(CRFBuilder(a.size(0), model));
}
Built semi_crf(const Arguments& a, ParameterCollection& model) {
  return built<SemiCRFBuilder>(SemiCRFBuilder(a.size(0), a.size(1), model));
}

// ---- the table

struct BuilderClass {
  const char* name;
  std::type_index type;
  Built (*make)(const Arguments& a, ParameterCollection& model);
};

/// Each class of Python's module `dynet` that has `from_spec`, but for BiRNNBuilder, whose C++
/// class depends on its arguments.
const std::vector<BuilderClass>& builder_classes() {
  static const std::vector<BuilderClass> all = {
      {"SimpleRNNBuilder", typeid(SimpleRNNBuilder), &plain<SimpleRNNBuilder>},
      {"GRUBuilder", typeid(GRUBuilder), &gru},
      {"CoupledLSTMBuilder", typeid(CoupledLSTMBuilder), &plain<CoupledLSTMBuilder>},
      {"VanillaLSTMBuilder", typeid(VanillaLSTMBuilder), &standard<VanillaLSTMBuilder>},
      {"SparseLSTMBuilder", typeid(SparseLSTMBuilder), &standard<SparseLSTMBuilder>},
      {"CompactVanillaLSTMBuilder", typeid(CompactVanillaLSTMBuilder),
       &plain<CompactVanillaLSTMBuilder>},
      {"FastLSTMBuilder", typeid(FastLSTMBuilder), &plain<FastLSTMBuilder>},
      {"NaryTreeLSTMBuilder", typeid(NaryTreeLSTMBuilder), &nary_tree},
      {"ChildSumTreeLSTMBuilder", typeid(ChildSumTreeLSTMBuilder),
       &tree_nodes<ChildSumTreeLSTMBuilder>},
      {"TreeGRUBuilder", typeid(TreeGRUBuilder), &tree_nodes<TreeGRUBuilder>},
      {"UnidirectionalTreeLSTMBuilder", typeid(UnidirectionalTreeLSTMBuilder),
       &tree_nodes<UnidirectionalTreeLSTMBuilder>},
      {"BidirectionalTreeLSTMBuilder", typeid(BidirectionalTreeLSTMBuilder),
       &tree_nodes<BidirectionalTreeLSTMBuilder>},
      {"BinaryTreeLSTMBuilder", typeid(BinaryTreeLSTMBuilder), &binary_tree},
      {"TreeRNNBuilder", typeid(TreeRNNBuilder), &recursive_net},
      {"StandardSoftmaxBuilder", typeid(StandardSoftmaxBuilder), &standard_softmax},
      {"ClassFactoredSoftmaxBuilder", typeid(ClassFactoredSoftmaxBuilder), &class_factored},
      {"HierarchicalSoftmaxBuilder", typeid(HierarchicalSoftmaxBuilder), &hierarchical},
      {"AdaptiveSoftmaxBuilder", typeid(AdaptiveSoftmaxBuilder), &adaptive},
      {"SampledSoftmaxBuilder", typeid(SampledSoftmaxBuilder), &sampled},
      {"MLPAttentionBuilder", typeid(MLPAttentionBuilder), &mlp_attention},
      {"DotAttentionBuilder", typeid(DotAttentionBuilder), &dot_attention},
      {"BiaffineAttentionBuilder", typeid(BiaffineAttentionBuilder), &biaffine_attention},
      {"MultiHeadAttentionBuilder", typeid(MultiHeadAttentionBuilder), &multi_head_attention},
      {"TransformerEncoderBuilder", typeid(TransformerEncoderBuilder), &encoder},
      {"TransformerDecoderBuilder", typeid(TransformerDecoderBuilder), &decoder},
      {"LearnedEncoding", typeid(LearnedEncoding), &learned_encoding},
      {"CRFBuilder", typeid(CRFBuilder), &crf},
      {"SemiCRFBuilder", typeid(SemiCRFBuilder), &semi_crf}};
  return all;
}

constexpr const char* kBothName = "dynet._bidirectional:BiRNNBuilder";

}  // namespace

Built make_builder(const std::string& name, const Value& spec, ParameterCollection& model,
                   const std::string& place) {
  if (name == kBothName) {
    return birnn(Arguments(spec), model);
  }
  for (const BuilderClass& one : builder_classes()) {
    if (name == std::string("dynet:") + one.name) {
      return one.make(Arguments(spec), model);
    }
  }
  throw errors::IoError(place + " is of the class '" + io::shown(name, 100) +
                        "', which only Python knows; want a builder of dynet: save the builders, "
                        "parameters and vocabularies of your class one by one");
}

std::string name_of(std::type_index type) {
  for (const BuilderClass& one : builder_classes()) {
    if (one.type == type) {
      return one.name;
    }
  }
  for (const BothClass& both : both_classes()) {
    if (both.type == type) {
      return std::string("BiRNNBuilder<") + both.name + ">";
    }
  }
  const std::pair<std::type_index, const char*> bases[] = {
      {typeid(RNNBuilder), "RNNBuilder"},
      {typeid(TreeNodesBuilder), "TreeNodesBuilder"},
      {typeid(BinaryTreeBuilder), "BinaryTreeBuilder"},
      {typeid(SoftmaxBuilder), "SoftmaxBuilder"},
      {typeid(AttentionBuilder), "AttentionBuilder"}};
  for (const auto& [base, name] : bases) {
    if (base == type) {
      return name;
    }
  }
  return "class that no file has";
}

}  // namespace dynet::models
