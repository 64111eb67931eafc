#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Profiles pushed to stores: Pyroscope's ingest interface over TLS with a token and a tenant, Parca's profile store with
a client's certificate, and OTLP. What arrives has the labels, sums, stacks, build ids and addresses of what was sent;
a store that is away or refuses gets what it must, and no more."""

import base64
import gzip

import lib
from fleet_lib import Feed, free_port
from fleet_receivers import Keys, Otlp, Parca, Pyroscope, Store, messages, otlp_facts, pprof_facts

pprof, otlp = messages()


def made_profile():
    """A profile as memflame writes it: code with names, code with an address and a build id only, and inlined code."""
    texts = ["", "inuse_space", "bytes", "inuse_objects", "count", "alloc_space", "alloc_objects", "brk_space",
             "mmap_space", "resident_space", "/usr/bin/checkout", "a1b2c3d4e5f60718", "/usr/lib/libx.so", "00ff00ff",
             "main", "serve(int)", "inlined", "_Z5servei", "checkout.cc", "ä \"quoted\"", "[memflame]"]
    place = texts.index
    profile = pprof.Profile(string_table=texts, time_nanos=1, duration_nanos=2)
    for name, unit in (("inuse_space", "bytes"), ("inuse_objects", "count"), ("alloc_space", "bytes"),
                       ("alloc_objects", "count"), ("brk_space", "bytes"), ("mmap_space", "bytes"),
                       ("resident_space", "bytes")):
        profile.sample_type.add(type=place(name), unit=place(unit))
    profile.mapping.add(id=1, memory_start=0x1000, memory_limit=0x9000, file_offset=0x1000,
                        filename=place("/usr/bin/checkout"), build_id=place("a1b2c3d4e5f60718"))
    profile.mapping.add(id=7, memory_start=0, memory_limit=0x5000, file_offset=0,
                        filename=place("/usr/lib/libx.so"), build_id=place("00ff00ff"))
    profile.mapping.add(id=9, filename=place("[memflame]"))
    profile.function.add(id=1, name=place("main"), system_name=place("main"), filename=place("checkout.cc"),
                         start_line=3)
    profile.function.add(id=2, name=place("serve(int)"), system_name=place("_Z5servei"))
    profile.function.add(id=30, name=place("inlined"), system_name=place("inlined"))
    profile.function.add(id=4, name=place('ä "quoted"'), system_name=place('ä "quoted"'))
    location = profile.location.add(id=1, mapping_id=1, address=0x1234)
    location.line.add(function_id=1, line=12)
    location = profile.location.add(id=2, mapping_id=1, address=0x2345)
    location.line.add(function_id=30, line=7)
    location.line.add(function_id=2, line=40)
    profile.location.add(id=3, mapping_id=7, address=0x4321)  # without a name: for the store's own symbolizer
    location = profile.location.add(id=40, mapping_id=9)
    location.line.add(function_id=4)
    profile.sample.add(location_id=[3, 2, 1], value=[1 << 40, 12, 100, 3, 0, 8192, 0])
    profile.sample.add(location_id=[40, 1], value=[77, 1, 0, 0, -4096, 0, 5])
    profile.sample.add(location_id=[2, 1], value=[0, 0, 50, 1, 0, 0, 0])
    return profile


profile = made_profile()
file = lib.path("profile.pb.gz")
with open(file, "wb") as out:
    out.write(gzip.compress(profile.SerializeToString()))
wanted = pprof_facts(profile)
lib.equal("units of the made profile", wanted[0]["inuse_space", "bytes"], (1 << 40) + 77)

keys = Keys("right")
token = lib.path("token")
with open(token, "w") as out:
    out.write("s3cret\n")
pyroscope, parca, collector = Pyroscope(pprof), Parca(pprof), Otlp(otlp)


def guarded(path, headers, body):
    if headers["Authorization"] != "Bearer s3cret" or headers["X-Scope-OrgID"] != "team-a":
        raise PermissionError("who are you?")
    return pyroscope(path, headers, body)


def with_password(path, headers, body):
    if headers["Authorization"] != "Basic " + base64.b64encode(b"watch:s3cret").decode():
        raise PermissionError("who are you?")
    return parca(path, headers, body)


def as_proxy(path, headers, body):
    """A proxy is asked for the whole address."""
    lib.check(path.startswith("http://collector.invalid/v1development/"), path)
    return behind(path.removeprefix("http://collector.invalid"), headers, body)


pyroscope_store = Store(guarded, keys)
parca_store = Store(with_password, keys, client_ca=keys.ca)
behind = Otlp(otlp)
proxy = Store(as_proxy)
otlp_store = Store(collector)
# A store that is away for a while, and one that then refuses a window.
pyroscope_store.answers = [503, 503, 500, 429]
otlp_store.answers = [400]
outputs = {
    "pyroscope": {"kind": "pyroscope", "url": pyroscope_store.url, "ca_file": keys.ca, "token_file": token,
                  "tenant": "team-a"},
    "parca": {"kind": "parca", "url": parca_store.url + "/", "ca_file": keys.ca, "certificate_file": keys.certificate,
              "key_file": keys.key, "user": "watch", "password_file": token},
    "otlp": {"kind": "otlp", "url": otlp_store.url + "/v1development/profiles"},
    "proxied": {"kind": "otlp", "url": "http://collector.invalid", "proxy": proxy.url},
}
feed = Feed("push", outputs, 4, 300, file)
windows = feed.all_sent()
counts = feed.end()["outputs"]
lib.equal("windows", len(windows), 12)
for store in (pyroscope_store, parca_store, otlp_store, proxy):
    lib.equal("what the receivers did not like", store.failures, [])
for name, refused in (("pyroscope", 0), ("parca", 0), ("otlp", 1), ("proxied", 0)):
    lib.equal(f"fate of the windows of {name}",
              (counts[name]["taken"], counts[name]["sent"], counts[name]["refused"], counts[name]["dropped"]),
              (12, 12 - refused, refused, 0))
said = feed.said()
lib.check("output 'pyroscope' takes no windows: the store answers 503: not [31m now (they wait" in said, said)
lib.check("output 'pyroscope' takes windows again" in said, said)
lib.check("output 'otlp' refuses windows, which are lost for it: the store answers 400: not [31m now" in said, said)
lib.check("\x1b" not in said, "control characters of a store")

# Pyroscope: quotes and such come as they are, but commas and braces, which would end a value, do not.
lib.equal("windows in Pyroscope", len(pyroscope.windows), 12)
for window in pyroscope.windows:
    lib.equal("service", window["service"], "checkout")
    lib.equal("labels", set(window["labels"]), {"host", "team", "version"})
    lib.equal("a label with everything", window["labels"]["team"], 'a "b"\\c_')
    lib.equal("what the columns mean", window["config"]["inuse_space"],
              {"units": "bytes", "aggregation": "average", "sampled": False})
    lib.equal("facts", pprof_facts(window["profile"]), wanted)
lib.equal("times in Pyroscope", sorted((w["from"], w["until"]) for w in pyroscope.windows),
          sorted((w["began_ns"] // 10**9, w["ended_ns"] // 10**9) for w in windows))
lib.equal("versions in Pyroscope", sorted(w["labels"]["version"] for w in pyroscope.windows),
          sorted(w["labels"]["version"] for w in windows))

lib.equal("windows in Parca", len(parca.windows), 12)
for window in parca.windows:
    lib.equal("name of the profile", window["labels"].pop("__name__"), "memory")
    lib.equal("facts", pprof_facts(window["profile"]), wanted)
lib.equal("labels in Parca", sorted(map(str, (dict(sorted(w["labels"].items())) for w in parca.windows))),
          sorted(map(str, (dict(sorted(w["labels"].items())) for w in windows))))

# OTLP: seven profiles a window, with ids that follow from the window's.
by_id = {window["id"]: window for window in windows}
lib.equal("profiles behind a proxy", len(behind.profiles), 12 * 7)
lib.equal("profiles of OTLP", len(collector.profiles), 11 * 7)
for id, window in by_id.items():
    base = bytes.fromhex(id)
    mine = [collector.profiles.get(base[:-1] + bytes([base[-1] ^ column])) for column in range(7)]
    if None in mine:
        lib.equal("a window that is not there", mine, [None] * 7)
        continue
    attributes, tables, first = mine[0]
    labels = window["labels"]
    lib.equal("attributes", attributes, {"service.name": "checkout", "host.name": labels["host"],
                                         "service.version": labels["version"], "team": labels["team"]})
    lib.equal("facts", otlp_facts(tables, [profile for _, _, profile in mine]), wanted)
    for _, _, one in mine:
        lib.equal("begin", one.time_unix_nano, window["began_ns"])
        lib.equal("duration", one.duration_nano, window["ended_ns"] - window["began_ns"])
        lib.equal("period", one.period, 524288)
    figures = {tables.string_table[tables.attribute_table[i].key_strindex]: tables.attribute_table[i].value.double_value
               for i in first.attribute_indices}
    lib.equal("overhead", figures["memflame.overhead_percent"], 0.3)

# A store with another certificate than we trust, one that wants a token, one that is not there, and one that takes
# only a part: none of them gets the windows, and each reason is said.
others = Keys("other")
late = Store(Pyroscope(pprof), keys)
collector.rejected = 10**6
outputs = {
    "untrusted": {"kind": "pyroscope", "url": pyroscope_store.url, "ca_file": others.ca, "token_file": token},
    "nobody": {"kind": "pyroscope", "url": pyroscope_store.url, "ca_file": keys.ca},
    "away": {"kind": "parca", "url": f"http://127.0.0.1:{free_port()}"},
    "no-token": {"kind": "otlp", "url": otlp_store.url, "token_file": lib.path("no-such-file")},
    "partly": {"kind": "otlp", "url": otlp_store.url},
}
before = len(pyroscope.windows)
feed = Feed("refused", outputs, 1, 100, file)
lib.wait_until(lambda: all(f"'{name}'" in feed.said() for name in outputs), f"each reason is said, {feed.said()}")
counts = feed.end()["outputs"]
said = {line.split("'")[1]: line for line in feed.said().splitlines() if line.startswith("memflame: output '")}
lib.check("cannot reach 127.0.0.1" in said["untrusted"] and "certificate" in said["untrusted"], said["untrusted"])
lib.check("the store answers 401: who are you?" in said["nobody"], said["nobody"])
lib.check("cannot reach 127.0.0.1" in said["away"], said["away"])
lib.check("no-such-file: no secret could be read" in said["no-token"], said["no-token"])
lib.check("the store rejects 7 profiles: too much" in said["partly"], said["partly"])
for name in ("untrusted", "nobody", "away", "no-token"):
    lib.equal(f"windows that wait for {name}", (counts[name]["waiting"], counts[name]["sent"]), (3, 0))
lib.equal("windows that were rejected", counts["partly"]["refused"], 3)
lib.equal("windows that nobody was allowed to send", len(pyroscope.windows), before)
