// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/namer.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <new>

#include "collapse/symbolize/wire.h"
#include "core/error.h"
#include "core/process_memory.h"
#include "core/sandbox.h"
#include "core/units.h"

namespace memflame {
namespace {

using Clock = std::chrono::steady_clock;

enum class Message : uint32_t { unfiltered, open, names, end_of_group };

constexpr size_t part_bytes = size_t{1} << 20;      // names that are sent at once
constexpr uint32_t most_bytes = uint32_t{1} << 26;  // of a message
// How many bytes the names of a place, with all inlined functions, may take on average.
constexpr uint64_t bytes_per_location = 16384;
constexpr std::chrono::seconds patience{600};           // with one group
constexpr std::chrono::milliseconds look_interval{20};  // at the memory that is taken

bool send_all(int socket, const char* data, size_t size) {
  while (size != 0) {
    const ssize_t sent = ::send(socket, data, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    data += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool send_message(int socket, Message type, std::string_view payload) {
  WireWriter head;
  head.number(type);
  head.number(static_cast<uint32_t>(payload.size()));
  return send_all(socket, head.bytes().data(), head.bytes().size()) &&
         send_all(socket, payload.data(), payload.size());
}

// The answer to a request: one byte, with the descriptor if there is a file.
bool send_file(int socket, const OpenedFile& opened) {
  auto found = static_cast<char>(opened.found);
  iovec part{&found, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (opened.found == Found::file) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = opened.file.get();
    std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

OpenedFile receive_file(int socket) {
  char found = 0;
  iovec part{&found, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return {};
  OpenedFile opened{static_cast<Found>(found), {}};
  const cmsghdr* rights = CMSG_FIRSTHDR(&message);
  if (rights != nullptr && rights->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
    opened.file = SharedFd(fd);
  }
  return opened;
}

// All of a symbol but its module, which the other process knows.
void write_symbol(WireWriter& out, const Symbol& symbol) {
  const auto& [function, file, line, start_line, kind, module] = symbol;
  out.text(function);
  out.text(file);
  out.number(line);
  out.number(start_line);
  out.number(kind);
}

Symbol read_symbol(WireReader& in) {
  Symbol symbol;
  symbol.function = in.text();
  symbol.file = in.text();
  symbol.line = in.number<uint32_t>();
  symbol.start_line = in.number<uint32_t>();
  symbol.kind = in.one_of(FrameKind::unknown);
  if (symbol.kind == FrameKind::kernel) WireReader::fail();  // it is not asked for kernel names
  return symbol;
}

// All of a place but its file, which the other process knows.
void write_code(WireWriter& out, const NamedCode& code) {
  out.text(code.mapping.build_id);
  for (const uint64_t number :
       {code.mapping.start, code.mapping.limit, code.mapping.offset, code.address})
    out.number(number);
}

NamedCode read_code(WireReader& in, LocationId location) {
  NamedCode code{.location = location, .mapping = {}};
  code.mapping.build_id = in.text();
  for (uint64_t* number :
       {&code.mapping.start, &code.mapping.limit, &code.mapping.offset, &code.address})
    *number = in.number<uint64_t>();
  return code;
}

enum class Entry : uint8_t { symbols, code };

Names read_names(std::string_view bytes) {
  WireReader in(bytes);
  Names names;
  names.unknown = in.number<uint64_t>();
  for (auto notes = in.number<uint32_t>(); notes != 0; --notes) names.notes.push_back(in.text());
  while (!in.empty()) {
    const auto entry = in.one_of(Entry::code);
    const LocationId location{in.number<uint32_t>()};
    if (entry == Entry::code) {
      names.code.push_back(read_code(in, location));
      continue;
    }
    std::vector<Symbol> symbols;
    for (auto count = in.number<uint32_t>(); count != 0; --count)
      symbols.push_back(read_symbol(in));
    names.locations.emplace_back(location, std::move(symbols));
  }
  return names;
}

// In the process that reads names: asks the other one for files.
class AskedFiles : public FileSource {
 public:
  explicit AskedFiles(int socket) : socket_(socket) {}
  OpenedFile open(const FileRequest& request) override {
    WireWriter out;
    out.number(request.kind);
    out.number(request.place);
    out.text(request.text);
    if (!send_message(socket_, Message::open, out.bytes())) return {};
    return receive_file(socket_);
  }

 private:
  int socket_;
};

void send_names(int socket, const Names& names) {
  WireWriter out;
  out.number(names.unknown);
  out.number(static_cast<uint32_t>(names.notes.size()));
  for (const std::string& note : names.notes) out.text(note);
  const auto begin = [&](Entry entry, LocationId location) {
    if (out.bytes().size() >= part_bytes) {
      send_message(socket, Message::names, out.bytes());
      out.clear();
      out.number(uint64_t{0});
      out.number(uint32_t{0});
    }
    out.number(entry);
    out.number(location.index);
  };
  for (const NamedCode& code : names.code) {
    begin(Entry::code, code.location);
    write_code(out, code);
  }
  for (const auto& [location, symbols] : names.locations) {
    begin(Entry::symbols, location);
    out.number(static_cast<uint32_t>(symbols.size()));
    for (const Symbol& symbol : symbols) write_symbol(out, symbol);
  }
  send_message(socket, Message::names, out.bytes());
}

// Exit codes of a failed process; libraries do not use them.
constexpr int out_of_memory = 65, other_failure = 66;

// Never returns, and destroys nothing: the other process owns it all.
[[noreturn]] void be_namer(const NamingWork& work, size_t first, int socket) {
  int status = 0;
  try {
    constexpr int in_sandbox = 0;
    if (!enter_sandbox(socket, {.data_bytes = work.memory_bytes}))
      send_message(in_sandbox, Message::unfiltered, {});
    AskedFiles files(in_sandbox);
    for (size_t group = first; group < work.groups; ++group) {
      work.name(group, files, [](const Names& names) { send_names(in_sandbox, names); });
      if (!send_message(in_sandbox, Message::end_of_group, {})) break;
    }
  } catch (const std::bad_alloc&) {
    status = out_of_memory;
  } catch (const std::exception&) {
    status = other_failure;
  }
  ::_exit(status);
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal);
}

class TooSlow : public Error {
 public:
  TooSlow() : Error("the process that reads names took too long") {}
};

// One process, from its start to its end, seen from memflame.
class Namer {
 public:
  Namer(const NamingWork& work, size_t first) : used_bytes_(work.used_bytes) {
    const Apart apart =
        start_apart("reads names", [&](int socket) { be_namer(work, first, socket); });
    pid_ = apart.pid;
    socket_ = SharedFd(apart.socket);
    if (used_bytes_ != 0) shared_bytes_ = private_bytes_of(pid_);
  }
  ~Namer() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    wait();
  }
  Namer(const Namer&) = delete;
  Namer& operator=(const Namer&) = delete;

  // The next message; false at the end. Throws TooSlow, or Error if it takes too much memory.
  bool receive(Clock::time_point until, Message& type, std::string& payload) {
    std::array<char, 8> head{};
    if (!receive_all_until(until, head.data(), head.size())) return false;
    WireReader in({head.data(), head.size()});
    type = in.one_of(Message::end_of_group);
    const auto size = in.number<uint32_t>();
    if (size > most_bytes) WireReader::fail();
    payload.resize(size);
    return receive_all_until(until, payload.data(), size);
  }

  bool answer(const OpenedFile& opened) const { return send_file(socket_.get(), opened); }

  // Why the process ended early. If it has only closed its socket, this waits a second at most.
  std::string how_it_ended() {
    siginfo_t info{};
    const auto until = Clock::now() + std::chrono::seconds(1);
    while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0) {
      if (Clock::now() > until) return "the process that reads names stopped answering";
      ::usleep(1000);
    }
    const int status = wait();
    if (WIFSIGNALED(status))
      return "the process that reads names ended by " + signal_name(WTERMSIG(status));
    if (WEXITSTATUS(status) == out_of_memory)
      return "the process that reads names ran out of memory";
    return "the process that reads names failed";
  }

 private:
  bool receive_all_until(Clock::time_point until, char* data, size_t size) const {
    while (size != 0) {
      await_bytes(until);
      const ssize_t got = ::recv(socket_.get(), data, size, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      data += got;
      size -= static_cast<size_t>(got);
    }
    return true;
  }

  void await_bytes(Clock::time_point until) const {
    for (;;) {
      auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
      if (used_bytes_ != 0) left = std::min(left, look_interval);
      pollfd entry{.fd = socket_.get(), .events = POLLIN, .revents = 0};
      const int ready = ::poll(&entry, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
      if (ready > 0 || (ready < 0 && errno != EINTR)) return;
      if (used_bytes_ != 0 && private_bytes_of(pid_) > shared_bytes_ + used_bytes_)
        throw Error("the process that reads names took more than " +
                    iec_bytes(static_cast<int64_t>(used_bytes_)) + " of memory");
      if (Clock::now() >= until) throw TooSlow();
    }
  }

  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

  pid_t pid_ = -1;
  SharedFd socket_;
  uint64_t used_bytes_;
  uint64_t shared_bytes_ = 0;  // what the process had from this one when it began
};

FileRequest read_request(std::string_view bytes) {
  WireReader in(bytes);
  FileRequest request;
  request.kind = in.one_of(FileRequest::Kind::server);
  request.place = in.number<uint32_t>();
  request.text = in.text();
  return request;
}

// The work of one process after another.
class Naming {
 public:
  explicit Naming(const NamingWork& work)
      : work_(work), bytes_left_(work.locations * bytes_per_location + most_bytes) {}

  bool run() {
    while (next_ < work_.groups) {
      std::string why;
      try {
        Namer namer(work_, next_);
        if (serve(namer)) break;
        why = namer.how_it_ended();
      } catch (const Error& error) {
        why = error.what();
      }
      if (work_.simplify && work_.simplify(next_, why)) continue;
      work_.give_up(next_++, why);
    }
    return filtered_;
  }

 private:
  // True when all groups are done, false if the process ended early.
  bool serve(Namer& namer) {
    Message type{};
    std::string payload;
    Clock::time_point until = Clock::now() + patience_;
    while (next_ < work_.groups) {
      try {
        if (!namer.receive(until, type, payload)) return false;
      } catch (const TooSlow&) {
        // The next groups get less time, so that many slow files cannot hold up a run for hours.
        patience_ = std::max(patience_ / 4, std::chrono::seconds(1));
        throw;
      }
      if (payload.size() > bytes_left_) throw Error("the process that reads names sent too much");
      bytes_left_ -= payload.size();
      switch (type) {
        case Message::unfiltered:
          filtered_ = false;
          break;
        case Message::open:
          if (!namer.answer(work_.open(next_, read_request(payload)))) return false;
          break;
        case Message::names:
          work_.take(next_, read_names(payload));
          break;
        case Message::end_of_group:
          ++next_;
          until = Clock::now() + patience_;
          break;
      }
    }
    return true;
  }

  const NamingWork& work_;
  size_t next_ = 0;
  uint64_t bytes_left_;
  std::chrono::seconds patience_ = patience;
  bool filtered_ = true;
};

}  // namespace

bool name_apart(const NamingWork& work) { return Naming(work).run(); }

}  // namespace memflame
