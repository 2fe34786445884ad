// The accepted forms of text files, and the texts of errors.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "dynet/io.h"

#include "testing/errors.h"
#include "testing/temporary_folder.h"

namespace dynet {
namespace {

class TextParserTest : public ::testing::Test {
 protected:
  void write(const std::string& text) const { std::ofstream(file, std::ios::binary) << text; }
  testing::TemporaryFolder folder_;
  std::string file = folder_.file("model.txt");
};

// White space that DyNet 2.1 does not look at, from editors and other systems.
TEST_F(TextParserTest, WhiteSpaceIsFree) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({2});
  const LookupParameter l = model.add_lookup_parameters(2, {1});
  const std::string one = "#Parameter# /w {2} 33 ZERO_GRAD\n";
  const std::string two = "#LookupParameter# /e {1,2} 33 ZERO_GRAD\n";
  const std::string numbers = "+1.00000000e+00 +2.00000000e+00";
  const std::vector<std::string> files{
      one + numbers + "\n" + two + numbers + "\n",  // no space at the end
      one + numbers + " \n" + two + numbers + " \n\n \r\n\n",
      "#Parameter# /w {2} 33 ZERO_GRAD\r\n" + numbers + " \r\n" +
          "#LookupParameter# /e {1,2} 33 ZERO_GRAD\r\n" + numbers + "\r\n",
      " #Parameter#  /w\t{2}  33   ZERO_GRAD \n +1.00000000e+00  +2.00000000e+00  \n" + two +
          "\t+1.00000000e+00\t+2.00000000e+00\n",
      one + "1 2\n" + two + " 1  2e0\n",  // the bytes of the lines before
      "#Parameter# /w {2} 5 ZERO_GRAD\n1   2\n" + two + numbers + "\n"};  // or right
  for (const std::string& text : files) {
    write(text);
    model.get_storage().all_params[0]->zero();
    model.get_storage().all_params[1]->zero();
    ASSERT_NO_THROW(TextFileLoader(file).populate(model)) << text;
    EXPECT_EQ(as_vector(*p.values()), (std::vector<float>{1, 2}));
    EXPECT_EQ(as_vector(l.p->all_values), (std::vector<float>{1, 2}));
    ParameterCollection other;
    const LookupParameter again = TextFileLoader(file).load_lookup_param(other, "/e");
    EXPECT_EQ(as_vector(again.p->all_values), (std::vector<float>{1, 2}));
    // No truncation loads, unless nothing but white space after the last line is gone.
    const std::size_t end = text.find('\n', text.find_last_not_of(" \r\n"));
    for (std::size_t n = 0; n <= end; ++n) {
      write(text.substr(0, n));
      ASSERT_THROW(TextFileLoader(file).populate(model), errors::IoError) << n << " of " << text;
    }
  }
}

TEST_F(TextParserTest, NumbersAreCountedFromOne) {
  ParameterCollection model;
  model.add_parameters({2, 2});
  const auto error = [&](const std::string& line) {
    write("#Parameter# /W {2,2} 65 ZERO_GRAD\n" + line);
    const std::string text =
        testing::text_of_error<errors::IoError>([&] { TextFileLoader(file).populate(model); });
    return text.substr(text.find("line"));
  };
  EXPECT_EQ(error("x 2 3 4 \n"),
            "line 2, byte 34: number 1 of 4: 'x'; want a number in the range of float");
  EXPECT_EQ(error("1 2 3 x\n"),
            "line 2, byte 40: number 4 of 4: 'x'; want a number in the range of float");
  EXPECT_EQ(error("1.0 2 3 \n"), "line 2, byte 42: number 4 of 4: the line ends; want 4 numbers");
  EXPECT_EQ(error("1 2 3 4 5 \n"), "line 2, byte 42: '5' after the last of 4 numbers");
}

}  // namespace
}  // namespace dynet
