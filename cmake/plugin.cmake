# A library of devices (src/cuda) works with one build of libdynet: both are compiled with one text for the
# headers of all that crosses, such as the list of update rules, whose places name them. The loader compares.
file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/dynet/ext/*.h)
foreach(header include/dynet/dim.h include/dynet/trainers/all.h include/dynet/trainers/rule_trainer.h
        src/cuda/include/cuda/plugin.h src/kernels/include/kernels/host_copies.h
        src/trainers/include/trainers/device_steps.h)
  list(APPEND headers ${PROJECT_SOURCE_DIR}/${header})
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers})
set(texts "")
foreach(header IN LISTS headers)
  file(SHA256 ${header} text)
  string(APPEND texts ${text})
endforeach()
string(SHA256 number "${texts}")
string(SUBSTRING ${number} 0 8 number)
set(DYNET_PLUGIN_RELEASE "${PROJECT_VERSION} ${number}")

# dynet_knows_plugin(source): compiles a source of the current folder with DYNET_PLUGIN_RELEASE, a text, and
# finds cuda/plugin.h for it.
function(dynet_knows_plugin source)
  set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS
    "DYNET_PLUGIN_RELEASE=\"${DYNET_PLUGIN_RELEASE}\"")
  set_property(SOURCE ${source} APPEND PROPERTY INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/src/cuda/include)
  set_property(SOURCE ${source} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
