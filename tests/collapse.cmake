# SPDX-License-Identifier: BSD-2-Clause
# Tests of collapse/. The files to find names in are built here, by plain commands: they must not
# get the flags (sanitizers, warnings) of the project.
set(SYMBOLS ${CMAKE_CURRENT_BINARY_DIR}/symbols)
set(SYMBOL_SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/data/symbols)
file(MAKE_DIRECTORY ${SYMBOLS}/links/.debug)
set(SYMBOL_FILES)
# binutils' tools even if the compiler is clang: LLVM's nm names fewer stubs.
foreach(tool nm objcopy objdump strip)
  string(TOUPPER ${tool} variable)
  find_program(GNU_${variable} ${tool} REQUIRED)
endforeach()

# symbol_file(<name> <source> FLAGS …): builds ${SYMBOLS}/<name>, lists its symbols in <name>.nm.
function(symbol_file name source)
  cmake_parse_arguments(ARG "" "" "FLAGS" ${ARGN})
  add_custom_command(
    OUTPUT ${SYMBOLS}/${name} ${SYMBOLS}/${name}.nm
    COMMAND ${CMAKE_CXX_COMPILER} -O2 ${ARG_FLAGS} -o ${name} ${SYMBOL_SOURCES}/${source}
    COMMAND ${GNU_NM} ${name} > ${name}.nm
    DEPENDS ${SYMBOL_SOURCES}/${source}
    WORKING_DIRECTORY ${SYMBOLS} VERBATIM)
  set(SYMBOL_FILES ${SYMBOL_FILES} ${SYMBOLS}/${name} PARENT_SCOPE)
endfunction()

# symbol_copy(<name> FROM <file> [AND <file>] COMMAND …): what is made from other files.
function(symbol_copy name)
  cmake_parse_arguments(ARG "" "FROM;AND" "" ${ARGN})
  list(TRANSFORM ARG_AND PREPEND ${SYMBOLS}/)
  add_custom_command(OUTPUT ${SYMBOLS}/${name} ${ARG_UNPARSED_ARGUMENTS}
                     DEPENDS ${SYMBOLS}/${ARG_FROM} ${ARG_AND}
                     WORKING_DIRECTORY ${SYMBOLS} VERBATIM)
  set(SYMBOL_FILES ${SYMBOL_FILES} ${SYMBOLS}/${name} PARENT_SCOPE)
endfunction()

set(ID -Wl,--build-id=sha1)
symbol_file(pie program.cc FLAGS -g -pie -fPIE ${ID})
symbol_file(dwarf4 program.cc FLAGS -gdwarf-4 -gz=zlib -pie -fPIE ${ID})
symbol_file(split program.cc FLAGS -g -gsplit-dwarf -pie -fPIE ${ID})
symbol_file(no_debug program.cc FLAGS -g0 -pie -fPIE ${ID})
symbol_file(no_pie program.cc FLAGS -g -no-pie -fno-pie ${ID})
symbol_file(far program.cc FLAGS -g -no-pie -fno-pie ${ID} -Wl,-Ttext-segment=0x10000000)
symbol_file(relocated program.cc FLAGS -g -pie -fPIE ${ID} -Wl,-Ttext-segment=0x7000000)
symbol_file(one_segment program.cc FLAGS -g -pie -fPIE ${ID} -Wl,-z,noseparate-code)
symbol_file(static_pie program.cc FLAGS -g -static-pie -fPIE ${ID})
symbol_file(no_id program.cc FLAGS -g -pie -fPIE -Wl,--build-id=none)
symbol_file(library.so library.cc FLAGS -g -shared -fPIC ${ID} -fcf-protection=none)
symbol_file(library_ibt.so library.cc FLAGS -g -shared -fPIC ${ID} -fcf-protection=full
            -Wl,-z,ibtplt)
symbol_file(edges.so edges.S FLAGS -shared -nostdlib)
symbol_file(assembly.so assembly.S FLAGS -g -shared -nostdlib)
# Not DWARF 5 with functions in sections of their own: binutils 2.40 then mixes up files.
symbol_file(o3 inlined.cc FLAGS -O3 -gdwarf-4 -gz=zlib -ffunction-sections)
symbol_file(size inlined.cc FLAGS -Os -gdwarf-4)
symbol_file(c inlined.c FLAGS -gdwarf-5 -x c)
find_program(LLD ld.lld)
if(LLD)
  symbol_file(lld program.cc FLAGS -g -pie -fPIE -fuse-ld=lld ${ID} -Wl,-z,noseparate-code)
endif()
find_program(CLANG clang++)
if(CLANG)
  # Without .debug_aranges, and with another compiler's idea of DWARF.
  add_custom_command(OUTPUT ${SYMBOLS}/clang DEPENDS ${SYMBOL_SOURCES}/program.cc
                     COMMAND ${CLANG} -O2 -g -gno-column-info -pie -fPIE ${ID} -o clang
                             ${SYMBOL_SOURCES}/program.cc
                     WORKING_DIRECTORY ${SYMBOLS} VERBATIM)
  list(APPEND SYMBOL_FILES ${SYMBOLS}/clang)
endif()

set(STRIP ${GNU_STRIP} --strip-all)
set(DEBUG_ONLY ${GNU_OBJCOPY} --only-keep-debug)
# The listing of the stubs as another program sees them.
foreach(library library library_ibt)
  symbol_copy(${library}.stubs FROM ${library}.so
              COMMAND ${GNU_OBJDUMP} -d ${library}.so > ${library}.stubs)
endforeach()
symbol_copy(static_pie.stubs FROM static_pie
            COMMAND ${GNU_OBJDUMP} -d -j .plt static_pie > static_pie.stubs)
symbol_copy(stripped FROM pie COMMAND ${STRIP} -o stripped pie)
symbol_copy(stripped.debug FROM pie COMMAND ${DEBUG_ONLY} pie stripped.debug)
symbol_copy(stripped.so FROM library.so COMMAND ${STRIP} -o stripped.so library.so)
# A link with a checksum, for a file that has no build id.
symbol_copy(links/linked FROM no_id
            COMMAND ${DEBUG_ONLY} no_id links/.debug/linked.debug
            COMMAND ${STRIP} -o links/linked no_id
            COMMAND ${GNU_OBJCOPY} --add-gnu-debuglink=links/.debug/linked.debug links/linked)
# The same link to a file that was changed since.
symbol_copy(links/stale FROM no_id
            COMMAND ${DEBUG_ONLY} no_id links/stale.debug
            COMMAND ${STRIP} -o links/stale no_id
            COMMAND ${GNU_OBJCOPY} --add-gnu-debuglink=links/stale.debug links/stale
            COMMAND ${CMAKE_COMMAND} -E echo_append x >> links/stale.debug)
find_program(XZ xz)
if(XZ)
  symbol_copy(mini FROM pie
              COMMAND ${GNU_OBJCOPY} -S --keep-symbol=plain --keep-symbol=_ZL10local_onlyi pie
                      mini.names
              COMMAND ${XZ} -f mini.names
              COMMAND ${STRIP} -o mini pie
              COMMAND ${GNU_OBJCOPY} --add-section=.gnu_debugdata=mini.names.xz mini)
endif()
find_program(DWZ dwz)
# dwz 0.15 does not know .debug_addr, which clang writes.
if(DWZ AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  symbol_copy(dwz/a FROM pie AND one_segment
              COMMAND ${CMAKE_COMMAND} -E make_directory dwz
              COMMAND ${CMAKE_COMMAND} -E copy pie dwz/a
              COMMAND ${CMAKE_COMMAND} -E copy one_segment dwz/b
              COMMAND ${DWZ} -m dwz/shared dwz/a dwz/b)
endif()
add_custom_target(symbol_files DEPENDS ${SYMBOL_FILES})

set(collapse_tests address_space demangle elf_symbols fold function_starts kallsyms lines namer perf_map
                   sandbox symbolize
                   symbolize_files symbolize_hostile symbolize_self symbolize_servers)
add_library(symbolize_fixture STATIC symbolize_fixture.cc)
target_link_libraries(symbolize_fixture PUBLIC memflame_collapse PRIVATE memflame_warnings)
foreach(stem ${collapse_tests})
  memflame_test(${stem} LIBS memflame_collapse symbolize_fixture Threads::Threads)
  add_dependencies(${stem}_test symbol_files)
  target_compile_definitions(${stem}_test PRIVATE SYMBOLS="${SYMBOLS}"
                             SYMBOL_SOURCES="${SYMBOL_SOURCES}" GNU_OBJCOPY="${GNU_OBJCOPY}")
endforeach()
# Optimised C++ with inlined templates, and C; skipped where there is no addr2line of binutils.
set(LINE_PROGRAMS leaky)
set(line_files)
foreach(program ${LINE_PROGRAMS})
  if(TARGET ${program})
    add_dependencies(lines_test ${program})
    string(APPEND line_files "$<TARGET_FILE:${program}> ")
  endif()
endforeach()
find_program(GNU_ADDR2LINE addr2line)
target_compile_definitions(lines_test PRIVATE GNU_ADDR2LINE="${GNU_ADDR2LINE}" "LINE_FILES=\"${line_files}\"")
# It is its own target, whose inlined functions are named with their namespaces.
set_source_files_properties(symbolize_self_test.cc PROPERTIES COMPILE_OPTIONS -g2)
# Nobody listens there; the test sets its own port.
set_tests_properties(symbolize_servers PROPERTIES
                     ENVIRONMENT "DEBUGINFOD_URLS=http://127.0.0.1:9" TIMEOUT 120)
