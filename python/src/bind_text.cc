// Corpora: readers, minibatches of like lengths, classes of words.

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dynet/text.h"

#include "bind_dict.h"
#include "binding.h"
#include "cycles.h"
#include "gil.h"
#include "texts.h"

namespace dynet::python {
namespace {

using std::filesystem::path;
using text::Words;

/// `__iter__` and `__next__` of a reader, whose items are made by `convert`.
template <class Reader, class Item, class Convert>
void bind_iteration(nb::class_<Reader>& reader, const char* iter_signature,
                    const char* next_signature, Convert convert) {
  reader.def(
            "__iter__", [](nb::handle self) { return nb::borrow(self); }, nb::sig(iter_signature))
      .def(
          "__next__",
          [convert](Reader& self) {
            Item item;
            if (!self.next(item)) {
              throw nb::stop_iteration();
            }
            return convert(std::move(item));
          },
          nb::sig(next_signature))
      .def_prop_ro(
          "line", [](const Reader& self) { return self.lines().number(); },
          "The number of the line that was read last.");
}

void bind_line_readers(nb::module_& m) {
  using nb::arg;
  nb::class_<text::PlainReader> plain(m, "PlainReader", texts::PlainReader);
  plain.def(
      "__init__",
      [](text::PlainReader* self, const path& file) {
        new (self) text::PlainReader(file.string());
      },
      arg("file"));
  bind_iteration<text::PlainReader, Words>(plain, "def __iter__(self) -> PlainReader",
                                           "def __next__(self) -> list[str]",
                                           [](Words words) { return words; });

  nb::class_<text::TaggedReader> tagged(m, "TaggedReader", texts::TaggedReader);
  tagged.def(
      "__init__",
      [](text::TaggedReader* self, const path& file) {
        new (self) text::TaggedReader(file.string());
      },
      arg("file"));
  bind_iteration<text::TaggedReader, text::TaggedSentence>(
      tagged, "def __iter__(self) -> TaggedReader",
      "def __next__(self) -> tuple[list[str], list[str]]",
      [](const text::TaggedSentence& s) { return std::pair(s.words, s.tags); });

  nb::class_<text::ParallelReader> parallel(m, "ParallelReader", texts::ParallelReader);
  parallel.def(
      "__init__",
      [](text::ParallelReader* self, const path& source, const std::optional<path>& target) {
        if (target) {
          new (self) text::ParallelReader(source.string(), target->string());
        } else {
          new (self) text::ParallelReader(source.string());
        }
      },
      arg("source"), arg("target") = nb::none());
  bind_iteration<text::ParallelReader, text::SentencePair>(
      parallel, "def __iter__(self) -> ParallelReader",
      "def __next__(self) -> tuple[list[str], list[str]]",
      [](const text::SentencePair& pair) { return std::pair(pair.source, pair.target); });
}

void bind_columns(nb::module_& m) {
  using nb::arg;
  using text::ColumnReader;
  using text::ColumnSentence;
  nb::class_<ColumnSentence>(m, "ColumnSentence", texts::ColumnSentence)
      .def_ro("columns", &ColumnSentence::columns, texts::ColumnSentence_columns)
      .def_prop_ro("words", &ColumnSentence::words, texts::ColumnSentence_words)
      .def_ro("starts_document", &ColumnSentence::starts_document,
              texts::ColumnSentence_starts_document);
  nb::class_<ColumnReader> reader(m, "ColumnReader", texts::ColumnReader);
  reader.def(
      "__init__",
      [](ColumnReader* self, const path& file, std::size_t columns) {
        new (self) ColumnReader(file.string(), columns);
      },
      arg("file"), arg("columns") = 4);
  bind_iteration<ColumnReader, ColumnSentence>(reader, "def __iter__(self) -> ColumnReader",
                                               "def __next__(self) -> ColumnSentence",
                                               [](ColumnSentence s) { return s; });
}

void bind_conllu_token(nb::module_& m) {
  using nb::arg;
  using Token = text::ConlluToken;
  nb::class_<Token>(m, "ConlluToken", texts::ConlluToken)
      .def_prop_ro(
          "kind",
          [](const Token& t) {
            return t.kind == Token::Kind::kWord    ? "word"
                   : t.kind == Token::Kind::kRange ? "range"
                                                   : "empty";
          },
          "'word', 'range' (several words that are written as one) or 'empty'.")
      .def_ro("id", &Token::id, texts::ConlluToken_id)
      .def_ro("last", &Token::last, texts::ConlluToken_last)
      .def_ro("form", &Token::form)
      .def_ro("lemma", &Token::lemma)
      .def_ro("upos", &Token::upos)
      .def_ro("xpos", &Token::xpos)
      .def_ro("feats", &Token::feats)
      .def_prop_ro(
          "head",
          [](const Token& t) {
            return t.head == Token::kNoHead ? std::nullopt : std::optional<int>(t.head);
          },
          texts::ConlluToken_head)
      .def_ro("deprel", &Token::deprel)
      .def_ro("deps", &Token::deps)
      .def_ro("misc", &Token::misc)
      .def(
          "feature",
          [](const Token& t, const std::string& name) { return text::feature(t.feats, name); },
          arg("name"), "The value of a name in `feats`, or an empty text.");
}

void bind_conllu(nb::module_& m) {
  using nb::arg;
  using text::ConlluSentence;
  using Token = text::ConlluToken;
  bind_conllu_token(m);
  nb::class_<ConlluSentence>(m, "ConlluSentence", texts::ConlluSentence)
      .def_ro("comments", &ConlluSentence::comments, texts::ConlluSentence_comments)
      .def_ro("tokens", &ConlluSentence::tokens, texts::ConlluSentence_tokens)
      .def_prop_ro(
          "words",
          [](const ConlluSentence& s) {
            std::vector<Token> words;
            for (const Token* word : s.words()) {
              words.push_back(*word);
            }
            return words;
          },
          texts::ConlluSentence_words)
      .def(
          "comment",
          [](const ConlluSentence& s, const std::string& name) { return s.comment(name); },
          arg("name"), texts::ConlluSentence_comment)
      .def("__str__", [](const ConlluSentence& s) {
        std::ostringstream out;
        text::write(out, s);
        return out.str();
      });
  nb::class_<text::ConlluReader> reader(m, "ConlluReader", texts::ConlluReader);
  reader.def(
      "__init__",
      [](text::ConlluReader* self, const path& file) {
        new (self) text::ConlluReader(file.string());
      },
      arg("file"));
  bind_iteration<text::ConlluReader, ConlluSentence>(reader, "def __iter__(self) -> ConlluReader",
                                                     "def __next__(self) -> ConlluSentence",
                                                     [](ConlluSentence s) { return s; });
}

void bind_trees(nb::module_& m) {
  using nb::arg;
  using text::Tree;
  using text::TreeReader;
  struct PyTree {
    Tree tree;
  };
  nb::class_<PyTree>(m, "Tree", texts::Tree)
      .def_prop_ro(
          "nodes",
          [](const PyTree& self) {
            std::vector<std::pair<std::string, std::vector<unsigned>>> nodes;
            nodes.reserve(self.tree.nodes.size());
            for (const Tree::Node& node : self.tree.nodes) {
              const auto first = self.tree.children.begin() + node.first_child;
              nodes.emplace_back(node.label,
                                 std::vector<unsigned>(first, first + node.num_children));
            }
            return nodes;
          },
          "Pairs of a label (of a word: the word) and the places of its children.")
      .def_prop_ro(
          "words", [](const PyTree& self) { return self.tree.words(); }, texts::Tree_words)
      .def("__str__", [](const PyTree& self) {
        std::ostringstream out;
        text::write(out, self.tree);
        std::string line = out.str();
        line.pop_back();
        return line;
      });
  nb::class_<TreeReader> reader(m, "TreeReader", texts::TreeReader);
  reader.def(
      "__init__",
      [](TreeReader* self, const path& file, bool one_per_line) {
        using Layout = TreeReader::Layout;
        new (self) TreeReader(file.string(), one_per_line ? Layout::kOnePerLine : Layout::kAny);
      },
      arg("file"), arg("one_per_line") = false);
  bind_iteration<TreeReader, Tree>(reader, "def __iter__(self) -> TreeReader",
                                   "def __next__(self) -> Tree",
                                   [](Tree tree) { return PyTree{std::move(tree)}; });
}

/// Python's iterators for BucketStream.
struct PySource {
  std::shared_ptr<nb::object> iterator;
  bool next(nb::object& item) const {
    PyObject* const found = PyIter_Next(iterator->ptr());
    if (found == nullptr && PyErr_Occurred() != nullptr) {
      throw nb::python_error();
    }
    item = nb::steal(found);
    return found != nullptr;
  }
};

/// Batches of a sequence or, if `data` is a function, of its results. Not thread-safe.
class PyBucketed {
 public:
  PyBucketed(nb::object data, const nb::object& length, const text::BucketOptions& options)
      : given_(std::make_unique<Given>(Given{std::move(data), length, {}})),
        batches_(make(*given_, options)) {}

  nb::list next() {
    nb::list batch;
    if (auto* const buckets = std::get_if<text::Buckets>(&batches_)) {
      std::vector<std::size_t> places;
      const text::BucketPosition before = buckets->position();
      if (!buckets->next(places)) {
        throw nb::stop_iteration();
      }
      try {
        for (const std::size_t place : places) {
          batch.append(given_->data[place]);
        }
      } catch (...) {  // the batch comes again
        buckets->seek(before);
        throw;
      }
      return batch;
    }
    std::vector<nb::object> items;
    if (!std::get<Stream>(batches_).next(items)) {
      throw nb::stop_iteration();
    }
    for (const nb::object& item : items) {
      batch.append(item);
    }
    return batch;
  }
  [[nodiscard]] std::string position() const {
    return std::visit([](const auto& b) { return b.position().to_string(); }, batches_);
  }
  void seek(const std::string& position) {
    const auto to = text::BucketPosition::from_string(position);
    std::visit([&to](auto& b) { b.seek(to); }, batches_);
  }

  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(given_->data.ptr());
    Py_VISIT(given_->length.ptr());
    if (const std::shared_ptr<nb::object> iterator = given_->iterator.lock()) {
      Py_VISIT(iterator->ptr());
    }
    int stop = 0;
    if (const auto* const stream = std::get_if<Stream>(&batches_)) {
      stream->for_each_held([&](const nb::object& item) {
        stop = stop != 0 || !item.is_valid() ? stop : visit(item.ptr(), arg);
      });
    }
    return stop;
  }
  /// There are no batches then.
  void let_go() {
    const Batches ended = std::exchange(batches_, text::Buckets({}));
    const nb::object data = std::exchange(given_->data, nb::object());
    const nb::object length = std::exchange(given_->length, nb::object());
  }

 private:
  /// The source of the batches; its address stays the same when this object is moved.
  struct Given {
    nb::object data, length;
    std::weak_ptr<nb::object> iterator;  ///< of the epoch, if `data` is a function
  };
  using Stream = text::BucketStream<nb::object>;
  using Batches = std::variant<text::Buckets, Stream>;

  static Batches make(Given& given, const text::BucketOptions& options) {
    const auto length_of = [&given](nb::handle item) -> std::size_t {
      if (given.length.is_none()) {
        return nb::len(item);
      }
      const nb::object length = given.length(item);
      std::size_t number = 0;
      if (!nb::try_cast(length, number)) {
        throw errors::ValueError(std::string("bucketed: length gave ") + nb::repr(length).c_str() +
                                 "; want a whole number of 0 or more");
      }
      return number;
    };
    if (PyCallable_Check(given.data.ptr()) != 0) {
      const auto open = [&given] {
        PySource source{std::make_shared<nb::object>(nb::borrow(nb::iter(given.data())))};
        given.iterator = source.iterator;
        return source;
      };
      return Stream(open, [length_of](const nb::object& item) { return length_of(item); }, options);
    }
    const std::size_t count = nb::len(given.data);
    std::vector<std::size_t> lengths;
    lengths.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      lengths.push_back(length_of(given.data[i]));
    }
    return text::Buckets(std::move(lengths), options);
  }

  std::unique_ptr<Given> given_;
  Batches batches_;
};

text::BatchSize size_named(const std::string& name) {
  if (name == "examples") {
    return text::BatchSize::kExamples;
  }
  if (name == "tokens") {
    return text::BatchSize::kTokens;
  }
  if (name == "padded_tokens") {
    return text::BatchSize::kPaddedTokens;
  }
  throw errors::ValueError("bucketed: of='" + name +
                           "'; want 'examples', 'tokens' or 'padded_tokens'");
}

void bind_batches(nb::module_& m) {
  using nb::arg;
  nb::class_<PyBucketed>(
      m, "Bucketed", nb::type_slots(cycle_slots<PyBucketed>),
      "Minibatches of examples of like lengths, made by `bucketed`. Each loop over "
      "it is an epoch, or the rest of one.")
      .def(
          "__iter__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __iter__(self) -> Bucketed"))
      .def("__next__", &PyBucketed::next, nb::sig("def __next__(self) -> list[typing.Any]"))
      .def_prop_rw("position", &PyBucketed::position, &PyBucketed::seek,
                   "Which batch comes next, as a text: assign it to go on there. ValueError for a "
                   "position of other options or other data.");
  m.def(
      "bucketed",
      [](nb::object data, std::size_t size, const std::string& of, const nb::object& length,
         std::size_t window, bool shuffle, std::uint64_t seed) {
        return PyBucketed(std::move(data), length, {size, size_named(of), window, shuffle, seed});
      },
      arg("data"), arg("size") = 32, arg("of") = "examples", arg("length") = nb::none(),
      arg("window") = 10000, arg("shuffle") = true, arg("seed") = 1,
      nb::sig("def bucketed(data: collections.abc.Sequence[typing.Any] | "
              "collections.abc.Callable[[], collections.abc.Iterable[typing.Any]], size: int = 32, "
              "of: str = 'examples', length: collections.abc.Callable[[typing.Any], int] | None = "
              "None, window: int = 10000, shuffle: bool = True, seed: int = 1) -> Bucketed"),
      "Minibatches of examples of like lengths in a random order that depends on `seed` "
      "alone.\n\n`data` is a sequence, or, for data too large for memory, a function that opens "
      "them, such as `lambda: PlainReader(file)`. `of` is the unit of `size`: 'examples', 'tokens' "
      "(the sum of lengths) or 'padded_tokens' (the longest length times the examples). `length` "
      "gives the length of an example, `len` by default. Examples are sorted in windows of "
      "`window` examples (0: all of a sequence).");
}

void make_clusters(const nb::object& corpus, const path& out, unsigned classes,
                   const std::string& method, bool tree, std::uint64_t min_count,
                   const std::string& unknown) {
  if (method != "brown" && method != "frequency") {
    throw errors::ValueError("make_clusters: method='" + method + "'; want 'brown' or 'frequency'");
  }
  std::vector<path> files;
  if (!nb::try_cast(corpus, files)) {
    files.push_back(nb::cast<path>(corpus));
  }
  const WithoutGil others_may_run;
  text::BigramCounts counts;
  for (const path& file : files) {
    for (const Words& sentence : text::PlainReader(file.string())) {
      counts.add(sentence);
    }
  }
  counts.replace_rare(min_count, unknown);
  const text::Clusters clusters = method == "brown" ? text::brown_clusters(counts, classes)
                                                    : text::frequency_clusters(counts, classes);
  (tree ? text::save_paths : text::save_classes)(out.string(), clusters);
}

}  // namespace

void bind_text(nb::module_& m) {
  using nb::arg;
  bind_dict(m);
  bind_line_readers(m);
  bind_columns(m);
  bind_conllu(m);
  bind_trees(m);
  bind_batches(m);
  m.def("make_clusters", &make_clusters, arg("corpus"), arg("out"), arg("classes"),
        arg("method") = "brown", arg("tree") = false, arg("min_count") = 1,
        arg("unknown") = "<unk>",
        nb::sig("def make_clusters(corpus: str | os.PathLike | collections.abc.Sequence[str | "
                "os.PathLike], out: str | os.PathLike, classes: int, method: str = 'brown', tree: "
                "bool = False, min_count: int = 1, unknown: str = '<unk>') -> None"),
        "Puts the words of plain text files into classes, and writes the file that "
        "ClassFactoredSoftmaxBuilder reads, or with `tree` HierarchicalSoftmaxBuilder. `method` is "
        "'brown' (words with like neighbours) or 'frequency'; words that occur fewer than "
        "`min_count` times are counted as `unknown`.");
}

}  // namespace dynet::python
