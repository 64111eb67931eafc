# SPDX-License-Identifier: BSD-2-Clause
"""alloc: the ground truth of alloc_exact in a statically linked program with symbols."""
from alloc_exact import watch

watch("alloc_truth_static")
