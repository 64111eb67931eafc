// SPDX-License-Identifier: BSD-2-Clause
// The labels of processes, from what a rule says: "service": "$unit", "version": "${env:VERSION}".
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/watch/window_draft.h"
#include "core/recording.h"

namespace memflame {

// What a template may name: $comm, $program, $user, $unit, $container, $pod, and ${env:NAME}.
// Throws Error that lists these if it names something else.
void check_template(std::string_view text);

// `value_of("unit")`, `value_of("env:NAME")`: the values; "" = there is none. Returns "" if one
// that the text names is missing: half a label would be a wrong one.
std::string filled_in(std::string_view text,
                      const std::function<std::string(std::string_view name)>& value_of);

// Reads one of these values from /proc.
std::string process_value(pid_t pid, std::string_view name);

// The unit, container and pod in a cgroup's path; "" where there is none.
std::string unit_in(std::string_view cgroup);
std::string pod_in(std::string_view cgroup);

// Labels of address spaces. They are read when a space is first seen; if its process has ended by
// then, it has those of the process that it was forked from.
class ProcessLabels {
 public:
  using ValueOf = std::function<std::string(pid_t pid, std::string_view name)>;
  explicit ProcessLabels(Labels templates, ValueOf value_of = process_value);
  ProcessLabels(const ProcessLabels&) = delete;
  ProcessLabels& operator=(const ProcessLabels&) = delete;

  void learn(const Paged<Space>& spaces);
  // A space that is not known has those that need no process.
  const Labels& of(SpaceId space) const {
    return *labels_[space.index < labels_.size() ? space.index : 0];
  }

 private:
  Labels read(const std::function<std::string(std::string_view name)>& value_of) const;

  Labels templates_;
  ValueOf value_of_;
  std::set<Labels> different_;         // a service may have had a million processes
  std::vector<const Labels*> labels_;  // by SpaceId::index
};

}  // namespace memflame
