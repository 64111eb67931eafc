# SPDX-License-Identifier: BSD-2-Clause
# memflame_embed(<target> <symbol> <header> <file>…): the files' bytes as a table in the program,
#   std::span<const EmbeddedFile> memflame::<symbol>();   // declared in <header>
# in the order given. Written as numbers: compilers limit string literals.
function(memflame_embed target symbol header)
  set(arrays "")
  set(rows "")
  foreach(file ${ARGN})
    get_filename_component(path ${file} ABSOLUTE)
    get_filename_component(file_name ${file} NAME)
    string(MAKE_C_IDENTIFIER "${file_name}" name)
    file(READ ${path} bytes HEX)
    string(LENGTH "${bytes}" digits)
    math(EXPR size "${digits} / 2")
    string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
    string(APPEND arrays "const char ${name}[] = {${bytes}0};\n")
    string(APPEND rows "    {\"${file_name}\", {${name}, ${size}}},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.cc)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
#include "@header@"

namespace memflame {
namespace {
@arrays@
const EmbeddedFile @symbol@_files[] = {
@rows@};
}  // namespace

std::span<const EmbeddedFile> @symbol@() { return @symbol@_files; }
}  // namespace memflame
]])
  target_sources(${target} PRIVATE ${source})
endfunction()
