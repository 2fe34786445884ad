#include "tree_model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <stdexcept>

#include "dynet/io.h"

namespace examples {

void save_settings(const ModelSettings& settings, const std::string& model_file) {
  std::ofstream out(model_file + ".settings");
  out << "task " << settings.task << "\nhidden " << settings.hidden << "\nclasses "
      << settings.classes << "\nwords " << settings.words.size() << "\n";
  for (const std::string& word : settings.words) {
    out << word << "\n";
  }
  out.close();
  if (!out) {
    throw std::runtime_error("cannot write '" + model_file + ".settings'");
  }
}

ModelSettings load_settings(const std::string& model_file) {
  const std::string file = model_file + ".settings";
  std::ifstream in(file);
  if (!in) {
    throw std::runtime_error("cannot open '" + file + "', which belongs to the model file");
  }
  ModelSettings settings;
  std::string name[4];
  std::size_t count = 0;
  in >> name[0] >> settings.task >> name[1] >> settings.hidden >> name[2] >> settings.classes >>
      name[3] >> count;
  if (!in || name[0] != "task" || name[1] != "hidden" || name[2] != "classes" ||
      name[3] != "words" || settings.hidden == 0 || settings.classes == 0) {
    throw std::runtime_error("'" + file + "' is not a settings file of this program");
  }
  std::string word;
  while (settings.words.size() < count && in >> word) {
    settings.words.push_back(word);
  }
  if (settings.words.size() != count || count == 0) {
    throw std::runtime_error("'" + file + "' ends before its last word");
  }
  return settings;
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

namespace {

/// A number in [-1, 1) from a place: all steps are exact, in any language.
double number_at(std::uint32_t parameter, std::uint32_t element) {
  std::uint32_t x = element * 0x9e3779b1U + parameter * 0x85ebca6bU + 1U;
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  x ^= x >> 16;
  return static_cast<double>(x >> 8) / 8388608.0 - 1.0;
}

std::vector<float> values_at(std::uint32_t parameter, std::size_t first, std::size_t count,
                             double scale) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] =
        static_cast<float>(scale * number_at(parameter, static_cast<std::uint32_t>(first + i)));
  }
  return values;
}

}  // namespace

/// Vectors (biases) are zero, matrices and rows of tables uniform within the range of Glorot.
void TreeModel::set_deterministic_values() {
  std::uint32_t number = 0;
  for (const auto& storage : parameters_.parameters_list()) {
    const dynet::Dim& dim = storage->dim;
    const double scale = dim.nd < 2 ? 0.0 : std::sqrt(6.0 / dim.sum_dims());
    storage->set_value(values_at(number++, 0, dim.size(), scale));
  }
  for (const auto& storage : parameters_.lookup_parameters_list()) {
    const std::size_t width = storage->dim.size();
    const std::size_t rows = storage->all_dim.size() / width;
    const double scale = std::sqrt(6.0 / (static_cast<double>(width) + 1.0));
    for (std::size_t row = 0; row < rows; ++row) {
      storage->initialize(static_cast<unsigned>(row), values_at(number, row * width, width, scale));
    }
    ++number;
  }
}

void TreeModel::save(const std::string& file) {
  dynet::TextFileSaver saver(file);
  saver.save(parameters_);
  saver.close();
}

void TreeModel::populate(const std::string& file) {
  dynet::TextFileLoader loader(file);
  loader.populate(parameters_);
}

unsigned highest(const std::vector<float>& scores) {
  return static_cast<unsigned>(std::max_element(scores.begin(), scores.end()) - scores.begin());
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
