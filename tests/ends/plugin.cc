// A library that a program loads and unloads, with the library behind it.

#include <memory>
#include <string>
#include <vector>

#include "dynet/ext/add_node.h"
#include "dynet/init.h"

#include "ends/objects.h"

namespace {

using namespace dynet;

/// An operation of the plugin's own.
struct PluginCube {
  float scale = 1.0F;

  static constexpr ext::Info kInfo{.name = "plugin_cube",
                                   .args = {"x"},
                                   .attrs = {"scale"},
                                   .formula = "y = scale * x^3",
                                   .summary = "Cubes.",
                                   .shapes = "any -> the same"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const { return scale * x * x * x; }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const { return 3.0 * scale * x * x; }
  static std::vector<ext::Example<PluginCube>> examples() { return {{{}, {{4, 3}}}}; }
};

std::unique_ptr<ends::Objects> kept;
std::unique_ptr<ComputationGraph> graph;

}  // namespace

extern "C" int run_plugin(int kept_for_the_end) {
  set_log_sink([](const std::string& /*text*/) {});
  ends::Objects objects;
  objects.step();
  ComputationGraph& cg = *objects.graph;
  cg.clear();
  const Expression x = parameter(cg, objects.w);
  const Expression y = ext::add_node(PluginCube{2.0F}, detail::Located(x, Where()));
  cg.backward(sum_elems(y));
  set_log_sink({});
  if (kept_for_the_end != 0) {
    kept = std::make_unique<ends::Objects>();
    kept->step();
    graph = std::make_unique<ComputationGraph>();
  }
  return get_number_of_active_graphs();
}
