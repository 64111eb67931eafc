// SPDX-License-Identifier: BSD-2-Clause
// Writes the pictures for the browser tests into a folder: pictures FOLDER.
#include <array>
#include <fstream>
#include <iostream>
#include <map>
#include <random>

#include "core/error.h"
#include "render/output.h"
#include "render/report/report_page.h"
#include "tests/render/report/made_report.h"
#include "tests/render/timeline/made_timeline.h"

namespace memflame {
namespace {

using Path = std::initializer_list<std::pair<std::string_view, FrameKind>>;

constexpr FrameKind process = FrameKind::process, user = FrameKind::user,
                    kernel = FrameKind::kernel, inlined = FrameKind::inlined, jit = FrameKind::jit,
                    unknown = FrameKind::unknown, note = FrameKind::note;

void add(Profile& profile, const Path& path, int64_t bytes, int64_t blocks) {
  StackId top;
  for (const auto& [name, kind] : path)
    top = profile.push(top, name, kind, kind == user ? "/usr/lib/libserver.so.2" : "");
  profile.add(top, std::array{bytes, blocks});
}

// Every kind of frame, in sizes that make a picture worth looking at.
Profile server() {
  Profile p;
  p.types = {{"live", Unit::bytes}, {"live-count", Unit::count}};
  p.meta.command = "memflame alloc -p 812";
  p.meta.host = "web-3";
  p.meta.seconds = 60.02;
  p.meta.reconciliation = {{"VmRSS growth", 124675686, 126249103}};
  const std::string_view handle = "server::Session::handle_request(server::Request const&)";
  const std::string_view parse = "json::Parser::parse_object(std::string_view, json::Arena&)";
  const std::string_view grow =
      "std::vector<std::__cxx11::basic_string<char>, "
      "std::allocator<std::__cxx11::basic_string<char> "
      "> >::_M_realloc_insert";
  add(p, {{"server", process}, {"main", user}, {"event_loop", user}, {handle, user}, {parse, user}},
      30500311, 120031);
  add(p,
      {{"server", process},
       {"main", user},
       {"event_loop", user},
       {handle, user},
       {parse, user},
       {grow, inlined}},
      21004800, 3010);
  add(p,
      {{"server", process},
       {"main", user},
       {"event_loop", user},
       {handle, user},
       {"cache::insert", user},
       {"cache::Entry::Entry", inlined}},
      26214400, 6400);
  add(p,
      {{"server", process},
       {"main", user},
       {"event_loop", user},
       {handle, user},
       {"cache::insert", user},
       {"cache::rehash", user}},
      8388608, 1);
  add(p, {{"server", process}, {"main", user}, {"event_loop", user}, {"log::write", user}}, 2400000,
      4000);
  add(p, {{"server", process}, {"main", user}, {"load_config", user}, {parse, user}}, 1900000, 811);
  add(p, {{"server", process}, {"worker 12", user}, {"compress", user}, {"deflateInit2_", user}},
      9100000, 35);
  add(p, {{"server", process}, {"worker 12", user}, {"LRender;renderTemplate", jit}}, 6500000, 800);
  add(p,
      {{"server", process},
       {"[truncated: no frame pointer]", note},
       {"[libssl.so.3+0x4e21]", unknown},
       {"CRYPTO_malloc", user}},
      7300000, 9100);
  add(p,
      {{"server", process},
       {"main", user},
       {"event_loop", user},
       {"do_syscall_64", kernel},
       {"ksys_read", kernel}},
      4100000, 77);
  add(p, {{"server", process}, {"[lost: ring buffer full]", note}}, 1267567, 310);
  for (int i = 0; i < 400; ++i)
    add(p,
        {{"server", process},
         {"main", user},
         {"event_loop", user},
         {"plugins", user},
         {"plugin_" + std::to_string(i), user},
         {"init", user}},
        1000 + 97 * i, 3);
  p.losses.add(Loss::ring_full, 310, 1267567);
  p.losses.add(Loss::free_miss, 1204);
  p.losses.add(Loss::truncated_no_frame_pointer, 12, 7300000);
  p.meta.notes = {"frees of blocks allocated before the start are not subtracted"};
  return p;
}

Profile pages() {
  Profile p;
  p.types = {{"gained", Unit::pages}, {"released", Unit::pages}};
  p.shown = 0;
  p.meta.command = "memflame fault --comm postgres -d 10";
  p.meta.host = "db-1";
  p.meta.seconds = 10;
  p.meta.reconciliation = {{"VmRSS growth", 126263296, 127107072}};
  add(p,
      {{"postgres", process},
       {"PostgresMain", user},
       {"exec_simple_query", user},
       {"tuplesort_performsort", user}},
      20480, 120);
  add(p,
      {{"postgres", process},
       {"PostgresMain", user},
       {"exec_simple_query", user},
       {"ExecHashJoin", user},
       {"memset", user}},
      9216, 0);
  add(p, {{"postgres", process}, {"PostgresMain", user}, {"InitBufferPool", user}}, 1130, 0);
  add(p, {{"postgres", process}, {"PostgresMain", user}, {"MemoryContextDelete", user}}, -512,
      5120);
  return p;
}

Profile nothing() {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  p.meta.command = "memflame alloc -- true";
  p.meta.host = "web-3";
  p.meta.seconds = 0.03;
  p.losses.add(Loss::live_table_full, 17, 4096);
  return p;
}

Profile many_losses() {
  Profile p = server();
  for (size_t i = 0; i < loss_info.size(); ++i)
    p.losses.add(static_cast<Loss>(i), 1000 * (i + 1), 123457 * static_cast<int64_t>(i + 1));
  p.meta.reconciliation = {{"VmSize growth", 98000000, 120000000},
                           {"[heap] growth", 8000000, 8000000}};
  p.meta.command = "memflame alloc -- ./server";
  for (int i = 0; i < 60; ++i) p.meta.command += " --option-" + std::to_string(i) + "=WWWWWWWW";
  return p;
}

// Names that are code in one language or another, and bytes that are not text.
Profile hostile() {
  Profile p;
  p.types = {{"live", Unit::bytes}, {"\"><script>alert('type')</script>", Unit::count}};
  const std::array<std::string_view, 14> names{
      "<script>alert('name')</script>",
      "]]></script><script>alert('cdata')</script>",
      "\"/><image href=\"x\" onerror=\"alert('attribute')\"/>",
      "</title></svg><script>alert(1)</script>",
      "&lt;b&gt; &amp; &#x41; &nbsp;",
      "javascript:alert('url')",
      "${alert('template')}`+alert(1)+`",
      "control \x01\x02\x1b[31m\x7f\n\t",
      "not UTF-8 \xff\xfe\xc3(\xed\xa0\x80",
      "",
      "right \xe2\x80\xae to left",
      "\xe6\xbc\xa2\xe5\xad\x97\xe3\x81\xae\xe5\x90\x8d\xe5\x89\x8d",
      "\xf0\x9f\x94\xa5\xf0\x9f\x94\xa5\xf0\x9f\x94\xa5 flames e\xcc\x81\xcc\x81\xcc\x81",
      "$& $1 \\u003c <!-- --> %3Cscript%3E"};
  int64_t size = 40000;
  for (const std::string_view name : names) {
    add(p, {{"root", process}, {name, user}}, size, 1);
    add(p, {{"root", process}, {name, user}, {name, inlined}, {"leaf", user}}, size + 1, 1);
    size += 5000;
  }
  p.meta.command = "memflame alloc -- '<script>alert(\"command\")</script>' ]]>";
  p.meta.host = "\"><script>alert('host')</script>";
  p.meta.notes = {"</text><script>alert('note')</script>\x03"};
  return p;
}

Profile deep() {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  StackId top;
  for (int i = 0; i < 2000; ++i) top = p.push(top, "recurse_" + std::to_string(i % 7));
  p.add(top, std::array<int64_t, 1>{100});
  return p;
}

// More than a double holds exactly.
Profile huge() {
  Profile p;
  p.types = {{"total", Unit::bytes}};
  for (const auto& [name, value] : std::map<std::string, int64_t>{
           {"odd", (int64_t{1} << 60) + 1}, {"one", 1}, {"rest", (int64_t{1} << 61) + 3}})
    p.add(p.push(p.push({}, "main"), name), std::array{value});
  return p;
}

// About a hundred thousand boxes.
Profile large() {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  std::minstd_rand random(1);
  for (int i = 0; i < 22000; ++i) {
    StackId top = p.push({}, "main");
    for (int depth = 0; depth < 9; ++depth)
      top = p.push(top, "ns::function_" + std::to_string(random() % (depth < 4 ? 12 : 40)));
    p.add(top, std::array<int64_t, 1>{static_cast<int64_t>(random() % 4096 + 4096)});
  }
  return p;
}

// Two states of one program: new, gone, grown and unchanged stacks.
Profile change() {
  Profile p;
  p.types = {{"before", Unit::bytes}, {"after", Unit::bytes}};
  p.shown = 1;
  const auto both = [&](const Path& path, int64_t before, int64_t after) {
    add(p, path, before, after);
  };
  both({{"app", process}, {"main", user}, {"load", user}}, 4 << 20, 4 << 20);
  both({{"app", process}, {"main", user}, {"cache::insert", user}}, 2 << 20, 6 << 20);
  both({{"app", process}, {"main", user}, {"cache::insert", user}, {"rehash", user}}, 1 << 20, 0);
  both({{"app", process}, {"main", user}, {"old_parser", user}}, 3 << 20, 0);
  both({{"app", process}, {"main", user}, {"new_parser", user}}, 0, 2 << 20);
  return p;
}

// The same function many times, with other functions in between.
Profile in_time() {
  Profile p;
  p.types = {{"live", Unit::bytes}, {"live-count", Unit::count}};
  p.keep_order();
  for (int i = 0; i < 6; ++i)
    add(p, {{"app", process}, {"main", user}, {i % 2 == 0 ? "parse" : "draw", user}},
        1000 + 500 * i, 1);
  return p;
}

// About a million frames, distributed as in real programs: some calls are far more frequent than
// others, stacks are up to forty frames deep, and functions are called from many places.
Profile million() {
  Profile p;
  p.types = {{"live", Unit::bytes}, {"live-count", Unit::count}};
  std::minstd_rand random(7);
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  for (int i = 0; i < 75000; ++i) {
    StackId top = p.push({}, "main");
    uint32_t function = 0;
    const uint32_t depth = 8 + below(8) + below(8) + below(16);
    for (uint32_t level = 0; level < depth; ++level) {
      // What a function calls depends on it; the first of its callees is the likeliest.
      const uint32_t callee = below(12) * below(12) * below(12) / 144;
      function = (function * 31 + callee * 17 + level % 5) % 6000;
      const std::string number = std::to_string(function);
      top = p.push(top, "space" + std::to_string(function % 23) + "::Class" + number +
                            "::function_" + number + "(Class" + number + " const&)");
    }
    p.add(top, std::array<int64_t, 2>{int64_t{16} << below(12), 1});
  }
  return p;
}

using Writer = void (*)(std::ostream& out, const Profile& profile, const RenderOptions& options);

// Functions with source lines; the names of files are as hostile as those of functions.
Profile with_lines() {
  Profile p;
  p.types = {{"live", Unit::bytes}, {"calls", Unit::count}};
  const auto add = [&](uint32_t line, const char* function, const char* file, uint32_t in_it,
                       int64_t live, int64_t calls) {
    const StackId main = p.push({}, "main", FrameKind::user, "/opt/app", "/src/app/main.cc", line);
    p.add(p.push(main, function, FrameKind::user, "/opt/app", file, in_it),
          std::array<int64_t, 2>{live, calls});
  };
  add(10, "parse", "/src/app/reader.cc", 37, 600000, 1);
  add(12, "parse", "/src/app/reader.cc", 41, 300000, 9);
  add(12, "hostile", "/src/</script><b>x\"&]]>.cc", 1, 100000, 1);
  add(13, "bare", "", 0, 50000, 1);
  return p;
}

// A large cache, a leak of 3 % with a hostile name on its way, and one that is too narrow for a
// box.
Profile leaks() {
  Profile p;
  p.types = {{"live", Unit::bytes}, {"live-count", Unit::count}};
  p.meta.command = "memflame alloc -p 812";
  p.meta.seconds = 65;
  const StackId run = p.push(p.push({}, "server", process), "server::run()");
  const auto put = [&](StackId top, int64_t bytes) {
    top = p.push(top, "malloc");
    p.add(top, std::array{bytes, bytes / 512});
    return top;
  };
  const StackId cache =
      put(p.push(p.push(run, "server::handle()"), "server::PageCache::load()"), 20 << 20);
  put(p.push(p.push(run, "server::handle()"), "server::Reply"), 1 << 20);
  const StackId leak =
      put(p.push(p.push(run, "server::handle()"), "server::Journal<\"><script>alert(1)</script>&>"),
          700 << 10);
  const StackId narrow = put(p.push(run, "server::count()"), 5000);
  p.marks = {
      {leak, VerdictKind::leak, true, 19558,
       "leak: 2.0 % of the blocks never come back, 19.1 KiB/s (18.2–20.1), 2,255 survivors, oldest "
       "62 s; others from here live at most 2 s",
       "server::Journal<\"><script>alert(1)</script>&>"},
      {narrow, VerdictKind::leak, true, 200,
       "leak: fewer than 0.1 % of the blocks never come back, 200 B/s", "server::count"},
      {cache, VerdictKind::cache, false, 0,
       "cache or pool: full since 52 s, everything is replaced within 30 s",
       "server::PageCache::load"}};
  return p;
}

// The allocator and containers above what uses them, in files of their own.
Profile allocations() {
  Profile p;
  p.types = {{"live", Unit::bytes}, {"live-count", Unit::count}};
  const auto put = [&](std::initializer_list<const char*> path, int64_t bytes) {
    StackId top = p.push({}, "server", process);
    for (const std::string_view name : path)
      top = p.push(top, name, user,
                   name == "malloc"                   ? "/lib/libc.so.6"
                   : name.starts_with("operator new") ? "/lib/libstdc++.so.6"
                                                      : "/usr/bin/server");
    p.add(top, std::array{bytes, bytes / 512});
  };
  put({"main", "parse", "operator new(unsigned long)", "malloc"}, 8 << 20);
  put({"main", "parse", "void std::vector<int>::_M_realloc_insert<int>(int&&)",
       "operator new(unsigned long)", "malloc"},
      4 << 20);
  put({"main", "load", "malloc"}, 2 << 20);
  put({"main", "load"}, 1 << 20);
  return p;
}

// Functions of Python, and what the interpreter does between them.
Profile interpreted() {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  const auto put = [&](std::initializer_list<const char*> path, int64_t bytes) {
    StackId top;
    for (const std::string_view name : path)
      top = name.find(".py") != std::string_view::npos
                ? p.push(top, name, user, "/srv/app.py", "/srv/app.py", 7)
                : p.push(top, name, user,
                         name == "malloc" ? "/lib/libc.so.6" : "/usr/bin/python3.11");
    p.add(top, std::array{bytes});
  };
  put({"main", "eval", "route (app.py:3)", "call", "eval", "thumb (app.py:9)", "resize", "malloc"},
      6 << 20);
  put({"main", "eval", "route (app.py:3)", "sort", "eval", "key (app.py:5)", "malloc"}, 1 << 20);
  put({"main", "eval", "route (app.py:3)", "sort", "malloc"}, 2 << 20);
  return p;
}

void write(const std::string& path, const Profile& profile, const RenderOptions& options,
           Writer writer) {
  std::ofstream file(path, std::ios::binary);
  writer(file, profile, options);
  file.close();
  if (!file) throw Error("cannot write " + path);
}

void write(const std::string& folder, const std::string& name, const Profile& profile,
           const RenderOptions& options) {
  write(folder + "/" + name + ".svg", profile, options, write_svg);
  write(folder + "/" + name + ".html", profile, options, write_html);
}

void write(const std::string& path, const Report& report, const ReportLooks& looks = {}) {
  std::ofstream file(path, std::ios::binary);
  write_report(file, report, looks);
  file.close();
  if (!file) throw Error("cannot write " + path);
}

void write_all(const std::string& folder) {
  write(folder, "flame", server(), {});
  write(folder, "icicle", server(), {.title = "What the server keeps", .icicle = true});
  write(folder, "pages", pages(), {.palette = "fault"});
  write(folder, "nothing", nothing(), {});
  write(folder, "losses", many_losses(), {});
  write(folder, "ground", many_losses(), {.background = "#a0a0a0"});
  write(folder, "hostile", hostile(), {.title = "<script>alert('title')</script>]]>"});
  write(folder, "deep", deep(), {});
  write(folder, "huge", huge(), {});
  write(folder, "large", large(), {});
  write(folder, "change", change(), {.palette = "diff", .diff_width = WidthOf::larger});
  write(folder, "time", in_time(), {.order = Neighbours::by_time});
  write(folder, "leaks", leaks(), {});
  write(folder, "leaks-icicle", leaks(), {.icicle = true});
  write(folder, "blame", allocations(), {});
  write(folder, "interpreter", interpreted(), {});
  write(folder, "lines", with_lines(), {});
  write(folder, "by-line", with_lines(), {.lines = true});
  write(folder + "/few.svg", large(), {.max_boxes = 60}, write_svg);
  // With boxes for a part of the frames; the HTML page of the same name has all.
  write(folder + "/few-flame.svg", server(), {.max_boxes = 8}, write_svg);
  write(folder + "/few-change.svg", change(),
        {.palette = "diff", .max_boxes = 1, .diff_width = WidthOf::larger}, write_svg);
  write(folder + "/few-time.svg", in_time(), {.max_boxes = 1, .order = Neighbours::by_time},
        write_svg);
  write(folder + "/few-huge.svg", huge(), {.max_boxes = 0}, write_svg);
  write(folder + "/million.svg", million(), {}, write_svg);
  write(folder + "/million.html", million(), {}, write_html);
  for (const char* format : {"svg", "html"})
    std::ofstream(folder + "/timeline." + format, std::ios::binary) << written(format);
  write(folder + "/report.html", made_report());
  write(folder + "/report-icicle.html", made_report(), {.icicle = true});
  write(folder + "/report-changes.html", made_changes());
  write(folder + "/report-interpreter.html", made_interpreted_report());
  write(folder + "/report-large.html", made_large_report());
  write(folder + "/report-huge.html", made_huge_report());
  for (const char* palette : {"leak", "fault", "hot", "io", "red", "orange", "aqua", "blue"})
    write(folder + "/palette-" + palette + ".svg", server(), {.palette = palette}, write_svg);
}

}  // namespace
}  // namespace memflame

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "Usage: pictures FOLDER\n";
    return 2;
  }
  try {
    memflame::write_all(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << "pictures: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
