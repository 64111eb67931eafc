// SPDX-License-Identifier: BSD-2-Clause
// Whether a process may make the system calls that the agent needs: its filter (seccomp) may kill
// it for them, or have another program decide. So the filter is run here before anything is called.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace memflame::inside {

// A program of the kernel's classic BPF, as seccomp(2) takes it.
using CallFilter = std::vector<sock_filter>;

// What the filter returns for a system call (SECCOMP_RET_*). nullopt: it is not a program that the
// kernel would have taken.
std::optional<uint32_t> run_filter(std::span<const sock_filter> filter, const seccomp_data& call);

// Why a process with these filters cannot be entered: it would be killed, or wait for somebody, at
// a call that attaching or the agent makes. "" if it would not, also if such a call only fails:
// attaching says so then.
std::string why_filters_forbid(std::span<const CallFilter> filters);

// Why not all threads of a process can be taken to have the same filters; "" if they can. No thread
// is stopped for it.
std::string why_filters_differ(pid_t pid);

// The same as why_filters_forbid() for a thread that ptrace(2) holds. Only root can read filters;
// without that right a filter is taken for harmless if memflame itself has as many, since both are
// then those of their container.
std::string why_calls_are_filtered(pid_t tid);

}  // namespace memflame::inside
