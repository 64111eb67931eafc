// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/selection.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <set>

using namespace memflame;
using inside::Selection;

namespace {

constexpr pid_t old = 1;  // the first process of all

struct Others {
  std::set<pid_t> watched;
  std::vector<pid_t> tried;
  bool works = true;
  uint64_t now = 1;
  uint64_t start = 7;  // of the process
  Selection selection{[this] { return now; }, [this](pid_t pid) { return pid == old ? start : 1; }};

  Selection::Look parts() {
    return {.present = [] { return std::vector{old}; },
            .is_watched = [this](pid_t pid) { return watched.contains(pid); },
            .enter =
                [this](pid_t pid) {
                  tried.push_back(pid);
                  if (works) watched.insert(pid);
                  if (!works) selection.refuse(pid, "it is a static program");
                  return works;
                }};
  }
};

}  // namespace

TEST_CASE("an agent comes into processes that begin later") {
  Others others;
  others.selection.look(others.parts());
  others.selection.look(others.parts());
  CHECK(others.tried == std::vector{old});
  CHECK(others.selection.count() == 0);
  CHECK(others.selection.came_late() == 1);
  REQUIRE(others.selection.notes().size() == 1);
  CHECK(others.selection.notes()[0].find("what was before is not known") != std::string::npos);
}

TEST_CASE("one that refuses it is told of, and not tried again at once") {
  Others others;
  others.works = false;
  others.selection.look(others.parts());
  others.selection.look(others.parts());
  CHECK(others.tried == std::vector{old});
  CHECK(others.selection.count() == 1);
  CHECK(others.selection.came_late() == 0);
  CHECK(others.selection.notes().back() == "it is a static program");
  others.watched.insert(old);  // its agent has spoken after all
  others.selection.look(others.parts());
  CHECK(others.selection.count() == 0);
}

TEST_CASE("one that refuses it is tried again, later and later, and not for ever") {
  Others others;
  others.works = false;
  others.selection.look(others.parts());
  for (const uint64_t wait : {4U, 8U, 16U}) {
    const size_t tries = others.tried.size();
    others.now += wait * 1'000'000'000 - 1;
    others.selection.look(others.parts());
    CHECK(others.tried.size() == tries);
    ++others.now;
    others.selection.look(others.parts());
    CHECK(others.tried.size() == tries + 1);
  }
  for (int hour = 0; hour < 100; ++hour) {
    others.now += 3'600'000'000'000;
    others.selection.look(others.parts());
  }
  CHECK(others.tried.size() == Selection::most_tries);
  CHECK(others.selection.count() == 1);
  CHECK(others.selection.notes().size() == 2);  // one line for it, however often it was tried
}

TEST_CASE("one that lets it in at last is watched, and was late") {
  Others others;
  others.works = false;
  others.selection.look(others.parts());
  others.works = true;
  others.now += Selection::first_wait_ns;
  Selection::Look over = others.parts();
  over.enter = nullptr;  // counting has ended: it is still one that was refused, once
  others.selection.look(over);
  CHECK(others.selection.count() == 1);
  others.selection.look(others.parts());
  CHECK(others.selection.count() == 0);
  CHECK(others.selection.came_late() == 1);
  REQUIRE(others.selection.notes().size() == 1);
  CHECK(others.selection.notes()[0].find("could not be watched at first was watched later") !=
        std::string::npos);
}

TEST_CASE("another process with the id of one that refused is a new one") {
  Others others;
  others.works = false;
  others.selection.look(others.parts());
  others.start = 8;
  others.works = true;
  others.selection.look(others.parts());
  CHECK(others.tried == std::vector{old, old});
  CHECK(others.selection.came_late() == 1);
  CHECK(others.selection.count() == 1);  // the first one was never watched
  others.selection.look(others.parts());
  CHECK(others.selection.count() == 1);
}

TEST_CASE("those that are too young, or gone, are not watched, and told of") {
  Others others;
  const pid_t young = ::fork();
  if (young == 0) {
    ::pause();
    ::_exit(0);
  }
  Selection::Look parts = others.parts();
  parts.present = [&] { return std::vector{young}; };
  others.selection.look(parts);
  CHECK(others.tried.empty());
  CHECK(others.selection.count() == 1);
  ::kill(young, SIGKILL);
  ::waitpid(young, nullptr, 0);
  parts.present = [] { return std::vector<pid_t>{}; };
  others.selection.look(parts);
  CHECK(others.selection.count() == 1);
}

TEST_CASE("when counting has ended, nothing is entered any more") {
  Others others;
  Selection::Look parts = others.parts();
  parts.enter = nullptr;
  others.selection.look(parts);
  CHECK(others.tried.empty());
  CHECK(others.selection.count() == 1);
  CHECK(others.selection.notes()[0].find("not watched") != std::string::npos);
}
