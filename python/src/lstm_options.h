#pragma once

#include <nanobind/nanobind.h>

namespace dynet::python {

/// From now on a call of the class `coupled` with `ln_lstm` or `forget_bias`, which the coupled
/// LSTM lacks, makes an object of `standard`: programs of DyNet 2.1 know `coupled` as LSTMBuilder,
/// which was the standard LSTM there. (Classes that programs derive make their own objects.) At
/// import, once.
void give_options_to(nanobind::handle coupled, nanobind::handle standard);

}  // namespace dynet::python
