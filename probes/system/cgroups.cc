// SPDX-License-Identifier: BSD-2-Clause
#include "probes/system/cgroups.h"

#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "core/error.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

namespace fs = std::filesystem;

constexpr long cgroup2_magic = 0x63677270;  // CGROUP2_SUPER_MAGIC of linux/magic.h
constexpr size_t id_length = 64;
constexpr size_t shown_length = 12;
constexpr size_t most_listed = 8;

// "\040" of mountinfo is a space.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 4, code, 8).ptr ==
            text.data() + i + 4) {
      plain += static_cast<char>(code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool is_id(std::string_view text) {
  return text.size() == id_length && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isdigit(c) != 0 || (c >= 'a' && c <= 'f');
         });
}

// "docker-ID.scope" -> "ID". conmon, which podman and CRI-O run beside a container, has a scope of
// its own, which is not the container.
std::string_view id_of(std::string_view part) {
  if (part.ends_with(".scope")) part.remove_suffix(6);
  const size_t dash = part.rfind('-');
  if (dash == std::string_view::npos) return is_id(part) ? part : std::string_view();
  const bool beside = part.substr(0, dash).ends_with("conmon");
  part.remove_prefix(dash + 1);
  return is_id(part) && !beside ? part : std::string_view();
}

uint64_t id_of_folder(const std::string& folder) {
  struct stat status {};
  return ::stat(folder.c_str(), &status) == 0 ? status.st_ino : 0;
}

// Visits a folder and all folders below it. If a folder disappears meanwhile, only its own part is
// skipped.
template <class Visit>
void walk(const std::string& folder, const Visit& visit) {
  visit(folder);
  std::error_code error;
  for (fs::directory_iterator each(folder, error); !error && each != fs::directory_iterator();
       each.increment(error)) {
    std::error_code gone;
    if (each->is_directory(gone)) walk(each->path().string(), visit);
  }
}

std::string listed(const std::set<std::string>& words) {
  std::string text;
  size_t count = 0;
  for (const std::string& word : words) {
    if (count++ == most_listed) return text + ", …";
    text += text.empty() ? "" : ", ";
    for (const char c : word) text += std::iscntrl(static_cast<unsigned char>(c)) != 0 ? '?' : c;
  }
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

CgroupMount cgroup2_mount(std::string_view mountinfo) {
  CgroupMount best;
  for (const std::string& line : lines_of(std::string(mountinfo))) {
    // "41 31 0:38 ROOT POINT options … - TYPE SOURCE options"
    if (line.find(" - cgroup2 ") == std::string::npos) continue;
    std::istringstream words(line);
    std::string skipped;
    CgroupMount mount;
    words >> skipped >> skipped >> skipped >> mount.root >> mount.point;
    // The same hierarchy may be mounted more than once: take the mount that shows most of it.
    if (best.point.empty() || mount.root.size() < best.root.size())
      best = {.point = unescaped(mount.point), .root = unescaped(mount.root)};
  }
  return best;
}

std::string container_in(std::string& path) {
  // From the end of the path: containers run in containers, and the innermost is meant.
  for (size_t end = path.size(); end != 0 && end != std::string::npos;) {
    const size_t slash = path.rfind('/', end - 1);
    const size_t begin = slash == std::string::npos ? 0 : slash + 1;
    std::string id(id_of(std::string_view(path).substr(begin, end - begin)));
    if (!id.empty()) {
      path.resize(end);
      return id;
    }
    end = slash;
  }
  return {};
}

std::string cgroup2_path(std::string_view proc_cgroup) {
  for (const std::string& line : lines_of(std::string(proc_cgroup)))
    if (line.starts_with("0::")) return line.substr(3);
  return {};
}

Cgroups::Cgroups(const std::vector<CgroupName>& names)
    : mount_(cgroup2_mount(read_file("/proc/self/mountinfo"))) {
  if (mount_.point.empty())
    throw Error(
        "cgroup v2 is not mounted here, and memflame tells processes apart by it: mount it (mount "
        "-t "
        "cgroup2 cgroup2 /sys/fs/cgroup), or name processes with -p",
        ExitCode::requirement);
  for (const CgroupName& wanted : names) {
    const std::string folder = find(wanted);
    const uint64_t id = id_of_folder(folder);
    if (std::find(ids_.begin(), ids_.end(), id) != ids_.end()) continue;
    folders_.push_back(folder);
    ids_.push_back(id);
  }
  learn_names();
}

std::string folder_of(const CgroupMount& mount, const std::string& path) {
  const bool is_part =
      mount.root != "/" && (path == mount.root || path.starts_with(mount.root + "/"));
  return mount.point + (is_part ? path.substr(mount.root.size()) : path);
}

uint64_t Cgroups::id_of(pid_t pid) const {
  const std::string path = cgroup2_path(read_file(proc_path(pid, "cgroup")));
  return path.empty() ? 0 : id_of_folder(folder_of(mount_, path));
}

std::string Cgroups::find(const CgroupName& wanted) const {
  switch (wanted.kind) {
    case CgroupName::Kind::container:
      return find_container(wanted.name);
    case CgroupName::Kind::unit:
      return find_unit(wanted.name);
    case CgroupName::Kind::path:
      break;
  }
  return find_path(wanted.name);
}

std::string Cgroups::find_path(const std::string& name) const {
  const auto resolved = [](const std::string& path) {
    char* real = ::realpath(path.c_str(), nullptr);
    std::string folder = real != nullptr ? real : "";
    std::free(real);  // NOLINT(cppcoreguidelines-no-malloc): it is realpath()'s
    return folder;
  };
  const auto is_cgroup2 = [](const std::string& path) {
    struct statfs status {};
    return !path.empty() && ::statfs(path.c_str(), &status) == 0 &&
           status.f_type == cgroup2_magic && fs::is_directory(path);
  };
  // "/system.slice" is below the mount, "/sys/fs/cgroup/system.slice" as it is.
  std::string below = resolved(mount_.point + "/" + name);
  if (is_cgroup2(below)) return below;
  std::string as_given = name.starts_with("/") ? resolved(name) : "";
  if (is_cgroup2(as_given)) return as_given;
  throw Error(
      "--cgroup " + name + ": there is no such cgroup (looked for " + mount_.point + "/" +
      name.substr(name.starts_with("/") ? 1 : 0) +
      (as_given.empty() ? "" : "; " + as_given + " is there, but is not a folder of cgroup v2") +
      ")");
}

std::string Cgroups::find_container(std::string id) const {
  // As kubectl shows it: "containerd://ID".
  if (const size_t scheme = id.find("://"); scheme != std::string::npos) id.erase(0, scheme + 3);
  std::map<std::string, std::string> found;  // id -> path in cgroup v2; "" for one in v1 alone
  std::map<std::string, std::set<std::string>> pids;
  size_t processes = 0;
  for (const pid_t pid : all_pids()) {
    ++processes;
    for (const std::string& line : lines_of(read_file(proc_path(pid, "cgroup")))) {
      // "4:memory:/path", and "0::/path" for v2. A container may have others in it.
      const size_t slash = line.find('/');
      if (slash == std::string::npos) continue;
      std::string path = line.substr(slash);
      for (std::string inner; !(inner = container_in(path)).empty();) {
        if (inner.starts_with(id)) {
          std::string& place = found[inner];
          if (line.starts_with("0::")) place = path;
          pids[inner].insert(std::to_string(pid));
        }
        path.resize(path.rfind('/'));
      }
    }
  }
  if (found.empty())
    throw Error(
        "--container " + id + ": no such container (looked in /proc/PID/cgroup of " +
        std::to_string(processes) +
        " processes for an id with this beginning; names are not known here: 'docker ps' and "
        "'crictl ps' list ids)");
  if (found.size() > 1) {
    std::set<std::string> ids;
    for (const auto& [each, path] : found) ids.insert(each.substr(0, shown_length));
    throw Error("--container " + id + " means " + std::to_string(found.size()) +
                " containers: " + listed(ids));
  }
  const auto& [whole, path] = *found.begin();
  if (path.empty())
    throw Error(
        "--container " + id +
            ": it is only in a cgroup of v1, which memflame does not follow: name its processes "
            "instead, -p " +
            listed(pids[whole]),
        ExitCode::requirement);
  return find_path(folder_of(mount_, path));
}

std::string Cgroups::find_unit(const std::string& name) const {
  const std::string unit = name.find('.') == std::string::npos ? name + ".service" : name;
  std::set<std::string> found;
  walk(mount_.point, [&](const std::string& folder) {
    // systemd puts "_" before a name that could be a file of cgroups, such as "memory.service".
    const std::string last = folder.substr(folder.rfind('/') + 1);
    if (last == unit || last == "_" + unit) found.insert(folder);
  });
  if (found.empty())
    throw Error("--unit " + name + ": no cgroup " + unit + " is below " + mount_.point +
                ", so that unit does not run ('systemctl status " + unit + "')");
  if (found.size() > 1)
    throw Error("--unit " + name + " means " + std::to_string(found.size()) +
                " cgroups: name one with --cgroup: " + listed(found));
  return *found.begin();
}

std::vector<pid_t> Cgroups::pids() const {
  std::set<pid_t> pids;
  for (const std::string& top : folders_)
    walk(top, [&](const std::string& folder) {
      for (const std::string& line : lines_of(read_file(folder + "/cgroup.procs"))) {
        pid_t pid = 0;
        std::from_chars(line.data(), line.data() + line.size(), pid);
        if (pid > 0) pids.insert(pid);  // 0: in another PID namespace
      }
    });
  return {pids.begin(), pids.end()};
}

void Cgroups::learn_names() {
  for (const std::string& top : folders_)
    walk(top, [&](const std::string& folder) {
      std::string path =
          folder.starts_with(mount_.point) ? folder.substr(mount_.point.size()) : folder;
      const std::string container = container_in(path);
      if (path.empty()) path = "/";
      names_[id_of_folder(folder)] =
          container.empty() ? path : "container " + container.substr(0, shown_length);
    });
}

std::string Cgroups::name(uint64_t id) {
  if (names_.find(id) == names_.end()) learn_names();
  std::string& known = names_[id];
  if (known.empty()) known = "[cgroup " + std::to_string(id) + ", gone]";
  return known;
}

}  // namespace memflame
