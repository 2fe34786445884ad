# The tree LSTM, small: lists, then trees from a file.

include(${CMAKE_CURRENT_LIST_DIR}/run_program.cmake)

set(small --hidden 16 --updates 200 --test-trees 100)
run_program(0 "loss 3 [0-9.]+\n.*bag of symbols +[0-9.]+ %\n +tree LSTM +[0-9.]+ %.*depth 4.*read again"
            ${small} --print-losses 3)
run_program(0 "^${REPORT}dev root accuracy" ${small} --quiet)
foreach(file model.txt model.txt.settings curve.csv graph.dot)
  if(NOT EXISTS ${OUT}/${file})
    message(FATAL_ERROR "listops did not write ${file}")
  endif()
endforeach()
run_program(0 "^.MAX 3 .MIN 4 5.. = [0-9], (right|not 4)\n$" --predict "MAX 3 MIN 4 5 ] ]")
run_program(2 "expression:1:9: a closing bracket too many" --predict "MAX 3 ] ]")
run_program(1 "belongs to the model file" --model ${OUT}/curve.csv --predict "MAX 3 ]")
run_program(109 "no-such-option" --no-such-option)

# The other task, on trees written here.
file(WRITE ${OUT}/trees.txt
     "(3 (2 It) (4 (2 is) (4 fun)))\n(1 (2 It) (1 (2 is) (1 dull)))\n(2 (2 It) (2 is))\n")
run_program(0 "left\n${REPORT}dev root accuracy.*held-out trees:.*tree LSTM" --train ${OUT}/trees.txt
            --dev ${OUT}/trees.txt --hidden 8 --epochs 5 --minibatch 2)
run_program(0 "${REPORT}wrote" --train ${OUT}/trees.txt --hidden 8 --lookup-updates dense)
run_program(0 "class [0-4]" --predict "(0 (0 fun) (0 unheard))")
run_program(2 "expression:1:2: want a word or two subtrees in a node" --predict "(0 (0 a))")
file(WRITE ${OUT}/bad.txt "(3 (2 It) (4 fun))\n(3 (2 It) (7 fun))\n")
run_program(2 "bad.txt:2:12: label 7 is out of range" --train ${OUT}/bad.txt)
