# SPDX-License-Identifier: BSD-2-Clause
"""Functions of PHP in stacks, against PHP's own word: a program allocates blocks of one size from random paths of calls,
and writes down its own stack with lines each time. What memflame saw must be the same stacks, as often. Native frames
stay as they are without the functions."""
import collections
import json
import os
import re
import socket
import struct
import subprocess
import sys

from frames_lib import SIZE, as_told, same_native_frames, stacks_of, watched
from lib import LONG, Memflame, PATIENCE, check, equal, losses, path, spawn, wait_until

# PHP asks malloc for a string of this length, a head and a zero, in whole words.
LENGTH = SIZE
LARGEST = SIZE + 32

INCLUDED = r'''<?php
namespace Made;

step($rest);

if (!function_exists('Made\spaced')) {
  function spaced($rest) { \step($rest); }
}

$made = fn($x) => \step($x);

return $made($rest);
'''

PROGRAM = r'''<?php
declare(strict_types=1);

$seen = [];
$marks = $dying = 0;

function mark(): void {
  global $seen, $marks;
  $names = [];
  $all = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
  foreach ($all as $i => $at) {
    // A fiber has a stack of its own, which does not have who resumed it.
    if (($at['class'] ?? '') === 'Fiber' && in_array($at['function'], ['start', 'resume', 'throw'])) break;
    if (!isset($at['file'])) continue;  // called by a native function
    $caller = $all[$i + 1] ?? null;
    $name = '{main}';  // the code of a file, and of eval()
    if ($caller && !in_array($caller['function'], ['include', 'include_once', 'require', 'eval']))
      $name = (isset($caller['class']) ? explode("\0", $caller['class'])[0] . '::' : '') . $caller['function'];
    $names[] = "$name (" . preg_replace('~.*/~', '', $at['file']) . ":{$at['line']})";
  }
  $key = json_encode(array_reverse($names), JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE);
  $seen[$key] = ($seen[$key] ?? 0) + 1;
  ++$marks;
  $block = str_repeat('x', %d);
}

function step(array $rest): void {
  if (!$rest) {
    mark();
    return;
  }
  $kind = KINDS[array_pop($rest)];
  $kind($rest);
}

function plain($rest) { step($rest); }

function recursing($rest, $left = 20) {
  if ($left == 0) {
    step($rest);
    return;
  }
  recursing($rest, $left - 1);
}

function closures($rest) {
  $held = function ($x) use ($rest) {
    $inner = function () use ($rest) { step($rest); };
    $inner();
    step([]);
  };
  $held(1);
}

function arrows($rest) {
  $held = fn($x) => step($x);
  $held($rest);
}

function mapping($rest) {
  array_map(function ($x) use ($rest) {
    step($rest);
    return $x;
  }, [1]);
}

function sorting($rest) {
  $list = [2, 1];
  usort($list, function ($a, $b) use ($rest) {
    step($rest);
    return $a <=> $b;
  });
}

function nested_callbacks($rest) {
  array_walk($GLOBALS['one'], fn() => array_filter([1], function () use ($rest) {
    return array_reduce([1], fn() => step($rest));
  }));
}
$one = [1];

function by_name($rest) { call_user_func('plain', $rest); }
function by_array($rest) { call_user_func_array([new Thing($rest), 'method'], []); }
function first_class($rest) { array_map(step(...), [$rest]); }
function replacing($rest) {
  preg_replace_callback('/b/', function ($m) use ($rest) { step($rest); return 'x'; }, 'aba');
}

function numbers($rest) {
  yield 1;
  step($rest);
  $got = yield 2;
  step([]);
}
function generators($rest) {
  foreach (numbers($rest) as $x)
    if ($x == 2) step([]);
}
function sending($rest) {
  $made = numbers($rest);
  $made->current();
  $made->next();
  $made->send(3);
}
function outer_numbers($rest) {
  yield 0;
  yield from middle_numbers($rest);
  step([]);
}
function middle_numbers($rest) {

  yield from numbers($rest);
}
function delegating($rest) {
  foreach (outer_numbers($rest) as $x) {}
}
function in_generator($rest) {
  foreach ((function () use ($rest) { yield step($rest); })() as $x) {}
}
function finally_in_generator($rest) {
  $made = (function () use ($rest) {
    try {
      yield 1;
    } finally {
      ++$GLOBALS['dying'];
      step($rest);
      --$GLOBALS['dying'];
    }
  })();
  $made->current();
  unset($made);
}

trait Shared {
  function shared() { step($this->rest); }
}

abstract class Base {
  function __construct(protected array $rest, bool $run = false) {
    if ($run) step($rest);
  }
  function inherited() { step($this->rest); }
}

class Thing extends Base implements IteratorAggregate, ArrayAccess, Countable, JsonSerializable {
  use Shared { shared as private aliased; }

  function method() { step($this->rest); }
  function calls_aliased() { $this->aliased(); }
  static function still($rest) { step($rest); }
  function __call($name, $arguments) { step($this->rest); }
  static function __callStatic($name, $arguments) { step($arguments[0]); }
  function __get($name) { step($this->rest); return 1; }
  function __set($name, $value) { step($this->rest); }
  function __isset($name) { step($this->rest); return true; }
  function __toString(): string { step($this->rest); return 'thing'; }
  function __invoke() { step($this->rest); }
  function __clone() { step($this->rest); }
  function getIterator(): Iterator {
    step($this->rest);
    yield 1;
  }
  function offsetExists($offset): bool { step($this->rest); return true; }
  function offsetGet($offset): mixed { step($this->rest); return 1; }
  function offsetSet($offset, $value): void { step($this->rest); }
  function offsetUnset($offset): void { step($this->rest); }
  function count(): int { step($this->rest); return 1; }
  function jsonSerialize(): mixed { step($this->rest); return 1; }
  function bound() { return function () { step($this->rest); }; }
}

class Dies {
  function __construct(private array $rest) {}
  function __destruct() {
    ++$GLOBALS['dying'];
    step($this->rest);
    --$GLOBALS['dying'];
  }
}

class Steps implements Iterator {
  private $at = 0;
  function __construct(private array $rest) {}
  function current(): mixed { step($this->rest); return 1; }
  function key(): mixed { return 1; }
  function next(): void { ++$this->at; }
  function rewind(): void { $this->at = 0; }
  function valid(): bool { return $this->at < 1; }
}

enum Suit {
  case One;
  function deal($rest) { step($rest); }
}

function objects($rest) { new Thing($rest, true); }
function methods($rest) { (new Thing($rest))->method(); }
function inheriting($rest) { (new Thing($rest))->inherited(); }
function traits($rest) { (new Thing($rest))->shared(); }
function aliases($rest) { (new Thing($rest))->calls_aliased(); }
function still($rest) { Thing::still($rest); }
function unknown($rest) { (new Thing($rest))->unknown(1, 2); }
function unknown_static($rest) { Thing::unknown($rest); }
function unknown_mapped($rest) { array_map([new Thing($rest), 'unknown'], [1]); }
function getting($rest) { $x = (new Thing($rest))->missing; }
function setting($rest) { $x = new Thing($rest); $x->missing = 1; }
function asking($rest) { $x = new Thing($rest); isset($x->missing); }
function strings($rest) { $x = 'a' . new Thing($rest); }
function invoking($rest) { $x = new Thing($rest); $x(); }
function cloning($rest) { $x = clone new Thing($rest); }
function aggregates($rest) { foreach (new Thing($rest) as $x) {} }
function iterating($rest) { foreach (new Steps($rest) as $x) {} }
function iterating_natively($rest) { iterator_to_array(new Steps($rest)); }
function offsets($rest) {
  $x = new Thing($rest);
  $y = $x[1];
  $x[2] = 1;
}
function counting($rest) { count(new Thing($rest)); }
function encoding($rest) { json_encode([new Thing($rest)]); }
function bound($rest) { ((new Thing($rest))->bound())(); }
function binding($rest) { Closure::bind(function () { step($this->rest); }, new Thing($rest), Thing::class)(); }
function dying($rest) {
  $x = new Dies($rest);
  unset($x);
}
function dying_local($rest) {
  $x = new Dies($rest);
  return 1;
}
function enums($rest) { Suit::One->deal($rest); }
function anonymous($rest) {
  (new class {
    function run($rest) { step($rest); }
  })->run($rest);
}

function including($rest) { include __DIR__ . '/included.php'; }
function requiring($rest) {
  if (!function_exists('Made\spaced')) return step($rest);
  Made\spaced($rest);
}
function evaluated($rest) {
  eval(str_repeat("\n", mt_rand(0, 300)) . 'step($rest);');
}
function made_by_string($rest) {
  static $number = 0;
  $name = 'made' . ++$number;
  eval("function $name(\$r) {" . str_repeat("\n", mt_rand(0, 300)) . ' step($r); }');
  $name($rest);
}

// Objects for functions with a name, each at the place of another one that has gone.
function renewed_one($rest) { step($rest); }

function renewed_two($rest) { step($rest); }
function renewing($rest) {
  for ($i = mt_rand(1, 5); $i > 0; --$i) $made = mt_rand(0, 1) ? renewed_one(...) : renewed_two(...);
  $made($rest);
}

function fibers($rest) {
  if ($GLOBALS['dying']) return step($rest);  // there PHP refuses to
  $fiber = new Fiber(function () use ($rest) {
    step($rest);
    Fiber::suspend(1);
    step([]);
  });
  $fiber->start();
  array_map(fn() => $fiber->resume(), [1]);
}

function raising($rest) {
  try {
    throw new Exception('x');
  } catch (Exception $e) {
    step($rest);
  } finally {
    step([]);
  }
}
function raise_deep() {
  array_map(function () { throw new Exception('deep'); }, [1]);
}
function through($rest) {
  try {
    raise_deep();
  } catch (Exception $e) {
    step($rest);
  }
}
function raise_dying($rest) {
  $x = new Dies($rest);

  throw new Exception('dying');
}
function dying_by_exception($rest) {
  try {
    raise_dying($rest);
  } catch (Exception $e) {
    step([]);
  }
}
function warning($rest) {
  set_error_handler(function () use ($rest) {
    step($rest);
    return true;
  });
  trigger_error('x', E_USER_WARNING);
  restore_error_handler();
}
function noticing($rest) {
  set_error_handler(function () use ($rest) {
    step($rest);
    return true;
  });
  $x = $undefined;
  restore_error_handler();
}
spl_autoload_register(function ($name) {
  step($GLOBALS['loading']);
  eval("class $name {}");
});
function loading($rest) {
  static $number = 0;
  $GLOBALS['loading'] = $rest;
  $name = 'Loaded' . ++$number;
  new $name;
}
function many(...$all) { step($all[0]); }
function spread($rest) { many(...[$rest, 1, 2]); }
function named($rest) { optional(rest: $rest); }
function optional($x = 1, $rest = []) { step($rest); }
function größe_名前($rest) { step($rest); }
function matching($rest) {
  $x = match (count($rest)) {
    0 => step($rest),
    default => step($rest),
  };
}
function buffering($rest) {
  ob_start();
  step($rest);
  ob_end_clean();
}

function long($rest) {
  $a = 0;
%s
  step($rest);
  return $a;
}

// The loop that ran the function is still there when the function is not.
function dying_in_callback($rest) {
  array_map(function () use ($rest) { $x = new Dies($rest); }, [1]);
}

const KINDS = [
  'plain', 'recursing', 'closures', 'arrows', 'mapping', 'sorting', 'nested_callbacks', 'by_name', 'by_array',
  'first_class', 'replacing', 'generators', 'sending', 'delegating', 'in_generator', 'finally_in_generator', 'objects',
  'methods', 'inheriting', 'traits', 'aliases', 'still', 'unknown', 'unknown_static', 'unknown_mapped', 'getting',
  'setting', 'asking', 'strings', 'invoking', 'cloning', 'aggregates', 'iterating', 'iterating_natively', 'offsets',
  'counting', 'encoding', 'bound', 'binding', 'dying', 'dying_local', 'enums', 'anonymous', 'including', 'requiring',
  'evaluated', 'made_by_string', 'fibers', 'raising', 'through', 'dying_by_exception', 'warning', 'noticing', 'loading',
  'spread', 'named', 'größe_名前', 'matching', 'buffering', 'long', 'Thing::still',
  'renewing', 'renewing',
];

echo "ready\n";
fgets(STDIN);
mt_srand(7);
if (isset($argv[3])) {
  while ($marks < (int)$argv[1]) $argv[3]([]);
}
while ($marks < (int)$argv[1]) {
  $path = [];
  for ($i = mt_rand(1, 6); $i > 0; --$i) $path[] = mt_rand(0, count(KINDS) - 1);
  step($path);
}
file_put_contents($argv[2], json_encode($seen));
echo "done\n";
fgets(STDIN);
''' % (LENGTH, "\n".join(f"  if ($a > {i}) $a += {i};" for i in range(150)))
COUNT = int(os.environ.get("MEMFLAME_PHP_STACKS", "5000" if LONG else "2000"))


KNOWN = ("8.1", "8.2", "8.3", "8.4")


def phps():
    """The commands of the PHPs here that memflame knows, by version. MEMFLAME_PHP_ROOT: a system with another one.
    MEMFLAME_PHP: a program elsewhere."""
    found, root, elsewhere = {}, os.environ.get("MEMFLAME_PHP_ROOT"), os.environ.get("MEMFLAME_PHP")
    for command in [["php"], *([[elsewhere]] if elsewhere else []), *([["chroot", root, "php"]] if root else [])]:
        try:
            told = subprocess.run([*command, "-n", "-r", "echo PHP_VERSION, ' ', (int)PHP_ZTS;"], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True, check=False).stdout
        except FileNotFoundError:
            continue
        if told.startswith(tuple(f"{version}." for version in KNOWN)) and told.endswith(" 0"):
            found.setdefault(told[:3], command)
    return found


def root_of(command):
    """The folder of the system that a command runs in, and a folder there for files."""
    return (command[1], "/tmp") if command[0] == "chroot" else ("", path(""))


def run(command, name, *options, count=COUNT, kind=(), opcache="0"):
    """What the program says of its stacks, and memflame's profile."""
    root, folder = root_of(command)
    for file, text in (("frames.php", PROGRAM), ("included.php", INCLUDED)):
        with open(os.path.join(root + folder, file), "w", encoding="utf-8") as to:
            to.write(text)
    truth = os.path.join(folder, f"{name}.json")
    memflame = watched([*command, "-d", f"opcache.enable_cli={opcache}", os.path.join(folder, "frames.php"), str(count),
                        truth, *kind], *options, largest=LARGEST, env={**os.environ, "USE_ZEND_ALLOC": "0"})
    with open(root + truth, encoding="utf-8") as file:
        return json.load(file), memflame


def is_script(frame):
    return re.search(r"\(\S+\.php\b.*:\d+\)$", frame) is not None


versions = phps()
if not versions:
    print(f"SKIPPED: no PHP {' or '.join(KNOWN)}")
    sys.exit(77)
for version, command in versions.items():
    told = subprocess.run([*command, "-d", "opcache.enable_cli=1", "-r", "echo extension_loaded('Zend OPcache');"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    equal(f"opcache is installed for {version}", told, "1")
    for name, opcache in ((version, "0"), (f"{version} with opcache", "1")):
        truth, memflame = run(command, "truth", opcache=opcache)
        as_told(name, memflame, truth, is_script)

    runs = [run(command, "native", "--languages", languages, count=2000)[1] for languages in ("off", "auto")]
    same_native_frames(version, runs, is_script)

    # A loop without a function: nothing is placed, and it is said.
    _, memflame = run(command, "dying", count=20, kind=["dying_in_callback"])
    unread = losses(memflame.summary(), "news")["scripts_unread"]["events"]
    for stack, count in stacks_of(memflame.profile()).items():
        check("[php: unreadable]" in stack and not any(map(is_script, stack)), f"a stack that is marked: {stack}")
    equal("stacks that could not be read", unread, 20)


# Requests of php-fpm, without opcache: each compiles its file anew, and so memory of one function is soon that of another.
def ask(socket_path, script):
    """The response of php-fpm to a request for a script."""
    def record(kind, content):
        return struct.pack(">BBHHBx", 1, kind, 1, len(content), 0) + content
    said = {"SCRIPT_FILENAME": script, "REQUEST_METHOD": "GET", "SCRIPT_NAME": script, "QUERY_STRING": ""}
    words = b"".join(bytes([len(k), len(v)]) + k.encode() + v.encode() for k, v in said.items())
    with socket.socket(socket.AF_UNIX) as to:
        to.settimeout(PATIENCE)
        to.connect(socket_path)
        to.sendall(record(1, struct.pack(">HB5x", 1, 0)) + record(4, words) + record(4, b"") + record(5, b""))
        answer = b""
        while got := to.recv(65536):
            answer += got
    return answer


def worker_of(server):
    def children():
        with open(f"/proc/{server.pid}/task/{server.pid}/children", encoding="ascii") as file:
            return file.read().split()
    wait_until(children, "php-fpm has a worker")
    return int(children()[0])


def fpm_of(version, command):
    """The command of php-fpm beside that of php; none if it is not there."""
    root = root_of(command)[0]
    built = os.path.join(os.path.dirname(os.path.dirname(command[-1])), "sbin/php-fpm")
    for program in (f"/usr/sbin/php-fpm{version}", built):
        if os.path.exists(root + program):
            return [*command[:-1], program]
    return None


REQUESTS = 40
NAMES = ["first", "other"]
for version, command in versions.items():
    fpm = fpm_of(version, command)
    if not fpm:
        print(f"no php-fpm {version}: left out")
        continue
    root, folder = root_of(command)
    conf, socket_path = os.path.join(folder, "fpm.conf"), os.path.join(folder, "fpm.socket")
    for name in NAMES:
        with open(root + os.path.join(folder, f"{name}.php"), "w", encoding="utf-8") as to:
            to.write(f"<?php\nfunction {name}_one() {{\n  return strlen(str_repeat('x', 3000000));\n}}\n{name}_one();\n")
    with open(root + conf, "w", encoding="utf-8") as to:
        to.write(f"[global]\nerror_log = {os.path.join(folder, 'fpm.log')}\ndaemonize = no\n[www]\nlisten = {socket_path}\n"
                 "user = root\ngroup = root\npm = static\npm.max_children = 1\n")
    server = spawn([*fpm, "-n", "-R", "-y", conf], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        worker = worker_of(server)
        wait_until(lambda: os.path.exists(root + socket_path), "php-fpm listens")
        memflame = Memflame("mmap", "-p", worker, "--value", "calls")
        for i in range(REQUESTS):
            answer = ask(root + socket_path, os.path.join(folder, f"{NAMES[i % 2]}.php"))
            check(answer and b"Status: " not in answer, f"php-fpm answers: {answer}")
        memflame.stop()
    finally:
        server.terminate()  # its worker ends with it, but not if it is killed
        server.wait(timeout=PATIENCE)
    equal("lost by php-fpm's stacks", losses(memflame.summary()), {})
    got = collections.Counter()
    profile = memflame.profile()
    for stack, values in profile.stacks:
        if any("_one " in frame for frame in stack):
            got[tuple(filter(is_script, stack))] += values[profile.columns.index("calls")]
    equal("functions of php-fpm's requests", set(got),
          {(f"{{main}} ({name}.php:5)", f"{name}_one ({name}.php:3)") for name in NAMES})
    check(all(count >= REQUESTS / 2 for count in got.values()), f"each request allocates once or twice: {got}")
    print(f"php-fpm {version}: {sum(got.values())} stacks of {REQUESTS} requests, all of the function that ran")
