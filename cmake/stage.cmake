# dynet_stage(name SOURCES ... [TESTS ...] [BENCHES ...] [LINK ...])
#
# One object library a stage. Its include roots are include/ (public headers), its own
# src/<name>/include, and those of the stages before it, which it gets from DYNET_STAGES in the
# order the top-level file adds them. Each entry of TESTS is one test program.

add_library(dynet_options INTERFACE)
target_compile_features(dynet_options INTERFACE cxx_std_20)
target_compile_options(dynet_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow>
  $<$<AND:$<BOOL:${DYNET_WERROR}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # std::stable_sort of libstdc++ 12 uses what C++17 deprecates, and clang blames the caller.
  target_compile_options(dynet_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Nobody puts a function of another library in the place of one of this: they may be inlined, and
  # call each other directly, as with clang and as if the library were linked statically.
  target_compile_options(dynet_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>)
  if(DYNET_TOGETHER AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # It takes `"text" + std::to_string(n)` for overlapping memory (GCC bug 105651).
    target_compile_options(dynet_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
  endif()
  if(DYNET_TOGETHER)
    # The compiler collects its garbage from 512 MB on: sooner costs a twentieth of the time.
    target_compile_options(dynet_options INTERFACE
      "$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param ggc-min-heapsize=524288>")
  endif()
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # The floor of the library; faster instructions are chosen at run time (Highway).
  target_compile_options(dynet_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=x86-64-v2>)
endif()
if(DYNET_SANITIZE)
  target_compile_options(dynet_options INTERFACE -fsanitize=${DYNET_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(dynet_options INTERFACE -fsanitize=${DYNET_SANITIZE})
  if(DYNET_SANITIZE MATCHES "undefined")
    target_compile_options(dynet_options INTERFACE -fno-sanitize-recover=undefined)
  endif()
  if(DYNET_SANITIZE MATCHES "address")
    # An eighth of the time to compile loops on vectors, to find what that sanitizer sees anyway.
    target_compile_options(dynet_options INTERFACE -fno-sanitize=object-size)
  endif()
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# dynet_compile_together(target): several sources of the target at once, as most of the time goes into
# the headers that they share. Not those that Highway includes once per SIMD target.
function(dynet_compile_together target)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "simd_[a-z_]*\\.cc$|\\.cu$")
  set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${DYNET_TOGETHER} UNITY_BUILD_BATCH_SIZE 12)
endfunction()

# dynet_test_program(target): what every test program has beside the options of the library. Compiling a
# test takes longer than running it, so that less optimisation pays; and half of that time are headers
# that most tests have, which are compiled once for all of them. Where a change compiles alone
# (DYNET_TOGETHER=OFF) these are none of the library's: a change to one would compile every test.
# Two hundred programs are linked in half of the time by gold, where there is one.
find_program(DYNET_GOLD ld.gold)
function(dynet_test_program target)
  separate_arguments(flags UNIX_COMMAND "${DYNET_TEST_FLAGS}")
  if(NOT TARGET dynet_test_headers)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cc CONTENT "int main() {}\n")
    add_executable(dynet_test_headers ${PROJECT_BINARY_DIR}/test_headers.cc)
    target_compile_options(dynet_test_headers PRIVATE ${flags})
    target_link_libraries(dynet_test_headers PRIVATE dynet_options GTest::gtest Threads::Threads)
    target_include_directories(dynet_test_headers PRIVATE ${PROJECT_SOURCE_DIR}/include)
    set(headers <algorithm> <cmath> <filesystem> <fstream> <functional> <map> <random> <sstream> <string> <vector>
        <gtest/gtest.h>)
    if(DYNET_TOGETHER)
      list(APPEND headers <dynet/expr.h> <dynet/ext/add_node.h> <dynet/ext/op.h> <dynet/io.h> <dynet/lstm.h>
           <dynet/training.h> <dynet/treelstm.h>)
    endif()
    target_precompile_headers(dynet_test_headers PRIVATE ${headers})
  endif()
  target_compile_options(${target} PRIVATE ${flags})
  target_precompile_headers(${target} REUSE_FROM dynet_test_headers)
  if(DYNET_GOLD AND NOT DYNET_SANITIZE)
    target_link_options(${target} PRIVATE -fuse-ld=gold)
  endif()
endfunction()

function(dynet_stage name)
  cmake_parse_arguments(STAGE "" "" "SOURCES;TESTS;BENCHES;LINK" ${ARGN})
  get_property(before GLOBAL PROPERTY DYNET_STAGES)
  set(target dynet_${name})
  add_library(${target} OBJECT ${STAGE_SOURCES})
  dynet_compile_together(${target})
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
  target_link_libraries(${target} PUBLIC dynet_options ${STAGE_LINK})
  foreach(earlier IN LISTS before)
    target_include_directories(${target} PUBLIC
      $<TARGET_PROPERTY:dynet_${earlier},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
  set_property(GLOBAL APPEND PROPERTY DYNET_STAGES ${name})
  set(objects "")
  foreach(stage IN LISTS before)
    list(APPEND objects $<TARGET_OBJECTS:dynet_${stage}>)
  endforeach()
  list(APPEND objects $<TARGET_OBJECTS:${target}>)
  if(DYNET_TESTS)
    foreach(test IN LISTS STAGE_TESTS)
      # A stage's test links the stages up to its own and no later one.
      add_executable(${test} ${test}.cc ${objects})
      dynet_test_program(${test})
      target_include_directories(${test} PRIVATE ${PROJECT_SOURCE_DIR}/src/testing/include)  # tolerance.h
      if(before MATCHES params OR name STREQUAL params)
        target_sources(${test} PRIVATE $<TARGET_OBJECTS:dynet_far>)  # tests/CMakeLists.txt
        target_include_directories(${test} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
      endif()
      target_link_libraries(${test} PRIVATE ${target} hwy::hwy GTest::gtest_main Threads::Threads)
      add_test(NAME ${name}/${test} COMMAND ${test})
      if(before MATCHES params OR name STREQUAL params)
        dynet_far_test(${name}/${test} ${test})
      endif()
    endforeach()
  endif()
  if(DYNET_BENCH)
    foreach(bench IN LISTS STAGE_BENCHES)
      add_executable(${bench} ${bench}.cc ${objects})
      target_link_libraries(${bench} PRIVATE ${target} hwy::hwy benchmark::benchmark_main Threads::Threads)
    endforeach()
  endif()
endfunction()
