# SPDX-License-Identifier: BSD-2-Clause
# libFuzzer programs for what is read from watched programs. Built with -DMEMFLAME_FUZZ=ON
# and clang++; each is also a test that runs for a few seconds. To search longer:
#   tests/perf_map_fuzz -max_total_time=3600
# Nothing else is built with them: what they link is instrumented.
add_custom_target(fuzzers)
function(input_fuzz stem folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS;SEEDS" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/${folder}/)
  add_executable(${stem}_fuzz fuzz/${stem}_fuzz.cc ${ARG_SOURCES})
  target_include_directories(${stem}_fuzz PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${stem}_fuzz PRIVATE -fsanitize=fuzzer,address,undefined
                         -fno-sanitize-recover=all)
  target_link_options(${stem}_fuzz PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(${stem}_fuzz PRIVATE ${ARG_LIBS} memflame_warnings)
  add_test(NAME ${stem}_fuzz COMMAND ${stem}_fuzz -seed=1 -max_total_time=10 ${ARG_SEEDS})
  set_tests_properties(${stem}_fuzz PROPERTIES LABELS fuzz)
  add_dependencies(fuzzers ${stem}_fuzz)
endfunction()
macro(symbolize_fuzz stem)
  input_fuzz(${stem} collapse/symbolize ${ARGN})
endmacro()

set(DEMANGLE demangle.cc punycode.cc rust_v0.cc)
symbolize_fuzz(perf_map SOURCES perf_map.cc)
symbolize_fuzz(kallsyms SOURCES kallsyms.cc symbol_table.cc)
symbolize_fuzz(demangle SOURCES ${DEMANGLE} LIBS supc++)
# New inputs go to the first folder, so that the files built for the tests stay as they are.
set(ELF_CORPUS ${CMAKE_CURRENT_BINARY_DIR}/elf_corpus)
file(MAKE_DIRECTORY ${ELF_CORPUS})
symbolize_fuzz(elf_symbols SEEDS -max_len=65536 ${ELF_CORPUS} ${SYMBOLS}
               SOURCES ${DEMANGLE} bus_guard.cc debug_files.cc dwarf_index.cc dwarf_names.cc
                       elf_file.cc elf_symbols.cc file_source.cc function_starts.cc
                       go_names.cc plt.cc symbol_table.cc vdso.cc
               LIBS memflame_core PkgConfig::LIBDW PkgConfig::LIBELF supc++ ${CMAKE_DL_LIBS})
add_dependencies(elf_symbols_fuzz symbol_files)

set(FRAMES eh_frame.cc frame_program.cc frame_row.cc)
set(FRAME_CORPUS ${CMAKE_CURRENT_BINARY_DIR}/frame_corpus)
file(MAKE_DIRECTORY ${FRAME_CORPUS})
set(TABLE_CORPUS ${CMAKE_CURRENT_BINARY_DIR}/table_corpus)
file(MAKE_DIRECTORY ${TABLE_CORPUS})
add_custom_command(
  OUTPUT ${FRAME_CORPUS}/library
  COMMAND ${GNU_OBJCOPY} -O binary -j .eh_frame library.so ${FRAME_CORPUS}/library
  DEPENDS ${UNWIND}/library.so WORKING_DIRECTORY ${UNWIND} VERBATIM)
add_custom_target(frame_corpus DEPENDS ${FRAME_CORPUS}/library)
input_fuzz(eh_frame probes/unwind SOURCES ${FRAMES} SEEDS ${FRAME_CORPUS} LIBS PkgConfig::LIBDW)
input_fuzz(unwind_table probes/unwind SEEDS -max_len=65536 ${TABLE_CORPUS} ${UNWIND}
           SOURCES ${FRAMES} elf_image.cc followed_code.cc frame_sections.cc go_rows.cc
                   known_function.cc linker_code.cc musl_start.cc stack_effect.cc stack_state.cc
                   startup_code.cc table.cc undescribed_code.cc ../../core/go_functions.cc
           LIBS PkgConfig::LIBDW PkgConfig::LIBELF Zydis::Zydis)
add_dependencies(eh_frame_fuzz frame_corpus)
add_dependencies(unwind_table_fuzz unwind_files)
set(GO_CORPUS ${CMAKE_CURRENT_BINARY_DIR}/go_corpus)
file(MAKE_DIRECTORY ${GO_CORPUS})
input_fuzz(go_functions core SOURCES go_functions.cc SEEDS -max_len=65536 ${GO_CORPUS})
set(USDT_CORPUS ${CMAKE_CURRENT_BINARY_DIR}/usdt_corpus)
file(MAKE_DIRECTORY ${USDT_CORPUS})
add_custom_command(
  OUTPUT ${USDT_CORPUS}/usdt_truth
  COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:usdt_truth> ${USDT_CORPUS}/usdt_truth
  DEPENDS usdt_truth VERBATIM)
add_custom_target(usdt_corpus DEPENDS ${USDT_CORPUS}/usdt_truth)
input_fuzz(usdt probes/alloc SOURCES usdt.cc ../unwind/elf_image.cc SEEDS -max_len=65536 ${USDT_CORPUS}
           LIBS PkgConfig::LIBELF)
add_dependencies(usdt_fuzz usdt_corpus)

set(SITE_CORPUS ${CMAKE_CURRENT_BINARY_DIR}/site_corpus)
set(ALLOCATOR_CORPUS ${CMAKE_CURRENT_BINARY_DIR}/allocator_corpus)
file(MAKE_DIRECTORY ${SITE_CORPUS} ${ALLOCATOR_CORPUS})
input_fuzz(site probes/alloc SOURCES code.cc site.cc SEEDS -max_len=256 ${SITE_CORPUS}
           LIBS Zydis::Zydis)
list(TRANSFORM FRAMES PREPEND unwind/ OUTPUT_VARIABLE UNWIND_FRAMES)
input_fuzz(allocators probes SEEDS -max_len=65536 ${ALLOCATOR_CORPUS} ${ALLOCATORS}
           SOURCES ${UNWIND_FRAMES} unwind/elf_image.cc unwind/frame_sections.cc elf_functions.cc
                   alloc/allocator_names.cc alloc/allocators.cc alloc/candidates.cc alloc/code.cc
                   alloc/debug_symbols.cc alloc/file_code.cc alloc/forwards.cc alloc/placement.cc
                   alloc/site.cc
           LIBS memflame_core PkgConfig::LIBELF PkgConfig::LIBLZMA Zydis::Zydis)
add_dependencies(allocators_fuzz allocator_files)
