#include "dynet/dim.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <sstream>

namespace dynet {
namespace {

std::string printed(const Dim& d) {
  std::ostringstream os;
  os << d;
  return os.str();
}
/// Unused entries are 1, so equal shapes have equal bytes.
bool is_normal(const Dim& d) {
  for (unsigned i = d.nd; i < DYNET_MAX_TENSOR_DIM; ++i) {
    if (d.d[i] != 1) {
      return false;
    }
  }
  return d.nd <= DYNET_MAX_TENSOR_DIM;
}

TEST(Dim, CountsElements) {
  EXPECT_EQ(Dim().size(), 1U);
  EXPECT_EQ(Dim({2, 3}, 4).size(), 24U);
  EXPECT_EQ(Dim({2, 3}, 4).batch_size(), 6U);
  EXPECT_EQ(Dim({2, 3}, 4).sum_dims(), 5U);
  EXPECT_EQ(Dim({2, 0, 3}).size(), 0U);
  EXPECT_EQ(Dim(std::vector<long>{5, 6}).cols(), 6U);
  EXPECT_EQ(Dim({5}).cols(), 1U);
  EXPECT_EQ(Dim({5, 1, 2}).num_nonone_dims(), 2U);
}

TEST(Dim, RefusesWhatItCannotCount) {
  EXPECT_THROW(Dim({1, 1, 1, 1, 1, 1, 1, 1}), errors::SizeError);
  EXPECT_THROW(Dim(std::vector<long>(8, 1)), std::invalid_argument);
  EXPECT_THROW(Dim(std::vector<long>{3, -1}), errors::ValueError);
  EXPECT_THROW(Dim(std::vector<long>{1L << 32}), errors::SizeError);
  const Dim large({1U << 20, 1U << 12});  // 2^32
  EXPECT_EQ(large.elements(), std::int64_t{1} << 32);
  EXPECT_THROW((void)large.size(), errors::SizeError);
  EXPECT_THROW((void)large.batch_size(), errors::SizeError);
  const Dim absurd({1U << 31, 1U << 31}, 1U << 31);
  EXPECT_THROW((void)absurd.elements(), errors::SizeError);
  EXPECT_THROW((void)Dim({1U << 31, 1U << 31}).example_elements(), errors::SizeError);
  EXPECT_EQ(Dim({1U << 30, 1U << 30}).elements(), std::int64_t{1} << 60);
}

TEST(Dim, SumsAndProductsDoNotWrap) {
  using ext::Count;
  const Dim wide({1U << 31, 1U << 31});
  EXPECT_THROW(static_cast<void>(wide.sum_dims()), errors::SizeError);
  EXPECT_EQ(to_extent(Count(65535) * 65537, "x"), 4294967295U);
  try {
    static_cast<void>(to_extent(Count(65536) * 65536, "rows"));
    FAIL();
  } catch (const errors::SizeError& e) {
    EXPECT_STREQ(e.what(), "rows: 4294967296; an extent is at most 4294967295");
  }
  const std::int64_t most = Count::kMost;
  EXPECT_TRUE((Count(most / 2) + most / 2).fits());
  EXPECT_TRUE((Count(most / 4) * 4).fits());
  Count large = Count(most) + 1;
  EXPECT_FALSE(large.fits());
  for (int i = 0; i < 5; ++i) {  // stays too large, whatever is done with it
    large = large * large + large;
    EXPECT_FALSE(large.fits());
  }
  EXPECT_FALSE((large * 0).fits());
  EXPECT_FALSE((Count(most) * most).fits());
  EXPECT_EQ(large.text(), "more than 2^62");
  EXPECT_EQ((Count(3) * 5 + 1).text(), "16");
}

TEST(Dim, ChangesKeepUnusedEntriesAtOne) {
  Dim d({2, 3, 4}, 5);
  d.delete_dim(1);
  EXPECT_EQ(d, Dim({2, 4}, 5));
  d.insert_dim(0, 7);
  EXPECT_EQ(d, Dim({7, 2, 4}, 5));
  d.add_dim(6);
  EXPECT_EQ(d, Dim({7, 2, 4, 6}, 5));
  d.resize(2);
  EXPECT_EQ(d, Dim({7, 2}, 5));
  EXPECT_TRUE(is_normal(d));
  d.resize(4);
  EXPECT_EQ(d, Dim({7, 2, 1, 1}, 5));
  d.set(1, 9);
  EXPECT_EQ(d.size(1), 9U);
  d.delete_dims({0, 2, 3}, true);
  EXPECT_EQ(d, Dim({9}));
  d.delete_dim(0);
  EXPECT_EQ(d, Dim({1}));
  Dim all({2, 3}, 4);
  all.delete_dims({1, 0}, false);
  EXPECT_EQ(all, Dim({1}, 4));
  EXPECT_TRUE(is_normal(all));
}

TEST(Dim, RefusesBadChanges) {
  Dim d({2, 3});
  EXPECT_THROW(d.set(0, 0), errors::ValueError);
  EXPECT_THROW(d.set(2, 4), errors::ValueError);
  EXPECT_NO_THROW(d.set(2, 1));
  EXPECT_THROW(d.delete_dim(2), errors::ValueError);
  EXPECT_THROW(d.delete_dims({2}, false), errors::ValueError);
  EXPECT_THROW(d.insert_dim(3, 1), errors::ValueError);
  EXPECT_THROW(d.resize(8), errors::SizeError);
  Dim seven({1, 2, 3, 4, 5, 6, 7});
  EXPECT_THROW(seven.add_dim(1), errors::SizeError);
  EXPECT_THROW(seven.insert_dim(0, 1), errors::SizeError);
  EXPECT_EQ(d, Dim({2, 3}));
}

TEST(Dim, TruncatesAndTransposes) {
  EXPECT_EQ(Dim({3, 1, 1}, 2).truncate(), Dim({3}, 2));
  EXPECT_EQ(Dim({1, 1}).truncate(), Dim({1}));
  EXPECT_EQ(Dim().truncate(), Dim());
  EXPECT_EQ(Dim({4}, 2).transpose(), Dim({1, 4}, 2));
  EXPECT_EQ(Dim({4, 2}).transpose(), Dim({2, 4}));
  EXPECT_THROW((void)Dim({2, 2, 2}).transpose(), errors::ShapeError);
  EXPECT_NE(Dim({3}), Dim({3, 1}));
  EXPECT_NE(Dim({3}), Dim({3}, 2));
}

TEST(Dim, PrintsAndReadsBack) {
  EXPECT_EQ(printed(Dim({2, 3})), "{2,3}");
  EXPECT_EQ(printed(Dim({2, 3}, 4)), "{2,3X4}");
  EXPECT_EQ(printed(Dim()), "{}");
  EXPECT_EQ(to_string(Dim({2, 3}, 4)), "{2,3}x4");
  std::ostringstream list;
  list << std::vector<Dim>{Dim({2, 3}), Dim({3})};
  EXPECT_EQ(list.str(), "[{2,3} {3}]");
  std::ostringstream profile;
  Dim({2, 3}, 4).print_profile(profile);
  EXPECT_EQ(profile.str(), "{2,3}");
  for (const Dim& d : {Dim({2, 3}, 4), Dim({7}), Dim(), Dim({1, 2, 3, 4, 5, 6, 7}, 8)}) {
    std::istringstream in(printed(d));
    Dim back;
    ASSERT_TRUE(in >> back) << d;
    EXPECT_EQ(back, d);
    EXPECT_TRUE(is_normal(back));
  }
}

TEST(Dim, MalformedTextFailsTheStreamAndChangesNothing) {
  for (const char* text :
       {"", "2,3}", "{2,3", "{2,a}", "{-1}", "{1,2,3,4,5,6,7,8}", "{2X}", "{99999999999}"}) {
    std::istringstream in(text);
    Dim d({9}, 9);
    EXPECT_FALSE(in >> d) << text;
    EXPECT_EQ(d, Dim({9}, 9)) << text;
  }
  std::istringstream in("{2}");
  Dim d({9}, 9);
  in >> d;
  EXPECT_EQ(d, Dim({2}, 9));  // no X part: the batch stays
}

// Any sequence of changes keeps the invariant and the element count of a plain list.
TEST(Dim, RandomChangesAgreeWithAList) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    Dim d;
    std::vector<unsigned> list;
    for (int step = 0; step < 12; ++step) {
      const unsigned what = static_cast<unsigned>(random() % 4);
      const unsigned extent = 1 + static_cast<unsigned>(random() % 4);
      const auto size = static_cast<unsigned>(list.size());
      if (what == 0 && size < 7) {
        d.add_dim(extent);
        list.push_back(extent);
      } else if (what == 1 && size < 7) {
        const unsigned at = static_cast<unsigned>(random() % (size + 1));
        d.insert_dim(at, extent);
        list.insert(list.begin() + at, extent);
      } else if (what == 2 && size > 1) {
        const unsigned at = static_cast<unsigned>(random() % size);
        d.delete_dim(at);
        list.erase(list.begin() + at);
      } else if (what == 3 && size > 0) {
        const unsigned at = static_cast<unsigned>(random() % size);
        d.set(at, extent);
        list[at] = extent;
      }
      ASSERT_TRUE(is_normal(d));
      ASSERT_EQ(d.nd, list.size());
      std::int64_t product = 1;
      for (std::size_t i = 0; i < list.size(); ++i) {
        ASSERT_EQ(d.d[i], list[i]);
        product *= list[i];
      }
      ASSERT_EQ(d.elements(), product);
    }
  }
}

TEST(Errors, AreTheStandardTypesToo) {
  EXPECT_THROW(throw errors::ShapeError("x"), std::invalid_argument);
  EXPECT_THROW(throw errors::UsageError("x"), std::runtime_error);
  EXPECT_THROW(throw errors::DomainError("x"), std::domain_error);
  EXPECT_THROW(throw out_of_memory("x"), std::runtime_error);
  try {
    throw errors::IndexError("which");
  } catch (const errors::Error& e) {
    EXPECT_STREQ(e.message(), "which");
  }
}

}  // namespace
}  // namespace dynet
