// A program that only uses a model, linked with the static library: the file is as Python's dy.save
// writes it (python/tests/test_load_model.py loads files of Python's own).

#include <iostream>
#include <string>
#include <vector>

#include "dynet/birnn.h"
#include "dynet/cfsm-builder.h"
#include "dynet/dict.h"
#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/load-model.h"
#include "dynet/lstm.h"
#include "dynet/safetensors.h"

using namespace dynet;

using Reader = BiRNNBuilder<VanillaLSTMBuilder>;

std::vector<float> scores(Reader& reader, SoftmaxBuilder& softmax, const LookupParameter& table) {
  ComputationGraph cg;
  reader.new_graph(cg);
  softmax.new_graph(cg);
  std::vector<Expression> of_words;
  for (const Expression& x : reader.transduce({lookup(cg, table, 1u), lookup(cg, table, 0u)})) {
    of_words.push_back(softmax.full_log_distribution(x));
  }
  return as_vector(concatenate(of_words).value());
}

int main(int argc, char** argv) {
  initialize(argc, argv);
  const std::string file = "tagger.safetensors";
  ParameterCollection m;
  const LookupParameter table = m.add_lookup_parameters(2, {3}, "table");
  Reader reader(1, 3, 4, m);
  StandardSoftmaxBuilder softmax(4, 2, m);
  SafetensorsSaver saver(file);
  saver.save(m);
  saver.set_metadata("objects", R"({
    "words": {"value": {"Dict": [["dog", "the"], true, -1]}},
    "table": {"kind": "LookupParameters", "key": "/table"},
    "reader": {"kind": "dynet._bidirectional:BiRNNBuilder", "key": "/birnn", "spec":
      {"tuple": [1, 3, 4, {"class": "dynet:VanillaLSTMBuilder"}, null]}},
    "softmax": {"kind": "dynet:StandardSoftmaxBuilder", "key": "/standard-softmax-builder",
      "spec": {"tuple": [4, 2, true]}}})");
  saver.close();

  LoadedModel model = load_model(file);
  const bool is_same =
      model.dict("words").contains("dog") &&
      scores(model.builder<Reader>("reader"), model.builder<SoftmaxBuilder>("softmax"),
             model.lookup_parameter("table")) == scores(reader, softmax, table);
  std::cout << (is_same ? "the same numbers" : "other numbers") << "\n";
  return is_same ? 0 : 1;
}
