#pragma once

// Parameters and the collections that hold them.
//
// `Parameter`, `LookupParameter` and `ParameterCollection` are handles: copies share one storage,
// and no object has to outlive another. Collections of collections form a tree; a parameter is
// listed in its own collection and in all above. Model files hold full names: the second parameter
// "b" of the collection "enc" is "/enc/b_1".
//
// Surprising: gradients are emptied without clearing their memory. `get_storage()`, `gradients()`
// and the lists of a collection make the memory true first, and keep it true from then on; `p.p`
// does not, and a norm may miss numbers that are written to `p.p->g`. Storages hold stored values:
// the effective value of a lookup table is the stored value times `current_weight_decay()`.
// Example: stored 2 with a factor of 0.5 is read as 1.
//
// Thread rule: graphs in several threads may read parameters and add to gradients at the same time
// (each storage has a lock). Whatever changes values, the names or the set of parameters, and
// `Trainer::update`, must have the model for itself.

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dynet/param-init.h"
#include "dynet/tensor.h"
#include "dynet/weight-decay.h"

namespace dynet {

class ParameterCollection;
struct ParameterCollectionStorage;
struct LookupParameterStorage;
namespace detail {
struct StorageState;  // memory, lock and gradient bookkeeping of one parameter (src/params/state.h)
struct CollectionState;  // name, parent and counters of one collection
struct ModelAccess;      // the library's own access to storages
}  // namespace detail

/// The common base of parameters and lookup tables. Made by ParameterCollection only.
struct ParameterStorageBase {
  ParameterStorageBase(const ParameterStorageBase&) = delete;
  ParameterStorageBase& operator=(const ParameterStorageBase&) = delete;
  virtual ~ParameterStorageBase();

  virtual void scale_parameters(float a) = 0;
  virtual void scale_gradient(float a) = 0;
  /// Sets the values to zero and empties the gradient.
  virtual void zero() = 0;
  virtual void squared_l2norm(float* sqnorm) const = 0;
  virtual void g_squared_l2norm(float* sqnorm) const = 0;
  [[nodiscard]] bool is_updated() const { return updated; }
  /// Whether a gradient was added since it was last emptied.
  [[nodiscard]] bool has_grad() const { return nonzero_grad; }
  /// Number of values.
  [[nodiscard]] std::size_t size() const;

  std::string name;     ///< full name
  bool updated = true;  ///< false: gets no gradient and is not changed by trainers
  bool nonzero_grad = false;
  ParameterCollection* owner = nullptr;  ///< the root collection; null after its end
  Device* device = nullptr;

  /// The library's own.
  [[nodiscard]] detail::StorageState& state() const { return *state_; }

 protected:
  explicit ParameterStorageBase(std::unique_ptr<detail::StorageState> state);
  std::unique_ptr<detail::StorageState> state_;
};

/// Values and gradient of one parameter.
struct ParameterStorage final : ParameterStorageBase {
  void scale_parameters(float a) override;
  void scale_gradient(float a) override;
  void zero() override;
  void squared_l2norm(float* sqnorm) const override;
  void g_squared_l2norm(float* sqnorm) const override;
  /// Takes the values of `val`. ShapeError unless the shapes are equal.
  void copy(const ParameterStorage& val);
  /// g += gradient. ShapeError unless it has as many elements.
  void accumulate_grad(const Tensor& gradient);
  /// Empties the gradient.
  void clear();
  void clip(float left, float right);
  /// SizeError unless `val` has as many elements.
  void set_value(const std::vector<float>& val);

  Dim dim;
  Tensor values;
  Tensor g;

 private:
  friend struct detail::ModelAccess;
  ParameterStorage(std::unique_ptr<detail::StorageState> state, const Dim& d, Device* dev);
};

/// Values and gradients of a table with `rows()` rows of shape `dim`.
struct LookupParameterStorage final : ParameterStorageBase {
  void scale_parameters(float a) override;
  void scale_gradient(float a) override;
  void zero() override;
  void squared_l2norm(float* sqnorm) const override;
  void g_squared_l2norm(float* sqnorm) const override;
  /// Sets one row: graphs read these numbers, whatever weight decay there was. IndexError,
  /// SizeError if index or count do not fit.
  void initialize(unsigned index, const std::vector<float>& val);
  void copy(const LookupParameterStorage& val);
  /// Adds to the whole table.
  void accumulate_grad(const Tensor& gradient);
  /// Adds to one row.
  void accumulate_grad(unsigned index, const Tensor& gradient);
  /// Adds to `n` rows, which may repeat: `g` has their gradients one after the other, in the memory
  /// and the numbers of the table's device. `ids_dev`, the rows in the memory of a GPU, is not
  /// read. IndexError if there is no such row; then nothing was added.
  void accumulate_grads(unsigned n, const unsigned* ids_host, const unsigned* ids_dev, float* g);
  void clear();
  /// Fills `values` and `grads`; done by `get_storage()`.
  void initialize_lookups();
  /// The library's own: makes `values` and `all_values` true, to be read until the next update.
  void settle_values();
  [[nodiscard]] unsigned rows() const { return rows_; }

  Dim all_dim;  ///< `dim` with the number of rows as last dimension
  Tensor all_values;
  Tensor all_grads;
  Dim dim;
  std::vector<Tensor> values;  ///< views of the rows
  std::vector<Tensor> grads;
  std::unordered_set<unsigned>
      non_zero_grads;        ///< rows with a gradient, as of the last `get_storage()`
  bool all_updated = false;  ///< the whole table has a gradient

 private:
  friend struct detail::ModelAccess;
  LookupParameterStorage(std::unique_ptr<detail::StorageState> state, const Dim& row, unsigned rows,
                         const Dim& all, Device* dev);
  unsigned rows_;
};

/// A parameter, or no parameter: then its use throws StateError.
///
/// C++: A handle: copies share the parameter.
///
/// Python: It is an expression: its node in this thread's graph.
struct Parameter {
  Parameter() = default;
  Parameter(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): programs write `p = nullptr`
  // NOLINTNEXTLINE(google-explicit-constructor): programs write `p = get_parameter_storage(name)`
  Parameter(std::shared_ptr<ParameterStorage> storage) : p(std::move(storage)) {}
  [[nodiscard]] explicit operator bool() const { return p != nullptr; }

  ParameterStorage& get_storage() const;
  /// The full name, such as "/enc/b_1".
  [[nodiscard]] std::string get_fullname() const;
  /// Values become zero. The gradient of a Parameter becomes zero as well, and the gradient of a
  /// LookupParameter stays, as in DyNet 2.1.
  void zero();
  /// The shape.
  [[nodiscard]] Dim dim() const;
  /// Stored values; the gradient.
  [[nodiscard]] Tensor* values() const;
  [[nodiscard]] Tensor* gradients() const;
  [[nodiscard]] float current_weight_decay() const;
  /// With `b` false it is frozen: it gets no gradient and no update.
  void set_updated(bool b);
  /// Whether it gets gradients and updates.
  [[nodiscard]] bool is_updated() const;
  /// Multiplies the values by `s`.
  void scale(float s);
  /// Multiplies the gradient by `s`.
  void scale_gradient(float s);
  /// Moves values below `left` to `left`, and values above `right` to `right`.
  void clip_inplace(float left, float right);
  /// Takes the values of `val`. An error for another number of values.
  ///
  /// Python: ShapeError for an array of another shape.
  void set_value(const std::vector<float>& val);

  std::shared_ptr<ParameterStorage> p;
};

/// A table of parameters.
///
/// C++: A handle: copies share the table.
///
/// Python: `p[i]` is a row; as an expression it is the whole table, rows last.
struct LookupParameter {
  LookupParameter() = default;
  LookupParameter(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  // NOLINTNEXTLINE(google-explicit-constructor): as for Parameter
  LookupParameter(std::shared_ptr<LookupParameterStorage> storage) : p(std::move(storage)) {}
  [[nodiscard]] explicit operator bool() const { return p != nullptr; }

  LookupParameterStorage& get_storage() const;
  /// Sets row `index`: graphs read these numbers, whatever weight decay there was. IndexError,
  /// SizeError if index or count do not fit.
  void initialize(unsigned index, const std::vector<float>& val) const;
  /// Values become zero. The gradient of a Parameter becomes zero as well, and the gradient of a
  /// LookupParameter stays, as in DyNet 2.1.
  void zero();
  /// The full name, such as "/enc/b_1".
  [[nodiscard]] std::string get_fullname() const;
  /// The shape of one row.
  [[nodiscard]] Dim dim() const;
  [[nodiscard]] std::vector<Tensor>* values() const;
  [[nodiscard]] float current_weight_decay() const;
  /// Multiplies the values by `s`.
  void scale(float s);
  /// Multiplies the gradient by `s`.
  void scale_gradient(float s);
  /// With `b` false it is frozen: it gets no gradient and no update.
  void set_updated(bool b);
  /// Whether it gets gradients and updates.
  [[nodiscard]] bool is_updated() const;

  std::shared_ptr<LookupParameterStorage> p;
};

/// The contents of a collection, shared by its handles. Lists are in the order of creation.
struct ParameterCollectionStorage {
  explicit ParameterCollectionStorage(float weight_decay_lambda);
  ParameterCollectionStorage(const ParameterCollectionStorage&) = delete;
  ParameterCollectionStorage& operator=(const ParameterCollectionStorage&) = delete;
  ~ParameterCollectionStorage();

  /// Does nothing (the reference printed the norm).
  void project_weights(float radius = 1.0F);
  [[nodiscard]] float gradient_l2_norm() const;

  std::vector<std::shared_ptr<ParameterStorageBase>> all_params;
  std::vector<std::shared_ptr<ParameterStorage>> params;
  std::vector<std::shared_ptr<LookupParameterStorage>> lookup_params;

 private:
  std::unique_ptr<detail::CollectionState> state_;
  friend class ParameterCollection;
  friend struct detail::ModelAccess;

 public:
  L2WeightDecay& weight_decay;
};

/// A set of parameters with a name.
///
/// C++: Copies share it; sub-collections keep their parents alive.
///
/// Python: Parameters keep it alive.
class ParameterCollection {
 public:
  /// A root, named "/", with weight decay `default_weight_decay_lambda`.
  ParameterCollection();
  explicit ParameterCollection(float weight_decay_lambda);
  virtual ~ParameterCollection();
  ParameterCollection(const ParameterCollection&) = default;
  ParameterCollection& operator=(const ParameterCollection&) = default;

  /// Root of the sum of squares of all gradients, without frozen parameters.
  [[nodiscard]] float gradient_l2_norm() const;
  /// Empties all gradients.
  void reset_gradient();

  /// A new parameter. Parameters without a name are called `_0`, `_1`, ...; a name used before gets
  /// `_1`, `_2`, ... UsageError for a name with `/` or `_`; ValueError for one with white space or
  /// `#`, or for a shape with a batch.
  ///
  /// C++: The shape is `d`. Values are uniform in [-scale, scale), or by Glorot if `scale` is 0.
  ///
  /// Python: `init`: None (Glorot), a number, "glorot", "identity", "uniform" (within `scale`),
  /// "normal" (`mean`, `std`), "he", an initializer, or an array of this shape.
  Parameter add_parameters(const Dim& d, float scale = 0.0F, const std::string& name = "",
                           Device* device = default_device);
  Parameter add_parameters(const Dim& d, Device* device);
  Parameter add_parameters(const Dim& d, const std::string& name, Device* device = default_device);
  Parameter add_parameters(const Dim& d, const char* name, Device* device = default_device) {
    return add_parameters(d, std::string(name), device);
  }
  Parameter add_parameters(const Dim& d, const ParameterInit& init, const std::string& name = "",
                           Device* device = default_device);
  /// A new table of parameters.
  ///
  /// C++: `n` rows of shape `d`; without `init` each row is initialised by Glorot.
  ///
  /// Python: `dim` is (rows, ...). `init` as for `add_parameters`; an array has the rows as its
  /// first axis, too.
  LookupParameter add_lookup_parameters(unsigned n, const Dim& d, const std::string& name = "",
                                        Device* device = default_device);
  LookupParameter add_lookup_parameters(unsigned n, const Dim& d, const ParameterInit& init,
                                        const std::string& name = "",
                                        Device* device = default_device);
  /// A collection whose parameters are also in this one. Names are as for parameters, with a
  /// counter of their own.
  ///
  /// C++: A negative rate follows this collection's; DomainError for one that is 1 or more, or NaN.
  ParameterCollection add_subcollection(const std::string& name = "",
                                        float weight_decay_lambda = -1);

  /// Number of parameters, without lookup tables.
  [[nodiscard]] std::size_t size() const;
  /// The full name: "/", "/foo/", "/foo_1/bar/", ...
  [[nodiscard]] std::string get_fullname() const;
  /// By full name; UsageError when there is none.
  [[nodiscard]] std::shared_ptr<ParameterStorage> get_parameter_storage(
      const std::string& pname) const;
  [[nodiscard]] std::shared_ptr<LookupParameterStorage> get_lookup_parameter_storage(
      const std::string& lookup_pname) const;
  [[nodiscard]] std::vector<std::shared_ptr<ParameterStorage>> get_parameter_storages() const;
  [[nodiscard]] std::vector<std::shared_ptr<LookupParameterStorage>> get_lookup_parameter_storages()
      const;
  [[nodiscard]] std::vector<std::shared_ptr<ParameterStorageBase>> get_parameter_storages_base()
      const;
  /// The parameters of this collection and of the collections below, in the order of creation.
  [[nodiscard]] const std::vector<std::shared_ptr<ParameterStorage>>& parameters_list() const;
  /// The tables of this collection and of the collections below, in the order of creation.
  [[nodiscard]] const std::vector<std::shared_ptr<LookupParameterStorage>>& lookup_parameters_list()
      const;
  /// Number of values, lookup tables included.
  [[nodiscard]] std::size_t parameter_count() const;
  [[nodiscard]] std::size_t updated_parameter_count() const;
  void project_weights(float radius = 1.0F);
  /// The rate of weight decay from now on. DomainError unless it is 0 or more and less than 1.
  void set_weight_decay_lambda(float lambda);
  [[nodiscard]] L2WeightDecay& get_weight_decay();
  /// The rate of weight decay.
  [[nodiscard]] float get_weight_decay_lambda() const;
  [[nodiscard]] ParameterCollectionStorage& get_storage();
  [[nodiscard]] const ParameterCollectionStorage& get_storage() const;
  void set_updated_param(const Parameter* p, bool status);
  void set_updated_lookup_param(const LookupParameter* p, bool status);
  [[nodiscard]] bool is_updated_param(const Parameter* p) const;
  [[nodiscard]] bool is_updated_lookup_param(const LookupParameter* p) const;

  /// Does not compile: Boost's archives, the files of DyNet 1.x, ask for it.
  template <class Archive>
  void serialize(Archive& /*archive*/, unsigned /*version*/) {
    static_assert(sizeof(Archive) == 0,
                  "collections are not written to Boost's archives: write them by "
                  "TextFileSaver(name).save(model) of dynet/io.h, and read them by "
                  "TextFileLoader(name).populate(model)");
  }

 private:
  friend struct detail::ModelAccess;
  friend struct ParameterCollectionStorage;
  explicit ParameterCollection(std::shared_ptr<ParameterCollectionStorage> storage)
      : storage_(std::move(storage)) {}
  std::shared_ptr<ParameterCollectionStorage> storage_;
};

/// The old name.
class Model : public ParameterCollection {
 public:
  using ParameterCollection::ParameterCollection;
  Model();
};

/// Files with the key "/model", in the formats of make_saver() and make_loader() of io.h.
void save_dynet_model(std::string filename, ParameterCollection* model);
void load_dynet_model(std::string filename, ParameterCollection* model);

}  // namespace dynet
