// Model files and checkpoints as a program uses them (C++17): a regression that is stopped half
// way, goes on in a new process's place, and ends with the same parameters as one that was not
// stopped.

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "dynet/checkpoint.h"
#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/safetensors.h"
#include "dynet/training.h"

#include "common.h"

using namespace std;
using namespace dynet;

struct Regression {
  ParameterCollection model;
  Parameter W, b;
  LookupParameter words;
  AdamTrainer trainer;

  Regression() : trainer(model) {
    W = model.add_parameters({1, 4}, "W");
    b = model.add_parameters({1}, "b");
    words = model.add_lookup_parameters(10, {4}, "words");
  }
  void learn(unsigned i) {
    ComputationGraph cg;
    Expression x = dropout(lookup(cg, words, i % 10), 0.2f);
    Expression y = affine_transform({parameter(cg, b), parameter(cg, W), x});
    Expression loss = squared_distance(y, input(cg, float(i % 10)));
    cg.backward(loss);
    trainer.update();
  }
  vector<float> result() const { return as_vector(*W.values()); }
};

vector<float> train(const string& folder, unsigned stop_at) {
  reset_rng(3);
  Regression r;
  CheckpointPolicy policy;
  policy.every_steps = 7;
  Checkpointer checkpoints(folder, r.model, r.trainer, policy);
  unsigned i = checkpoints.resume() ? unsigned(stoul(checkpoints.position())) : 0;
  for (; i < stop_at; ++i) {
    r.learn(i);
    checkpoints.step(to_string(i + 1));
  }
  return r.result();
}

/// As programs for 2.1 derive from the saver, to keep notes between the objects.
struct NotingSaver : public TextFileSaver {
  explicit NotingSaver(const string& file) : TextFileSaver(file) {}
  void note(const string& text) { datastream << text << endl; }
};

int main(int argc, char** argv) {
  dynet::initialize(argc, argv);
  const string folder = "files_of_consumer";
  const vector<float> whole = train(folder + "/whole", 60);
  train(folder + "/stopped", 31);
  check(train(folder + "/stopped", 60) == whole, "a resumed run ends as one that was not stopped");

  Regression r;
  save_dynet_model(folder + "/model.safetensors", &r.model);
  save_dynet_model(folder + "/model.txt", &r.model);
  const vector<float> values = r.result();
  for (const char* name : {"/model.safetensors", "/model.txt"}) {
    r.W.zero();
    load_dynet_model(folder + name, &r.model);
    check(r.result() == values, string("loaded ") + name);
  }
  {
    NotingSaver saver(folder + "/notes.txt");
    saver.save(r.b);
    saver.note("the end");
  }
  ifstream notes(folder + "/notes.txt");
  string line, last;
  while (getline(notes, line)) last = line;
  check(last == "the end", "a derived saver writes what it likes");
  SafetensorsLoader loader(folder + "/model.safetensors");
  check(loader.shape("/model/words") == vector<size_t>{10, 4}, "a table's rows come first");
  try {
    loader.populate(r.b, "/model/W");
    check(false, "another shape is refused");
  } catch (const std::runtime_error& e) {
    check(string(e.what()).find("want [1]") != string::npos, e.what());
  }
  return wrong;
}
