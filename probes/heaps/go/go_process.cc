// SPDX-License-Identifier: BSD-2-Clause
#include "probes/heaps/go/go_process.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "core/elf/go_table.h"
#include "core/error.h"
#include "core/units.h"
#include "probes/heaps/go/go_places.h"
#include "probes/inside/attach/remote_memory.h"
#include "probes/options/advice.h"
#include "probes/processes/spaces.h"
#include "probes/run/requirements.h"

namespace memflame {
namespace {

constexpr uint64_t usual_rate = 524288;  // bytes; runtime.MemProfileRate
constexpr GoVersion long_stacks{1, 23};  // 128 frames of a stack, before 32
constexpr size_t short_stack = 32, long_stack = 128;

// How far a mapping lies from where its file says.
std::optional<uint64_t> bias_of(const ElfImage& elf, const Mapping& mapping) {
  constexpr uint64_t page_mask = ~static_cast<uint64_t>(page_bytes - 1);
  for (const Elf64_Phdr& segment : elf.segments())
    if (is_code(segment) && (segment.p_offset & page_mask) == mapping.offset)
      return mapping.start - (segment.p_vaddr & page_mask);
  return std::nullopt;
}

}  // namespace

// The file that has Go's runtime in it.
struct GoProcess::File {
  File(SharedFd opened, ImageBytes bytes, ElfImage headers, uint64_t moved_by)
      : file(std::move(opened)), image(bytes), elf(std::move(headers)), bias(moved_by) {
    const GoFunctions* functions = code().functions();
    if (functions != nullptr && !functions->functions().empty())
      places = find_go_places(image, elf, *functions);
  }

  // Some ten MB, if the program is large.
  const GoProgram& code() {
    if (!program) program = std::make_unique<GoProgram>(image, elf);
    return *program;
  }

  SharedFd file;
  ImageBytes image;
  ElfImage elf;
  uint64_t bias;  // from addresses of the file to those of the process
  std::unique_ptr<GoProgram> program{};
  std::optional<GoPlaces> places{};  // none: the file has no runtime of Go
};

namespace {

// The first of a process's files that has the runtime: its program, or a library made by Go.
std::unique_ptr<GoProcess::File> runtime_in(const Spaces& spaces,
                                            const std::vector<Mapping>& code) {
  for (const Mapping& mapping : code) {
    const Module& module = spaces.module(mapping.module);
    if (module.kind != ModuleKind::file || module.file.get() < 0) continue;
    const ImageBytes image(module.file.get());
    std::optional<ElfImage> elf = ElfImage::open(image);
    if (!elf) continue;
    const std::optional<uint64_t> bias = bias_of(*elf, mapping);
    if (!bias) continue;
    auto file = std::make_unique<GoProcess::File>(module.file, image, std::move(*elf), *bias);
    if (file->places) return file;
  }
  return nullptr;
}

// The runtime keeps an address for each function of a stack, also for those that are inlined: the
// names of their callers come with the innermost one's.
std::vector<Pc> callers_of(const std::vector<uint64_t>& addresses, const GoProgram& program,
                           uint64_t bias) {
  std::vector<Pc> pcs;
  for (size_t i = 0; i < addresses.size();) {
    pcs.push_back({addresses[i], true});
    const std::vector<GoLines::Frame> frames = program.at(addresses[i] - 1 - bias);
    ++i;
    for (size_t k = 1;
         k < frames.size() && i < addresses.size() && addresses[i] == frames[k].address + 1 + bias;
         ++k)
      ++i;
  }
  return pcs;
}

std::vector<uint64_t> moved(std::vector<uint64_t> addresses, uint64_t bias) {
  for (uint64_t& address : addresses) address += bias;
  return addresses;
}

const std::vector<ValueType>& go_heap_types() {
  static const std::vector<ValueType> types{{"inuse_space", Unit::bytes},
                                            {"inuse_objects", Unit::count},
                                            {"alloc_space", Unit::bytes},
                                            {"alloc_objects", Unit::count}};
  return types;
}

}  // namespace

GoProcess::GoProcess(pid_t pid) : pid_(pid) {
  require_traceable(pid);
  handle_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  Spaces spaces;
  constexpr SpaceId space{1};
  spaces.adopt(space, pid, 1);
  name_ = read_comm(pid) + " (" + std::to_string(pid) + ")";
  file_ = runtime_in(spaces, spaces.code_of(space, monotonic_ns()));
  if (!file_)
    throw NotGo("no code of Go was found in " + name_ +
                ": heap reads the profile that Go's runtime keeps; for other programs there is "
                "memflame alloc -p " +
                std::to_string(pid));
  const GoPlaces& places = *file_->places;
  if (places.version && *places.version < oldest_go_heap)
    throw Error(name_ + " was made by Go " + std::to_string(places.version->major) + "." +
                std::to_string(places.version->minor) +
                ", which keeps its heap profile in another form: heap reads that of Go 1.19 and "
                "newer");
  addresses_ = {moved(places.buckets, file_->bias), moved(places.cycle, file_->bias),
                moved(places.rate, file_->bias), places.marker_start + file_->bias,
                places.marker_end + file_->bias};
  std::array<std::byte, 1> byte{};
  if (!addresses_.rate.empty() && !read_memory(addresses_.rate[0], byte) && errno == EPERM)
    throw Error("no permission to read the memory of " + name_ + ": " +
                    run_as_root_or_with("CAP_SYS_PTRACE"),
                ExitCode::requirement);
}

GoProcess::~GoProcess() = default;

bool GoProcess::has_profile() const { return file_->places->has_profile; }

bool GoProcess::read_memory(uint64_t address, std::span<std::byte> to) const {
  return inside::RemoteMemory(pid_).read_some(address, to) == to.size();
}

bool GoProcess::has_ended() const {
  pollfd ended{handle_.get(), POLLIN, 0};
  return !handle_ ? !is_alive(pid_) : ::poll(&ended, 1, 0) != 0;
}

uint64_t GoProcess::rate() const {
  return go_rate([this](uint64_t at, std::span<std::byte> to) { return read_memory(at, to); },
                 addresses_);
}

GoHeap GoProcess::heap() const {
  GoHeap heap = read_go_heap(
      [this](uint64_t at, std::span<std::byte> to) { return read_memory(at, to); }, addresses_);
  if (has_ended()) throw Error(name_ + " ended while its heap profile was read");
  return heap;
}

RawStack GoProcess::stack_of(const GoBucket& bucket, SpaceId space, uint64_t now_ns) const {
  const auto& version = file_->places->version;
  const size_t longest = version && *version >= long_stacks ? long_stack : short_stack;
  RawStack stack;
  stack.space = space;
  stack.time_ns = now_ns;
  stack.pcs = callers_of(bucket.pcs, file_->code(), file_->bias);
  if (bucket.pcs.size() >= longest) stack.stop = StopReason::runtime_limit;
  if (stack.pcs.empty()) stack.note = "[no stack]";
  return stack;
}

void GoProcess::forget_code() const { file_->program.reset(); }

std::string go_sampling_in_words(uint64_t rate) {
  if (rate <= 1) return "";
  return "1 in " + iec_bytes(static_cast<int64_t>(rate)) + " allocated, by Go's runtime";
}

Recording GoProcess::read() const {
  constexpr SpaceId space{1};
  Spaces spaces;
  spaces.adopt(space, pid_, 1);
  Recording recording = recording_of(heap(), space);
  spaces.finish(recording);
  return recording;
}

Recording GoProcess::recording_of(const GoHeap& heap, SpaceId space, bool unpublished) const {
  Recording recording;
  recording.types = go_heap_types();
  if (unpublished) {
    recording.types.push_back({"since_gc_space", Unit::bytes});
    recording.types.push_back({"since_gc_objects", Unit::count});
  }
  recording.meta.title = "Go heap";
  recording.meta.sampling = go_sampling_in_words(heap.rate);
  if (heap.is_early) recording.meta.notes.emplace_back(go_is_early_note);
  const uint64_t now = monotonic_ns();
  for (const GoBucket& bucket : heap.buckets) {
    const GoEstimate allocated = go_estimate(bucket.allocated, bucket.allocated_bytes, heap.rate);
    const uint64_t blocks = bucket.allocated - std::min(bucket.allocated, bucket.freed);
    const GoEstimate live = go_estimate(blocks, blocks * bucket.size, heap.rate);
    const RawStackId id{static_cast<uint32_t>(recording.stacks.size())};
    recording.stacks.push_back(stack_of(bucket, space, now));
    std::vector<int64_t> values{live.bytes, live.blocks, allocated.bytes, allocated.blocks};
    if (unpublished) {
      const GoEstimate since =
          go_estimate(bucket.unpublished, bucket.unpublished * bucket.size, heap.rate);
      values.insert(values.end(), {since.bytes, since.blocks});
    }
    recording.sums.push_back({.stack = id,
                              .group = "",
                              .values = std::move(values),
                              .events = static_cast<int64_t>(bucket.allocated)});
  }
  return recording;
}

GoProfileSwitch::GoProfileSwitch(const GoProcess& process) : process_(process) {
  // A guess is good enough to read, but not to write to.
  if (!process.file_->places->knows_rate)
    throw Error(process.name_ +
                " was stripped of its symbols, so --start-go-profile does not know for certain "
                "where its rate is: import net/http/pprof in the program");
  if (process.rate() != 0)
    throw Error(process.name_ + " keeps a heap profile already: leave out --start-go-profile");
  address_ = process.addresses_.rate[0];
  if (write(usual_rate)) return;
  throw Error("the rate of Go's heap profile cannot be written in " + process.name_ + ": " +
              std::strerror(errno));
}

GoProfileSwitch::~GoProfileSwitch() {
  if (address_ != 0 && !process_.has_ended()) write(0);
}

bool GoProfileSwitch::write(uint64_t rate) const {
  return inside::RemoteMemory(process_.pid_).write_value(address_, rate);
}

}  // namespace memflame
