#include "signals.h"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace dynet::python {
namespace {

/// Asked each time, as a fork changes the main thread.
bool is_main_thread() {
  const nb::object main = nb::module_::import_("threading").attr("main_thread")();
  return nb::cast<unsigned long>(main.attr("ident")) == PyThread_get_thread_ident();
}

}  // namespace

void run_signal_handlers() {
  if (is_main_thread() && PyErr_CheckSignals() != 0) {
    throw nb::python_error();
  }
}

}  // namespace dynet::python
