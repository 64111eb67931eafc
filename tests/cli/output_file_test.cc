// SPDX-License-Identifier: BSD-2-Clause
#include "cli/files/output_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <ostream>
#include <string>

#include "cli/files/fd_stream.h"
#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

class OutputFolder {
 public:
  OutputFolder() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
  ~OutputFolder() { std::filesystem::remove_all(path_); }
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  std::string pipe(const std::string& name) const {
    std::string path = path_ + "/" + name;
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    return path;
  }
  std::string of(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_ = "/tmp/memflame-outputs-XXXXXX";
};

// A signal that a run blocks, and that has come.
class PendingStop {
 public:
  PendingStop() {
    ::sigemptyset(&signals_);
    ::sigaddset(&signals_, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    ::raise(SIGTERM);
  }
  ~PendingStop() {
    int taken = 0;
    ::sigwait(&signals_, &taken);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  PendingStop(const PendingStop&) = delete;
  PendingStop& operator=(const PendingStop&) = delete;

 private:
  sigset_t signals_{}, before_{};
};

std::string refusal(const std::string& path) {
  try {
    write_output(path, [](std::ostream& out) { out << "a picture"; });
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE(
    "outputs: a pipe is written if somebody reads it, and never waits longer than memflame runs") {
  const OutputFolder folder;
  const std::string pipe = folder.pipe("pipe");
  {
    const PendingStop stop;
    CHECK(refusal(pipe) ==
          "cannot write " + pipe + ": a signal ended memflame while nobody read it");
  }
  const UniqueFd reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  CHECK(refusal(pipe).empty());
  std::string read(100, '\0');
  const ssize_t got = ::read(reader.get(), read.data(), read.size());
  CHECK(read.substr(0, static_cast<size_t>(got)) == "a picture");
}

TEST_CASE(
    "outputs: a stop signal ends the wait for a reader that stands still, and loses nothing else") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd reader(ends[0]);
  FdStream out{UniqueFd(ends[1])};
  const PendingStop stop;
  out << std::string(1000, 'x') << std::flush;
  CHECK(out.good());  // there was room
  out << std::string(1000000, 'x') << std::flush;
  CHECK(!out.good());
  CHECK(out.buffer().error() == EINTR);
}

TEST_CASE("outputs: pipes with a second name, and devices that are not for output, are refused") {
  const OutputFolder folder;
  const std::string second = folder.of("second");
  REQUIRE(::link(folder.pipe("pipe").c_str(), second.c_str()) == 0);
  CHECK(refusal(second).find("hard links") != std::string::npos);
  CHECK(refusal("/dev/zero").find("neither a terminal nor /dev/null") != std::string::npos);
  CHECK(refusal("/dev/null").empty());
}

TEST_CASE("a number in a file's name comes before what says its format") {
  CHECK(numbered_name("heap.svg", ".svg", 1) == "heap.1.svg");
  CHECK(numbered_name("/a.b/heap.speedscope.json", ".speedscope.json", 12) ==
        "/a.b/heap.12.speedscope.json");
  CHECK(numbered_name("heap.pb.gz", ".pb.gz", 2) == "heap.2.pb.gz");
  CHECK(numbered_name("heap.txt", ".folded", 2) == "heap.2.txt");
  CHECK(numbered_name("/a.b/heap", ".svg", 2) == "/a.b/heap.2");
  CHECK(numbered_name(".svg", ".svg", 3) == ".svg.3");
  CHECK(numbered_name("/a/.hidden", ".svg", 3) == "/a/.hidden.3");
}
