# libFuzzer programs for what collapse/ reads from watched programs. Built with -DMEMFLAME_FUZZ=ON
# and clang++; each is also a test that runs for a few seconds. To search longer:
#   tests/perf_map_fuzz -max_total_time=3600
function(symbolize_fuzz stem)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS;SEEDS" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/collapse/symbolize/)
  add_executable(${stem}_fuzz fuzz/${stem}_fuzz.cc ${ARG_SOURCES})
  target_include_directories(${stem}_fuzz PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${stem}_fuzz PRIVATE -fsanitize=fuzzer,address,undefined
                         -fno-sanitize-recover=all)
  target_link_options(${stem}_fuzz PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(${stem}_fuzz PRIVATE ${ARG_LIBS} memflame_warnings)
  add_test(NAME ${stem}_fuzz COMMAND ${stem}_fuzz -seed=1 -max_total_time=10 ${ARG_SEEDS})
  set_tests_properties(${stem}_fuzz PROPERTIES LABELS fuzz)
endfunction()

set(DEMANGLE demangle.cc punycode.cc rust_v0.cc)
symbolize_fuzz(perf_map SOURCES perf_map.cc)
symbolize_fuzz(kallsyms SOURCES kallsyms.cc symbol_table.cc)
symbolize_fuzz(demangle SOURCES ${DEMANGLE} LIBS supc++)
# New inputs go to the first folder, so that the files built for the tests stay as they are.
set(ELF_CORPUS ${CMAKE_CURRENT_BINARY_DIR}/elf_corpus)
file(MAKE_DIRECTORY ${ELF_CORPUS})
symbolize_fuzz(elf_symbols SEEDS -max_len=65536 ${ELF_CORPUS} ${SYMBOLS}
               SOURCES ${DEMANGLE} bus_guard.cc debug_files.cc dwarf_index.cc dwarf_names.cc
                       elf_file.cc elf_symbols.cc plt.cc root_file.cc symbol_table.cc vdso.cc
               LIBS memflame_core PkgConfig::LIBDW PkgConfig::LIBELF supc++)
