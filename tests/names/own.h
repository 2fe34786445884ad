// Names that a program may have, declared after a header of the library and `using namespace
// dynet`. CMakeLists.txt makes a source for each header that C++17 programs include. Each name must
// be the program's: a call, a type or a variable that means the library's does not compile.
//
// A name of DyNet 2.1 is not here: programs of 2.1 have met it. A source whose header has some of
// the types as its own subject, such as schedules.h, defines OWN_NO_TYPES: 2.1 lacks that header.

#include <string>
#include <type_traits>
#include <vector>

namespace dynet {
struct Expression;  // no header has all three
struct Dim;
struct Tensor;
}  // namespace dynet
using namespace dynet;  // NOLINT(google-build-using-namespace): as programs do

struct Own {};

#define OWN_FUNCTION(name, parameters, arguments)        \
  Own name parameters;                                   \
  auto call_##name parameters->decltype(name arguments); \
  static_assert(std::is_same_v<decltype(&call_##name), Own(*) parameters>, "another " #name);
#define OWN_TYPE(name)   \
  struct name : Own {};  \
  extern name an_##name; \
  static_assert(std::is_base_of_v<Own, name>, "another " #name);
#define OWN_VARIABLE(name) \
  extern Own name;         \
  static_assert(std::is_same_v<decltype(name), Own>, "another " #name);

using Numbers = std::vector<unsigned>;
using Nodes = std::vector<Expression>;

// ---- functions that the library has, with its parameters

OWN_FUNCTION(gelu, (const Expression& x), (x))
OWN_FUNCTION(gelu_tanh, (const Expression& x), (x))
OWN_FUNCTION(softplus, (const Expression& x, float beta), (x, beta))
OWN_FUNCTION(log1p, (const Expression& x), (x))
OWN_FUNCTION(expm1, (const Expression& x), (x))
OWN_FUNCTION(clip, (const Expression& x, float low, float high), (x, low, high))
OWN_FUNCTION(where, (const Expression& c, const Expression& x, const Expression& y), (c, x, y))
OWN_FUNCTION(attention, (const Expression& q, const Expression& k, const Expression& v), (q, k, v))
OWN_FUNCTION(batch_matmul, (const Expression& x, const Expression& y), (x, y))
OWN_FUNCTION(cosine_similarity, (const Expression& x, const Expression& y), (x, y))
OWN_FUNCTION(cross_entropy, (const Expression& x, unsigned label), (x, label))
OWN_FUNCTION(weighted_cross_entropy, (const Expression& x, const Expression& w, unsigned label),
             (x, w, label))
OWN_FUNCTION(rms_norm, (const Expression& x, const Expression& g), (x, g))
OWN_FUNCTION(gather, (const Expression& x, const Numbers& index, unsigned n), (x, index, n))
OWN_FUNCTION(scatter_add, (const Expression& x, const Numbers& index, unsigned n), (x, index, n))
OWN_FUNCTION(segment_sum, (const Expression& x, const Numbers& index, unsigned n), (x, index, n))
OWN_FUNCTION(segment_mean, (const Expression& x, const Numbers& index, unsigned n), (x, index, n))
OWN_FUNCTION(segment_max, (const Expression& x, const Numbers& index, unsigned n), (x, index, n))
OWN_FUNCTION(segment_softmax, (const Expression& x, const Numbers& index, unsigned n),
             (x, index, n))
OWN_FUNCTION(topk, (const Expression& x, unsigned k), (x, k))
OWN_FUNCTION(gpu_library, (), ())
OWN_FUNCTION(compute_together, (const Nodes& es), (es))
OWN_FUNCTION(einsum, (const std::string& text, const Nodes& xs), (text, xs))
OWN_FUNCTION(gradient, (const Expression& loss, const Nodes& xs), (loss, xs))
OWN_FUNCTION(sample_categorical, (const Expression& x), (x))
OWN_FUNCTION(crf_log_partition, (const Expression& x, const Expression& t), (x, t))
OWN_FUNCTION(crf_score, (const Expression& x, const Expression& t, const Numbers& y), (x, t, y))
OWN_FUNCTION(crf_viterbi, (const Expression& x, const Expression& t), (x, t))
OWN_FUNCTION(ctc_loss, (const Expression& x, const Numbers& labels), (x, labels))
OWN_FUNCTION(spanning_tree_log_partition, (const Expression& x, const Numbers& n), (x, n))
OWN_FUNCTION(eisner_log_partition, (const Expression& x, const Numbers& n), (x, n))
OWN_FUNCTION(cky_log_partition, (const Expression& x, const Numbers& n), (x, n))
OWN_FUNCTION(tree_score, (const Expression& x, const Numbers& heads), (x, heads))
OWN_FUNCTION(max_spanning_tree, (const Tensor& x), (x))
OWN_FUNCTION(eisner, (const Tensor& x), (x))
OWN_FUNCTION(cky, (const Tensor& x), (x))
OWN_FUNCTION(gated_sum, (const Expression& a, const Expression& x), (a, x))
OWN_FUNCTION(lstm_gates, (const Expression& x), (x))
OWN_FUNCTION(lstm_cell, (const Expression& gates, const Expression& c), (gates, c))
OWN_FUNCTION(coupled_lstm_cell, (const Expression& i, const Expression& g, const Expression& o),
             (i, g, o))
OWN_FUNCTION(coupled_lstm_c, (const Expression& i, const Expression& g), (i, g))
OWN_FUNCTION(coupled_lstm_h, (const Expression& o, const Expression& c), (o, c))
OWN_FUNCTION(tree_lstm_cell, (const Expression& a), (a))
OWN_FUNCTION(tree_lstm_step, (const Expression& i, const Expression& o, const Expression& u),
             (i, o, u))
OWN_FUNCTION(as_double_vector, (const Tensor& t), (t))
OWN_FUNCTION(to_string, (const Dim& d), (d))
OWN_FUNCTION(explain_batch, (const Expression& x, const Expression& y), (x, y))
OWN_FUNCTION(make_loader, (const std::string& file), (file))
OWN_FUNCTION(load_model, (const std::string& file), (file))
OWN_FUNCTION(make_saver, (const std::string& file), (file))
OWN_FUNCTION(set_threads, (unsigned threads), (threads))
OWN_FUNCTION(get_threads, (), ())
OWN_FUNCTION(set_float32_matmul_precision, (const std::string& precision), (precision))
OWN_FUNCTION(get_float32_matmul_precision, (), ())

// ---- functions that the library may have one day

OWN_FUNCTION(swish, (const Expression& x), (x))
OWN_FUNCTION(relu, (const Expression& x), (x))
OWN_FUNCTION(sigmoid, (const Expression& x), (x))
OWN_FUNCTION(flatten, (const Expression& x), (x))
OWN_FUNCTION(linear, (const Expression& w, const Expression& x), (w, x))
OWN_FUNCTION(mlp, (const Expression& x), (x))
OWN_FUNCTION(mse, (const Expression& x, const Expression& y), (x, y))
OWN_FUNCTION(embed, (const Numbers& words), (words))
OWN_FUNCTION(encode, (const Nodes& xs), (xs))
OWN_FUNCTION(decode, (const Nodes& xs), (xs))
OWN_FUNCTION(attend, (const Expression& x, const Nodes& memory), (x, memory))
OWN_FUNCTION(attention_weights, (const Expression& q, const Expression& k), (q, k))
OWN_FUNCTION(viterbi, (const Nodes& xs), (xs))
OWN_FUNCTION(predict, (const Expression& x), (x))
OWN_FUNCTION(score, (const Expression& x), (x))
OWN_FUNCTION(train, (unsigned steps), (steps))
OWN_FUNCTION(evaluate, (unsigned steps), (steps))
OWN_FUNCTION(accuracy, (const Numbers& x, const Numbers& y), (x, y))
OWN_FUNCTION(shuffled, (const Numbers& x), (x))
OWN_FUNCTION(split, (const std::string& line), (line))
OWN_FUNCTION(tokenize, (const std::string& line), (line))
OWN_FUNCTION(read_corpus, (const std::string& file), (file))
OWN_FUNCTION(load, (const std::string& file), (file))
OWN_FUNCTION(save, (const std::string& file), (file))
OWN_FUNCTION(usage, (), ())

// ---- types

#ifndef OWN_NO_TYPES
OWN_TYPE(Error)
OWN_TYPE(ShapeError)
OWN_TYPE(IndexError)
OWN_TYPE(ValueError)
OWN_TYPE(StateError)
OWN_TYPE(UsageError)
OWN_TYPE(IoError)
OWN_TYPE(ParseError)
OWN_TYPE(Schedule)
OWN_TYPE(CosineSchedule)
OWN_TYPE(WarmupSchedule)
OWN_TYPE(AdamWTrainer)
OWN_TYPE(LionTrainer)
OWN_TYPE(LambTrainer)
OWN_TYPE(TreeState)
OWN_TYPE(BinaryTreeBuilder)
OWN_TYPE(BinaryTreeLSTMBuilder)
OWN_TYPE(ChildSumTreeLSTMBuilder)
OWN_TYPE(TreeGRUBuilder)
OWN_TYPE(TreeRNNBuilder)
OWN_TYPE(WorkerPool)
OWN_TYPE(WorkerOptions)
OWN_TYPE(WorkerError)
OWN_TYPE(Encoder)
OWN_TYPE(Decoder)
OWN_TYPE(Attention)
OWN_TYPE(Tagger)
OWN_TYPE(Parser)
OWN_TYPE(Network)
OWN_TYPE(Layer)
OWN_TYPE(Vocabulary)
OWN_TYPE(Corpus)
OWN_TYPE(Sentence)
OWN_TYPE(Token)
OWN_TYPE(Word)
OWN_TYPE(Batch)
OWN_TYPE(Example)
OWN_TYPE(Tree)
OWN_TYPE(Graph)
OWN_TYPE(Plan)
OWN_TYPE(Shape)
OWN_TYPE(State)
OWN_TYPE(Action)
OWN_TYPE(Hypothesis)
OWN_TYPE(Beam)
OWN_TYPE(Config)
OWN_TYPE(Options)
OWN_TYPE(Metrics)
OWN_TYPE(Result)
OWN_TYPE(Scheduler)
OWN_TYPE(Optimizer)
OWN_TYPE(Checkpoint)
OWN_TYPE(Range)
OWN_TYPE(Kernel)
#endif

// ---- variables

OWN_VARIABLE(epochs)
OWN_VARIABLE(epoch)
OWN_VARIABLE(hidden)
OWN_VARIABLE(layers)
OWN_VARIABLE(rate)
OWN_VARIABLE(learning_rate)
OWN_VARIABLE(mask)
OWN_VARIABLE(version)
OWN_VARIABLE(seed)
OWN_VARIABLE(model)
OWN_VARIABLE(trainer)
OWN_VARIABLE(updates)
OWN_VARIABLE(steps)
OWN_VARIABLE(iterations)
OWN_VARIABLE(batch_size)
OWN_VARIABLE(vocabulary)
OWN_VARIABLE(dictionary)
OWN_VARIABLE(corpus)
OWN_VARIABLE(words)
OWN_VARIABLE(tags)
OWN_VARIABLE(labels)
OWN_VARIABLE(loss)
OWN_VARIABLE(best)
OWN_VARIABLE(device)
OWN_VARIABLE(options)
OWN_VARIABLE(patience)
OWN_VARIABLE(verbose)
OWN_VARIABLE(graph)
OWN_VARIABLE(builder)
OWN_VARIABLE(schedule)
OWN_VARIABLE(encoder)
OWN_VARIABLE(decoder)
