#pragma once

// Softmaxes over many words as builders: the interface, the plain softmax, the class-factored
// softmax, and the base of trees of choices. hsm-builder.h has the hierarchical softmax,
// adaptive-softmax.h a softmax with cheap frequent words, sampled-softmax.h losses over a few
// sampled words.
//
//   builder.new_graph(cg);                            once for each graph
//   loss = builder.neg_log_softmax(rep, word);        or a list of words, one for each example
//   word = builder.sample(rep);
//
// `rep` is a vector {rep_dim}, or a batch of vectors if a function takes a batch. Words are ids
// from
// 0. A file of clusters assigns words to classes: the line `7 dog` puts dog into the class named 7.
// Errors: StateError before new_graph, GraphError if `rep` is a node of another graph, ValueError
// for another number of words than examples and for a word without a class, IndexError for an id
// that does not exist; ValueError with file and line for a file of clusters that cannot be read or
// understood.
//
// Surprising: the parameters of a class are added to a graph at their first use, so that a graph
// with words of three classes of a thousand has nodes for three.

#include <iosfwd>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "dynet/dict.h"
#include "dynet/expr.h"

namespace dynet {

/// A distribution over words (or other classes), given a vector.
///
/// C++: Copies of a builder share its parameters. Thread rule: one thread at a time, like its
/// graph.
///
/// Python: Without `update` its parameters get no gradient.
class SoftmaxBuilder {
 public:
  SoftmaxBuilder() = default;
  SoftmaxBuilder(const SoftmaxBuilder&) = default;
  SoftmaxBuilder& operator=(const SoftmaxBuilder&) = default;
  virtual ~SoftmaxBuilder();

  /// Uses the parameters in a graph: once for each. Without `update` they get no gradient.
  virtual void new_graph(ComputationGraph& cg, bool update = true) = 0;
  /// The negative log likelihood of a word.
  /// `y = -ln p(classidx | rep)`
  /// Shapes: {rep_dim} -> {1}.
  virtual Expression neg_log_softmax(const Expression& rep, unsigned classidx,
                                     Where where = Where::here()) = 0;
  /// The negative log likelihoods of a batch: word e belongs to example e.
  /// Shapes: {rep_dim}xb -> {1}xb for b words.
  virtual Expression neg_log_softmax(const Expression& rep, const std::vector<unsigned>& classidxs,
                                     Where where = Where::here()) = 0;
  /// A word drawn from the distribution. Computes the distribution at once. NumericError if there
  /// is no distribution: scores that are NaN, or infinite.
  /// Shapes: {rep_dim}, no batch.
  ///
  /// C++: The number comes from rand01().
  virtual unsigned sample(const Expression& rep, Where where = Where::here()) = 0;
  /// ln p of all words, for each column if rep is a matrix.
  /// Shapes: {rep_dim}xb -> {words}xb, {rep_dim,n}xb -> {words,n}xb.
  virtual Expression full_log_distribution(const Expression& rep, Where where = Where::here()) = 0;
  /// Scores of all words, whose softmax is the distribution; for each column if rep is a matrix.
  /// Shapes: {rep_dim}xb -> {words}xb, {rep_dim,n}xb -> {words,n}xb.
  virtual Expression full_logits(const Expression& rep, Where where = Where::here()) = 0;
  /// The collection of the builder's parameters.
  virtual ParameterCollection& get_parameter_collection() = 0;
};

namespace detail {

/// The graph given to new_graph, for parameters that are added later, and whether they get
/// gradients.
struct InGraph {
  ComputationGraph* graph = nullptr;
  bool update = true;
  unsigned id = 0;  ///< the graph's at that time; a cleared graph gets a new id
};

/// One choice among outcomes, given a vector x: softmax(w x + b), or between two outcomes
/// logistic(w x + b) for the first. A single outcome needs no parameters. Nodes of parameters are
/// kept until they are stale or wanted in another way.
class Choice {
 public:
  enum class Kind { kNone, kLogistic, kSoftmax };

  /// One outcome, without parameters.
  Choice() = default;
  /// Makes w {outcomes,rep_dim}, or {1,rep_dim} if it is logistic, and b (0) unless there is
  /// none.
  Choice(Kind kind, unsigned outcomes, unsigned rep_dim, bool has_bias, ParameterCollection& model);
  /// A softmax with existing parameters. ShapeError unless {n,rep_dim} and {n}.
  Choice(const Parameter& w, const Parameter* b);

  [[nodiscard]] unsigned outcomes() const { return outcomes_; }
  [[nodiscard]] bool has_parameters() const { return kind_ != Kind::kNone; }
  /// The parameters' nodes. StateError if there are none.
  [[nodiscard]] Expression weights(const InGraph& in, Where where) const;
  [[nodiscard]] Expression bias(const InGraph& in, Where where) const;
  /// w x + b; without parameters zeros {1}.
  [[nodiscard]] Expression scores(const InGraph& in, const Expression& x, Where where) const;
  /// -ln p of an outcome for each example of x. `signs` is scratch.
  [[nodiscard]] Expression loss(const InGraph& in, const Expression& x,
                                const std::vector<unsigned>& outcomes, std::vector<float>& signs,
                                Where where) const;
  /// ln p of all outcomes.
  [[nodiscard]] Expression log_probabilities(const InGraph& in, const Expression& x,
                                             Where where) const;
  /// An outcome drawn with rand01().
  [[nodiscard]] unsigned draw(const InGraph& in, const Expression& x, Where where) const;

 private:
  void enter(const InGraph& in, Where where) const;

  Kind kind_ = Kind::kNone;
  unsigned outcomes_ = 1;
  Parameter p_w_;
  Parameter p_b_;  ///< unset: there is no bias
  mutable Expression w_;
  mutable Expression b_;
  mutable bool updated_ = true;  ///< the `update` with which w_ and b_ were made
};

/// Losses of all or of some examples of a batch, added up by example.
class LossesByExample {
 public:
  void clear();
  /// Losses of all examples.
  void add(const Expression& loss) { whole_.push_back(loss); }
  /// Losses of these examples, each once, of a batch of `size`; of all examples if the list has
  /// `size`.
  void add(const Expression& loss, const std::vector<unsigned>& examples, std::size_t size);
  /// {1}xb for the b examples of rep.
  [[nodiscard]] Expression add_up(const InGraph& in, const Expression& rep, Where where);

 private:
  std::vector<Expression> whole_;  ///< losses of all examples
  std::vector<Expression> parts_;  ///< losses of some examples,
  std::vector<unsigned> owners_;   ///< and their numbers
};

/// Base of the softmaxes of the library: the graph, and checks before the work in the virtual
/// functions below.
class CheckedSoftmaxBuilder : public SoftmaxBuilder {
 public:
  void new_graph(ComputationGraph& cg, bool update = true) final;
  Expression neg_log_softmax(const Expression& rep, unsigned classidx,
                             Where where = Where::here()) final;
  Expression neg_log_softmax(const Expression& rep, const std::vector<unsigned>& classidxs,
                             Where where = Where::here()) final;
  unsigned sample(const Expression& rep, Where where = Where::here()) final;
  /// The work of full_logits, which some softmaxes normalise themselves.
  Expression full_log_distribution(const Expression& rep, Where where = Where::here()) final;
  Expression full_logits(const Expression& rep, Where where = Where::here()) final;
  ParameterCollection& get_parameter_collection() final { return local_model; }

  ParameterCollection local_model;

 protected:
  [[nodiscard]] virtual const char* name() const = 0;
  /// Whether the scores of all are logarithms of probabilities.
  [[nodiscard]] virtual bool is_normalised() const { return false; }
  /// StateError if the builder was made without parameters; before anything else.
  virtual void check_made(const char* call) const = 0;
  /// Throws for a word that has no loss.
  virtual void check_words(const std::vector<unsigned>& words) const = 0;
  virtual Expression losses(const Expression& rep, const std::vector<unsigned>& words,
                            Where where) = 0;
  virtual unsigned draw(const Expression& rep, Where where) = 0;
  virtual Expression scores_of_all(const Expression& rep, Where where) = 0;

  /// The shape of rep, after all checks but of the shape.
  [[nodiscard]] Dim ready_shape(const char* call, const Expression& rep, Where where) const;
  /// The graph to work in, after checks.
  [[nodiscard]] const InGraph& ready(const char* call, const Expression& rep, Where where) const;
  /// The checks of a call with a word for each example.
  void check_batch(const char* call, const Expression& rep, const std::vector<unsigned>& words,
                   Where where) const;

  InGraph in_;

 private:
  std::vector<unsigned> one_;
};

/// A node of a tree of choices: one among its children, or, if it has none, among its words.
/// Owns its children; a copy is deep, and shares parameters. dynet::Cluster in hsm-builder.h.
class Cluster {
 public:
  Cluster() = default;
  Cluster(const Cluster& other);
  Cluster& operator=(const Cluster& other);
  Cluster(Cluster&&) noexcept = default;
  Cluster& operator=(Cluster&&) noexcept = default;
  ~Cluster() = default;

  /// The child of a symbol, made at the first call. Its address is valid as long as this cluster
  /// lives. StateError if there are words.
  Cluster* add_child(unsigned sym);
  /// StateError if there are children, ValueError for a word that is there.
  void add_word(unsigned word);
  /// Makes parameters for this cluster, then for its children in their order: with k outcomes none
  /// for k = 1, for k = 2 w {1,rep_dim} and b {1}, else w {k,rep_dim} and b {k}; biases are 0.
  void initialize(unsigned rep_dim, ParameterCollection& model);

  /// Adds the parameters of this cluster and of all below to a graph now.
  void new_graph(ComputationGraph& cg, Where where = Where::here());
  /// The place of a child or word, drawn with rand01().
  [[nodiscard]] unsigned sample(const Expression& h, ComputationGraph& cg,
                                Where where = Where::here()) const;
  /// -ln p of outcome r. IndexError if there is none.
  [[nodiscard]] Expression neg_log_softmax(const Expression& h, unsigned r, ComputationGraph& cg,
                                           Where where = Where::here()) const;

  /// The place of a word in this cluster. IndexError for another word.
  [[nodiscard]] unsigned get_index(unsigned word) const;
  /// IndexError if there is none.
  [[nodiscard]] unsigned get_word(unsigned index) const;
  [[nodiscard]] unsigned num_children() const { return static_cast<unsigned>(children_.size()); }
  /// IndexError if there is none.
  [[nodiscard]] const Cluster* get_child(unsigned i) const;
  /// The outcomes on the path from the top to this cluster.
  [[nodiscard]] const std::vector<unsigned>& get_path() const { return path_; }
  /// StateError if there are no parameters.
  [[nodiscard]] Expression get_weights(ComputationGraph& cg, Where where = Where::here()) const;
  [[nodiscard]] Expression get_bias(ComputationGraph& cg, Where where = Where::here()) const;
  /// The cluster's path and words, then its children's, a line each.
  // NOLINTNEXTLINE(readability-identifier-naming): DyNet's name
  [[nodiscard]] std::string toString() const;

  [[nodiscard]] const std::vector<unsigned>& words() const { return words_; }
  [[nodiscard]] unsigned num_outcomes() const {
    return children_.empty() ? static_cast<unsigned>(words_.size()) : num_children();
  }
  [[nodiscard]] const Choice& choice() const { return choice_; }
  void set_choice(const Choice& choice) { choice_ = choice; }
  [[nodiscard]] Cluster& child(unsigned i) { return *children_[i]; }
  void add_parameters(const InGraph& in, Where where) const;

 private:
  Choice choice_;
  std::vector<std::unique_ptr<Cluster>> children_;
  std::vector<unsigned> words_;
  std::unordered_map<unsigned, unsigned> index_;  ///< child by symbol, or place by word
  std::vector<unsigned> path_;
};

/// A softmax over the words of a tree of choices: p(word) is the product of the probabilities on
/// the way to it. In a batch each choice is made once for all examples that come to it. full_logits
/// are ln p of each word of the dictionary as it was when the builder was made; -10000 for words
/// without a class.
///
/// Invariant: paths_[word] has the outcomes from the top down to the word, and is empty for a word
/// without a class.
class TreeSoftmaxBuilder : public CheckedSoftmaxBuilder {
 protected:
  /// The form of a line of the file: `<class> <word>`, or `<symbol> ... <symbol>\t<word>`.
  enum class Format { kClass, kPath };

  TreeSoftmaxBuilder() = default;
  explicit TreeSoftmaxBuilder(unsigned rep_size) : rep_dim_(rep_size) {}
  /// Reads the tree. Words that the dictionary lacks are added to it; if it is frozen and has an
  /// id for unknown words, they are left out. ValueError leaves the dictionary as it was.
  void read(const char* builder, const std::string& cluster_file, Format format, Dict& word_dict);
  /// Reads a stream, named `called` in messages.
  void read(const char* builder, std::istream& clusters, Format format, Dict& word_dict,
            const std::string& called);

  [[nodiscard]] bool is_normalised() const final { return true; }
  void check_made(const char* call) const final;
  void check_words(const std::vector<unsigned>& words) const final;
  Expression losses(const Expression& rep, const std::vector<unsigned>& words, Where where) final;
  unsigned draw(const Expression& rep, Where where) final;
  Expression scores_of_all(const Expression& rep, Where where) final;

  Cluster root_;
  unsigned rep_dim_ = 0;

 private:
  struct Range {
    const Cluster* cluster;
    std::size_t begin;  ///< of `order`
    std::size_t end;
    std::size_t depth;
  };
  /// Memory that the next call uses again.
  struct Scratch {
    std::vector<unsigned> order;  ///< examples, sorted by their words' paths
    std::vector<unsigned> outcomes;
    std::vector<unsigned> members;
    std::vector<Range> ranges;
    LossesByExample sums;
    std::vector<Expression> parts;
    std::vector<Expression> steps;
    std::vector<float> numbers;
  };
  [[nodiscard]] unsigned outcome(unsigned word, std::size_t depth) const {
    return paths_[word][depth];
  }
  void add_loss(const Range& range, const Expression& rep, const std::vector<unsigned>& words,
                Where where);
  void split(const Range& range, const std::vector<unsigned>& words);
  struct Layout;
  void lay_out(const Cluster& cluster, Layout& layout) const;
  [[nodiscard]] std::vector<std::vector<unsigned>> all_rows() const;
  void add_parts(const Cluster& cluster, const Expression& rep, Where where);

  std::string cluster_file_;
  std::vector<std::vector<unsigned>> paths_;
  /// [step][word]: the place of the step's ln p among the numbers of full_logits.
  std::vector<std::vector<unsigned>> rows_;
  Scratch scratch_;
};

}  // namespace detail

/// The plain softmax over all classes: softmax(w rep + b).
///
/// Parameters, in the collection `standard-softmax-builder`: w {num_classes,rep_dim}, b
/// {num_classes} (0) unless `bias` is false.
class StandardSoftmaxBuilder final : public detail::CheckedSoftmaxBuilder {
 public:
  StandardSoftmaxBuilder() = default;
  explicit StandardSoftmaxBuilder(unsigned rep_dim, unsigned num_classes, ParameterCollection& pc,
                                  bool bias = true);
  /// With parameters of the program's: w {num_classes,rep_dim}, b {num_classes}. They stay in their
  /// collection; the builder's has none. ShapeError.
  explicit StandardSoftmaxBuilder(const Parameter& p_w, const Parameter& p_b);
  explicit StandardSoftmaxBuilder(const Parameter& p_w);

 protected:
  [[nodiscard]] const char* name() const override { return "StandardSoftmaxBuilder"; }
  void check_made(const char* call) const override;
  void check_words(const std::vector<unsigned>& words) const override;
  Expression losses(const Expression& rep, const std::vector<unsigned>& words,
                    Where where) override;
  unsigned draw(const Expression& rep, Where where) override;
  Expression scores_of_all(const Expression& rep, Where where) override;

 private:
  detail::Choice choice_;
};

/// The softmax in two steps: first the word's class, then the word within the class, so that the
/// cost of a loss grows with the classes and the words of one class (Goodman, 2001): with 10,000
/// words in 100 classes of 100 words, 200 scores in place of 10,000.
///
///   p(word) = p(class) p(word | class)
///
/// A line of the file is `<class> <word>` between spaces or tabs, and perhaps more; classes are
/// numbered as they first appear. Parameters, in the collection `class-factored-softmax-builder`:
/// r2c {classes,rep_dim}, cbias {classes} (0), then for each class of n > 1 words w {n,rep_dim}, b
/// {n} (0); no biases if `bias` is false.
///
/// Python: The file may be a list of its lines. `dict` maps words to ids 0, 1, 2, ..., and gets the
/// words that it lacks.
class ClassFactoredSoftmaxBuilder final : public detail::TreeSoftmaxBuilder {
 public:
  ClassFactoredSoftmaxBuilder() = default;
  explicit ClassFactoredSoftmaxBuilder(unsigned rep_dim, const std::string& cluster_file,
                                       Dict& word_dict, ParameterCollection& pc, bool bias = true);
  /// Reads the lines of such a file from a stream, named `called` in messages.
  explicit ClassFactoredSoftmaxBuilder(unsigned rep_dim, std::istream& clusters, Dict& word_dict,
                                       ParameterCollection& pc, bool bias = true,
                                       const std::string& called = "the clusters");

  /// Scores of the classes.
  /// Shapes: {rep_dim}xb -> {classes}xb.
  Expression class_logits(const Expression& rep, Where where = Where::here());
  /// ln p of the classes.
  Expression class_log_distribution(const Expression& rep, Where where = Where::here());
  /// Scores of the words of one class; 0 for a class of one word. IndexError if there is no such
  /// class.
  /// Shapes: {rep_dim}xb -> {n}xb.
  Expression subclass_logits(const Expression& rep, unsigned clusteridx,
                             Where where = Where::here());
  /// ln p(word | class) of the words of one class.
  Expression subclass_log_distribution(const Expression& rep, unsigned clusteridx,
                                       Where where = Where::here());
  /// Adds the parameters of all classes to the graph now.
  void initialize_expressions(Where where = Where::here());

 protected:
  [[nodiscard]] const char* name() const override { return "ClassFactoredSoftmaxBuilder"; }

 private:
  void make_choices(ParameterCollection& pc, bool bias);
};

}  // namespace dynet
