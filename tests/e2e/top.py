# SPDX-License-Identifier: BSD-2-Clause
"""top: the screen has the figures of the program, and its keys do what they say."""
import os
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as xml

from leaks_lib import Steps
from lib import USAGE, check, equal, example, path, run, spawn
from screen import DOWN, END, ENTER, ESCAPE, HOME, UP, Screen

os.chdir(path("."))


def in_order(*names):
    return lambda text: [re.findall("leak_(small|large)", line) for line in text.split("\n")[4:6]] == [
        [name] for name in names]


def figures():
    """Each step's figures appear, and go with the blocks."""
    target = Steps()
    screen = Screen("top", "-p", target.pid, "--interval", "0.2")
    screen.until("STACK (0)", "nothing yet")
    check("collector: kernel" in screen.text(), screen.text())
    check(f"memflame top: leak_steps ({target.pid})" in screen.text(), screen.text())
    check("lost 0   live 0 B in 0 blocks   RSS" in screen.text(), screen.text())
    target.do("small")
    screen.until("live 29.3 KiB in 10 blocks", "30,000 bytes in 10 blocks")
    screen.until("leak_small", "its name")
    equal("its row", screen.row("leak_small").split()[:3], [">", "29.3", "KiB"])
    target.do("large")
    screen.until("live 68.4 KiB in 12 blocks", "and 40,000 in 2")
    screen.until("leak_large", "the other name")
    screen.until(in_order("large", "small"), "by bytes")
    equal("blocks", screen.row("leak_large").split()[3:4], ["2"])
    screen.keys("s")
    screen.until("▼BLOCKS", "the column that it is sorted by")
    screen.until(in_order("small", "large"), "by blocks")
    screen.keys("r")
    screen.until("▲BLOCKS", "the other direction")
    screen.until(in_order("large", "small"), "reversed")
    target.do("free")
    screen.until("live 39.1 KiB in 2 blocks", "what is freed is gone")
    screen.until(lambda text: "leak_small" not in text, "and its row")
    # A held display goes on counting.
    screen.keys(" ")
    screen.until(lambda text: "PAUSED at" in text and "counting goes on" in text, "it is held")
    target.do("small")
    screen.read(1)
    check("live 39.1 KiB in 2 blocks" in screen.text(), f"it is held:\n{screen.text()}")
    screen.keys(" ")
    screen.until("live 68.4 KiB in 12 blocks", "what came meanwhile")
    screen.keys("q")
    said = screen.wait()
    check(re.search(r"memflame: live 68\.4 KiB on 2 stacks, in [\d.]+ s\r\n", said), said)
    check("memflame: lost 0" in said, said)
    target.end()


def keys():
    target = spawn([example("leaky"), "600"], stdout=subprocess.DEVNULL)
    screen = Screen("top", "-p", target.pid, "--sort", "name")
    screen.until("transcript_create", "the leak has a row")
    check(re.search(r"STACK \(\d+\)▲", screen.text()), "--sort name")
    rate = screen.until(lambda text: re.search(r"   ([\d,]+) allocations/s", text), "a rate")
    rate = int(re.search(r"([\d,]+) allocations/s", rate)[1].replace(",", ""))
    check(200 < rate < 60_000, f"at most a thousand requests a second, with some 15 blocks: {rate}")

    screen.keys("/append_post")
    screen.until("search (a regular expression): append_post", "what is searched for")
    screen.keys(ENTER)
    text = screen.until(
        lambda text: re.search(r"/append_post: (1 stack matches|\d+ stacks match)", text) and
        re.search(r"^>\*.*append_postings", text, re.M), "it is found, and its row selected")
    equal("selected rows", len(re.findall("^>", text, re.M)), 1)
    screen.keys("/(" + ENTER)
    screen.until("is not a regular expression", "what is wrong with it")
    screen.keys("f")
    screen.until(lambda text: re.search(r"STACK \(\d+ of \d+\)", text) and "transcript" not in text, "what matches only")
    screen.keys(ENTER)
    text = screen.until("Callers, innermost first", "the page of the stack")
    check(re.search(r"=>  server::SearchIndex::append_postings\([^=]*?leaky\.cc:\d+ \[leaky\]", text), text)
    check(re.search(r"\n      main +leaky\.cc:\d+ \[leaky\]", text), f"up to main:\n{text}")
    check("lost 0" in text, "losses are always there")
    screen.keys("q")
    screen.until("STACK (", "back")
    screen.keys(ESCAPE)
    screen.until(lambda text: "transcript" in text and "/append" not in text, "the search is over")

    screen.keys("h")
    screen.until("COLUMNS", "the help")
    screen.keys(END + UP + HOME + DOWN)
    screen.keys("h")
    screen.until("STACK (", "back again")

    # Pictures: to a proposed name, and over a file only after a question.
    screen.keys("w" + ENTER)
    name = f"memflame-{screen.process.pid}.1.svg"
    screen.until(f"picture -> {name}", "a picture is written")
    text = "".join(xml.parse(name).getroot().itertext())
    check("transcript_create" in text, "the picture has the stacks")
    size = os.path.getsize(name)
    screen.keys("w" + "\x15" + name + ENTER)
    screen.until(f"{name} exists. Replace it? y or n", "the question")
    screen.keys("n")
    screen.until("stays as it is", "the answer")
    equal("it is the same", os.path.getsize(name), size)
    with open("mine.svg", "w", encoding="utf-8") as stream:
        stream.write("mine")
    for letters in ("w", "\x15mine.sv", "x\x7fg", ENTER, "y"):
        screen.keys(letters)
    screen.until("picture -> mine.svg", "a file is replaced")
    check(os.path.getsize("mine.svg") > 1000, "by a picture")
    screen.process.send_signal(signal.SIGUSR1)
    text = screen.until(f"picture -> memflame-{screen.process.pid}.", "SIGUSR1 writes one, too")
    check(os.path.getsize(re.search(r"picture -> (memflame-\S+)", text)[1]) > 1000, "it is there")
    screen.keys(HOME)

    # Another size, while it runs.
    screen.resize(132, 40)
    os.kill(screen.process.pid, signal.SIGWINCH)
    screen.until(lambda text: re.search(r"transcript_create ← server::SessionCache::log_in", text),
                 "there is room for callers")
    equal("the last line", screen.lines()[39][:5], "q end")
    screen.resize(50, 7)
    os.kill(screen.process.pid, signal.SIGWINCH)
    screen.until(lambda text: text.startswith("lost 0   live"), "a small screen has losses and a list")
    screen.resize(80, 24)
    os.kill(screen.process.pid, signal.SIGWINCH)
    screen.until("STACK (", "the first size")
    screen.keys("q")
    said = screen.wait()
    check("picture -> mine.svg" in said, f"pictures are named again: {said}")
    target.kill()
    target.wait()


def ascii_and_colours():
    target = Steps()
    target.do("small")
    screen = Screen("top", "-p", target.pid, env={"LC_ALL": "C", "NO_COLOR": "1"})
    target.do("small")
    screen.until("leak_small", "a row")
    check(b"\xe2" not in screen.raw, "no letter beyond ASCII")
    screen.kill()
    target.end()


def hostile():
    """Names that would rule the terminal do not reach it."""
    evil = path("e\033[31m\x07x\n名前")
    os.symlink(example("leaky"), evil)
    screen = Screen("top", "--", evil, "30")
    screen.until("transcript_create", "rows")
    for bad in (b"\033[31m\x07", b"\x07"):
        check(bad not in screen.raw, f"{bad!r} is not drawn")
    check("e\ufffd[31m" in screen.text(), f"its name is:\n{screen.text()}")
    screen.keys("\x03")
    screen.wait(130)


def inside():
    # Wide, so that no line is broken: the program may have a long path.
    screen = Screen("top", "--inside", "--", example("leaky"), "60", columns=400)
    text = screen.until("transcript_create", "rows")
    check("collector: inside" in text, text)
    screen.keys("q")
    screen.until("runs on, and memflame waits", "the command goes on")
    os.killpg(screen.process.pid, signal.SIGTERM)


def kernel():
    screen = Screen("top", "--kernel", "-d", "3")
    screen.until("the kernel", "what it is about")
    pipes = []  # which the kernel allocates; an idle machine does not allocate much else

    def shows_stacks(text):
        pipes.append(os.pipe())
        return re.search(r"STACK \([1-9]", text)

    screen.until(shows_stacks, "stacks")
    check("RSS" not in screen.text(), "the kernel has no resident memory of a process")
    screen.wait()


def refused():
    target = Steps()
    for arguments, hint in ((["-p", target.pid], "memflame leaks"),
                            (["-p", target.pid, "--interval", "0"], "--interval"),
                            (["-p", target.pid, "--sort", "age"], "not 'age'"),
                            (["-p", target.pid, "-o", "x"], "press w"),
                            ([], "--kernel")):
        done = run("top", *arguments, status=USAGE)
        equal(f"{arguments}: lines", done.stderr.count("\n"), 1)
        check(hint in done.stderr, f"{arguments}: {done.stderr!r} has {hint!r}")
    screen = Screen("top", "-p", target.pid, env={"TERM": "none-such"}, wait=False)
    screen.read(1)
    equal("an unknown terminal", screen.process.wait(60), USAGE)
    check("TERM='none-such'" in screen.text(), screen.text())
    target.end()
    check("--interval" in run("top", "--help").stdout, "its help")


if __name__ == "__main__":
    for case in (refused, figures, keys, ascii_and_colours, hostile, inside, kernel):
        if len(sys.argv) < 2 or case.__name__ in sys.argv[1:]:
            case()
