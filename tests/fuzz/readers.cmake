# SPDX-License-Identifier: BSD-2-Clause
# A libFuzzer program for the readers of collapse/inputs/ (see watched.cmake), with a name for each that
# chooses it; seeded from tests/data/inputs/<name>/ and the public samples where they are. To search
# longer: scripts/fuzz -t 3600 perf-script_fuzz
# Folders of the public samples whose name is not that of the format.
set(samples_folded folded recursive diff)
set(samples_java-heapz pprof)
set(samples_tcmalloc pprof)
set(samples_v8-heapprofile v8)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_executable(input_fuzz fuzz/input_fuzz.cc)
target_compile_options(input_fuzz PRIVATE ${fuzz_flags})
target_link_libraries(input_fuzz PRIVATE memflame_render memflame_collapse memflame_core
                      memflame_warnings)
target_link_options(input_fuzz PRIVATE -fsanitize=fuzzer,address,undefined)
add_dependencies(fuzzers input_fuzz)
file(STRINGS ${PROJECT_SOURCE_DIR}/collapse/inputs/inputs.def rows REGEX "^INPUT")
foreach(row ${rows})
  string(REGEX REPLACE "INPUT\\([a-z0-9_]+, \"([a-z0-9-]+)\".*" "\\1" name "${row}")
  # New inputs go to the first folder.
  set(found ${CMAKE_CURRENT_BINARY_DIR}/${name}_corpus)
  set(seeds ${CMAKE_CURRENT_BINARY_DIR}/${name}_seeds)
  file(MAKE_DIRECTORY ${found})
  if(NOT DEFINED samples_${name})
    set(samples_${name} ${name})
  endif()
  set(folders ${CMAKE_CURRENT_SOURCE_DIR}/data/inputs/${name})
  foreach(folder ${samples_${name}})
    list(APPEND folders ${PROJECT_SOURCE_DIR}/../shared/corpora/${folder})
  endforeach()
  set(program ${CMAKE_CURRENT_BINARY_DIR}/${name}_fuzz)
  add_custom_command(TARGET input_fuzz POST_BUILD VERBATIM
                     COMMAND ${CMAKE_COMMAND} -E create_symlink input_fuzz ${program}
                     COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/seeds.py ${seeds}
                             ${folders})
  add_test(NAME ${name}_fuzz COMMAND ${program} -seed=1 -max_len=4096 -max_total_time=10 ${found}
           ${seeds})
  set_tests_properties(${name}_fuzz PROPERTIES LABELS fuzz)
endforeach()

# Recordings, their events and their reports behind checksums, what is recorded of raw files of heaptrack and of
# bytehound (one program for both), selections, stages after reading, compressed inputs, and SQL.
foreach(name recording events heaptrack_raw report select tidy unpack query)
  add_executable(${name}_fuzz fuzz/${name}_fuzz.cc)
  target_compile_options(${name}_fuzz PRIVATE ${fuzz_flags})
  target_link_libraries(${name}_fuzz PRIVATE memflame_collapse memflame_core memflame_warnings)
  target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer,address,undefined)
  set(found ${CMAKE_CURRENT_BINARY_DIR}/${name}_corpus)
  file(MAKE_DIRECTORY ${found})
  set(folders ${CMAKE_CURRENT_SOURCE_DIR}/data/${name})
  if(name STREQUAL heaptrack_raw)
    list(APPEND folders ${CMAKE_CURRENT_SOURCE_DIR}/data/bytehound)
  endif()
  if(name STREQUAL report)  # its inputs are those of two others
    target_link_libraries(report_fuzz PRIVATE memflame_render)
    set(folders ${CMAKE_CURRENT_SOURCE_DIR}/data/recording ${CMAKE_CURRENT_SOURCE_DIR}/data/events)
  endif()
  add_test(NAME ${name}_fuzz COMMAND ${name}_fuzz -seed=1 -max_len=4096 -max_total_time=10 ${found} ${folders})
  set_tests_properties(${name}_fuzz PROPERTIES LABELS fuzz)
  add_dependencies(fuzzers ${name}_fuzz)
endforeach()
target_link_libraries(query_fuzz PRIVATE select_fixture PkgConfig::SQLITE)
