# SPDX-License-Identifier: BSD-2-Clause
# Programs with other allocators than libc's, and allocators of our own for these programs.

# Compiled like allocators: no frame pointers, and tail calls turned into jumps.
function(memflame_bump name type)
  add_library(${name} ${type} allocators/bump.cc)
  target_link_libraries(${name} PRIVATE memflame_packaged)
  target_compile_definitions(${name} PRIVATE ${ARGN})
endfunction()
memflame_bump(bump SHARED "BUMP_VISIBILITY=\"default\"")
memflame_bump(bump_static STATIC "BUMP_VISIBILITY=\"default\"")
memflame_bump(bump_je SHARED BUMP_PREFIX=je_ "BUMP_VISIBILITY=\"default\"")
target_link_options(bump_je PRIVATE
                    -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/allocators/bump.map)
memflame_bump(bump_rjem STATIC BUMP_PREFIX=_rjem_ "BUMP_VISIBILITY=\"hidden\"")
add_library(wrap SHARED allocators/wrap.cc)
target_link_libraries(wrap PRIVATE memflame_packaged)

memflame_example_program(alloc_checks allocators/checks.cc LIBS memflame_truth)
memflame_example_program(alloc_threads allocators/threads.cc LIBS memflame_truth)
memflame_example_program(alloc_sampled allocators/sampled.cc LIBS memflame_truth)
memflame_example_program(alloc_sampled_children allocators/sampled_children.cc LIBS memflame_truth)
memflame_example_program(alloc_load allocators/load.cc LIBS memflame_truth)
memflame_example_program(alloc_usable allocators/usable.cc LIBS memflame_truth ${CMAKE_DL_LIBS})
memflame_example_program(prefixed allocators/prefixed.cc LIBS memflame_truth bump_je bump_rjem)
memflame_example_program(prefixed_wrapped allocators/prefixed.cc LIBS memflame_truth wrap)
target_compile_definitions(prefixed_wrapped PRIVATE WRAPPED)
memflame_example_program(sized_free allocators/sized_free.cc LIBS memflame_truth bump)
memflame_example_program(misuse allocators/misuse.cc LIBS memflame_truth bump)
target_compile_options(misuse PRIVATE -fsized-deallocation)  # for clang's checks
memflame_example_program(second_door allocators/second_door.cc)
memflame_example_program(own_new allocators/own_new.cc LIBS memflame_truth)
memflame_example_program(own_new_pool allocators/own_new.cc LIBS memflame_truth)
target_compile_definitions(own_new_pool PRIVATE POOL)

memflame_example_program(alloc_late allocators/late.cc LIBS memflame_truth ${CMAKE_DL_LIBS})
add_library(late_plugin MODULE allocators/late_plugin.cc)
target_link_libraries(late_plugin PRIVATE memflame_example)
add_dependencies(alloc_late late_plugin bump_je)

# One program for all allocators: allocator_matrix_<allocator>_<way of linking>, and the same of the
# program whose operator new throws. tests/e2e/allocator_matrix.py knows which there must be. The variants differ
# in linking alone, so each source is compiled once.
add_library(allocator_matrix OBJECT allocators/matrix.cc)
target_link_libraries(allocator_matrix PRIVATE memflame_truth)
target_compile_options(allocator_matrix PRIVATE -fsized-deallocation)  # clang's checks
add_library(throwing_new OBJECT allocators/throwing_new.cc)
target_link_libraries(throwing_new PRIVATE memflame_example)
function(memflame_matrix_program variant)
  memflame_example_program(allocator_matrix_${variant} $<TARGET_OBJECTS:allocator_matrix> LIBS memflame_truth ${ARGN})
  memflame_example_program(throwing_new_${variant} $<TARGET_OBJECTS:throwing_new> LIBS ${ARGN})
endfunction()
memflame_matrix_program(glibc_dynamic)
memflame_matrix_program(glibc_static -static)
memflame_matrix_program(bump_dynamic bump)
memflame_matrix_program(bump_static bump_static)

# memflame_other_allocator(<allocator> <library> [LIBS …]): with the shared library, with the archive
# in an otherwise dynamic program, and with the archive in a static one, as far as they are there.
function(memflame_other_allocator allocator library)
  find_library(MEMFLAME_${allocator}_SHARED lib${library}.so)
  find_library(MEMFLAME_${allocator}_ARCHIVE lib${library}.a)
  if(MEMFLAME_${allocator}_SHARED)
    memflame_matrix_program(${allocator}_dynamic ${MEMFLAME_${allocator}_SHARED})
  else()
    message(WARNING "lib${library}.so is missing: its end-to-end cases will fail (scripts/setup test)")
  endif()
  if(MEMFLAME_${allocator}_ARCHIVE AND NOT SHARED_ONLY IN_LIST ARGN)
    memflame_matrix_program(${allocator}_archive ${MEMFLAME_${allocator}_ARCHIVE} ${ARGN})
    memflame_matrix_program(${allocator}_static ${MEMFLAME_${allocator}_ARCHIVE} ${ARGN} -static)
  endif()
endfunction()
memflame_other_allocator(jemalloc jemalloc ${CMAKE_DL_LIBS} m)
memflame_other_allocator(tcmalloc tcmalloc_minimal)
# Its archive needs libunwind's, which cannot be linked beside the compiler's own unwinder.
memflame_other_allocator(tcmalloc_full tcmalloc SHARED_ONLY)
memflame_other_allocator(mimalloc mimalloc)

# libc before the other, so that malloc() is libc's.
if(MEMFLAME_mimalloc_SHARED)
  memflame_example_program(beside_libc allocators/beside_libc.cc
                           LIBS memflame_truth stdc++ c ${MEMFLAME_mimalloc_SHARED})
endif()

# musl has no C++ library: without operator new, in a C++ that needs none.
if(MEMFLAME_MUSL_GCC)
  add_library(allocator_matrix_musl OBJECT allocators/matrix.cc truth/report.cc)
  target_link_libraries(allocator_matrix_musl PRIVATE memflame_example)
  target_compile_definitions(allocator_matrix_musl PRIVATE WITHOUT_NEW)
  target_compile_options(allocator_matrix_musl PRIVATE -fno-exceptions -fno-rtti
                         -fsized-deallocation)
  foreach(variant dynamic static)
    set(options $<$<STREQUAL:${variant},static>:-static>)
    add_custom_command(OUTPUT allocator_matrix_musl_${variant}
      COMMAND ${MEMFLAME_MUSL_GCC} ${options} $<TARGET_OBJECTS:allocator_matrix_musl>
              -o allocator_matrix_musl_${variant}
      DEPENDS $<TARGET_OBJECTS:allocator_matrix_musl> COMMAND_EXPAND_LISTS VERBATIM)
    add_custom_target(musl_${variant}_matrix ALL DEPENDS allocator_matrix_musl_${variant})
  endforeach()
else()
  message(WARNING "musl-gcc is missing: its end-to-end cases will fail (scripts/setup test)")
endif()
