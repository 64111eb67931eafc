# SPDX-License-Identifier: BSD-2-Clause
# Writes OUTPUT, a version.cc (version.h), if its text has changed. The commit comes from git if SOURCE is the
# top of a repository, else from commit.txt, which git archive fills in (.gitattributes); else there is none.
#   cmake -DSOURCE=… -DVERSION=… -DOUTPUT=… -P version.cmake
set(commit "")
set(date "")
file(STRINGS ${SOURCE}/cli/commit.txt line LIMIT_COUNT 1)
if(line MATCHES "^([0-9a-f]+) ([-0-9]+)$")
  string(SUBSTRING ${CMAKE_MATCH_1} 0 12 commit)
  set(date ${CMAKE_MATCH_2})
else()
  find_program(git git)
  # Without git's lock, because somebody may be working in the repository.
  set(git ${git} --no-optional-locks -C ${SOURCE})
  execute_process(COMMAND ${git} rev-parse --show-prefix
                  OUTPUT_VARIABLE prefix ERROR_QUIET RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed AND prefix STREQUAL "")
    execute_process(COMMAND ${git} describe --always --dirty --abbrev=12 --exclude=*
                    OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND ${git} log -1 --format=%cs
                    OUTPUT_VARIABLE date ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
endif()
set(text ${VERSION})
if(commit)
  string(APPEND text " (${commit}, ${date})")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "cli/runs/version.h"

namespace memflame {

std::string version_number() { return "@VERSION@"; }
std::string version_date() { return "@date@"; }
std::string version_text() { return "@text@"; }

}  // namespace memflame
]])
