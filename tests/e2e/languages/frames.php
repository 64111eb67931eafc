<?php
// SPDX-License-Identifier: BSD-2-Clause
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
  $block = str_repeat('x', BLOCK_BYTES);
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
  MANY_STATEMENTS;
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
