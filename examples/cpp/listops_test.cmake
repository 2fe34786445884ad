# The demo, small.

include(${CMAKE_CURRENT_LIST_DIR}/run_program.cmake)

set(small --hidden 16 --updates 200 --test-trees 100)
run_program(0 "loss 3 [0-9.]+\n.* left\n.*bag of symbols +[0-9.]+ %\n +tree LSTM +[0-9.]+ %.*depth 4.*wrote .*= [0-9], (right|not 4)\n"
            ${small} --print-losses 3 --test-every 50)
run_program(0 "^${REPORT}dev root accuracy" ${small} --quiet)
foreach(file model.safetensors curve.csv graph.dot)
  if(NOT EXISTS ${OUT}/${file})
    message(FATAL_ERROR "listops did not write ${file}")
  endif()
endforeach()
run_program(0 "^.MAX 3 .MIN 4 5.. = [0-9], (right|not 4)\n$" --predict "[MAX 3 [MIN 4 5]]")
run_program(2 "list:1:8: text after the end" --predict "[MAX 3]]")
run_program(2 "list:1:9: the other kind of bracket" --predict "[MAX 3 4)")
run_program(105 "--test-trees: Value 1 not in range" --test-trees 1)
run_program(109 "no-such-option" --no-such-option)
run_program(109 "epochs" --epochs 2)
