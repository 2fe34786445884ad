# LIBRARY has nothing of CUDA: it names no symbol of CUDA's libraries, and wants none of the libraries. The
# same look at CONTROL, a library that has both (support/needs_cuda.cc), must find them.

function(look library symbols libraries)
  execute_process(COMMAND ${NM} --dynamic --undefined-only ${library}
    OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${READELF} --dynamic --wide ${library}
    OUTPUT_VARIABLE entries COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL " (cuda|cublas|cusolver|nvrtc|nvml|cu[A-Z])[A-Za-z0-9_]*" found "${names}")
  set(${symbols} "${found}" PARENT_SCOPE)
  string(REGEX MATCHALL "NEEDED[^\n]*lib(cuda|cublas|cusolver|nv)[^\n]*" found "${entries}")
  set(${libraries} "${found}" PARENT_SCOPE)
endfunction()

look(${CONTROL} symbols libraries)
if(NOT symbols OR NOT libraries)
  message(FATAL_ERROR "the symbols '${symbols}' and the libraries '${libraries}' of ${CONTROL} are not seen")
endif()
look(${LIBRARY} symbols libraries)
if(symbols OR libraries)
  message(FATAL_ERROR "${LIBRARY} is to work without CUDA, and names ${symbols} ${libraries}")
endif()
