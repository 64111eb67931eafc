// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <array>
#include <string>

#include "core/error.h"
#include "tests/collapse/tidy/tidy_fixture.h"

using namespace memflame;

namespace {

const std::string small =
    "main;parse;alloc 10\nmain;run;parse;read;parse;free 7\nmain;run 5\nidle 3\n";

std::string error_of_pattern(const std::string& text) {
  try {
    const Pattern pattern("--include", text);
  } catch (const Error& error) {
    CHECK(error.exit_code == ExitCode::usage);
    return error.what();
  }
  return "";
}

std::string error_of_renaming(const std::string& text) {
  try {
    const Renaming renaming(text);
  } catch (const Error& error) {
    CHECK(error.exit_code == ExitCode::usage);
    return error.what();
  }
  return "";
}

Profile with_modules() {
  Profile profile;
  profile.types = {{"bytes", Unit::bytes}};
  const StackId main = profile.push({}, "main", FrameKind::user, "/bin/app");
  const StackId run = profile.push(main, "run", FrameKind::user, "/bin/app");
  const StackId twice = profile.push(run, "once", FrameKind::inlined);
  const StackId inflate = profile.push(twice, "inflate", FrameKind::user, "/lib/libz.so.1");
  const StackId fault = profile.push(inflate, "do_fault", FrameKind::kernel);
  profile.add(fault, std::array<int64_t, 1>{8});
  profile.add(inflate, std::array<int64_t, 1>{4});
  profile.add(run, std::array<int64_t, 1>{2});
  return profile;
}

}  // namespace

TEST_CASE("whole stacks") {
  const Profile kept = keep_matching(profile_of(small), patterns({"^par", "^idle$"}, "--include"));
  CHECK(lines(kept) ==
        Lines{{"main;parse;alloc", 10}, {"main;run;parse;read;parse;free", 7}, {"idle", 3}});
  CHECK(kept.meta.notes.back() == "--include dropped 1 stack, 5");
  const Profile rest = drop_matching(profile_of(small), patterns({"^par", "^idle$"}, "--exclude"));
  CHECK(lines(rest) == Lines{{"main;run", 5}});
  CHECK(rest.meta.notes.back() == "--exclude dropped 3 stacks, 20");
  CHECK(lines(drop_matching(profile_of(small), patterns({"nothing"}))) == lines(profile_of(small)));
}

TEST_CASE("what is dropped is said in its unit") {
  const Profile profile = drop_matching(
      profile_of("# memflame folded unit=bytes value=live total=3145729\na;b 3145728\na;c 1\n"),
      patterns({"b"}, "--exclude"));
  CHECK(profile.meta.notes.back() == "--exclude dropped 1 stack, 3.0 MiB");
}

TEST_CASE("callers off") {
  const Profile from = show_from(profile_of(small), patterns({"^parse$"}, "--show-from"));
  CHECK(lines(from) == Lines{{"parse;alloc", 10}, {"parse;read;parse;free", 7}});
  CHECK(from.meta.notes.back() == "--show-from dropped 2 stacks, 8");
  CHECK(lines(skip_after(profile_of(small), patterns({"^parse$"}))) ==
        Lines{{"parse;alloc", 10}, {"parse;free", 7}, {"main;run", 5}, {"idle", 3}});
}

TEST_CASE("callees off") {
  CHECK(lines(prune(profile_of(small), patterns({"^parse$"}))) ==
        Lines{{"main;parse", 10}, {"main;run;parse", 7}, {"main;run", 5}, {"idle", 3}});
  CHECK(lines(prune_from(profile_of(small), patterns({"^parse$"}))) ==
        Lines{{"main;parse", 10}, {"main;run;parse;read;parse", 7}, {"main;run", 5}, {"idle", 3}});
}

TEST_CASE("frames out") {
  CHECK(lines(hide_frames(profile_of(small), patterns({"^parse$", "idle"}))) ==
        Lines{{"main;alloc", 10}, {"main;run;read;free", 7}, {"main;run", 5}, {"[hidden]", 3}});
  const Profile shown = show_frames(profile_of(small), patterns({"^parse$", "free"}, "--show"));
  CHECK(lines(shown) == Lines{{"parse", 10}, {"parse;parse;free", 7}});
  CHECK(shown.meta.notes.back() == "--show dropped 2 stacks, 8");
}

TEST_CASE("the kernel") {
  const std::string text = "a;b;read_[k];copy_[k] 4\na;b 2\nswapper_[k] 1\n";
  CHECK(lines(hide_kernel(profile_of(text))) == Lines{{"a;b", 6}, {"[hidden]", 1}});
  const Profile kernel = show_kernel(profile_of(text));
  CHECK(lines(kernel) == Lines{{"read_[k];copy_[k]", 4}, {"swapper_[k]", 1}});
  CHECK(kernel.meta.notes.back() == "--only-kernel dropped 1 stack, 2");
}

TEST_CASE("modules") {
  CHECK(lines(keep_matching(with_modules(), patterns({"module:libz"}))) ==
        Lines{{"main;run;once_[i];inflate;do_fault_[k]", 8}, {"main;run;once_[i];inflate", 4}});
  CHECK(lines(modules_as_frames(with_modules(), ModuleFrames::between)) ==
        Lines{{"[app];main;run", 2},
              {"[app];main;run;once_[i];[libz.so.1];inflate", 4},
              {"[app];main;run;once_[i];[libz.so.1];inflate;[kernel];do_fault_[k]", 8}});
  CHECK(lines(modules_as_frames(with_modules(), ModuleFrames::only)) ==
        Lines{{"app", 2}, {"app;libz.so.1", 4}, {"app;libz.so.1;[kernel]_[k]", 8}});
  const Profile none = modules_as_frames(profile_of(small), ModuleFrames::only);
  CHECK(lines(none) == lines(profile_of(small)));
  CHECK(none.meta.notes.back() == "the input does not say which module code is in");
}

TEST_CASE("memory is that of the module that called the allocator") {
  Profile profile;
  profile.types = {{.name = "live", .unit = Unit::bytes}};
  const StackId process = profile.push({}, "app", FrameKind::process);
  const StackId main = profile.push(process, "main", FrameKind::user, "/usr/bin/app");
  const StackId fopen = profile.push(main, "fopen", FrameKind::user, "/lib/libc.so.6");
  const StackId by_main = profile.push(main, "malloc", FrameKind::user, "/lib/libc.so.6");
  const StackId by_fopen = profile.push(fopen, "malloc", FrameKind::user, "/lib/libc.so.6");
  profile.add(by_main, std::array<int64_t, 1>{5});
  profile.add(by_fopen, std::array<int64_t, 1>{7});
  TidyOptions options;
  options.modules = ModuleFrames::only;
  CHECK(lines(tidy(profile, options)) == Lines{{"app;app;libc.so.6", 12}});
  options.blames_module = true;
  const Profile blamed = tidy(profile, options);
  CHECK(lines(blamed) == Lines{{"app;app", 5}, {"app;app;libc.so.6", 7}});
  CHECK(blamed.meta.notes.back() == "memory is that of the module that called the allocator");
  profile.types[0].unit = Unit::nanoseconds;  // of time in malloc()
  CHECK(lines(tidy(profile, options)) == Lines{{"app;app;libc.so.6", 12}});
}

TEST_CASE("modules of the kernel, of code made at run time, and unknown ones") {
  Profile profile;
  profile.types = {{.name = "live", .unit = Unit::bytes}};
  const StackId process = profile.push({}, "node", FrameKind::process);
  const StackId main = profile.push(process, "main", FrameKind::user, "/usr/bin/node");
  const StackId jit = profile.push(main, "f", FrameKind::jit, "/tmp/perf-1.map");
  const StackId again = profile.push(jit, "g", FrameKind::jit, "[anon]");
  const StackId lost = profile.push(again, "[0x12]", FrameKind::unknown);
  const StackId lost_too = profile.push(lost, "h", FrameKind::user);
  const StackId kernel = profile.push(lost_too, "do_fault", FrameKind::kernel, "[kernel.kallsyms]");
  const StackId driver = profile.push(kernel, "write", FrameKind::kernel, "ext4.ko");
  const StackId note = profile.push(driver, "[truncated: x]", FrameKind::note);
  profile.add(note, std::array<int64_t, 1>{5});
  const Profile modules = modules_as_frames(std::move(profile), ModuleFrames::only);
  CHECK(lines(modules) ==
        Lines{{"node;node;[jit];[unknown];[kernel]_[k];ext4.ko_[k];[truncated: x]", 5}});
}

TEST_CASE("other names") {
  CHECK(Renaming("s/^par(.*)$/P\\1/").apply("parse") == "Pse");
  CHECK(Renaming("s|a|b|g").apply("banana") == "bbnbnb");
  CHECK(Renaming("a=b").apply("banana") == "bbnana");
  CHECK(Renaming("s/operator=/assign/").apply("operator=") == "assign");
  CHECK(Renaming("s/.*//").apply("all") == "all");
  CHECK(lines(rename_frames(profile_of(small),
                            {Renaming("^(parse|run)$=work"), Renaming("work=WORK")})) ==
        Lines{{"main;WORK;alloc", 10},
              {"main;WORK;WORK;read;WORK;free", 7},
              {"main;WORK", 5},
              {"idle", 3}});
}

TEST_CASE("processes of one program become one") {
  const std::string header =
      "# memflame folded unit=count value=n total=3\n# memflame roots=process\n";
  CHECK(lines(rename_frames(profile_of(header + "a (pid 1);f 1\na (pid 2);f 2\n"),
                            {Renaming(" \\(pid \\d+\\)=")})) == Lines{{"a;f", 3}});
}

TEST_CASE("what is not understood") {
  CHECK(error_of_pattern("a(") == "--include: 'a(' is not a regular expression: missing ): a(");
  CHECK(error_of_pattern("module:*") ==
        "--include: '*' is not a regular expression: no argument for repetition operator: *");
  CHECK(error_of_renaming("abc") == "--rename takes RE=TEXT or s/RE/TEXT/, not 'abc'");
  CHECK(error_of_renaming("s/a/b") == "--rename takes RE=TEXT or s/RE/TEXT/, not 's/a/b'");
  CHECK(error_of_renaming("s/a/b/c/") == "--rename takes RE=TEXT or s/RE/TEXT/, not 's/a/b/c/'");
  CHECK_FALSE(error_of_renaming("a=\\3").empty());
  CHECK_FALSE(error_of_renaming("(=b").empty());
}

TEST_CASE("bytes that are not text") {
  const Profile profile = profile_of("a\xff;b 1\n\xc3;c 2\n");
  CHECK(lines(keep_matching(profile, patterns({"^a"}))) == Lines{{"a\xff;b", 1}});
}
