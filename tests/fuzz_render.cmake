# One libFuzzer program per reader of collapse/inputs/ (see fuzz.cmake), seeded from
# tests/data/inputs/<name>/ and the public samples where they are. To search longer:
#   tests/perf-script_fuzz -max_total_time=600 CORPUS_FOLDER
set(fuzz_flags -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
target_compile_options(memflame_render PRIVATE ${fuzz_flags})
target_compile_options(memflame_collapse PRIVATE ${fuzz_flags})
file(STRINGS ${PROJECT_SOURCE_DIR}/collapse/inputs/inputs.def rows REGEX "^INPUT")
foreach(row ${rows})
  string(REGEX REPLACE "INPUT\\(([a-z0-9_]+), \"([a-z0-9-]+)\".*" "\\1;\\2" words "${row}")
  list(GET words 0 id)
  list(GET words 1 name)
  add_executable(${name}_fuzz fuzz/input_fuzz.cc)
  target_compile_definitions(${name}_fuzz PRIVATE INPUT_ID=${id})
  target_compile_options(${name}_fuzz PRIVATE ${fuzz_flags})
  target_link_libraries(${name}_fuzz PRIVATE memflame_render memflame_collapse memflame_core
                        memflame_warnings)
  target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer,address,undefined)
  # New inputs go to the first folder.
  set(found ${CMAKE_CURRENT_BINARY_DIR}/${name}_corpus)
  file(MAKE_DIRECTORY ${found})
  set(seeds)
  foreach(folder ${CMAKE_CURRENT_SOURCE_DIR}/data/inputs/${name}
                 ${PROJECT_SOURCE_DIR}/../shared/corpora/${name})
    if(IS_DIRECTORY ${folder})
      list(APPEND seeds ${folder})
    endif()
  endforeach()
  add_test(NAME ${name}_fuzz COMMAND ${name}_fuzz -seed=1 -max_len=4096 -max_total_time=10 ${found}
           ${seeds})
  set_tests_properties(${name}_fuzz PROPERTIES LABELS fuzz)
endforeach()

# What is done with profiles, whatever they were read from.
add_executable(tidy_fuzz fuzz/tidy_fuzz.cc)
target_compile_options(tidy_fuzz PRIVATE ${fuzz_flags})
target_link_libraries(tidy_fuzz PRIVATE memflame_collapse memflame_core memflame_warnings)
target_link_options(tidy_fuzz PRIVATE -fsanitize=fuzzer,address,undefined)
set(found ${CMAKE_CURRENT_BINARY_DIR}/tidy_corpus)
file(MAKE_DIRECTORY ${found})
add_test(NAME tidy_fuzz COMMAND tidy_fuzz -seed=1 -max_len=4096 -max_total_time=10 ${found}
         ${CMAKE_CURRENT_SOURCE_DIR}/data/tidy)
set_tests_properties(tidy_fuzz PROPERTIES LABELS fuzz)
