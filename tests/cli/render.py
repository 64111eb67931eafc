# SPDX-License-Identifier: BSD-2-Clause
"""memflame render and diff as a shell sees them: every option of a picture has its effect.

$MEMFLAME is the binary under test. Needs no privilege.
"""
import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import tempfile
import termios

MEMFLAME = os.path.abspath(os.environ["MEMFLAME"])
USAGE = 2

scratch = tempfile.mkdtemp(prefix="memflame-cli-")
os.chdir(scratch)


def equal(what, got, wanted):
    if got != wanted:
        raise SystemExit(f"FAILED: {what}: got {got!r}, wanted {wanted!r}")


def check(good, what):
    if not good:
        raise SystemExit(f"FAILED: {what}")


def memflame(*arguments, status=0):
    done = subprocess.run([MEMFLAME, *arguments], capture_output=True, timeout=120, check=False)
    said = done.stderr.decode()
    equal(f"exit status of {arguments}, which said {said!r}", done.returncode, status)
    return done.stdout.decode(), said


def render(*arguments, **options):
    return memflame("render", *arguments, "in.folded", **options)[0]


def write(name, text):
    with open(name, "w", encoding="utf-8") as stream:
        stream.write(text)


def read(name):
    with open(name, encoding="utf-8") as stream:
        return stream.read()


# A name that is too long for its box, so that what is cut off can be seen.
write("in.folded", "main;parse 3000\nmain;write 1000\nmain;a_function_with_a_name_that_is_too_long 400\n"
      "other;tiny 2\n")
write("before.folded", "main;a 10\nmain;gone 5\n")
write("after.folded", "main;a 20\nmain;new 7\n")
write("attr", "parse\ttitle=reads\thref=https://example.org/\nwrite\thref=javascript:alert(1)\n")
write("mine.json", "{}")

plain = render()

# Each makes another picture, and the picture says what was asked.
for arguments, words in (
        (["--title", "My <title>"], "My &lt;title&gt;"),
        (["--subtitle", "My <subtitle>"], "My &lt;subtitle&gt;"),
        (["--notes", "My <notes>"], "My &lt;notes&gt;"),
        (["--palette", "java"], "main"), (["--colors", "red"], "main"),
        (["--bgcolors", "blue"], "#e0e3ff"), (["--bgcolors", "#ffeedd"], "#ffeedd"),
        (["--icicle"], "Icicle graph"), (["--inverted"], "Icicle graph"),
        (["--reverse"], "callers first"),
        (["--sort", "width"], '"order":"width"'), (["--flamechart"], '"order":"time"'),
        (["--widths", "size"], '"net":true'),
        (["--max-boxes", "2"], '"boxes":2'), (["--max-boxes", "1", "--static"], "(+2 frames"), (["--minwidth", "20"], "(+2 frames"), (["--minwidth", "5%"], "(+2 frames"),
        (["--minwidth", "20"], '"least":20'), (["--minwidth", "0.1"], '"least":0.1'), (["--minwidth", "0.05"], '"least":0.05'), (["--minwidth", "5%", "--format", "html"], '"leastPercent":5'),
        (["--width", "700"], 'width="700"'), (["--height", "30"], 'height="29"'),
        (["--fonttype", "Verdana"], "font-family: Verdana"), (["--fontsize", "20"], 'font-size="20"'),
        (["--elide", "left"], '"elide":"left"'), (["--elide", "middle"], '"elide":"middle"'),
        (["--countname", "bytes"], "2.9 KiB (3,000 B)"), (["--countname", "samples"], "3,000 samples"),
        (["--nametype", "Stack:"], "<title>Stack: main"),
        (["--total", "10000"], "[untracked]"), (["--factor", "4"], "12,000"),
        (["--factor", "0.5"], "1,500"), (["--nameattr", "attr"], 'href="https://example.org/"'),
        (["--static"], "main"), (["--fragment"], "main")):
    picture = render(*arguments)
    check(picture != plain, f"{arguments} changes nothing")
    check(words in picture, f"{arguments}: the picture does not say {words}")
    check("javascript:alert" not in picture, f"{arguments}: a link may run")

check("<script" not in render("--static"), "a static picture has no script")
check(render("--fragment").startswith("<svg"), "a fragment has no XML declaration")
check("<html" not in render("--fragment", "--format", "html"), "a fragment is not a page")
equal("colours are by name in any case", render("--hash"), plain)
equal("the names that flamegraph.pl has", render("--colors", "mem", "--hash"), render("--palette", "mem"))

# Refused, in one line that says what there is.
for arguments, words in (
        (["--sort", "size"], "--sort takes name, width, not 'size'"),
        (["--widths", "x"], "--widths takes max, after, before, sum, delta, size, not 'x'"),
        (["--elide", "x"], "--elide takes right, left, middle"),
        (["--max-boxes", "0"], "--max-boxes takes a number above 0"),
        (["--minwidth", "x"], "--minwidth takes a number"), (["--minwidth", "100%"], "smallest width"),
        (["--bgcolors", "x"], "is not one of yellow"), (["--factor", "x"], "--factor takes"),
        (["--total", "x"], "--total takes"), (["--height", "2"], "height of a frame"),
        (["--fonttype", "a;b"], "names of fonts"), (["--colors", "x"], "no palette is called 'x'"),
        (["--palette", "mine.json"], "palette mine.json: 'name' is missing"),
        (["--nameattr", "nowhere"], "cannot read 'nowhere'"),
        (["--static", "--format", "html"], "a picture without one is an SVG")):
    out, said = memflame("render", *arguments, "in.folded", status=USAGE)
    equal(f"{arguments}: output", out, "")
    check(words in said, f"{arguments}: {said!r} does not say {words!r}")

# What could not be done is said.
check("is less than the sum" in memflame("render", "--total", "5", "in.folded")[1], "a total that is too small")
check("1 attributes were ignored" in memflame("render", "--nameattr", "attr", "in.folded")[1], "links that may run")
said = memflame("collapse", "--width", "500", "--icicle", "--title", "x", "in.folded")[1]
check("ignored, as " in said and "--width" in said and "--icicle" in said and "--title" not in said, said)

# Figures and stacks change whatever the format is.
equal("reversed", [line for line in memflame("collapse", "--reverse", "--no-header", "in.folded")[0].splitlines()][-1],
      "write;main 1000")
check("main;parse 12000" in memflame("collapse", "--factor", "4", "in.folded")[0], "a factor in folded text")
check("[untracked] 98" in memflame("collapse", "--total", "4500", "in.folded")[0], "the rest in folded text")

# Pictures and pages give back what they were made of, alone and as parts of a page.
folded = memflame("collapse", "--no-header", "in.folded")[0]
for arguments in ([], ["--fragment"], ["--format", "html"], ["--format", "html", "--fragment"],
                  ["--format", "html", "--fragment", "--bgcolors", "grey"]):
    write("picture", render(*arguments))
    equal(f"what {arguments} gives back", memflame("collapse", "--no-header", "picture")[0], folded)
write("page.html", f"<!DOCTYPE html>\n<p>mine</p>\n{render('--format', 'html', '--fragment')}<p>too</p>\n")
equal("a part of a page", memflame("collapse", "--no-header", "--from", "memflame-html", "page.html")[0], folded)

# Colours that are kept.
write("palette.map", "parse->rgb(250,200,10)\noperator->->rgb(1,2,3)\n")
check("#fac80a" in render("--cp"), "--cp takes colours")
kept = read("palette.map")
check("operator->->rgb(1,2,3)\n" in kept and "\nwrite->rgb(" in kept, "--cp keeps colours")
again = render("--cp")
equal("a second picture", again, render("--cp"))
equal("the map", read("palette.map"), kept)
render("--palette-map", "other.map", "--colors", "red")
check("main->rgb(" in read("other.map"), "--palette-map makes the file")
check(render("--palette-map", "other.map") != plain, "colours of another palette")

# Pictures of dots and pages, by the suffix or by name.
equal("a PNG", memflame("render", "in.folded", "-o", "x.png", "--fontsize", "14"), ("", ""))
equal("a PDF", memflame("render", "in.folded", "-o", "x.pdf"), ("", ""))
for name, begin in (("png", b"\x89PNG\r\n\x1a\n"), ("pdf", b"%PDF-1.")):
    with open(f"x.{name}", "rb") as stream:
        content = stream.read()
    check(content.startswith(begin) and len(content) > 2000, f"{name}: {content[:20]!r}, {len(content)} bytes")
write("no_fonts.conf", "<fontconfig><dir>/nowhere</dir></fontconfig>")
os.environ["FONTCONFIG_FILE"] = os.path.join(scratch, "no_fonts.conf")
_, told = memflame("render", "in.folded", "-o", "x.png", status=1)
check("need a font, and none is installed" in told, f"without fonts: {told}")
del os.environ["FONTCONFIG_FILE"]
write("deep.folded", ";".join(["f"] * 5000) + " 1\n")
_, told = memflame("render", "deep.folded", "--max-boxes", "9000", "-o", "deep.png", status=1)
check("too large for a PNG: merge narrow frames (--minwidth 1%)" in told, f"a deep stack: {told}")
check(not os.path.exists("deep.png"), "there is half a PNG")
_, told = memflame("render", "in.folded", "-o", "deep.pdf", "--width", "100000")

# In cells: as wide as the terminal, in colours only there, and only if it has them.
text = memflame("render", "in.folded", "--format", "text")[0]
check("parse" in text and {len(line) for line in text.splitlines()[2:5]} == {100}, f"100 columns: {text}")
text, told = memflame("render", "in.folded", "-o", "-", "--format", "text", "--width", "60", "--icicle")
check({len(line) for line in text.splitlines()[2:4]} == {60}, f"60 columns: {text}")
check("ignored, as text has only cells: --icicle" in told, f"an option of pictures: {told}")
memflame("render", "in.folded", "-o", "x.txt")
check("parse" in read("x.txt") and "\x1b" not in read("x.txt"), "text in a file")
memflame("render", "in.folded", "--format", "text", "--width", "19", status=USAGE)
for variables, coloured in (({"COLORTERM": "truecolor"}, True), ({"COLORTERM": "truecolor", "NO_COLOR": "1"}, False),
                            ({"COLORTERM": ""}, False)):
    other_end, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 77, 0, 0))
    clean = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    subprocess.run([MEMFLAME, "render", "--format", "text", "in.folded"], stdout=terminal, check=True, timeout=120,
                   env={**clean, "LC_ALL": "C.UTF-8", **variables})
    shown = os.read(other_end, 1 << 16).decode()
    os.close(terminal)
    os.close(other_end)
    equal(f"colours under {variables}", "\x1b[30;48;2;" in shown, coloured)
    first = re.sub("\x1b[^m]*m", "", shown.splitlines()[2])
    equal(f"columns under {variables}", len(first), 76 if coloured else 77)

# A picture is not written to a terminal, whatever names it.
other_end, terminal = pty.openpty()
for name, output in (("svg", []), ("svg", ["-o", "-"]), ("png", []), ("pdf", ["-o", "-"])):
    done = subprocess.run([MEMFLAME, "render", "--format", name, *output, "in.folded"], stdout=terminal,
                          stderr=subprocess.PIPE, timeout=120, check=False)
    equal(f"status on a terminal, {output}", done.returncode, USAGE)
    check(b"not for a terminal" in done.stderr, f"said: {done.stderr}")
os.close(terminal)
os.close(other_end)

# Differences.
diff = memflame("diff", "before.folded", "after.folded", "--format", "svg")[0]
for words in ("✕ gone", "★ new", "before 15 · after 27 · change +12, +80.0 %", "widths: the larger", "+ new ★"):
    check(words in diff, f"a difference does not say {words}")
for arguments, words in ((["--widths", "after"], '"diffWidth":"after"'), (["--widths", "delta"], '"diffWidth":"delta"'),
                         (["--widths", "sum"], '"diffWidth":"sum"'), (["--widths", "before"], '"diffWidth":"before"'),
                         (["--negate"], "gone")):
    other = memflame("diff", "before.folded", "after.folded", "--format", "svg", *arguments)[0]
    check(other != diff and words in other, f"diff {arguments}")
memflame("diff", "before.folded", "after.folded", "-o", "x.svg")
equal("-o x.svg", read("x.svg"), diff)

# The policy is the one that pages carry, and it is all that is printed.
policy = memflame("render", "--print-csp")[0]
check(re.fullmatch(r"default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+'\n", policy), policy)
check(policy.strip() in render("--format", "html"), "the page has the policy that is printed")

# Every palette that there is draws.
names = re.search(r"there are (.*), and files", memflame("render", "--colors", "x", "in.folded", status=USAGE)[1])
for name in names.group(1).split(", "):
    render("--colors", name)

os.chdir("/")
shutil.rmtree(scratch)
