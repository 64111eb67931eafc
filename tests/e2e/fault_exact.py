# SPDX-License-Identifier: BSD-2-Clause
"""fault: pages gained and released are exact for every function, and add up to the change of VmRSS."""
from lib import check, equal, lossless, observe
from proc import resident_pages

resident = []
profile, summary, truth = observe(
    "fault", "fault_truth", "--value", "pages", "--no-children",
    before=lambda pid: resident.append(resident_pages(pid)),
    after=lambda pid: resident.append(resident_pages(pid)))
equal("columns", profile.columns, ["gained", "released"])
equal("shown", profile.shown, "gained")
profile.compare(truth["functions"])
lossless(profile, summary)

change = resident[1] - resident[0]
seen = profile.sum("gained") - profile.sum("released")
check(abs(seen - change) <= change * 0.01, f"resident pages: saw {seen}, the system says {change}")

# Children are followed unless told otherwise.
profile, summary, truth = observe("fault", "fault_truth", "--value", "pages")
profile.compare(truth["functions"])
equal("what the child wrote", profile.sum("gained", "child_writes"),
      truth["child"]["child_writes"]["gained"])
