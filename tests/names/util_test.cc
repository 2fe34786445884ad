// Names of except.h, dim.h, str-util.h, timing.h, dict.h, pretrain.h, functors.h, io.h.

#include <cstdio>
#include <unordered_map>

#include "dynet/dict.h"
#include "dynet/dim.h"
#include "dynet/except.h"
#include "dynet/functors.h"
#include "dynet/io.h"
#include "dynet/pretrain.h"
#include "dynet/str-util.h"
#include "dynet/timing.h"

#include "names.h"

using namespace dynet;  // NOLINT(google-build-using-namespace): as programs do
using std::string;
using std::vector;

// Without the semicolon: the macros have one.
void invalid(int n) { DYNET_INVALID_ARG("got " << n) }
void runtime() { DYNET_RUNTIME_ERR("n = " << 3) }
void no_cuda(){DYNET_NO_CUDA_IMPL_ERROR("Mine")}

TEST(Names, Except) {
  DYNET_DERIVES(out_of_memory, std::runtime_error);
  DYNET_DERIVES(cuda_not_implemented, std::logic_error);
  DYNET_DERIVES(cuda_exception, std::runtime_error);
  const string what = "why";
  DYNET_HAS(out_of_memory, out_of_memory(what));
  DYNET_HAS(cuda_not_implemented, cuda_not_implemented(what));
  DYNET_HAS(cuda_exception, cuda_exception(what));
  DYNET_THROWS(std::invalid_argument, invalid(1));
  DYNET_THROWS(std::runtime_error, runtime());
  DYNET_THROWS(std::runtime_error, no_cuda());
  DYNET_THROWS(std::invalid_argument, DYNET_ARG_CHECK(1 > 2, "one " << 1););
  DYNET_CAN(DYNET_ARG_CHECK(2 > 1, "two"));
  DYNET_CAN(DYNET_ASSERT(1 > 2, "nothing unless DYNET_DO_ASSERT"));
}

TEST(Names, DimMembers) {
  static_assert(DYNET_MAX_TENSOR_DIM == 7);
  Dim d({2, 3, 1}, 4);
  DYNET_HAS(unsigned[DYNET_MAX_TENSOR_DIM], d.d);
  DYNET_HAS(unsigned, d.nd);
  DYNET_HAS(unsigned, d.bd);
  DYNET_EQ(0U, Dim().nd);
  DYNET_EQ(1U, Dim().bd);
  DYNET_EQ(1U, Dim().size());
  DYNET_EQ(1U, Dim({3, 4}).bd);
  DYNET_HAS(Dim, Dim({3, 4}, 2));
  const vector<long> extents{3, 4};
  DYNET_EQ(1U, Dim(extents).bd);
  DYNET_EQ(Dim({3, 4}, 2), Dim(extents, 2));
  static_assert(std::is_convertible_v<std::initializer_list<unsigned>, Dim>);
  static_assert(std::is_convertible_v<vector<long>, Dim>);
  DYNET_THROWS(std::invalid_argument, Dim({1, 1, 1, 1, 1, 1, 1, 1}));
  DYNET_HAS(unsigned, d.size());
  DYNET_HAS(unsigned, d.batch_size());
  DYNET_HAS(unsigned, d.sum_dims());
  DYNET_HAS(Dim, d.truncate());
  DYNET_HAS(Dim, d.single_batch());
  DYNET_HAS(unsigned, d.ndims());
  DYNET_HAS(unsigned, d.rows());
  DYNET_HAS(unsigned, d.cols());
  DYNET_HAS(unsigned, d.num_nonone_dims());
  DYNET_HAS(unsigned, d.batch_elems());
  DYNET_HAS(unsigned, d[1]);
  DYNET_HAS(unsigned, d.size(1));
  DYNET_EQ(1U, d[5]);
  DYNET_HAS(Dim, Dim({2, 3}).transpose());
  DYNET_HAS(void, d.resize(4));
  DYNET_HAS(void, d.set(0, 5));
  DYNET_THROWS(std::invalid_argument, d.set(6, 2));
  DYNET_HAS(void, d.add_dim(2));
  DYNET_HAS(void, d.insert_dim(0, 2));
  DYNET_HAS(void, d.delete_dim(0));
  DYNET_HAS(void, d.delete_dims({0, 1}, true));
}

TEST(Names, DimFunctions) {
  const Dim d({2, 3}, 4);
  DYNET_HAS(bool, d == d);
  DYNET_HAS(bool, d != d);
  DYNET_EQ(false, Dim({3}) == Dim({3, 1}));
  std::ostringstream out;
  DYNET_HAS(std::ostream&, out << d);
  DYNET_HAS(std::ostream&, out << (vector<Dim>{Dim({2, 3}), Dim({3})}));
  DYNET_HAS(void, d.print_profile(out));
  DYNET_EQ("{2,3X4}[{2,3} {3}]{2,3}", out.str());
  std::istringstream in("{2,3X4}");
  Dim read;
  DYNET_HAS(std::istream&, in >> read);
  DYNET_EQ(d, read);
}

TEST(Names, Strings) {
  const string word = "running";
  DYNET_HAS(bool, startswith(word, "run"));
  DYNET_HAS(bool, endswith(word, "ing"));
  DYNET_EQ((vector<string>{"a", "b"}), str_split("a||b|", '|'));
}

TEST(Names, Timing) {
  const std::map<string, int> counts{{"a", 2}, {"b", 1}};
  const std::pair<string, int> entry("a", 2);
  using Pair = std::pair<int, string>;
  using Multimap = std::multimap<int, string>;
  DYNET_HAS(Pair, ::flip_pair(entry));
  DYNET_HAS(Multimap, ::flip_map(counts));
  const Timer timed(string("completed in"));
  DYNET_EQ("completed in", timed.msg);
  DYNET_CAN((void)timed.start);
  Timing timing;
  DYNET_HAS(void, timing.start());
  DYNET_HAS(double, timing.stop());
  NamedTimer named;
  DYNET_HAS(void, named.start("part"));
  DYNET_HAS(void, named.stop("part"));
  DYNET_HAS(void, named.show());
  DYNET_EQ(1U, named.cumtimes.size());
  DYNET_EQ(1U, named.timers.size());
}

TEST(Names, Dictionary) {
  Dict d;
  DYNET_HAS(int, d.convert(string("the")));
  const int id = 0;
  DYNET_HAS(const string&, d.convert(id));
  DYNET_EQ("the", d.convert(id));
  DYNET_HAS(unsigned, d.size());
  DYNET_HAS(bool, d.contains("the"));
  DYNET_HAS(bool, d.is_frozen());
  DYNET_THROWS(std::runtime_error, d.set_unk("<unk>"));
  DYNET_HAS(void, d.freeze());
  DYNET_THROWS(std::runtime_error, d.convert("new"));
  DYNET_EQ(-1, d.get_unk_id());
  DYNET_HAS(void, d.set_unk("<unk>"));
  DYNET_EQ(1, d.convert("new"));
  DYNET_EQ((vector<string>{"the", "<unk>"}), d.get_words());
  const int none = 7;
  DYNET_THROWS(std::invalid_argument, static_cast<void>(d.convert(none)));
  DYNET_HAS(void, d.clear());
  struct Open : Dict {
    void use() {
      DYNET_HAS(bool, frozen);
      DYNET_HAS(bool, map_unk);
      DYNET_HAS(int, unk_id);
      DYNET_EQ(0U, words_.size());
      DYNET_EQ(0U, d_.size());
    }
  };
  Open().use();
  Dict source;
  Dict target;
  vector<int> s;
  vector<int> t;
  DYNET_EQ((vector<int>{0, 1, 0}), read_sentence("a b a", source));
  DYNET_HAS(void, read_sentence_pair("a c ||| x y", s, source, t, target));
  DYNET_EQ((vector<int>{0, 2}), s);
  DYNET_EQ((vector<int>{0, 1}), t);
}

TEST(Names, Pretrained) {
  Dict d;
  d.convert("a");
  ParameterCollection model;
  const LookupParameter table = model.add_lookup_parameters(1, {2});
  const string file = "names.vec";
  DYNET_HAS(void, save_pretrained_embeddings(file, d, table));
  std::unordered_map<int, vector<float>> vectors;
  DYNET_HAS(void, read_pretrained_embeddings(file, d, vectors));
  DYNET_EQ(as_vector(table.get_storage().values[0]), vectors[0]);
  std::remove(file.c_str());
  DYNET_THROWS(std::invalid_argument, read_pretrained_embeddings(file, d, vectors));
}

DYNET_DEVICE_FUNC float smallest() { return DYNET_DEVICE_MIN; }

TEST(Names, Functors) { DYNET_EQ(1.175494351e-38F, smallest()); }

TEST(Names, Streams) {
  const vector<int> numbers{1, 2};
  std::ostringstream out;
  DYNET_HAS(std::ostream&, out << numbers);
  DYNET_EQ("1 2 ", out.str());
  std::istringstream in("3 4");
  vector<int> read(2);
  DYNET_HAS(std::istream&, in >> read);
  DYNET_EQ((vector<int>{3, 4}), read);
}

/// A program's own saver, which wraps the library's saver.
class CountingSaver : public TextFileSaver {
 public:
  using TextFileSaver::TextFileSaver;
  void save_storage(const Parameter& p, const LookupParameter& lp) {
    DYNET_HAS(void, TextFileSaver::save(p.get_storage(), string("/p")));
    DYNET_HAS(void, TextFileSaver::save(lp.get_storage(), string("/lp")));
  }
};

TEST(Names, Savers) {
  const string file = "names.model";
  ParameterCollection model;
  Parameter p = model.add_parameters({2}, "p");
  LookupParameter lp = model.add_lookup_parameters(2, {2}, "lp");
  {
    TextFileSaver text(file);
    Saver& saver = text;
    DYNET_HAS(void, saver.save(model, "/m"));
    DYNET_HAS(void, saver.save(p));
    DYNET_HAS(void, saver.save(lp));
  }
  DYNET_CAN(const TextFileSaver saver(file, true));
  DYNET_CAN(CountingSaver(file, true).save_storage(p, lp));
  {
    TextFileLoader text(file);
    Loader& loader = text;
    DYNET_HAS(void, loader.populate(model, "/m"));
    DYNET_HAS(void, loader.populate(p, "/p"));
    DYNET_HAS(void, loader.populate(lp, "/lp"));
    DYNET_HAS(Parameter, loader.load_param(model, "/p"));
    DYNET_HAS(LookupParameter, loader.load_lookup_param(model, "/lp"));
    DYNET_THROWS(std::invalid_argument, loader.populate(p, ""));
    DYNET_THROWS(std::runtime_error, loader.populate(p, "/no"));
  }
  ParameterCollection saved;
  saved.add_parameters({2});
  DYNET_HAS(void, save_dynet_model(file, &saved));
  DYNET_HAS(void, load_dynet_model(file, &saved));
  DYNET_CAN(TextFileSaver(file).save(saved));
  DYNET_CAN(TextFileLoader(file).populate(saved));
  std::remove(file.c_str());
  DYNET_THROWS(std::runtime_error, TextFileLoader(file).populate(saved));
  DYNET_THROWS(std::runtime_error, TextFileSaver("no/such/folder"));
}
