# SPDX-License-Identifier: BSD-2-Clause
"""Kernel frames on request: above the program's frames, without those of tracing."""
from lib import Memflame, check, equal, example, lossless

memflame = Memflame("fault", "--kernel-stacks", "--", example("fault_truth")).wait()
profile = memflame.profile()
lossless(profile, memflame.summary())
frames = {frame for names, _ in profile.stacks for frame in names}
check("handle_mm_fault" in frames, "the kernel's fault handler is in a stack")
equal("frames of the tracing itself",
      sorted(frame for frame in frames if "bpf_trace_run" in frame or "bpf_prog" in frame), [])

memflame = Memflame("fault", "--", example("fault_truth")).wait()
frames = {frame for names, _ in memflame.profile().stacks for frame in names}
check("handle_mm_fault" not in frames, "no kernel frames unless asked for")
