// Softmaxes over trees of choices.

#include <algorithm>
#include <fstream>
#include <istream>
#include <numeric>
#include <string>
#include <utility>

#include "dynet/except.h"
#include "dynet/hsm-builder.h"

#include "builders/softmax_support.h"

namespace dynet {

namespace detail {

namespace {
// The list that full_logits joins begins with two constants.
enum : unsigned { kRowZero, kRowMissing, kFirstRow };
constexpr float kMissing = -10000.0F;
}  // namespace

void TreeSoftmaxBuilder::read(const char* builder, const std::string& cluster_file, Format format,
                              Dict& word_dict) {
  std::ifstream in = builders::open_clusters(builder, cluster_file);
  read(builder, in, format, word_dict, cluster_file);
}

void TreeSoftmaxBuilder::read(const char* builder, std::istream& clusters, Format format,
                              Dict& word_dict, const std::string& called) {
  const std::vector<builders::ClusterLine> lines =
      builders::read_cluster_lines(builder, clusters, called, format == Format::kPath);
  builders::ClusterTree tree = builders::make_cluster_tree(builder, called, lines, word_dict);
  root_ = std::move(tree.root);
  paths_ = std::move(tree.paths);
  cluster_file_ = called;
}

void TreeSoftmaxBuilder::check_made(const char* call) const {
  if (root_.num_outcomes() == 0) {
    throw errors::StateError(std::string(name()) + ": " + call + " without a file of clusters");
  }
}

// ---- losses

void TreeSoftmaxBuilder::check_words(const std::vector<unsigned>& words) const {
  builders::check_word_ids(name(), words, paths_.size());
  for (const unsigned word : words) {
    if (paths_[word].empty()) {
      throw errors::ValueError(std::string(name()) + ": word " + std::to_string(word) +
                               " has no class: " + cluster_file_ + " has no line for it");
    }
  }
}

Expression TreeSoftmaxBuilder::losses(const Expression& rep, const std::vector<unsigned>& words,
                                      Where where) {
  Scratch& s = scratch_;
  s.order.resize(words.size());
  std::iota(s.order.begin(), s.order.end(), 0U);
  std::sort(s.order.begin(), s.order.end(), [&](unsigned a, unsigned b) {
    const std::vector<unsigned>& path_a = paths_[words[a]];
    const std::vector<unsigned>& path_b = paths_[words[b]];
    return path_a != path_b ? path_a < path_b : a < b;
  });
  s.sums.clear();
  s.ranges.assign(1, Range{&root_, 0, words.size(), 0});
  while (!s.ranges.empty()) {
    const Range range = s.ranges.back();
    s.ranges.pop_back();
    add_loss(range, rep, words, where);
    split(range, words);
  }
  return s.sums.add_up(in_, rep, where);
}

/// Adds the loss of one choice, for the examples that reach it.
void TreeSoftmaxBuilder::add_loss(const Range& range, const Expression& rep,
                                  const std::vector<unsigned>& words, Where where) {
  const Choice& choice = range.cluster->choice();
  if (choice.outcomes() < 2) {
    return;
  }
  Scratch& s = scratch_;
  const bool all = range.end - range.begin == words.size();
  s.members.resize(range.end - range.begin);
  if (all) {
    std::iota(s.members.begin(), s.members.end(), 0U);
  } else {
    std::copy(s.order.begin() + static_cast<std::ptrdiff_t>(range.begin),
              s.order.begin() + static_cast<std::ptrdiff_t>(range.end), s.members.begin());
  }
  s.outcomes.clear();
  for (const unsigned example : s.members) {
    s.outcomes.push_back(outcome(words[example], range.depth));
  }
  const Expression x = all ? rep : pick_batch_elems(rep, s.members, where);
  const Expression loss = choice.loss(in_, x, s.outcomes, s.numbers, where);
  s.sums.add(loss, s.members, words.size());
}

/// Pushes the ranges of examples that continue to the same child.
void TreeSoftmaxBuilder::split(const Range& range, const std::vector<unsigned>& words) {
  if (range.cluster->num_children() == 0) {
    return;
  }
  const std::vector<unsigned>& order = scratch_.order;
  for (std::size_t begin = range.begin; begin < range.end;) {
    const unsigned child = outcome(words[order[begin]], range.depth);
    std::size_t end = begin + 1;
    while (end < range.end && outcome(words[order[end]], range.depth) == child) {
      ++end;
    }
    scratch_.ranges.push_back({range.cluster->get_child(child), begin, end, range.depth + 1});
    begin = end;
  }
}

unsigned TreeSoftmaxBuilder::draw(const Expression& rep, Where where) {
  const Cluster* cluster = &root_;
  while (cluster->num_children() > 0) {
    cluster = cluster->get_child(cluster->choice().draw(in_, rep, where));
  }
  return cluster->get_word(cluster->choice().draw(in_, rep, where));
}

// ---- the whole distribution

/// The rows that will hold the ln p of the steps to each word.
struct TreeSoftmaxBuilder::Layout {
  std::vector<std::vector<unsigned>> rows;
  std::vector<unsigned> above;  ///< rows of the steps so far
  unsigned next = kFirstRow;
};

void TreeSoftmaxBuilder::lay_out(const Cluster& cluster, Layout& layout) const {
  const unsigned k = cluster.num_outcomes();
  const bool counts = cluster.choice().outcomes() > 1;
  const unsigned first = layout.next;
  layout.next += counts ? k : 0;
  for (unsigned i = 0; i < k; ++i) {
    if (counts) {
      layout.above.push_back(first + i);
    }
    if (cluster.num_children() > 0) {
      lay_out(*cluster.get_child(i), layout);
    } else {
      while (layout.rows.size() < layout.above.size()) {
        layout.rows.emplace_back(paths_.size(), kRowZero);
      }
      for (std::size_t step = 0; step < layout.above.size(); ++step) {
        layout.rows[step][cluster.get_word(i)] = layout.above[step];
      }
    }
    if (counts) {
      layout.above.pop_back();
    }
  }
}

std::vector<std::vector<unsigned>> TreeSoftmaxBuilder::all_rows() const {
  Layout layout;
  layout.rows.emplace_back(paths_.size(), kRowZero);
  lay_out(root_, layout);
  for (std::size_t word = 0; word < paths_.size(); ++word) {
    if (paths_[word].empty()) {
      layout.rows[0][word] = kRowMissing;
    }
  }
  return std::move(layout.rows);
}

/// The ln p of the outcomes of this choice and the choices below, in the order of lay_out.
void TreeSoftmaxBuilder::add_parts(const Cluster& cluster, const Expression& rep, Where where) {
  if (cluster.choice().outcomes() > 1) {
    scratch_.parts.push_back(cluster.choice().log_probabilities(in_, rep, where));
  }
  for (unsigned i = 0; i < cluster.num_children(); ++i) {
    add_parts(*cluster.get_child(i), rep, where);
  }
}

Expression TreeSoftmaxBuilder::scores_of_all(const Expression& rep, Where where) {
  if (rows_.empty()) {
    rows_ = all_rows();
  }
  Scratch& s = scratch_;
  const unsigned batch = rep.dim().bd;
  s.numbers.clear();
  for (unsigned e = 0; e < batch; ++e) {
    s.numbers.insert(s.numbers.end(), {0.0F, kMissing});
  }
  Device* const device = get_device_manager()->get_global_device(rep.get_device_name());
  s.parts.assign(1, input({*in_.graph, where}, Dim({kFirstRow}, batch), s.numbers, device));
  add_parts(root_, rep, where);
  const Expression all = concatenate(s.parts, 0, where);
  s.steps.clear();
  for (const std::vector<unsigned>& rows : rows_) {
    s.steps.push_back(select_rows(all, rows, where));
  }
  return s.steps.size() == 1 ? s.steps[0] : sum(s.steps, where);
}

}  // namespace detail

// ---- two steps

ClassFactoredSoftmaxBuilder::ClassFactoredSoftmaxBuilder(unsigned rep_dim,
                                                         const std::string& cluster_file,
                                                         Dict& word_dict, ParameterCollection& pc,
                                                         bool bias)
    : TreeSoftmaxBuilder(rep_dim) {
  read("ClassFactoredSoftmaxBuilder", cluster_file, Format::kClass, word_dict);
  make_choices(pc, bias);
}

ClassFactoredSoftmaxBuilder::ClassFactoredSoftmaxBuilder(unsigned rep_dim, std::istream& clusters,
                                                         Dict& word_dict, ParameterCollection& pc,
                                                         bool bias, const std::string& called)
    : TreeSoftmaxBuilder(rep_dim) {
  read("ClassFactoredSoftmaxBuilder", clusters, Format::kClass, word_dict, called);
  make_choices(pc, bias);
}

void ClassFactoredSoftmaxBuilder::make_choices(ParameterCollection& pc, bool bias) {
  local_model = pc.add_subcollection("class-factored-softmax-builder");
  // Model files have the scores of the classes even for a single class.
  using detail::Choice;
  root_.set_choice(
      Choice(Choice::Kind::kSoftmax, root_.num_outcomes(), rep_dim_, bias, local_model));
  for (unsigned i = 0; i < root_.num_children(); ++i) {
    const unsigned n = root_.child(i).num_outcomes();
    if (n > 1) {
      root_.child(i).set_choice(Choice(Choice::Kind::kSoftmax, n, rep_dim_, bias, local_model));
    }
  }
}

Expression ClassFactoredSoftmaxBuilder::class_logits(const Expression& rep, Where where) {
  return root_.choice().scores(ready("class_logits", rep, where), rep, where);
}

Expression ClassFactoredSoftmaxBuilder::class_log_distribution(const Expression& rep, Where where) {
  return log_softmax(class_logits(rep, where), 0, where);
}

Expression ClassFactoredSoftmaxBuilder::subclass_logits(const Expression& rep, unsigned clusteridx,
                                                        Where where) {
  const detail::InGraph& in = ready("subclass_logits", rep, where);
  if (clusteridx >= root_.num_children()) {
    throw errors::IndexError(std::string(name()) + ": class " + std::to_string(clusteridx) +
                             " of " + std::to_string(root_.num_children()));
  }
  return root_.get_child(clusteridx)->choice().scores(in, rep, where);
}

Expression ClassFactoredSoftmaxBuilder::subclass_log_distribution(const Expression& rep,
                                                                  unsigned clusteridx,
                                                                  Where where) {
  return log_softmax(subclass_logits(rep, clusteridx, where), 0, where);
}

void ClassFactoredSoftmaxBuilder::initialize_expressions(Where where) {
  if (in_.graph == nullptr) {
    throw errors::StateError(std::string(name()) + ": initialize_expressions before new_graph");
  }
  root_.add_parameters(in_, where);
}

// ---- many steps

HierarchicalSoftmaxBuilder::HierarchicalSoftmaxBuilder(unsigned rep_dim,
                                                       const std::string& cluster_file,
                                                       Dict& word_dict, ParameterCollection& model)
    : TreeSoftmaxBuilder(rep_dim) {
  read("HierarchicalSoftmaxBuilder", cluster_file, Format::kPath, word_dict);
  ParameterCollection own = model.add_subcollection("hsm-builder");
  initialize(own);
}

HierarchicalSoftmaxBuilder::HierarchicalSoftmaxBuilder(unsigned rep_dim, std::istream& clusters,
                                                       Dict& word_dict, ParameterCollection& model,
                                                       const std::string& called)
    : TreeSoftmaxBuilder(rep_dim) {
  read("HierarchicalSoftmaxBuilder", clusters, Format::kPath, word_dict, called);
  ParameterCollection own = model.add_subcollection("hsm-builder");
  initialize(own);
}

void HierarchicalSoftmaxBuilder::initialize(ParameterCollection& model) {
  root_.initialize(rep_dim_, model);
  local_model = model;
}

}  // namespace dynet
