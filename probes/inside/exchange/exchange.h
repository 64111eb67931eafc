// SPDX-License-Identifier: BSD-2-Clause
// The two memory files that memflame shares with its agents (protocol.h), and the socket on which
// it hands them out.
//
// The files can neither shrink nor grow, so no process can make memflame fault, and the tables can
// be written through memflame's own mapping only. The socket has a random name and each Hello the
// token of the run, which only those know who may read the environment of its processes: so users
// may change on the way. The kernel says which process is at the other end. Nothing here waits for
// a peer: one that is silent for a second is dropped. Cost: memory is used only where something was
// written.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/unique_fd.h"
#include "probes/inside/exchange/protocol.h"
#include "probes/unwind/row.h"

namespace memflame::inside {

// A process that has said Hello and waits for its Welcome.
struct Guest {
  UniqueFd socket;
  UniqueFd process;  // readable when it has ended
  pid_t pid = 0;     // as memflame sees it
  Hello hello;
};

class Exchange {
 public:
  // Rows get a quarter of max_table_mib, or all of it up to 8 MiB: each process maps them, and one
  // that locks its memory (mlockall) makes all of that resident. Throws Error.
  // `folder`: where the socket gets a name, too, so that processes reach it from other network
  // namespaces; "" = nowhere. It goes without if that cannot be.
  Exchange(uint32_t max_depth, uint32_t max_table_mib, std::string folder = "");
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // "MEMFLAME_INSIDE=" and the address, as protocol.h has it.
  std::string variable() const;
  std::string address() const;                       // without a folder
  const std::string& name() const { return name_; }  // of the socket
  // The number of this run (Control::reading), which is not 0.
  uint32_t run() const { return run_; }
  int news() const { return news_.get(); }  // readable if an agent came, or spoke
  // Agents in another network namespace come to this socket, too. Throws Error.
  void listen_at(UniqueFd socket);
  // Those whose Hello has come since the last call.
  std::vector<Guest> arrivals();
  // Answers, and gives the guest both files. A guest with a limit of address space (RLIMIT_AS) is
  // to map the large rings only. False if it has gone.
  bool welcome(const Guest& guest, uint32_t process) const;
  static void refuse(const Guest& guest);
  // What a guest that was let in answers (enum Joining); none so far. 0: it has hung up.
  static std::optional<uint8_t> answer_of(const Guest& guest);
  // A guest that could not join waits no more. False if it has not waited until now.
  static bool dismiss(const Guest& guest);
  // With no valid Hello of this run.
  uint64_t turned_away() const { return turned_away_; }
  // Whether a process has the exchange among its mappings: it is one of the run.
  bool is_member(pid_t pid) const;

  Control& control() { return *at<Control>(0); }
  Execution& execution(uint32_t index) { return at<Execution>(executions_at)[index]; }
  Process& process(uint32_t index) { return at<Process>(processes_at)[index]; }
  uint64_t& taken(uint32_t word) { return at<uint64_t>(taken_at)[word]; }  // 64 rings
  RingHead& head(uint32_t index) { return at<RingHead>(heads_at)[index]; }
  const uint64_t* ring(uint32_t index) { return at<uint64_t>(rings_at + place_of_ring(index)); }
  // The memory of both files, and of the one with the rings.
  uint64_t bytes() const;
  uint64_t exchange_bytes_used() const;
  // Gives back the memory of what a large ring had between two positions, less than a page at each
  // end.
  // Nobody may write there meanwhile; it is zeros then.
  void give_back(uint32_t ring, uint64_t from, uint64_t to) const;
  std::span<CodeRange> code() { return {tables_at<CodeRange>(0), most_code_ranges}; }
  std::span<unwind::row> rows() {
    return {tables_at<unwind::row>(rows_at_least), rows_bytes_ / sizeof(unwind::row)};
  }

 private:
  struct Caller {
    Guest guest;
    uint64_t until_ns = 0;
  };
  template <class T>
  T* at(uint64_t offset) {
    return reinterpret_cast<T*>(exchange_memory_ + offset);
  }
  template <class T>
  T* tables_at(uint64_t offset) {
    return reinterpret_cast<T*>(tables_memory_ + offset);
  }
  void listen();
  void listen_in_folder();
  bool expect_news(int socket);
  void accept_all(int socket);
  bool take_hello(Caller& caller, std::vector<Guest>& arrived);

  UniqueFd exchange_, tables_, listening_, in_folder_;
  UniqueFd news_;  // an epoll of all sockets
  std::vector<UniqueFd> elsewhere_;
  std::byte* exchange_memory_ = nullptr;
  std::byte* tables_memory_ = nullptr;
  uint64_t rows_bytes_, tables_bytes_;
  std::string name_, folder_;
  uint64_t token_ = 0;
  uint32_t run_ = 1;
  std::vector<Caller> callers_;
  uint64_t turned_away_ = 0;
};

// A word that other processes write: read once, so that what is checked is what is used.
template <class T>
T taken_once(const T& word) {
  return std::atomic_ref<T>(const_cast<T&>(word)).load(std::memory_order_acquire);
}
template <class T>
void publish(T& word, T value) {
  std::atomic_ref<T>(word).store(value, std::memory_order_release);
}

}  // namespace memflame::inside
