// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/clickhouse/store_leaks.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "core/error.h"
#include "core/units.h"
#include "fleet/clickhouse/batch.h"
#include "fleet/clickhouse/row_binary.h"
#include "fleet/clickhouse/store_profile.h"

namespace memflame {
namespace {

// Windows of a series that are looked at, spread over the range: the work depends on the hosts and
// not on the days.
constexpr int64_t most_points = 64;
constexpr int most_hosts_named = 5;

// The windows that are looked at, a row for each, with what a straight line through them needs:
// `x` are hours, and n, sx and sxx count all windows of the series. A stack that has no sample in
// a window has 0 bytes there, so it needs no row.
std::string picked(const StoreSelection& selection) {
  const std::string hours = "(ended_ns - (SELECT from_ns FROM asked)) / 3600000000000.";
  return "SELECT of_load AS load, of_series, of_host, of_version, x, at, n, sx, sxx, first_at, "
         "arraySort(ats)[intDiv(n + 1, 2)] AS middle_at, last_at FROM (SELECT of_series, "
         "any(host_1) AS of_host, any(version_1) AS of_version, count() AS n, sum(x_1) AS sx, "
         "sum(x_1 * x_1) AS sxx, min(at_1) AS first_at, max(at_1) AS last_at, groupArray(at_1) AS "
         "ats, groupArray(x_1) AS xs, groupArray(load_1) AS loads FROM (SELECT series AS "
         "of_series, any(host) AS host_1, any(version) AS version_1, argMax(load, tuple(ended_ns, "
         "load)) AS "
         "load_1, max(ended_ns) AS at_1, max(" +
         hours + ") AS x_1 FROM windows WHERE " + selection.windows_where() +
         " GROUP BY series, intDiv(toUInt32(ended), (SELECT step FROM leaks))) GROUP BY of_series) "
         "ARRAY JOIN loads AS of_load, xs AS x, ats AS at";
}

// Sums for each series and stack.
std::string lines(const StoreSelection& selection) {
  const std::string loads = "SELECT load FROM (" + picked(selection) + ")";
  return "SELECT of_series, any(of_version) AS version, any(of_host) AS host, stack, any(n) AS "
         "windows_n, any(sx) AS windows_sx, any(sxx) AS windows_sxx, sumIf(toFloat64(value), "
         "is_space) AS sy, sumIf(x * value, is_space) AS sxy, sumIf(toFloat64(value) * value, "
         "is_space) AS syy, sumIf(value, is_space AND at = first_at) AS first, sumIf(value, "
         "is_space AND at = middle_at) AS middle, sumIf(value, is_space AND at = last_at) AS last, "
         "sumIf(value, NOT is_space AND at = first_at) AS first_blocks, sumIf(value, NOT is_space "
         "AND at = last_at) AS blocks FROM (SELECT load, stack, value, "
         "type = 'inuse_space' AS is_space FROM samples WHERE " +
         selection.samples_where(loads, most_points) +
         " AND type IN ('inuse_space', 'inuse_objects')) ALL INNER JOIN (" + picked(selection) +
         ") USING load GROUP BY of_series, stack";
}

// A series grows steadily if a straight line explains three quarters of what changes, and the
// second half of the time still has a quarter of the growth: a cache that fills has not.
std::string growth_by_version(const StoreSelection& selection) {
  const std::string most = std::to_string(most_hosts_named);
  const std::string least = std::to_string(windows_for_growth);
  return "SELECT version, stack, count(), sum(slope), sum(first), sum(last), sum(blocks), "
         "countIf(grows), groupArrayIf(" +
         most + ")(host, grows), sum(last - middle), countIf(windows_n < " + least +
         "), min(windows_n), sum(first_blocks) FROM (SELECT version, stack, host, first, middle, "
         "last, first_blocks, blocks, windows_n, windows_n * windows_sxx - windows_sx * windows_sx "
         "AS spread, windows_n * "
         "sxy - windows_sx * sy AS slant, windows_n * syy - sy * sy AS height, if(spread > 0, "
         "slant / spread, 0.) AS slope, windows_n >= " +
         least +
         " AND slant > 0 AND last - first >= (SELECT "
         "least_bytes FROM leaks) AND slant * slant >= 0.75 * spread * height AND last - middle "
         ">= 0.25 * (last - first) AS grows FROM (" +
         lines(selection) + ")) GROUP BY version, stack";
}

using StackOfVersion = std::pair<uint32_t, std::string>;
StackOfVersion key_of(const StoreGrowth& growth) { return {growth.stack.index, growth.version}; }

struct Found {
  uint64_t hash = 0;
  StoreGrowth growth;
  int64_t late = 0;  // growth in the second half
};

std::vector<Found> read_growth(const std::string& reply) {
  std::vector<Found> all;
  for (RowReader rows(reply); !rows.at_end();) {
    Found& found = all.emplace_back();
    StoreGrowth& growth = found.growth;
    growth.version = rows.text();
    found.hash = rows.number<uint64_t>();
    rows.number<uint64_t>();  // series with the stack
    growth.bytes_per_hour = rows.number<double>();
    growth.first_bytes = rows.number<int64_t>();
    growth.last_bytes = rows.number<int64_t>();
    growth.last_blocks = rows.number<int64_t>();
    growth.growing = rows.number<uint64_t>();
    growth.growing_hosts = rows.texts();
    found.late = rows.number<int64_t>();
    growth.short_places = rows.number<uint64_t>();
    growth.least_windows = rows.number<uint64_t>();
    growth.first_blocks = rows.number<int64_t>();
  }
  return all;
}

// How many series there are of each version.
std::map<std::string, uint64_t> places_of(const ClickHouse& store,
                                          const StoreSelection& selection) {
  const std::string reply = store.ask("SELECT version, uniqExact(series) FROM windows WHERE " +
                                          selection.windows_where() + " GROUP BY version",
                                      selection.bound());
  std::map<std::string, uint64_t> places;
  for (RowReader rows(reply); !rows.at_end();) {
    const std::string version(rows.text());
    places[version] = rows.number<uint64_t>();
  }
  return places;
}

// Code without names, or inlined otherwise, may make several hashes of one named stack.
void add_up(std::map<StackOfVersion, Found>& into, const Found& found) {
  const auto [at, is_new] = into.try_emplace(key_of(found.growth), found);
  if (is_new) return;
  StoreGrowth& sum = at->second.growth;
  const StoreGrowth& more = found.growth;
  sum.bytes_per_hour += more.bytes_per_hour;
  sum.first_bytes += more.first_bytes;
  sum.last_bytes += more.last_bytes;
  sum.first_blocks += more.first_blocks;
  sum.last_blocks += more.last_blocks;
  sum.growing = std::max(sum.growing, more.growing);
  sum.short_places = std::max(sum.short_places, more.short_places);
  sum.least_windows = std::min(sum.least_windows, more.least_windows);
  if (sum.growing_hosts.empty()) sum.growing_hosts = more.growing_hosts;
  at->second.late += found.late;
}

StoreGrowth::Kind judge(const Found& found, int64_t least_bytes) {
  const StoreGrowth& growth = found.growth;
  if (growth.growing * 2 > growth.places) return StoreGrowth::Kind::leak;
  if (growth.growing != 0) return StoreGrowth::Kind::some;
  if (growth.may_leak()) return StoreGrowth::Kind::unsure;
  const int64_t grown = growth.last_bytes - growth.first_bytes;
  if (grown >= least_bytes && found.late * 4 < grown) return StoreGrowth::Kind::settled;
  return StoreGrowth::Kind::constant;
}

void sort_by_evidence(std::vector<StoreGrowth>& stacks) {
  std::stable_sort(stacks.begin(), stacks.end(), [](const StoreGrowth& a, const StoreGrowth& b) {
    const auto is_growing = [](const StoreGrowth& each) {
      return each.kind == StoreGrowth::Kind::leak || each.kind == StoreGrowth::Kind::some;
    };
    if (is_growing(a) != is_growing(b)) return is_growing(a);
    if (is_growing(a))
      return std::tie(a.kind, b.bytes_per_hour) < std::tie(b.kind, a.bytes_per_hour);
    return a.last_bytes > b.last_bytes;
  });
}

// Which other versions had their chance, and do not grow.
void name_the_innocent(std::vector<StoreGrowth>& stacks,
                       const std::map<std::string, uint64_t>& places) {
  std::set<StackOfVersion> guilty;
  for (const StoreGrowth& each : stacks)
    if (each.growing != 0 || each.kind == StoreGrowth::Kind::unsure) guilty.insert(key_of(each));
  for (StoreGrowth& each : stacks) {
    if (each.growing == 0) continue;
    for (const auto& [version, count] : places)
      if (!guilty.contains({each.stack.index, version})) each.innocent.push_back(version);
  }
}

std::string version_text(const std::string& version) {
  return version.empty() ? "without a version" : version;
}

}  // namespace

StoreLeaks store_leaks(const StoreQuestion& asked, int64_t least_bytes) {
  StoreQuestion question = asked;
  if (!question.type.empty() && question.type != "inuse_space")
    throw Error("leaks are told by inuse_space; leave out type=" + question.type, ExitCode::usage);
  question.type = "inuse_space";
  const ClickHouse store(question.store);
  const StoreSelection selection(store, question);
  StoreLeaks leaks;
  leaks.facts = selection.facts();
  leaks.profile.types.push_back({"inuse_space", Unit::bytes});
  const int64_t seconds = (leaks.facts.ended_ns - leaks.facts.began_ns) / ns_a_second;
  std::vector<BoundTable> bound = selection.bound();
  RowWriter row;
  row.number(static_cast<uint32_t>(std::max<int64_t>(seconds / most_points, 1)));
  row.number(least_bytes);
  bound.push_back({"leaks", "step UInt32, least_bytes Int64", row.bytes()});
  std::vector<Found> found = read_growth(store.ask(growth_by_version(selection), bound));
  std::set<uint64_t> hashes;
  for (const Found& each : found) hashes.insert(each.hash);
  const std::map<uint64_t, StackId> stacks =
      store_stacks(store, {hashes.begin(), hashes.end()}, leaks.profile, false);
  const std::map<std::string, uint64_t> places = places_of(store, selection);
  std::map<StackOfVersion, Found> by_stack;
  for (Found& each : found) {
    each.growth.stack = stacks.at(each.hash);
    add_up(by_stack, each);
  }
  for (auto& [key, each] : by_stack) {
    const auto of_version = places.find(each.growth.version);
    each.growth.places = of_version == places.end() ? 0 : of_version->second;
    each.growth.kind = judge(each, least_bytes);
    leaks.bytes += each.growth.last_bytes;
    leaks.blocks += each.growth.last_blocks;
    leaks.stacks.push_back(std::move(each.growth));
  }
  name_the_innocent(leaks.stacks, places);
  sort_by_evidence(leaks.stacks);
  describe(leaks.profile, selection);
  if (places.size() > 1)
    leaks.profile.meta.notes.emplace_back(
        "each version has the bytes of its own last windows, so versions that followed each other "
        "on a host are not in use at the same time");
  return leaks;
}

std::string_view name(StoreGrowth::Kind kind) {
  constexpr std::array<std::string_view, 5> names{"leak", "some hosts", "cannot tell", "settled",
                                                  "constant"};
  return names[static_cast<size_t>(kind)];
}

std::string in_words(const StoreGrowth& growth) {
  const auto number = [](uint64_t count) { return with_commas(static_cast<int64_t>(count)); };
  const std::string in = growth.version.empty() ? "" : " in version " + growth.version;
  const std::string rate = iec_bytes(static_cast<int64_t>(growth.bytes_per_hour)) + " per hour";
  std::string hosts = number(growth.growing) + " of " + number(growth.places) +
                      (growth.places == 1 ? " host" : " hosts");
  if (growth.growing < growth.places) {
    std::string names;
    for (const std::string& host : growth.growing_hosts)
      names += (names.empty() ? "" : ", ") + host;
    hosts += " (" + names + (growth.growing > growth.growing_hosts.size() ? ", …)" : ")");
  }
  std::string others;
  for (const std::string& version : growth.innocent)
    others += (others.empty() ? "; not in " : ", ") + version_text(version);
  switch (growth.kind) {
    case StoreGrowth::Kind::leak:
      return "leak" + in + ": " + rate + ", grows steadily on " + hosts + others;
    case StoreGrowth::Kind::some:
      return "grows" + in + " on " + hosts + " only: " + rate + others;
    case StoreGrowth::Kind::unsure:
      return "cannot tell yet" + in + ": fewer than " + number(windows_for_growth) +
             " windows on " + number(growth.short_places) + " of " + number(growth.places) +
             (growth.places == 1 ? " host" : " hosts");
    case StoreGrowth::Kind::settled:
      return "grew" + in + " by " + iec_bytes(growth.last_bytes - growth.first_bytes) +
             ", and has settled";
    case StoreGrowth::Kind::constant:
      break;
  }
  return "no steady growth" + in;
}

}  // namespace memflame
