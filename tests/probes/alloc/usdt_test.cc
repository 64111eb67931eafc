// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/custom/usdt.h"

#include <doctest/doctest.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <initializer_list>

#include "core/unique_fd.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint64_t code_address = 0x1000, data_address = 0x3000;
constexpr size_t code_offset = 0x400, data_offset = 0x500, room = 0x100, size = 0x4000;
constexpr size_t notes_offset = 0x1000, names_offset = 0x3800, headers_offset = 0x3900;
constexpr std::string_view names("\0.note.stapsdt\0.stapsdt.base\0.shstrtab\0", 39);

std::string number(uint64_t value, size_t bytes) {
  return {reinterpret_cast<const char*>(&value), bytes};
}
void pad(std::string& text) {
  while (text.size() % 4 != 0) text += '\0';
}

struct Note {
  uint64_t pc = code_address;
  const char* name = "alloc";
  const char* arguments = "8@%rdi 8@%rsi 8@%rdx";
  uint64_t counter = 0;
  uint64_t base = 0;
  const char* provider = "otel_memory";
};

std::string bytes_of(const Note& note) {
  std::string text = number(note.pc, 8) + number(note.base, 8) + number(note.counter, 8);
  for (const char* word : {note.provider, note.name, note.arguments})
    text += word + std::string(1, '\0');
  std::string all = number(8, 4) + number(text.size(), 4) + number(3, 4);
  all += std::string("stapsdt\0", 8) + text;
  pad(all);
  return all;
}

// An ELF file with a page of code, one of data, and these bytes as notes.
UniqueFd file_with(const std::string& notes, uint64_t base = 0, uint64_t said_size = 0) {
  std::string file(size, '\0');
  const auto put = [&](size_t at, const auto& value) {
    std::memcpy(file.data() + at, &value, sizeof(value));
  };
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_phoff = sizeof(header);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  header.e_shoff = headers_offset;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 4;
  header.e_shstrndx = 3;
  put(0, header);
  std::array<Elf64_Phdr, 2> segments{};
  segments[0].p_type = segments[1].p_type = PT_LOAD;
  segments[0].p_flags = PF_R | PF_X;
  segments[0].p_vaddr = code_address;
  segments[0].p_offset = code_offset;
  segments[1].p_flags = PF_R | PF_W;
  segments[1].p_vaddr = data_address;
  segments[1].p_offset = data_offset;
  segments[0].p_filesz = segments[1].p_filesz = room;
  put(sizeof(header), segments);
  std::array<Elf64_Shdr, 4> sections{};
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_NOTE;
  sections[1].sh_offset = notes_offset;
  sections[1].sh_size = said_size != 0 ? said_size : notes.size();
  sections[2].sh_name = 15;
  sections[2].sh_type = SHT_PROGBITS;
  sections[2].sh_addr = base;
  sections[2].sh_size = 1;
  sections[3].sh_name = 29;
  sections[3].sh_type = SHT_STRTAB;
  sections[3].sh_offset = names_offset;
  sections[3].sh_size = names.size();
  put(headers_offset, sections);
  std::memcpy(file.data() + notes_offset, notes.data(), notes.size());
  std::memcpy(file.data() + names_offset, names.data(), names.size());
  UniqueFd fd(::memfd_create("usdt", MFD_CLOEXEC));
  REQUIRE(::write(fd.get(), file.data(), file.size()) == static_cast<ssize_t>(file.size()));
  return fd;
}

UniqueFd file_with(std::initializer_list<Note> notes, uint64_t base = 0) {
  std::string bytes;
  for (const Note& note : notes) bytes += bytes_of(note);
  return file_with(bytes, base);
}

constexpr Note a_free{.pc = code_address + 8, .name = "free", .arguments = "8@%rdi"};

}  // namespace

TEST_CASE("arguments in registers") {
  const auto whole = parse_usdt_argument("8@%rdi");
  REQUIRE(whole);
  CHECK(whole->kind == bpf::usdt_register);
  CHECK(whole->base == 14 * 8);  // struct pt_regs: r15 r14 r13 r12 bp bx r11 … di
  CHECK(whole->bytes == 8);
  CHECK(whole->is_signed == 0);
  const auto half = parse_usdt_argument("-4@%r8d");
  REQUIRE(half);
  CHECK(half->base == 9 * 8);
  CHECK(half->bytes == 4);
  CHECK(half->is_signed == 1);
  CHECK(parse_usdt_argument("1@%al")->base == 10 * 8);
  CHECK(parse_usdt_argument("2@%sp")->base == 19 * 8);
  CHECK(parse_usdt_argument("%rax")->bytes == 8);
}

TEST_CASE("arguments that are constants") {
  CHECK(parse_usdt_argument("8@$24")->value == 24);
  CHECK(parse_usdt_argument("-4@$-9")->value == -9);
  CHECK(parse_usdt_argument("8@$9223372036854775807")->value == INT64_MAX);
  CHECK_FALSE(parse_usdt_argument("8@$9223372036854775808"));
  CHECK_FALSE(parse_usdt_argument("8@$name"));
  CHECK_FALSE(parse_usdt_argument("8@$1x"));
}

TEST_CASE("arguments in memory") {
  const auto frame = parse_usdt_argument("8@-24(%rbp)");
  REQUIRE(frame);
  CHECK(frame->kind == bpf::usdt_memory);
  CHECK(frame->value == -24);
  CHECK(frame->base == 4 * 8);
  CHECK(frame->has_base == 1);
  CHECK(frame->scale == 0);
  const auto indexed = parse_usdt_argument("-2@8(%rsp,%r15,4)");
  REQUIRE(indexed);
  CHECK(indexed->base == 19 * 8);
  CHECK(indexed->index == 0);
  CHECK(indexed->scale == 4);
  CHECK(parse_usdt_argument("8@(%rax)")->value == 0);
  CHECK(parse_usdt_argument("8@(%rax,%rbx)")->scale == 1);
  const auto no_base = parse_usdt_argument("8@1024(,%rcx,8)");
  REQUIRE(no_base);
  CHECK(no_base->has_base == 0);
  CHECK(no_base->scale == 8);
}

TEST_CASE("arguments that cannot be read") {
  for (const char* text : {"",         "8@",         "@%rdi",
                           "3@%rdi",   "16@%rdi",    "8f@%xmm0",
                           "8@%xmm0",  "8@%nothing", "8@name(%rip)",
                           "8@(%rip)", "8@%rdi,",    "8@(%eax)",
                           "8@(%rax",  "8@()",       "8@(%rax,%rbx,3)",
                           "8@%",      "8@(%rax,)",  "8@99999999999(%rax)",
                           "-8@",      "8@%rdi%rsi", "8@$",
                           "0@%rdi"})
    CHECK_MESSAGE(!parse_usdt_argument(text), text);
}

TEST_CASE("a pair, with offsets in the file") {
  const UniqueFd file =
      file_with({Note{.pc = code_address + 4, .counter = data_address + 2}, a_free});
  const UsdtPair pair = find_usdt_pair(file.get());
  CHECK(pair.problems.empty());
  REQUIRE(pair.alloc.size() == 1);
  REQUIRE(pair.free.size() == 1);
  CHECK(pair.alloc[0].offset == code_offset + 4);
  CHECK(pair.alloc[0].counter == data_offset + 2);
  CHECK(pair.alloc[0].site.arguments[2].base == 12 * 8);
  CHECK(pair.free[0].offset == code_offset + 8);
  CHECK(pair.free[0].counter == 0);
}

TEST_CASE("a file that was prelinked") {
  const Note moved{.pc = code_address - 0x500 + 4, .base = 0x2500};
  const UniqueFd file = file_with({moved}, 0x2a00);
  const std::vector<UsdtNote> notes = usdt_notes(file.get(), "otel_memory");
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].offset == code_offset + 4);
}

TEST_CASE("other providers and other names are not the pair") {
  const UniqueFd other = file_with({Note{.provider = "libc"}, a_free, Note{.name = "realloc"}});
  const UsdtPair pair = find_usdt_pair(other.get());
  CHECK_FALSE(pair.offered());
  CHECK(pair.problems == std::vector<std::string>{"otel_memory:free without alloc"});
  const UniqueFd none = file_with({});
  CHECK(find_usdt_pair(none.get()).problems.empty());
}

TEST_CASE("a pair of which one site cannot be read is none") {
  const UniqueFd file = file_with({Note{}, Note{.arguments = "8@%rdi 8f@%xmm0 8@%rsi"}, a_free});
  const UsdtPair pair = find_usdt_pair(file.get());
  CHECK_FALSE(pair.offered());
  REQUIRE(pair.problems.size() == 1);
  CHECK(pair.problems[0] ==
        "otel_memory:alloc has arguments that cannot be read ('8@%rdi 8f@%xmm0 8@%rsi')");
  const UniqueFd fewer = file_with({Note{.arguments = "8@%rdi 8@%rsi"}, a_free});
  CHECK_FALSE(find_usdt_pair(fewer.get()).offered());
}

TEST_CASE("notes that lie") {
  // Invalid code addresses; a counter that is unmapped or read-only.
  for (const Note& note :
       {Note{.pc = data_address}, Note{.pc = code_address + room}, Note{.pc = UINT64_MAX},
        Note{.counter = code_address}, Note{.counter = 0x999999}})
    CHECK(usdt_notes(file_with({note}).get(), "otel_memory").empty());
  // Sizes that leave the section, or the file.
  std::string cut = bytes_of(Note{});
  CHECK(usdt_notes(file_with(cut.substr(0, cut.size() - 8)).get(), "otel_memory").empty());
  CHECK(usdt_notes(file_with(cut, 0, size).get(), "otel_memory").empty());
  std::memset(cut.data(), 0xff, 8);
  CHECK(usdt_notes(file_with(cut).get(), "otel_memory").empty());
  CHECK(usdt_notes(file_with(std::string(100, '\0')).get(), "otel_memory").empty());
  CHECK(usdt_notes(-1, "otel_memory").empty());
  // Texts without a terminating zero.
  std::string endless = bytes_of(Note{});
  std::memset(endless.data() + 44, 'x', endless.size() - 44);
  const std::vector<UsdtNote> found = usdt_notes(file_with(endless).get(), "otel_memory");
  CHECK(found.empty());
}

TEST_CASE("all notes of a full section are read") {
  std::string bytes;
  const std::string one = bytes_of(Note{.arguments = "8@%rdi"});
  while (bytes.size() + one.size() < names_offset - notes_offset) bytes += one;
  CHECK(usdt_notes(file_with(bytes).get(), "otel_memory").size() == bytes.size() / one.size());
}
