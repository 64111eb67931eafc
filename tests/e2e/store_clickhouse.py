# SPDX-License-Identifier: BSD-2-Clause
"""Windows of a fleet in a real ClickHouse: stored once however often they are sent, read back as the profile that was
sent, added up by service, version and host, compared, and searched for the version that leaks."""
import json
import os
import time

from clickhouse_lib import PASSWORD, ClickHouse, send, window
from lib import USAGE, check, equal, path, run

NOW = int(time.time())
MIB = 1 << 20
MAIN, LEAK = ["main", "user", "/srv/shop", "main.cc", 12], ["remember", "user", "/srv/shop", "cart.cc", 40]
MALLOC = ["malloc", "user", "/lib/libc.so.6"]
store = ClickHouse()


def figures(address, *options):
    """The figures of an address, by folded stack."""
    lines = run("collapse", address, *options).stdout.split("\n")[:-1]
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in lines if not line.startswith("#")}


def refused(what, *arguments, words, status=1):
    said = run(*arguments, status=status).stderr
    for word in words:
        check(word in said, f"{what}: '{word}' is not in: {said}")
    check(PASSWORD not in said, "a message has the password")


# ---- the tables: made once, and again ----
refused("no tables", "collapse", store.address("shop", service="cart"), words=["memflame store init", "shop"])
for _ in range(2):
    run("store", "init", store.address("shop"))
equal("rows of the schema", store.sql("SELECT version FROM memflame_schema", "shop"), "1\n")
printed = run("store", "init", "--print", "other").stdout
for statement in printed.split(";\n"):
    if statement.strip() and not statement.startswith("USE"):
        store.sql(statement, None if "CREATE DATABASE" in statement else "other")
equal("tables", store.sql("SHOW TABLES", "other"), store.sql("SHOW TABLES", "shop"))
refused("an empty store", "collapse", store.address("other"), words=["no windows yet"], status=USAGE)
store.sql("INSERT INTO memflame_schema VALUES (2, now())", "other")
refused("tables of a later version", "store", "init", store.address("other"), words=["version 2", "version 1"])
refused("a name that is SQL", "store", "init", store.address("a;DROP TABLE samples"), words=["name of a database"],
        status=USAGE)

# ---- what was sent comes back ----
os.mkdir(path("sent"))
frames = [[["shop", "process"], MAIN, ["inner", "inlined", "/srv/shop", "main.cc", 14], MALLOC],
          [["shop", "process"], ["[vdso+0x123]", "unknown", "[vdso]"], ["sys_brk", "kernel", "[kernel]"]],
          [["shop", "process"], ["jitted λ \"quoted\" 'x' \\ ;", "jit"], MALLOC],
          [["[truncated: too deep]", "note"], LEAK]]
values = [{"inuse_space": 4096, "inuse_objects": 4, "alloc_space": 2**62, "alloc_objects": 9},
          {"mmap_space": -8192, "brk_space": 1}, {"alloc_space": 5}, {"inuse_space": 2**40, "resident_space": 7}]
one = window("one", "a", NOW - 120, stacks=list(zip(frames, values)))
send(store.address("shop"), [one], path("sent"))


def comparable(*arguments):
    profile = json.loads(run("render", *arguments, "--format", "json").stdout)
    for name in ("title", "notes", "command", "host", "began_ns", "seconds", "sampling"):
        profile.pop(name, None)
        profile.get("meta", {}).pop(name, None)
    return json.dumps(profile)


sent = path(f"sent/{one['id']}.pb.gz")
equal("profile", comparable(store.address("shop", service="one")), comparable(sent))
for value in ("alloc_space", "mmap_space", "inuse_space"):
    equal(value, figures(store.address("shop", service="one"), "--value", value), figures(sent, "--value", value))
again = path("again.pb.gz")
run("render", store.address("shop", service="one"), "-o", again)
equal("profile by pprof", comparable(again), comparable(sent))
run("render", store.address("shop", service="one", type="inuse_space"), "-o", path("one.svg"))

# ---- a fleet: two versions, of which the second leaks on two hosts of three ----
BEGAN = NOW - 50 * 60


def fleet():
    for host in ("h1", "h2", "h3"):
        for minute in range(40):
            version = "1.4" if minute < 20 else "1.5"
            age = minute % 20 + 1
            leaks = version == "1.5" and host != "h3"
            yield window("cart", host, BEGAN + 60 * minute, version=version, figures={"lost_events": 1}, stacks=[
                ([["cart", "process"], MAIN, MALLOC], {"inuse_space": 10 * MIB, "inuse_objects": 10, "alloc_space": 100}),
                ([["cart", "process"], MAIN, LEAK, MALLOC],
                 {"inuse_space": age * MIB if leaks else MIB, "inuse_objects": age, "alloc_space": MIB}),
                ([["cart", "process"], MAIN, ["fill_cache"], MALLOC], {"inuse_space": min(age, 5) * MIB})])


windows = list(fleet())
cart = store.address("shop", service="cart")
allocated = store.address("shop", service="cart", type="alloc_space")
expected = {"cart;main;malloc": 12000, "cart;main;remember;malloc": 120 * MIB}
# A connection that broke before the windows' own rows came: they do not count yet.
send(store.address("shop"), windows[:50], "--half")
refused("half a window", "collapse", cart, words=["there is no service 'cart'"])
send(store.address("shop"), windows[:70])
# As the configuration of memflame watch names it.
settings = json.dumps({"kind": "clickhouse", "url": f"http://127.0.0.1:{store.port}", "database": "shop", "batch": 7})
send(settings, windows[60:])
equal("allocated", figures(allocated), expected)
send(settings, windows)
equal("allocated, sent again", figures(allocated), expected)
equal("stacks are there once", store.sql("SELECT count() - uniqExact(stack) FROM stacks", "shop"), "0\n")
held = {"cart;main;malloc": 30 * MIB, "cart;main;remember;malloc": 41 * MIB, "cart;main;fill_cache;malloc": 15 * MIB}
equal("in use at the end", figures(store.address("shop", service="cart", type="inuse_space")), held)
equal("in use on one host", figures(store.address("shop", service="cart", type="inuse_space", host="h3"))
      ["cart;main;remember;malloc"], MIB)
equal("of the version before", figures(store.address("shop", service="cart", version="1.4"))
      ["cart;main;remember;malloc"], 3 * MIB)
equal("allocated on two hosts", sum(figures(allocated + "&host=h1&host=h2").values()), 2 * sum(expected.values()) // 3)
equal("allocated in ten minutes", figures(f"{allocated}&from={BEGAN + 60}&to={BEGAN + 660}"),
      {name: value // 4 for name, value in expected.items()})
said = run("collapse", cart).stdout
check("120 windows of 3 hosts" in said and "versions: 1.4, 1.5" in said, said)
check('events=120 bytes=0 name="window_lost"' in said, said)
check("--strict" in run("collapse", cart, "--strict", status=4).stderr, "losses of windows do not fail --strict")

difference = run("diff", store.address("shop", service="cart", version="1.4"),
                 store.address("shop", service="cart", version="1.5")).stdout.splitlines()
check(f"cart;main;remember;malloc {3 * MIB} {41 * MIB}" in difference, difference)

report = run("leaks", cart).stdout
check("1 stack grows steadily, in version 1.5" in report, report)
worst = report.split("\n\n")[1]
check("leak in version 1.5: 120.0 MiB per hour, grows steadily on 2 of 3 hosts (h1, h2); not in 1.4" in worst, worst)
check("remember  cart.cc:40 [shop]" in worst, worst)
check("fill_cache" in report and report.count("leak in") == 1, report)
line = json.loads(run("leaks", "--from", cart, "--format", "jsonl").stdout)
equal("version", line["top"][0]["fleet"]["version"], "1.5")
equal("growing hosts", line["top"][0]["fleet"]["growing_hosts"], 2)
many = "".join(f"&none{number}=" for number in range(40))
check("grows steadily on 2 of 3 hosts" in run("leaks", cart + many).stdout, "a question with many labels")
for option, value in (("--min-blocks", "10"), ("--tail", "2%"), ("--warmup", "1m")):
    refused(f"leaks {option}", "leaks", cart, option, value, words=[option, "--min-bytes"], status=2)
check("no stack grows steadily" in run("leaks", store.address("shop", service="cart", version="1.4")).stdout,
      "a version that does not leak")

# ---- the same as a gate ----
FOUND = 5
names = [path(f"fleet.{suffix}") for suffix in ("json", "xml", "sarif")]
said = run("leaks", cart, "--fail-on", "leak", *sum((["--report", name] for name in names), []), status=FOUND).stderr
check("leak check failed (--fail-on leak): 1 stack, 41.0 MiB in 60 blocks" in said and "remember  cart.cc:40" in said, said)
with open(names[0], encoding="utf-8") as stream:
    checked = json.load(stream)
equal("what grew in the range", (checked["leaked_bytes"], checked["leaked_blocks"]), (38 * MIB, 57))
equal("rules", {each["rule"]: each["verdict"] for each in checked["stacks"] if each["rule"]}, {"leak": "leak"})
rate = next(each for each in checked["stacks"] if each["outcome"] == "failed")["bytes_per_second"]
check(abs(rate["value"] - 2 * MIB / 60) < 1 and list(rate) == ["value"], rate)
old = store.address("shop", service="cart", version="1.4")
said = run("leaks", "--fail-on", "leak,linear", old).stderr
check("leak check passed" in said and "not certain: lost 60: " in said, said)
run("leaks", "--fail-on", "kept", old, status=FOUND)
one_host = cart + "&host=h1&host=h3"
run("leaks", "--fail-on", "leak", one_host)
run("leaks", "--fail-on", "linear", one_host, status=FOUND)
run("leaks", "--fail-if-leaked", "38M", cart)
check("leaked in all: 38.0 MiB" in run("leaks", "--fail-if-leaked", "37M", cart, status=FOUND).stderr, "the sum of leaks")
run("leaks", "--fail-on", "leak", "--min-rate", "119M/h", cart, status=FOUND)
check("below --min-rate" in run("leaks", "--fail-on", "leak", "--min-rate", "121M/h", cart).stderr, "slower leaks pass")
with open(path("known.supp"), "w", encoding="utf-8") as stream:
    stream.write("leak:^remember$\n")
check("suppressed: 1 stack" in run("leaks", "--fail-on", "leak,linear", "--suppress", path("known.supp"), cart).stderr,
      "what is suppressed passes")
# Three windows do not tell. Both have passed, and it is said that they may have passed too early.
early = f"{cart}&version=1.5&from={BEGAN + 20 * 60}&to={BEGAN + 23 * 60}"
said = run("leaks", "--fail-on", "leak", early).stderr
check("leak check passed" in said and "cannot tell yet: 3 stacks" in said and "watch at least 60 s longer" in said, said)
check("cannot tell yet in version 1.5: fewer than 4 windows on 3 of 3 hosts" in run("leaks", early).stdout, "its sentence")
run("leaks", "--fail-on", "cannot-tell", early, status=FOUND)
for option, value in (("--fail-on", "lost"), ("--fail-on", "leak,exponential"), ("--fail-on", "freed-at-end")):
    refused(f"leaks {option} {value}", "leaks", cart, option, value, words=["for a store there are leak ("], status=2)
refused("a baseline", "leaks", cart, "--fail-on", "leak", "--baseline", "a.mfr", words=["version=NAME"], status=2)

csv = run("timeline", cart, "--format", "csv").stdout
layer = [int(cells.split(",")[2]) for cells in csv.splitlines() if ",remember," in cells]
equal("the leak over time begins", layer[0], 3 * MIB)
equal("the leak over time ends", layer[-1], 41 * MIB)
check(all(3 * MIB <= value <= 41 * MIB for value in layer), layer)
total = [int(cells.split(",")[2]) for cells in csv.splitlines() if ",inuse_space," in cells]
equal("total over time ends", total[-1], sum(held.values()))
refused("a timeline of flows", "timeline", cart + "&type=alloc_space", words=["what is in use"], status=USAGE)
run("timeline", cart, "-o", path("cart.svg"))

# ---- what is not there ----
refused("a service that is not there", "collapse", store.address("shop", service="card"), words=["'cart'", "'one'"])
refused("no service", "collapse", store.address("shop"), words=["which service?", "'cart'"], status=USAGE)
refused("a range without data", "render", cart + "&from=-9d&to=-8d", words=["no window of service=cart ended", "choose with"])
refused("a host that is not there", "render", cart + "&host=h9", words=["host=h9", "'h1', 'h2', 'h3'"])
refused("a label that is not there", "render", cart + "&vrsion=1.4", words=["no such label"])
refused("a type that is not there", "render", cart + "&type=inuse", words=["'inuse_space'"], status=USAGE)
refused("nothing but 0", "render", cart + "&type=brk_space", words=["no stack with a value other than 0"])
refused("an option of recordings", "render", cart, "--at", "5", words=["--at does not go with a store"], status=USAGE)
refused("a command for recordings", "report", cart, words=["has sums of windows"], status=USAGE)
refused("nobody there", "render", "clickhouse://127.0.0.1:1/shop?service=a", words=["cannot reach 127.0.0.1:1"])

# ---- names that try to be SQL ----
hostile = ["'", "\"", "\\", "\\'", "' OR 1 = 1 --", "a\nb\tc", "λ\u2028", "`x`", "{service:String}", "%41&x=1#",
           "'); DROP TABLE samples; --", "null\0byte"]
for number, name in enumerate(hostile):
    labels = {"version": name, "it's; \"a\" label": name}
    send(store.address("shop"), [window(name, name, NOW - 300, **labels, stacks=[
        ([[name or "empty"], MALLOC], {"alloc_space": number + 1})])])
for number, name in enumerate(hostile):
    found = figures(store.address("shop", service=name, type="alloc_space", host=name, version=name,
                                  **{"it's; \"a\" label": name}))
    equal(f"sum of {name!r}", sum(found.values()), number + 1)
broken = "ff00fe27"
send(store.address("shop"), [window("broken", "b", NOW - 300, label_bytes={"version": broken}, stacks=[
    ([["f"], MALLOC], {"alloc_space": 3})])])
equal("bytes that are not UTF-8", figures(store.address("shop", service="broken", type="alloc_space") +
                                          "&version=%ff%00%fe%27"), {"f;malloc": 3})
equal("the tables are there", store.sql("SELECT count() > 0 FROM samples", "shop"), "1\n")

# ---- what is asked for is found by the order of the rows, and not by looking through all ----
store.sql("CREATE DATABASE many")
for statement in run("store", "init", "--print", "many").stdout.split(";\n"):
    if statement.strip().startswith("CREATE TABLE IF NOT EXISTS samples"):
        store.sql(statement.replace("index_granularity = 8192", "index_granularity = 32"), "many")
run("store", "init", store.address("many"))
send(store.address("many"), [window("many", f"h{host}", BEGAN + 60 * minute, stacks=[
    ([[f"f{i}"], MALLOC], {"inuse_space": host + 1, "alloc_space": minute + 1}) for i in range(40)])
    for host in range(20) for minute in range(40)])
store.sql("OPTIMIZE TABLE samples FINAL", "many")
parts = int(store.sql("SELECT sum(marks) FROM system.parts WHERE active AND database = 'many' AND table = 'samples'"))
check(parts >= 1000, f"parts of the table: {parts}")


def looked_at(**asked):
    """The sum of what is asked for, and how many parts of tables the store looks through."""
    looked = "SELECT sum(value) FROM system.events WHERE event = 'SelectedMarks'"
    before = int(store.sql(looked))
    found = figures(store.address("many", service="many", **asked))
    return sum(found.values()), int(store.sql(looked)) - before


for name, asked, wanted in (("a host", {"host": "h7", "type": "alloc_space"}, 40 * sum(range(1, 41))),
                            ("in use", {"type": "inuse_space"}, 40 * sum(range(1, 21))),
                            ("a host, in use", {"host": "h7", "type": "inuse_space"}, 40 * 8)):
    got, parts_looked_at = looked_at(**asked)
    equal(name, got, wanted)
    check(parts_looked_at < parts / 5, f"{name}: looked at {parts_looked_at} parts of {parts}")

# ---- a user with a password ----
with open(path("password"), "w", encoding="utf-8") as file:
    file.write(PASSWORD + "\n")
mine = store.address("shop", "fleet@", service="one", password_file=path("password"))
equal("as a user", figures(mine), figures(sent, "--value", "inuse_space"))
bare = store.address("shop", "fleet@", service="one")
equal("by the environment", run("collapse", bare, env={**os.environ, "MEMFLAME_STORE_PASSWORD_FILE": path("password")})
      .returncode, 0)
refused("no password", "collapse", bare, words=["password_file=FILE"])
refused("a password in the address", "collapse", store.address("shop", "fleet:x@", service="one"),
        words=["does not belong"], status=USAGE)
refused("a password in the open", "collapse", "clickhouse://fleet@db.example/shop?password_file=/etc/x&service=a",
        words=["clickhouses://"], status=USAGE)

# ---- days that were dropped are not shown as if they were whole ----
day = time.strftime("%Y-%m-%d", time.gmtime(NOW - 120))
store.sql("CREATE DATABASE dropped")
run("store", "init", store.address("dropped"))
send(store.address("dropped"), [one])
store.sql(f"ALTER TABLE samples DROP PARTITION '{day}'", "dropped")
refused("samples that are gone", "collapse", store.address("dropped", service="one", from_="-2h"), words=["no longer in the store"])

store.stop()
refused("a store that is away", "leaks", cart, words=["cannot reach 127.0.0.1"])
check("cannot reach" in send(store.address("shop"), windows[:1], status=1), "send to a store that is away")
store.start()
equal("after a restart", figures(allocated), expected)
store.stop()
