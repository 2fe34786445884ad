# The families of operations are the words `family(name, List)` of families.h.

# dynet_family_sources(output template prefix [count]): makes sources of the template, each for `count`
# families (1), and appends their names to the list `output`. Words that are replaced:
#   @headers@   a line for each family that includes its header
#   @families@  a line DYNET_FAMILY(family, Family) for each
#   @family@    the first one's name, which is the source's after the prefix
function(dynet_family_sources output template prefix)
  set(count 1)
  if(ARGC GREATER 3)
    set(count ${ARGV3})
  endif()
  set(families_h ${PROJECT_SOURCE_DIR}/include/dynet/ops/families.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${families_h})
  file(READ ${families_h} text)
  string(REGEX MATCHALL "family\\([a-z_]+, [A-Za-z]+\\)" all "${text}")
  list(LENGTH all end)
  math(EXPR last "${end} - 1")
  foreach(first RANGE 0 ${last} ${count})
    list(SUBLIST all ${first} ${count} some)  # fewer at the end
    list(TRANSFORM some REPLACE "family\\(([a-z_]+),.*" "\\1" OUTPUT_VARIABLE names)
    list(GET names 0 family)
    list(TRANSFORM names REPLACE "(.+)" "#include \"dynet/ops/\\1.h\"")
    list(JOIN names "\n" headers)
    list(TRANSFORM some REPLACE "family" "DYNET_FAMILY")
    list(JOIN some "\n" families)
    configure_file(${template} ${prefix}${family}.cc @ONLY)
    list(APPEND ${output} ${CMAKE_CURRENT_BINARY_DIR}/${prefix}${family}.cc)
  endforeach()
  set(${output} ${${output}} PARENT_SCOPE)
endfunction()
