// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/exchange/exchange.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <thread>

using namespace memflame;          // NOLINT(google-build-using-namespace): tests only
using namespace memflame::inside;  // NOLINT(google-build-using-namespace)

namespace {

// A Hello with the token in the run's address.
Hello hello_to(const Exchange& exchange) {
  const std::string address = exchange.address();
  Hello hello;
  hello.token = std::strtoull(address.c_str() + address.find(':') + 1, nullptr, 16);
  return hello;
}

// What an agent does: connects to the name in the address.
UniqueFd connected(const Exchange& exchange) {
  const std::string& name = exchange.name();
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), length) == 0);
  return socket;
}

void say(const UniqueFd& socket, const void* data, size_t size) {
  REQUIRE(::send(socket.get(), data, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size));
}

struct Answer {
  Welcome welcome;
  std::array<int, 2> files{-1, -1};
  bool closed = false;
};

Answer answer_to(const UniqueFd& socket) {
  Answer answer;
  iovec text{&answer.welcome, sizeof(answer.welcome)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(answer.files))> room{};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = room.size();
  answer.closed = ::recvmsg(socket.get(), &message, 0) <= 0;
  if (const cmsghdr* with = CMSG_FIRSTHDR(&message); !answer.closed && with != nullptr)
    std::memcpy(answer.files.data(), CMSG_DATA(with), sizeof(answer.files));
  return answer;
}

}  // namespace

TEST_CASE("a process that says hello gets both files, and can write only one of them") {
  Exchange exchange(100, 1);
  const UniqueFd socket = connected(exchange);
  CHECK(exchange.arrivals().empty());
  Hello hello = hello_to(exchange);
  hello.functions[fn_malloc] = 77;
  say(socket, &hello, sizeof(hello));
  const std::vector<Guest> guests = exchange.arrivals();
  REQUIRE(guests.size() == 1);
  CHECK(guests[0].pid == ::getpid());
  CHECK(guests[0].hello.functions[fn_malloc] == 77);
  REQUIRE(exchange.welcome(guests[0], 12));
  const Answer answer = answer_to(socket);
  CHECK(answer.welcome.accepted == 1);
  CHECK(answer.welcome.process == 12);
  const UniqueFd shared(answer.files[0]);
  const UniqueFd tables(answer.files[1]);
  REQUIRE(shared);
  REQUIRE(tables);

  exchange.process(12).pid = 99;
  void* memory =
      ::mmap(nullptr, exchange_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared.get(), 0);
  REQUIRE(memory != MAP_FAILED);
  CHECK(reinterpret_cast<Process*>(static_cast<std::byte*>(memory) + processes_at)[12].pid == 99);
  CHECK(static_cast<Control*>(memory)->max_depth == 100);
  ::munmap(memory, exchange_bytes);

  const uint64_t bytes = answer.welcome.rows_at + answer.welcome.rows_bytes;
  CHECK(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, tables.get(), 0) == MAP_FAILED);
  memory = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, tables.get(), 0);
  REQUIRE(memory != MAP_FAILED);
  exchange.rows()[0].pc = 4711;  // memflame itself still can
  CHECK(reinterpret_cast<const unwind::row*>(static_cast<std::byte*>(memory) +
                                             answer.welcome.rows_at)[0]
            .pc == 4711);
  CHECK(::mprotect(memory, bytes, PROT_READ | PROT_WRITE) != 0);
  ::munmap(memory, bytes);
  for (const UniqueFd* file : {&shared, &tables}) {
    CHECK(::ftruncate(file->get(), 4096) != 0);
    CHECK(::ftruncate(file->get(), 1LL << 33) != 0);
  }
  CHECK(::pwrite(tables.get(), "x", 1, 0) != 1);
}

TEST_CASE("what is not a Hello is turned away") {
  Exchange exchange(100, 1);
  const UniqueFd shorter = connected(exchange);
  say(shorter, "hi", 2);
  const UniqueFd longer = connected(exchange);
  const std::vector<char> much(sizeof(Hello) + 1);
  say(longer, much.data(), much.size());
  const UniqueFd newer = connected(exchange);
  Hello hello = hello_to(exchange);
  hello.version = protocol_version + 1;
  say(newer, &hello, sizeof(hello));
  const UniqueFd stranger = connected(exchange);
  hello = hello_to(exchange);
  ++hello.token;
  say(stranger, &hello, sizeof(hello));
  CHECK(exchange.arrivals().empty());
  CHECK(exchange.turned_away() == 4);
  for (const UniqueFd* socket : {&shorter, &longer, &newer, &stranger})
    CHECK(answer_to(*socket).closed);
}

TEST_CASE("one who says nothing is waited for by nobody, and dropped") {
  Exchange exchange(100, 1);
  const UniqueFd silent = connected(exchange);
  CHECK(exchange.arrivals().empty());
  const UniqueFd next = connected(exchange);
  const Hello hello = hello_to(exchange);
  say(next, &hello, sizeof(hello));
  CHECK(exchange.arrivals().size() == 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  CHECK(exchange.arrivals().empty());
  CHECK(answer_to(silent).closed);
}

TEST_CASE("a process that is not wanted is told so, without files") {
  Exchange exchange(100, 1);
  const UniqueFd socket = connected(exchange);
  const Hello hello = hello_to(exchange);
  say(socket, &hello, sizeof(hello));
  const std::vector<Guest> guests = exchange.arrivals();
  REQUIRE(guests.size() == 1);
  Exchange::refuse(guests[0]);
  const Answer answer = answer_to(socket);
  CHECK(!answer.closed);
  CHECK(answer.welcome.accepted == 0);
  CHECK(answer.files[0] == -1);
}

TEST_CASE("each run has a name of its own") {
  const Exchange one(1, 1);
  const Exchange two(1, 1);
  CHECK(one.variable() != two.variable());
  CHECK(one.variable().starts_with("MEMFLAME_INSIDE=memflame-"));
}
