# What the tests of programs share. PROGRAMS is the folder of the programs, OUT one to write into, NAME
# the program that run_program and first_loss run.

# expect(CODE OUTPUT PROGRAM ARGUMENTS...): runs it as a user would, and wants this exit code and
# output that matches.
function(expect expected_code expected_output program)
  execute_process(COMMAND ${PROGRAMS}/${program} ${ARGN}
                  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL expected_code)
    message(FATAL_ERROR "${program} ${ARGN}: exit code ${code}, not ${expected_code}\n${output}")
  endif()
  if(NOT output MATCHES "${expected_output}")
    message(FATAL_ERROR "${program} ${ARGN}: no '${expected_output}' in\n${output}")
  endif()
endfunction()

# run_program(CODE OUTPUT ARGUMENTS...): the same of NAME, which writes into OUT.
function(run_program expected_code expected_output)
  expect(${expected_code} "${expected_output}" ${NAME} --out ${OUT} ${ARGN})
endfunction()

# first_loss(LOSS DIGITS ARGUMENTS...): runs it for the line of the first loss, cut after what DIGITS
# matches.
function(first_loss loss digits)
  execute_process(COMMAND ${PROGRAMS}/${NAME} ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX MATCH "loss 1 ${digits}" found "${output}")
  if(NOT found)
    message(FATAL_ERROR "${NAME} ${ARGN}: no loss in\n${output}")
  endif()
  set(${loss} "${found}" PARENT_SCOPE)
endfunction()

set(REPORT "trained [0-9]+ items in [0-9.]+ cpu-seconds: [0-9.]+ items/s. peak memory [0-9.]+ MiB. \
first-update-at [0-9.]+ s after start\n")

file(REMOVE_RECURSE ${OUT})
file(MAKE_DIRECTORY ${OUT})
