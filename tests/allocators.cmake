# SPDX-License-Identifier: BSD-2-Clause
# Tests of where allocators are probed. Files to look at are built here, by plain commands: they must
# not get the flags (sanitizers, warnings) of the project.
set(ALLOCATORS ${CMAKE_CURRENT_BINARY_DIR}/allocators)
set(ALLOCATOR_SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/data/alloc)
file(MAKE_DIRECTORY ${ALLOCATORS})
set(ALLOCATOR_FILES)

# allocator_file(<name> <source> FLAGS …): ${ALLOCATORS}/<name>, a shared library.
function(allocator_file name source)
  add_custom_command(
    OUTPUT ${ALLOCATORS}/${name}
    COMMAND ${CMAKE_C_COMPILER} -O2 -fPIC -shared -nostartfiles -Wl,--build-id=sha1 ${ARGN} -o ${name}
            ${ALLOCATOR_SOURCES}/${source}
    DEPENDS ${ALLOCATOR_SOURCES}/${source}
    WORKING_DIRECTORY ${ALLOCATORS} VERBATIM)
  set(ALLOCATOR_FILES ${ALLOCATOR_FILES} ${ALLOCATORS}/${name} PARENT_SCOPE)
endfunction()

# Calls between exported functions stay within the file …
allocator_file(shapes.so shapes.S -Wl,-Bsymbolic)
# … or go through its linkage table.
allocator_file(linked.so shapes.S)
allocator_file(no_frames.so shapes.S -Wl,-Bsymbolic -DNO_FRAMES)
allocator_file(operators.so shapes.S -Wl,-Bsymbolic -DNO_MALLOC)
allocator_file(forwarding.so forwarding.c)
allocator_file(bundled.so bundled.c)
allocator_file(no_build_id.so bundled.c -Wl,--build-id=none)
add_custom_target(allocator_files DEPENDS ${ALLOCATOR_FILES})

memflame_test(site LIBS memflame_allocators)
foreach(stem allocators debug_symbols)
  memflame_test(${stem} LIBS memflame_allocators)
  add_dependencies(${stem}_test allocator_files)
  target_compile_definitions(${stem}_test PRIVATE ALLOCATORS="${ALLOCATORS}")
endforeach()
