# SPDX-License-Identifier: BSD-2-Clause
"""memflame collapse as a shell sees it: inputs, outputs, exit codes, one line for what is wrong.

$MEMFLAME is the binary under test. Needs no privilege.
"""
import bz2
import gzip
import io
import lzma
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import zipfile

MEMFLAME = os.path.abspath(os.environ["MEMFLAME"])
PATIENCE = 120  # seconds
RECORDING = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "data", "recording", "run4.mfr"))
FAILURE, USAGE, LOSSY = 1, 2, 4

scratch = tempfile.mkdtemp(prefix="memflame-cli-")
os.chdir(scratch)


def equal(what, got, wanted):
    if got != wanted:
        raise SystemExit(f"FAILED: {what}: got {got!r}, wanted {wanted!r}")


def collapse(*arguments, status=0, stdin=b"", command="collapse", **options):
    done = subprocess.run([MEMFLAME, command, *arguments], input=stdin, capture_output=True,
                          timeout=PATIENCE, check=False, **options)
    said = done.stderr.decode()
    equal(f"exit status of {arguments}, which said {said!r}", done.returncode, status)
    return done.stdout.decode(), said


def stacks(text):
    return [line for line in text.splitlines() if not line.startswith("#")]


def refused(status, words, *arguments, **options):
    out, said = collapse(*arguments, status=status, **options)
    equal(f"{arguments}: output", out, "")
    lines = said.splitlines()
    equal(f"{arguments}: lines on standard error: {lines}", len(lines), 1)
    if not lines[0].startswith("memflame: error: "):
        raise SystemExit(f"FAILED: {arguments}: {lines[0]!r} does not say that it is an error")
    if words not in lines[0]:
        raise SystemExit(f"FAILED: {arguments}: {lines[0]!r} does not say {words!r}")


def write(name, data):
    with open(name, "wb") as stream:
        stream.write(data)


def inputs():
    for arguments, wanted in (
            (["a.folded"], ["main;f 10", "main;g 5"]),
            (["a.folded", "b.folded"], ["main;f 11", "main;g 5", "main;h 2"]),
            (["a.folded", "-"], ["main;f 10", "main;g 5", "main;i 7"]),
            (["-"], ["main;i 7"]),
            ([], ["main;i 7"]),
            (["--from", "folded", "a.folded"], ["main;f 10", "main;g 5"])):
        out, said = collapse(*arguments, stdin=b"main;i 7\n")
        equal(f"{arguments}", stacks(out), wanted)
        equal(f"{arguments}: standard error", said, "")


def command_lines():
    text = (b"desc: --massif-out-file=/srv/me/x\ncmd: ./server --password=hunter2 shownword\ntime_unit: i\n"
            b"#-----------\nsnapshot=0\n#-----------\ntime=0\nmem_heap_B=7\nmem_heap_extra_B=0\n"
            b"mem_stacks_B=0\nheap_tree=empty\n")
    for options, shown in (([], True), (["--anonymise"], False)):
        for form in ("folded", "json", "svg"):
            out, _ = collapse("--format", form, *options, stdin=text)
            equal(f"{form} {options}: the secret", "hunter2" in out, False)
            for word in ("shownword", "/srv/me"):
                equal(f"{form} {options}: {word}", word in out, shown)


def packed():
    write("a.gz", gzip.compress(A))
    write("a.xz", lzma.compress(A))
    write("a.bz2", bz2.compress(A))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as files:
        files.writestr("runs/", "")
        files.writestr("runs/a.folded", A)
    write("a.zip", archive.getvalue())
    names = ["a.gz", "a.xz", "a.bz2", "a.zip"]
    if shutil.which("zstd"):
        subprocess.run(["zstd", "-q", "a.folded", "-o", "a.zst"], check=True)
        names.append("a.zst")
    for name in names:
        equal(name, stacks(collapse(name)[0]), ["main;f 10", "main;g 5"])
        with open(name, "rb") as stream:
            equal(f"{name} by stdin", stacks(collapse(stdin=stream.read())[0]),
                  ["main;f 10", "main;g 5"])
    many = b"".join(b"main;f%d 1\n" % (i * 7919 % 20011) for i in range(20000))
    for name, packed_bytes in (("cut.gz", gzip.compress(many)), ("cut.xz", lzma.compress(many)),
                               ("cut.bz2", bz2.compress(many * 20))):
        write(name, packed_bytes[:len(packed_bytes) * 3 // 4])
        out, said = collapse(name)
        equal(f"{name} has stacks", len(stacks(out)) > 1000, True)
        equal(f"{name} is said to be cut", f"{name}: its " in said and "ends in the middle" in said, True)
        refused(FAILURE, "ends in the middle", "--refuse-truncated", name)
    with zipfile.ZipFile(archive, "a") as files:
        files.writestr("b.folded", A)
    refused(FAILURE, "a zip archive of several files, 'runs/a.folded', 'b.folded'",
            stdin=archive.getvalue())
    # Packed as none is read: which it is, and what unpacks it.
    for begin, command in ((b"\x89LZO", "lzop -dc FILE"), (b"]\0\0\x80", "xz --format=lzma"),
                           (gzip.compress(gzip.compress(A)), "gzip -dc FILE")):
        refused(FAILURE, command, stdin=begin)
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w", format=form) as tar:
            member = tarfile.TarInfo("a.folded")
            member.size = len(A)
            tar.addfile(member, io.BytesIO(A))
        for text in (archive.getvalue(), gzip.compress(archive.getvalue())):
            for options in ([], ["--from", "folded"]):
                refused(FAILURE, "a tar archive: unpack it first, as with 'tar -xOf FILE MEMBER'",
                        *options, stdin=text)


def deep():
    deep_text = b"a;b;c;d 1\na;b;c 2\na;b 4\n"
    out, said = collapse("--max-frames", "2", stdin=deep_text)
    equal("truncated stacks", stacks(out), ["a;b 4", "a;b;[truncated: more frames than --max-frames] 3"])
    equal("and how many", "cut stacks, more frames than --max-frames: 2" in said, True)
    equal("their frames", "note=\"2 stacks have more than 2 frames: the last 3 are left out" in out, True)
    refused(LOSSY, "more frames than --max-frames", "--strict", "--max-frames", "2", stdin=deep_text)
    refused(USAGE, "--max-frames must be at least 1", "--max-frames", "0", stdin=deep_text)


def sums():
    largest = b"a 9223372036854775807\n"
    write("largest.folded", largest)
    for options in (["--no-header"], ["--format", "pprof"], ["--format", "csv"]):
        refused(FAILURE, "a sum of values leaves the range of 64 bits", *options, "b.folded", "largest.folded")
        refused(FAILURE, "a sum of values leaves the range of 64 bits", *options, "--factor", "10",
                stdin=b"a 800000000000000000\nb 800000000000000000\n")


def columns():
    out, _ = collapse("--list", "--unit", "bytes", "a.folded")
    equal("--list", out.split("\n")[0].split("\t"), ["bytes", "bytes", "15", "15 B", "default"])
    out, _ = collapse("--list", "-o", "figures.txt", "a.folded")
    equal("--list -o", [out, open("figures.txt").read().split("\t")[0]], ["", "count"])
    out, _ = collapse("--list", "-o", "both.txt", "a.folded", "b.folded", command="diff")
    equal("diff --list -o", [out, open("both.txt").read().split("\t")[0]], ["", "before"])
    for option in (["--title", "x"], ["--palette", "mem"], ["--width", "9"], ["--sort", "name"],
                   ["--reverse"], ["--format", "json"], ["--all-values"], ["--no-marks"]):
        refused(USAGE, f"and {option[0]} concerns how", "--list", *option, "a.folded")
    refused(USAGE, "and --title, --no-header concerns how", "--list", "--title", "x", "--no-header",
            "a.folded", "b.folded", command="diff")
    equal("--value", stacks(collapse("--value", "count", "a.folded")[0]),
          ["main;f 10", "main;g 5"])
    refused(USAGE, "there is no value 'live'", "--value", "live", "a.folded")


def zeros():
    """Text without a line is explained."""
    out, said = collapse(stdin=b"a;b 0\na;c 0\n")
    equal("lines of zeros", stacks(out), [])
    equal("what is said", said, "memflame: all 2 stacks have a 'count' of 0\n")


def what_is_wrong():
    refused(FAILURE, "missing.folded", "missing.folded")
    refused(FAILURE, "empty", "empty.folded")
    refused(FAILURE, "empty", stdin=b"")
    refused(FAILURE, "junk.txt", "junk.txt")
    refused(FAILURE, "a.folded", "--from", "heaptrack", "a.folded")
    refused(USAGE, "nonsense", "--from", "nonsense", "a.folded")
    refused(USAGE, "--nonsense", "--nonsense", "a.folded")
    refused(USAGE, "--rename takes RE=TEXT", "--rename", "x", "a.folded")
    refused(USAGE, "missing )", "--include", "f(", "a.folded")
    refused(USAGE, "--shorten takes", "--shorten", "all", "a.folded")
    refused(USAGE, "--top takes", "--top", "-1", "a.folded")
    refused(USAGE, "are mutually exclusive", "--modules", "--by-module", "a.folded")
    refused(USAGE, "are mutually exclusive", "--by-line", "--by-module", "a.folded")
    refused(USAGE, "--allocator-list goes with", "--allocator-list", "x", "a.folded")
    refused(FAILURE, "missing.txt", "--hide-allocator", "--allocator-list", "missing.txt",
            "a.folded")
    refused(FAILURE, "no stack is left", "--include", "nobody", "a.folded")
    refused(FAILURE, "/no/such/folder", "-o", "/no/such/folder/x.folded", "a.folded")
    refused(USAGE, "--snapshot goes with massif and memleak, but this is folded", "--snapshot", "1",
            "a.folded")
    refused(USAGE, "--columns goes with folded, but this is massif", "--columns", "2", stdin=MASSIF)
    refused(USAGE, "--unit goes with folded, perf-script, bpftrace, bpftrace-json, bcc-stacks, systemtap, dtrace and "
            "speedscope, but this is massif", "--unit", "bytes", stdin=MASSIF)
    for option in (["--net"], ["--weight", "order"], ["--event", "cycles"]):
        refused(USAGE, f"{option[0]} goes with perf-script", *option, "a.folded")
    refused(FAILURE, "64 bits", stdin=b"a 9223372036854775807\na 1\n")
    refused(FAILURE, "64 bits", stdin=b"a 9223372036854775807\nb 1\n")  # only their sum
    refused(FAILURE, ":3: the last line has no end", "--refuse-truncated", stdin=A + b"main;h 1")
    # Kept, and said to whoever writes no header.
    _, said = collapse("--no-header", "--from", "eu-stack", stdin=b"TID 2:\n#0  0x10 f\n#1  0x2")
    equal("cut off: what is said", "memflame: the input ends in the middle" in said, True)
    if os.path.exists("/dev/full"):
        refused(FAILURE, "/dev/full", "-o", "/dev/full", "--format", "folded", "a.folded")


def strict():
    broken = A + b"no number here\n"
    out, said = collapse(stdin=broken)
    equal("with a line that is not understood", stacks(out), ["main;f 10", "main;g 5"])
    if "input lines or records not understood: 1" not in said:
        raise SystemExit(f"FAILED: it is not said that a line was skipped: {said!r}")
    write("broken.folded", broken)
    words = "broken.folded: 1 line not understood (no number at its end): line 3: 'no number here'"
    for arguments in (["broken.folded"], ["a.folded", "broken.folded"], ["broken.folded", "--list"]):
        out, said = collapse(*arguments)
        equal(f"{arguments}: what is said", said.splitlines(),
              ["memflame: " + words, "memflame: input lines or records not understood: 1"])
    _, said = collapse("a.folded", "broken.folded", command="diff")
    equal("diff: what is said", f"after: {words}" in said, True)
    refused(LOSSY, "--strict: " + words, "--strict", "-o", "strict.folded", "broken.folded")
    refused(LOSSY, "--strict", "--strict", "-o", "strict.folded", stdin=broken)
    equal("--strict leaves a file", os.path.exists("strict.folded"), False)
    equal("--strict with nothing wrong", stacks(collapse("--strict", "a.folded")[0]),
          ["main;f 10", "main;g 5"])


def tidying():
    out, said = collapse("--exclude", "^g$", "a.folded")
    equal("--exclude", stacks(out), ["main;f 10"])
    equal("--exclude says", said, "memflame: --exclude dropped 1 stack, 5\n")
    equal("--exclude in the note", '# memflame note="--exclude dropped 1 stack, 5"' in out, True)
    write("deep.folded", b"main;void f<int>(int);void f<char>(char);pool_get;malloc 8\n")
    write("mine.txt", b"pool_*\n")
    out, _ = collapse("--shorten", "templates,arguments", "--collapse-recursion",
                      "--hide-allocator", "--allocator-list", "mine.txt", "deep.folded")
    equal("several at once", stacks(out), ["main;f<\u2026> 8"])
    out, _ = collapse("--merge-allocator", "deep.folded", "--format", "svg", command="render")
    equal("render tidies too", "[allocator]" in out, True)
    write("types.folded", b"main;parse;malloc 3\nmain;std::vector<app::Node>::reserve(unsigned long);"
                          b"operator new(unsigned long) 8\n")
    for command in ("collapse", "render"):
        out, _ = collapse("--by-type", "--hide-allocator", "--format", "folded", "types.folded",
                          command=command)
        equal(f"{command} --by-type", stacks(out),
              ["[in parse];main;parse 3",
               "app::Node;main;std::vector<app::Node>::reserve(unsigned long) 8"])
    out, _ = collapse("--by-type", "--reverse", "types.folded")
    equal("--by-type --reverse", stacks(out),
          ["[in parse];malloc;parse;main 3",
           "app::Node;operator new(unsigned long);std::vector<app::Node>::reserve(unsigned long);main 8"])
    out, _ = collapse("--by-type", "types.folded", "types.folded", command="diff")
    equal("diff --by-type", "app::Node;main;" in out, True)
    _, said = collapse("--by-type", "a.folded")
    equal("--by-type says", said, "memflame: no function names a type that was allocated: groups are the "
                                  "functions that called the allocator\n")
    lines, _ = collapse("--by-line", "a.folded")
    equal("--lines is --by-line", collapse("--lines", "a.folded")[0], lines)


def peak_of(*arguments, text, times):
    """Peak memory in bytes of reading a text N times over through a pipe, and the output."""
    child = subprocess.Popen([MEMFLAME, "collapse", "--no-header", *arguments],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def feed():
        for _ in range(times):
            child.stdin.write(text)
        child.stdin.close()
    feeder = threading.Thread(target=feed)
    feeder.start()
    out = child.stdout.read().decode()
    feeder.join()
    child.stdout.close()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    equal(f"{arguments}: exit status", child.returncode, 0)
    return usage.ru_maxrss * 1024, out


def memory():
    """Memory goes by the distinct stacks, not by the length of the input."""
    megabyte = 1 << 20
    size = 4 * megabyte if SANITIZED else 64 * megabyte
    folded = b"".join(b"main;worker;f%d 1\n" % i for i in range(1000))
    perf = b"".join(b"app 1/1 [000] 1.0: 1 cycles:\n\t55 f%d+0x1 (/bin/a)\n\t56 main+0x2 (/bin/a)\n\n" % i
                    for i in range(1000))
    bpftrace = b"".join(b"@bytes[\n    f%d+1\n    main+2\n]: 1\n" % i for i in range(1000))
    for form, text in (("folded", folded), ("perf-script", perf), ("bpftrace", bpftrace)):
        times = size // len(text)
        peak, out = peak_of("--from", form, text=text, times=times)
        equal(f"{form}: stacks", len(out.splitlines()), 1000)
        equal(f"{form}: figures", {line.rsplit(" ", 1)[1] for line in out.splitlines()}, {str(times)})
        if peak > 48 * megabyte and not SANITIZED:
            raise SystemExit(f"FAILED: {form}: {peak} bytes of memory for 1000 stacks")
    peak, out = peak_of("--from", "folded", text=b"x" * size + b" 1\nmain 2\n", times=1)
    equal("a long line", (len(out), out[:7], out[-5:]), (size + 10, "main 2\n", "xx 1\n"))


def broken_pipe():
    """`| head -1`: no storm of messages, however the parent treats SIGPIPE."""
    many = b"".join(b"main;f%d 1\n" % i for i in range(100_000))
    write("many.folded", many)
    for ignored in (False, True):
        child = subprocess.Popen(
            [MEMFLAME, "collapse", "many.folded"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            restore_signals=not ignored,
            preexec_fn=(lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN)) if ignored else None)
        child.stdout.readline()
        child.stdout.close()
        said = child.stderr.read().decode().splitlines()
        child.stderr.close()
        child.wait(timeout=PATIENCE)
        equal(f"broken pipe: lines on standard error {said}", len(said) <= 1, True)
        equal("broken pipe: status", child.returncode in (-signal.SIGPIPE, FAILURE), True)


def recordings():
    text, _ = collapse(RECORDING, "--no-symbols", "--value", "total")
    equal("a recording: stacks", len(stacks(text)) > 0, True)
    sums = {}
    refused(USAGE, "expected a time since the run began", RECORDING, "--at", "2500 looks")
    for time in ("2", "2500ms", "2.5", "1m"):
        text, _ = collapse(RECORDING, "--at", time, "--view", "total")
        sums[time] = sum(int(line.rsplit(" ", 1)[1]) for line in stacks(text))
    equal("a time in other units", sums["2500ms"], sums["2.5"])
    text, _ = collapse(RECORDING, "--between", "2..1m", "--view", "total")
    grown = sum(int(line.rsplit(" ", 1)[1]) for line in stacks(text))
    equal("a stretch of time is a difference", grown, sums["1m"] - sums["2"])
    text, _ = collapse("--at", "2", "--at", "1m", "--value", "total", RECORDING, command="diff")
    before, after = (sum(int(line.rsplit(" ", 2)[i]) for line in stacks(text)) for i in (1, 2))
    equal("two times of a recording", (before, after), (sums["2"], sums["1m"]))
    collapse(RECORDING, "--between", "0..3s", "--view", "survivors")
    refused(USAGE, "--at takes one time here", RECORDING, "--at", "1", "--at", "2")
    refused(USAGE, "expected two times", RECORDING, "--between", "5")
    refused(USAGE, "mutually exclusive", RECORDING, "--between", "1..2", "--at", "1")
    refused(USAGE, "--at goes with memflame-recording, but this is folded", "a.folded", "--at", "1")
    refused(USAGE, "--view goes with memflame-recording", "a.folded", "--view", "live")
    refused(FAILURE, "there is no look until 0.1 s", RECORDING, "--at", "0.1")
    with open(RECORDING, "rb") as stream:
        whole = stream.read()
    write("cut.mfr", whole[:-3])
    _, said = collapse("cut.mfr", "--no-symbols")
    equal("a cut recording", "it was not finished" in said, True)
    refused(FAILURE, "it was not finished", "cut.mfr", "--refuse-truncated")


# Peak memory says nothing under sanitizers, and they take ten times as long to read: less is read there.
# Not by reading the program here: what a process had before it became memflame counts as its peak.
SANITIZED = subprocess.run(["grep", "-q", "__asan_init", MEMFLAME], check=False).returncode == 0
A = b"main;f 10\nmain;g 5\n"
MASSIF = b"desc: x\ncmd: x\ntime_unit: i\n#-----------\nsnapshot=0\n"
write("a.folded", A)
write("b.folded", b"main;h 2\nmain;f 1\n")
write("empty.folded", b"")
write("junk.txt", b"what is this?\nnobody knows\n" * 20)
try:
    for case in (inputs, command_lines, packed, deep, sums, columns, zeros, what_is_wrong, strict, tidying, memory, broken_pipe,
                 recordings):
        case()
finally:
    os.chdir("/")
    shutil.rmtree(scratch, ignore_errors=True)
sys.exit(0)
