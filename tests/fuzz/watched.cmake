# SPDX-License-Identifier: BSD-2-Clause
# libFuzzer programs for readers of watched programs' files. Built with -DMEMFLAME_FUZZ=ON
# and clang++; each is also a test that runs for a few seconds. To search longer:
#   tests/perf_map_fuzz -max_total_time=3600
# Nothing else is built with them: the libraries that they link are instrumented.
add_custom_target(fuzzers)
set(fuzz_flags -DMEMFLAME_SANITIZED -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
foreach(library core unwind allocators probes collapse render fleet)
  target_compile_options(memflame_${library} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${fuzz_flags}>")
endforeach()

# watched_fuzz(<stem> <library> [AFTER <target>] [SEEDS …]): fuzz/<stem>_fuzz.cc. New inputs go to the first
# folder of the seeds, so that the files built for the tests stay as they are.
function(watched_fuzz stem library)
  cmake_parse_arguments(ARG "" "AFTER" "SEEDS" ${ARGN})
  add_executable(${stem}_fuzz fuzz/${stem}_fuzz.cc)
  target_compile_options(${stem}_fuzz PRIVATE ${fuzz_flags})
  target_link_options(${stem}_fuzz PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(${stem}_fuzz PRIVATE ${library} memflame_warnings)
  add_test(NAME ${stem}_fuzz COMMAND ${stem}_fuzz -seed=1 -max_total_time=10 ${ARG_SEEDS})
  set_tests_properties(${stem}_fuzz PROPERTIES LABELS fuzz)
  add_dependencies(fuzzers ${stem}_fuzz)
  if(ARG_AFTER)
    add_dependencies(${stem}_fuzz ${ARG_AFTER})
  endif()
endfunction()
foreach(folder elf frame table go usdt site allocator)
  string(TOUPPER ${folder}_CORPUS variable)
  set(${variable} ${CMAKE_CURRENT_BINARY_DIR}/${folder}_corpus)
  file(MAKE_DIRECTORY ${${variable}})
endforeach()

watched_fuzz(ring memflame_probes SEEDS -max_len=65536)
watched_fuzz(agent memflame_probes SEEDS -max_len=4096)
target_sources(agent_fuzz PRIVATE probes/inside/agent/fake_process.cc)
foreach(file record rules sampling stack_memory walk)
  target_sources(agent_fuzz PRIVATE ${PROJECT_SOURCE_DIR}/probes/inside/agent/${file}.cc)
endforeach()
watched_fuzz(perf_map memflame_collapse)
watched_fuzz(kallsyms memflame_collapse)
watched_fuzz(scan memflame_collapse SEEDS -max_len=4096)
watched_fuzz(demangle memflame_collapse)
watched_fuzz(elf_symbols memflame_collapse AFTER symbol_files SEEDS -max_len=65536 ${ELF_CORPUS} ${SYMBOLS})

add_custom_command(
  OUTPUT ${FRAME_CORPUS}/library
  COMMAND ${GNU_OBJCOPY} -O binary -j .eh_frame library.so ${FRAME_CORPUS}/library
  DEPENDS ${UNWIND}/library.so WORKING_DIRECTORY ${UNWIND} VERBATIM)
add_custom_target(frame_corpus DEPENDS ${FRAME_CORPUS}/library)
add_dependencies(frame_corpus unwind_files)
watched_fuzz(eh_frame memflame_unwind AFTER frame_corpus SEEDS ${FRAME_CORPUS})
watched_fuzz(unwind_table memflame_unwind AFTER unwind_files SEEDS -max_len=65536 ${TABLE_CORPUS} ${UNWIND})
watched_fuzz(go_functions memflame_core SEEDS -max_len=65536 ${GO_CORPUS})
watched_fuzz(go_heap memflame_probes SEEDS -max_len=4096)
watched_fuzz(java_frames memflame_probes SEEDS -max_len=16384)
watched_fuzz(python_frames memflame_probes SEEDS -max_len=16384)
watched_fuzz(php_frames memflame_probes SEEDS -max_len=16384)
watched_fuzz(ruby_frames memflame_probes SEEDS -max_len=16384)
watched_fuzz(v8_calls memflame_probes SEEDS -max_len=16384)
watched_fuzz(v8_frames memflame_probes SEEDS -max_len=16384)
watched_fuzz(store_rows memflame_fleet SEEDS -max_len=16384)

add_custom_command(
  OUTPUT ${USDT_CORPUS}/usdt_truth
  COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:usdt_truth> ${USDT_CORPUS}/usdt_truth
  DEPENDS usdt_truth VERBATIM)
add_custom_target(usdt_corpus DEPENDS ${USDT_CORPUS}/usdt_truth)
watched_fuzz(usdt memflame_probes AFTER usdt_corpus SEEDS -max_len=65536 ${USDT_CORPUS})
watched_fuzz(site memflame_allocators SEEDS -max_len=256 ${SITE_CORPUS})
watched_fuzz(allocators memflame_allocators AFTER allocator_files SEEDS -max_len=65536 ${ALLOCATOR_CORPUS}
             ${ALLOCATORS})
