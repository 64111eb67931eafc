# Fuzz target of the readers in collapse/inputs/ and everything in render/ (see fuzz.cmake).
set(fuzz_flags -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
target_compile_options(memflame_render PRIVATE ${fuzz_flags})
set(inputs ${PROJECT_SOURCE_DIR}/collapse/inputs)
add_executable(folded_fuzz fuzz/folded_fuzz.cc ${inputs}/folded.cc ${inputs}/folded_comment.cc
               ${inputs}/lines.cc)
target_compile_options(folded_fuzz PRIVATE ${fuzz_flags})
target_link_libraries(folded_fuzz PRIVATE memflame_render memflame_core memflame_warnings)
target_link_options(folded_fuzz PRIVATE -fsanitize=fuzzer,address,undefined)
# New inputs go to the first folder; the second has one of each kind of line.
set(FOLDED_CORPUS ${CMAKE_CURRENT_BINARY_DIR}/folded_corpus)
file(MAKE_DIRECTORY ${FOLDED_CORPUS})
add_test(NAME folded_fuzz COMMAND folded_fuzz -seed=1 -max_len=2048 -max_total_time=10
         ${FOLDED_CORPUS} ${CMAKE_CURRENT_SOURCE_DIR}/data/folded)
set_tests_properties(folded_fuzz PROPERTIES LABELS fuzz)
