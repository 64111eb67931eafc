# SPDX-License-Identifier: BSD-2-Clause
"""fault --value faults: minor and major page faults, taken by the program or by the kernel for it."""
from lib import equal, lossless, observe

profile, summary, truth = observe("fault", "fault_truth", "--value", "faults")
equal("columns", profile.columns, ["minor", "major"])
equal("shown", profile.shown, "minor")
profile.compare(truth["functions"])
profile.compare(truth["child"])
lossless(profile, summary)
# Everything it reads is cached or was never on disk.
equal("major faults", profile.sum("major"), 0)
