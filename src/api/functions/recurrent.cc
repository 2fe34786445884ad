// Written by tools/generate-api from the operations in dynet/ops/recurrent.h. Not to be edited.

#include "dynet/ops/recurrent.h"

#include "dynet/expr/recurrent.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

template <int>
std::array<Expression, 2> lstm_cell(const Expression& a, const Expression& c, float forget_bias,
                                    Where where) {
  return api::outputs<2>(ext::add_node(ops::LstmCell{forget_bias}, {a, where}, c));
}
template std::array<Expression, 2> lstm_cell<>(const Expression& a, const Expression& c,
                                               float forget_bias, Where where);

template <int>
Expression lstm_gates(const Expression& a, float forget_bias, Where where) {
  return ext::add_node(ops::LstmGates{forget_bias}, {a, where});
}
template Expression lstm_gates<>(const Expression& a, float forget_bias, Where where);

Expression vanilla_lstm_c(const Expression& c_tm1, const Expression& gates_t, Where where) {
  return ext::add_node(ops::VanillaLstmC{}, {c_tm1, where}, gates_t);
}

Expression vanilla_lstm_h(const Expression& c_t, const Expression& gates_t, Where where) {
  return ext::add_node(ops::VanillaLstmH{}, {c_t, where}, gates_t);
}

template <int>
std::array<Expression, 2> coupled_lstm_cell(const Expression& i, const Expression& g,
                                            const Expression& o, const Expression& c, Where where) {
  return api::outputs<2>(ext::add_node(ops::CoupledLstmCell{}, {i, where}, g, o, c));
}
template std::array<Expression, 2> coupled_lstm_cell<>(const Expression& i, const Expression& g,
                                                       const Expression& o, const Expression& c,
                                                       Where where);

template <int>
Expression coupled_lstm_c(const Expression& i, const Expression& g, const Expression& c,
                          Where where) {
  return ext::add_node(ops::CoupledLstmC{}, {i, where}, g, c);
}
template Expression coupled_lstm_c<>(const Expression& i, const Expression& g, const Expression& c,
                                     Where where);

template <int>
Expression coupled_lstm_h(const Expression& o, const Expression& c, Where where) {
  return ext::add_node(ops::CoupledLstmH{}, {o, where}, c);
}
template Expression coupled_lstm_h<>(const Expression& o, const Expression& c, Where where);

template <int>
Expression gated_sum(const Expression& a, const Expression& x, const Expression& b,
                     const Expression& y, Where where) {
  return ext::add_node(ops::GatedSum{}, {a, where}, x, b, y);
}
template Expression gated_sum<>(const Expression& a, const Expression& x, const Expression& b,
                                const Expression& y, Where where);

template <int>
std::array<Expression, 2> tree_lstm_cell(const Expression& a, const Expression& f1,
                                         const Expression& f2, const Expression& c1,
                                         const Expression& c2, Where where) {
  return api::outputs<2>(ext::add_node(ops::TreeLstmCell{}, {a, where}, f1, f2, c1, c2));
}
template std::array<Expression, 2> tree_lstm_cell<>(const Expression& a, const Expression& f1,
                                                    const Expression& f2, const Expression& c1,
                                                    const Expression& c2, Where where);

template <int>
std::array<Expression, 2> tree_lstm_step(const Expression& i, const Expression& o,
                                         const Expression& u, const Expression& f1,
                                         const Expression& f2, const Expression& c1,
                                         const Expression& c2, const Expression& s, Where where) {
  return api::outputs<2>(ext::add_node(ops::TreeLstmStep{}, {i, where}, o, u, f1, f2, c1, c2, s));
}
template std::array<Expression, 2> tree_lstm_step<>(const Expression& i, const Expression& o,
                                                    const Expression& u, const Expression& f1,
                                                    const Expression& f2, const Expression& c1,
                                                    const Expression& c2, const Expression& s,
                                                    Where where);

}  // namespace dynet
