"""--strict: status 4 when something was lost, 0 when not; the output is written either way."""
from lib import LOSSY, Memflame, Target, equal

for room, status in ((10, LOSSY), (100000, 0)):
    target = Target("many_stacks", "200")
    memflame = Memflame("alloc", "-p", target.pid, "--strict", "--max-live", room)
    target.work()
    memflame.stop(status)
    target.end()
    equal("bytes in the output", memflame.profile().sum("total"), 3200)
