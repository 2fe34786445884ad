# The tree LSTM on trees from a file.

include(${CMAKE_CURRENT_LIST_DIR}/run_program.cmake)

file(WRITE ${OUT}/trees.txt
     "(3 (2 It) (4 (2 is) (4 fun)))\n(1 (2 It) (1 (2 is) (1 dull)))\n(2 (2 It) (2 is))\n")
run_program(0 "left\n${REPORT}dev accuracy [0-9.]+ %, best accuracy 100.00 %\n$" --train ${OUT}/trees.txt
            --dev ${OUT}/trees.txt --hidden 8 --epochs 40 --minibatch 2 --learning-rate 0.05)
run_program(0 "^class 3\n$" --predict "(0 (0 It) (0 (0 is) (0 fun)))")
run_program(0 "^class [0-4]\n$" --predict "(0 (0 fun) (0 unheard))")
run_program(0 "${REPORT}$" --train ${OUT}/trees.txt --hidden 8 --lookup-updates dense)
foreach(mistake "(0 (0 a))|1:2: want a word or two subtrees in a node" "(5 It)|1:2: label 5 is out of range; want one below 5"
                "(3x It)|1:2: label 3x is out" "(0 It (0 a))|1:2: want a word or two subtrees" "hello|1:1: want a tree")
  string(REPLACE "|" ";" parts "${mistake}")
  list(GET parts 0 tree)
  list(GET parts 1 reason)
  run_program(2 "expression:${reason}" --predict "${tree}")
endforeach()
file(WRITE ${OUT}/bad.txt "(3 (2 It) (4 fun))\n(3 (2 It) (7 fun))\n")
run_program(2 "bad.txt:2:12: label 7 is out of range" --train ${OUT}/bad.txt)
file(WRITE ${OUT}/bad.txt "\n")
run_program(2 "bad.txt:1:1: nothing but blank lines" --train ${OUT}/bad.txt)
