// A program of several ranks, started alone: MPI makes it a job of one.
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/init.h>
#include <dynet/mpi.h>
#include <dynet/training.h>

int main(int argc, char** argv) {
  return dynet::mpi::run([&](const std::shared_ptr<dynet::distributed::Exchange>& world) {
    dynet::initialize(argc, argv);
    dynet::ParameterCollection model;
    const dynet::Parameter w = model.add_parameters({1});
    dynet::SimpleSGDTrainer sgd(model, 0.5F);
    dynet::DistributedTrainer trainer(sgd, world);
    for (int step = 0; step < 20; ++step) {
      dynet::ComputationGraph cg;
      const dynet::Expression loss = dynet::square(dynet::parameter(cg, w) - 3.0F) / 2.0F;
      cg.forward(loss);
      cg.backward(loss);
      trainer.update();
    }
    trainer.check();
    const float value = dynet::as_scalar(*w.values());
    return world->size() == 1 && value > 2.9F && value < 3.1F ? 0 : 1;
  });
}
