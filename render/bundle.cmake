# SPDX-License-Identifier: BSD-2-Clause
# memflame_bundle(<out> [LIBRARY <script> <licence>] <module>…): joins modules of the viewer into one script, in the
# order given, each after those that it imports. A library comes first, as it is, with its licence. Imports and the word "export" are removed, so each name at the
# top of a module must be unique. Indentation is removed too, and comments that have a line of their
# own or two blanks before them, and the blanks around arrows.
function(memflame_bundle out)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" LIBRARY)
  set(modules ${arg_UNPARSED_ARGUMENTS})
  if(arg_LIBRARY)
    list(POP_FRONT arg_LIBRARY library licence)
    set(modules ${arg_LIBRARY})  # what follows the licence
    file(READ ${library} text)
    file(READ ${licence} words)
    string(REGEX REPLACE "\n?//# sourceMappingURL=[^\n]*" "" text "${text}")  # a page fetches nothing
    string(APPEND script "/*!\n${words}*/\n${text}\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${library} ${licence})
  endif()
  string(APPEND script "(function () {\n\"use strict\";\n")
  foreach(module ${modules})
    get_filename_component(path ${module} ABSOLUTE)
    file(READ ${path} text)
    string(REGEX REPLACE "(^|\n)import [^\n]*" "\\1" text "${text}")
    string(REGEX REPLACE "(^|\n)export " "\\1" text "${text}")
    string(REGEX REPLACE "(^|\n) *//[^\n]*" "\\1" text "${text}")
    string(REGEX REPLACE "  // [^\n]*" "" text "${text}")
    string(REGEX REPLACE "\n[ \n]*" "\n" text "${text}")  # no text of the viewer has several lines
    string(REPLACE " => " "=>" text "${text}")  # nor an arrow
    string(APPEND script "${text}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  endforeach()
  string(APPEND script "})();\n")
  memflame_hashed(${out} "${script}")
endfunction()

# memflame_joined(<out> <file>…): joins style sheets, without the lines of their licence.
function(memflame_joined out)
  foreach(part ${ARGN})
    get_filename_component(path ${part} ABSOLUTE)
    file(READ ${path} text)
    string(REGEX REPLACE "^/\\* SPDX[^\n]*\n" "" text "${text}")
    string(APPEND all "${text}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  endforeach()
  memflame_hashed(${out} "${all}")
endfunction()

# Writes a text, and next to it its SHA-256 in hexadecimal, by which content security policies name scripts
# and styles.
function(memflame_hashed out text)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${out} "${text}")
  file(SHA256 ${CMAKE_CURRENT_BINARY_DIR}/${out} hash)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${out}.sha256 "${hash}")
endfunction()
