// A tagger from a corpus to a saved dictionary (C++17): the file is read twice, once for the words
// and once per epoch in minibatches; training stops in the middle of an epoch and goes on there.

#include "dynet/text.h"

#include <cstdio>
#include <fstream>
#include <iostream>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/lstm.h"
#include "dynet/training.h"

#include "common.h"

using namespace std;
using namespace dynet;

struct Tagger {
  ParameterCollection model;
  LookupParameter embeddings;
  VanillaLSTMBuilder lstm;
  Parameter W;
  Dict &words, &tags;
  Tagger(Dict& words, Dict& tags)
      : embeddings(model.add_lookup_parameters(words.size(), {8})),
        lstm(1, 8, 16, model),
        W(model.add_parameters({tags.size(), 16})),
        words(words),
        tags(tags) {}
  Expression loss(ComputationGraph& cg, const text::TaggedSentence& sentence) {
    lstm.new_graph(cg);
    lstm.start_new_sequence();
    vector<Expression> losses;
    for (size_t i = 0; i < sentence.words.size(); ++i) {
      Expression h = lstm.add_input(lookup(cg, embeddings, words.convert(sentence.words[i])));
      losses.push_back(pickneglogsoftmax(parameter(cg, W) * h, tags.convert(sentence.tags[i])));
    }
    return sum(losses);
  }
};

void write_corpus() {
  ofstream corpus("corpus.txt");
  for (int i = 0; i < 20; ++i) {
    corpus << "the|D dog|N barks|V\n"
           << "it|P sees|V the|D old|A dog|N\r\n\n"
           << "dogs|N bark|V\n";
  }
}

/// Numbers for all words and tags of the corpus.
void read_words(Dict& words, Dict& tags) {
  size_t sentences = 0;
  for (const text::TaggedSentence& sentence : text::TaggedReader("corpus.txt")) {
    for (const string& word : sentence.words) words.convert(word);
    for (const string& tag : sentence.tags) tags.convert(tag);
    ++sentences;
  }
  check(sentences == 60, "60 sentences");
  words.freeze();
  words.set_unk("<unk>");
  tags.freeze();
  text::save_dict("words.txt", words);
  check(text::load_dict("words.txt").get_words() == words.get_words(), "words come back");
}

void damaged_corpus() {
  ofstream("corpus.txt") << "fine|A\nnot fine|A\n";
  try {
    text::TaggedReader("corpus.txt").read_all();
    check(false, "a damaged file is an error");
  } catch (const text::TextError& e) {
    check(string(e.what()).find("corpus.txt:2:1:") == 0 && e.line() == 2, e.what());
  }
}

int main(int argc, char** argv) {
  dynet::initialize(argc, argv);
  write_corpus();
  Dict words, tags;
  read_words(words, tags);

  text::BucketOptions options;
  options.size = 8;
  options.window = 25;
  const auto open = [] { return text::TaggedReader("corpus.txt"); };
  const auto length = [](const text::TaggedSentence& s) { return s.words.size(); };
  text::BucketStream<text::TaggedSentence> batches(open, length, options);
  Tagger tagger(words, tags);
  AdamTrainer trainer(tagger.model, 0.02f);
  vector<text::TaggedSentence> batch;
  float first = -1, last = 0;
  string position, after;
  for (int epoch = 0; epoch < 8; ++epoch) {
    last = 0;
    int updates = 0;
    while (batches.next(batch)) {
      ComputationGraph cg;
      vector<Expression> losses;
      for (const auto& sentence : batch) losses.push_back(tagger.loss(cg, sentence));
      Expression sum_of_batch = sum(losses);
      last += as_scalar(cg.forward(sum_of_batch));
      cg.backward(sum_of_batch);
      trainer.update();
      if (epoch == 1 && updates == 3) position = batches.position().to_string();
      if (epoch == 1 && updates == 4) after = batch[0].words[0] + to_string(batch.size());
      ++updates;
    }
    if (first < 0) first = last;
  }
  check(last < 0.2f * first, "it learns");
  text::BucketStream<text::TaggedSentence> resumed(open, length, options);
  resumed.seek(text::BucketPosition::from_string(position));
  check(resumed.next(batch) && batch[0].words[0] + to_string(batch.size()) == after,
        "batches go on where they were");

  damaged_corpus();
  cout << "loss " << first << " -> " << last << ", position " << position << endl;
  for (const char* file : {"corpus.txt", "words.txt"}) remove(file);
  return wrong;
}
