# SPDX-License-Identifier: BSD-2-Clause
"""Forked children are followed, three generations deep and through exec; --no-children turns that off."""
from lib import Memflame, equal, example, lossless, observe

profile, summary, truth = observe("alloc", "forker", "--children", "exact")
profile.compare(truth["functions"])
profile.compare(truth["children"])
lossless(profile, summary)

profile, summary, truth = observe("alloc", "forker", "--no-children")
profile.compare(truth["functions"])
lossless(profile, summary)
for name in truth["children"]:
    equal(f"{name} without children", profile.has(name), False)

# The same for a command whose shell forks and executes.
memflame = Memflame("alloc", "--", "sh", "-c", f"{example('short_lived')}; {example('short_lived')}")
memflame.wait()
profile = memflame.profile()
equal("both children", profile.sum("live", "allocate_and_vanish"), 2 * 123456)
equal("their root", profile.sum("live", "short_lived", "allocate_and_vanish"), 2 * 123456)
