# The families of operations are the words `family(name, List)` of families.h.

# dynet_family_sources(output template prefix): makes a source of the template for each family, with
# the words @family@ and @Family@ replaced, and appends their names to the list `output`.
function(dynet_family_sources output template prefix)
  set(families_h ${PROJECT_SOURCE_DIR}/include/dynet/ops/families.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${families_h})
  file(READ ${families_h} text)
  string(REGEX MATCHALL "family\\([a-z_]+, [A-Za-z]+\\)" families "${text}")
  foreach(line IN LISTS families)
    string(REGEX MATCH "([a-z_]+), ([A-Za-z]+)" line ${line})
    set(family ${CMAKE_MATCH_1})
    set(Family ${CMAKE_MATCH_2})
    configure_file(${template} ${prefix}${family}.cc @ONLY)
    list(APPEND ${output} ${CMAKE_CURRENT_BINARY_DIR}/${prefix}${family}.cc)
  endforeach()
  set(${output} ${${output}} PARENT_SCOPE)
endfunction()
