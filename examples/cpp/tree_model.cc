#include "tree_model.h"

#include <algorithm>

namespace examples {

Settings ModelSettings::saved() const {
  return {task, {{"hidden", hidden}, {"classes", classes}}, {{"words", words}}};
}

ModelSettings ModelSettings::from(const Settings& settings) {
  return {settings.task, settings.number("hidden"), settings.number("classes"),
          settings.list("words")};
}

TreeModel::TreeModel(const ModelSettings& settings)
    : words_(parameters_.add_lookup_parameters(static_cast<unsigned>(settings.words.size()),
                                               {settings.hidden})),
      builder_(settings.hidden, settings.hidden, parameters_),
      classifier_(parameters_.add_parameters({settings.classes, settings.hidden})) {}

void TreeModel::new_graph(dynet::ComputationGraph& cg) {
  builder_.new_graph(cg);
  weights_ = dynet::parameter(cg, classifier_);
}

void TreeModel::add_states(dynet::ComputationGraph& cg, const Tree& tree) {
  states_.clear();
  for (const TreeNode& node : tree.nodes) {
    states_.push_back(node.is_word()
                          ? builder_.add_input(dynet::lookup(cg, words_, node.symbol))
                          : builder_.add_input(states_[static_cast<std::size_t>(node.left)],
                                               states_[static_cast<std::size_t>(node.right)]));
  }
}

TreeModel::Outputs TreeModel::add_tree(dynet::ComputationGraph& cg, const Tree& tree) {
  add_states(cg, tree);
  losses_.clear();
  dynet::Expression scores;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    if (tree.nodes[i].label >= 0) {
      scores = weights_ * states_[i].h;
      losses_.push_back(
          dynet::pickneglogsoftmax(scores, static_cast<unsigned>(tree.nodes[i].label)));
    }
  }
  return {dynet::sum(losses_), scores, static_cast<unsigned>(losses_.size())};
}

dynet::Expression TreeModel::score_root(dynet::ComputationGraph& cg, const Tree& tree) {
  add_states(cg, tree);
  return weights_ * states_.back().h;
}

std::vector<unsigned> classify_roots(TreeModel& model, const std::vector<Tree>& trees,
                                     std::size_t limit) {
  // Several trees a graph, so that the library has something to run together.
  constexpr std::size_t kTreesAGraph = 16;
  const std::size_t n = std::min(limit, trees.size());
  std::vector<unsigned> classes;
  std::vector<dynet::Expression> scores;
  for (std::size_t first = 0; first < n; first += kTreesAGraph) {
    dynet::ComputationGraph cg;
    model.new_graph(cg);
    scores.clear();
    for (std::size_t i = first; i < std::min(first + kTreesAGraph, n); ++i) {
      scores.push_back(model.score_root(cg, trees[i]));
    }
    const std::vector<float> all = dynet::as_vector(dynet::concatenate(scores).value());
    const std::size_t width = all.size() / scores.size();
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const auto* begin = all.data() + i * width;
      classes.push_back(static_cast<unsigned>(std::max_element(begin, begin + width) - begin));
    }
  }
  return classes;
}

double root_accuracy(TreeModel& model, const std::vector<Tree>& trees, std::size_t limit) {
  const std::vector<unsigned> classes = classify_roots(model, trees, limit);
  std::size_t right = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    right += static_cast<int>(classes[i]) == trees[i].root().label ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(std::max<std::size_t>(classes.size(), 1));
}

}  // namespace examples
