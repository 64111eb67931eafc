# SPDX-License-Identifier: BSD-2-Clause
# Tests of collapse/: one per reader (tests/inputs/<name>_test.cc, found by itself) and, with
# MEMFLAME_FUZZ, one libFuzzer program per row of inputs.def.
add_library(inputs_fixture STATIC inputs/inputs.cc inputs/round_trip.cc)
target_link_libraries(inputs_fixture PUBLIC memflame_doctest memflame_collapse PRIVATE memflame_warnings)
target_include_directories(inputs_fixture PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(inputs_fixture PRIVATE TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data"
                           CORPORA="${PROJECT_SOURCE_DIR}/../shared/corpora")
file(GLOB input_tests RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS inputs/*_test.cc)
# Readers of addresses have names to find in the files that collapse.cmake builds.
set(tests_with_symbols addresses perf_data pprof_addresses)
foreach(file ${input_tests})
  string(REGEX REPLACE "inputs/(.*)_test.cc" "\\1" name ${file})
  add_executable(input_${name}_test ${file})
  target_link_libraries(input_${name}_test PRIVATE inputs_fixture memflame_render memflame_warnings)
  target_compile_definitions(input_${name}_test PRIVATE
                             TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data"
                             CORPORA="${PROJECT_SOURCE_DIR}/../shared/corpora")
  if(name IN_LIST tests_with_symbols)
    target_link_libraries(input_${name}_test PRIVATE symbolize_fixture)
    target_include_directories(input_${name}_test PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_compile_definitions(input_${name}_test PRIVATE SYMBOLS="${SYMBOLS}"
                               SYMBOL_SOURCES="${SYMBOL_SOURCES}")
    add_dependencies(input_${name}_test symbol_files)
  endif()
  if(name STREQUAL pprof_addresses)
    target_link_libraries(input_${name}_test PRIVATE ZLIB::ZLIB)
  endif()
  add_test(NAME input_${name} COMMAND input_${name}_test)
  add_dependencies(unit_tests input_${name}_test)
  set_tests_properties(input_${name} PROPERTIES LABELS unit SKIP_RETURN_CODE 77 TIMEOUT 900)
endforeach()
