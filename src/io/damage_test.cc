// Damaged files: every truncation and every flipped bit of a small model file.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "dynet/io.h"

#include "params/access.h"
#include "testing/temporary_folder.h"

namespace dynet {
namespace {

/// Floats of a storage, wherever they lie.
std::string bytes_of(const detail::StorageState& s, const std::byte* data) {
  std::string bytes(static_cast<std::size_t>(s.elements * 4), '\0');
  s.device.memory->copy_out(data, bytes.data(), bytes.size());
  return bytes;
}

/// A model of both kinds with and without gradients, a NaN and an infinity.
struct SmallModel {
  SmallModel() {
    ParameterCollection sub = model.add_subcollection("s");
    a = model.add_parameters({2, 3}, ParameterInitFromVector({1, -2, 3e-20F, 4e20F, 5, 0}), "a");
    b = sub.add_parameters({2}, ParameterInitFromVector({std::nanf(""), -INFINITY}), "b");
    e = sub.add_lookup_parameters(2, {2}, ParameterInitFromVector({0.25F, 1, 2, 3}), "e");
    std::vector<float> g{7, 8};
    e.p->accumulate_grad(1, Tensor({2}, g.data(), nullptr, DeviceMempool::NONE));
  }
  /// All that a load may change, as bytes.
  [[nodiscard]] std::string state() const {
    std::string all;
    for (const auto& p : detail::ModelAccess::all(model)) {
      const detail::StorageState& s = p->state();
      all += bytes_of(s, s.values.data());
      all += p->nonzero_grad ? '1' : '0';
      all += std::to_string(static_cast<int>(s.fill)) + "/" + std::to_string(s.touched.size());
    }
    return all;
  }
  ParameterCollection model;
  Parameter a, b;
  LookupParameter e;
};

class DamageTest : public ::testing::Test {
 protected:
  DamageTest() {
    TextFileSaver saver(file_);
    saver.save(SmallModel().model, "/m");
    saver.close();
    std::ifstream in(file_, std::ios::binary);
    text_.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  void write(const std::string& text) const { std::ofstream(file_, std::ios::binary) << text; }
  testing::TemporaryFolder folder_;
  std::string file_ = folder_.file("damaged.model");
  std::string text_;
};

TEST_F(DamageTest, EveryTruncationIsAnErrorThatChangesNothing) {
  SmallModel target;
  const std::string before = target.state();
  for (std::size_t n = 0; n < text_.size(); ++n) {
    write(text_.substr(0, n));
    ASSERT_THROW(TextFileLoader(file_).populate(target.model, "/m"), errors::IoError) << n;
    ASSERT_THROW(TextFileLoader(file_).populate(target.model), errors::IoError) << n;
    ASSERT_EQ(target.state(), before);
  }
  write(text_);
  ASSERT_NO_THROW(TextFileLoader(file_).populate(target.model, "/m"));
}

// A flipped bit is an error, or the file is another well-formed file: then the loaded model is
// exactly as the file says, so saving gives the file again.
TEST_F(DamageTest, EveryFlippedBitIsAnErrorOrAnExactLoad) {
  std::size_t loads = 0;
  for (std::size_t i = 0; i < text_.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string damaged = text_;
      damaged[i] = static_cast<char>(static_cast<unsigned char>(damaged[i]) ^ (1U << bit));
      write(damaged);
      SmallModel target;
      const std::string before = target.state();
      try {
        TextFileLoader(file_).populate(target.model);
      } catch (const errors::IoError&) {
        ASSERT_EQ(target.state(), before) << "byte " << i << " bit " << bit;
        continue;
      }
      ++loads;
      // Values and gradients, read independently: with the C library, words one after the other.
      std::istringstream words(damaged);
      for (const auto& p : detail::ModelAccess::all(target.model)) {
        detail::StorageState& s = p->state();
        std::string type, name, dim, bytes, flag;
        words >> type >> name >> dim >> bytes >> flag;
        const auto expect = [&](const std::string& data) {
          for (std::int64_t k = 0; k < s.elements; ++k) {
            std::string word;
            words >> word;
            const float want = std::strtof(word.c_str(), nullptr);
            float got = 0.0F;
            std::memcpy(&got, data.data() + k * 4, 4);
            ASSERT_TRUE(got == want || (std::isnan(got) && std::isnan(want)))
                << word << " byte " << i;
          }
        };
        expect(bytes_of(s, s.values.data()));
        ASSERT_EQ(flag == "FULL_GRAD", s.fill != detail::GradientFill::kEmpty);
        if (flag == "FULL_GRAD") {
          s.fill_gradient();  // of a table it has rows
          expect(bytes_of(s, s.gradient.data()));
        }
      }
    }
  }
  EXPECT_GT(loads, 100U);  // digits that became other digits, and letters of names
  EXPECT_LT(loads, text_.size() * 8 / 2);
}

}  // namespace
}  // namespace dynet
