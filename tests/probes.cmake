memflame_test(intervals LIBS memflame_probes)
memflame_test(procfs LIBS memflame_probes)
memflame_test(segments LIBS memflame_probes)
