// Files of text as programs read them (C++17): plain sentences, parallel text, CoNLL-2003, CoNLL-U,
// bracketed trees, and embeddings of word2vec and GloVe. Each damaged file names its line.

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <unordered_map>
#include <vector>

#include "dynet/dict.h"
#include "dynet/pretrain.h"
#include "dynet/text.h"

#include "common.h"

using namespace std;
using namespace dynet;

const string FILE_NAME = "readers.txt";

void write(const string& text) { ofstream(FILE_NAME) << text; }

/// A read of the file with `damage` appended throws an error with the place of the damage.
template <class Read>
void refuses(const string& damage, const string& place, Read read) {
  ofstream(FILE_NAME, ios::app) << damage;
  try {
    read();
    check(false, place + ": damage is an error");
  } catch (const runtime_error& e) {
    check(string(e.what()).find(FILE_NAME + place) == 0, e.what());
  }
}

void sentences() {
  write("the cat sees\n\na dog\n");
  Dict d;
  vector<vector<int>> corpus;
  for (const text::Words& sentence : text::PlainReader(FILE_NAME)) {
    corpus.emplace_back();
    for (const string& word : sentence) corpus.back().push_back(d.convert(word));
  }
  check(corpus == vector<vector<int>>{{0, 1, 2}, {3, 4}}, "plain sentences");
  refuses("bad \xff byte\n", ":4:", [] { text::PlainReader(FILE_NAME).read_all(); });

  write("the cat ||| die Katze\na dog ||| ein Hund\n");
  vector<text::SentencePair> pairs = text::ParallelReader(FILE_NAME).read_all();
  check(pairs.size() == 2 && pairs[1].target == text::Words{"ein", "Hund"}, "parallel text");
  Dict target;
  vector<int> s, t;
  read_sentence_pair("the cat ||| die Katze", s, d, t, target);
  check(s == vector<int>{0, 1} && t == vector<int>{0, 1}, "pairs of ids");
  refuses("without\n", ":3:", [] { text::ParallelReader(FILE_NAME).read_all(); });
}

void columns() {
  write("-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n\nPeter NNP I-NP I-PER\n");
  vector<text::ColumnSentence> read = text::ColumnReader(FILE_NAME).read_all();
  check(read.size() == 2 && read[0].starts_document && read[0].columns[3][0] == "I-ORG",
        "CoNLL-2003");
  refuses("only three columns\n", ":7:", [] { text::ColumnReader(FILE_NAME).read_all(); });
}

void dependencies() {
  write(
      "# text = vámonos\n"
      "1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_\n"
      "1\tvamos\tir\tVERB\t_\tNumber=Plur\t0\troot\t_\t_\n"
      "2\tnos\tnosotros\tPRON\t_\tNumber=Plur\t1\tobj\t_\t_\n\n");
  vector<text::ConlluSentence> read = text::ConlluReader(FILE_NAME).read_all();
  check(read.size() == 1 && read[0].words().size() == 2 && read[0].words()[1]->head == 1,
        "CoNLL-U");
  check(text::feature(read[0].words()[0]->feats, "Number") == "Plur", "its features");
  refuses("1\tvamos\n", ":6:", [] { text::ConlluReader(FILE_NAME).read_all(); });
}

void trees() {
  write("(S (NP (D the) (N cat)) (VP sees))\n( (X a) )\n");
  vector<text::Tree> read = text::TreeReader(FILE_NAME).read_all();
  check(read.size() == 2 && read[0].root().label == "S" &&
            read[0].words() == text::Words{"the", "cat", "sees"},
        "trees");
  refuses("(S (NP", ":3:", [] { text::TreeReader(FILE_NAME).read_all(); });
}

void embeddings() {
  for (const char* header : {"", "2 3\n"}) {  // as GloVe has it, and as word2vec has
    write(header + string("cat 0.5 -1 2\ndog 1 2e-1 0\n"));
    Dict d;
    unordered_map<int, vector<float>> vectors;
    read_pretrained_embeddings(FILE_NAME, d, vectors);
    check(d.size() == 2 && vectors[d.convert("dog")] == vector<float>{1, 0.2f, 0}, "embeddings");
    refuses("bird 1\n", header[0] == 0 ? ":3:" : ":4:", [&] {
      read_pretrained_embeddings(FILE_NAME, d, vectors);
    });
    check(d.size() == 2, "nothing is read from a damaged file");
  }
}

int main() {
  sentences();
  columns();
  dependencies();
  trees();
  embeddings();
  remove(FILE_NAME.c_str());
  return wrong;
}
