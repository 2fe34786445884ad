// Names of the public headers of DyNet 2.1 that are not here, and reasons. A name that is added
// later breaks the compilation of this file: then it gets a line in another file.

#include <string>

#include "dynet/cfsm-builder.h"
#include "dynet/devices.h"
#include "dynet/exec.h"
#include "dynet/expr.h"
#include "dynet/functors.h"
#include "dynet/gpu-ops.h"
#include "dynet/hsm-builder.h"
#include "dynet/index-tensor.h"
#include "dynet/lstm.h"
#include "dynet/model.h"
#include "dynet/mp.h"
#include "dynet/nodes.h"
#include "dynet/param-nodes.h"
#include "dynet/simd-functors.h"
#include "dynet/tensor.h"
#include "dynet/training.h"
#include "dynet/treelstm.h"

#include "names.h"

// X(the name in namespace dynet, why it is not there)
#define DYNET_POOLS "memory grows by itself and is handed out by lifetimes: there are no pools"
#define DYNET_GPU "a device is a list of kernels and a memory (dynet/ext), not a class of its own"
#define DYNET_VIEWS "the library does not use Eigen; Tensor::v and as_vector have the numbers"
#define DYNET_NODE "operations of one's own are written against dynet/ext/op.h"
#define DYNET_LEAF "a function of expr.h and of ComputationGraph, with no name for add_function"
#define DYNET_KEYS "keys of batching follow from an operation's declaration (dynet/ext/op.h)"
#define DYNET_FUNCTOR "a program's own functions of numbers are rules (dynet/ext/rule.h)"
#define DYNET_ENGINE "one executor runs all graphs; ComputationGraph has the functions of an engine"
#define DYNET_MADE "storages are made by ParameterCollection alone"
#define DYNET_SIDE "one side of a protocol over a message queue; run_multi_process has both"
#define DYNET_NEVER "throws, or does not compile, in 2.1 as well"

#define DYNET_ABSENT(X)                        \
  X(DeviceMempoolSizes, DYNET_POOLS)           \
  X(CGCheckpoint, DYNET_POOLS)                 \
  X(MemAllocator, DYNET_POOLS)                 \
  X(CPUAllocator, DYNET_POOLS)                 \
  X(SharedAllocator, DYNET_POOLS)              \
  X(GPUAllocator, DYNET_POOLS)                 \
  X(InternalMemoryPool, DYNET_POOLS)           \
  X(AlignedMemoryPool, DYNET_POOLS)            \
  X(show_pool_mem_info, DYNET_POOLS)           \
  X(Device_CPU, DYNET_GPU)                     \
  X(Device_GPU, DYNET_GPU)                     \
  X(initialize_gpu, DYNET_GPU)                 \
  X(kSCALAR_MINUSONE, DYNET_GPU)               \
  X(kSCALAR_ONE, DYNET_GPU)                    \
  X(kSCALAR_ZERO, DYNET_GPU)                   \
  X(mat, DYNET_VIEWS)                          \
  X(vec, DYNET_VIEWS)                          \
  X(tvec, DYNET_VIEWS)                         \
  X(tbvec, DYNET_VIEWS)                        \
  X(t, DYNET_VIEWS)                            \
  X(tb, DYNET_VIEWS)                           \
  X(batch_matrix, DYNET_VIEWS)                 \
  X(rowcol_matrix, DYNET_VIEWS)                \
  X(colbatch_matrix, DYNET_VIEWS)              \
  X(ParameterNodeBase, DYNET_NODE)             \
  X(MaxPooling1D, DYNET_NEVER)                 \
  X(ParameterNode, DYNET_LEAF)                 \
  X(ConstParameterNode, DYNET_LEAF)            \
  X(LookupNode, DYNET_LEAF)                    \
  X(InputNode, DYNET_LEAF)                     \
  X(SparseInputNode, DYNET_LEAF)               \
  X(ScalarInputNode, DYNET_LEAF)               \
  X(Constant, DYNET_LEAF)                      \
  X(RandomNormal, DYNET_LEAF)                  \
  X(RandomBernoulli, DYNET_LEAF)               \
  X(RandomUniform, DYNET_LEAF)                 \
  X(RandomGumbel, DYNET_LEAF)                  \
  X(Argmax, DYNET_LEAF)                        \
  X(nt, DYNET_KEYS)                            \
  X(Sig, DYNET_KEYS)                           \
  X(SigMap, DYNET_KEYS)                        \
  X(SigHash, DYNET_KEYS)                       \
  X(SigHasher, DYNET_KEYS)                     \
  X(SigYoav, DYNET_KEYS)                       \
  X(SigString, DYNET_KEYS)                     \
  X(SigLinearMap, DYNET_KEYS)                  \
  X(SigLinearSortedMap, DYNET_KEYS)            \
  X(SigTreeMap, DYNET_KEYS)                    \
  X(SigHashMap, DYNET_KEYS)                    \
  X(float_contents_as_int, DYNET_KEYS)         \
  X(FL1Backward, DYNET_FUNCTOR)                \
  X(FMaxBackwardInv, DYNET_FUNCTOR)            \
  X(FPairwiseRankLoss, DYNET_FUNCTOR)          \
  X(FSoftSign, DYNET_FUNCTOR)                  \
  X(FSoftSignBackward, DYNET_FUNCTOR)          \
  X(FSqDist, DYNET_FUNCTOR)                    \
  X(FEuclideanBackward, DYNET_FUNCTOR)         \
  X(FL2SGDUpdate, DYNET_FUNCTOR)               \
  X(FBinaryLogLoss, DYNET_FUNCTOR)             \
  X(FBinaryLogLossBackward, DYNET_FUNCTOR)     \
  X(FELUForward, DYNET_FUNCTOR)                \
  X(FELUBackward, DYNET_FUNCTOR)               \
  X(FSILUForward, DYNET_FUNCTOR)               \
  X(FSILUBackward, DYNET_FUNCTOR)              \
  X(ExecutionEngine, DYNET_ENGINE)             \
  X(SimpleExecutionEngine, DYNET_ENGINE)       \
  X(BatchedExecutionEngine, DYNET_ENGINE)      \
  X(BatchInfo, DYNET_ENGINE)                   \
  X(ParameterStorageCreator, DYNET_MADE)       \
  X(LookupParameterStorageCreator, DYNET_MADE) \
  X(graph_optimize, DYNET_NEVER)               \
  X(C2WBuilder, DYNET_NEVER)

// X(the name in namespace dynet::mp, why it is not there)
#define DYNET_ABSENT_MP(X)    \
  X(run_data_set, DYNET_SIDE) \
  X(run_parent, DYNET_SIDE)   \
  X(run_child, DYNET_SIDE)    \
  X(run_simple_parent, DYNET_SIDE)

// X(a class, the member that it lacks, why)
#define DYNET_ABSENT_MEMBERS(X)                                            \
  X(Device, mem, DYNET_POOLS)                                              \
  X(Device, pools, DYNET_POOLS)                                            \
  X(Device, mark, DYNET_POOLS)                                             \
  X(Device, revert, DYNET_POOLS)                                           \
  X(Device, allocate_tensor, DYNET_POOLS)                                  \
  X(Device, reset_rng, DYNET_GPU)                                          \
  X(Device, kSCALAR_MINUSONE, DYNET_GPU)                                   \
  X(Device, kSCALAR_ONE, DYNET_GPU)                                        \
  X(Device, kSCALAR_ZERO, DYNET_GPU)                                       \
  X(Device, edevice, DYNET_VIEWS)                                          \
  X(Device, shmem, DYNET_POOLS)                                            \
  X(ComputationGraph, ee, DYNET_ENGINE)                                    \
  X(ComputationGraph, parameter_nodes, DYNET_NODE)                         \
  X(ParameterCollectionStorage, gradient_norm_scratch, DYNET_GPU)          \
  X(Trainer, update_ma_rule, "averages are one pass of the library's own") \
  X(TensorTools, clip_dev, DYNET_GPU)                                      \
  X(TensorTools, constant_dev, DYNET_GPU)                                  \
  X(TensorTools, accumulate_dev, DYNET_GPU)                                \
  X(TensorTools, scale_dev, DYNET_GPU)                                     \
  X(TensorTools, uniform_to_bernoulli_dev, DYNET_GPU)                      \
  X(TensorTools, argmax_dev, DYNET_GPU)                                    \
  X(TensorTools, categorical_sample_log_prob_dev, DYNET_GPU)               \
  X(TensorTools, logsumexp_dev, DYNET_GPU)                                 \
  X(TensorTools, topk_dev, DYNET_GPU)

#if __has_include("dynet/tensor-eigen.h") ||                                            \
                  __has_include(                                                        \
                      "dynet/mem.h") ||                                                 \
                      __has_include(                                                    \
                          "dynet/aligned-mem-pool.h") ||                                \
                          __has_include(                                                \
                              "dynet/sig.h") ||                                         \
                              __has_include(                                            \
                                  "dynet/graph.h") ||                                   \
                                  __has_include(                                        \
                                      "dynet/c2w.h") ||                                 \
                                      __has_include(                                    \
                                          "dynet/cuda.h") ||                            \
                                          __has_include(                                \
                                              "dynet/gpu-kernels.h") ||                 \
                                              __has_include(                            \
                                                  "dynet/cudnn-ops.h") ||               \
                                                  __has_include(                        \
                                                      "dynet/virtual-cudnn.h") ||       \
                                                      __has_include(                    \
                                                          "dynet/matrix-multiply.h") || \
                                                          __has_include("dynet/dynet-helper.h")
#error "a header of what is absent: say here what it has"
#endif
#if defined(EIGEN_BACKEND) || defined(CUDA_CHECK) || defined(CUBLAS_CHECK) || \
    defined(CURAND_CHECK) || defined(CUDNN_CHECK) || defined(MAX_GPUS)
#error "a macro of what is absent"
#endif

// NOLINTBEGIN(readability-identifier-naming, bugprone-macro-parentheses): names of 2.1
// The same names once more, in a namespace of their own. A name that is in both is ambiguous.
namespace stand_ins {
#define DYNET_STAND_IN(name, why) \
  struct name {};
DYNET_ABSENT(DYNET_STAND_IN)
namespace mp {
DYNET_ABSENT_MP(DYNET_STAND_IN)
}  // namespace mp
}  // namespace stand_ins
namespace both {
using namespace dynet;      // NOLINT(google-build-using-namespace): that is what is asked
using namespace stand_ins;  // NOLINT(google-build-using-namespace): likewise
}  // namespace both
namespace both_mp {
using namespace dynet::mp;      // NOLINT(google-build-using-namespace): likewise
using namespace stand_ins::mp;  // NOLINT(google-build-using-namespace): likewise
}  // namespace both_mp
#define DYNET_ALONE(name, why) \
  static_assert(std::is_same_v<both::name, stand_ins::name>, "it is there now");
DYNET_ABSENT(DYNET_ALONE)
#define DYNET_ALONE_MP(name, why) \
  static_assert(std::is_same_v<both_mp::name, stand_ins::mp::name>, "it is there now");
DYNET_ABSENT_MP(DYNET_ALONE_MP)

// The same for members: one that both bases have is ambiguous.
#define DYNET_MEMBER_ALONE(Class, member, why)            \
  namespace Class##_##member {                            \
    struct StandIn {                                      \
      int member;                                         \
    };                                                    \
    struct Both : dynet::Class, StandIn {};               \
    static_assert(sizeof(&Both::member) != 0, "as well"); \
  }
namespace members {
DYNET_ABSENT_MEMBERS(DYNET_MEMBER_ALONE)
}  // namespace members
// NOLINTEND(readability-identifier-naming, bugprone-macro-parentheses)

TEST(Names, Absent) {
  const auto say = [](const std::string& name, const char* why) {
    std::cout << "  absent " << name << ": " << why << '\n';
  };
#define DYNET_SAY(name, why) say(#name, why);
#define DYNET_SAY_MEMBER(Class, member, why) say(#Class "::" #member, why);
#define DYNET_SAY_MP(name, why) say("mp::" #name, why);
  DYNET_ABSENT(DYNET_SAY)
  DYNET_ABSENT_MP(DYNET_SAY_MP)
  DYNET_ABSENT_MEMBERS(DYNET_SAY_MEMBER)
}
