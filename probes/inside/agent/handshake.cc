// SPDX-License-Identifier: BSD-2-Clause
// The handshake with memflame, by a socket.
#include "filter.h"
#include "join.h"
#include "sys.h"

namespace memflame::inside {

Inherited inherited;

namespace {

constexpr long af_unix = 1, sock_seqpacket = 5, sock_cloexec = 02000000;
constexpr long sol_socket = 1, so_rcvtimeo = 20;
constexpr long msg_cmsg_cloexec = 0x40000000, msg_nosignal = 0x4000;

// The fields of "SOCKET:TOKEN:FILTERS:FOLDER".
struct RunAddress {
  const char* name;
  uint32_t name_bytes = 0;
  uint64_t token = 0, filters = 0;
  const char* folder = nullptr;
};

uint64_t number_in(const char*& text, uint32_t base) {
  uint64_t number = 0;
  for (; *text != 0 && *text != ':'; ++text)
    number = number * base + static_cast<uint64_t>(*text <= '9' ? *text - '0' : *text - 'a' + 10);
  if (*text == ':') ++text;
  return number;
}

RunAddress parse(const char* text) {
  RunAddress address{.name = text};
  while (*text != 0 && *text != ':') ++text;
  address.name_bytes = static_cast<uint32_t>(text - address.name);
  if (*text == ':') ++text;
  address.token = number_in(text, 16);
  address.filters = number_in(text, 10);
  address.folder = text;
  return address;
}

struct Address {
  uint16_t family;
  char path[108];
};

struct Vector {
  void* at;
  uint64_t bytes;
};

struct Message {
  void* name;
  uint32_t name_bytes;
  Vector* vectors;
  uint64_t vector_count;
  void* control;
  uint64_t control_bytes;
  uint32_t flags;
};

struct alignas(8) Descriptors {
  uint64_t bytes;
  int level, type;
  int fds[2];
};

// An abstract name begins with a zero byte, and has no end but the length of the address.
struct Place {
  Address address{.family = af_unix, .path = {}};
  uint32_t bytes = 0;
  void add(const char* text, uint32_t length) {
    for (uint32_t i = 0; i < length && bytes < sizeof(address.path) - 1; ++i)
      address.path[bytes++] = text[i];
  }
};

Place file_of(const RunAddress& run) {
  Place place;
  uint32_t length = 0;
  while (run.folder[length] != 0) ++length;
  place.add(run.folder, length);
  place.add("/", 1);
  place.add(run.name, run.name_bytes);
  ++place.bytes;
  return place;
}

Place abstract_of(const RunAddress& run) {
  Place place;
  place.bytes = 1;
  place.add(run.name, run.name_bytes);
  return place;
}

// A connection to memflame, or a negative number.
long connect_to(const Place& place) {
  const long fd = syscall6(__NR_socket, af_unix, sock_seqpacket | sock_cloexec);
  if (failed(fd)) return -1;
  const struct { long seconds, microseconds; } patience{10, 0};
  syscall6(__NR_setsockopt, fd, sol_socket, so_rcvtimeo, as_word(&patience), sizeof(patience));
  if (syscall6(__NR_connect, fd, as_word(&place.address),
               static_cast<long>(sizeof(place.address.family) + place.bytes)) == 0)
    return fd;
  syscall6(__NR_close, fd);
  return -1;
}

// False if memflame does not want this process.
bool say_hello(long fd, const Hello& hello, Welcome& welcome, int (&files)[2]) {
  if (syscall6(__NR_sendto, fd, as_word(&hello), sizeof(hello), msg_nosignal) != sizeof(hello))
    return false;
  Vector vector{&welcome, sizeof(welcome)};
  Descriptors control{};
  control.fds[0] = control.fds[1] = -1;  // what there is no room for stays as it is
  Message message{};
  message.vectors = &vector;
  message.vector_count = 1;
  message.control = &control;
  message.control_bytes = sizeof(control);
  long got = 0;
  do got = syscall6(__NR_recvmsg, fd, as_word(&message), msg_cmsg_cloexec);
  while (got == -4);  // EINTR
  files[0] = control.fds[0];
  files[1] = control.fds[1];
  return got == sizeof(welcome) && welcome.version == protocol_version && welcome.accepted != 0 &&
         welcome.process < most_processes;
}

// Without the agent, the program goes on when memflame has seen to it.
void answer(long fd, Joining joining) {
  const auto said = static_cast<uint8_t>(joining);
  if (syscall6(__NR_sendto, fd, as_word(&said), sizeof(said), msg_nosignal) != sizeof(said) ||
      joining == joining_done)
    return;
  uint8_t heard = 0;
  while (syscall6(__NR_read, fd, as_word(&heard), sizeof(heard)) == -4) {  // EINTR
  }
}

bool map_files(const Welcome& welcome, const int (&files)[2]) {
  if (welcome.rings < large_rings || welcome.rings > most_rings) return false;
  const uint32_t rings = inherited.exchange != nullptr ? inherited.rings : welcome.rings;
  const uint64_t table_bytes = welcome.rows_at + welcome.rows_bytes;
  void* const tables = map_memory(table_bytes, prot_read, map_shared | map_noreserve, files[1], 0);
  void* const exchange =
      tables == nullptr ? nullptr
                        : map_memory(mapped_bytes(rings), prot_read | prot_write,
                                     map_shared | map_noreserve, files[0], 0, inherited.exchange);
  if (exchange == nullptr) {
    if (tables != nullptr) unmap_memory(tables, table_bytes);
    return false;
  }
  if (inherited.tables != nullptr) unmap_memory(inherited.tables, inherited.table_bytes);
  inherited.table_bytes = table_bytes;
  inherited.rows_at = welcome.rows_at;
  inherited.rows_bytes = welcome.rows_bytes;
  inherited.index = welcome.process;
  syscall6(__NR_madvise, as_word(exchange), static_cast<long>(mapped_bytes(rings)),
           advise_dontdump);
  syscall6(__NR_madvise, as_word(tables), static_cast<long>(table_bytes), advise_dontdump);
  inherited.exchange = static_cast<uint8_t*>(exchange);
  const auto& control = *static_cast<const Control*>(exchange);
  timing = {control.ticks_per_ms, control.max_wait_ms, control.patience_ms};
  inherited.rings = rings;
  inherited.tables = static_cast<uint8_t*>(tables);
  return true;
}

}  // namespace

bool is_from(const char* path, const char* address) {
  const char* folder = parse(address).folder;
  if (*folder == 0) return false;
  while (*folder != 0 && *folder == *path) ++folder, ++path;
  return *folder == 0 && *path == '/';
}

bool shake_hands(const char* address) {
  const RunAddress run = parse(address);
  // With a folder the program was started, else memflame came into it and has looked.
  if (run.folder[0] != 0 && begins_filtered(run.filters)) store(filtered, 1U);
  if (is_filtered()) return false;
  if (begins_timeless()) store(timeless, 1U);
  if (is_timeless()) return false;
  Hello hello;
  hello.token = run.token;
  hello.time = ticks();
  tell_functions(hello.functions);
  long fd = connect_to(abstract_of(run));
  if (fd < 0 && run.folder[0] != 0) fd = connect_to(file_of(run));
  if (fd < 0) return false;
  Welcome welcome;
  int files[2] = {-1, -1};
  const bool welcomed = say_hello(fd, hello, welcome, files);
  const bool has_files = files[0] >= 0 && files[1] >= 0;
  const bool joined = welcomed && has_files && map_files(welcome, files);
  for (const int file : files)
    if (file >= 0) syscall6(__NR_close, file);
  if (welcomed)
    answer(fd, joined      ? joining_done
               : has_files ? joining_without_memory
                           : joining_without_descriptors);
  syscall6(__NR_close, fd);
  return joined;
}

}  // namespace memflame::inside
