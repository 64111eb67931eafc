// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/exchange/exchange.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "core/error.h"
#include "probes/inside/exchange/descriptors.h"
#include "probes/processes/spaces.h"
#include "probes/system/procfs.h"

namespace memflame::inside {
namespace {

constexpr uint64_t patience_ns = 1'000'000'000;
constexpr size_t most_callers = 256;
// The token has to be proved within `patience_ns`, so strangers can hold only a few places.
constexpr size_t most_strangers = 64;
constexpr int most_at_once = 256;

[[noreturn]] void fail(const char* what) {
  throw Error(std::string("inside: ") + what + ": " + std::strerror(errno));
}

UniqueFd memory_file(const char* name, uint64_t bytes) {
#ifdef MFD_NOEXEC_SEAL
  UniqueFd file(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL));
  if (!file) file.reset(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
#else
  UniqueFd file(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
#endif
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    fail("no memory file can be made");
  return file;
}

// What a file takes of memory.
uint64_t bytes_of(int file) {
  constexpr uint64_t block_bytes = 512;  // of st_blocks
  struct stat status {};
  return ::fstat(file, &status) == 0 ? static_cast<uint64_t>(status.st_blocks) * block_bytes : 0;
}

// Or perhaps.
bool has_limited_space(pid_t pid) {
  rlimit limit{};
  return ::prlimit(pid, RLIMIT_AS, nullptr, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

std::byte* mapped(int file, uint64_t bytes) {
  void* memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (memory == MAP_FAILED) fail("a memory file cannot be mapped");
  return static_cast<std::byte*>(memory);
}

void seal(int file, int seals) {
  if (::fcntl(file, F_ADD_SEALS, seals | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    fail("a memory file cannot be sealed");
}

std::string random_name() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    fail("no random name");
  std::string name = "memflame-";
  for (const unsigned char byte : bytes)
    for (const int half : {byte >> 4, byte & 15}) name += "0123456789abcdef"[half];
  return name;
}

std::string hexadecimal(uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

}  // namespace

// With a quarter of that, the tables of PostgreSQL and its libraries found no room.
constexpr uint64_t rows_of_a_server = 8 << 20;

Exchange::Exchange(uint32_t max_depth, uint32_t max_table_mib, std::string folder)
    : exchange_(memory_file("memflame-exchange", exchange_bytes)),
      rows_bytes_(std::max(uint64_t{max_table_mib} << 18,
                           std::min(uint64_t{max_table_mib} << 20, rows_of_a_server))),
      tables_bytes_(rows_at_least + rows_bytes_),
      folder_(std::move(folder)) {
  tables_ = memory_file("memflame-tables", tables_bytes_);
  exchange_memory_ = mapped(exchange_.get(), exchange_bytes);
  tables_memory_ = mapped(tables_.get(), tables_bytes_);
  seal(exchange_.get(), 0);
  seal(tables_.get(), F_SEAL_FUTURE_WRITE);
  Control& words = control();
  words.version = protocol_version;
  words.max_depth = std::min(max_depth, most_frames);
  listen();
}

Exchange::~Exchange() {
  if (exchange_memory_ != nullptr) {
    publish(control().reading, 0U);  // agents go quiet
    publish(control().closed, 1U);
    ::munmap(exchange_memory_, exchange_bytes);
  }
  if (tables_memory_ != nullptr) ::munmap(tables_memory_, tables_bytes_);
}

uint64_t Exchange::bytes() const { return exchange_bytes_used() + bytes_of(tables_.get()); }

uint64_t Exchange::exchange_bytes_used() const { return bytes_of(exchange_.get()); }

void Exchange::give_back(uint32_t ring, uint64_t from, uint64_t to) const {
  from += -from % page;
  to -= to % page;
  while (from < to) {
    const uint64_t offset = from % large_ring_bytes;
    const uint64_t length = std::min(to - from, large_ring_bytes - offset);
    // Without it the memory stays, which harms nothing.
    ::fallocate(exchange_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                static_cast<off_t>(rings_at + place_of_ring(ring) + offset),
                static_cast<off_t>(length));
    from += length;
  }
}

void Exchange::listen() {
  name_ = random_name();
  // Runs of one process, one after the other, differ.
  if (::getrandom(&run_, sizeof(run_), 0) != static_cast<ssize_t>(sizeof(run_)))
    fail("no random number");
  run_ |= 1;
  if (::getrandom(&token_, sizeof(token_), 0) != static_cast<ssize_t>(sizeof(token_)))
    fail("no random number");
  listening_.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name_.data(), name_.size());  // abstract: begins with a zero
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size());
  if (!listening_ ||
      ::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(listening_.get(), 1024) != 0)
    fail("no socket for the agents");
  news_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!expect_news(listening_.get())) fail("the socket for the agents cannot be waited for");
  if (!folder_.empty()) listen_in_folder();
}

// Any user may connect there: who is let in is decided by the token.
void Exchange::listen_in_folder() {
  const std::string path = folder_ + "/" + name_;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return;
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return;
  in_folder_ = std::move(socket);
  if (::chmod(path.c_str(), 0666) != 0 || ::listen(in_folder_.get(), 1024) != 0 ||
      !expect_news(in_folder_.get()))
    fail("the socket for agents in other network namespaces cannot be used");
}

void Exchange::listen_at(UniqueFd socket) {
  if (!expect_news(socket.get())) fail("another socket for agents cannot be waited for");
  elsewhere_.push_back(std::move(socket));
}

bool Exchange::expect_news(int socket) {
  epoll_event event{.events = EPOLLIN, .data = {}};
  return ::epoll_ctl(news_.get(), EPOLL_CTL_ADD, socket, &event) == 0;
}

std::string Exchange::address() const { return name_ + ":" + hexadecimal(token_) + ":0:"; }

std::string Exchange::variable() const {
  const std::string filters = status_field(read_file("/proc/self/status"), "Seccomp_filters");
  return std::string(socket_variable) + "=" + name_ + ":" + hexadecimal(token_) + ":" +
         (filters.empty() ? "0" : filters) + ":" + folder_;
}

bool Exchange::is_member(pid_t pid) const {
  struct stat status {};
  if (::fstat(exchange_.get(), &status) != 0) return false;
  const std::optional<std::vector<MapsLine>> maps = read_maps(pid);
  return maps && std::ranges::any_of(*maps, [&](const MapsLine& line) {
           return line.shared && line.inode == status.st_ino && line.device == status.st_dev;
         });
}

void Exchange::accept_all(int socket) {
  for (int i = 0; i < most_at_once && callers_.size() < most_callers; ++i) {
    Caller caller;
    caller.guest.socket.reset(::accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!caller.guest.socket) return;
    ucred peer{};
    socklen_t length = sizeof(peer);
    const bool known =
        ::getsockopt(caller.guest.socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
        peer.pid > 0;
    const bool is_stranger = peer.uid != 0 && peer.uid != ::geteuid();
    if (!known || (is_stranger && callers_.size() >= most_strangers)) {
      ++turned_away_;
      continue;
    }
    caller.guest.pid = peer.pid;
    caller.guest.process.reset(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)));
    caller.until_ns = monotonic_ns() + patience_ns;
    expect_news(caller.guest.socket.get());  // if not, its Hello is found a little later
    callers_.push_back(std::move(caller));
  }
}

// False if there is no Hello yet.
bool Exchange::take_hello(Caller& caller, std::vector<Guest>& arrived) {
  Guest& guest = caller.guest;
  const ssize_t size =
      ::recv(guest.socket.get(), &guest.hello, sizeof(guest.hello), MSG_DONTWAIT | MSG_TRUNC);
  const bool is_silent = size < 0 && (errno == EAGAIN || errno == EINTR);
  if (is_silent && monotonic_ns() < caller.until_ns) return false;
  ::epoll_ctl(news_.get(), EPOLL_CTL_DEL, guest.socket.get(), nullptr);
  if (size == static_cast<ssize_t>(sizeof(guest.hello)) && guest.process &&
      guest.hello.version == protocol_version && guest.hello.token == token_)
    arrived.push_back(std::move(guest));
  else if (!is_silent)
    ++turned_away_;
  return true;
}

std::vector<Guest> Exchange::arrivals() {
  // To ask for a connection is dear even where there is none, and this is asked all the time.
  pollfd news{.fd = news_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&news, 1, 0) > 0) {
    accept_all(listening_.get());
    if (in_folder_) accept_all(in_folder_.get());
    for (const UniqueFd& socket : elsewhere_) accept_all(socket.get());
  }
  std::vector<Guest> arrived;
  std::erase_if(callers_, [&](Caller& caller) { return take_hello(caller, arrived); });
  return arrived;
}

bool Exchange::welcome(const Guest& guest, uint32_t process) const {
  Welcome welcome;
  welcome.accepted = 1;
  welcome.process = process;
  welcome.rings = has_limited_space(guest.pid) ? large_rings : most_rings;
  welcome.rows_at = rows_at_least;
  welcome.rows_bytes = rows_bytes_;
  const std::array<int, 2> files{exchange_.get(), tables_.get()};
  return send_with_descriptors(guest.socket.get(), std::as_bytes(std::span(&welcome, 1)), files,
                               MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Exchange::refuse(const Guest& guest) {
  const Welcome welcome;
  [[maybe_unused]] const ssize_t sent =
      ::send(guest.socket.get(), &welcome, sizeof(welcome), MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::optional<uint8_t> Exchange::answer_of(const Guest& guest) {
  uint8_t answer = 0;
  const ssize_t size = ::recv(guest.socket.get(), &answer, sizeof(answer), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  return size == sizeof(answer) ? answer : uint8_t{0};
}

bool Exchange::dismiss(const Guest& guest) {
  constexpr uint8_t go_on = 1;
  return ::send(guest.socket.get(), &go_on, sizeof(go_on), MSG_DONTWAIT | MSG_NOSIGNAL) ==
         sizeof(go_on);
}

}  // namespace memflame::inside
