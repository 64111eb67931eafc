# SPDX-License-Identifier: BSD-2-Clause
"""Libraries that are loaded one after the other at the same address: each has what it allocated, by both collectors,
from the start and attached, in pictures and in recordings."""
import os

from lib import Memflame, Profile, Target, check, example, lossless, path, run

COLLECTORS = ("kernel", "inside")
FOLDER = path("libraries")
os.mkdir(FOLDER)


def compare(profile, truth, what):
    print(what)
    profile.compare(truth["leaks"])
    check(profile.has("run_tenant"), "the library's other function has its name")


for collector in COLLECTORS:
    target = Target("same_place", FOLDER)
    memflame = Memflame("alloc", "--collect", collector, "-p", target.pid)
    truth = target.work()
    memflame.stop()
    target.end()
    lossless(memflame.profile(), memflame.summary())
    compare(memflame.profile(), truth, f"{collector}, attached")

    memflame = Memflame("alloc", "--collect", collector, "--", example("same_place"), FOLDER).wait()
    compare(memflame.profile(), truth, f"{collector}, from the start")

    for detail in ("series", "events"):
        recording = path(f"{collector}-{detail}.mfr")
        run("record", "--collect", collector, "--detail", detail, "-o", recording, "--", example("same_place"), FOLDER)
        picture = path(f"{collector}-{detail}.json")
        run("collapse", recording, "-o", picture)
        compare(Profile(picture), truth, f"{collector}, recorded with {detail}")
