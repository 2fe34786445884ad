# A program of the paper as two ranks: for the tagger the losses of one process, as three digits show.

include(${CMAKE_CURRENT_LIST_DIR}/run_program.cmake)

set(train "")
foreach(stem ka be di po lu ma ne ri so tu va we)
  string(APPEND train "${stem}ro|X the|O ${stem}ra|O to|X\n${stem}la|O ${stem}lo|X the|O\n")
endforeach()
file(WRITE ${OUT}/train.txt "${train}")
set(small --train ${OUT}/train.txt --embedding 8 --hidden 8 --minibatch 4 --epochs 2 --print-losses 5)

function(losses_of list)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT code EQUAL 0 OR NOT output MATCHES "${REPORT}")
    message(FATAL_ERROR "${ARGN}: exit code ${code}\n${output}${errors}")
  endif()
  string(REGEX MATCHALL "loss [0-9]+ [0-9]+[.][0-9][0-9][0-9]" found "${output}")
  set(${list} "${found}" PARENT_SCOPE)
endfunction()

set(ENV{OMPI_ALLOW_RUN_AS_ROOT} 1)
set(ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} 1)
set(ENV{OMPI_MCA_rmaps_base_oversubscribe} 1)
losses_of(alone ${PROGRAMS}/${NAME} ${small})
losses_of(together ${MPIRUN} -n 2 ${PROGRAMS}/${NAME} ${small} --distributed --out ${OUT})
list(LENGTH together count)
if(NOT count EQUAL 5 OR NOT EXISTS ${OUT}/model.safetensors)
  message(FATAL_ERROR "${NAME} printed ${together}, and left no model or too few losses")
endif()
# The language model reads a batch on each rank, so that its updates are others.
if(NAME STREQUAL tagger AND NOT alone STREQUAL together)
  message(FATAL_ERROR "one process: ${alone}\ntwo ranks: ${together}")
endif()
