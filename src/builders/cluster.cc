// Nodes of a tree of choices.

#include <string>

#include "dynet/cfsm-builder.h"
#include "dynet/except.h"

namespace dynet::detail {

namespace {
void check_index(const char* what, unsigned i, std::size_t count) {
  if (i >= count) {
    throw errors::IndexError(std::string("Cluster: ") + what + " " + std::to_string(i) + " of " +
                             std::to_string(count));
  }
}
}  // namespace

Cluster::Cluster(const Cluster& other)
    : choice_(other.choice_), words_(other.words_), index_(other.index_), path_(other.path_) {
  children_.reserve(other.children_.size());
  for (const auto& child : other.children_) {
    children_.push_back(std::make_unique<Cluster>(*child));
  }
}

Cluster& Cluster::operator=(const Cluster& other) {
  if (this != &other) {
    Cluster copy(other);
    *this = std::move(copy);
  }
  return *this;
}

Cluster* Cluster::add_child(unsigned sym) {
  if (!words_.empty()) {
    throw errors::StateError("Cluster: add_child where there are words");
  }
  const auto known = index_.find(sym);
  if (known != index_.end()) {
    return children_[known->second].get();
  }
  const auto place = static_cast<unsigned>(children_.size());
  auto child = std::make_unique<Cluster>();
  child->path_ = path_;
  child->path_.push_back(place);
  children_.push_back(std::move(child));
  index_.emplace(sym, place);
  return children_.back().get();
}

void Cluster::add_word(unsigned word) {
  if (!children_.empty()) {
    throw errors::StateError("Cluster: add_word where there are children");
  }
  if (!index_.emplace(word, static_cast<unsigned>(words_.size())).second) {
    throw errors::ValueError("Cluster: word " + std::to_string(word) + " is there already");
  }
  words_.push_back(word);
}

void Cluster::initialize(unsigned rep_dim, ParameterCollection& model) {
  const unsigned k = num_outcomes();
  using Kind = Choice::Kind;
  choice_ =
      k < 2 ? Choice() : Choice(k == 2 ? Kind::kLogistic : Kind::kSoftmax, k, rep_dim, true, model);
  for (const auto& child : children_) {
    child->initialize(rep_dim, model);
  }
}

void Cluster::add_parameters(const InGraph& in, Where where) const {
  if (choice_.has_parameters()) {
    static_cast<void>(choice_.weights(in, where));
  }
  for (const auto& child : children_) {
    child->add_parameters(in, where);
  }
}

void Cluster::new_graph(ComputationGraph& cg, Where where) { add_parameters({&cg, true}, where); }

unsigned Cluster::sample(const Expression& h, ComputationGraph& cg, Where where) const {
  return choice_.draw({&cg, true}, h, where);
}

Expression Cluster::neg_log_softmax(const Expression& h, unsigned r, ComputationGraph& cg,
                                    Where where) const {
  check_index("outcome", r, num_outcomes());
  std::vector<float> signs;
  return choice_.loss({&cg, true}, h, {r}, signs, where);
}

unsigned Cluster::get_index(unsigned word) const {
  const auto known = index_.find(word);
  if (!children_.empty() || known == index_.end()) {
    throw errors::IndexError("Cluster: word " + std::to_string(word) + " is not in it");
  }
  return known->second;
}

unsigned Cluster::get_word(unsigned index) const {
  check_index("word", index, words_.size());
  return words_[index];
}

const Cluster* Cluster::get_child(unsigned i) const {
  check_index("child", i, children_.size());
  return children_[i].get();
}

Expression Cluster::get_weights(ComputationGraph& cg, Where where) const {
  return choice_.weights({&cg, true}, where);
}

Expression Cluster::get_bias(ComputationGraph& cg, Where where) const {
  return choice_.bias({&cg, true}, where);
}

std::string Cluster::toString() const {
  std::string text = "[";
  for (const unsigned outcome : path_) {
    text += (text.size() > 1 ? " " : "") + std::to_string(outcome);
  }
  text += "]";
  for (const unsigned word : words_) {
    text += " " + std::to_string(word);
  }
  text += "\n";
  for (const auto& child : children_) {
    text += child->toString();
  }
  return text;
}

}  // namespace dynet::detail
