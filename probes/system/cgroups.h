// SPDX-License-Identifier: BSD-2-Clause
// Resolves --cgroup, --container and --unit to folders of the cgroup v2 hierarchy.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace memflame {

// A target as the user names it.
struct CgroupName {
  enum class Kind : uint8_t {
    path,       // absolute, or below the mount of cgroup v2
    container,  // its id, or the first characters of it
    unit,       // of systemd
  };
  Kind kind = Kind::path;
  std::string name;
};

// Where a hierarchy is mounted, and which of its folders the mount shows.
struct CgroupMount {
  std::string point, root;
};
// Where cgroup v2 is mounted, by the text of /proc/self/mountinfo; the point is "" if it is not.
CgroupMount cgroup2_mount(std::string_view mountinfo);

// The id of the container in a cgroup path: 64 hexadecimal digits, "" for none. Docker, podman,
// containerd and CRI-O put it into the last part of "/docker/ID", "/system.slice/docker-ID.scope",
// "…-podUID.slice/cri-containerd-ID.scope" and the like. Cuts `path` after it.
std::string container_in(std::string& path);

// The cgroup v2 path in the text of /proc/PID/cgroup, its line "0::/path"; "" for none.
std::string cgroup2_path(std::string_view proc_cgroup);

// The folder of such a path.
std::string folder_of(const CgroupMount& mount, const std::string& path);

class Cgroups {
 public:
  // Finds the named cgroups. Throws Error: requirement without cgroup v2, failure if one does not
  // exist.
  explicit Cgroups(const std::vector<CgroupName>& names);

  // The kernel's ids, each once.
  const std::vector<uint64_t>& ids() const { return ids_; }
  // The processes that are in these cgroups, or below, now.
  std::vector<pid_t> pids() const;
  const std::vector<std::string>& folders() const { return folders_; }

  // The id of the cgroup that a process is in; 0 if it is unknown.
  uint64_t id_of(pid_t pid) const;

  // For people: "container 0123456789ab", or the path below the mount.
  std::string name(uint64_t id);

 private:
  std::string find(const CgroupName& wanted) const;
  std::string find_path(const std::string& name) const;
  std::string find_container(std::string id) const;
  std::string find_unit(const std::string& name) const;
  void learn_names();

  CgroupMount mount_;
  std::vector<std::string> folders_;
  std::vector<uint64_t> ids_;
  std::map<uint64_t, std::string> names_;
};

}  // namespace memflame
