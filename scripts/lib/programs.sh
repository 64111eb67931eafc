#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Real programs at work, for realworld and stack-table, which source this: each function starts one,
# attaches memflame, has it work, stops it and checks that it did what it would have done alone.
#
# Before: $build, the build directory, $output, where summaries and outputs go. Changes PATH and sets:
#   memflame   the binary                     scratch   a directory that is removed in the end
#   failed     1 after complain()             pid       of what start() started
# The array $options has memflame's other options; the suffix of outputs is $format.
# shellcheck disable=SC2154,SC2034  # what is set before, and what others use
set -euo pipefail

memflame=${MEMFLAME:-}
for candidate in "$build/memflame" "$build/cli/memflame"; do
  [[ -n $memflame || ! -x $candidate ]] || memflame=$candidate
done
[[ -x $memflame ]] || { echo "${0##*/}: no memflame in $build: run scripts/build"; exit 1; }
# Only programs of Debian's packages, whatever else is in PATH.
export PATH=/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C.UTF-8

format=svg
options=()

scratch=$(mktemp -d)
chmod 755 "$scratch"
pids=()
cleanup() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$scratch"
}
trap cleanup EXIT

failed=0
complain() {
  echo "FAILED: $*"
  failed=1
}
expect() {  # WHAT GOT WANTED
  [[ $2 == "$3" ]] || complain "$1: got '$2', wanted '$3'"
}

# attach PROGRAM PID PROBE…: returns when all of the probes count. Children that come are seen from
# their first instruction.
declare -A watcher=()
attach() {
  local program=$1 pid=$2 probe word children
  shift 2
  watcher=()
  for probe; do
    children=()
    [[ $probe != alloc ]] || children=(--children exact)
    rm -f "$scratch/ready"
    mkfifo "$scratch/ready"
    "$memflame" "$probe" -p "$pid" "${children[@]}" "${options[@]}" \
        -o "$output/$program-$probe.$format" \
        --summary "$output/$program-$probe.summary" --ready-fd 9 \
        9>"$scratch/ready" 2>"$output/$program-$probe.stderr" &
    watcher[$probe]=$!
    pids+=($!)
    word=
    read -r -t 60 word <"$scratch/ready" || true
    [[ $word == 1 ]] || complain "$program $probe: $(cat "$output/$program-$probe.stderr")"
  done
}

# detach PROGRAM: stops the probes that attach() started. They must have run until now.
detach() {
  local probe status
  for probe in "${!watcher[@]}"; do
    kill -INT "${watcher[$probe]}" 2>/dev/null || complain "$1 $probe: memflame had ended before"
    status=0
    wait "${watcher[$probe]}" || status=$?
    expect "$1 $probe: exit status of memflame" "$status" 0
  done
}

# start COMMAND…: in the background, its input and output as the caller says; sets $pid.
start() {
  # A command in the background reads /dev/null unless told otherwise.
  "$@" <&0 8>&- &
  pid=$!
  pids+=("$pid")
}

until_ready() {  # WHAT COMMAND…
  local what=$1 tries
  shift
  for ((tries = 0; tries < 300; ++tries)); do
    "$@" &>/dev/null && return
    sleep 0.1
  done
  complain "$what did not start"
}

# Its allocator is jemalloc, in Debian a library that exports the usual names, so alloc sees it.
redis() {
  local socket=$scratch/redis.sock pid status=0
  start redis-server --port 0 --unixsocket "$socket" --save '' --appendonly no --dir "$scratch" \
      >"$scratch/redis.log"
  until_ready redis redis-cli -s "$socket" ping
  attach redis "$pid" alloc fault brk mmap
  redis-benchmark -s "$socket" -t set -n 100000 -r 1000000000 -d 600 -P 16 -q >/dev/null
  local keys
  keys=$(redis-cli -s "$socket" dbsize)
  detach redis
  ((keys > 99000)) || complain "redis has $keys keys of 100000"
  redis-cli -s "$socket" shutdown nosave || true
  wait "$pid" || status=$?
  expect 'exit status of redis' "$status" 0
}

# Works on input from a pipe that this script holds open.
sqlite() {
  local pid status=0
  mkfifo "$scratch/sql"
  exec 8<>"$scratch/sql"
  start sqlite3 :memory: <"$scratch/sql"
  # A file of .once is complete when the statement is.
  printf '%s\n' ".once $scratch/sql.ready" "select 'ready';" >&8
  until_ready sqlite grep -q ready "$scratch/sql.ready"
  attach sqlite "$pid" alloc fault brk mmap
  cat >&8 <<SQL
create table words(id integer primary key, word text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000)
  insert into words select i, printf('%064d', i) from n;
create index by_word on words(word);
.once $scratch/sql.out
select count(*), sum(length(word)) from words;
SQL
  until_ready 'the table in sqlite' grep -q '|' "$scratch/sql.out"
  detach sqlite
  exec 8>&-
  wait "$pid" || status=$?
  expect 'exit status of sqlite' "$status" 0
  expect 'result of sqlite' "$(tail -n 1 "$scratch/sql.out")" '300000|19200000'
}

python() {
  local pid status=0
  mkfifo "$scratch/go"
  exec 8<>"$scratch/go"
  start /usr/bin/python3 -c '
import sys
print("ready", flush=True)
sys.stdin.readline()
table = {str(i) * 4: {"number": i, "list": [i] * 10} for i in range(200000)}
print(len(table), sum(row["number"] for row in table.values()), flush=True)
sys.stdin.readline()' <"$scratch/go" >"$scratch/python.out"
  until_ready python grep -q ready "$scratch/python.out"
  attach python "$pid" alloc fault brk mmap
  echo >&8
  until_ready 'the dictionary of python' grep -q 200000 "$scratch/python.out"
  detach python
  echo >&8
  exec 8>&-
  wait "$pid" || status=$?
  expect 'exit status of python' "$status" 0
  expect 'result of python' "$(tail -n 1 "$scratch/python.out")" '200000 19999900000'
}

# The object files are equal to the byte with and without memflame. Arguments: probes, or all.
compiler() {
  local probe status wanted=("$@")
  (($#)) || wanted=(alloc fault brk mmap)
  cat >"$scratch/unit.cc" <<'SOURCE'
#include <map>
#include <regex>
#include <string>
std::map<std::string, std::regex> patterns;
int count(const std::string& text) {
  int n = 0;
  for (const auto& [name, pattern] : patterns) n += std::regex_match(text, pattern);
  return n;
}
SOURCE
  cd "$scratch"
  g++ -O1 -g -c unit.cc -o unit.o
  mv unit.o alone.o
  for probe in "${wanted[@]}"; do
    status=0
    "$memflame" "$probe" "${options[@]}" -o "$output/compiler-$probe.$format" \
        --summary "$output/compiler-$probe.summary" -- g++ -O1 -g -c unit.cc -o unit.o \
        2>"$output/compiler-$probe.stderr" || status=$?
    expect "compiler $probe: exit status" "$status" 0
    cmp alone.o unit.o || complain "compiler $probe: another object file"
    rm -f unit.o
  done
  # The compiler's errors stay its own.
  status=0
  "$memflame" alloc -o "$scratch/x.svg" -- g++ -c no-such-file.cc &>/dev/null || status=$?
  expect 'exit status of a compiler that fails' "$status" 1
  cd "$root"
}

# PostgreSQL refuses to run as root. Its server processes start during the run and are followed. Arguments:
# probes, or all.
postgresql() {
  local wanted=("$@")
  (($#)) || wanted=(alloc fault brk mmap)
  local bin data=$scratch/postgresql pid status=0 done_by_bench done_by_server
  bin=$(find /usr/lib/postgresql -path '*/bin/postgres' | sort -V | tail -n 1)
  bin=${bin%/*}
  install -d -o nobody -m 700 "$data"
  local as_nobody=(runuser -u nobody --) connect=(-h "$data" -U nobody)
  cd "$data"
  "${as_nobody[@]}" "$bin/initdb" -D "$data/db" -A trust -N >"$scratch/initdb.log"
  # setpriv executes the server itself, so that the pid is the server's.
  start setpriv --reuid nobody --regid nogroup --clear-groups "$bin/postgres" -D "$data/db" \
      -k "$data" -c listen_addresses= -c fsync=off >"$scratch/postgresql.log" 2>&1
  until_ready postgresql "$bin/pg_isready" "${connect[@]}" -d postgres -q
  "$bin/pgbench" "${connect[@]}" -i -q -s 2 postgres >/dev/null 2>&1
  attach postgresql "$pid" "${wanted[@]}"
  "$bin/pgbench" "${connect[@]}" -c 4 -T 5 postgres >"$scratch/pgbench.log" 2>&1 ||
    complain "pgbench: $(cat "$scratch/pgbench.log")"
  done_by_server=$(psql "${connect[@]}" -Atc 'select count(*) from pgbench_history' postgres)
  detach postgresql
  done_by_bench=$(sed -n 's/^number of transactions actually processed: //p' "$scratch/pgbench.log")
  expect 'transactions of pgbench in the database' "$done_by_server" "$done_by_bench"
  expect 'failed transactions' \
    "$(sed -n 's/^number of failed transactions: \([0-9]*\).*/\1/p' "$scratch/pgbench.log")" 0
  kill -INT "$pid"
  wait "$pid" || status=$?
  expect 'exit status of postgresql' "$status" 0
  cd "$root"
}
