// Several devices in one graph: the CPU in float and in double, and far devices.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "dynet/expr.h"
#include "dynet/ext/memory.h"
#include "dynet/inference.h"
#include "dynet/io.h"
#include "dynet/lstm.h"
#include "dynet/training.h"

#include "api/graph_state.h"
#include "execute/verify.h"
#include "support/far_device.h"
#include "support/observe.h"
#include "testing/device.h"
#include "testing/errors.h"
#include "testing/program.h"
#include "testing/temporary_folder.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

using Floats = std::vector<float>;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// ---- which device ------------------------------------------------------------------------------

TEST(Devices, ANodeIsOnTheDeviceOfItsArguments) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({2, 3}, ParameterInitConst(0.5F), "w", device("FAR:0"));
  const LookupParameter table =
      model.add_lookup_parameters(4, {3}, ParameterInitConst(2.0F), "t", device("FAR:1"));
  ComputationGraph cg;
  EXPECT_EQ(input(cg, 1.0F).get_device_name(), default_device->name);
  const Expression here = parameter(cg, w);
  EXPECT_EQ(here.get_device_name(), "FAR:0");
  EXPECT_EQ(const_parameter(cg, w).get_device_name(), "FAR:0");
  EXPECT_EQ(parameter(cg, table).get_device_name(), "FAR:1");
  EXPECT_EQ(lookup(cg, table, {1U, 2U}).get_device_name(), "FAR:1");
  const Expression row = lookup(cg, table, 1U);
  const Expression product = here * to_device(row, device("FAR:0"));
  EXPECT_EQ(product.get_device_name(), "FAR:0");
  EXPECT_EQ(cg.nodes[product.i]->device, device("FAR:0"));
  EXPECT_EQ(as_vector(product.value()), (Floats{3, 3}));
  EXPECT_EQ(product.value().device, device("FAR:0"));
}

/// Wherever a function takes a device, the node is there, with the numbers that it has elsewhere.
TEST(Devices, LeavesAreWhereTheyAreAskedFor) {
  const Floats numbers{1, 2, 3};
  const float number = 4;
  const auto make = [&](ComputationGraph& cg, Device* d) {
    return std::vector<Expression>{input(cg, 5.0F, d),
                                   input(cg, &number, d),
                                   input(cg, {3}, numbers, d),
                                   input(cg, {3}, &numbers, d),
                                   input(cg, {4}, {1U, 3U}, {7.0F, 8.0F}, 0.5F, d),
                                   one_hot(cg, 4, 2, d),
                                   one_hot(cg, 4, {2U, 0U}, d),
                                   zeros(cg, {3}, d),
                                   ones(cg, {3}, d),
                                   constant(cg, {3}, 2.5F, d),
                                   random_normal(cg, {20}, 0.0F, 1.0F, d),
                                   random_bernoulli(cg, {20}, 0.5F, 2.0F, d),
                                   random_uniform(cg, {20}, -1.0F, 1.0F, d)};
  };
  std::vector<Floats> expected;
  for (const char* name : {"CPU", "FAR:0", "FAR:1"}) {
    ComputationGraph cg;
    cg.set_random_stream(3);
    const std::vector<Expression> made = make(cg, device(name));
    for (std::size_t i = 0; i < made.size(); ++i) {
      EXPECT_EQ(made[i].get_device_name(), name);
      const Floats found = as_vector(made[i].value());
      if (expected.size() == i) {
        expected.push_back(found);
      }
      EXPECT_EQ(found, expected[i]) << name << ' ' << i;
    }
  }
}

TEST(Devices, ArgumentsOnTwoDevicesAreRefused) {
  ParameterCollection model;
  const Parameter w =
      model.add_parameters({4, 3}, ParameterInitConst(0.5F), "w", device("CPU:double"));
  const DefaultDevice scope(device("CPU"));
  ComputationGraph cg;
  const Expression x = ones(cg, {3});
  const Expression y = ones(cg, {3}, device("FAR:1"));
  const Expression weight = parameter(cg, w);
  const std::size_t before = cg.nodes.size();
  EXPECT_EQ(first_line(text_of_error<errors::DeviceError>([&] { weight* x; })),
            "matmul: argument x is on device CPU:double and y on CPU; want one device, or a copy "
            "made with to_device");
  EXPECT_EQ(first_line(text_of_error<errors::DeviceError>([&] { x + y; })),
            "add: argument x is on device CPU and y on FAR:1; want one device, or a copy made with "
            "to_device");
  EXPECT_EQ(first_line(text_of_error<errors::DeviceError>([&] { concatenate({x, x, y, x}); })),
            "concatenate: argument x1 is on device CPU and x3 on FAR:1; want one device, or a copy "
            "made with to_device");
  EXPECT_EQ(
      first_line(text_of_error<errors::DeviceError>([&] { affine_transform({x, weight, x}); })),
      "affine_transform: argument b is on device CPU and w1 on CPU:double; want one device, "
      "or a copy made with to_device");
  EXPECT_NE(text_of_error<errors::DeviceError>([&] { x + y; }).find("built at "),
            std::string::npos);
  EXPECT_EQ(cg.nodes.size(), before);
  EXPECT_EQ(as_scalar(sum_elems(x).value()), 3.0F);
}

/// Builders make no copies: their parameters and their inputs are on one device.
TEST(Devices, BuildersAreRefused) {
  ParameterCollection model;
  std::optional<DefaultDevice> in_double(device("CPU:double"));
  VanillaLSTMBuilder lstm(1, 3, 3, model);
  in_double.reset();
  ComputationGraph cg;
  EXPECT_THROW(
      {
        lstm.new_graph(cg);
        lstm.start_new_sequence();
        lstm.add_input(ones(cg, {3}));
      },
      errors::DeviceError);
}

TEST(Devices, KeysSayTheDevice) {
  ComputationGraph cg;
  const Expression here = ones(cg, {3}, device("CPU"));
  const Expression there = ones(cg, {3}, device("FAR:0"));
  EXPECT_EQ(explain_batch(tanh(here), tanh(there)), "device: CPU != FAR:0");
  EXPECT_EQ(explain_batch(to_device(here, device("FAR:0")), to_device(here, device("FAR:1"))),
            "attributes: device=FAR:0 != device=FAR:1");
  const Expression twice = ones(cg, {3}, device("FAR:1"));
  EXPECT_EQ(explain_batch(to_device(here, device("FAR:0")), to_device(twice, device("FAR:0"))),
            "device of the argument: CPU != FAR:1");
}

TEST(Devices, MessagesSayWhereANodeIsUnlessItIsWhereTheGraphIs) {
  const DefaultDevice scope(device("CPU"));
  ComputationGraph cg;
  const Expression there = to_device(ones(cg, {2}), device("FAR:0"));
  EXPECT_EQ(text_of_error<errors::ShapeError>([&] { cg.backward(there); }).find("backward"), 0U);
  const std::string text = text_of_error<errors::ShapeError>([&] { cg.backward(there); });
  EXPECT_NE(text.find("to_device(v0, device=FAR:0) {2} on FAR:0"), std::string::npos) << text;
}

// ---- copies ------------------------------------------------------------------------------------

TEST(ToDevice, OnTheSameDeviceIsTheExpressionItself) {
  ComputationGraph cg;
  const Expression x = ones(cg, {3});
  const Expression same = to_device(x, default_device);
  EXPECT_EQ(same.i, x.i);
  EXPECT_EQ(cg.nodes.size(), 1U);
  EXPECT_THROW(to_device(x, nullptr), errors::ValueError);
  EXPECT_THROW(to_device(Expression(), device("CPU")), errors::StaleExpression);
}

TEST(ToDevice, ConvertsNumbers) {
  ComputationGraph cg;
  const Expression x = input(cg, {3}, Floats{0.1F, -2.0F, 3e38F}, device("CPU"));
  const Expression wide = to_device(x, device("CPU:double"));
  EXPECT_EQ(numbers(wide.value()), (std::vector<double>{0.1F, -2.0F, 3e38F}));
  // The double has more digits, and more range, than the float.
  const Expression more = wide * 10.0F;
  EXPECT_EQ(as_vector(to_device(more, device("CPU")).value())[2],
            std::numeric_limits<float>::infinity());
  EXPECT_DOUBLE_EQ(numbers(more.value())[2], static_cast<double>(3e38F) * 10.0);
  const Expression far = to_device(more, device("FAR:0"));
  EXPECT_EQ(as_vector(far.value())[0], 1.0F);
  EXPECT_EQ(numbers(to_device(far, device("FAR:0:double")).value())[1], -20.0);
}

/// From one device to another.
class Copies : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  Copies()
      : from(device(std::get<0>(GetParam()))),
        to(device(std::get<1>(GetParam()))),
        scope(from),
        w(model.add_parameters({2, 3}, ParameterInitFromVector(kWeights), "w", from)),
        u(model.add_parameters({2, 2}, ParameterInitFromVector({0.3F, -0.4F, 0.1F, 0.7F}), "u",
                               to)) {}

  /// A loss that goes there and back: three times, so that copies can merge.
  Expression loss(ComputationGraph& cg) const {
    std::vector<Expression> losses;
    for (int i = 0; i < 3; ++i) {
      const float k = static_cast<float>(i) * 0.5F - 0.4F;
      const Expression h = tanh(parameter(cg, w) * input(cg, {3}, Floats{k, 0.2F, 1.0F - k}));
      const Expression there = to_device(h, to);
      losses.push_back(squared_norm(to_device(tanh(parameter(cg, u) * there + there), from)));
    }
    return sum(losses);
  }

  static inline const Floats kWeights{0.5F, -0.25F, 0.125F, 1.0F, -0.75F, 0.6F};
  Device* from;
  Device* to;
  DefaultDevice scope;
  ParameterCollection model;
  Parameter w, u;
};

/// The loss at these weights, all in double, without copies.
double exact_loss(const Floats& w, const Floats& u) {
  const DefaultDevice scope(device("CPU:double"));
  double sum = 0.0;
  ParameterCollection model;
  const Parameter pw = model.add_parameters({2, 3}, ParameterInitFromVector(w));
  const Parameter pu = model.add_parameters({2, 2}, ParameterInitFromVector(u));
  for (int i = 0; i < 3; ++i) {
    ComputationGraph cg;
    const float k = static_cast<float>(i) * 0.5F - 0.4F;
    const Expression h = tanh(parameter(cg, pw) * input(cg, {3}, Floats{k, 0.2F, 1.0F - k}));
    sum += numbers(squared_norm(tanh(parameter(cg, pu) * h + h)).value())[0];
  }
  return sum;
}

/// Derivatives of the loss by the numbers `changed`, which are `w` or `u`, by differences.
std::vector<double> differences(const Floats& w, const Floats& u, Floats& changed) {
  constexpr float kStep = 0x1p-8F;
  std::vector<double> slopes;
  for (float& number : changed) {
    const float before = number;
    number = before + kStep;
    const double up = exact_loss(w, u);
    number = before - kStep;
    const double down = exact_loss(w, u);
    number = before;
    slopes.push_back((up - down) / (2.0 * static_cast<double>(kStep)));
  }
  return slopes;
}

/// Gradients through a copy there and a copy back, against differences.
TEST_P(Copies, GradientsAgreeWithDifferences) {
  for (const bool batching : {true, false}) {
    ComputationGraph cg(batching);
    model.reset_gradient();
    const Expression l = loss(cg);
    Floats weights = kWeights;
    Floats others{0.3F, -0.4F, 0.1F, 0.7F};
    EXPECT_NEAR(numbers(l.value())[0], exact_loss(weights, others), tolerance::kSumsInFloat);
    cg.backward(l);
    EXPECT_EQ(execute::verify(cg.state().executor), "");
    EXPECT_EQ(compare(numbers(w.get_storage().g), differences(weights, others, weights),
                      tolerance::kRuleInFloat),
              "");
    EXPECT_EQ(compare(numbers(u.get_storage().g), differences(weights, others, others),
                      tolerance::kRuleInFloat),
              "");
  }
}

TEST_P(Copies, AreOneCallPerGroupAndMergedEqualsOneByOne) {
  std::vector<std::vector<double>> found;
  for (const bool batching : {true, false}) {
    Observed observed;
    ComputationGraph cg(batching);
    observe(cg, &observed);
    model.reset_gradient();
    const Expression l = loss(cg);
    cg.backward(l);
    std::size_t forward = 0;
    std::size_t backward = 0;
    for (const Observed::Call& call : observed.calls()) {
      if (cg.state().graph[call.members[0]].signature->from != nullptr) {
        ++(call.backward ? backward : forward);
      }
    }
    EXPECT_EQ(forward, batching ? 2U : 6U);
    EXPECT_EQ(backward, batching ? 2U : 6U);
    found.push_back(numbers(l.value()));
    found.push_back(numbers(w.get_storage().g));
    found.push_back(numbers(u.get_storage().g));
    observe(cg, nullptr);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(compare(found[i], found[i + 3], tolerance::kFewInFloat), "");
  }
}

/// One node that is copied twice, beside a use of its own: the gradients add up.
TEST_P(Copies, GradientsAddUp) {
  ComputationGraph cg;
  const Expression x = tanh(input(cg, {2}, Floats{0.5F, -1.0F}));
  const Expression first = to_device(x, to);
  const Expression second = to_device(x, to);
  const Expression there = sum_elems(first * 2.0F) + sum_elems(second * 3.0F);
  const Expression l = to_device(there, from) + sum_elems(x * 5.0F);
  cg.backward(l, true);
  EXPECT_EQ(numbers(x.gradient()), (std::vector<double>{10, 10}));
  EXPECT_EQ(numbers(first.gradient()), (std::vector<double>{2, 2}));
  EXPECT_EQ(numbers(second.gradient()), (std::vector<double>{3, 3}));
  EXPECT_EQ(first.gradient().device, to);
  EXPECT_EQ(x.gradient().device, from);
}

/// Copies of batches, of results that do not lie side by side, and of nodes without gradients.
TEST_P(Copies, OfAnyNodes) {
  ComputationGraph cg;
  const Expression batch = input(cg, Dim({2}, 3), Floats{1, 2, 3, 4, 5, 6});
  const Expression row = pick_batch_elem(batch, 1U);
  const Expression there = to_device(batch, to);
  EXPECT_EQ(there.dim(), Dim({2}, 3));
  EXPECT_EQ(numbers(there.value()), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(numbers(to_device(row, to).value()), (std::vector<double>{3, 4}));
  EXPECT_EQ(numbers(to_device(parameter(cg, w), to).value()), numbers(*w.values()));
  EXPECT_EQ(numbers(to_device(reshape(row, {1, 2}), to).value()), (std::vector<double>{3, 4}));
  const Expression constant_loss = sum_batches(squared_norm(there));
  cg.backward(constant_loss);  // nothing is trained: nothing to do
  cg.backward(constant_loss, true);
  EXPECT_EQ(numbers(batch.gradient()), (std::vector<double>{2, 4, 6, 8, 10, 12}));
}

TEST_P(Copies, InMarksAndAfterInvalidation) {
  ComputationGraph cg;
  Floats numbers_behind{1.0F, 2.0F};
  const Expression x = input(cg, {2}, &numbers_behind);
  const Expression there = to_device(x, to);
  EXPECT_EQ(numbers(there.value()), (std::vector<double>{1, 2}));
  for (int i = 0; i < 20; ++i) {
    cg.checkpoint();
    const Expression back = to_device(there * 2.0F, from);
    EXPECT_EQ(numbers(back.value()), (std::vector<double>{2, 4}));
    EXPECT_EQ(numbers((back + x).value()), (std::vector<double>{3, 6}));
    EXPECT_EQ(execute::verify(cg.state().executor), "");
    cg.revert();
    EXPECT_EQ(execute::verify(cg.state().executor), "");
    EXPECT_THROW(back.value(), errors::StaleExpression);
    EXPECT_EQ(numbers(there.value()), (std::vector<double>{1, 2}));
  }
  numbers_behind = {3.0F, 4.0F};
  EXPECT_EQ(numbers(there.value()), (std::vector<double>{1, 2}));
  cg.invalidate();
  EXPECT_EQ(numbers(there.value()), (std::vector<double>{3, 4}));
  EXPECT_EQ(numbers(cg.forward(there)), (std::vector<double>{3, 4}));
}

TEST_P(Copies, InInferenceScopes) {
  std::vector<double> expected;
  for (const bool scoped : {false, true}) {
    ComputationGraph cg;
    Expression h = input(cg, {2}, Floats{0.5F, -0.25F});
    std::optional<InferenceScope> inference;
    if (scoped) {
      inference.emplace();
    }
    for (int i = 0; i < 40; ++i) {
      h = tanh(h * 1.1F);
      h = to_device(h, i % 2 == 0 ? to : from);
    }
    const std::vector<double> found = numbers(h.value());
    EXPECT_EQ(execute::verify(cg.state().executor), "");
    if (scoped) {
      EXPECT_EQ(found, expected);
    }
    expected = found;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Pairs, Copies,
    ::testing::Values(std::tuple("CPU", "CPU:double"), std::tuple("CPU:double", "CPU"),
                      std::tuple("CPU", "FAR:0"), std::tuple("FAR:0", "CPU"),
                      std::tuple("FAR:0", "FAR:1"), std::tuple("FAR:1", "FAR:0"),
                      std::tuple("FAR:1", "FAR:0:double"), std::tuple("FAR:0:double", "CPU")),
    [](const auto& one) {
      std::string name = std::string(std::get<0>(one.param)) + "To" + std::get<1>(one.param);
      std::erase(name, ':');
      return name;
    });

/// The queues of two devices are independent: nothing waits that does not read from the other.
TEST(ToDevice, OnlyCopiesWait) {
  const DefaultDevice scope(device("CPU"));
  device("FAR:0")->memory->wait();
  device("FAR:1")->memory->wait();
  ComputationGraph cg;
  Expression left = ones(cg, {4}, device("FAR:0"));
  Expression right = ones(cg, {4}, device("FAR:1"));
  for (int i = 0; i < 10; ++i) {
    left = tanh(left);
    right = tanh(right);
  }
  const Expression all = concatenate({left, to_device(right, device("FAR:0"))});
  static_cast<void>(cg.incremental_forward(sum_elems(all)));
  // The copy waited for its operand and for nothing else.
  EXPECT_EQ(far_queue_length(*device("FAR:1")), 0U);
  EXPECT_GT(far_queue_length(*device("FAR:0")), 10U);
  EXPECT_EQ(as_vector(all.value())[0], as_vector(all.value())[7]);
}

/// A device with a queue gets all its possible work before the host begins, and steps for which the
/// host waits come last: two independent halves of a graph run at the same time, however the
/// program mixed them.
TEST(SeveralDevices, TheHostComputesWhileOthersDo) {
  for (const bool batching : {false, true}) {
    const DefaultDevice scope(device("CPU"));
    ComputationGraph cg(batching);
    Expression here = ones(cg, {4});
    Expression there = ones(cg, {4}, device("FAR:0"));
    for (int i = 0; i < 10; ++i) {
      here = i % 2 == 0 ? tanh(here) : square(here);
      there = i % 2 == 0 ? square(there) : tanh(there);
    }
    const Expression all = concatenate({to_device(there, device("CPU")), exp(here)});
    Observed observed;
    observe(cg, &observed);
    static_cast<void>(all.value());
    observe(cg, nullptr);
    std::vector<std::size_t> far;
    std::vector<std::size_t> near;
    std::size_t copy = 0;
    for (std::size_t i = 0; i < observed.calls().size(); ++i) {
      const graph::Signature& s = *cg.state().graph[observed.calls()[i].members[0]].signature;
      if (s.from != nullptr) {
        copy = i;
      } else if (observed.calls()[i].members[0] != all.i) {
        (s.device->is_host_visible() ? near : far).push_back(i);
      }
    }
    ASSERT_GE(far.size(), 10U);
    ASSERT_GE(near.size(), 11U);
    EXPECT_LT(far.back(), near.front());
    EXPECT_LT(near.back(), copy);
  }
}

// ---- models ------------------------------------------------------------------------------------

/// Two layers of a model and an embedding, each on a given device.
struct Model {
  ParameterCollection all;
  LookupParameter e;
  Parameter w, v;
  Device* home;

  Model(Device* embeddings, Device* first, Device* second)
      : e(all.add_lookup_parameters(6, {3}, ParameterInitFromVector(numbers_of(18)), "e",
                                    embeddings)),
        w(all.add_parameters({4, 3}, ParameterInitFromVector(numbers_of(12)), "w", first)),
        v(all.add_parameters({2, 4}, ParameterInitFromVector(numbers_of(8)), "v", second)),
        home(first) {}
  static Floats numbers_of(std::size_t n) {
    Floats numbers;
    for (std::size_t i = 0; i < n; ++i) {
      numbers.push_back(0.1F * static_cast<float>((i * 7) % 11) - 0.5F);
    }
    return numbers;
  }
  [[nodiscard]] Expression loss(ComputationGraph& cg, unsigned word) const {
    const Expression x = to_device(lookup(cg, e, word % 6), w.values()->device);
    const Expression h = to_device(tanh(parameter(cg, w) * x), v.values()->device);
    return to_device(pickneglogsoftmax(parameter(cg, v) * h, word % 2), home);
  }
  [[nodiscard]] std::vector<double> values() const {
    std::vector<double> found;
    for (const Tensor* t :
         {&e.get_storage().all_values, &w.get_storage().values, &v.get_storage().values}) {
      const std::vector<double> some = numbers(*t);
      found.insert(found.end(), some.begin(), some.end());
    }
    return found;
  }
};

template <class MakeTrainer>
std::vector<double> trained(Model& model, MakeTrainer make) {
  auto trainer = make(model.all);
  for (unsigned step = 0; step < 12; ++step) {
    ComputationGraph cg;
    std::vector<Expression> losses;
    losses.reserve(4);
    for (unsigned i = 0; i < 4; ++i) {
      losses.push_back(model.loss(cg, step + i * 5));
    }
    cg.backward(sum(losses));
    trainer.update();
  }
  return model.values();
}

TEST(SeveralDevices, OneTrainerTrainsParametersOnAllOfThem) {
  const auto sgd = [](ParameterCollection& all) { return SimpleSGDTrainer(all, 0.2F); };
  const auto adam = [](ParameterCollection& all) {
    AdamTrainer trainer(all, 0.05F);
    trainer.clip_threshold = 0.5F;  // the norm of all devices together
    return trainer;
  };
  const auto check = [](const auto& make) {
    Model one(device("CPU"), device("CPU"), device("CPU"));
    Model many(device("FAR:0"), device("CPU"), device("FAR:1"));
    Model mixed(device("CPU:double"), device("FAR:1"), device("CPU"));
    const std::vector<double> expected = trained(one, make);
    EXPECT_NE(compare(expected, Model(device("CPU"), device("CPU"), device("CPU")).values(), 0.01),
              "");
    EXPECT_EQ(compare(trained(many, make), expected, tolerance::kSumsInFloat), "");
    EXPECT_EQ(compare(trained(mixed, make), expected, tolerance::kSumsInFloat), "");
  };
  check(sgd);
  check(adam);
}

/// States of trainers follow their parameters, whatever the default device is.
TEST(SeveralDevices, TrainersFollowTheirParameters) {
  Model model(device("FAR:0"), device("CPU:double"), device("CPU"));
  AdamTrainer trainer(model.all, 0.1F);
  const std::vector<double> before = model.values();
  {
    ComputationGraph cg;
    cg.backward(model.loss(cg, 1));
  }
  const DefaultDevice scope(device("FAR:1"));
  trainer.update();
  // The first step of Adam moves by the rate, against the sign of the gradient.
  const std::vector<double> after = model.values();
  EXPECT_NEAR(std::abs(after[3] - before[3]), 0.1, tolerance::kSumsInFloat);  // row 1
  EXPECT_EQ(after[0], before[0]);
  EXPECT_NEAR(std::abs(after[18] - before[18]), 0.1, tolerance::kSumsInFloat);
}

TEST(SeveralDevices, ModelsAreSavedAndLoaded) {
  const TemporaryFolder folder;
  const std::string file = folder.file("several_devices.model");
  Model many(device("FAR:0"), device("CPU:double"), device("FAR:1"));
  trained(many, [](ParameterCollection& all) { return SimpleSGDTrainer(all, 0.2F); });
  {
    TextFileSaver saver(file);
    saver.save(many.all);
  }
  Model other(device("CPU:double"), device("FAR:0:double"), device("CPU"));
  TextFileLoader(file).populate(other.all);
  EXPECT_EQ(compare(other.values(), many.values(), tolerance::kFewInFloat), "");
  ComputationGraph cg;
  EXPECT_NEAR(numbers(many.loss(cg, 3).value())[0], numbers(other.loss(cg, 3).value())[0],
              tolerance::kFewInFloat);
}

/// Graphs one after the other, on the same devices and on others, find nothing of each other.
TEST(SeveralDevices, GraphsOfOtherDevicesFollowEachOther) {
  for (int round = 0; round < 3; ++round) {
    for (const char* home : {"CPU", "FAR:0", "CPU:double", "FAR:1"}) {
      const DefaultDevice scope(device(home));
      ComputationGraph cg;
      Expression x = input(cg, {2}, Floats{1, 2});
      for (const char* name : {"FAR:1", "CPU", "FAR:0", "CPU:double"}) {
        x = to_device(x, device(name)) * 2.0F;
      }
      const Expression l = sum_elems(x);
      cg.backward(l, true);
      EXPECT_EQ(numbers(l.value())[0], 48.0) << home;
      EXPECT_EQ(numbers(cg.get_gradient(0U))[0], 16.0) << home;
      EXPECT_EQ(execute::verify(cg.state().executor), "");
    }
  }
}

}  // namespace
}  // namespace dynet::testing
