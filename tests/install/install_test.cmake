# Installs BUILD below SCRATCH, builds CONSUMER against the installation, and runs its programs. With
# WITHOUT, a program is linked statically, lacks the text of this pattern, and is smaller than the shared
# library, whose size is printed beside its own.

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "${line}\nended with ${status}:\n${text}")
  endif()
endfunction()

set(prefix ${SCRATCH}/prefix)
file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
# The programs must find the installed package and nothing of this build.
run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${SCRATCH}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
# Each source is a program. Some write files.
file(GLOB sources ${CONSUMER}/*.cc)
list(FILTER sources EXCLUDE REGEX "/gpus.cc$")  # see below
foreach(source IN LISTS sources)
  get_filename_component(program ${source} NAME_WE)
  run(${CMAKE_COMMAND} -E chdir ${SCRATCH} ${SCRATCH}/build/${program})
  if(WITHOUT)
    set(static ${SCRATCH}/build/${program})
    file(GLOB_RECURSE shared ${prefix}/libdynet.so.*.*.*)
    file(GLOB_RECURSE archive ${prefix}/libdynet_inference.a)
    foreach(file static shared archive)
      file(SIZE ${${file}} size)
      math(EXPR ${file}_kb "${size} / 1000")
    endforeach()
    message(STATUS "${program}, linked with dynet::inference (${archive_kb} kB): ${static_kb} kB; "
                   "libdynet.so alone: ${shared_kb} kB")
    file(STRINGS ${static} found REGEX "${WITHOUT}")
    file(STRINGS ${shared} present REGEX "${WITHOUT}")
    if(found OR NOT present OR NOT static_kb LESS shared_kb)
      message(FATAL_ERROR "${program} has ${found}; want none of ${WITHOUT}, and fewer bytes")
    endif()
  endif()
endforeach()
# An installed program finds the installed library. A build with tests has its programs, too.
run(${prefix}/bin/dynet-clusters --help)
# A library of GPUs (GPUS, if it is given) is found in two places: beside the library, and in the folder of a Python
# package.
if(NOT GPUS)
  return()
endif()
file(GLOB_RECURSE library ${prefix}/*/libdynet.so)
get_filename_component(folder ${library} DIRECTORY)
get_filename_component(above ${folder} DIRECTORY)
if(NOT EXISTS ${folder}/libdynet_cuda.so)  # of a build with CUDA
  run(${SCRATCH}/build/gpus)
endif()
foreach(place ${folder} ${above}/dynet_cuda13)
  file(COPY_FILE ${GPUS} ${SCRATCH}/libdynet_cuda.so)
  file(COPY ${SCRATCH}/libdynet_cuda.so DESTINATION ${place})
  run(${SCRATCH}/build/gpus ${place}/libdynet_cuda.so)
  file(REMOVE ${place}/libdynet_cuda.so)
endforeach()
