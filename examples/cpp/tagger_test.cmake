# The tagger, small, with and without spelled words. Words that end in "o" are X, others O; those
# seen once are unknown unless they are spelled.

include(${CMAKE_CURRENT_LIST_DIR}/run_program.cmake)

set(train "")
foreach(stem ka be di po lu ma ne ri so tu va we)
  string(APPEND train "${stem}ro|X the|O ${stem}ra|O to|X\n${stem}la|O ${stem}lo|X the|O\n")
endforeach()
file(WRITE ${OUT}/train.txt "${train}")
file(WRITE ${OUT}/dev.txt "zaro|X the|O zara|O to|X\nzala|O zalo|X the|O\n")
set(small --train ${OUT}/train.txt --dev ${OUT}/dev.txt --embedding 8 --hidden 8 --mlp 8
    --character-embedding 4 --character-hidden 8 --known-from 2 --learning-rate 0.01)

run_program(0 "loss 2 [0-9.]+\n.*${REPORT}dev accuracy [0-9.]+ %, best accuracy [0-9.]+ %\n$"
            ${small} --epochs 2 --print-losses 2 --rows 50)
run_program(0 "^words.(O|X) the.O\n$" --predict "words the")
run_program(0 "${REPORT}dev accuracy [0-9.]+ %, best accuracy 100.00 %\n$"
            ${small} --characters --epochs 20 --minibatch 2)
run_program(0 "${REPORT}dev accuracy [0-9.]+ %, best accuracy 100.00 %\n$"
            ${small} --characters --epochs 20 --minibatch 2 --sequence --lookup-updates exact)
run_program(0 "^zimo.X zima.O\n$" --predict "zimo zima")
run_program(2 "^sentence:1:1: no word" --predict " ")

# Written by the sequence it is the same model.
foreach(spelling "" --characters)
  first_loss(loss "[0-9]+\\.[0-9][0-9][0-9]" ${small} ${spelling} --epochs 1 --print-losses 1)
  run_program(0 "${loss}" ${small} ${spelling} --epochs 1 --print-losses 1 --sequence)
endforeach()

# A tag that only --dev has is a wrong answer.
file(WRITE ${OUT}/new.txt "karo|NEW the|O\n")
run_program(0 "best accuracy (0|50).00 %\n$" --train ${OUT}/train.txt --dev ${OUT}/new.txt --hidden 4)

file(WRITE ${OUT}/bad.txt "fine|O\nThe|O cat\n")
run_program(2 "bad.txt:2:7: a word without a tag" --train ${OUT}/bad.txt)
run_program(105 "--known-from: Value 0 not in range" --known-from 0 --train none)
run_program(105 "--dev: needs --train" --dev none --predict a)
run_program(105 "--hidden: Value 0 not in range" --hidden 0 --train none)
run_program(109 "no-such-option" --no-such-option)
