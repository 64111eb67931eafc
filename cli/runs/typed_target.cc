// SPDX-License-Identifier: BSD-2-Clause
#include "cli/runs/typed_target.h"

#include "core/secrets.h"
#include "probes/system/pid_namespace.h"

namespace memflame {

std::string as_typed(const Target& target) {
  std::string text;
  for (size_t i = 0; i < target.pids.size(); ++i)
    text += (i == 0 ? " -p " : ",") + std::to_string(target.pids[i]);
  if (!target.comm.empty()) text += " --comm " + target.comm;
  if (!target.program.empty()) text += " --program " + target.program;
  if (!target.owner.empty()) text += " --owner " + target.owner;
  if (target.above != 0) text += " --above " + std::to_string(target.above);
  for (const CgroupName& cgroup : target.cgroups)
    for (const CgroupOption& option : cgroup_options)
      if (option.kind == cgroup.kind) text += " --" + std::string(option.name) + " " + cgroup.name;
  if (!target.command.empty()) text += " --";
  for (const std::string& word : without_secrets(target.command)) text += " " + word;
  if (target.whole_system())
    text += runs_in_initial_namespace() ? " (whole system)" : " (whole PID namespace)";
  return text;
}

}  // namespace memflame
