// SPDX-License-Identifier: BSD-2-Clause
#include "probes/system/pid_namespace.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>

#include "core/error.h"
#include "core/unique_fd.h"
#include "probes/pids/pids.h"
#include "probes/system/packed_object.h"
#include "probes/system/procfs.h"

extern "C" {
extern const std::byte memflame_pids_object[];
extern const std::byte memflame_pids_object_end[];
}

namespace memflame {
namespace {

// PROC_PID_INIT_INO of the kernel's linux/proc_ns.h.
constexpr ino_t initial_inode = 0xeffffffc;

[[noreturn]] void refuse(int error) {
  throw Error(std::string("the kernel does not list the processes of this PID namespace (") +
                  std::strerror(error) +
                  "): run memflame in the initial one (docker run --pid=host, hostPID: true)",
              ExitCode::requirement);
}

struct Silence {
  libbpf_print_fn_t before = libbpf_set_print(nullptr);
  Silence() = default;
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
  ~Silence() { libbpf_set_print(before); }
};

struct Closer {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};

}  // namespace

bool runs_in_initial_namespace() {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) != 0 || status.st_ino == initial_inode;
}

void PidNamespace::look() {
  if (runs_in_initial_namespace()) return;
  // libbpf prints many lines about a failure; the error is one line.
  const Silence silence;
  const std::unique_ptr<bpf_object, Closer> object(
      open_packed({memflame_pids_object, memflame_pids_object_end}));
  if (!object || bpf_object__load(object.get()) != 0) refuse(errno);
  const std::unique_ptr<bpf_link, Closer> link(bpf_program__attach_iter(
      bpf_object__find_program_by_name(object.get(), "memflame_pids"), nullptr));
  const UniqueFd rows(link ? bpf_iter_create(bpf_link__fd(link.get())) : -1);
  if (!rows) refuse(errno);
  initial_.clear();
  // A read returns whole rows, because all of them have the same size.
  std::array<bpf::pid_row, 256> some{};
  for (ssize_t n = 0; (n = ::read(rows.get(), some.data(), sizeof(some))) != 0;) {
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n < 0) refuse(errno);
    for (size_t i = 0; i < static_cast<size_t>(n) / sizeof(bpf::pid_row); ++i) {
      const bpf::pid_row& row = some.at(i);
      level_ = row.level;
      inode_ = row.pid_namespace;
      if (row.own != 0) initial_[static_cast<pid_t>(row.own)] = static_cast<pid_t>(row.initial);
    }
  }
  if (initial_.find(::getpid()) == initial_.end()) refuse(ESRCH);
}

pid_t PidNamespace::initial(pid_t pid) const {
  if (is_initial()) return pid;
  const auto found = initial_.find(pid);
  return found == initial_.end() ? 0 : found->second;
}

void require_own_proc() {
  const std::string status = read_file("/proc/self/status");
  const std::string own = std::to_string(::getpid());
  // memflame's numbers in the namespaces from that of /proc down to its own; kernels without PID
  // namespaces do not list them.
  const std::string pids = status_field(status, "NSpid");
  std::istringstream words(pids.empty() ? own : pids);
  std::string first;
  std::string second;
  words >> first >> second;
  if (!status.empty() && first == own && second.empty()) return;
  throw Error(
      status.empty()
          ? "/proc is not mounted, or shows another PID namespace than the one that memflame runs "
            "in: mount it (mount -t proc proc /proc), or enter the container's mounts too "
            "(nsenter -t PID -p -m)"
          : "/proc shows another PID namespace than the one that memflame runs in, where this is "
            "process " +
                own +
                ": enter the container's mounts too (nsenter -t PID -p -m), or leave its PID "
                "namespace",
      ExitCode::requirement);
}

}  // namespace memflame
