# Installs BUILD below SCRATCH, builds CONSUMER against what was installed, and runs its programs.

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "${line}\nended with ${status}:\n${text}")
  endif()
endfunction()

set(prefix ${SCRATCH}/prefix)
file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
# The programs must find the installed package and nothing of this build.
run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${SCRATCH}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${SCRATCH}/build/old_program)
run(${SCRATCH}/build/attention)
run(${SCRATCH}/build/xor)
run(${CMAKE_COMMAND} -E chdir ${SCRATCH} ${SCRATCH}/build/files)
run(${CMAKE_COMMAND} -E chdir ${SCRATCH} ${SCRATCH}/build/readers)
run(${SCRATCH}/build/recurrent)
run(${SCRATCH}/build/softmax)
run(${SCRATCH}/build/workers)
run(${SCRATCH}/build/text)
run(${CMAKE_COMMAND} -E chdir ${SCRATCH} ${SCRATCH}/build/trainers)
run(${SCRATCH}/build/trees)
run(${SCRATCH}/build/own_operation)
# An installed program finds the installed library.
if(EXISTS ${prefix}/bin/dynet-clusters)
  run(${prefix}/bin/dynet-clusters --help)
endif()
