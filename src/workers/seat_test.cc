// Seats of workers: the processors that a worker may use before, at and after the begin of a call.
#include "workers/seat.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "kernels/team.h"

namespace dynet::workers {
namespace {

cpu_set_t processors() {
  cpu_set_t all;
  CPU_ZERO(&all);
  EXPECT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  return all;
}
int first_of(const cpu_set_t& set) {
  int i = 0;
  while (!CPU_ISSET(i, &set)) {
    ++i;
  }
  return i;
}

/// This thread is the worker, and its own parent.
class Seats : public ::testing::Test {
 protected:
  void SetUp() override {
    sem_init(&call_, 0, 0);
    CPU_ZERO(&taken_);
    if (CPU_COUNT(&before_) < 2) {
      GTEST_SKIP() << "this thread may use one processor";
    }
    seat_.processor = first_of(before_);
  }
  void TearDown() override {
    sched_setaffinity(0, sizeof before_, &before_);
    sem_destroy(&call_);
  }
  bool may_use_as_before() const {
    const cpu_set_t now = processors();
    return CPU_EQUAL(&now, &before_) != 0;
  }

  const cpu_set_t before_ = processors();
  cpu_set_t taken_{};
  Seat seat_{};
  sem_t call_{};
};

TEST_F(Seats, AWorkerAloneOnItsProcessorStaysThere) {
  const int own = seat_.processor;
  take_processor(seat_, getpid(), taken_);
  EXPECT_EQ(seat_.processor, own);
  EXPECT_FALSE(seat_.is_moved);
  EXPECT_TRUE(CPU_ISSET(own, &taken_));
  EXPECT_TRUE(may_use_as_before());
}

TEST_F(Seats, TheSecondOnAProcessorIsMovedUntilItBegins) {
  const int own = seat_.processor;
  CPU_SET(own, &taken_);
  take_processor(seat_, getpid(), taken_);
  const cpu_set_t during = processors();
  EXPECT_EQ(CPU_COUNT(&during), 1);
  EXPECT_NE(seat_.processor, own);
  EXPECT_TRUE(CPU_ISSET(seat_.processor, &during));
  EXPECT_TRUE(CPU_ISSET(seat_.processor, &before_));
  EXPECT_EQ(CPU_COUNT(&taken_), 2);

  sem_post(&call_);
  wait_in_seat(seat_, call_);
  EXPECT_FALSE(seat_.is_moved);
  EXPECT_TRUE(may_use_as_before());
}

TEST_F(Seats, NobodyIsMovedWhereAllProcessorsAreTaken) {
  taken_ = before_;
  take_processor(seat_, getpid(), taken_);
  EXPECT_FALSE(seat_.is_moved);
  EXPECT_TRUE(may_use_as_before());
}

TEST_F(Seats, AWorkerThatMayNotLookAroundWaitsTheSame) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first_of(before_), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  ASSERT_EQ(kernels::usable_processors(), 1U);
  sem_post(&call_);
  wait_in_seat(seat_, call_);  // returns
  int left = -1;
  sem_getvalue(&call_, &left);
  EXPECT_EQ(left, 0);
}

}  // namespace
}  // namespace dynet::workers
