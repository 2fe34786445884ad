// Slow work on files is stopped: old files and models stay.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "dynet/except.h"
#include "dynet/interrupt.h"
#include "dynet/io.h"
#include "dynet/tensor.h"

#include "testing/temporary_folder.h"

namespace dynet {
namespace {

/// Counts how often it is asked, and stops once.
struct Asked {
  int stop_at = -1;
  int times = 0;
  static void check(void* of) {
    auto& self = *static_cast<Asked*>(of);
    if (++self.times == self.stop_at) {
      throw errors::StateError("stopped");
    }
  }
};

/// How often `work` asks whether to go on.
template <class Work>
int times_asked(Work work) {
  Asked asked;
  const InterruptScope scope(&Asked::check, &asked, std::chrono::milliseconds(0));
  work();
  return asked.times;
}

/// Stops it everywhere; `after` is to hold each time.
template <class Work, class After>
void stop_everywhere(int times, Work work, After after) {
  for (int stop_at = 1; stop_at <= times; stop_at += 1 + times / 5) {
    Asked asked{.stop_at = stop_at};
    {
      const InterruptScope scope(&Asked::check, &asked, std::chrono::milliseconds(0));
      EXPECT_THROW(work(), errors::StateError) << stop_at;
    }
    after();
  }
}

constexpr unsigned kRows = 600;

ParameterCollection model_of(float value) {
  ParameterCollection model;
  model.add_parameters({kRows, kRows}, ParameterInitConst(value), "w");
  model.add_lookup_parameters(kRows, {kRows}, ParameterInitConst(value), "e");
  return model;
}
bool all_are(const ParameterCollection& model, float value) {
  const std::vector<float> expected(std::size_t{kRows} * kRows, value);
  return as_vector(model.parameters_list()[0]->values) == expected &&
         as_vector(model.lookup_parameters_list()[0]->all_values) == expected;
}

class StoppedFiles : public ::testing::TestWithParam<const char*> {
 protected:
  void save(const ParameterCollection& model) const {
    const std::unique_ptr<Saver> saver = make_saver(file_);
    saver->save(model);
    saver->close();
  }
  void load(ParameterCollection& model) const { make_loader(file_)->populate(model); }

  testing::TemporaryFolder folder_;
  std::string file_ = folder_.file(GetParam());
};

TEST_P(StoppedFiles, TheOldFileStays) {
  save(model_of(1.0F));
  const ParameterCollection two = model_of(2.0F);
  ParameterCollection read = model_of(0.0F);
  const int times = times_asked([&] { save(two); });
  EXPECT_GT(times, 8);  // 2.7 MiB in pieces of 256 KiB at most
  save(model_of(1.0F));
  stop_everywhere(
      times, [&] { save(two); },
      [&] {
        load(read);
        EXPECT_TRUE(all_are(read, 1.0F));
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
      });
}

TEST_P(StoppedFiles, TheModelStays) {
  save(model_of(1.0F));
  ParameterCollection read = model_of(0.0F);
  const int times = times_asked([&] { load(read); });
  EXPECT_GT(times, 1);
  ParameterCollection other = model_of(3.0F);
  stop_everywhere(times, [&] { load(other); }, [&] { EXPECT_TRUE(all_are(other, 3.0F)); });
  load(other);
  EXPECT_TRUE(all_are(other, 1.0F));
}

INSTANTIATE_TEST_SUITE_P(Formats, StoppedFiles,
                         ::testing::Values("model.txt", "model.safetensors"));

}  // namespace
}  // namespace dynet
