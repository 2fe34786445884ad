# Third-party packages. Nothing is downloaded: a package that is missing stops the configuration
# with the line that installs it.

function(dynet_require package target apt dnf brew vcpkg conda)
  if(NOT TARGET ${target})
    message(FATAL_ERROR
      "DyNet needs ${package}, which was not found. Install it with one of\n"
      "  apt-get install ${apt}\n  dnf install ${dnf}\n  brew install ${brew}\n"
      "  vcpkg install ${vcpkg}\n  conda install -c conda-forge ${conda}")
  endif()
endfunction()

find_package(hwy QUIET CONFIG)
if(NOT TARGET hwy::hwy)  # Debian 12's package has a pkg-config file only
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(DYNET_HWY QUIET IMPORTED_TARGET libhwy)
    if(TARGET PkgConfig::DYNET_HWY)
      add_library(hwy::hwy ALIAS PkgConfig::DYNET_HWY)
    endif()
  endif()
endif()
if(NOT TARGET hwy::hwy)
  find_path(DYNET_HWY_INCLUDE hwy/highway.h)
  find_library(DYNET_HWY_LIBRARY hwy)
  if(DYNET_HWY_INCLUDE AND DYNET_HWY_LIBRARY)
    add_library(hwy::hwy UNKNOWN IMPORTED)
    set_target_properties(hwy::hwy PROPERTIES IMPORTED_LOCATION ${DYNET_HWY_LIBRARY}
                          INTERFACE_INCLUDE_DIRECTORIES ${DYNET_HWY_INCLUDE})
  endif()
endif()
dynet_require(Highway hwy::hwy libhwy-dev highway-devel highway highway libhwy)

find_package(Threads REQUIRED)

# The headers of safetensors files are JSON.
find_package(nlohmann_json QUIET)
dynet_require("JSON for Modern C++" nlohmann_json::nlohmann_json nlohmann-json3-dev json-devel nlohmann-json
              nlohmann-json nlohmann_json)

if(DYNET_TESTS)
  find_package(GTest QUIET)
  dynet_require(GoogleTest GTest::gtest_main libgtest-dev gtest-devel googletest gtest gtest)
endif()
if(DYNET_BENCH)
  find_package(benchmark QUIET)
  dynet_require("Google Benchmark" benchmark::benchmark libbenchmark-dev google-benchmark-devel
                google-benchmark benchmark benchmark)
endif()
if(DYNET_EXAMPLES OR DYNET_BENCH OR DYNET_PROGRAMS)
  find_package(CLI11 QUIET)
  dynet_require(CLI11 CLI11::CLI11 libcli11-dev cli11-devel cli11 cli11 cli11)
endif()
