// SPDX-License-Identifier: BSD-2-Clause
#include "tests/stack_oracle/unwinder.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <libelf.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>

#include "core/unique_fd.h"

namespace memflame::oracle {
namespace {

constexpr size_t most_maps_bytes = 16 << 20;

std::string hex(uint64_t value) {
  std::ostringstream text;
  text << "0x" << std::hex << value;
  return text.str();
}

// The vdso is the kernel's and the same in all processes.
Elf* own_vdso(uint64_t size) {
  // getauxval(3) gives its address.
  char* image = reinterpret_cast<char*>(::getauxval(AT_SYSINFO_EHDR));
  return image == nullptr ? nullptr : elf_memory(image, size);
}

// Without the " (deleted)" that marks a replaced file.
std::string clean(const std::string& path) { return path.substr(0, path.find(" (deleted)")); }

// The bytes before a return address end in a call instruction: e8 rel32, or ff /2 with its operand
// of one to six bytes (Intel's manual, volume 2A, "CALL").
bool ends_in_call(const std::vector<uint8_t>& code) {
  const auto at = [&](size_t back) {
    return back <= code.size() ? code[code.size() - back] : uint8_t{0};
  };
  if (at(5) == 0xe8) return true;
  for (size_t back = 2; back <= 7; ++back)
    if (at(back) == 0xff && ((at(back - 1) >> 3) & 7) == 2) return true;
  return false;
}

}  // namespace

struct Session {
  pid_t pid;
  std::vector<MapsLine> lines;
  Dwfl* dwfl = nullptr;

  // State of the current walk.
  const DumpedStack* stack = nullptr;
  size_t most = 0;
  Walk walk;
  bool ran_out = false;  // a read behind the copy since the last frame

  Session(pid_t of, const std::string& maps) : pid(of), lines(parse_maps(maps)) {}

  const MapsLine* line_at(uint64_t address) const {
    const auto found = std::find_if(lines.begin(), lines.end(), [&](const MapsLine& line) {
      return address >= line.start && address < line.end;
    });
    return found == lines.end() ? nullptr : &*found;
  }

  UniqueFd open(const MapsLine& line) const {
    char range[64];
    std::snprintf(range, sizeof(range), "%lx-%lx", line.start, line.end);
    const std::string process = "/proc/" + std::to_string(pid);
    UniqueFd live(::open((process + "/map_files/" + range).c_str(), O_RDONLY | O_CLOEXEC));
    return live ? std::move(live)
                : UniqueFd(::open(clean(line.path).c_str(), O_RDONLY | O_CLOEXEC));
  }

  bool is_trampoline(uint64_t address) const {
    const MapsLine* line = line_at(address);
    return line != nullptr && line->path == "[uprobes]";
  }

  bool is_behind_a_call(uint64_t address) const {
    const MapsLine* line = line_at(address);
    if (line == nullptr || !line->executable) return false;
    if (line->inode == 0) return true;  // generated code: nothing to look at
    std::vector<uint8_t> code(std::min<uint64_t>(7, address - line->start));
    const UniqueFd file = open(*line);
    const off_t offset = static_cast<off_t>(address - line->start + line->offset - code.size());
    return file &&
           ::pread(file.get(), code.data(), code.size(), offset) ==
               static_cast<ssize_t>(code.size()) &&
           ends_in_call(code);
  }

  bool read(uint64_t address, uint64_t& result) {
    const std::vector<uint8_t>& memory = stack->memory;
    const uint64_t offset = address - stack->rsp();
    if (address < stack->rsp() || memory.size() < 8 || offset > memory.size() - 8) {
      ran_out = ran_out || address >= stack->rsp();
      return false;
    }
    std::memcpy(&result, memory.data() + offset, 8);
    if (is_trampoline(result)) {
      const size_t next = walk.pcs.size();
      if (next >= stack->pcs.size() || !is_behind_a_call(stack->pcs[next])) return false;
      result = stack->pcs[next];
      ++walk.trampolines;
    }
    return true;
  }

  void report();
  bool attach();
};

// Callbacks of libdwfl, whose argument is the session.
struct Callbacks {
  static int find_elf(Dwfl_Module* module, void**, const char* name, Dwarf_Addr base,
                      char** file_name, Elf** elf) {
    void** user = nullptr;
    Dwarf_Addr end = 0;
    dwfl_module_info(module, &user, nullptr, &end, nullptr, nullptr, nullptr, nullptr);
    if (std::strcmp(name, "[vdso]") == 0) {
      *elf = own_vdso(end - base);
      return -1;
    }
    const Session* session = current;
    const MapsLine* line = session == nullptr ? nullptr : session->line_at(base);
    if (line == nullptr) return -1;
    UniqueFd file = session->open(*line);
    if (!file) return -1;
    *file_name = ::strdup(clean(line->path).c_str());
    return file.release();
  }

  // Nothing but the file itself: no debug files, no downloads.
  static int find_debuginfo(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                            GElf_Word, char**) {
    return -1;
  }

  static pid_t next_thread(Dwfl*, void* session, void** position) {
    if (*position != nullptr) return 0;
    *position = session;
    return static_cast<Session*>(session)->pid;
  }

  static bool get_thread(Dwfl*, pid_t, void* session, void** argument) {
    *argument = session;
    return true;
  }

  static bool memory_read(Dwfl*, Dwarf_Addr address, Dwarf_Word* result, void* session) {
    uint64_t value = 0;
    if (!static_cast<Session*>(session)->read(address, value)) return false;
    *result = value;
    return true;
  }

  static bool set_initial_registers(Dwfl_Thread* thread, void* session) {
    const auto& registers = static_cast<Session*>(session)->stack->registers;
    return dwfl_thread_state_registers(thread, 0, reg_count, registers.data());
  }

  static int frame(Dwfl_Frame* frame, void* argument) {
    auto* session = static_cast<Session*>(argument);
    Dwarf_Addr pc = 0;
    if (!dwfl_frame_pc(frame, &pc, nullptr)) return DWARF_CB_ABORT;
    if (session->walk.pcs.size() >= session->most) {
      session->walk.end = WalkEnd::depth;
      return DWARF_CB_ABORT;
    }
    session->walk.pcs.push_back(pc);
    session->ran_out = false;
    return DWARF_CB_OK;
  }

  // find_elf has no argument of its own.
  static inline const Session* current = nullptr;
};

void Session::report() {
  static char no_path[] = "";
  static char* no_path_at = no_path;
  static const Dwfl_Callbacks callbacks{.find_elf = Callbacks::find_elf,
                                        .find_debuginfo = Callbacks::find_debuginfo,
                                        .section_address = nullptr,
                                        .debuginfo_path = &no_path_at};
  dwfl = dwfl_begin(&callbacks);
  if (dwfl == nullptr) return;
  dwfl_report_begin(dwfl);
  // One module from a file's first mapping to its last, as long as no other comes between.
  for (size_t i = 0; i < lines.size();) {
    size_t last = i;
    const auto is_part = [&](const MapsLine& line) {
      return line.inode == lines[i].inode && line.device == lines[i].device &&
             line.path == lines[i].path;
    };
    if (lines[i].path == "[vdso]") {
      dwfl_report_module(dwfl, "[vdso]", lines[i].start, lines[i].end);
    } else if (lines[i].inode != 0 && lines[i].path.starts_with('/') && lines[i].offset == 0) {
      bool executable = lines[i].executable;
      for (size_t k = i + 1; k < lines.size(); ++k) {
        if (is_part(lines[k]) && lines[k].offset != 0) {
          last = k;
          executable = executable || lines[k].executable;
        } else if (lines[k].inode != 0) {
          break;
        }
      }
      if (executable)
        dwfl_report_module(dwfl, lines[i].path.c_str(), lines[i].start, lines[last].end);
    }
    i = last + 1;
  }
  dwfl_report_end(dwfl, nullptr, nullptr);
}

bool Session::attach() {
  static const Dwfl_Thread_Callbacks callbacks{
      .next_thread = Callbacks::next_thread,
      .get_thread = Callbacks::get_thread,
      .memory_read = Callbacks::memory_read,
      .set_initial_registers = Callbacks::set_initial_registers,
      .detach = nullptr,
      .thread_detach = nullptr};
  Callbacks::current = this;
  return dwfl != nullptr && dwfl_attach_state(dwfl, nullptr, pid, &callbacks, this);
}

Process::Process(pid_t pid, const std::string& maps)
    : session_(std::make_unique<Session>(pid, maps.substr(0, most_maps_bytes))) {
  elf_version(EV_CURRENT);
  session_->report();
  if (!session_->attach() && session_->dwfl != nullptr) {
    session_->walk.error = dwfl_errmsg(-1);
    dwfl_end(session_->dwfl);
    session_->dwfl = nullptr;
  }
}

Process::~Process() {
  if (session_->dwfl != nullptr) dwfl_end(session_->dwfl);
  if (Callbacks::current == session_.get()) Callbacks::current = nullptr;
}

bool Process::has_mappings() const { return !session_->lines.empty(); }

Walk Process::walk(const DumpedStack& stack, size_t most) {
  Session& session = *session_;
  Walk none;
  none.error = "no mappings to walk in: " + session.walk.error;
  if (session.dwfl == nullptr) return none;
  Callbacks::current = &session;
  session.stack = &stack;
  session.most = most;
  session.walk = Walk{};
  session.ran_out = false;
  const int result = dwfl_getthread_frames(session.dwfl, session.pid, Callbacks::frame, &session);
  const char* message = dwfl_errmsg(-1);
  Walk walk = std::move(session.walk);
  session.walk = Walk{};
  session.stack = nullptr;
  if (walk.end == WalkEnd::depth) return walk;
  if (session.ran_out) {
    walk.end = WalkEnd::copy_ended;
  } else if (result == 0) {
    walk.end = WalkEnd::outermost;
  } else {
    walk.error = message == nullptr ? "unknown error" : message;
  }
  return walk;
}

Code Process::code_at(uint64_t address) {
  Callbacks::current = session_.get();
  const MapsLine* line = session_->line_at(address);
  if (line != nullptr && line->path == "[uprobes]") return Code::trampoline;
  if (line != nullptr && line->path == "[vdso]") return Code::vdso;
  Dwfl_Module* module =
      session_->dwfl == nullptr ? nullptr : dwfl_addrmodule(session_->dwfl, address);
  if (module == nullptr) return Code::no_file;
  Dwarf_Addr bias = 0;
  for (Dwarf_CFI* cfi : {dwfl_module_eh_cfi(module, &bias), dwfl_module_dwarf_cfi(module, &bias)}) {
    Dwarf_Frame* frame = nullptr;
    if (cfi != nullptr && dwarf_cfi_addrframe(cfi, address - bias, &frame) == 0) {
      std::free(frame);
      return Code::unwind_information;
    }
  }
  return Code::gap;
}

std::string Process::place(uint64_t address) const {
  const MapsLine* line = session_->line_at(address);
  if (line == nullptr || line->path.empty()) return hex(address);
  const std::string name = line->path.substr(line->path.rfind('/') + 1);
  return name + "+" + hex(address - line->start + line->offset);
}

}  // namespace memflame::oracle
