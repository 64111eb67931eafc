// SPDX-License-Identifier: BSD-2-Clause
#include "probes/system/cgroups.h"

#include <doctest/doctest.h>

#include <string>

using namespace memflame;

namespace {

const std::string id_a = "a1b2" + std::string(60, '0');
const std::string id_b = std::string(60, 'f') + "0123";

// What is found, and where: "ID at PATH".
std::string found_in(std::string path) {
  const std::string id = container_in(path);
  return id.empty() ? "none" : id + " at " + path;
}

}  // namespace

TEST_CASE("the mount of cgroup v2 is found wherever it is") {
  const CgroupMount mount = cgroup2_mount(
      "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
      "41 31 0:38 /docker/web /sys/fs/cgroup/part rw - cgroup2 cgroup2 rw\n"
      "42 31 0:38 / /mnt/my\\040cgroups rw,relatime shared:4 master:1 - cgroup2 none rw\n");
  CHECK(mount.point == "/mnt/my cgroups");
  CHECK(mount.root == "/");
  CHECK(cgroup2_mount("35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw").point.empty());
  CHECK(cgroup2_mount("").point.empty());
}

TEST_CASE("ids of containers are found in the paths that runtimes make") {
  for (const std::string before :
       {"/docker/", "/system.slice/docker-", "/machine.slice/libpod-",
        "/kubepods/besteffort/pod12-34/", "/kubepods.slice/kubepods-pod1_2.slice/cri-containerd-",
        "/kubepods.slice/kubepods-pod1_2.slice/crio-"}) {
    const std::string folder = before + id_a;
    CHECK(found_in(folder) == id_a + " at " + folder);
    CHECK(found_in(folder + ".scope") == id_a + " at " + folder + ".scope");
    CHECK(found_in(folder + ".scope/init/app") == id_a + " at " + folder + ".scope");
  }
  CHECK(found_in("/docker/" + id_a + "/docker/" + id_b) ==
        id_b + " at /docker/" + id_a + "/docker/" + id_b);
}

TEST_CASE("what only looks like a container is none") {
  CHECK(found_in("/machine.slice/libpod-conmon-" + id_a + ".scope") == "none");
  CHECK(found_in("/kubepods.slice/crio-conmon-" + id_a + ".scope") == "none");
  CHECK(found_in("/docker/" + id_a.substr(1)) == "none");
  CHECK(found_in("/docker/" + id_a + "0") == "none");
  CHECK(found_in("/docker/A" + id_a.substr(1)) == "none");
  CHECK(found_in("/system.slice/nginx.service") == "none");
  CHECK(found_in("/") == "none");
  CHECK(found_in("") == "none");
}

TEST_CASE("a process's path in cgroup v2 is that of its line 0") {
  CHECK(cgroup2_path("9:name=systemd:/a\n4:memory:/b\n0::/c/d\n") == "/c/d");
  CHECK(cgroup2_path("0::/\n") == "/");
  CHECK(cgroup2_path("4:memory:/b\n").empty());
}

TEST_CASE("the folder of a path, below a mount that shows a part of the hierarchy") {
  CHECK(folder_of({"/sys/fs/cgroup", "/"}, "/a/b") == "/sys/fs/cgroup/a/b");
  CHECK(folder_of({"/cg", "/a"}, "/a/b") == "/cg/b");
  CHECK(folder_of({"/cg", "/a"}, "/a") == "/cg");
  CHECK(folder_of({"/cg", "/a"}, "/ab/c") == "/cg/ab/c");  // another one's, whose name begins alike
}
