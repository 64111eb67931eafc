# SPDX-License-Identifier: BSD-2-Clause
# memflame_bundle(<out> <module>…): modules of the viewer as one script, in the order given, each
# after those that it imports. Imports and the word "export" are left out, so every name at the top
# of a module has to be its own; indentation is left out too, and comments that have a line for
# themselves or two blanks before them, and the blanks around arrows.
function(memflame_bundle out)
  set(script "(function () {\n\"use strict\";\n")
  foreach(module ${ARGN})
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

# memflame_joined(<out> <file>…): style sheets one after the other, without the lines of their licence.
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

# Writes a text, and its SHA-256 in hexadecimal digits beside it: for policies that name scripts and
# styles by it.
function(memflame_hashed out text)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${out} "${text}")
  file(SHA256 ${CMAKE_CURRENT_BINARY_DIR}/${out} hash)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${out}.sha256 "${hash}")
endfunction()
