// SPDX-License-Identifier: BSD-2-Clause
#include "cli/watch/watch_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "cli/watch/process_labels.h"
#include "core/error.h"
#include "core/units.h"
#include "fleet/output.h"
#include "probes/run/memory_plan.h"

namespace memflame {
namespace {

constexpr double shortest_window = 1, longest_window = 86400;
constexpr uint64_t least_spool = uint64_t{1} << 20U;
// What the processes that send windows and that start the others take.
constexpr uint64_t own_share = uint64_t{24} << 20U;
// Half of it is for tables (rule_run.cc), half for the process itself: stacks, windows and names.
constexpr uint64_t least_for_rule = 2 * least_memory;
constexpr double usual_overhead = 1;  // percent of the target
constexpr size_t longest_name = 64;

// Names are parts of paths, and of series in metrics.
bool is_name(std::string_view text) {
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  return !text.empty() && text.size() <= longest_name &&
         text.find_first_not_of(letters) == std::string_view::npos;
}

void require_name(const Setting& setting, std::string_view name) {
  if (!is_name(name))
    setting.fail("'" + std::string(name) +
                 "' is not a name: at most 64 letters, digits, '-' and '_'");
}

// Ways to choose processes; options of memflame record have the same names.
void read_match(const Setting& setting, std::vector<std::string>& arguments) {
  setting.allow({"comm", "program", "owner", "above", "unit", "container", "cgroup", "pid"});
  if (setting.members().empty())
    setting.fail(
        "it chooses no processes: add comm, program, owner, above, unit, container, cgroup or pid");
  for (const auto& [name, value] : setting.members()) {
    if (name == "pid") {
      arguments.insert(arguments.end(),
                       {"--pid", std::to_string(std::lround(value.number(1, 1e9)))});
      continue;
    }
    if (name == "above") {
      arguments.insert(arguments.end(), {"--above", std::to_string(value.bytes())});
      continue;
    }
    for (const std::string& text : value.texts()) {
      arguments.push_back("--" + name);
      arguments.push_back(text);
    }
  }
}

void read_probes(const Setting& rule, WatchRule& into) {
  std::vector<std::string>& arguments = into.arguments;
  std::string probes;
  bool has_alloc = true;
  if (const auto setting = rule.find("probes")) {
    has_alloc = false;
    for (const std::string& probe : setting->texts()) {
      probes += (probes.empty() ? "" : ",") + probe;
      has_alloc = has_alloc || probe == "alloc";
    }
    if (probes.empty()) setting->fail("name at least one of alloc, brk, mmap, fault");
  }
  if (!probes.empty()) arguments.insert(arguments.end(), {"--probes", probes});
  const auto of_alloc = [&](const Setting& setting) {
    if (!has_alloc) setting.fail("only the probe alloc has this");
  };
  const auto sample = rule.find("sample");
  if (sample) {
    of_alloc(*sample);
    if (!sample->is_text() || sample->text() != "all")
      arguments.insert(arguments.end(), {"--sample", std::to_string(sample->bytes())});
  }
  const auto collect = rule.find("collect");
  if (collect) of_alloc(*collect);
  const bool is_go = collect && collect->one_of({"kernel", "inside", "go"}) == "go";
  const auto overhead = rule.find("max_overhead");
  for (const auto& setting : {sample, overhead})
    if (is_go && setting)
      setting->fail("Go's runtime samples by itself, and memflame only reads: leave it out");
  if (overhead) of_alloc(*overhead);
  if (overhead && sample)
    overhead->fail("the rate of samples follows from it: leave out \"sample\"");
  into.is_governed = has_alloc && !sample && !is_go;
  if (into.is_governed) {
    std::string percent = std::to_string(overhead ? overhead->number(0.01, 100) : usual_overhead);
    percent.erase(percent.find_last_not_of('0') + 1);
    if (percent.ends_with('.')) percent.pop_back();
    arguments.insert(arguments.end(), {"--max-overhead", percent});
  }
  if (collect) arguments.insert(arguments.end(), {"--collect", collect->text()});
  if (const auto options = rule.find("options"))
    for (const std::string& word : options->texts()) arguments.push_back(word);
}

void read_labels(const Setting& setting, Labels& into) {
  for (const auto& [name, value] : setting.members()) {
    require_name(value, name);
    try {
      check_template(value.text());
    } catch (const Error& error) {
      value.fail(error.what());
    }
    into[name] = value.text();
  }
}

std::vector<std::string> read_outputs(const Setting& rule, const WatchConfig& config) {
  std::vector<std::string> outputs;
  const auto setting = rule.find("outputs");
  if (!setting) {
    for (const auto& [name, output] : config.outputs) outputs.push_back(name);
    return outputs;
  }
  for (const std::string& name : setting->texts()) {
    if (!config.outputs.contains(name)) setting->fail("there is no output '" + name + "'");
    outputs.push_back(name);
  }
  if (outputs.empty()) setting->fail("name at least one output");
  return outputs;
}

WatchRule read_rule(const Setting& setting, const WatchConfig& config, const Labels& labels) {
  setting.allow({"name", "match", "probes", "sample", "max_overhead", "collect", "options",
                 "window", "labels", "outputs", "names"});
  WatchRule rule;
  rule.name = setting.get("name").text();
  require_name(setting.get("name"), rule.name);
  read_match(setting.get("match"), rule.arguments);
  read_probes(setting, rule);
  if (const auto window = setting.find("window")) {
    rule.window_seconds = window->seconds();
    if (rule.window_seconds < shortest_window || rule.window_seconds > longest_window)
      window->fail("a window is at least a second and at most a day");
  }
  rule.labels = labels;
  rule.labels.try_emplace("service", rule.name);
  if (const auto own = setting.find("labels")) read_labels(*own, rule.labels);
  rule.labels["rule"] = rule.name;
  rule.outputs = read_outputs(setting, config);
  if (const auto names = setting.find("names")) rule.names = names->flag();
  return rule;
}

void read_outputs(const Setting& setting, WatchConfig& config) {
  for (const auto& [name, output] : setting.members()) {
    require_name(output, name);
    make_output(output);
    config.outputs.emplace(name, output);
  }
  if (config.outputs.empty()) setting.fail("name at least one output");
}

void read_spool(const Setting& setting, WatchConfig& config) {
  setting.allow({"folder", "most"});
  if (const auto folder = setting.find("folder")) {
    config.spool_folder = folder->text();
    if (!config.spool_folder.starts_with('/')) folder->fail("expected a path from the root: /…");
  }
  const auto most = setting.find("most");
  if (most) config.spool_bytes = most->bytes();
  if (config.spool_bytes < least_spool) most->fail("at least 1M");
}

// Each rule has tables of its own.
void share_memory(const Setting& all, WatchConfig& config) {
  const uint64_t rules = config.rules.size();
  const uint64_t least = own_share + rules * least_for_rule;
  if (config.memory < least) {
    const std::string words = std::to_string(rules) + (rules == 1 ? " rule needs" : " rules need") +
                              " at least " + iec_bytes(static_cast<int64_t>(least));
    all.find("memory").value_or(all.get("rules")).fail(words + " of \"memory\"");
  }
  const uint64_t share = (config.memory - own_share) / rules;
  for (WatchRule& rule : config.rules) rule.memory = share;
}

}  // namespace

WatchConfig read_watch_config(std::string_view text, const std::string& name,
                              const std::string& host,
                              const std::function<void(const WatchRule&)>& check_rule) {
  const Setting all = Setting::read(text, name);
  all.allow({"memory", "max_cpu", "spool", "labels", "outputs", "rules"});
  WatchConfig config;
  if (const auto memory = all.find("memory")) config.memory = memory->bytes();
  if (const auto cpu = all.find("max_cpu")) config.most_cpu = cpu->number(0.01, 100);
  if (const auto spool = all.find("spool")) read_spool(*spool, config);
  read_outputs(all.get("outputs"), config);
  Labels labels{{"host", host}};
  if (const auto own = all.find("labels")) read_labels(*own, labels);
  const std::vector<Setting> rules = all.get("rules").list();
  if (rules.empty()) all.get("rules").fail("there is no rule");
  std::set<std::string> names;
  for (const Setting& rule : rules) {
    config.rules.push_back(read_rule(rule, config, labels));
    if (!names.insert(config.rules.back().name).second)
      rule.get("name").fail("there are two rules of this name");
  }
  share_memory(all, config);
  for (size_t i = 0; i < rules.size(); ++i) {
    try {
      check_rule(config.rules[i]);
    } catch (const Error& error) {
      rules[i].fail(error.what());
    }
  }
  return config;
}

}  // namespace memflame
