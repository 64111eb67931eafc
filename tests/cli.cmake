# What the commands print.
memflame_test(leaks_report LIBS memflame_probes memflame_render)
target_sources(leaks_report_test PRIVATE ${PROJECT_SOURCE_DIR}/cli/leaks_report.cc)
