# SPDX-License-Identifier: BSD-2-Clause
"""A recording of Java Flight Recorder; its events are added up from what `jfr print --json` prints."""

import collections
import json
import re

PACKAGES = ["openjdk-17-jdk-headless|openjdk-21-jdk-headless"]

SOURCE = """
import java.util.ArrayList;
import java.util.List;

public class Fresh {
  static final List<Object> kept = new ArrayList<>();

  static byte[] block(int size) { return new byte[size]; }

  static void deep(int levels, int i) {
    if (levels > 0) { deep(levels - 1, i); return; }
    byte[] made = block(2000 + i % 7 * 1000);
    if (i % 4 == 0) synchronized (kept) { kept.add(made); }
  }

  public static void main(String[] arguments) throws Exception {
    Thread worker = new Thread(() -> { for (int i = 0; i < 5000; i++) deep(i % 5, i); }, "worker");
    worker.start();
    for (int i = 0; i < 5000; i++) deep(i % 2 == 0 ? 3 : 90, i);
    worker.join();
    kept.add(new String[3000000]);
  }
}
"""

EVENTS = ["ObjectAllocationSample", "ObjectAllocationInNewTLAB", "ObjectAllocationOutsideTLAB", "OldObjectSample"]

SETTINGS = ('<?xml version="1.0" encoding="UTF-8"?>\n<configuration version="2.0">'
            + "".join(f'<event name="jdk.{event}"><setting name="enabled">true</setting>'
                      '<setting name="stackTrace">true</setting><setting name="cutoff">0 ns</setting>'
                      '<setting name="throttle">300/s</setting></event>' for event in EVENTS)
            + "</configuration>\n")

LETTERS = {"B": "byte", "C": "char", "D": "double", "F": "float", "I": "int", "J": "long", "S": "short",
           "Z": "boolean"}


def class_name(name):
    """As memflame writes it: "[B" is byte[], and the address of a hidden class is left out."""
    inner = name.lstrip("[")
    if inner != name:
        inner = LETTERS.get(inner) or inner[1:-1]
    inner = re.sub(r"[+/.]0x[0-9a-f]+(/\d+)?$", "", inner)
    return inner.replace("/", ".") + "[]" * (len(name) - len(name.lstrip("[")))


def stack_of(values):
    trace = values.get("stackTrace") or {"frames": [], "truncated": False}
    frames = [class_name(frame["method"]["type"]["name"]) + "." + frame["method"]["name"]
              for frame in reversed(trace["frames"])]
    if trace["truncated"]:
        frames.insert(0, "[truncated: more frames than JFR keeps]")
    of = values.get("objectClass") or (values.get("object") or {}).get("type")
    return ";".join((frames or ["[no stack]"]) + ([class_name(of["name"])] if of else []))


def sums(events):
    """Column -> stack -> sum."""
    columns = collections.defaultdict(collections.Counter)
    for event in events:
        values = event["values"]
        stack = stack_of(values)
        if event["type"] == "jdk.ObjectAllocationSample":
            columns["allocated"][stack] += values["weight"]
            columns["samples"][stack] += 1
        elif event["type"].startswith("jdk.ObjectAllocation"):
            columns["tlabs"][stack] += values.get("tlabSize", values["allocationSize"])
            columns["tlab_objects"][stack] += values["allocationSize"]
            columns["tlab_events"][stack] += 1
        elif event["type"] == "jdk.OldObjectSample":
            columns["kept_objects"][stack] += 1
    return columns


def check(work):
    work.write("Fresh.java", SOURCE)
    work.write("events.jfc", SETTINGS)
    work.run(["javac", "Fresh.java"])
    work.run(["java", "-XX:StartFlightRecording:settings=events.jfc,filename=fresh.jfr", "-Xmx256m", "Fresh"])
    text, _ = work.run(["jfr", "print", "--json", "--stack-depth", "2048", "fresh.jfr"])
    for column, theirs in sums(json.loads(text)["recording"]["events"]).items():
        ours = collections.Counter()
        for line in work.collapse("fresh.jfr", "--no-marks", "--value", column):
            stack, value = line.rsplit(" ", 1)
            ours[stack] += int(value)
        work.same(column, ours.total(), theirs.total())
        work.same(f"{column} of {len(theirs)} stacks", +ours == +theirs, True)
