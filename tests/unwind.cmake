# SPDX-License-Identifier: BSD-2-Clause
# Tests of probes/unwind/. The files to make tables of are built here, by plain commands: they must
# not get the flags (sanitizers, warnings) of the project.
set(UNWIND ${CMAKE_CURRENT_BINARY_DIR}/unwind)
set(UNWIND_SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/data/unwind)
file(MAKE_DIRECTORY ${UNWIND})
set(UNWIND_FILES)

# unwind_file(<name> FLAGS … [SOURCES …] [AFTER …]): ${UNWIND}/<name> of rules.S.
function(unwind_file name)
  cmake_parse_arguments(ARG "" "" "FLAGS;SOURCES;AFTER" ${ARGN})
  add_custom_command(
    OUTPUT ${UNWIND}/${name}
    COMMAND ${CMAKE_C_COMPILER} -nostdlib -Wl,--build-id=sha1 -Wl,-z,lazy -Wl,-z,separate-code
            ${ARG_FLAGS} -o ${name} ${UNWIND_SOURCES}/rules.S ${ARG_SOURCES}
    DEPENDS ${UNWIND_SOURCES}/rules.S ${ARG_SOURCES} ${ARG_AFTER}
    WORKING_DIRECTORY ${UNWIND} VERBATIM)
  set(UNWIND_FILES ${UNWIND_FILES} ${UNWIND}/${name} PARENT_SCOPE)
endfunction()

set(OTHER SOURCES ${UNWIND_SOURCES}/other.S)
unwind_file(library.so FLAGS -shared)
unwind_file(no_pie FLAGS -static -no-pie -DBARE_START ${OTHER})
unwind_file(pie FLAGS -static-pie ${OTHER})
unwind_file(one_segment.so FLAGS -shared -Wl,-z,noseparate-code)
unwind_file(debug_frame.so FLAGS -shared -DDEBUG_FRAME -Wl,--no-ld-generated-unwind-info)
# A library with an entry point, as old linkers make them.
unwind_file(needy.so FLAGS -shared -DBARE_START -Wl,--no-as-needed ./library.so
            AFTER ${UNWIND}/library.so)
unwind_file(compressed.so FLAGS -shared -DDEBUG_FRAME -Wl,--no-ld-generated-unwind-info
            -Wl,--compress-debug-sections=zlib)
unwind_file(both.so FLAGS -shared -DBOTH_FRAMES)
# Linkage tables with and without a word of the linker's about them.
set(LINKER SOURCES ${UNWIND_SOURCES}/linker.S)
unwind_file(linker_described.so FLAGS -shared ${LINKER})
unwind_file(linker.so FLAGS -shared -Wl,--no-ld-generated-unwind-info ${LINKER})
unwind_file(ibt_described.so FLAGS -shared -Wl,-z,ibtplt ${LINKER})
unwind_file(ibt.so FLAGS -shared -Wl,-z,ibtplt -Wl,--no-ld-generated-unwind-info ${LINKER})
add_custom_target(unwind_files DEPENDS ${UNWIND_FILES})

foreach(stem eh_frame followed_code linker_code startup_code unwind_table table_cache)
  memflame_test(${stem} LIBS memflame_unwind PkgConfig::LIBDW PkgConfig::LIBELF Threads::Threads
                             ${CMAKE_DL_LIBS})
  add_dependencies(${stem}_test unwind_files)
  target_compile_definitions(${stem}_test PRIVATE UNWIND="${UNWIND}")
endforeach()
