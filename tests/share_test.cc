// Values that outlast their graph, and computations that are stopped.
#include "dynet/share.h"

#include <chrono>
#include <ctime>
#include <memory>
#include <thread>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/inference.h"
#include "dynet/interrupt.h"

#include "gtest/gtest.h"

namespace dynet {
namespace {

using Numbers = std::vector<float>;

Expression counted(ComputationGraph& cg, unsigned size, float first) {
  Numbers numbers(size);
  for (unsigned i = 0; i < size; ++i) {
    numbers[i] = first + static_cast<float>(i);
  }
  return input(cg, {size}, numbers) + 1.0F;
}

/// Computes values of this size in the graph, so that memory which is free would be written.
void fill(ComputationGraph& cg, unsigned size) {
  static_cast<void>(counted(cg, size, -1e6F).value());
}

TEST(ShareValue, IsTheMemoryOfTheValueAndStaysAsItIs) {
  SharedValue kept;
  Numbers want;
  {
    ComputationGraph cg;
    fill(cg, 10);
    const Expression e = counted(cg, 1000, 1.0F);
    kept = share_value(e);
    EXPECT_EQ(kept.tensor.v, e.value().v);
    EXPECT_EQ(kept.tensor.d, e.dim());
    want = as_vector(kept.tensor);
    EXPECT_EQ(want.back(), 1001.0F);
    for (int round = 0; round < 3; ++round) {
      fill(cg, 1000);
      EXPECT_EQ(as_vector(kept.tensor), want);
      cg.invalidate();
      fill(cg, 1000);
      EXPECT_EQ(as_vector(kept.tensor), want);
      cg.clear();
      fill(cg, 1000);
      EXPECT_EQ(as_vector(kept.tensor), want);
    }
  }
  EXPECT_EQ(as_vector(kept.tensor), want);
}

TEST(ShareValue, IsLeftAloneByARevert) {
  ComputationGraph cg;
  const Expression below = counted(cg, 100, 5.0F);
  cg.checkpoint();
  const Expression above = counted(cg, 100, 7.0F);
  const SharedValue kept = share_value(above);
  const Numbers want = as_vector(kept.tensor);
  const Numbers want_below = as_vector(below.value());
  for (int round = 0; round < 3; ++round) {
    cg.revert();
    cg.checkpoint();
    for (int i = 0; i < 40; ++i) {
      fill(cg, 10'000);  // beyond the first chunk
    }
    EXPECT_EQ(as_vector(kept.tensor), want);
    EXPECT_EQ(as_vector(below.value()), want_below);
  }
}

TEST(ShareValue, MemoryIsUsedAgainWhenNobodySharesIt) {
  ComputationGraph cg;
  const Expression e = counted(cg, 100, 1.0F);
  SharedValue kept = share_value(e);
  const float* const there = kept.tensor.v;
  kept = {};
  cg.clear();
  EXPECT_EQ(counted(cg, 100, 2.0F).value().v, there);
}

TEST(ShareValue, LastOwnerMayBeAnotherThread) {
  std::vector<std::thread> threads;
  {
    ComputationGraph cg;
    for (int i = 0; i < 20; ++i) {
      SharedValue kept = share_value(counted(cg, 500, static_cast<float>(i)));
      threads.emplace_back([kept = std::move(kept), i] {
        EXPECT_EQ(as_vector(kept.tensor).front(), static_cast<float>(i) + 1.0F);
      });
      cg.clear();
    }
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST(ShareValue, OfAParameterAndItsReshapeIsTheParameter) {
  SharedValue kept;
  {
    ParameterCollection model;
    const Parameter p = model.add_parameters({2, 3}, ParameterInitConst(0.5F));
    ComputationGraph cg;
    const SharedValue direct = share_value(parameter(cg, p));
    EXPECT_EQ(direct.tensor.v, p.values()->v);
    kept = share_value(reshape(parameter(cg, p), {6}));
    EXPECT_EQ(kept.tensor.v, p.values()->v);
  }
  EXPECT_EQ(as_vector(kept.tensor), Numbers(6, 0.5F));  // the collection is gone
}

TEST(ShareValue, InAnInferenceScope) {
  ComputationGraph cg;
  const InferenceScope scope;
  const SharedValue kept = share_value(counted(cg, 300, 3.0F));
  const Numbers want = as_vector(kept.tensor);
  for (int i = 0; i < 50; ++i) {
    fill(cg, 300);
  }
  EXPECT_EQ(as_vector(kept.tensor), want);
}

// ---- stopping -----------------------------------------------------------------------------------

struct Stop {};

/// Throws at the n-th question.
struct Stopper {
  int left;
  int asked = 0;
  static void check(void* of) {
    auto& self = *static_cast<Stopper*>(of);
    ++self.asked;
    if (--self.left == 0) {
      throw Stop();
    }
  }
};

/// A chain of products that takes a second or so.
Expression long_chain(ComputationGraph& cg, const Parameter& p, int length) {
  const Expression w = parameter(cg, p);
  Expression x = input(cg, {p.dim()[0]}, Numbers(p.dim()[0], 0.1F));
  for (int i = 0; i < length; ++i) {
    x = tanh(w * x);
  }
  return sum_elems(x);
}

/// Time of the processor, as other work of the machine must not count.
double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Steps that take several times the 40 ms after which a computation asks first, here, today.
int many() {
  static const int found = [] {
    ParameterCollection model;
    const Parameter p = model.add_parameters({256, 256});
    int steps = 5'000;
    for (double took = 0; took < 0.15; steps *= 2) {
      ComputationGraph cg;
      const Expression loss = long_chain(cg, p, 2 * steps);
      const double start = seconds();
      static_cast<void>(loss.value());
      took = seconds() - start;
    }
    return steps;
  }();
  return found;
}

TEST(Interrupt, LeavesEverythingAsItWas) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({256, 256});
  ComputationGraph cg;
  const Expression first = long_chain(cg, p, 3);
  const float before = as_scalar(first.value());
  const Expression loss = long_chain(cg, p, many());
  Stopper forward{1};
  {
    const InterruptScope scope(&Stopper::check, &forward);
    EXPECT_THROW(static_cast<void>(loss.value()), Stop);
  }
  EXPECT_EQ(forward.asked, 1);
  EXPECT_EQ(as_scalar(first.value()), before);
  const float value = as_scalar(loss.value());

  Stopper backward{1};
  {
    const InterruptScope scope(&Stopper::check, &backward);
    EXPECT_THROW(cg.backward(loss), Stop);
  }
  EXPECT_EQ(model.gradient_l2_norm(), 0.0F);
  EXPECT_EQ(as_scalar(loss.value()), value);
  cg.backward(loss);
  const float norm = model.gradient_l2_norm();
  EXPECT_GT(norm, 0.0F);

  model.reset_gradient();
  ComputationGraph again;
  again.backward(long_chain(again, p, many()));
  EXPECT_EQ(model.gradient_l2_norm(), norm);
}

/// The gradient of one of two nodes of a parameter takes a second backward.
TEST(Interrupt, OfAGradientThatIsComputedWhenItIsAskedFor) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({256, 256});
  ComputationGraph cg;
  const Expression w = parameter(cg, p);
  const Expression loss = long_chain(cg, p, many()) + sum_elems(w);
  Stopper before{-1};
  {
    const InterruptScope scope(&Stopper::check, &before);
    cg.backward(loss);
  }
  before.asked = 0;
  EXPECT_EQ(as_vector(w.gradient()), Numbers(p.dim().size(), 1.0F));
  EXPECT_EQ(before.asked, 0);

  cg.backward(loss);
  Stopper stopper{1};
  {
    const InterruptScope scope(&Stopper::check, &stopper);
    EXPECT_THROW(static_cast<void>(w.gradient()), Stop);
  }
  EXPECT_EQ(as_vector(w.gradient()), Numbers(p.dim().size(), 1.0F));
  EXPECT_EQ(before.asked, 0);
}

TEST(Interrupt, InAnInferenceScopeAndBeforeACheckpoint) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({256, 256});
  ComputationGraph cg;
  const Expression loss = long_chain(cg, p, many());
  Stopper stopper{1};
  {
    const InferenceScope values_only;
    const InterruptScope scope(&Stopper::check, &stopper);
    EXPECT_THROW(static_cast<void>(loss.value()), Stop);
    stopper.left = 1;
    EXPECT_THROW(cg.checkpoint(), Stop);
  }
  const InferenceScope values_only;
  const float dropped = as_scalar(loss.value());
  ComputationGraph again;
  EXPECT_EQ(as_scalar(long_chain(again, p, many()).value()), dropped);
}

TEST(Interrupt, IsAskedOftenAndOnlyInItsScope) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({256, 256});
  ComputationGraph cg;
  Stopper outer{-1};
  Stopper inner{-1};
  const InterruptScope scope(&Stopper::check, &outer);
  const double start = seconds();
  {
    const InterruptScope nested(&Stopper::check, &inner);
    static_cast<void>(long_chain(cg, p, many()).value());
  }
  EXPECT_GE(inner.asked, 1);
  EXPECT_GE(0.2 * inner.asked, seconds() - start - 0.2);
  EXPECT_EQ(outer.asked, 0);
  Stopper small{-1};
  {  // work that takes less than the interval does not ask
    const InterruptScope nested(&Stopper::check, &small, std::chrono::minutes(1));
    static_cast<void>(long_chain(cg, p, many()).value());
  }
  EXPECT_EQ(small.asked, 0);
  Stopper never{-1};
  const InterruptScope nested(&Stopper::check, &never, std::chrono::milliseconds::max());
  static_cast<void>(long_chain(cg, p, many() / 8).value());
  EXPECT_EQ(never.asked, 0);
}

/// However few they are: the clock is looked at after work, not after a number of nodes.
TEST(Interrupt, IsAskedBeforeEachLargeNode) {
  constexpr int kNodes = 20;
  ParameterCollection model;
  const Parameter p = model.add_parameters({256, 256});
  ComputationGraph cg;
  const Expression loss = long_chain(cg, p, kNodes);
  Stopper stopper{-1};
  const InterruptScope scope(&Stopper::check, &stopper, std::chrono::milliseconds(0));
  static_cast<void>(loss.value());
  EXPECT_GE(stopper.asked, kNodes);
  stopper.asked = 0;
  cg.backward(loss);
  EXPECT_GE(stopper.asked, kNodes);
}

}  // namespace
}  // namespace dynet
