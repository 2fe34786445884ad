# The programs that are in C++ alone learn small data, which they get right after a few epochs, and
# refuse mistakes.

include(${CMAKE_CURRENT_LIST_DIR}/run_program.cmake)

set(stems ka be di po lu ma ne ri so tu va we)
set(tagged "")
set(documents "")
set(segments "")
set(pairs "")
set(text "")
set(trees "")
foreach(stem IN LISTS stems)
  # A tag that depends on the word before: "ro" is X behind "the", else O.
  string(APPEND tagged "${stem}|O the|O ro|X to|O ro|O\nthe|O ${stem}|X ro|O\n")
  string(APPEND documents "${stem} is not good ||| bad\n${stem} is good ||| good\n"
                          "not bad ${stem} ||| good\nthis ${stem} bad ||| bad\n")
  # A stem is part of a name behind "mr" or "mrs" alone.
  string(APPEND segments "mr|X ${stem}|X sees|O ${stem}|O\nthe|O ${stem}|O sees|O mrs|Y ${stem}|Y\n")
  # Translated in the other order.
  string(APPEND pairs "the ${stem} sees it ||| it sees ${stem}\n${stem} has the ${stem} ||| ${stem} has ${stem}\n")
  string(APPEND text "${stem} is ${stem}\nthe ${stem} is the ${stem}\n")
  foreach(verb sees has)
    string(APPEND trees "1\tthe\t_\t_\t_\t_\t2\t_\t_\t_\n2\t${stem}\t_\t_\t_\t_\t3\t_\t_\t_\n"
                        "3\t${verb}\t_\t_\t_\t_\t0\t_\t_\t_\n4\ta\t_\t_\t_\t_\t6\t_\t_\t_\n"
                        "5\tbig\t_\t_\t_\t_\t6\t_\t_\t_\n6\t${stem}\t_\t_\t_\t_\t3\t_\t_\t_\n\n")
    string(APPEND trees "1\t${stem}\t_\t_\t_\t_\t2\t_\t_\t_\n2\t${verb}\t_\t_\t_\t_\t0\t_\t_\t_\n\n")
  endforeach()
endforeach()
file(WRITE ${OUT}/tagged.txt "${tagged}")
file(WRITE ${OUT}/documents.txt "${documents}")
file(WRITE ${OUT}/pairs.txt "${pairs}")
file(WRITE ${OUT}/text.txt "${text}")
file(WRITE ${OUT}/segments.txt "${segments}")
file(WRITE ${OUT}/trees.conllu "${trees}")

expect(0 "best accuracy 100.00 %\n$" crf_tagger --train ${OUT}/tagged.txt --dev ${OUT}/tagged.txt --epochs 15)
expect(0 "best accuracy 100.00 %\n$" classifier --train ${OUT}/documents.txt --dev ${OUT}/documents.txt --epochs 20)
expect(0 "best accuracy 100.00 %\n$" parser --train ${OUT}/trees.conllu --dev ${OUT}/trees.conllu --epochs 8)
expect(0 "best accuracy 100.00 %\n$" segmental --train ${OUT}/segments.txt --dev ${OUT}/segments.txt --epochs 12)
expect(0 "best accuracy 100.00 %\n$" translator --train ${OUT}/pairs.txt --dev ${OUT}/pairs.txt --epochs 40)
expect(0 "best accuracy [5-9][0-9].[0-9]+ %\n([a-z]+ )+</s> \n$" transformer_lm --train ${OUT}/text.txt
       --dev ${OUT}/text.txt --epochs 40)
# A line after each epoch, here of 6 updates, and after the last update.
set(line "updates  loss [0-9.]+  accuracy [0-9.]+ %\n")
expect(0 "^6 ${line}10 ${line}dev accuracy [0-9.]+ %, best accuracy [0-9.]+ %\n$" segmental
       --train ${OUT}/segments.txt --dev ${OUT}/segments.txt --updates 10 --minibatch 4)
# The shortest way has 8 steps: 2 - 0.8. Batching changes nothing but the speed.
expect(0 "update 300: reward 1.[12][0-9]\n$" policy_gradient)
expect(0 "update 300: reward 1.[12][0-9]\n$" policy_gradient --dynet-autobatch=0)

# Cells of the program's own learn the same as the function without a cell.
set(learnt "accuracy 100.0 %. as nodes 100.0 %. [0-9.]+ s and [0-9.]+ s\n")
expect(0 "^minimal gated unit ${learnt}projected LSTM +${learnt}tree GRU +${learnt}$" own_cells)

# Mistakes, which are alike in all programs.
set(with_data classifier crf_tagger parser segmental transformer_lm translator)
foreach(program ${with_data} policy_gradient)
  expect(105 "--minibatch: Value 0 not in range 1" ${program} --minibatch 0)
  expect(105 "--learning-rate: Value -1 not in range" ${program} --learning-rate -1)
endforeach()
foreach(program IN LISTS with_data)
  expect(105 "--epochs: Value 0 not in range" ${program} --epochs 0)
endforeach()
foreach(option train dev epochs)
  expect(109 "--${option}" policy_gradient --${option} 1)
endforeach()
expect(109 "no-such-option" policy_gradient --no-such-option)
expect(106 "--dev is required" classifier --train ${OUT}/documents.txt)
expect(105 "--predict: needs --out" tagger --predict a)
expect(105 "--train: is required" parser --dev ${OUT}/trees.conllu)
expect(1 "cannot open 'none'" translator --train none --dev none)
file(WRITE ${OUT}/bad.txt "this is ||| bad\nbad\n")
expect(2 "bad.txt:2:" classifier --train ${OUT}/bad.txt --dev ${OUT}/bad.txt)
file(WRITE ${OUT}/bad.txt "this is ||| bad thing\n")
expect(2 "bad.txt:1:1: want one class behind" classifier --train ${OUT}/bad.txt --dev ${OUT}/bad.txt)
file(WRITE ${OUT}/blank.txt "\n")
expect(2 "blank.txt:1:1: nothing but blank lines" crf_tagger --train ${OUT}/blank.txt --dev ${OUT}/blank.txt)

# A class or a tag that only --dev has is a wrong answer.
file(WRITE ${OUT}/new.txt "this is ||| new\n")
expect(0 "best accuracy 0.00 %\n$" classifier --train ${OUT}/documents.txt --dev ${OUT}/new.txt --epochs 1)
file(WRITE ${OUT}/new.txt "the|NEW\n")
foreach(program crf_tagger segmental)
  expect(0 "best accuracy 0.00 %\n$" ${program} --train ${OUT}/tagged.txt --dev ${OUT}/new.txt --epochs 1)
endforeach()

# They stay short, over one header that brings none but the library's.
foreach(program ${with_data} policy_gradient)
  file(READ ${CMAKE_CURRENT_LIST_DIR}/${program}.cc text)
  file(READ ${CMAKE_CURRENT_LIST_DIR}/example.h header)
  string(REGEX REPLACE "[^\n]" "" lines "${text}")
  string(LENGTH "${lines}" count)
  string(REGEX MATCHALL "#include \"[a-z_]+\\.h\"" own "${text}${header}")
  if(count GREATER 190 OR NOT own STREQUAL "#include \"example.h\"")
    message(FATAL_ERROR "${program}.cc: ${count} lines, which include ${own}")
  endif()
endforeach()
