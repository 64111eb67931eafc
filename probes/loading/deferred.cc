// SPDX-License-Identifier: BSD-2-Clause
#include "probes/loading/deferred.h"

#include <bpf/libbpf.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <mutex>

#include "core/error.h"
#include "probes/options/advice.h"

namespace memflame {
namespace {

constexpr const char* license = "Dual BSD/GPL";
constexpr size_t log_bytes = 1 << 20;

// libbpf has one callback for all objects.
thread_local Deferred* loading_now =
    nullptr;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

int before_load(bpf_program* program, bpf_prog_load_opts* options, long /*cookie*/) {
  if (loading_now == nullptr) return 0;
  try {
    return loading_now->prepare(program, *options);
  } catch (const std::exception&) {
    return -ENOMEM;
  }
}

// The descriptor `place` is from now on that of `fd`.
int take_over(int place, const UniqueFd& fd) {
  return ::dup3(fd.get(), place, O_CLOEXEC) < 0 ? -errno : 0;
}

std::vector<char> copy_of(const void* from, size_t bytes) {
  const char* begin = static_cast<const char*>(from);
  return from == nullptr ? std::vector<char>() : std::vector<char>(begin, begin + bytes);
}

}  // namespace

// The verifier's verdict is the line before its statistics; without one, libbpf's last line.
std::string reason_in(std::string_view text) {
  if (const size_t statistics = text.find("\nprocessed "); statistics != std::string_view::npos)
    text = text.substr(0, statistics);
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

void throw_rejected(int error, std::string_view log) {
  const std::string why = std::strerror(error);
  // EACCES with statistics in the log comes from the verifier: it rejects the program, not our
  // rights.
  if ((error == EPERM || error == EACCES) && log.find("\nprocessed ") == std::string_view::npos)
    throw Error("the kernel refused the BPF program (" + why +
                    "): " + run_as_root_or_with("CAP_BPF and CAP_PERFMON"),
                ExitCode::requirement);
  throw Error("the kernel rejected the BPF program (" + why + "): " + reason_in(log),
              ExitCode::requirement);
}

void Deferred::abandon() {
  aside_.clear();
  making_.clear();
}

void Deferred::listen() {
  static std::once_flag once;
  std::call_once(once, [] {
    libbpf_prog_handler_opts options{};
    options.sz = sizeof(options);
    options.prog_prepare_load_fn = before_load;
    libbpf_register_prog_handler("uprobe", BPF_PROG_TYPE_KPROBE, bpf_attach_type{}, &options);
  });
}

void Deferred::make(bpf_map* map) {
  const auto create = [map, type = bpf_map__type(map), key = bpf_map__key_size(map),
                       value = bpf_map__value_size(map),
                       flags = bpf_map__map_flags(map)](uint32_t entries) {
    bpf_map_create_opts options{};
    options.sz = sizeof(options);
    options.map_flags = flags;
    return UniqueFd(bpf_map_create(type, bpf_map__name(map), key, value, entries, &options));
  };
  const uint32_t entries = bpf_map__max_entries(map);
  const UniqueFd place = create(1);
  if (!place || bpf_map__reuse_fd(map, place.get()) != 0) return;
  making_.push_back({map, std::async(std::launch::async, [create, entries] {
                       UniqueFd made = create(entries);
                       const int error = made ? 0 : errno;
                       return std::pair(std::move(made), error);
                     })});
}

int Deferred::load(bpf_object* object) {
  object_ = object;
  loading_now = this;
  const int error = bpf_object__load(object);
  loading_now = nullptr;
  if (error == 0 && !making_.empty())
    throw Error("internal: no program of the BPF object waited for its tables");
  return error;
}

// A program that was loaded before would go on with the table of one entry.
int Deferred::put_maps() {
  if (making_.empty()) return 0;
  bpf_program* each = nullptr;
  bpf_object__for_each_program(each, object_) {
    if (bpf_program__fd(each) >= 0) return -EBUSY;
  }
  for (Making& making : making_) {
    const auto [made, error] = making.made.get();
    if (!made) return -error;
    if (const int failed = take_over(bpf_map__fd(making.map), made); failed != 0) return failed;
  }
  making_.clear();
  return 0;
}

void Deferred::keep(Kept& kept, const bpf_program* program, const bpf_prog_load_opts& options) {
  kept.type = bpf_program__type(program);
  kept.name = bpf_program__name(program);
  const bpf_insn* code = bpf_program__insns(program);
  kept.instructions.assign(code, code + bpf_program__insn_cnt(program));
  kept.options = options;
  kept.functions =
      copy_of(options.func_info, size_t{options.func_info_cnt} * options.func_info_rec_size);
  kept.lines =
      copy_of(options.line_info, size_t{options.line_info_cnt} * options.line_info_rec_size);
  kept.options.func_info = kept.functions.data();
  kept.options.line_info = kept.lines.data();
  kept.options.log_level = 0;
  kept.options.log_buf = nullptr;
  kept.options.log_size = 0;
}

int Deferred::prepare(bpf_program* program, bpf_prog_load_opts& options) {
  if (const int error = put_maps(); error != 0) return error;
  const auto found = aside_.find(program);
  if (found == aside_.end()) return 0;
  Kept& kept = found->second;
  keep(kept, program, options);
  if (kept.when == When::beside)
    kept.loading = std::async(std::launch::async, [&kept] { return load_kept(kept); });
  options.prog_btf_fd = options.func_info_cnt = options.line_info_cnt = 0;
  std::array<bpf_insn, 2> nothing{};  // return 0
  nothing[0].code = BPF_ALU64 | BPF_MOV | BPF_K;
  nothing[1].code = BPF_JMP | BPF_EXIT;
  return bpf_program__set_insns(program, nothing.data(), nothing.size());
}

// With a buffer libbpf tries again when the verifier rejects the program, and has it filled.
Deferred::Loaded Deferred::load_kept(const Kept& kept) {
  Loaded loaded;
  std::vector<char> log(log_bytes);
  bpf_prog_load_opts options = kept.options;
  options.log_buf = log.data();
  options.log_size = static_cast<uint32_t>(log.size());
  loaded.fd = UniqueFd(bpf_prog_load(kept.type, kept.name.c_str(), license,
                                     kept.instructions.data(), kept.instructions.size(), &options));
  if (loaded.fd) return loaded;
  loaded.error = errno;
  loaded.log.assign(log.data(), ::strnlen(log.data(), log.size()));
  return loaded;
}

void Deferred::begin_rest() {
  const std::lock_guard lock(mutex_);
  for (auto& [program, kept] : aside_)
    if (kept.when == When::after && !kept.loading.valid() && !kept.instructions.empty())
      kept.loading = std::async(std::launch::async, [&each = kept] { return load_kept(each); });
}

void Deferred::finish(const bpf_program* program) {
  const std::lock_guard lock(mutex_);
  const auto found = aside_.find(program);
  if (found == aside_.end()) return;
  Kept& kept = found->second;
  if (kept.instructions.empty()) return;  // it was left out
  const Loaded loaded = kept.loading.valid() ? kept.loading.get() : load_kept(kept);
  if (!loaded.fd) throw_rejected(loaded.error, loaded.log);
  if (const int error = take_over(bpf_program__fd(program), loaded.fd); error != 0)
    throw Error(std::string("internal: a BPF program has no descriptor: ") + std::strerror(-error));
  aside_.erase(found);
}

void Deferred::finish() {
  std::vector<const bpf_program*> beside;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [program, kept] : aside_)
      if (kept.when == When::beside && kept.loading.valid()) beside.push_back(program);
  }
  for (const bpf_program* program : beside) finish(program);
}

}  // namespace memflame
