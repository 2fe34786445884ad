// Names of tensor.h, index-tensor.h, model.h, weight-decay.h, shadow-params.h, param-init.h,
// saxe-init.h, devices.h, globals.h, init.h.

#include "dynet/model.h"

#include <cstdio>
#include <fstream>

#include "dynet/device-structs.h"
#include "dynet/devices.h"
#include "dynet/globals.h"
#include "dynet/index-tensor.h"
#include "dynet/init.h"
#include "dynet/param-init.h"
#include "dynet/saxe-init.h"
#include "dynet/shadow-params.h"
#include "dynet/tensor.h"
#include "dynet/timing.h"
#include "dynet/weight-decay.h"

#include "names.h"

using namespace dynet;  // NOLINT(google-build-using-namespace): as programs do
using std::string;
using std::vector;

TEST(Names, Devices) {
  DYNET_HAS(DeviceType, DeviceType::CPU);
  DYNET_HAS(DeviceType, DeviceType::GPU);
  DYNET_EQ(0, static_cast<int>(DeviceMempool::FXS));
  DYNET_EQ(1, static_cast<int>(DeviceMempool::DEDFS));
  DYNET_EQ(2, static_cast<int>(DeviceMempool::PS));
  DYNET_EQ(3, static_cast<int>(DeviceMempool::SCS));
  DYNET_EQ(4, static_cast<int>(DeviceMempool::NONE));
  DYNET_HAS(Device*, default_device);
  DYNET_EQ("CPU", default_device->name);
  DYNET_EQ(DeviceType::CPU, default_device->type);
  DYNET_HAS(int, default_device->device_id);
  DYNET_HAS(DeviceManager*, get_device_manager());
  DeviceManager* manager = get_device_manager();
  DYNET_EQ(default_device, manager->get_global_device(""));
  DYNET_EQ(default_device, manager->get_global_device("CPU"));
  DYNET_THROWS(std::runtime_error, static_cast<void>(manager->get_global_device("GPU:77")));
  DYNET_HAS(std::size_t, manager->num_devices());
  DYNET_HAS(const vector<Device*>&, manager->get_devices());
  DYNET_HAS(Device*, manager->get(0));
  DYNET_HAS(void, manager->clear());
  DYNET_HAS(void(DeviceManager::*)(Device*), &DeviceManager::add);
}

TEST(Names, Starting) {
  string program = "program";
  string seed = "--dynet-seed=5";
  string own = "own";
  char* arguments[] = {program.data(), seed.data(), own.data(), nullptr};
  int argc = 3;
  char** argv = arguments;
  DYNET_HAS(DynetParams, extract_dynet_params(argc, argv));
  DYNET_EQ(2, argc);
  DynetParams params = extract_dynet_params(argc, argv, true);
  DYNET_EQ(true, params.shared_parameters);
  params = DynetParams();
  DYNET_EQ(0U, params.random_seed);
  DYNET_EQ(0.0F, params.weight_decay);
  DYNET_EQ(0, params.profiling);
  DYNET_EQ(false, params.shared_parameters);
  DYNET_EQ(false, params.ngpus_requested);
  DYNET_EQ(false, params.ids_requested);
  DYNET_EQ(false, params.cpu_requested);
  DYNET_EQ(-1, params.requested_gpus);
  DYNET_HAS(string, params.mem_descriptor);
  DYNET_HAS(int, params.autobatch);
  DYNET_HAS(vector<int>, params.gpu_mask);
  params.weight_decay = 1.0F;
  DYNET_THROWS(std::invalid_argument, initialize(params));
  params.weight_decay = 0.0F;
  DYNET_HAS(void, initialize(params));
  DYNET_EQ(true, params.random_seed != 0);
  DYNET_HAS(void, initialize(argc, argv));
  DYNET_HAS(void, initialize(argc, argv, false));
  DYNET_HAS(void, reset_rng(3));
  DYNET_HAS(std::mt19937*, rndeng);
  DYNET_HAS(float, default_weight_decay_lambda);
  DYNET_HAS(int, autobatch_flag);
  DYNET_HAS(int, profiling_flag);
  DYNET_HAS(void, timer.start("part"));
  DYNET_HAS(void, timer.stop("part"));
  timer.cumtimes.clear();
  timer.timers.clear();
  DYNET_HAS(void, cleanup());
}

TEST(Names, Tensors) {
  static_assert(std::is_same_v<real, float>);
  vector<float> numbers{1, 2, 3, 4};
  DYNET_EQ(nullptr, Tensor().v);
  DYNET_EQ(nullptr, Tensor().device);
  DYNET_EQ(DeviceMempool::NONE, Tensor().mem_pool);
  const Tensor t(Dim({2}, 2), numbers.data(), default_device, DeviceMempool::FXS);
  Tensor own = t;
  DYNET_HAS(Dim, own.d);
  DYNET_HAS(float*, own.batch_ptr(1));
  DYNET_HAS(const float*, t.batch_ptr(1));
  DYNET_HAS(bool, t.is_valid());
  DYNET_HAS(Tensor, t.batch_elem(1));
  DYNET_THROWS(std::runtime_error, static_cast<void>(t.batch_elem(2)));
  DYNET_HAS(vector<Tensor>, t.batch_elems());
  std::ostringstream out;
  DYNET_HAS(std::ostream&, out << t.batch_elem(0));
  DYNET_THROWS(std::invalid_argument, out << t);
  DYNET_THROWS(std::runtime_error, as_scalar(t));
  DYNET_HAS(real, as_scalar(Tensor({1}, numbers.data(), default_device, DeviceMempool::FXS)));
  DYNET_EQ(numbers, as_vector(t));
  DYNET_EQ((vector<real>{2, 4, 6, 8}), as_scale_vector(t, 2.0F));
  DYNET_HAS(real, rand01());
  DYNET_HAS(int, rand0n(3));
  DYNET_THROWS(std::runtime_error, rand0n(0));
  DYNET_HAS(real, rand_normal());
}

TEST(Names, TensorToolsThatWrite) {
  vector<float> numbers{1, 2, 3, 4};
  Tensor t({2, 2}, numbers.data(), default_device, DeviceMempool::FXS);
  vector<float> others(4);
  Tensor u({2, 2}, others.data(), default_device, DeviceMempool::FXS);
  DYNET_HAS(void, TensorTools::clip(t, 0.0F, 3.0F));
  DYNET_HAS(void, TensorTools::scale(t, 0.1F, 0.0F));
  DYNET_HAS(void, TensorTools::uniform_to_bernoulli(t, 0.5F));
  DYNET_HAS(void, TensorTools::constant(t, 2.0F));
  DYNET_HAS(void, TensorTools::zero(t));
  DYNET_HAS(void, TensorTools::identity(t));
  DYNET_HAS(void, TensorTools::randomize_bernoulli(t, 0.5F));
  DYNET_HAS(void, TensorTools::randomize_bernoulli(t, 0.5F, 2.0F));
  DYNET_HAS(void, TensorTools::randomize_normal(t, 1.0F, 2.0F));
  DYNET_HAS(void, TensorTools::randomize_uniform(t, -1.0F, 1.0F));
  DYNET_HAS(void, TensorTools::randomize_orthonormal(t, 1.0F));
  const auto filled = [&](auto fill) {
    reset_rng(5);
    fill();
    return numbers;
  };
  DYNET_EQ(filled([&] { TensorTools::randomize_bernoulli(t, 0.5F, 1.0F); }),
           filled([&] { TensorTools::randomize_bernoulli(t, 0.5F); }));
  DYNET_EQ(filled([&] { TensorTools::randomize_normal(t, 0.0F, 1.0F); }),
           filled([&] { TensorTools::randomize_normal(t); }));
  DYNET_EQ(filled([&] { TensorTools::randomize_uniform(t, 0.0F, 1.0F); }),
           filled([&] { TensorTools::randomize_uniform(t); }));
  DYNET_EQ(filled([&] { TensorTools::randomize_orthonormal(t, 1.0F); }),
           filled([&] { TensorTools::randomize_orthonormal(t); }));
  DYNET_HAS(void, TensorTools::set_elements(t, {1, 2, 3, 4}));
  DYNET_HAS(void, TensorTools::set_element(t, 1, 5.0F));
  DYNET_EQ(5.0F, TensorTools::access_element(t, 1));
  DYNET_EQ(3.0F, TensorTools::access_element(t, Dim({0, 1})));
  DYNET_HAS(void, TensorTools::copy_element(t, 1, u, 0));
  DYNET_HAS(void, TensorTools::copy_elements(u, t));
  DYNET_HAS(void, TensorTools::accumulate(u, t));
  DYNET_EQ((vector<float>{2, 10, 6, 8}), others);
  DYNET_HAS(void, orthonormal_random(2, 1.0F, t));
}

TEST(Names, TensorToolsThatRead) {
  vector<float> numbers{1, 5, 3, 4};
  const Tensor t({4}, numbers.data(), default_device, DeviceMempool::FXS);
  DYNET_EQ(1, as_vector(TensorTools::argmax(t))[0]);
  DYNET_HAS(IndexTensor, TensorTools::argmax(t, 0, 1));
  DYNET_THROWS(std::runtime_error, static_cast<void>(TensorTools::argmax(t, 0, 2)));
  DYNET_HAS(IndexTensor, TensorTools::categorical_sample_log_prob(t));
  DYNET_HAS(IndexTensor, TensorTools::categorical_sample_log_prob(t, 0, 1));
  using Pair = std::pair<Tensor, IndexTensor>;
  DYNET_HAS(Pair, TensorTools::topk(t, 0, 2));
  DYNET_EQ(1, as_vector(TensorTools::topk(t).second)[0]);
  float largest = 0;
  float sum = 0;
  Tensor m({1}, &largest, default_device, DeviceMempool::FXS);
  Tensor z({1}, &sum, default_device, DeviceMempool::FXS);
  DYNET_HAS(void, TensorTools::logsumexp(t, m, z));
  DYNET_HAS(void, TensorTools::logsumexp(t, m, z, 0));
  vector<Eigen::DenseIndex> indices{2, 1};
  const IndexTensor i({2}, indices.data(), default_device, DeviceMempool::FXS);
  DYNET_EQ(indices, as_vector(i));
  DYNET_HAS(Dim, i.d);
  DYNET_HAS(Eigen::DenseIndex*, i.v);
  DYNET_HAS(Device*, i.device);
  DYNET_HAS(DeviceMempool, i.mem_pool);
  DYNET_EQ(nullptr, IndexTensor().v);
}

template <class Storage>
void base_names(Storage& storage) {
  ParameterStorageBase& base = storage;
  float norm = 0;
  DYNET_HAS(void, base.scale_parameters(2.0F));
  DYNET_HAS(void, base.scale_gradient(2.0F));
  DYNET_HAS(void, base.squared_l2norm(&norm));
  DYNET_HAS(void, base.g_squared_l2norm(&norm));
  DYNET_HAS(bool, base.is_updated());
  DYNET_HAS(bool, base.has_grad());
  DYNET_HAS(std::size_t, base.size());
  DYNET_HAS(void, base.zero());
  DYNET_HAS(string, storage.name);
  DYNET_HAS(bool, storage.updated);
  DYNET_HAS(bool, storage.nonzero_grad);
  DYNET_HAS(ParameterCollection*, storage.owner);
  DYNET_HAS(Device*, storage.device);
  DYNET_HAS(Dim, storage.dim);
}

TEST(Names, Storages) {
  ParameterCollection model;
  Parameter p = model.add_parameters({2}, ParameterInitConst(1.0F));
  const LookupParameter lp = model.add_lookup_parameters(3, {2}, ParameterInitConst(1.0F));
  ParameterStorage& s = p.get_storage();
  base_names(s);
  DYNET_HAS(Tensor, s.values);
  DYNET_HAS(Tensor, s.g);
  DYNET_HAS(void, s.copy(s));
  DYNET_HAS(void, s.accumulate_grad(s.values));
  DYNET_HAS(void, s.clear());
  DYNET_HAS(void, s.clip(-1.0F, 1.0F));
  DYNET_HAS(void, s.set_value({1, 2}));
  LookupParameterStorage& ls = lp.get_storage();
  base_names(ls);
  DYNET_EQ(Dim({2, 3}), ls.all_dim);
  DYNET_HAS(Tensor, ls.all_values);
  DYNET_HAS(Tensor, ls.all_grads);
  DYNET_HAS(vector<Tensor>, ls.values);
  DYNET_HAS(vector<Tensor>, ls.grads);
  DYNET_HAS(std::unordered_set<unsigned>, ls.non_zero_grads);
  DYNET_HAS(bool, ls.all_updated);
  DYNET_HAS(void, ls.initialize(1, {3, 4}));
  DYNET_THROWS(std::invalid_argument, ls.initialize(1, {3}));
  DYNET_HAS(void, ls.copy(ls));
  DYNET_HAS(void, ls.accumulate_grad(1, s.values));
  DYNET_HAS(void, ls.accumulate_grad(ls.all_values));
  DYNET_HAS(void, ls.clear());
  const unsigned ids[] = {2, 0, 2};
  float gradients[] = {1, 2, 3, 4, 5, 6};
  DYNET_HAS(void, ls.accumulate_grads(3, ids, ids, gradients));
  DYNET_EQ((vector<float>{3, 4, 0, 0, 6, 8}), as_vector(lp.get_storage().all_grads));
  const unsigned no_row[] = {1, 3};
  EXPECT_THROW(ls.accumulate_grads(2, no_row, no_row, gradients), errors::IndexError);
  EXPECT_EQ(as_vector(ls.all_grads), (vector<float>{3, 4, 0, 0, 6, 8}));  // nothing was added
  DYNET_HAS(void, ls.initialize_lookups());
}

TEST(Names, Handles) {
  ParameterCollection model;
  Parameter p = model.add_parameters({2}, "b");
  DYNET_HAS(std::shared_ptr<ParameterStorage>, p.p);
  DYNET_CAN(const Parameter unset; EXPECT_EQ(unset.p, nullptr));
  DYNET_CAN(const Parameter same = p.p; EXPECT_EQ(same.p, p.p));
  DYNET_CAN(Parameter none = nullptr; none = nullptr; EXPECT_FALSE(none));
  DYNET_HAS(ParameterStorage&, p.get_storage());
  DYNET_EQ("/b", p.get_fullname());
  DYNET_HAS(Dim, p.dim());
  DYNET_HAS(Tensor*, p.values());
  DYNET_HAS(Tensor*, p.gradients());
  DYNET_EQ(1.0F, p.current_weight_decay());
  DYNET_HAS(void, p.set_updated(false));
  DYNET_HAS(bool, p.is_updated());
  DYNET_HAS(void, p.scale(2.0F));
  DYNET_HAS(void, p.scale_gradient(2.0F));
  DYNET_HAS(void, p.clip_inplace(-1.0F, 1.0F));
  DYNET_HAS(void, p.set_value({1, 2}));
  DYNET_HAS(void, p.zero());
  LookupParameter lp = model.add_lookup_parameters(3, {2}, "e");
  DYNET_HAS(std::shared_ptr<LookupParameterStorage>, lp.p);
  DYNET_CAN(const LookupParameter unset; EXPECT_EQ(unset.p, nullptr));
  DYNET_CAN(const LookupParameter same = lp.p; EXPECT_EQ(same.p, lp.p));
  DYNET_CAN(LookupParameter none = nullptr; none = nullptr; EXPECT_FALSE(none));
  DYNET_HAS(LookupParameterStorage&, lp.get_storage());
  const LookupParameter& fixed = lp;
  DYNET_HAS(void, fixed.initialize(0, {1, 2}));
  DYNET_EQ("/e", lp.get_fullname());
  DYNET_EQ(Dim({2}), lp.dim());
  DYNET_HAS(vector<Tensor>*, lp.values());
  DYNET_EQ(1.0F, lp.current_weight_decay());
  DYNET_HAS(void, lp.scale(2.0F));
  DYNET_HAS(void, lp.scale_gradient(2.0F));
  DYNET_HAS(void, lp.set_updated(true));
  DYNET_HAS(bool, lp.is_updated());
  DYNET_HAS(void, lp.zero());
}

/// An initialiser of the program's own.
struct InitOnes : ParameterInit {
  void initialize_params(Tensor& values) const override { TensorTools::constant(values, 1.0F); }
};

TEST(Names, Additions) {
  ParameterCollection pc;
  Device* const d = default_device;
  DYNET_HAS(Parameter, pc.add_parameters({2}));
  DYNET_HAS(Parameter, pc.add_parameters({2}, 0.5F));
  DYNET_HAS(Parameter, pc.add_parameters({2}, 0.5F, "a"));
  DYNET_HAS(Parameter, pc.add_parameters({2}, 0.5F, "a", d));
  DYNET_HAS(Parameter, pc.add_parameters({2}, d));
  DYNET_HAS(Parameter, pc.add_parameters({2}, "a"));
  DYNET_HAS(Parameter, pc.add_parameters({2}, string("a"), d));
  DYNET_HAS(Parameter, pc.add_parameters({2}, InitOnes()));
  DYNET_HAS(Parameter, pc.add_parameters({2}, InitOnes(), "a"));
  DYNET_HAS(Parameter, pc.add_parameters({2}, InitOnes(), "a", d));
  DYNET_HAS(LookupParameter, pc.add_lookup_parameters(3, {2}));
  DYNET_HAS(LookupParameter, pc.add_lookup_parameters(3, {2}, "a"));
  DYNET_HAS(LookupParameter, pc.add_lookup_parameters(3, {2}, "a", d));
  DYNET_HAS(LookupParameter, pc.add_lookup_parameters(3, {2}, InitOnes()));
  DYNET_HAS(LookupParameter, pc.add_lookup_parameters(3, {2}, InitOnes(), "a"));
  DYNET_HAS(LookupParameter, pc.add_lookup_parameters(3, {2}, InitOnes(), "a", d));
  DYNET_HAS(ParameterCollection, pc.add_subcollection());
  DYNET_HAS(ParameterCollection, pc.add_subcollection("sub"));
  DYNET_EQ(0.1F, pc.add_subcollection("sub", 0.1F).get_weight_decay_lambda());
  DYNET_THROWS(std::runtime_error, pc.add_parameters({2}, "a_b"));
  const auto values = [](const auto& add) {
    reset_rng(3);
    ParameterCollection m;
    return as_vector(*add(m).values());
  };
  using PC = ParameterCollection;
  DYNET_EQ(values([](PC& m) { return m.add_parameters({3, 4}, ParameterInitGlorot()); }),
           values([](PC& m) { return m.add_parameters({3, 4}); }));
  const auto table = [](const auto& add) {
    reset_rng(3);
    ParameterCollection m;
    return as_vector(add(m).get_storage().all_values);
  };
  DYNET_EQ(table([](PC& m) { return m.add_lookup_parameters(3, {4}, ParameterInitGlorot(true)); }),
           table([](PC& m) { return m.add_lookup_parameters(3, {4}); }));
}

TEST(Names, Collections) {
  ParameterCollection pc(0.25F);
  DYNET_EQ(0.25F, pc.get_weight_decay_lambda());
  DYNET_EQ("/", ParameterCollection().get_fullname());
  DYNET_EQ(default_weight_decay_lambda, ParameterCollection().get_weight_decay_lambda());
  Parameter p = pc.add_parameters({2}, "p");
  LookupParameter lp = pc.add_lookup_parameters(3, {2}, "lp");
  DYNET_HAS(float, pc.gradient_l2_norm());
  DYNET_HAS(void, pc.reset_gradient());
  DYNET_EQ(1U, pc.size());
  DYNET_HAS(std::shared_ptr<ParameterStorage>, pc.get_parameter_storage("/p"));
  DYNET_HAS(std::shared_ptr<LookupParameterStorage>, pc.get_lookup_parameter_storage("/lp"));
  DYNET_THROWS(std::runtime_error, static_cast<void>(pc.get_parameter_storage("/no")));
  using Parameters = vector<std::shared_ptr<ParameterStorage>>;
  using Lookups = vector<std::shared_ptr<LookupParameterStorage>>;
  using Bases = vector<std::shared_ptr<ParameterStorageBase>>;
  DYNET_HAS(Parameters, pc.get_parameter_storages());
  DYNET_HAS(Lookups, pc.get_lookup_parameter_storages());
  DYNET_HAS(Bases, pc.get_parameter_storages_base());
  DYNET_HAS(const Parameters&, pc.parameters_list());
  DYNET_HAS(const Lookups&, pc.lookup_parameters_list());
  DYNET_EQ(8U, pc.parameter_count());
  DYNET_EQ(8U, pc.updated_parameter_count());
  DYNET_HAS(void, pc.project_weights());
  DYNET_HAS(void, pc.project_weights(1.0F));
  DYNET_HAS(void, pc.set_weight_decay_lambda(0.5F));
  DYNET_THROWS(std::domain_error, pc.set_weight_decay_lambda(-1.0F));
  DYNET_HAS(L2WeightDecay&, pc.get_weight_decay());
  DYNET_HAS(ParameterCollectionStorage&, pc.get_storage());
  const ParameterCollection& fixed = pc;
  DYNET_HAS(const ParameterCollectionStorage&, fixed.get_storage());
  DYNET_HAS(void, pc.set_updated_param(&p, false));
  DYNET_HAS(void, pc.set_updated_lookup_param(&lp, false));
  DYNET_EQ(false, pc.is_updated_param(&p));
  DYNET_EQ(false, pc.is_updated_lookup_param(&lp));
  ParameterCollectionStorage& s = pc.get_storage();
  DYNET_HAS(Bases, s.all_params);
  DYNET_HAS(Parameters, s.params);
  DYNET_HAS(Lookups, s.lookup_params);
  DYNET_HAS(L2WeightDecay&, (s.weight_decay));
  DYNET_HAS(void, s.project_weights());
  DYNET_HAS(float, s.gradient_l2_norm());
  DYNET_CAN(const ParameterCollectionStorage own(0.1F));
  DYNET_DERIVES(Model, ParameterCollection);
  DYNET_CAN(Model old; old.add_parameters({2}));
}

TEST(Names, WeightDecay) {
  DYNET_EQ(1e-6F, L2WeightDecay().get_lambda());
  L2WeightDecay decay(0.1F);
  DYNET_HAS(void, decay.set_lambda(0.5F));
  DYNET_THROWS(std::domain_error, decay.set_lambda(-1.0F));
  DYNET_HAS(void, decay.update_weight_decay());
  DYNET_EQ(0.5F, decay.current_weight_decay());
  DYNET_HAS(void, decay.update_weight_decay(2));
  DYNET_EQ(true, decay.parameters_need_rescaled());
  DYNET_HAS(void, decay.reset_weight_decay());
}

TEST(Names, Shadows) {
  ParameterCollection model;
  Parameter p = model.add_parameters({2});
  const LookupParameter lp = model.add_lookup_parameters(3, {2});
  DYNET_CAN(const ShadowParameters none; const ShadowLookupParameters nothing);
  DYNET_EQ(Dim({2}), ShadowParameters(p.get_storage()).h.d);
  const ShadowLookupParameters rows(lp.get_storage());
  DYNET_EQ(Dim({2, 3}), rows.all_h.d);
  DYNET_EQ(3U, rows.h.size());
  vector<ShadowParameters> all;
  vector<ShadowLookupParameters> all_rows;
  DYNET_HAS(void, allocate_shadow_parameters(model, 0, all));
  DYNET_HAS(void, allocate_shadow_lookup_parameters(model, 0, all_rows));
  DYNET_EQ(1U, all.size());
  DYNET_EQ(1U, all_rows.size());
}

/// The numbers that an initialiser writes to a square matrix.
vector<float> drawn(const ParameterInit& init) {
  reset_rng(11);
  vector<float> numbers(16);
  Tensor t({4, 4}, numbers.data(), default_device, DeviceMempool::PS);
  init.initialize_params(t);
  return numbers;
}

TEST(Names, Initialisers) {
  DYNET_EQ(drawn(ParameterInitNormal(0.0F, 1.0F)), drawn(ParameterInitNormal()));
  DYNET_EQ(drawn(ParameterInitNormal(2.0F, 1.0F)), drawn(ParameterInitNormal(2.0F)));
  DYNET_EQ(drawn(ParameterInitUniform(-2.0F, 2.0F)), drawn(ParameterInitUniform(2.0F)));
  DYNET_THROWS(std::domain_error, ParameterInitUniform(0.0F));
  DYNET_THROWS(std::domain_error, ParameterInitUniform(1.0F, 1.0F));
  DYNET_EQ(vector<float>(16, 3.0F), drawn(ParameterInitConst(3.0F)));
  DYNET_EQ(1.0F, drawn(ParameterInitIdentity())[5]);
  DYNET_EQ(drawn(ParameterInitGlorot(false, 1.0F)), drawn(ParameterInitGlorot()));
  DYNET_EQ(drawn(ParameterInitGlorot(true, 1.0F)), drawn(ParameterInitGlorot(true)));
  DYNET_EQ(drawn(ParameterInitSaxe(1.0F)), drawn(ParameterInitSaxe()));
  const vector<float> wanted(16, 0.5F);
  DYNET_EQ(wanted, drawn(ParameterInitFromVector(wanted)));
  const string file = "names.numbers";
  {
    std::ofstream out(file);
    for (const float x : wanted) {
      out << x << ' ';
    }
  }
  DYNET_EQ(wanted, drawn(ParameterInitFromFile(file)));
  std::remove(file.c_str());
}
