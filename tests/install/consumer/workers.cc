// Multi-process training as a program for DyNet 2.x has it: a learner, its loss, and
// run_multi_process. Learns which of two classes a number belongs to, and says so with its status.

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/mp.h"
#include "dynet/training.h"

using namespace std;
using namespace dynet;
using namespace dynet::mp;

typedef pair<unsigned, unsigned> Datum;

struct Loss {
  float total;
  unsigned count;
  Loss() : total(0), count(0) {}
  Loss(float t, unsigned n) : total(t), count(n) {}
  Loss& operator+=(const Loss& other) {
    total += other.total;
    count += other.count;
    return *this;
  }
  bool operator<(const Loss& other) { return total / count < other.total / other.count; }
};
ostream& operator<<(ostream& os, const Loss& loss) { return os << loss.total / loss.count; }

class Learner : public ILearner<Datum, Loss> {
 public:
  explicit Learner(ParameterCollection& model)
      : embeddings(model.add_lookup_parameters(20, {8})), W(model.add_parameters({2, 8})) {}
  ~Learner() {}
  Loss LearnFromDatum(const Datum& datum, bool learn) {
    ComputationGraph cg;
    Expression x = tanh(lookup(cg, embeddings, datum.first));
    Expression loss = pickneglogsoftmax(parameter(cg, W) * x, datum.second);
    Loss r(as_scalar(cg.forward(loss)), 1);
    if (learn) {
      cg.backward(loss);
    }
    return r;
  }
  void SaveModel() { ++saves; }

  int saves = 0;

 private:
  LookupParameter embeddings;
  Parameter W;
};

int main(int argc, char** argv) {
  dynet::initialize(argc, argv, true);
  vector<Datum> train;
  for (unsigned i = 0; i < 20; ++i) {
    train.push_back(Datum(i, i % 3 == 0 ? 1 : 0));
  }
  ParameterCollection model;
  Learner learner(model);
  AdamTrainer trainer(model);
  trainer.learning_rate = 0.05;
  const Loss before = run_mp_minibatch<Datum, Loss>(2, &learner, train);
  run_multi_process<Datum, Loss>(2, &learner, &trainer, train, train, 20, 0, 10);
  const Loss after = run_mp_minibatch<Datum, Loss>(2, &learner, train);
  run_single_process<Datum, Loss>(&learner, &trainer, train, train, 1, 0, 0, 4);
  cerr << before << " -> " << after << ", saved " << learner.saves << " times" << endl;
  return after.total < before.total / 4 && learner.saves > 1 ? 0 : 1;
}
