#pragma once

/// The families of operations: a header beside this one, and the list at its end. CMake reads these
/// lines too, and makes sources for each.
// clang-format off
#define DYNET_FAMILIES(family)          \
  family(input, InputOps)               \
  family(arithmetic, ArithmeticOps)     \
  family(activation, ActivationOps)     \
  family(elementary, ElementaryOps)     \
  family(trigonometry, TrigonometryOps) \
  family(linear, LinearOps)             \
  family(reduce, ReduceOps)             \
  family(norm, NormOps)                 \
  family(shape, ShapeOps)               \
  family(pick, PickOps)                 \
  family(select, SelectOps)             \
  family(segment, SegmentOps)           \
  family(contract, ContractOps)         \
  family(attention, AttentionOps)       \
  family(convolve, ConvolveOps)         \
  family(sliding, SlidingOps)           \
  family(loss, LossOps)                 \
  family(distance, DistanceOps)         \
  family(margin, MarginOps)             \
  family(order, OrderOps)               \
  family(sparsemax, SparsemaxOps)       \
  family(matrix, MatrixOps)             \
  family(chain, ChainOps)               \
  family(random, RandomOps)             \
  family(recurrent, RecurrentOps)
// clang-format on
