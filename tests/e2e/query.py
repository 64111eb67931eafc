# SPDX-License-Identifier: BSD-2-Clause
"""memflame query: figures are those of collapse, statements that are wrong are refused, and each command of
docs/query.md gives an answer."""
import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess

from lib import EXAMPLES, MEMFLAME, PATIENCE, USAGE, check, equal, path, scratch, spawn, wait_until

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/query.md")


def memflame(*arguments, status=0):
    done = subprocess.run([MEMFLAME, *arguments], cwd=scratch, capture_output=True, text=True, check=False,
                          timeout=PATIENCE)
    equal(f"exit status of {arguments}, which said:\n{done.stderr}\n", done.returncode, status)
    return done


def ask(sql, recording="server.mfr"):
    return [list(row.values()) for row in json.loads(memflame("query", "--format", "json", recording, sql).stdout)]


def commands(page):
    """The commands of a page: a statement may go on for several lines."""
    for block in re.findall(r"(?:^    .*\n)+", page, re.M):
        lines = []
        for line in block.splitlines():
            lines.append(line[4:])
            if not lines[0].startswith("memflame "):
                lines = []
                continue
            try:
                yield shlex.split("\n".join(lines))
            except ValueError:  # a quote is still open
                continue
            lines = []


def folded(text):
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("# "))


with open(PAGE, encoding="utf-8") as stream:
    page = list(commands(stream.read()))
check(len(page) > 14, f"the page has commands: {page}")

# The first one that makes a recording makes that of all others.
record = next(command for command in page if command[1] == "record")
memflame(*[word.replace("build/examples", EXAMPLES) for word in record[1:]])

said = {}
for command in page:
    if command[1] == "record":
        continue
    words, output = command[1:], None
    if ">" in words:
        words, output = words[:words.index(">")], words[words.index(">") + 1]
    done = memflame(*words)
    said[" ".join(words)] = done.stdout
    if output:
        with open(path(output), "w", encoding="utf-8") as stream:
            stream.write(done.stdout)
    elif "--export" not in words and "-o" not in words:
        # cache_server reallocates nothing.
        least = 2 if "chain_length" in " ".join(words) else 3
        check(len(done.stdout.splitlines()) >= least, f"{words} has rows: {done.stdout}")


def answer(words):
    found = [text for command, text in said.items() if words in command]
    equal(f"commands of the page with {words!r}", len(found), 1)
    return found[0].splitlines()[2:]


check("server::Journal::begin" in answer("longest_life, label")[0], "the note leaks most")
check("server::Journal::begin" in answer("frames using")[0], "its line is found")
check("<svg" in open(path("leaked.svg"), encoding="utf-8").read(), "a picture")
notes = [int(line.split()[1]) for line in answer("and label like 'server::Journal")]
check(len(notes) >= 7 and sum(notes) > 100, f"it leaks from the start: {notes}")

# The figures of views.
for view, where in ("leaked", "freed_ns is null"), ("freed", "not leaked"), ("transient", "transient"):
    wanted = folded(memflame("collapse", "--view", view, "server.mfr").stdout)
    sums = folded(memflame("query", "--format", "folded", "server.mfr",
                           f"select stack, sum(bytes) from blocks where {where} group by stack").stdout)
    equal(f"the stacks of --view {view}", sums, wanted)
    equal(f"the total of --view {view}", ask(f"select sum(size) from blocks where {where}"),
          [[sum(map(int, wanted.values()))]])
equal("a window of time", ask("select sum(bytes) from blocks where leaked and allocated_ns > 2e9 and allocated_ns <= 5e9"),
      [[sum(map(int, folded(memflame("collapse", "--view", "leaked", "--between", "2s..5s", "server.mfr").stdout)
                .values()))]])

# The texts are those of folded text.
texts = {row[0] for row in ask("select distinct text from stacks")}
check({re.sub(r"_\[[a-z]\]", "", stack) for stack in wanted} <= texts, "stacks have the text of folded text")

# A database.
database = sqlite3.connect(path("server.sqlite"))
for sql in ("select count(*), sum(size), sum(lifetime_ns), max(group_count), count(address) from blocks",
            "select count(*), count(line) from frames", "select count(*), total(change) from figures",
            "select count(*) from readings", "select name from processes", "select tid, name from threads"):
    equal(f"the database: {sql}", [list(row) for row in database.execute(sql)], ask(sql))
database.close()
equal("files beside the database", [name for name in os.listdir(scratch) if "partial" in name], [])

# What is refused.
for sql, words in (("select sise from blocks", "no such column: sise\n  select sise from blocks\n         ^"),
                   ("drop table blocks", "SQL"), ("select 1; select 2", "second statement"),
                   ("attach 'x' as y", "only reads"), ("pragma temp_store_directory = '/'", "only reads"), ("", "empty")):
    done = memflame("query", "server.mfr", sql, status=USAGE)
    check(done.stderr.startswith("memflame: error: SQL") and words in done.stderr, f"{sql}: {done.stderr}")
check(not os.path.exists(path("x")), "no file was made")
memflame("query", "server.mfr", "select 1", "select 2", status=USAGE)
memflame("query", "--export", "y.sqlite", "server.mfr", "select 1", status=USAGE)
memflame("query", "--format", "folded", "server.mfr", "select 1", status=USAGE)
memflame("query", "-o", "y.svg", "server.mfr", "select 1", status=USAGE)
for target in "/dev/full", "/dev/stdout":
    memflame("query", "--export", target, "server.mfr", status=USAGE)
memflame("query", "--format", "csv", "-o", "/dev/full", "server.mfr", "select * from frames", status=1)

# A full disk leaves nothing behind.
os.mkdir(path("little"))
if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", path("little")], check=False).returncode == 0:
    try:
        done = memflame("query", "--export", "little/all.sqlite", "server.mfr", status=1)
        check("No space left on device" in done.stderr, done.stderr)
        equal("what a full disk keeps", os.listdir(path("little")), [])
    finally:
        subprocess.run(["umount", path("little")], check=True)

# A recording without events.
memflame("record", "--inside", "-o", "series.mfr", "--", os.path.join(EXAMPLES, "cache_server"), "2")
done = memflame("query", "series.mfr", "select count(*) from blocks", status=USAGE)
check("record --detail events" in done.stderr, done.stderr)
check(ask("select count(*) from figures", "series.mfr")[0][0] > 0, "it has figures")
check("record --detail events" in memflame("query", "series.mfr").stdout, "the list says so too")
done = memflame("query", "--export", "series.sqlite", "series.mfr")
check("the table blocks is left out" in done.stderr, done.stderr)

# Ctrl-C.
endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
query = spawn([MEMFLAME, "query", "-o", path("endless.csv"), path("server.mfr"), endless], stderr=subprocess.PIPE, text=True)
wait_until(lambda: any("endless.csv" in name for name in os.listdir(scratch)), "the statement")
query.send_signal(signal.SIGINT)
said = query.communicate(timeout=PATIENCE)[1]
equal(f"exit status after Ctrl-C: {said}", query.returncode, 1)
check("interrupted" in said, said)
equal("files of the interrupted statement", [name for name in os.listdir(scratch) if "endless" in name], [])
