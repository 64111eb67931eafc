# SPDX-License-Identifier: BSD-2-Clause
# What the commands print.
memflame_test(leaks_report LIBS memflame_probes memflame_render)
target_sources(leaks_report_test PRIVATE ${PROJECT_SOURCE_DIR}/cli/leaks_report.cc)
memflame_test(output_file LIBS memflame_unwind)
target_sources(output_file_test PRIVATE ${PROJECT_SOURCE_DIR}/cli/output_file.cc
                                        ${PROJECT_SOURCE_DIR}/cli/fd_stream.cc)

add_dependencies(unit_tests memflame)
add_test(NAME cli_collapse
         COMMAND ${MEMFLAME_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/cli_collapse.py)
set_tests_properties(cli_collapse PROPERTIES LABELS unit TIMEOUT 900
  ENVIRONMENT "MEMFLAME=$<TARGET_FILE:memflame>;PYTHONDONTWRITEBYTECODE=1")
add_test(NAME cli_render
         COMMAND ${MEMFLAME_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/cli_render.py)
set_tests_properties(cli_render PROPERTIES LABELS unit TIMEOUT 900
  ENVIRONMENT "MEMFLAME=$<TARGET_FILE:memflame>;PYTHONDONTWRITEBYTECODE=1")
add_test(NAME shell_words
         COMMAND ${MEMFLAME_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/shell_words.py)
set_tests_properties(shell_words PROPERTIES LABELS unit TIMEOUT 900
  ENVIRONMENT "MEMFLAME=$<TARGET_FILE:memflame>;PYTHONDONTWRITEBYTECODE=1")
