// SPDX-License-Identifier: BSD-2-Clause
#include <nlohmann/json.hpp>

#include "render/leaks/leak_output.h"

namespace memflame {
namespace {

using Json = nlohmann::ordered_json;

Json frames_of(const LeakCase& each) {
  Json frames = Json::array();
  for (const LeakFrame& frame : each.frames) {
    Json one = {{"function", frame.function}};
    if (!frame.module.empty()) one["module"] = frame.module;
    if (!frame.file.empty()) {
      one["file"] = frame.file;
      one["line"] = frame.line;
    }
    if (frame.is_inlined) one["inlined"] = true;
    frames.push_back(std::move(one));
  }
  return frames;
}

Json json_of(const ReachCount& count) { return {{"bytes", count.bytes}, {"blocks", count.blocks}}; }

Json json_of(const LeakCase& each) {
  Json json = {{"outcome", name(each.outcome)},
               {"rule", each.rule},
               {"verdict", each.verdict},
               {"growth", each.growth},
               {"sentence", each.sentence},
               {"reason", each.reason},
               {"process", each.process},
               {"live_bytes", each.live_bytes},
               {"live_blocks", each.live_blocks},
               {"leaked_bytes", each.leaked_bytes},
               {"leaked_blocks", each.leaked_blocks}};
  if (each.rate) {
    json["bytes_per_second"] = {{"value", each.rate->value}};
    if (each.rate->low) json["bytes_per_second"]["low"] = *each.rate->low;
    if (each.rate->high) json["bytes_per_second"]["high"] = *each.rate->high;
  }
  if (each.wait_s > 0) json["watch_longer_s"] = each.wait_s;
  if (each.is_worse) json["worse_than_baseline"] = true;
  if (each.reach)
    json["reach"] = {{"lost", json_of(each.reach->lost())},
                     {"indirect", json_of(each.reach->indirect)},
                     {"reachable", json_of(each.reach->reachable)},
                     {"cannot_tell", json_of(each.reach->unknown)},
                     {"exact", each.reach->is_exact}};
  json["caller"] = each.caller;
  json["frames"] = frames_of(each);
  return json;
}

}  // namespace

void write_leaks_json(std::ostream& out, const LeakCheck& check) {
  Json json = {{"format", "memflame-leak-check"},
               {"version", 1},
               {"failed", check.has_failed()},
               {"conditions", check.conditions},
               {"source", check.source},
               {"seconds", check.seconds},
               {"leaked_bytes", check.leaked_bytes},
               {"leaked_blocks", check.leaked_blocks}};
  if (check.most_leaked) json["fail_if_leaked"] = *check.most_leaked;
  if (!check.baseline.empty()) {
    json["baseline"] = check.baseline;
    json["gone"] = check.gone;
  }
  for (size_t i = 0; i < check.sums.size(); ++i)
    json["sums"][std::string(outcome_names.at(i))] = {{"stacks", check.sums.at(i).stacks},
                                                      {"bytes", check.sums.at(i).bytes},
                                                      {"blocks", check.sums.at(i).blocks}};
  json["suppressions"] = Json::array();
  for (const SuppressionUse& use : check.suppressions)
    json["suppressions"].push_back({{"pattern", use.pattern},
                                    {"origin", use.origin},
                                    {"stacks", use.stacks},
                                    {"bytes", use.bytes},
                                    {"blocks", use.blocks}});
  json["not_certain"] = check.doubts;
  json["stacks"] = Json::array();
  for (const LeakCase& each : check.cases)
    if (is_listed(each)) json["stacks"].push_back(json_of(each));
  out << json.dump(2) << "\n";
}

}  // namespace memflame
