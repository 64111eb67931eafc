# SPDX-License-Identifier: BSD-2-Clause
# Without tests (BUILD_TESTING=OFF) nothing is looked for that only tests need, none of their programs is
# built, and warnings are not errors. Configures SOURCE in SCRATCH and builds nothing:
#   cmake -DSOURCE=… -DSCRATCH=… -DC_COMPILER=… -DCXX_COMPILER=… -P build_without_tests.cmake
set(of_tests doctest_DIR MEMFLAME_PYTHON MEMFLAME_LLD MEMFLAME_MUSL_GCC MEMFLAME_NODE GNU_NM LLD GXX)
file(REMOVE_RECURSE ${SCRATCH})
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH} -G Ninja -DBUILD_TESTING=OFF
          -DCMAKE_DISABLE_FIND_PACKAGE_doctest=ON -DCMAKE_C_COMPILER=${C_COMPILER}
          -DCMAKE_CXX_COMPILER=${CXX_COMPILER}
  OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE status)
if(status)
  message(FATAL_ERROR "configuring failed:\n${said}")
endif()
list(JOIN of_tests | of_tests)
file(STRINGS ${SCRATCH}/CMakeCache.txt found REGEX "^(${of_tests}|MEMFLAME_WERROR):")
if(NOT found STREQUAL "MEMFLAME_WERROR:BOOL=OFF")
  message(FATAL_ERROR "it looked for what only tests need, or warnings are errors:\n${found}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} --build ${SCRATCH} --target help
                OUTPUT_VARIABLE targets COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n[a-z_]*(_tests?|_truth|pictures|stack_oracle): phony" tests "${targets}")
if(tests OR NOT targets MATCHES "memflame: phony" OR NOT targets MATCHES "leaky: phony")
  message(FATAL_ERROR "programs of tests (${tests}), or no program in:\n${targets}")
endif()
file(REMOVE_RECURSE ${SCRATCH})
