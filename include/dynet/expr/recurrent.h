#pragma once

// Written by tools/generate-api from the operations in dynet/ops/recurrent.h. Not to be edited.

#include <array>

#include "dynet/expr/arguments.h"

namespace dynet {

/// One step of an LSTM from its pre-activations a and the previous cell c: the new cell and the
///   hidden state. In the first step c may be absent, which counts as zeros.
/// `[i; f; o; g] = a; c' = logistic(f + forget_bias) * c + logistic(i) * tanh(g); h = logistic(o) *
///   tanh(c')`
/// Shapes: {4h}, {h} -> {h}, {h}.
/// `c`: may be absent, an empty Expression.
/// Results: in the order of the formula.
/// Errors: ShapeError unless a is {4h} and c is {h} or absent.
/// Source: Hochreiter and Schmidhuber, 1997; Gers et al., 2000.
template <int = 0>
std::array<Expression, 2> lstm_cell(const Expression& a, const Expression& c = {},
                                    float forget_bias = 1.0F, Where where = Where::here());

/// The gates of an LSTM from its pre-activations; vanilla_lstm_gates is this after an affine
///   transformation.
/// `[i; f; o; g] = a; y = [logistic(i); logistic(f + forget_bias); logistic(o); tanh(g)]`
/// Shapes: {4h} -> {4h}.
/// Errors: ShapeError unless a is {4h}.
template <int = 0>
Expression lstm_gates(const Expression& a, float forget_bias = 1.0F, Where where = Where::here());

/// New cell of an LSTM from the previous one and the gates.
/// `[i; f; o; g] = gates; y = i * g + f * c`
/// Shapes: {h}, {4h} -> {h}.
/// Errors: ShapeError unless c is {h} and the gates are {4h}.
Expression vanilla_lstm_c(const Expression& c_tm1, const Expression& gates_t,
                          Where where = Where::here());

/// Hidden state of an LSTM from its cell and the gates.
/// `[i; f; o; g] = gates; y = o * tanh(c)`
/// Shapes: {h}, {4h} -> {h}.
/// Errors: ShapeError unless c is {h} and the gates are {4h}.
Expression vanilla_lstm_h(const Expression& c_t, const Expression& gates_t,
                          Where where = Where::here());

/// One step of an LSTM whose forget gate is 1 - input gate, from the pre-activations i, g and o and
///   the previous cell c: the new cell and the hidden state. In the first step c may be absent,
///   which counts as zeros.
/// `c' = logistic(i) * tanh(g) + (1 - logistic(i)) * c; h = logistic(o) * tanh(c')`
/// Shapes: {h}, {h}, {h}, {h} -> {h}, {h}.
/// `c`: may be absent, an empty Expression.
/// Results: in the order of the formula.
/// Errors: ShapeError if the shapes differ.
/// Source: Greff et al., 2015.
template <int = 0>
std::array<Expression, 2> coupled_lstm_cell(const Expression& i, const Expression& g,
                                            const Expression& o, const Expression& c = {},
                                            Where where = Where::here());

/// New cell of an LSTM whose forget gate is 1 - input gate, from the pre-activations i and g and
///   the previous cell c. In the first step c may be absent, which counts as zeros.
/// `y = logistic(i) * tanh(g) + (1 - logistic(i)) * c`
/// Shapes: {h}, {h}, {h} -> {h}.
/// `c`: may be absent, an empty Expression.
/// Errors: ShapeError if the shapes differ.
/// Source: Greff et al., 2015.
template <int = 0>
Expression coupled_lstm_c(const Expression& i, const Expression& g, const Expression& c = {},
                          Where where = Where::here());

/// Hidden state of a coupled LSTM, from the pre-activation o of the output gate and the new cell.
/// `y = logistic(o) * tanh(c)`
/// Shapes: {h}, {h} -> {h}.
/// Errors: ShapeError if the shapes differ.
template <int = 0>
Expression coupled_lstm_h(const Expression& o, const Expression& c, Where where = Where::here());

/// Sum of two vectors behind gates with the pre-activations a and b; the first vector alone if b
///   and y are absent. Examples are the reset gate of a gated recurrent unit and the forget gates
///   over the cells of a tree's nodes.
/// `z = logistic(a) * x + logistic(b) * y`
/// Shapes: {h}, {h}, {h}, {h} -> {h}.
/// `b`: may be absent, an empty Expression.
/// `y`: may be absent, an empty Expression.
/// Errors: ShapeError if the shapes differ, or one of b and y is absent.
template <int = 0>
Expression gated_sum(const Expression& a, const Expression& x, const Expression& b = {},
                     const Expression& y = {}, Where where = Where::here());

/// Node of a binary tree LSTM over two nodes, from its pre-activations and their cells: cell and
///   hidden state. A node over a word has neither: f1, f2, c1 and c2 are absent.
/// `[i; o; u] = a; c = logistic(i) * tanh(u) + logistic(f1) * c1 + logistic(f2) * c2; h =
///   logistic(o) * tanh(c)`
/// Shapes: {3h}, {h}, {h}, {h}, {h} -> {h}, {h}.
/// `f1`: may be absent, an empty Expression.
/// `f2`: may be absent, an empty Expression.
/// `c1`: may be absent, an empty Expression.
/// `c2`: may be absent, an empty Expression.
/// Results: in the order of the formula.
/// Errors: ShapeError unless a is {3h} and the others are {h}, or all four absent.
/// Source: Tai et al., 2015.
template <int = 0>
std::array<Expression, 2> tree_lstm_cell(const Expression& a, const Expression& f1 = {},
                                         const Expression& f2 = {}, const Expression& c1 = {},
                                         const Expression& c2 = {}, Where where = Where::here());

/// Node of a tree LSTM over any number of nodes, from its pre-activations: cell and hidden state.
///   The cells of two nodes are c1 and c2; s is the sum of the cells of other nodes behind their
///   gates, a gated_sum. f1, f2, c1 and c2 may be absent together, and so may s.
/// `c = logistic(i) * tanh(u) + logistic(f1) * c1 + logistic(f2) * c2 + s; h = logistic(o) *
///   tanh(c)`
/// Shapes: {h}, {h}, {h}, {h}, {h}, {h}, {h}, {h} -> {h}, {h}.
/// `f1`: may be absent, an empty Expression.
/// `f2`: may be absent, an empty Expression.
/// `c1`: may be absent, an empty Expression.
/// `c2`: may be absent, an empty Expression.
/// `s`: may be absent, an empty Expression.
/// Results: in the order of the formula.
/// Errors: ShapeError if the shapes differ, or some but not all of f1, f2, c1 and c2 are absent.
/// Source: Tai et al., 2015.
template <int = 0>
std::array<Expression, 2> tree_lstm_step(const Expression& i, const Expression& o,
                                         const Expression& u, const Expression& f1 = {},
                                         const Expression& f2 = {}, const Expression& c1 = {},
                                         const Expression& c2 = {}, const Expression& s = {},
                                         Where where = Where::here());

}  // namespace dynet
