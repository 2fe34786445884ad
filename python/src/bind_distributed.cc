// Training on several machines: an exchange that Python carries, by mpi4py (dynet/distributed.py).

#include "bind_distributed.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dynet/distributed.h"
#include "dynet/training.h"

#include "binding.h"
#include "checkpoints.h"
#include "gil.h"
#include "texts.h"

namespace dynet::python {
namespace {

using distributed::Message;

/// Messages by functions of a Python object, which is asked with the GIL.
class PythonExchange final : public distributed::Exchange {
 public:
  explicit PythonExchange(nb::object carrier)
      : carrier_(std::move(carrier)),
        rank_(nb::cast<unsigned>(carrier_.attr("rank"))),
        size_(nb::cast<unsigned>(carrier_.attr("size"))) {}
  PythonExchange(const PythonExchange&) = delete;
  PythonExchange& operator=(const PythonExchange&) = delete;
  ~PythonExchange() override {
    const WithGil gil;
    carrier_.reset();
  }

  [[nodiscard]] unsigned rank() const override { return rank_; }
  [[nodiscard]] unsigned size() const override { return size_; }

  void start(unsigned slot, const std::vector<Message>& out,
             const std::vector<Message>& in) override {
    const WithGil gil;
    carrier_.attr("start")(slot, listed(out), listed(in));
  }
  bool test(unsigned slot) override {
    const WithGil gil;
    if (PyErr_CheckSignals() != 0) {
      throw nb::python_error();
    }
    return nb::cast<bool>(carrier_.attr("test")(slot));
  }
  unsigned waiting_for(unsigned slot) override {
    const WithGil gil;
    return nb::cast<unsigned>(carrier_.attr("waiting_for")(slot));
  }

 private:
  /// Pairs of a peer and the memory of its message.
  static nb::list listed(const std::vector<Message>& messages) {
    nb::list all;
    for (const Message& m : messages) {
      all.append(nb::make_tuple(
          m.peer, nb::steal(PyMemoryView_FromMemory(
                      static_cast<char*>(m.data), static_cast<Py_ssize_t>(m.bytes), PyBUF_WRITE))));
    }
    return all;
  }

  nb::object carrier_;
  unsigned rank_, size_;
};

distributed::Options options_from(const std::string& gradient, std::uint64_t check_every,
                                  double patience) {
  if (gradient != "mean" && gradient != "sum") {
    throw errors::ValueError("DistributedTrainer: gradient is '" + gradient +
                             "'; want mean or sum");
  }
  return {gradient == "mean" ? distributed::Gradient::kMean : distributed::Gradient::kSum,
          check_every, patience};
}

/// Runs `f` while other Python threads may run: it may wait for other ranks.
template <class F>
auto without_gil(F f) {
  const WithoutGil released;
  return f();
}

void bind_trainer(nb::module_& m) {
  using nb::arg;
  nb::class_<DistributedTrainer>(m, "_DistributedTrainer", texts::DistributedTrainer)
      .def(
          "__init__",
          [](DistributedTrainer* self, Trainer& trainer, nb::object carrier,
             const std::string& gradient, std::uint64_t check_every, double patience) {
            const auto options = options_from(gradient, check_every, patience);
            auto exchange = std::make_shared<PythonExchange>(std::move(carrier));
            without_gil(
                [&] { new (self) DistributedTrainer(trainer, std::move(exchange), options); });
          },
          arg("trainer"), arg("carrier"), arg("gradient"), arg("check_every"), arg("patience"),
          nb::keep_alive<1, 2>())
      .def_prop_ro("rank", &DistributedTrainer::rank, texts::DistributedTrainer_rank)
      .def_prop_ro("size", &DistributedTrainer::size, texts::DistributedTrainer_size)
      .def(
          "update",
          [](DistributedTrainer& t, std::uint64_t examples) {
            without_gil([&] { t.update(examples); });
          },
          arg("examples") = 1, texts::DistributedTrainer_update)
      .def(
          "check", [](DistributedTrainer& t) { without_gil([&] { t.check(); }); },
          texts::DistributedTrainer_check)
      .def(
          "sum",
          [](DistributedTrainer& t, const std::vector<double>& numbers) {
            return without_gil([&] { return t.sum(numbers); });
          },
          arg("numbers"), texts::DistributedTrainer_sum)
      .def(
          "from_first",
          [](DistributedTrainer& t, const nb::bytes& data) {
            const std::string mine(data.c_str(), data.size());
            const std::string all = without_gil([&] { return t.from_first(mine); });
            return nb::bytes(all.data(), all.size());
          },
          arg("data"), texts::DistributedTrainer_from_first)
      .def(
          "close", [](DistributedTrainer& t) { without_gil([&] { t.close(); }); },
          texts::DistributedTrainer_close)
      .def_prop_ro(
          "traffic",
          [](const DistributedTrainer& t) {
            const distributed::Traffic all = t.traffic();
            return nb::make_tuple(all.bytes, all.messages, all.rounds, all.seconds);
          },
          nb::for_getter(nb::sig("def traffic(self) -> tuple[int, int, int, float]")),
          texts::DistributedTrainer_traffic);
}

void bind_distributed_checkpointer(nb::module_& m) {
  using nb::arg;
  using Self = DistributedCheckpointer;
  nb::class_<Self> c(m, "DistributedCheckpointer", texts::DistributedCheckpointer);
  c.def(
       "__init__",
       [](Self* self, const std::string& folder, DistributedTrainer& trainer,
          std::int64_t every_steps, double every_seconds, std::int64_t keep_best,
          std::int64_t keep_last, bool larger_is_better) {
         const CheckpointPolicy policy =
             policy_from({every_steps, every_seconds, keep_best, keep_last, larger_is_better});
         without_gil([&] { new (self) Self(folder, trainer, policy); });
       },
       arg("folder"), arg("trainer"), arg("every_steps") = 0, arg("every_seconds") = 0.0,
       arg("keep_best") = 1, arg("keep_last") = 1, arg("larger_is_better") = true,
       nb::keep_alive<1, 3>(), "As Checkpointer; an error of rank 0 is an error on all ranks.")
      .def(
          "resume", [](Self& self) { return without_gil([&] { return self.resume(); }); },
          texts::DistributedCheckpointer_resume)
      .def(
          "load_best", [](Self& self) { without_gil([&] { self.load_best(); }); },
          texts::DistributedCheckpointer_load_best)
      .def(
          "step",
          [](Self& self, const std::string& position) {
            return without_gil([&] { return self.step(position); });
          },
          arg("position") = "", texts::DistributedCheckpointer_step)
      .def(
          "save",
          [](Self& self, const std::string& position, std::optional<double> score) {
            without_gil([&] { score ? self.save(position, *score) : self.save(position); });
          },
          arg("position") = "", arg("score") = nb::none(), texts::DistributedCheckpointer_save);
  bind_saved_steps(c, texts::DistributedCheckpointer_metadata,
                   texts::DistributedCheckpointer_checkpoints);
}

}  // namespace

void bind_distributed(nb::module_& m) {
  bind_trainer(m);
  bind_distributed_checkpointer(m);
  m.def(
      "_place",
      [] {
        const distributed::Place place = distributed::place();
        return nb::make_tuple(place.rank, place.size, place.local_rank, place.source);
      },
      nb::sig("def _place() -> tuple[int, int, int, str]"));
}

}  // namespace dynet::python
