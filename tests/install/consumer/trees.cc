// Builders of trees as programs for DyNet 2.1 use them (C++17): a reader of bracketed trees, and a
// classifier over any of the builders and one of the program's own, through a pointer to their base
// class. Each is trained a little; models go through a file.

#include <cstdio>
#include <iostream>
#include <map>
#include <memory>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/training.h"
#include "dynet/tree-builders.h"
#include "dynet/treelstm.h"

#include "common.h"

using namespace std;
using namespace dynet;

const unsigned DIM = 8;

/// A node: its word, and the numbers of its children.
struct Node {
  int word;
  vector<int> children;
};

/// Reads "(word child child ...)"; nodes get their numbers from the bottom up.
int read_tree(const string& text, size_t& at, map<string, int>& dict, vector<Node>& nodes) {
  Node node;
  string word;
  for (++at; text[at] != ')' && text[at] != ' '; ++at) word += text[at];
  while (text[at] == ' ') node.children.push_back(read_tree(text, ++at, dict, nodes));
  ++at;  // the bracket
  node.word = dict.insert({word, (int)dict.size()}).first->second;
  nodes.push_back(node);
  return (int)nodes.size() - 1;
}

struct Classifier {
  LookupParameter p_w;
  Parameter p_out;
  TreeLSTMBuilder* builder;
  Classifier(ParameterCollection& model, TreeLSTMBuilder* b) : builder(b) {
    p_w = model.add_lookup_parameters(20, {DIM});
    p_out = model.add_parameters({2, DIM});
  }
  Expression loss(ComputationGraph& cg, const vector<Node>& nodes, unsigned label,
                  bool leaves_first) {
    builder->start_new_sequence();
    Expression root;
    if (leaves_first) {  // any order that has children before parents
      builder->set_num_elements((int)nodes.size());
      for (size_t i = nodes.size(); i-- > 0;)
        if (nodes[i].children.empty())
          root = builder->add_input((int)i, {}, lookup(cg, p_w, nodes[i].word));
      for (size_t i = 0; i < nodes.size(); ++i)
        if (!nodes[i].children.empty())
          root = builder->add_input((int)i, nodes[i].children, lookup(cg, p_w, nodes[i].word));
    } else {
      for (size_t i = 0; i < nodes.size(); ++i)
        root = builder->add_input((int)i, nodes[i].children, lookup(cg, p_w, nodes[i].word));
    }
    return pickneglogsoftmax(parameter(cg, p_out) * root, label);
  }
};

template <class Make>
void classify(const string& name, Make make) {
  map<string, int> dict;
  vector<vector<Node>> trees;
  const vector<string> texts{"(is (cat (the)) (not) (black))", "(is (cat (the)) (black))",
                             "(sees (not) (dog (a (big))))",   "(sees (cat) (dog (a (big))))",
                             "(runs (dog (not (a))))",         "(runs (dog (a)))"};
  for (const string& text : texts) {
    trees.push_back({});
    size_t at = 0;
    read_tree(text, at, dict, trees.back());
  }
  ParameterCollection model;
  auto builder = make(model);
  Classifier classifier(model, builder.get());
  builder->set_dropout(0.1f);
  builder->disable_dropout();
  const auto total = [&](ComputationGraph& cg, Classifier& c, bool leaves_first) {
    c.builder->new_graph(cg);
    vector<Expression> losses;
    for (unsigned i = 0; i < trees.size(); ++i)
      losses.push_back(c.loss(cg, trees[i], i % 2, leaves_first));
    return sum(losses);
  };
  AdamTrainer trainer(model, 0.02f);
  float first = 0, last = 0;
  for (int epoch = 0; epoch < 40; ++epoch) {
    ComputationGraph cg;
    Expression loss = total(cg, classifier, epoch % 2 == 1);
    last = as_scalar(cg.forward(loss));
    if (epoch == 0) first = last;
    cg.backward(loss);
    trainer.update();
  }
  check(last < 0.3f * first, name + " learns");
  ParameterCollection other;
  auto builder2 = make(other);
  Classifier read(other, builder2.get());
  through_a_file("trees.model", model, other);
  ComputationGraph cg;
  const float again = as_scalar(cg.forward(total(cg, read, false)));
  check(again < 0.3f * first, name + " comes back from a file");
  check(builder2->final_h().size() >= 1 && builder2->back().dim() == Dim({DIM}), name + " states");
  try {
    builder2->add_input(99, {}, lookup(cg, read.p_w, 0u));
    check(false, name + ": a number out of order is an error");
  } catch (const invalid_argument& e) {
    check(string(e.what()).find("node 99") != string::npos, e.what());
  }
  try {
    builder2->set_h(-1, {builder2->back()});
    check(false, name + ": steps are an error");
  } catch (const runtime_error& e) {
    check(string(e.what()).find("TreeLSTMBuilder") != string::npos, e.what());
  }
  cout << name << ": loss " << first << " -> " << last << ", from the file " << again << endl;
}

/// A builder of the program's own, as it was written for 2.1: h = tanh(W (x + the children's h)).
struct OwnBuilder : public TreeLSTMBuilder {
  ParameterCollection local_model;
  Parameter p_W;
  Expression W;
  vector<Expression> h;
  int last = -1;
  explicit OwnBuilder(ParameterCollection& model) : local_model(model.add_subcollection("own")) {
    p_W = local_model.add_parameters({DIM, DIM});
  }
  Expression add_input(int id, vector<int> children, const Expression& x) override {
    if (id < 0 || id > 20) throw invalid_argument("node " + to_string(id));
    if (id >= (int)h.size()) h.resize(id + 1);
    Expression below = x;
    for (int child : children) below = below + h[child];
    return h[last = id] = tanh(W * below);
  }
  void set_num_elements(int num) override { h.resize(num); }
  Expression back() const override { return h[last]; }
  vector<Expression> final_h() const override { return {h[last]}; }
  ParameterCollection& get_parameter_collection() override { return local_model; }

 protected:
  void new_graph_impl(ComputationGraph& cg, bool update) override {
    W = update ? parameter(cg, p_W) : const_parameter(cg, p_W);
  }
  void start_new_sequence_impl(const vector<Expression>&) override { h.clear(); }
};

template <class Builder>
void classify_with(const string& name) {
  classify(name, [](ParameterCollection& model) {
    return unique_ptr<Builder>(new Builder(2, DIM, DIM, model));
  });
}

int main(int argc, char** argv) {
  DynetParams params = extract_dynet_params(argc, argv);
  params.random_seed = 1;
  dynet::initialize(params);
  classify("NaryTreeLSTMBuilder", [](ParameterCollection& model) {
    return unique_ptr<NaryTreeLSTMBuilder>(new NaryTreeLSTMBuilder(3, 1, DIM, DIM, model));
  });
  classify_with<UnidirectionalTreeLSTMBuilder>("UnidirectionalTreeLSTMBuilder");
  classify_with<BidirectionalTreeLSTMBuilder>("BidirectionalTreeLSTMBuilder");
  classify_with<ChildSumTreeLSTMBuilder>("ChildSumTreeLSTMBuilder");
  classify_with<TreeGRUBuilder>("TreeGRUBuilder");
  classify("the program's own", [](ParameterCollection& model) {
    return unique_ptr<OwnBuilder>(new OwnBuilder(model));
  });
  remove("trees.model");
  return wrong;
}
