// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/unread_formats.h"

#include <algorithm>
#include <array>

#include "collapse/inputs/text_frame.h"
#include "collapse/source/unpack.h"
#include "collapse/text/byte_set.h"

namespace memflame {
namespace {

using namespace std::string_view_literals;

// The first bytes of a packed file, what packed it and what unpacks it.
struct Packed {
  std::string_view magic, name, command;
};

constexpr std::array packed_formats{
    Packed{"7z\xbc\xaf\x27\x1c", "7-Zip", "7z x -so FILE"},
    Packed{"Rar!\x1a\x07", "rar", "unrar p -inul FILE"},
    Packed{"\x04\x22\x4d\x18", "lz4 more than once", "lz4 -dc FILE"},
    Packed{"\x89LZO", "lzop", "lzop -dc FILE"},
    Packed{"LZIP\x01", "lzip", "lzip -dc FILE"},
    Packed{"]\0\0"sv, "lzma", "xz --format=lzma -dc FILE"},
    Packed{"\x1f\x9d", "compress", "gzip -dc FILE"},
    Packed{"\x1f\x8b", "gzip more than once", "gzip -dc FILE"},
    Packed{"\x28\xb5\x2f\xfd", "zstd more than once", "zstd -dc FILE"},
    Packed{"\xfd"
           "7zXZ\0"sv,
           "xz more than once", "xz -dc FILE"},
    Packed{"PK\x03\x04", "zip more than once", "unzip -p FILE"},
    Packed{"BZh91AY&SY", "bzip2 more than once", "bzip2 -dc FILE"},
    Packed{"MSCF\0\0\0\0"sv, "cab", "cabextract -p FILE"},
};

struct Known {
  std::string_view mark, text;
  size_t at = 0;  // offset of the mark in binary files
};

constexpr std::array binary_formats{
    // POSIX's and GNU's header of the first member; it would be taken for a part of the first line.
    Known{"ustar\0"sv, "a tar archive: unpack it first, as with 'tar -xOf FILE MEMBER'", 257},
    Known{"ustar ", "a tar archive: unpack it first, as with 'tar -xOf FILE MEMBER'", 257},
    Known{"!<arch>\n", "an ar archive: unpack it first, as with 'ar p FILE MEMBER'"},
    Known{"\xed\xab\xee\xdb", "an RPM package"},
    Known{"hsqs", "a squashfs image"},
    Known{"\x7f"
          "ELF",
          "an ELF file: a program, a library or a core dump"},
    Known{"\xcf\xfa\xed\xfe", "a program or library of macOS"},
    Known{"\xca\xfe\xba\xbe", "a Java class or a program of macOS"},
    Known{"MZ\x90\0"sv, "a program or library of Windows"},
    Known{"\0asm"sv, "a WebAssembly module"},
    Known{"\x89PNG\r\n", "a PNG image"},
    Known{"\xff\xd8\xff", "a JPEG image"},
    Known{"GIF8", "a GIF image"},
    Known{"%PDF-", "a PDF document"},
    Known{"SQLite format 3\0"sv, "a SQLite database"},
    Known{"JAVA PROFILE 1.0", "a heap dump of Java, which has no allocation stacks"},
    Known{
        "memray\0"sv,
        "a capture file of memray, which only the same version of memray reads: give the page that "
        "'memray flamegraph FILE' makes of it, or what 'memray stats --json FILE' writes"},
    Known{"Nettrace",
          "a trace of .NET: convert it with 'dotnet-trace convert --format speedscope'"},
    Known{"\x14\0\0\0!FastSerialization.1"sv,
          "a heap dump of .NET (gcdump): read it with 'dotnet-gcdump report FILE'"},
    Known{"gmon\0"sv, "a profile of gprof (gmon.out)"},
    // A header of five words: 0, 3, 0, the period, 0.
    Known{"\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"sv,
          "a CPU profile of gperftools: convert it with 'pprof -proto PROGRAM FILE'"},
};

constexpr std::string_view as_proto =
    ": give the profile itself, or what 'pprof -proto' makes of it";

// The beginning of one of the first lines, blanks skipped.
constexpr std::array text_formats{
    Known{"PeriodType:", "what 'pprof -raw' prints"},
    Known{"Showing nodes accounting for ", "what 'pprof -top' or '-peek' prints"},
    Known{"-----------+---", "what 'pprof -traces' prints"},
    Known{"--- contention", "a contention profile as text: take it without debug=1, as pprof's"},
    Known{"--- mutex:", "a mutex profile as text: take it without debug=1, as pprof's"},
    Known{"--- symbol", "what 'pprof --raw' of gperftools prints"},
    Known{"goroutine profile: total ",
          "a goroutine profile as text: take it without debug, as pprof's"},
    Known{"threadcreate profile: total ",
          "a profile of threads as text: take it without debug, as pprof's"},
    Known{"goroutine 1 [", "what a Go program prints when it ends"},
    Known{"digraph ", "a graph for Graphviz"},
    Known{"creator: callgrind", "a profile of callgrind: for memory use massif or dhat"},
    Known{"# callgrind format", "a profile of callgrind: for memory use massif or dhat"},
    Known{"desc: I1 cache:", "a profile of cachegrind: for memory use massif or dhat"},
    Known{"Massif arguments:", "what ms_print prints: give massif.out.PID itself"},
    Known{"# Overhead ", "what 'perf report' prints: give what 'perf script' prints"},
    Known{"Performance counter stats for ", "what 'perf stat' prints"},
    Known{"SUMMARY (SLAB allocator)", "what 'perf kmem stat' prints: use 'perf script'"},
    Known{"MOST CALLS TO ALLOCATION FUNCTIONS",
          "what heaptrack_print prints: give heaptrack's file itself"},
    Known{"Flat profile:", "what gprof prints"},
    Known{"num     #instances", "a class histogram of Java, which has no stacks"},
    Known{"Active / Total Objects (% used)", "what slabtop prints: give /proc/slabinfo itself"},
};

// Keys that only one kind of JSON has.
constexpr std::array json_formats{
    Known{"\"traceEvents\"", "a trace of Chrome's"},
    Known{"\"ph\":", "a trace of Chrome's"},
    Known{"\"timeDeltas\"", "a CPU profile of V8: speedscope converts it"},
    Known{"\"preprocessedProfileVersion\"", "a profile of Firefox Profiler"},
    Known{"\"geckoProfile", "a profile of Firefox Profiler"},
    Known{"\"flamebearer\"", "a profile of Pyroscope"},
    Known{"\"linux-perf-json-version\"", "perf data as JSON: give perf.data itself"},
};

// Takes "==1234==" off the beginning.
bool take_checked_process(std::string_view& line) {
  if (!line.starts_with("==")) return false;
  const size_t digits = first_not_in(line.substr(2), digit_bytes);
  if (digits == 0 || !line.substr(2 + digits).starts_with("==")) return false;
  line.remove_prefix(4 + digits);
  return true;
}

// "==1234== Helgrind, a thread error detector",
// "==1234==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010 …",
// "WARNING: ThreadSanitizer: data race (pid=1234)".
std::string checker_of(std::string_view line) {
  constexpr std::string_view mark = "Sanitizer: ";
  if (take_checked_process(line) && line.starts_with(' '))
    return "a log of valgrind, which has no figures by stack: run it with --tool=massif, "
           "--tool=dhat, or --leak-check=full";
  if (!line.starts_with("ERROR: ") && !line.starts_with("WARNING: ")) return "";
  const size_t end = line.find(mark);
  const std::string_view name = line.substr(line.find(' ') + 1);
  if (end == std::string_view::npos || name.find(' ') < name.find(mark)) return "";
  std::string_view what = line.substr(end + mark.size());
  for (const std::string_view behind : {" on ", " (", ": ", " in "})
    what = what.substr(0, what.find(behind));
  return "a report of " + std::string(name.substr(0, name.find(':'))) + " (" +
         std::string(what.substr(0, 60)) +
         "), which has no figures by stack: of sanitizers' reports, leaks are read";
}

std::string unread_line(std::string_view line) {
  if (std::string checker = checker_of(line); !checker.empty()) return checker;
  line = trimmed(line);
  const auto* found = std::find_if(text_formats.begin(), text_formats.end(),
                                   [&](const Known& each) { return line.starts_with(each.mark); });
  return found == text_formats.end() ? "" : std::string(found->text);
}

bool is_json(std::string_view head) {
  const auto after = [&](size_t at) {
    const size_t next = head.find_first_not_of(" \t\r\n", at);
    return next == std::string_view::npos ? '\0' : head[next];
  };
  const size_t begin = head.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return false;
  const char next = after(begin + 1);
  // "[unknown];main 1" and "{closure};f 2" are folded.
  return (head[begin] == '{' && next == '"') ||
         (head[begin] == '[' && (next == '{' || next == '"'));
}

std::string unread_json(std::string_view head) {
  for (const Known& known : json_formats)
    if (head.find(known.mark) != std::string_view::npos) return std::string(known.text);
  return "";
}

}  // namespace

std::string unread_binary(std::string_view head) {
  if (is_bytehound_blocks(head)) return "a recording of bytehound, packed: unpack it first";
  for (const Packed& packed : packed_formats)
    if (head.starts_with(packed.magic))
      return "packed with " + std::string(packed.name) + ": unpack it first, as with '" +
             std::string(packed.command) + "'";
  for (const Known& known : binary_formats)
    if (head.substr(std::min(known.at, head.size())).starts_with(known.mark))
      return std::string(known.text);
  return "";
}

std::string unread_text(std::string_view head) {
  if (is_json(head)) return unread_json(head);
  constexpr int first_lines = 60;
  std::string_view line;
  for (int i = 0; i < first_lines && next_line(head, line); ++i)
    if (const std::string text = unread_line(line); !text.empty()) {
      const bool of_pprof = text.find("'pprof -") != std::string::npos;
      return text + std::string(of_pprof ? as_proto : "");
    }
  return "";
}

std::string unread_kind(std::string_view head) {
  if (is_json(head)) return "JSON, but of no format that is read";
  if (head.starts_with("<svg") || (head.starts_with("<?xml") && head.find("<svg") != head.npos))
    return "a picture (SVG) of another tool: draw it from the stacks it was made of";
  if (head.starts_with("<!DOCTYPE html") || head.starts_with("<html"))
    return "a web page, and not one of memflame's";
  if (head.starts_with("<?xml")) return "XML, but of no format that is read";
  if (head.find('\0') != std::string_view::npos) return "a binary file of no format that is read";
  return "";
}

}  // namespace memflame
