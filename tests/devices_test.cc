// Parameters and graphs on different devices: an error that names both, never a wrong number.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "dynet/expr.h"
#include "dynet/lstm.h"
#include "dynet/training.h"

#include "testing/tolerance.h"

namespace dynet {
namespace {

/// A model on one of the two devices, and graphs on the other.
class TwoDevices : public ::testing::TestWithParam<const char*> {
 protected:
  TwoDevices()
      : model_device(get_device_manager()->get_global_device(GetParam())),
        w(model.add_parameters({4, 3}, ParameterInitConst(0.5F), "w", model_device)),
        table(
            model.add_lookup_parameters(5, {3}, ParameterInitConst(0.25F), "table", model_device)) {
    const bool is_float = std::string(GetParam()) == "CPU";
    graph_device = get_device_manager()->get_global_device(is_float ? "CPU:double" : "CPU");
    default_device = graph_device;
  }
  ~TwoDevices() override { default_device = get_device_manager()->get_global_device("CPU"); }

  /// `make` is refused when it builds its node, with both devices named; the graph is as it was.
  void expect_refused(ComputationGraph& cg, const std::function<void()>& make, const char* node,
                      const char* parameter) {
    const std::size_t before = cg.nodes.size();
    try {
      make();
      ADD_FAILURE() << node << " was built";
    } catch (const DeviceError& e) {
      const std::string wanted = std::string(node) + ": " + parameter + " is on device " +
                                 model_device->name + " and the computation graph on " +
                                 graph_device->name +
                                 "; want one device, or a copy made with to_device\n  built at ";
      EXPECT_EQ(std::string(e.what()).substr(0, wanted.size()), wanted);
    }
    EXPECT_EQ(cg.nodes.size(), before);
    EXPECT_EQ(as_scalar(sum_elems(ones(cg, {3})).value()), 3.0F);
  }

  Device* model_device;
  Device* graph_device = nullptr;
  ParameterCollection model;
  Parameter w;
  LookupParameter table;
};

TEST_P(TwoDevices, NodesOfParametersAreRefused) {
  ComputationGraph cg;
  const std::vector<unsigned> rows{1, 2};
  const unsigned row = 3;
  expect_refused(cg, [&] { parameter(cg, w); }, "parameter", "/w");
  expect_refused(cg, [&] { const_parameter(cg, w); }, "parameter", "/w");
  expect_refused(cg, [&] { parameter(cg, table); }, "parameter", "/table");
  expect_refused(cg, [&] { const_parameter(cg, table); }, "parameter", "/table");
  expect_refused(cg, [&] { lookup(cg, table, 1U); }, "lookup", "/table");
  expect_refused(cg, [&] { lookup(cg, table, &row); }, "lookup", "/table");
  expect_refused(cg, [&] { lookup(cg, table, rows); }, "lookup", "/table");
  expect_refused(cg, [&] { lookup(cg, table, &rows); }, "lookup", "/table");
  expect_refused(cg, [&] { const_lookup(cg, table, 1U); }, "lookup", "/table");
  expect_refused(cg, [&] { const_lookup(cg, table, rows); }, "lookup", "/table");
}

TEST_P(TwoDevices, BuildersAreRefused) {
  default_device = model_device;
  VanillaLSTMBuilder lstm(1, 3, 3, model);
  default_device = graph_device;
  ComputationGraph cg;
  EXPECT_THROW(lstm.new_graph(cg), DeviceError);
  EXPECT_EQ(cg.nodes.size(), 0U);
}

/// States of trainers follow their parameters, whatever the default device is.
TEST_P(TwoDevices, TrainersFollowTheirParameters) {
  AdamTrainer trainer(model, 0.1F);
  default_device = model_device;
  ComputationGraph cg;
  const Expression x = lookup(cg, table, 1U);
  cg.backward(sum_elems(parameter(cg, w) * x));
  default_device = graph_device;
  trainer.update();
  // The first step of Adam moves by the rate, against the sign of the gradient.
  for (const float number : as_vector(w.get_storage().values)) {
    EXPECT_NEAR(number, 0.4F, tolerance::kFewInFloat);
  }
  EXPECT_NEAR(as_vector(table.get_storage().values[1])[0], 0.15F, tolerance::kFewInFloat);
  EXPECT_NEAR(as_vector(table.get_storage().values[2])[0], 0.25F, tolerance::kFewInFloat);
}

INSTANTIATE_TEST_SUITE_P(Devices, TwoDevices, ::testing::Values("CPU", "CPU:double"),
                         [](const auto& one) {
                           return std::string(one.param) == "CPU" ? "ModelOnCpu" : "ModelOnDouble";
                         });

}  // namespace
}  // namespace dynet
