// A word classifier as a program for DyNet 2.1 has it (C++17): nodes added by class and by
// function, embeddings from a file, gradients checked, positions of the largest scores; and only
// the headers of DyNet, which include the standard headers that such programs expect.

#include "dynet/device-structs.h"
#include "dynet/dict.h"
#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/functors.h"
#include "dynet/grad-check.h"
#include "dynet/index-tensor.h"
#include "dynet/nodes-activations.h"
#include "dynet/nodes-arith-cwise.h"
#include "dynet/nodes-softmaxes.h"
#include "dynet/nodes.h"
#include "dynet/param-nodes.h"
#include "dynet/pretrain.h"
#include "dynet/saxe-init.h"
#include "dynet/simd-functors.h"
#include "dynet/training.h"

using namespace std;
using namespace dynet;

const unsigned DIM = 4;
const unsigned CLASSES = 2;
int wrong = 0;

void check(bool ok, const string& what) {
  if (!ok) {
    cerr << "wrong: " << what << endl;
    ++wrong;
  }
}

struct Classifier {
  Classifier(ParameterCollection& m, unsigned words)
      : p_e(m.add_lookup_parameters(words, {DIM})),
        p_h(m.add_parameters({DIM, DIM})),
        p_w(m.add_parameters({CLASSES, DIM})),
        p_b(m.add_parameters({CLASSES})) {
    orthonormal_random(DIM, 1.0f, p_h.get_storage().values);
    // more numbers than the bias has
    TensorTools::set_elements(p_b.get_storage().values, vector<float>(10, 0.f));
  }
  /// Scores by the classes of 2.1: b + W tanh(H (x + y)).
  VariableIndex scores(ComputationGraph& cg, const vector<int>& words) {
    VariableIndex i_h = cg.add_parameters(p_h);
    VariableIndex i_w = cg.add_parameters(p_w);
    VariableIndex i_b = cg.add_parameters(p_b);
    vector<VariableIndex> xs;
    for (int w : words) xs.push_back(cg.add_lookup(p_e, static_cast<unsigned>(w)));
    VariableIndex i_x = cg.add_function<Sum>(xs);
    VariableIndex i_t = cg.add_function<Tanh>({cg.add_function<MatrixMultiply>({i_h, i_x})});
    VariableIndex i_d = cg.add_function<Dropout>({i_t}, 0.f);
    VariableIndex i_s = cg.add_function<AffineTransform>({i_b, i_w, i_d});
    return cg.add_function<Identity>({i_s});
  }
  Expression loss(ComputationGraph& cg, const vector<int>& words, unsigned label) {
    return pickneglogsoftmax(Expression(&cg, scores(cg, words)), label);
  }
  LookupParameter p_e;
  Parameter p_h, p_w, p_b;
};

void pretrained(ParameterCollection& model, Classifier& c, Dict& d) {
  const string file = "old_program.vec";
  save_pretrained_embeddings(file, d, c.p_e);
  Dict other;
  unordered_map<int, vector<float>> vectors;
  read_pretrained_embeddings(file, other, vectors);
  check(other.get_words() == d.get_words(), "the words come back");
  for (const auto& v : vectors) {
    check(v.second == as_vector(c.p_e.get_storage().values[static_cast<size_t>(v.first)]),
          "embeddings come back");
    c.p_e.initialize(static_cast<unsigned>(v.first), v.second);
  }
  remove(file.c_str());
  ComputationGraph cg;
  Expression z = c.loss(cg, {0, 1}, 1);
  check(check_grad(model, z, 0), "gradients");
  Expression bad = squared_norm(scale_gradient(parameter(cg, c.p_w), 3.f));
  check(!check_grad(model, bad, 0), "wrong gradients are found");
  model.reset_gradient();
}

void by_class_and_by_function(Classifier& c) {
  ComputationGraph cg;
  VariableIndex i_s = c.scores(cg, {0, 2});
  VariableIndex i_p = cg.add_function<Softmax>({i_s});
  VariableIndex i_l = cg.add_function<LogSoftmax>({i_s});
  vector<float> p = as_vector(cg.forward(i_p)), l = as_vector(cg.get_value(i_l));
  for (size_t i = 0; i < p.size(); ++i) check(fabs(log(p[i]) - l[i]) < 1e-5f, "log of softmax");
  vector<Eigen::DenseIndex> best = as_vector(TensorTools::argmax(cg.get_value(i_s)));
  check(best.size() == 1 && p[static_cast<size_t>(best[0])] >= 0.5f, "argmax");
  pair<Tensor, IndexTensor> two = TensorTools::topk(cg.get_value(i_p), 0, 2);
  check(as_vector(two.second)[0] == best[0], "topk");
  IndexTensor drawn = TensorTools::categorical_sample_log_prob(cg.get_value(i_l));
  check(as_vector(drawn)[0] < static_cast<Eigen::DenseIndex>(CLASSES), "samples");
  Expression loss = binary_log_loss(input(cg, 0.f), input(cg, 1.f));
  check(fabs(as_scalar(loss.value()) + log(DYNET_DEVICE_MIN)) < 1e-4f, "the smallest number");
  const string file = "old_program.graph";
  cg.dump(file, true, true, false);  // before a backward
  ifstream in(file);
  check(in.good() && in.peek() != EOF, "dump");
  remove(file.c_str());
}

int main(int argc, char** argv) {
  DynetParams params = extract_dynet_params(argc, argv);
  params.random_seed = 1;
  dynet::initialize(params);
  check(default_device->type == DeviceType::CPU && strlen("DyNet") == 5, "the device");
  map<string, unsigned> labels{{"good", 1}, {"bad", 0}};
  set<string> words{"awful", "fine", "film"};
  Dict d;
  for (const string& w : words) d.convert(w);
  d.freeze();
  ParameterCollection model;
  Classifier c(model, d.size());
  pretrained(model, c, d);
  SimpleSGDTrainer trainer(model, 0.5f);
  const vector<pair<string, unsigned>> corpus{{"fine film", labels["good"]},
                                              {"awful film", labels["bad"]}};
  float first = 0, last = 0;
  for (int epoch = 0; epoch < 50; ++epoch) {
    last = 0;
    for (const auto& example : corpus) {
      ComputationGraph cg;
      Expression loss = c.loss(cg, read_sentence(example.first, d), example.second);
      last += as_scalar(cg.forward(loss));
      cg.backward(loss);
      trainer.update();
    }
    if (epoch == 0) first = last;
  }
  check(last < 0.3f * first, "the classifier learns");
  by_class_and_by_function(c);
  cout << "loss " << first << " -> " << last << endl;
  return wrong;
}
