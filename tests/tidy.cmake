# SPDX-License-Identifier: BSD-2-Clause
# A batch for clang-tidy (scripts/check) that nothing compiles: what the tests of several folders share. The headers
# cost clang-tidy two or three seconds per file, and such a file itself little.
add_library(read_by_tidy OBJECT EXCLUDE_FROM_ALL
  support/made_history.cc collapse/history/history_run.cc collapse/inputs/inputs.cc collapse/inputs/round_trip.cc
  collapse/symbolize/symbolize_fixture.cc collapse/verdicts/scenarios.cc collapse/verdicts/simulation.cc
  probes/unwind/cache_fixture.cc probes/unwind/frame_fixture.cc probes/unwind/table_fixture.cc
  stack_oracle/compare.cc stack_oracle/dump.cc stack_oracle/unwinder.cc stack_oracle/stack_oracle.cc)
set_target_properties(read_by_tidy PROPERTIES UNITY_BUILD ON)
target_compile_definitions(read_by_tidy PRIVATE $<TARGET_PROPERTY:unwind_tests,COMPILE_DEFINITIONS>)
target_link_libraries(read_by_tidy PRIVATE memflame_doctest memflame_oracle memflame_warnings
                                           history_fixture inputs_fixture symbolize_fixture)
