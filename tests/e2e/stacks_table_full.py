# SPDX-License-Identifier: BSD-2-Clause
"""Tables that do not fit into --max-table are counted, and stacks that need them are marked."""
from lib import Memflame, check, consistent, path

source = path("unit.cc")
with open(source, "w", encoding="utf-8") as file:
    file.write("#include <string>\nstd::string text = \"a\";\n")

# The compiler alone has more than a mebibyte of rows.
memflame = Memflame("fault", "--max-table", "1", "--", "g++", "-c", source, "-o", path("unit.o"))
memflame.wait()
profile, summary = memflame.profile(), memflame.summary()
consistent(profile, summary)
check(summary["losses"]["unwind_table_full"]["events"] >= 1, f"nothing is said: {summary['losses']}")
check(summary["unwind"]["bytes"] <= 1 << 20, f"too many rows: {summary['unwind']}")
check(summary["stacks"]["stops"]["no_table"] > 0, f"no stack without a table: {summary['stacks']}")
check(profile.marked("gained", "[truncated: no unwind table yet]") > 0, "no stack is marked")
check(summary["stacks"]["stops"]["complete"] > 0, "what has room is walked as ever")

whole = Memflame("fault", "--", "g++", "-c", source, "-o", path("unit.o"))
whole.wait()
check(whole.summary()["losses"]["unwind_table_full"]["events"] == 0, "the default has room")
