#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Metrics for Prometheus: two strict parsers take them, Debian's prometheus scrapes them, and the alert on a leak of
packaging/prometheus/memflame.rules.yml fires for the version that leaks, and for no other."""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

import lib
from fleet_lib import Feed, free_port

RULES = os.path.join(os.path.dirname(__file__), "../../packaging/prometheus/memflame.rules.yml")

for tool in ("prometheus", "promtool"):
    if not shutil.which(tool):
        print(f"SKIPPED: there is no {tool}")
        sys.exit(77)

# All rules, in promtool's time: a series of each that fires, and one that does not.
service = 'host="a",service="checkout",version="1"'
cases = [
    ("MemoryLeak", "2m", f'memflame_stack_bytes_per_hour{{{service},function="f",stack="0",verdict="leak"}}', "2e6x5"),
    ("MemoryLeak", "2m", f'memflame_stack_bytes_per_hour{{{service},function="f",stack="0",verdict="leak"}}', "9e5x5"),
    ("MemoryLeak", "2m", f'memflame_stack_bytes_per_hour{{{service},function="f",stack="0",verdict="cache"}}', "2e6x5"),
    ("MemoryGrows", "5h", f"memflame_inuse_bytes{{{service}}}", "1e8+2e6x400"),
    ("MemoryGrows", "5h", f"memflame_inuse_bytes{{{service}}}", "1e8+1e4x400"),
    ("MemflameStoreAway", "30m", 'memflame_output_oldest_window_seconds{output="store"}', "60+60x40"),
    ("MemflameStoreAway", "30m", 'memflame_output_oldest_window_seconds{output="store"}', "60x40"),
    ("MemflameDropsWindows", "20m", 'memflame_windows_dropped_total{reason="disk"}', "0x5 1+1x30"),
    ("MemflameDropsWindows", "20m", 'memflame_windows_dropped_total{reason="disk"}', "7x40"),
]
for number, (name, after, series, values) in enumerate(cases):
    fires = number in (0, 3, 5, 7)
    with open(lib.path("rules_test.json"), "w") as file:
        json.dump({"rule_files": [os.path.abspath(RULES)], "evaluation_interval": "1m",
                   "tests": [{"interval": "1m", "input_series": [{"series": series, "values": values}],
                              "promql_expr_test": [{"expr": f'count(ALERTS{{alertname="{name}",alertstate="firing"}})',
                                                    "eval_time": after,
                                                    "exp_samples": [{"labels": "{}", "value": 1}] if fires else []}]}]},
                  file)
    test = subprocess.run(["promtool", "test", "rules", lib.path("rules_test.json")], capture_output=True, text=True)
    lib.equal(f"{name} for {values}", (test.returncode, test.stderr), (0, ""))

port = free_port()
address = f"http://127.0.0.1:{port}"
# A window each half second for longer than the alert's minute.
feed = Feed("metrics", {"metrics": {"kind": "prometheus", "listen": f"127.0.0.1:{port}"}}, 190, 500)


def get(path, **headers):
    request = urllib.request.Request(address + path, headers=headers)
    with urllib.request.urlopen(request, timeout=10) as reply:
        return reply.headers["Content-Type"], reply.read().decode()


def status_of(path, method="GET", **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(address + path, headers=headers, method=method)) as reply:
            return reply.status
    except urllib.error.HTTPError as error:
        return error.code


def is_served():
    try:
        return 'version="1.2"' in get("/metrics")[1]
    except OSError:
        return False


lib.wait_until(is_served, "figures of the windows")

# promtool reads the older format, and prometheus_client is strict about OpenMetrics.
kind, text = get("/metrics")
lib.check(kind.startswith("text/plain; version=0.0.4"), kind)
check = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True)
lib.equal("promtool's opinion", (check.returncode, check.stderr), (0, ""))
kind, text = get("/metrics", Accept="application/openmetrics-text; version=1.0.0")
lib.check(kind.startswith("application/openmetrics-text; version=1.0.0"), kind)
try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError:
    print("without python3-prometheus-client, only prometheus reads OpenMetrics here")
else:
    families = {family.name: family for family in text_string_to_metric_families(text)}
    leaks = [sample for sample in families["memflame_stack_bytes_per_hour"].samples
             if sample.labels["verdict"] == "leak"]
    lib.equal("versions that leak", [sample.labels["version"] for sample in leaks], ["1.2"])
    lib.equal("a label with everything", leaks[0].labels["team"], 'a "b"\\c\n')
    lib.equal("a function's name", leaks[0].labels["function"], 'std::map<int, char>::insert("x")')
    lib.equal("unit", families["memflame_inuse_bytes"].unit, "bytes")

# What is not answered.
lib.equal("another page", status_of("/"), 404)
lib.equal("another method", status_of("/metrics", "DELETE"), 405)
lib.equal("a name of another site", status_of("/metrics", Host="evil.example"), 403)

# Another process has the port.
second = Feed("second", {"taken": {"kind": "prometheus", "listen": f"127.0.0.1:{port}"}}, 1, 100)
lib.wait_until(lambda: "cannot listen on 127.0.0.1, port" in second.said(), "what is wrong is said")
lib.check("Address already in use" in second.said(), second.said())
lib.equal("windows that wait", second.end()["outputs"]["taken"]["waiting"], 3)

# Prometheus itself, with the rules that are installed.
database = free_port()
with open(lib.path("prometheus.yml"), "w") as file:
    json.dump({"global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
               "rule_files": [os.path.abspath(RULES)],
               "scrape_configs": [{"job_name": "memflame", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}]},
              file)
subprocess.run(["promtool", "check", "rules", RULES], check=True, stdout=subprocess.DEVNULL)
with open(lib.path("prometheus.log"), "w") as log:
    lib.spawn(["prometheus", "--config.file", lib.path("prometheus.yml"), "--storage.tsdb.path", lib.path("tsdb"),
               "--web.listen-address", f"127.0.0.1:{database}"], stdout=log, stderr=log)


def asked(path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{database}/api/v1/{path}", timeout=10) as reply:
            return json.load(reply)["data"]
    except OSError:
        return None


def target_is_up():
    targets = (asked("targets") or {}).get("activeTargets", [])
    lib.check(not targets or targets[0]["lastError"] == "", f"the scrape failed: {targets}")
    return bool(targets) and targets[0]["health"] == "up"


lib.wait_until(target_is_up, "a scrape")


def alerts(state):
    return [alert for alert in (asked("alerts") or {}).get("alerts", []) if alert["state"] == state]


lib.wait_until(lambda: alerts("pending"), "the alert waits its minute")
lib.wait_until(lambda: alerts("firing"), "the alert fires")
fired = alerts("firing")
lib.equal("alerts", [(alert["labels"]["alertname"], alert["labels"]["version"]) for alert in fired],
          [("MemoryLeak", "1.2")])
summary = fired[0]["annotations"]["summary"]
lib.check(summary.startswith("checkout 1.2 on web-1 leaks 3.516GiB an hour in std::map"), summary)

# The database has what the windows had.
feed.all_sent()
last = {window["labels"]["version"]: window["sums"]["inuse_space"] for window in feed.windows}


def known():
    data = asked("query?query=memflame_inuse_bytes") or {"result": []}
    return {sample["metric"]["version"]: int(sample["value"][1]) for sample in data["result"]}


lib.wait_until(lambda: known() == last, f"the last figures, {last}", 20)
# Once the service has ended, its series end.
time.sleep(5 * 0.5 + 2)
lib.wait_until(lambda: known() == {}, "no figures of a service that has ended", 30)
lib.equal("windows that were sent", feed.end()["outputs"]["metrics"]["sent"], len(feed.windows))
