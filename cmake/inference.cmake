# dynet::inference, a static library for programs that only use models: without trainers, their state in
# files, and worker processes. It consists of the objects of the shared library, so that nothing is
# compiled twice, and a program takes from it only the objects and templates that it calls. The backward
# of an operation stays, because the record of the operation points to it. A program links either this
# or dynet::dynet.

set(objects "")
foreach(stage IN LISTS DYNET_BUILT)
  if(NOT stage MATCHES "^(trainers|workers|distributed)$")
    set(of_stage $<TARGET_OBJECTS:dynet_${stage}>)
    list(APPEND objects "$<FILTER:${of_stage},EXCLUDE,/(checkpoint|safetensors_trainer)[.]cc[.]o$>")
  endif()
endforeach()
add_library(dynet_inference STATIC ${objects})
add_library(dynet::inference ALIAS dynet_inference)
set_target_properties(dynet_inference PROPERTIES EXPORT_NAME inference LINKER_LANGUAGE CXX)
target_include_directories(dynet_inference PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(dynet_inference PUBLIC cxx_std_17)
# A program links Highway and threads itself. An installed package finds both (cmake/dynetConfig.cmake.in).
target_link_libraries(dynet_inference INTERFACE Threads::Threads
                      $<BUILD_INTERFACE:hwy::hwy> $<INSTALL_INTERFACE:dynet::hwy>)
if(UNIX AND NOT APPLE)
  target_link_options(dynet_inference INTERFACE LINKER:--gc-sections)
endif()
