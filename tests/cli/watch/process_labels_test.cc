// SPDX-License-Identifier: BSD-2-Clause
#include "cli/watch/process_labels.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "core/error.h"

using namespace memflame;

TEST_CASE("templates of labels") {
  const auto value_of = [](std::string_view name) -> std::string {
    if (name == "unit") return "web.service";
    if (name == "env:VERSION") return "1.2";
    return "";
  };
  CHECK(filled_in("plain", value_of) == "plain");
  CHECK(filled_in("$unit", value_of) == "web.service");
  CHECK(filled_in("a-${env:VERSION}/$unit!", value_of) == "a-1.2/web.service!");
  CHECK(filled_in("5 $$", value_of) == "5 $");
  CHECK(filled_in("v$container", value_of).empty());  // half a label would be a wrong one
  for (const char* good : {"x", "$comm", "${env:A}", "$$x"}) check_template(good);
  for (const char* bad : {"$", "${unit", "$pid", "${env:}", "$Unit"})
    CHECK_THROWS_AS(check_template(bad), Error);
}

TEST_CASE("units and pods in the paths of control groups") {
  CHECK(unit_in("/system.slice/nginx.service") == "nginx.service");
  CHECK(unit_in("/user.slice/user-1000.slice/user@1000.service/app.slice/run-7.scope") ==
        "run-7.scope");
  CHECK(unit_in("/system.slice/a.service/inner") == "a.service");
  CHECK(unit_in("/").empty());
  CHECK(pod_in("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0aa1_22b.slice/"
               "cri-containerd-77.scope") == "0aa1-22b");
  CHECK(pod_in("/kubepods/besteffort/pod0aa1-22b33/77") == "0aa1-22b33");
  CHECK(pod_in("/system.slice/podman.service").empty());
}

TEST_CASE("labels are read once for each space, and inherited where a process is gone") {
  int reads = 0;
  ProcessLabels labels(
      {{"service", "$unit"}, {"version", "${env:V}"}, {"program", "$comm"}, {"rule", "web"}},
      [&](pid_t pid, std::string_view name) -> std::string {
        ++reads;
        if (pid != 1) return "";
        return name == "unit" ? "web.service" : "3";
      });
  Paged<Space> spaces(3);
  spaces[1].pid = 1;
  spaces[1].comm = "web";
  spaces[2].pid = 2;
  spaces[2].comm = "helper";
  spaces[2].forked_from = SpaceId{1};
  labels.learn(spaces);
  CHECK(labels.of(SpaceId{1}) ==
        Labels{{"service", "web.service"}, {"version", "3"}, {"program", "web"}, {"rule", "web"}});
  CHECK(
      labels.of(SpaceId{2}) ==
      Labels{{"service", "web.service"}, {"version", "3"}, {"program", "helper"}, {"rule", "web"}});
  CHECK(labels.of(SpaceId{}) == Labels{{"rule", "web"}});  // what was lost belongs to no process
  const int before = reads;
  labels.learn(spaces);
  CHECK(reads == before);
}

TEST_CASE("values of a process that lives") {
  CHECK_FALSE(process_value(::getpid(), "program").empty());
  CHECK_FALSE(process_value(::getpid(), "user").empty());
  CHECK_FALSE(process_value(::getpid(), "env:PATH").empty());
  CHECK(process_value(::getpid(), "env:NO_SUCH_NAME").empty());
}
