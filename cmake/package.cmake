# `cmake --install build/release [--prefix DIR]`: the package `dynet` with the target dynet::dynet, with
# dynet::testing for programs that test operations of their own, and with dynet::inference, the component
# `inference`, if DYNET_INFERENCE is on, and dynet::mpi, the component `mpi`, if MPI was found.
# Everything else the library is made of (Highway, threads) is its own affair: a user of the package
# needs a C++17 compiler and, at run time, libhwy.

include(CMakePackageConfigHelpers)

set_target_properties(dynet PROPERTIES
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}
  EXPORT_NAME dynet)

set(DYNET_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/dynet)
set(libraries dynet dynet_testing)
if(DYNET_INFERENCE)
  list(APPEND libraries dynet_inference)
endif()
if(TARGET dynet_mpi)
  list(APPEND libraries dynet_mpi)
endif()
install(TARGETS ${libraries} EXPORT dynetTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT library)
if(TARGET dynet_cuda)
  # libdynet looks beside itself for the library of GPUs, here and in the build tree.
  set_target_properties(dynet_cuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  install(TARGETS dynet_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/dynet DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT development FILES_MATCHING PATTERN "*.h")

# Where DyNet 2.1 declares node classes, and the macros that declare them: nodes.h has all their names.
foreach(part activations affinetransform argmax arith-const arith-cwise arith-scalar arith-sum arith-unary
             change-devices concat const contract conv conv2d cumulative def-macros dropout flow hinge
             impl-macros linalg logsumexp losses lstm macros matrixmultiply maxpooling2d minmax moments
             normalization norms pickneglogsoftmax random rounding select similarities softmaxes to-device trig)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/include/dynet/nodes-${part}.h @ONLY
    CONTENT "#pragma once\n\n#include \"dynet/nodes.h\"\n")
endforeach()
target_include_directories(dynet PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>)
install(DIRECTORY ${PROJECT_BINARY_DIR}/include/dynet DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT development FILES_MATCHING PATTERN "nodes-*.h")

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)

install(EXPORT dynetTargets NAMESPACE dynet:: DESTINATION ${DYNET_PACKAGE_DIR} COMPONENT development)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dynetConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
configure_file(${PROJECT_SOURCE_DIR}/cmake/dynetConfig.cmake.in ${PROJECT_BINARY_DIR}/dynetConfig.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/dynetConfig.cmake ${PROJECT_BINARY_DIR}/dynetConfigVersion.cmake
  DESTINATION ${DYNET_PACKAGE_DIR} COMPONENT development)
