# SPDX-License-Identifier: BSD-2-Clause
"""Manual pages and completion have what --help has, and shells that are installed complete by it.

$MEMFLAME is the binary under test. Needs no privilege.
"""
import os
import pty
import re
import select
import shutil
import subprocess
import tempfile
import time

MEMFLAME = os.path.abspath(os.environ["MEMFLAME"])
COMMANDS = ["alloc", "brk", "mmap", "fault", "kernel", "leaks", "record", "collapse", "control",
            "diff", "query", "render", "report", "store", "symbolize", "timeline", "top"]
USAGE = 2

scratch = tempfile.mkdtemp(prefix="memflame-shell-")
os.chdir(scratch)


def check(good, what):
    if not good:
        raise SystemExit(f"FAILED: {what}")


def run(*arguments, status=0, **options):
    done = subprocess.run(arguments, capture_output=True, timeout=60, check=False, **options)
    check(done.returncode == status, f"{arguments} gave {done.returncode}: {done.stderr.decode()}")
    return done.stdout.decode() + (done.stderr.decode() if status else "")


def memflame(*arguments, **options):
    return run(MEMFLAME, *arguments, **options)


def options_in_help(text):
    """The names of options, which begin lines of their own, long and short."""
    found = set()
    for short, in_brackets, alone in re.findall(
            r"^  (?:(-\w) \[ (--[\w-]+) \]|(--[\w-]+))", text, re.MULTILINE):
        found |= {name for name in (short, in_brackets, alone) if name}
    return found


def plain(man_page):
    """Without escapes and fonts of roff."""
    return re.sub(r"\\f[BRI]", "", man_page).replace("\\-", "-")


helps = {command: options_in_help(memflame(command, "--help")) for command in COMMANDS}
helps[""] = options_in_help(memflame("--help"))
check({"--pid", "-p", "--duration", "-d", "--stacks"} <= helps["alloc"], "--help is read wrongly")

for command, options in helps.items():
    page = memflame("--man", command or "memflame")
    text = plain(page)
    headings = re.findall(r"^\.SH (.*)$", page, re.MULTILINE)
    wanted = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"]
    check(headings == wanted, f"{command}: the page has {headings}")
    documented = set(re.findall(r"^(?:-\w, )?(--[\w-]+)", text, re.MULTILINE))
    documented |= set(re.findall(r"^(-\w), --", text, re.MULTILINE))
    check(options <= documented, f"{command}: not in its manual page: {options - documented}")
    check(all(ord(c) < 128 for c in page), f"{command}: more than ASCII in its manual page")
    for tool in (["mandoc", "-T", "lint", "-W", "warning"], ["groff", "-man", "-ww", "-z", "-Tutf8"]):
        if shutil.which(tool[0]):
            done = subprocess.run(tool, input=page.encode(), capture_output=True, timeout=60, check=False)
            said = (done.stdout + done.stderr).decode()
            # A tree that git does not know has no date.
            said = "".join(line for line in said.splitlines(True) if "missing date" not in line)
            check(not said, f"{command}: {tool[0]} says {said}")

check("no command 'nothing'" in memflame("--man", "nothing", status=USAGE), "--man takes any word")
check("not for 'tcsh'" in memflame("--completion", "tcsh", status=USAGE), "--completion takes any word")
check("there is no command" in memflame("--", status=USAGE), "a command line without a command is accepted")
check(re.match(r"memflame \d+\.\d+\.\d+( \([0-9a-f]{12}(-dirty)?, \d{4}-\d\d-\d\d\))?$",
               memflame("--version").strip()), "--version has another form")

# What the words of a typed line are completed to, by shell; the last may be empty.
BASH = """
compopt() { :; }
source memflame.bash
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_memflame
((${#COMPREPLY[@]} == 0)) || printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = "source memflame.fish; complete -C (string join ' ' -- $argv)"


def by_bash(*words):
    return set(run("bash", "-c", BASH, "bash", *words).splitlines())


def by_fish(*words):
    line = run("fish", "--no-config", "-c", FISH, *words)
    return {row.split("\t")[0] for row in line.splitlines()}


# Zsh completes only at a terminal. Its compadd is asked for what it adds; a key says that all has been added.
ZSHRC = """
autoload -Uz compinit; compinit -u -D; source memflame.zsh
compadd() {
  if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\\ * ]]; then
    local -a hits
    builtin compadd -A hits "$@"
    print -rl -- $hits >>matches
  fi
  builtin compadd "$@"
}
finish() { zle kill-whole-line; print DONE >>matches }
zle -N finish
bindkey '^I' complete-word '^X' finish
print READY >matches
"""


def by_zsh(*words):
    with open(".zshrc", "w", encoding="utf-8") as stream:
        stream.write(ZSHRC)
    if os.path.exists("matches"):
        os.remove("matches")
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("zsh", ["zsh", "-d", "-i"], {**os.environ, "ZDOTDIR": scratch, "TERM": "dumb"})

    def wait_for(word):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if select.select([terminal], [], [], 0.02)[0]:
                os.read(terminal, 65536)
            if os.path.exists("matches"):
                with open("matches", encoding="utf-8") as stream:
                    text = stream.read()
                if text.endswith(word + "\n"):
                    return text
        raise SystemExit(f"FAILED: zsh: {words}: no {word}")

    wait_for("READY")
    os.write(terminal, (" ".join(words) + "\t\x18").encode())
    text = wait_for("DONE")
    os.close(terminal)
    os.waitpid(child, 0)
    return set(text.splitlines()) - {"READY", "DONE"}


for shell in ("bash", "zsh", "fish"):
    with open(f"memflame.{shell}", "w", encoding="utf-8") as stream:
        stream.write(memflame("--completion", shell))
shells = {"bash": by_bash, "fish": by_fish, "zsh": by_zsh}
open("stacks.folded", "w", encoding="utf-8").close()
open("a.svg", "w", encoding="utf-8").close()
own = str(os.getpid())
shutil.copy(shutil.which("sleep"), "memflame")  # a process of that name
namesake = subprocess.Popen([os.path.abspath("memflame"), "900"])
user = run("id", "-un").strip()
with open("/proc/self/comm", encoding="utf-8") as stream:
    own_name = stream.read().strip()

for shell, complete in shells.items():
    if not shutil.which(shell):
        print(f"{shell} is not installed")
        continue
    run(shell, "-n", f"memflame.{shell}")

    def offers(words, *wanted, but=()):
        got = complete("memflame", *words)
        check(set(wanted) <= got, f"{shell}: {words}: {set(wanted) - got} are missing in {got}")
        check(not set(but) & got, f"{shell}: {words}: {set(but) & got} are offered")

    offers([""], *COMMANDS)
    for command, options in helps.items():
        long_ones = {option for option in options if option.startswith("--")}
        offers([command, "--"] if command else ["--"], *long_ones)
    offers(["alloc", "--format", ""], "svg", "html", "folded", "pprof", "text", but=["jsonl", "--pid"])
    offers(["leaks", "--format", ""], "text", "svg")
    offers(["alloc", "--value", ""], "live", "live-count", "total", but=["grown"])
    offers(["brk", "--value", ""], "grown", "outstanding", but=["live"])
    offers(["mmap", "--stacks", ""], "dwarf", "fp", "copy")
    offers(["kernel", "--kind", ""], "slab", "vmalloc")
    offers(["render", "--palette", ""], "mem", "java", "stacks.folded")
    offers(["render", "--from", "perf"], "perf-script", "perf-data", "perf")
    offers(["render", ""], "stacks.folded")
    offers(["alloc", "-o", ""], "a.svg")
    offers(["alloc", "-p", ""], own)
    offers(["alloc", "--user", user[:2]], user)
    offers(["alloc", "--comm", own_name[:3]], own_name)
    offers(["control", ""], str(namesake.pid), but=[own])
    offers(["control", str(namesake.pid), ""], "mark", "snapshot", "status", but=[own])
    offers(["alloc", "--", "tru"], "true")
    offers(["leaks", "60", "10", "--", "tru"], "true")
    offers(["alloc", "tru"], but=["true"])

# As bash breaks words at '=', and with several values.
if shutil.which("bash"):
    check(by_bash("memflame", "alloc", "--format", "=", "s") == {"svg", "speedscope"}, "bash: --format=s")
    check("templates,arguments" in by_bash("memflame", "render", "--shorten", "templates,arg"), "bash: lists")
    check("1," + own in by_bash("memflame", "alloc", "-p", "1," + own), "bash: lists of pids")

namesake.kill()
namesake.wait()
shutil.rmtree(scratch)
