# The language model, small: it learns two sentences by heart.

include(${CMAKE_CURRENT_LIST_DIR}/run_program.cmake)

set(text "the cat sat on the mat\na dog ran\n")
file(WRITE ${OUT}/train.txt "${text}${text}${text}${text}")
file(WRITE ${OUT}/dev.txt "${text}the dog flew\n")
set(small --train ${OUT}/train.txt --dev ${OUT}/dev.txt --embedding 8 --hidden 16)

run_program(0 "loss 3 [0-9.]+\n.*${REPORT}dev perplexity [0-9.]+, best perplexity [0-9.]+\n$"
            ${small} --minibatch 4 --epochs 40 --learning-rate 0.02 --print-losses 3)
foreach(file model.txt model.txt.settings curve.csv)
  if(NOT EXISTS ${OUT}/${file})
    message(FATAL_ERROR "rnnlm did not write ${file}")
  endif()
endforeach()
run_program(0 "^perplexity [0-9.]+\nnext +[0-9.]+ %  sat\n" --predict "the cat")
run_program(0 "^perplexity [0-9.]+\nnext +[0-9.]+ %  <s>\n" --predict "a dog ran")
run_program(0 "^perplexity [0-9.]+\n" --predict "words never seen")
run_program(0 "^perplexity [0-9.]+\n" --predict " ")
file(STRINGS ${OUT}/curve.csv rows)
list(LENGTH rows count)
if(NOT count EQUAL 41)
  message(FATAL_ERROR "rnnlm wrote ${count} rows of the curve, not 41")
endif()

# Written by the sequence it is the same model, with the values that were saved.
run_program(0 "loss 1 [0-9.]+\n.*${REPORT}" ${small} --minibatch 1 --epochs 1 --sequence
            --init-file ${OUT}/model.txt --print-losses 1 --lookup-updates dense)
run_program(0 "^rnnlm: 4 words" ${small} --minibatch 1 --epochs 1 --vocabulary 4)
file(WRITE ${OUT}/other "")
file(WRITE ${OUT}/other.settings "task x\nhidden many\n")
run_program(2 "other.settings:1:1: no settings of this program: the task is 'x'; want rnnlm"
            --model ${OUT}/other --predict a)
file(WRITE ${OUT}/other.settings "task rnnlm\nhidden 3\n")
run_program(1 "the settings of this model have no '" --model ${OUT}/other --predict a)
run_program(105 "--dev: needs --train" --dev ${OUT}/dev.txt --model none)
run_program(105 "--train: is required: there is no 'none'" --model none --predict a)
run_program(1 "cannot open 'none'" --train none)
file(WRITE ${OUT}/blank.txt "\n \n")
run_program(2 "blank.txt:1:1: nothing but blank lines" --train ${OUT}/blank.txt)
