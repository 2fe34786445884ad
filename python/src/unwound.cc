// The stop of a thread that Python ends, before the frames of this module are unwound (gil.h).
//
// The linker puts this function in the place of the personality function, which unwinding asks
// about each C++ frame of the module, nanobind's too (CMakeLists.txt: --wrap). A forced unwinding
// is no exception: it comes from pthread_exit or pthread_cancel alone. On systems that end threads
// without unwinding (macOS, musl), it is never asked.

#ifdef __ELF__

#include <Python.h>
#include <unistd.h>
#include <unwind.h>

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): names of the linker's
_Unwind_Reason_Code __real___gxx_personality_v0(int version, _Unwind_Action actions,
                                                _Unwind_Exception_Class exception_class,
                                                _Unwind_Exception* exception,
                                                _Unwind_Context* context);

[[gnu::visibility("hidden")]] _Unwind_Reason_Code __wrap___gxx_personality_v0(
    int version, _Unwind_Action actions, _Unwind_Exception_Class exception_class,
    _Unwind_Exception* exception, _Unwind_Context* context) {
  if ((actions & _UA_FORCE_UNWIND) != 0 && Py_IsInitialized() == 0) {
    while (true) {
      pause();
    }
  }
  return __real___gxx_personality_v0(version, actions, exception_class, exception, context);
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)

}  // extern "C"

#endif
