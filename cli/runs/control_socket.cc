// SPDX-License-Identifier: BSD-2-Clause
#include "cli/runs/control_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <utility>

#include "core/error.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

// The first byte of an answer.
constexpr char done = '+';
constexpr char refused = '-';
constexpr char forbidden = '!';  // to this user

constexpr size_t most_bytes = 4096;  // of a message or an answer
constexpr size_t most_name_bytes = 200;
constexpr size_t most_clients = 8;
constexpr int most_accepted = 16;  // at once, so that a crowd of clients does not hold up the run
constexpr std::chrono::seconds patience{5};
constexpr int answer_seconds = 30;

struct Address {
  sockaddr_un name{};
  socklen_t size = 0;
};

// An abstract name begins with a zero byte and has no other end than its size.
Address address_of(pid_t pid) {
  const std::string name = "memflame-control-" + std::to_string(pid);
  Address address;
  address.name.sun_family = AF_UNIX;
  std::memcpy(&address.name.sun_path[1], name.data(), name.size());
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

const sockaddr* generic(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address.name);
}

std::optional<ucred> peer_of(int fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer;
}

// If a client's message were left unread, the kernel would drop the answer when the socket closes.
void send_last(int fd, char kind, std::string text) {
  ::shutdown(fd, SHUT_RD);
  std::array<char, 1> ignored{};
  while (::recv(fd, ignored.data(), ignored.size(), MSG_DONTWAIT) > 0) {
  }
  text.insert(text.begin(), kind);
  text.resize(std::min(text.size(), most_bytes));
  // A client that has gone away needs no answer.
  [[maybe_unused]] const ssize_t sent =
      ::send(fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::string no_answer(pid_t pid) {
  return "there was no answer for " + std::to_string(answer_seconds) + " seconds; /proc/" +
         std::to_string(pid) + "/status tells whether it is stopped";
}

bool is_ready(const std::future<std::string>& answer) {
  return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void send_answer(int fd, std::future<std::string>& answer) {
  try {
    send_last(fd, done, answer.get());
  } catch (const std::future_error&) {
    send_last(fd, refused, "the run ended before it was done");
  } catch (const std::exception& error) {
    send_last(fd, refused, error.what());
  }
}

}  // namespace

ControlRequest parse_control(std::string_view message) {
  using Word = ControlRequest::Word;
  if (message == "status") return {Word::status};
  if (message == "snapshot") return {Word::snapshot};
  if (message == "resume") return {Word::resume};
  constexpr std::string_view mark = "mark ";
  if (message == "start" || message == "stop" || message == "pause")
    throw Error(
        "control " + std::string(message) +
            ": a run that counts cannot pause, because blocks freed in the pause would look alive; "
            "'mark NAME' both moments of a recording, and 'memflame render FILE --between' them. "
            "'memflame record --start-paused' counts from 'control PID resume' on",
        ExitCode::usage);
  if (!message.starts_with(mark))
    throw Error("control: expected status, mark NAME, snapshot or resume", ExitCode::usage);
  const std::string_view name = message.substr(mark.size());
  if (name.empty() || name.size() > most_name_bytes)
    throw Error("control mark: a name has 1 to " + std::to_string(most_name_bytes) +
                    " bytes, not " + std::to_string(name.size()),
                ExitCode::usage);
  uint64_t replaced = 0;
  return {Word::mark, clean_text(name, replaced)};
}

ControlServer::ControlServer(uid_t user)
    : user_(user), listening_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const Address address = address_of(::getpid());
  if (!listening_ || ::bind(listening_.get(), generic(address), address.size) != 0 ||
      ::listen(listening_.get(), static_cast<int>(most_clients)) != 0)
    throw Error("the socket for 'memflame control' could not be opened: " +
                std::string(std::strerror(errno)));
}

void ControlServer::serve(const Answer& answer) {
  accept_all();
  std::erase_if(clients_, [&](Client& client) { return is_done(client, answer); });
}

void ControlServer::accept_all() {
  for (int i = 0; i < most_accepted; ++i) {
    UniqueFd fd(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    const std::optional<ucred> peer = peer_of(fd.get());
    if (!peer || (peer->uid != 0 && peer->uid != user_))
      send_last(fd.get(), forbidden, "only root and the user who started memflame may control it");
    else if (clients_.size() >= most_clients)
      send_last(fd.get(), refused, "too many others control it now; try again");
    else
      clients_.push_back({std::move(fd), std::chrono::steady_clock::now()});
  }
}

bool ControlServer::is_done(Client& client, const Answer& answer) {
  const int fd = client.fd.get();
  if (!client.answer) {
    std::array<char, most_bytes> bytes{};
    const ssize_t size = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
      return std::chrono::steady_clock::now() - client.since > patience;
    if (size <= 0) return true;
    try {
      if (static_cast<size_t>(size) > bytes.size())
        throw Error("control: a message has at most " + std::to_string(most_bytes) + " bytes");
      client.answer = answer(parse_control({bytes.data(), static_cast<size_t>(size)}));
    } catch (const std::exception& error) {
      send_last(fd, refused, error.what());
      return true;
    }
  }
  if (!is_ready(*client.answer)) return false;
  send_answer(fd, *client.answer);
  return true;
}

void ControlServer::finish() {
  for (Client& client : clients_) {
    if (client.answer && is_ready(*client.answer))
      send_answer(client.fd.get(), *client.answer);
    else
      send_last(client.fd.get(), refused, "the run ended before it was done");
  }
  clients_.clear();
  listening_.reset(-1);
}

bool has_control_socket(pid_t pid) {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const Address address = address_of(pid);
  // A queue that is full is one that exists; only ask_memflame() waits for it.
  if (!fd || (::connect(fd.get(), generic(address), address.size) != 0 && errno != EAGAIN))
    return false;
  const std::optional<ucred> peer = peer_of(fd.get());
  return !peer || peer->pid <= 0 || peer->pid == pid;
}

std::string ask_memflame(pid_t pid, const std::string& message, bool may_take_long) {
  const std::string who = "control " + std::to_string(pid) + ": ";
  const UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  // Else connect() and send() would wait forever for a memflame that is stopped.
  const timeval limit{.tv_sec = answer_seconds, .tv_usec = 0};
  if (fd) ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  const Address address = address_of(pid);
  if (!fd || ::connect(fd.get(), generic(address), address.size) != 0)
    throw Error(who + (errno == ECONNREFUSED
                           ? "no memflame with this process id counts now in this network "
                             "namespace; 'pidof memflame' lists those that run"
                       : errno == EAGAIN ? no_answer(pid)
                                         : std::strerror(errno)));
  // Anybody can take a name that is free. Only its own process can be the one that was asked for.
  const std::optional<ucred> peer = peer_of(fd.get());
  const uid_t own = ::geteuid();
  if (peer && peer->pid == 0)
    throw Error(who + "that memflame is in another PID namespace; ask it from there");
  if (!peer || peer->pid != pid || (peer->uid != 0 && peer->uid != own && own != 0))
    throw Error(who + "its socket belongs to another process or user; nothing was sent");
  // The server may have refused already; its answer says why.
  if (::send(fd.get(), message.data(), message.size(), MSG_NOSIGNAL) < 0 && errno != EPIPE)
    throw Error(who + std::strerror(errno));
  pollfd entry{.fd = fd.get(), .events = POLLIN, .revents = 0};
  if (::poll(&entry, 1, may_take_long ? -1 : answer_seconds * 1000) == 0)
    throw Error(who + no_answer(pid));
  std::array<char, most_bytes> bytes{};
  const ssize_t size = ::recv(fd.get(), bytes.data(), bytes.size(), 0);
  if (size <= 0) throw Error(who + "memflame ended without an answer");
  std::string answer(bytes.data() + 1, static_cast<size_t>(size) - 1);
  if (bytes[0] == forbidden) throw Error(who + answer, ExitCode::requirement);
  if (bytes[0] != done) throw Error(who + answer);
  return answer;
}

}  // namespace memflame
