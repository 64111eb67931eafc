# SPDX-License-Identifier: BSD-2-Clause
# Allocates by the statement ALLOCATE, from random paths of calls, and counts its stacks there.
import asyncio, collections, ctypes, functools, json, random, re, sys, threading

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
seen = collections.Counter()
lock = threading.Lock()


def mark():
    frame, names = sys._getframe(1), []
    while frame:
        code = frame.f_code
        names.append(f"{code.co_qualname} ({code.co_filename.rsplit('/', 1)[-1]}:{frame.f_lineno})")
        frame = frame.f_back
    with lock:
        seen[json.dumps(names[::-1])] += 1
    ALLOCATE


def step(rest):
    if not rest:
        mark()
        return
    rest = list(rest)
    KINDS[rest.pop()](rest)


def plain(rest):
    return step(rest)


class Thing:
    def __init__(self, rest):
        self.rest = rest

    @property
    def value(self):
        return step(self.rest)

    @staticmethod
    def still(rest): return step(rest)

    def __eq__(self, other):
        step(self.rest)
        return True

    __hash__ = None

    def __enter__(self):
        step(self.rest)
        return self

    def __exit__(self, *_):
        step([])

    def __iter__(self):
        yield 1
        step(self.rest)
        yield 2


class Begun:
    def __init__(self, rest):
        step(rest)


def generator(rest):
    def inner():
        yield from (step(rest) for _ in range(2))
        yield (
            step([]))
    for _ in inner():
        pass


def sending(rest):
    def receive():
        while True:
            got = yield
            if got is None:
                return
            step(got)
    machine = receive()
    next(machine)
    machine.send(rest)
    machine.close()


def sorting(rest):
    sorted([2, 1], key=lambda _: step(rest) or 0)


def mapping(rest):
    list(map(lambda _: step(rest), [1]))


def matching(rest):
    re.sub("a+", lambda _: step(rest) or "", "baab")


def reducing(rest):
    functools.reduce(lambda a, b: step(rest), [1, 2, 3])


def hooking(rest):
    json.loads('{"a": {"b": 1}}', object_hook=lambda pairs: step(rest))


def raising(rest):
    try:
        raise ValueError("x")
    except ValueError:
        step(rest)
    finally:
        step([])


def making(rest):
    name = f"made{random.randrange(1000)}"
    space = {"step": step, "rest": rest}
    lines = "\n" * random.randrange(300)
    exec(compile(f"def {name}(r):{lines}\n  return step(r)\n{name}(rest)", "made.py", "exec"), space)


def unusual(rest):
    space = {"step": step, "rest": rest}
    exec(compile("def größe_名前_𝕏(r): return step(r)\ngröße_名前_𝕏(rest)", "päth.py", "exec"), space)


def awaiting(rest):
    async def leaf():
        await asyncio.sleep(0)
        step(rest)

    async def root():
        await asyncio.gather(leaf(), leaf())
    if depth() > 40:
        return step(rest)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(root())
    return step(rest)


def depth():
    frame, count = sys._getframe(1), 0
    while frame:
        frame, count = frame.f_back, count + 1
    return count


def recursing(rest, left=20):
    return step(rest) if left == 0 else recursing(rest, left - 1)


def switching(rest):
    def there():
        step(rest)
        greenlet.getcurrent().parent.switch()
        step([])
    other = greenlet.greenlet(there)
    other.switch()
    other.switch()


KINDS = [plain, generator, sending, sorting, mapping, matching, reducing, hooking, raising, making, unusual, awaiting,
         recursing, lambda rest: Thing(rest).value, Thing.still, lambda rest: Thing(rest) == 1,
         lambda rest: list(Thing(rest)), lambda rest: [step(rest) for _ in range(2)],
         lambda rest: {k: step(rest) for k in "ab"}, Begun, lambda rest: [Begun(rest) for _ in range(2)] and None]
try:
    import greenlet
    KINDS.append(switching)
except ImportError:
    pass


def with_block(rest):
    with Thing(rest):
        pass


KINDS.append(with_block)


def work(count, seed):
    rng = random.Random(seed)
    while sum(seen.values()) < count:
        step([rng.randrange(len(KINDS)) for _ in range(rng.randrange(1, 7))])


print("ready", flush=True)
sys.stdin.readline()
threads = [threading.Thread(target=work, args=(int(sys.argv[1]), seed))
           for seed in range(int(sys.argv[3]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with open(sys.argv[2], "w", encoding="utf-8") as file:
    json.dump(dict(seen), file)
print("done", flush=True)
sys.stdin.readline()
