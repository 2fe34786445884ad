# dynet-clusters as one runs it: PROGRAM makes files of classes in OUT from a small corpus.

file(REMOVE_RECURSE ${OUT})
file(MAKE_DIRECTORY ${OUT})
file(WRITE ${OUT}/corpus.txt "the cat sees a dog\na dog sees the cat\n\nthe dog sees a cat\na cat runs\n")

function(run wanted)
  execute_process(COMMAND ${PROGRAM} ${ARGN} WORKING_DIRECTORY ${OUT} RESULT_VARIABLE status
                  OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT status EQUAL wanted)
    message(FATAL_ERROR "${ARGN} ended with ${status}, not ${wanted}:\n${out}${err}")
  endif()
  set(out "${out}" PARENT_SCOPE)
  set(err "${err}" PARENT_SCOPE)
endfunction()

function(expect_text text part)
  string(FIND "${text}" "${part}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "'${part}' is not in:\n${text}")
  endif()
endfunction()

function(expect_file name content)
  file(READ ${OUT}/${name} found)
  if(NOT found STREQUAL content)
    message(FATAL_ERROR "${name} is\n${found}\nwant\n${content}")
  endif()
endfunction()

run(0 --help)
expect_text("${out}" "--min-count")

run(0 corpus.txt --classes 3 --out brown.txt)
if(NOT "${out}${err}" STREQUAL "")
  message(FATAL_ERROR "it is not silent where nobody looks: ${out}${err}")
endif()
expect_file(brown.txt "0 cat 4\n0 dog 3\n1 a 4\n1 the 3\n2 sees 3\n2 runs 1\n")
run(0 corpus.txt --classes 3 --out again.txt --verbose)
expect_text("${err}" "6 words")
expect_text("${err}" "100 %")
file(READ ${OUT}/brown.txt first)
expect_file(again.txt "${first}")

run(0 corpus.txt corpus.txt --classes 2 --method frequency --tree --min-count 4 --out paths.txt)
expect_file(paths.txt "0\tcat\t8\n0\ta\t8\n0\tthe\t6\n1\tsees\t6\n1\tdog\t6\n1\t<unk>\t2\n")

run(1 corpus.txt --classes 7 --out none.txt)
expect_text("${err}" "7 classes; want 1 to 6")
run(1 no.txt --classes 2 --out none.txt)
expect_text("${err}" "cannot open 'no.txt'")
execute_process(COMMAND ${PROGRAM} corpus.txt --out none.txt WORKING_DIRECTORY ${OUT} RESULT_VARIABLE status
                OUTPUT_QUIET ERROR_QUIET)
if(status EQUAL 0)
  message(FATAL_ERROR "it ran without a number of classes")
endif()
if(EXISTS ${OUT}/none.txt)
  message(FATAL_ERROR "a file of a run that failed")
endif()
