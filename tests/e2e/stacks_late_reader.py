"""Stacks stay complete however late memflame comes to read what its programs have sent.

Commands stop memflame, which is their parent, and let it go on when processes have come and gone.
"""
from chains import complete
from lib import Memflame, lossless

# A process becomes three programs, one after the other. When memflame looks, it is the last of them,
# and what /proc says is of that one.
memflame = Memflame("alloc", "--value", "total", "--", "/bin/sh", "-c",
                    "kill -STOP $PPID; exec /usr/bin/env M=$PPID /bin/sh -c 'kill -CONT $M; sleep 0.2'")
memflame.wait()
complete(memflame.summary())
lossless(memflame.profile(), memflame.summary())
