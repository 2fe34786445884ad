// Updates of ranks that are threads: the same numbers as one process, the same bits on all ranks,
// and an error with the rank's number for a rank that does something else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "dynet/except.h"
#include "dynet/trainers/all.h"

#include "distributed/processors.h"
#include "distributed/rows.h"
#include "distributed/sums.h"
#include "kernels/team.h"
#include "test_ranks.h"
#include "testing/errors.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using distributed::Exchange;
using distributed::Gradient;
using testing::models;
using testing::RankModel;
using testing::run_ranks;
using testing::sentences;
using Pointer = std::shared_ptr<Exchange>;

Tensor on_host(const Dim& d, std::vector<float>& numbers) {
  return {d, numbers.data(), get_device_manager()->get_global_device("CPU"), DeviceMempool::NONE};
}
std::vector<std::string> none(unsigned size) { return std::vector<std::string>(size); }

TEST(Distributed, RanksLearnWhatOneProcessLearns) {
  for (const unsigned size : {1U, 2U, 3U, 4U}) {
    auto all = models(size);
    const std::vector<float> start = all[0]->values();
    EXPECT_EQ(run_ranks(size,
                        [&](unsigned r, const Pointer& exchange) {
                          SimpleSGDTrainer sgd(all[r]->parameters, 0.2F);
                          DistributedTrainer trainer(sgd, exchange);
                          EXPECT_EQ(all[r]->values(), start);
                          for (unsigned step = 0; step < 20; ++step) {
                            all[r]->learn(sentences(step, r, size));
                            trainer.update();
                          }
                        }),
              none(size));
    // A model with the first values again.
    auto alone = models(1);
    {
      std::vector<float> at = start;
      std::size_t next = 0;
      const auto take = [&](std::size_t n) {
        next += n;
        return std::vector<float>(at.begin() + static_cast<std::ptrdiff_t>(next - n),
                                  at.begin() + static_cast<std::ptrdiff_t>(next));
      };
      for (unsigned w = 0; w < RankModel::kWords; ++w) {
        alone[0]->words.p->initialize(w, take(6));
      }
      for (Parameter* p :
           {&alone[0]->hidden, &alone[0]->bias, &alone[0]->unused, &alone[0]->scores}) {
        p->set_value(take(p->dim().size()));
      }
    }
    ASSERT_EQ(alone[0]->values(), start);
    SimpleSGDTrainer sgd(alone[0]->parameters, 0.2F);
    for (unsigned step = 0; step < 20; ++step) {
      alone[0]->learn(sentences(step, 0, 1));
      sgd.update();
    }
    const std::vector<float> want = alone[0]->values();
    const std::vector<float> have = all[0]->values();
    for (std::size_t i = 0; i < want.size(); ++i) {
      EXPECT_NEAR(have[i], want[i], tolerance::kFloatAgainstDouble) << size << " ranks, " << i;
    }
    EXPECT_NE(have, start);
    for (unsigned r = 1; r < size; ++r) {
      EXPECT_EQ(all[r]->values(), have) << "rank " << r << " of " << size;
    }
  }
}

/// A thousand updates, with all ways of updating tables.
TEST(Distributed, AllRanksHaveTheSameBits) {
  for (const LookupUpdates how :
       {LookupUpdates::kSparse, LookupUpdates::kDense, LookupUpdates::kExact}) {
    for (const unsigned size : {2U, 3U}) {
      auto all = models(size, 1e-4F);
      EXPECT_EQ(run_ranks(size,
                          [&](unsigned r, const Pointer& exchange) {
                            AdamTrainer adam(all[r]->parameters, 0.01F);
                            adam.clip_threshold = 0.5F;
                            adam.set_lookup_updates(how);
                            DistributedTrainer trainer(adam, exchange, {.check_every = 50});
                            for (unsigned step = 0; step < 1000; ++step) {
                              all[r]->learn(sentences(step, r, size));
                              trainer.update();
                            }
                            trainer.check();
                            EXPECT_GT(adam.clips, 0.0F);
                          }),
                none(size));
      for (unsigned r = 1; r < size; ++r) {
        EXPECT_EQ(all[r]->values(), all[0]->values()) << how << ", rank " << r;
      }
    }
  }
}

/// Rows of tables with exact updates lag; a rank that looks at them, or saves, stores them.
TEST(Distributed, ARankMayLookAtTablesAlone) {
  auto all = models(2, 1e-3F);
  EXPECT_EQ(run_ranks(2,
                      [&](unsigned r, const Pointer& exchange) {
                        AdamTrainer adam(all[r]->parameters, 0.01F);
                        adam.set_lookup_updates(LookupUpdates::kExact);
                        DistributedTrainer trainer(adam, exchange, {.check_every = 1});
                        for (unsigned step = 0; step < 200; ++step) {
                          all[r]->learn(sentences(step, r, 2));
                          trainer.update();
                          if (r == 0 && step % 7 == 0) {
                            static_cast<void>(all[r]->words.values());
                          }
                          if (r == 1 && step % 11 == 0) {
                            std::ostringstream text;
                            adam.save(text);
                          }
                        }
                        trainer.check();
                      }),
            none(2));
  EXPECT_EQ(all[1]->values(), all[0]->values());
}

/// Sums, weights, whole tables, frozen parameters.
TEST(Distributed, TheGradientIsTheWeightedMeanOrTheSum) {
  struct Case {
    Gradient gradient;
    std::uint64_t examples[2];
    double factors[2];
  };
  const Case cases[] = {{Gradient::kMean, {1, 1}, {0.5, 0.5}},
                        {Gradient::kMean, {3, 1}, {0.75, 0.25}},
                        {Gradient::kMean, {0, 2}, {0.0, 1.0}},
                        {Gradient::kSum, {1, 7}, {1.0, 1.0}}};
  for (const Case& c : cases) {
    auto all = models(2);
    std::vector<float> before, after;
    EXPECT_EQ(run_ranks(2,
                        [&](unsigned r, const Pointer& exchange) {
                          RankModel& m = *all[r];
                          SimpleSGDTrainer sgd(m.parameters, 1.0F);
                          sgd.clipping_enabled = false;
                          DistributedTrainer trainer(sgd, exchange, {.gradient = c.gradient});
                          if (r == 0) {
                            before = m.values();
                          }
                          m.scores.set_updated(false);
                          std::vector<float> ones(8, r == 0 ? 4.0F : 8.0F);
                          m.bias.get_storage().accumulate_grad(on_host({8}, ones));
                          std::vector<float> six(6, r == 0 ? 2.0F : 16.0F);
                          const Tensor row = on_host({6}, six);
                          m.words.get_storage().accumulate_grad(10, row);
                          m.words.get_storage().accumulate_grad(20 + r, row);
                          trainer.update(c.examples[r]);
                          if (r == 0) {
                            after = m.values();
                          }
                          EXPECT_FALSE(m.unused.p->nonzero_grad);
                        }),
              none(2));
    std::vector<float> want(before.size());
    const auto step_of = [&](double first, double second) {
      return static_cast<float>(first * c.factors[0] + second * c.factors[1]);
    };
    for (std::size_t i = 0; i < want.size(); ++i) {
      const std::size_t row = i / 6;
      const std::size_t bias = RankModel::kWords * 6 + 48;
      const float step = row == 10                   ? step_of(2, 16)
                         : row == 20                 ? step_of(2, 0)
                         : row == 21                 ? step_of(0, 16)
                         : i >= bias && i < bias + 8 ? step_of(4, 8)
                                                     : 0.0F;
      want[i] = before[i] - step;
    }
    EXPECT_EQ(after, want);
  }
}

TEST(Distributed, AWholeTableOnOneRankIsWholeOnAll) {
  auto all = models(2);
  EXPECT_EQ(run_ranks(2,
                      [&](unsigned r, const Pointer& exchange) {
                        AdamTrainer adam(all[r]->parameters);
                        DistributedTrainer trainer(adam, exchange, {.check_every = 1});
                        for (unsigned step = 0; step < 3; ++step) {
                          all[r]->learn(sentences(step, r, 2));
                          if (r == 1) {
                            all[r]->look_at_all_words();
                          }
                          trainer.update();
                        }
                      }),
            none(2));
  EXPECT_EQ(all[1]->values(), all[0]->values());
}

TEST(Distributed, APlantedDifferenceIsNamed) {
  auto all = models(3);
  const auto errors = run_ranks(3, [&](unsigned r, const Pointer& exchange) {
    SimpleSGDTrainer sgd(all[r]->parameters);
    DistributedTrainer trainer(sgd, exchange, {.check_every = 5});
    for (unsigned step = 0; step < 20; ++step) {
      all[r]->learn(sentences(step, r, 3));
      if (r == 2 && step == 6) {
        std::vector<float> values = as_vector(*all[r]->unused.values());
        values[1] = std::nextafter(values[1], 9.0F);
        all[r]->unused.set_value(values);
      }
      trainer.update();
    }
  });
  for (const std::string& error : errors) {
    EXPECT_EQ(
        error,
        "DistributedTrainer: after 10 updates '/unused' differs between rank 0 and rank 2 of "
        "3, the first of 1 that differ, of 5; want no change of parameters on one rank alone");
  }
}

TEST(Distributed, ANumberThatIsNotFiniteIsFoundOnItsRank) {
  enum class Where { kParameter, kRow, kWholeTable };
  for (const Where where : {Where::kParameter, Where::kRow, Where::kWholeTable}) {
    const bool is_row = where != Where::kParameter;
    auto all = models(3);
    EXPECT_EQ(run_ranks(3,
                        [&](unsigned r, const Pointer& exchange) {
                          AdamTrainer adam(all[r]->parameters);
                          DistributedTrainer trainer(adam, exchange);
                          all[r]->learn(sentences(0, r, 3));
                          trainer.update();
                          const std::vector<float> before = all[r]->values();
                          all[r]->learn(sentences(1, r, 3));
                          if (r == 2 && where == Where::kWholeTable) {
                            all[r]->look_at_all_words();
                          }
                          if (r == 1 && is_row) {
                            std::vector<float> row(6, 0.0F);
                            row[0] = std::numeric_limits<float>::infinity();
                            all[r]->words.get_storage().accumulate_grad(3, on_host({6}, row));
                          } else if (r == 1) {
                            std::vector<float> bad(40, 0.0F);
                            bad[7] = std::numeric_limits<float>::quiet_NaN();
                            all[r]->scores.get_storage().accumulate_grad(on_host({5, 8}, bad));
                          }
                          const std::string text = testing::text_of_error<errors::NumericError>(
                              [&] { trainer.update(); });
                          EXPECT_NE(text.find(is_row ? "1 numbers of the gradient of all ranks are "
                                                       "not finite; the first are of '/words', "
                                                       "from rank 1 of 3"
                                                     : "1 numbers of the gradient of all ranks are "
                                                       "not finite; the first are of '/scores', "
                                                       "from rank 1 of 3"),
                                    std::string::npos)
                              << text;
                          EXPECT_EQ(all[r]->values(), before);
                          all[r]->learn(sentences(2, r, 3));  // and on it goes
                          trainer.update();
                          trainer.check();
                        }),
              none(3));
  }
}

TEST(Distributed, ARankWithOtherCallsIsAnErrorOnAll) {
  auto all = models(2);
  const auto errors = run_ranks(2, [&](unsigned r, const Pointer& exchange) {
    SimpleSGDTrainer sgd(all[r]->parameters);
    DistributedTrainer trainer(sgd, exchange);
    for (unsigned step = 0; step < (r == 0 ? 5 : 4); ++step) {
      all[r]->learn(sentences(step, r, 2));
      trainer.update();
    }
    trainer.close();
  });
  for (const std::string& error : errors) {
    EXPECT_EQ(error,
              "DistributedTrainer: rank 1 of 2 is at its end after 4 updates, and rank 0 is at "
              "update 5; want the same calls on all ranks");
  }
  const auto rates = run_ranks(2, [&](unsigned r, const Pointer& exchange) {
    SimpleSGDTrainer sgd(all[r]->parameters, r == 0 ? 0.5F : 0.25F);
    DistributedTrainer trainer(sgd, exchange);
    trainer.update();
  });
  EXPECT_NE(rates[0].find("rank 1 of 2 has the learning rate 0.25"), std::string::npos) << rates[0];
  EXPECT_EQ(rates[0], rates[1]);
  const auto options = run_ranks(2, [&](unsigned r, const Pointer& exchange) {
    SimpleSGDTrainer sgd(all[r]->parameters);
    const DistributedTrainer trainer(sgd, exchange,
                                     {r == 0 ? Gradient::kMean : Gradient::kSum, 5 + r});
  });
  EXPECT_EQ(options[0],
            "DistributedTrainer: rank 1 of 2 has check_every 6 and the gradient's sum, and rank 0 "
            "check_every 5 and the gradient's mean; want the same options");
  EXPECT_EQ(options[0], options[1]);
}

TEST(Distributed, RanksWithOtherModelsAreRefused) {
  std::vector<ParameterCollection> all(2);
  for (unsigned r = 0; r < 2; ++r) {
    all[r].add_parameters({2}, 0.0F, "a");
    all[r].add_parameters({3 + r}, 0.0F, "b");
  }
  auto errors = run_ranks(2, [&](unsigned r, const Pointer& exchange) {
    SimpleSGDTrainer sgd(all[r]);
    const DistributedTrainer trainer(sgd, exchange);
  });
  EXPECT_NE(errors[0].find("rank 1 of 2 has another parameter at place 1 of its model, and rank 0 "
                           "another name, shape or type there: '/b' {3} on rank 0"),
            std::string::npos)
      << errors[0];
  all[1].add_parameters({1});
  errors = run_ranks(2, [&](unsigned r, const Pointer& exchange) {
    SimpleSGDTrainer sgd(all[r]);
    const DistributedTrainer trainer(sgd, exchange);
  });
  EXPECT_NE(errors[1].find("rank 1 of 2 has a model with 3 parameters and tables, and rank 0 one "
                           "with 2; want one model"),
            std::string::npos)
      << errors[1];
}

TEST(Distributed, ASilentRankIsNamed) {
  auto all = models(3);
  const auto errors = run_ranks(3, [&](unsigned r, const Pointer& exchange) {
    SimpleSGDTrainer sgd(all[r]->parameters);
    DistributedTrainer trainer(sgd, exchange, {.patience = 0.3});
    all[r]->learn(sentences(0, r, 3));
    if (r == 2) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
      throw std::runtime_error("slept");
    }
    trainer.update();
  });
  for (const unsigned r : {0U, 1U}) {
    EXPECT_NE(errors[r].find("has heard nothing from rank 2 for"), std::string::npos) << errors[r];
  }
}

/// The gradients of the second trainer would come home to the memory of the first.
TEST(Distributed, AModelHasOneDistributedTrainer) {
  auto all = models(2);
  EXPECT_EQ(run_ranks(2,
                      [&](unsigned r, const Pointer& exchange) {
                        SimpleSGDTrainer sgd(all[r]->parameters);
                        AdamTrainer adam(all[r]->parameters);
                        DistributedTrainer first(sgd, exchange);
                        EXPECT_EQ(testing::text_of_error<errors::UsageError>(
                                      [&] { const DistributedTrainer second(adam, exchange); }),
                                  "DistributedTrainer: '/hidden' has another DistributedTrainer; "
                                  "want its close() first");
                        all[r]->learn(sentences(0, r, 2));
                        first.update();
                        first.close();
                        EXPECT_EQ(testing::text_of_error<errors::UsageError>(
                                      [&] { static_cast<void>(first.sum(1.0)); }),
                                  "DistributedTrainer: it is closed; want no call after close()");
                        DistributedTrainer second(adam, exchange, {.check_every = 1});
                        all[r]->learn(sentences(1, r, 2));
                        second.update();
                      }),
            none(2));
  EXPECT_EQ(all[1]->values(), all[0]->values());
  SimpleSGDTrainer sgd(all[0]->parameters);
  EXPECT_EQ(testing::text_of_error<errors::ValueError>(
                [&] { const DistributedTrainer trainer(sgd, nullptr); }),
            "DistributedTrainer: the exchange is null; want the result of mpi::start(), for "
            "example");
}

/// A rank that freezes a table after backward announces no rows, and sends none.
TEST(Distributed, RowsOfAFrozenTableStay) {
  const RankModel model;
  model.learn(sentences(0, 0, 1));
  distributed::Rows rows(model.words.get_storage(), 0, 1);
  EXPECT_GT(rows.touched(), 0U);
  model.words.p->updated = false;
  EXPECT_EQ(rows.touched(), 0U);
  rows.begin();
  const std::vector<std::byte> before(1024, std::byte{7});
  std::vector<std::byte> place = before;
  rows.write_numbers(place.data());
  EXPECT_EQ(place, before);
}

/// Ranks on one machine that may use the same processors would have more threads than processors.
TEST(DistributedDeathTest, RanksThatMayMeetComputeOnOneThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process of its own, as the default stays
  const auto threads_after = [](unsigned size) {
    auto all = models(size);
    const std::vector<std::string> errors = run_ranks(size, [&](unsigned r, const Pointer& e) {
      SimpleSGDTrainer sgd(all[r]->parameters);
      const DistributedTrainer trainer(sgd, e);
    });
    return errors == none(size) ? get_threads() : 0;
  };
  EXPECT_EXIT(
      {
        const unsigned alone = threads_after(1);
        const unsigned two = threads_after(2);
        set_threads(3);
        const bool is_right =
            alone == kernels::usable_processors() && two == 1 && threads_after(2) == 3;
        std::exit(is_right ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(Distributed, ProcessorsOfOtherMachinesAreNotShared) {
  const distributed::Processors here = distributed::usable_processors();
  EXPECT_TRUE(have_common_processor(here, here));
  distributed::Processors there = here;
  there.machine[0] = static_cast<char>(there.machine[0] + 1);
  EXPECT_FALSE(have_common_processor(here, there));
  distributed::Processors beside = here;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    CPU_ISSET(i, &here.set) ? CPU_CLR(i, &beside.set) : CPU_SET(i, &beside.set);
  }
  EXPECT_FALSE(have_common_processor(here, beside));
}

TEST(Distributed, GradientsComeHome) {
  auto all = models(2);
  EXPECT_EQ(run_ranks(2,
                      [&](unsigned r, const Pointer& exchange) {
                        SimpleSGDTrainer sgd(all[r]->parameters);
                        const float* const home = all[r]->hidden.p->g.v;
                        std::vector<float> want;
                        {
                          const DistributedTrainer trainer(sgd, exchange);
                          if (all[r]->hidden.p->device->is_host_visible()) {
                            EXPECT_NE(all[r]->hidden.p->g.v, home);
                          }
                          all[r]->learn(sentences(0, r, 2));
                          want = as_vector(*all[r]->hidden.gradients());
                        }
                        EXPECT_EQ(all[r]->hidden.p->g.v, home);
                        EXPECT_EQ(as_vector(*all[r]->hidden.gradients()), want);
                        sgd.update();
                      }),
            none(2));
}

TEST(Distributed, NumbersAndTextsOfAllRanks) {
  auto all = models(3);
  EXPECT_EQ(run_ranks(3,
                      [&](unsigned r, const Pointer& exchange) {
                        SimpleSGDTrainer sgd(all[r]->parameters);
                        DistributedTrainer trainer(sgd, exchange);
                        EXPECT_EQ(trainer.sum({1.0 * r, 2.0}), (std::vector<double>{3.0, 6.0}));
                        EXPECT_EQ(trainer.sum(std::vector<double>()), std::vector<double>());
                        const std::string text = r == 0 ? std::string(1001, 'x') : "";
                        EXPECT_EQ(trainer.from_first(text), std::string(1001, 'x'));
                        EXPECT_EQ(trainer.from_first(""), "");
                      }),
            none(3));
}

/// Vectors of several pieces, shorter than a line, and of doubles.
TEST(Distributed, SumsAreMadeInOnePlace) {
  for (const unsigned size : {1U, 2U, 3U, 5U}) {
    for (const std::int64_t n : {1L, 15L, 16L, 33L, 3000000L}) {
      std::vector<std::vector<float>> numbers(size,
                                              std::vector<float>(static_cast<std::size_t>(n)));
      std::mt19937 engine(7);
      std::vector<double> exact(static_cast<std::size_t>(n), 0.0);
      for (auto& of_rank : numbers) {
        for (std::size_t i = 0; i < of_rank.size(); ++i) {
          of_rank[i] = static_cast<float>(engine()) / 4e9F - 0.5F;
          exact[i] += 0.25 * static_cast<double>(of_rank[i]);
        }
      }
      EXPECT_EQ(run_ranks(size,
                          [&](unsigned r, const Pointer& exchange) {
                            distributed::Rounds rounds(*exchange, 60);
                            distributed::Sums sums(rounds);
                            sums.add({reinterpret_cast<std::byte*>(numbers[r].data()), n,
                                      ext::Number::kFloat});
                            sums.run(std::vector<double>(size, 0.25));
                            EXPECT_EQ(sums.culprit().count, 0U);
                          }),
                none(size));
      for (unsigned r = 0; r < size; ++r) {
        for (std::size_t i = 0; i < exact.size(); ++i) {
          ASSERT_EQ(numbers[r][i], static_cast<float>(exact[i])) << size << ' ' << n << ' ' << i;
        }
      }
    }
  }
}

/// Sets variables of launchers, and removes all others.
class Environment {
 public:
  explicit Environment(const std::vector<std::pair<const char*, const char*>>& variables) {
    for (const char* name : kAll) {
      unsetenv(name);
    }
    for (const auto& [name, value] : variables) {
      setenv(name, value, 1);
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    for (const char* name : kAll) {
      unsetenv(name);
    }
  }

 private:
  static constexpr const char* kAll[] = {
      "RANK",         "WORLD_SIZE",   "LOCAL_RANK",      "OMPI_COMM_WORLD_RANK",
      "PMI_RANK",     "PMI_SIZE",     "MPI_LOCALRANKID", "OMPI_COMM_WORLD_SIZE",
      "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID",   "OMPI_COMM_WORLD_LOCAL_RANK"};
};

TEST(Distributed, ThePlaceIsReadFromTheEnvironment) {
  {
    const Environment alone({});
    EXPECT_EQ(distributed::place().size, 1U);
    EXPECT_EQ(distributed::place().source, "");
  }
  {
    const Environment torchrun({{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}});
    const distributed::Place p = distributed::place();
    EXPECT_EQ(std::make_tuple(p.rank, p.size, p.local_rank, p.source),
              std::make_tuple(5U, 8U, 1U, "torchrun"));
  }
  {  // mpirun within one task of SLURM
    const Environment both({{"OMPI_COMM_WORLD_RANK", "3"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"SLURM_PROCID", "0"},
                            {"SLURM_NTASKS", "1"}});
    EXPECT_EQ(distributed::place().rank, 3U);
  }
  const auto text_of = [](const std::vector<std::pair<const char*, const char*>>& variables) {
    const Environment set(variables);
    return testing::text_of_error<errors::ValueError>(
        [] { static_cast<void>(distributed::place()); });
  };
  EXPECT_EQ(text_of({{"RANK", "two"}, {"WORLD_SIZE", "4"}}),
            "distributed::place: RANK is 'two'; want a number of 0 or more");
  EXPECT_EQ(text_of({{"RANK", "2"}}),
            "distributed::place: RANK is set and WORLD_SIZE is not; want both, from torchrun");
  EXPECT_EQ(text_of({{"PMI_RANK", "4"}, {"PMI_SIZE", "4"}}),
            "distributed::place: PMI_RANK is 4 and PMI_SIZE is 4; want a rank below the size");
  EXPECT_EQ(
      text_of({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}}),
      "distributed::place: torchrun says rank 0 of 2, and SLURM says rank 1 of 2; want one "
      "launcher, or unset the variables of the other");
}

}  // namespace
}  // namespace dynet
