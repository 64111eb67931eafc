// SPDX-License-Identifier: BSD-2-Clause
#include "cli/watch/process_labels.h"

#include <pwd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/error.h"
#include "probes/system/cgroups.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

constexpr std::array<std::string_view, 6> known_names{"comm", "program",   "user",
                                                      "unit", "container", "pod"};
constexpr std::string_view environment = "env:";

bool is_name_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '_';
}

// Parts of a template: a text as it is, or a name.
struct Part {
  bool is_name = false;
  std::string_view text;
};

std::vector<Part> parts_of(std::string_view text) {
  std::vector<Part> parts;
  while (!text.empty()) {
    const size_t mark = text.find('$');
    if (mark != 0) parts.push_back({false, text.substr(0, mark)});
    if (mark == std::string_view::npos) break;
    text.remove_prefix(mark + 1);
    if (text.starts_with('$')) {  // "$$" is a plain one
      parts.push_back({false, text.substr(0, 1)});
      text.remove_prefix(1);
    } else if (text.starts_with('{')) {
      const size_t end = text.find('}');
      if (end == std::string_view::npos) throw Error("'${' has no '}' behind it");
      parts.push_back({true, text.substr(1, end - 1)});
      text.remove_prefix(end + 1);
    } else {
      const auto* const end = std::find_if_not(text.begin(), text.end(), is_name_letter);
      parts.push_back({true, text.substr(0, static_cast<size_t>(end - text.begin()))});
      text.remove_prefix(static_cast<size_t>(end - text.begin()));
    }
  }
  return parts;
}

std::string last_part(std::string_view path, const auto& is_wanted) {
  while (!path.empty()) {
    const size_t slash = path.rfind('/');
    const std::string_view part = slash == std::string_view::npos ? path : path.substr(slash + 1);
    if (is_wanted(part)) return std::string(part);
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
  }
  return "";
}

std::string environment_value(pid_t pid, std::string_view name) {
  const std::string all = read_file("/proc/" + std::to_string(pid) + "/environ");
  const std::string wanted = std::string(name) + "=";
  for (size_t at = 0; at < all.size();) {
    const std::string_view entry(all.c_str() + at);
    if (entry.starts_with(wanted)) return std::string(entry.substr(wanted.size()));
    at += entry.size() + 1;
  }
  return "";
}

std::string user_of(pid_t pid) {
  const std::optional<uid_t> id = user_of_process(pid);
  if (!id) return "";
  const passwd* const user = ::getpwuid(*id);
  return user != nullptr ? user->pw_name : std::to_string(*id);
}

}  // namespace

void check_template(std::string_view text) {
  for (const Part& part : parts_of(text)) {
    if (!part.is_name) continue;
    if (part.text.starts_with(environment) && part.text.size() > environment.size()) continue;
    if (std::find(known_names.begin(), known_names.end(), part.text) != known_names.end()) continue;
    throw Error("'$" + std::string(part.text) +
                "' is unknown; there are $comm, $program, $user, $unit, $container, $pod and "
                "${env:NAME}, and $$ for a plain '$'");
  }
}

std::string filled_in(std::string_view text,
                      const std::function<std::string(std::string_view name)>& value_of) {
  std::string filled;
  for (const Part& part : parts_of(text)) {
    const std::string value = part.is_name ? value_of(part.text) : std::string(part.text);
    if (value.empty()) return "";
    filled += value;
  }
  return filled;
}

std::string unit_in(std::string_view cgroup) {
  return last_part(cgroup, [](std::string_view part) {
    return part.ends_with(".service") || part.ends_with(".scope");
  });
}

// "kubepods-burstable-pod0123_4567.slice", or "pod0123-4567" without systemd.
std::string pod_in(std::string_view cgroup) {
  if (cgroup.find("/kubepods") == std::string_view::npos) return "";
  std::string part = last_part(cgroup, [](std::string_view each) {
    return (each.starts_with("kubepods") && each.find("-pod") != std::string_view::npos &&
            each.ends_with(".slice")) ||
           (each.starts_with("pod") && each.size() > 8);
  });
  const size_t begin = part.find("-pod");
  if (begin != std::string::npos) part.erase(0, begin + 1);
  if (part.ends_with(".slice")) part.resize(part.size() - std::string_view(".slice").size());
  std::replace(part.begin(), part.end(), '_', '-');
  return part.empty() ? "" : part.substr(std::string_view("pod").size());
}

std::string process_value(pid_t pid, std::string_view name) {
  if (name == "comm") return read_comm(pid);
  if (name == "program") return read_program(pid);
  if (name == "user") return user_of(pid);
  if (name.starts_with(environment)) return environment_value(pid, name.substr(environment.size()));
  std::string cgroup = cgroup2_path(read_file("/proc/" + std::to_string(pid) + "/cgroup"));
  if (name == "unit") return unit_in(cgroup);
  if (name == "pod") return pod_in(cgroup);
  return name == "container" ? container_in(cgroup) : "";
}

ProcessLabels::ProcessLabels(Labels templates, ValueOf value_of)
    : templates_(std::move(templates)), value_of_(std::move(value_of)) {
  labels_.push_back(&*different_.insert(read([](std::string_view) { return ""; })).first);
}

void ProcessLabels::learn(const Paged<Space>& spaces) {
  for (size_t i = labels_.size(); i < spaces.size(); ++i) {
    const Space& space = spaces[i];
    Labels labels = read([&](std::string_view name) {
      return name == "comm" ? space.comm : value_of_(static_cast<pid_t>(space.pid), name);
    });
    const SpaceId parent = space.forked_from;
    if (parent && parent.index < labels_.size())
      for (const auto& [name, value] : of(parent)) labels.try_emplace(name, value);
    labels_.push_back(&*different_.insert(std::move(labels)).first);
  }
}

Labels ProcessLabels::read(const std::function<std::string(std::string_view)>& value_of) const {
  Labels labels;
  for (const auto& [name, text] : templates_)
    if (std::string value = filled_in(text, value_of); !value.empty())
      labels.emplace(name, std::move(value));
  return labels;
}

}  // namespace memflame
