// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/eh_frame.h"

#include <doctest/doctest.h>
#include <dwarf.h>

#include <cstring>
#include <string_view>

#include "probes/unwind/frame_program.h"
#include "tests/probes/unwind/frame_fixture.h"

using namespace memflame;                   // NOLINT(google-build-using-namespace): tests only
using namespace memflame::unwind;           // NOLINT(google-build-using-namespace): tests only
using namespace memflame::unwind::fixture;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("each encoding of addresses") {
  struct Case {
    int encoding;
    Builder head;  // begin and size of the code
  };
  // The address stands 8 bytes into the FDE, which follows the CIE.
  const uint64_t at = frames_begin + cie().size() + 8;
  const auto near = static_cast<uint64_t>(code_begin - at);
  Case cases[] = {
      {DW_EH_PE_absptr, Builder().put(code_begin).put(uint64_t{64})},
      {DW_EH_PE_udata8, Builder().put(code_begin).put(uint64_t{64})},
      {DW_EH_PE_udata4, Builder().put(uint32_t{code_begin}).put(uint32_t{64})},
      {DW_EH_PE_uleb128, Builder().raw({0x80, 0xa0, 0x80, 2, 64})},
      {DW_EH_PE_sleb128, Builder().raw({0x80, 0xa0, 0x80, 2, 0xc0, 0})},
      {DW_EH_PE_pcrel | DW_EH_PE_absptr, Builder().put(near).put(uint64_t{64})},
      {DW_EH_PE_pcrel | DW_EH_PE_sdata8, Builder().put(near).put(uint64_t{64})},
      {DW_EH_PE_pcrel | DW_EH_PE_sdata4,
       Builder().put(static_cast<uint32_t>(near)).put(uint32_t{64})},
      {DW_EH_PE_textrel | DW_EH_PE_udata2, Builder().put(uint16_t{0x1000}).put(uint16_t{64})},
      {DW_EH_PE_textrel | DW_EH_PE_sdata2, Builder().put(uint16_t{0x1000}).put(uint16_t{64})},
      {DW_EH_PE_datarel | DW_EH_PE_sdata4,
       Builder().put(static_cast<uint32_t>(code_begin - 0x600000)).put(uint32_t{64})},
  };
  for (const Case& c : cases) {
    CAPTURE(c.encoding);
    Builder head = c.head;
    head.put('\0');
    const Read frames =
        Section(cie(usual, "zR", {c.encoding})).fde(head.bytes, {DW_CFA_def_cfa_offset, 16}).read();
    REQUIRE(frames.malformed == 0);
    REQUIRE(frames.fdes.size() == 1);
    CHECK(frames.fdes[0].start == code_begin);
    CHECK(frames.fdes[0].size == 64);
    CHECK(is(rows_of(frames).at(0), 0, row_rsp, 2));
  }
  // Aligned to 8 from 3 bytes before.
  const Read aligned = [] {
    Section section(cie(usual, "zR", {DW_EH_PE_aligned}));
    const uint64_t unaligned = (frames_begin + section.out.bytes.size() + 8) % 8;
    Builder head;
    for (uint64_t i = unaligned; i % 8 != 0; ++i) head.put('\0');
    head.put(code_begin).put(uint64_t{64}).put('\0');
    return section.fde(head.bytes, {}).read();
  }();
  REQUIRE(aligned.fdes.size() == 1);
  CHECK(aligned.fdes[0].start == code_begin);
  // Indirect, relative to a function, omitted, and an unknown format.
  for (const int encoding : {0x9b, 0x40, 0xff, 0x05}) {
    CAPTURE(encoding);
    const Read frames = Section(cie(usual, "zR", {encoding})).fde({}).read();
    CHECK(frames.fdes.empty());
    CHECK(frames.malformed == 1);
  }
}

TEST_CASE("each augmentation") {
  // A personality, indirect and pc-relative, and the encoding of exception tables.
  const Read cpp = Section(cie(usual, "zPLR", {0x9b, 1, 2, 3, 4, 0x1b, DW_EH_PE_absptr}))
                       .fde(Builder().put(code_begin).put(uint64_t{64}).raw({4, 9, 9, 9, 9}).bytes,
                            {DW_CFA_def_cfa_offset, 16})
                       .read();
  CHECK(cpp.malformed == 0);
  CHECK(is(rows_of(cpp).at(0), 0, row_rsp, 2));
  CHECK(Section(cie(usual, "zRB")).fde({}).read().fdes.size() == 1);
  // Without a personality.
  CHECK(Section(cie(usual, "zPR", {DW_EH_PE_omit, DW_EH_PE_absptr})).fde({}).read().fdes.size() ==
        1);
  const Builder plain = Builder().put(code_begin).put(uint64_t{64});
  CHECK(Section(cie(usual, "", {})).fde(plain.bytes, {}).read().fdes.size() == 1);
  CHECK(Section(cie(usual, "S", {})).fde(plain.bytes, {}).read().cies.at(0).signal);
  // gcc 2: a pointer follows the string at once.
  Builder old;
  old.put(uint32_t{0}).raw({1}).text("eh").put(uint64_t{1234}).raw({1, 0x78, rip}).raw(usual);
  const auto old_cie = Builder().put(static_cast<uint32_t>(old.bytes.size())).add(old.bytes).bytes;
  CHECK(is(rows_of(Section(old_cie).fde(plain.bytes, {}).read()).at(0), 0, row_rsp, 1));

  for (const std::string_view unknown : {"zX", "R", "ehz", "x"}) {
    CAPTURE(unknown);
    const Read frames = Section(cie(usual, unknown)).fde({}).read();
    CHECK(frames.fdes.empty());
    CHECK(frames.malformed == 2);  // the CIE, and the FDE that needs it
  }
}

TEST_CASE("each version") {
  for (const int version : {1, 3, 4})
    CHECK(Section(cie(usual, "zR", {0}, version)).fde({}).read().fdes.size() == 1);
  for (const int version : {0, 2, 5})
    CHECK(Section(cie(usual, "zR", {0}, version)).fde({}).read().malformed == 2);
}

TEST_CASE("malformed entries are left out and counted, the others are read") {
  // The place of the FDE's code is known.
  const auto broken = [](const Section& section) {
    const Read frames = section.read();
    std::vector<row> rows;
    return frames.malformed == 1 && frames.fdes.size() == 1 && frames.fdes[0].start == code_begin &&
           frames.fdes[0].size == 64 && !fde_rows(frames, frames.fdes[0], rows);
  };
  const auto good = [](Section& section) {
    section.fde(Builder().put(code_begin + 256).put(uint64_t{16}).put('\0').bytes, {});
  };
  SUBCASE("an FDE cut short") {
    Section section;
    section.fde(Builder().put(uint32_t{0}).bytes, {});
    good(section);
    const Read frames = section.read();
    CHECK(frames.malformed == 1);
    REQUIRE(frames.fdes.size() == 1);
    CHECK(frames.fdes[0].start == code_begin + 256);
  }
  SUBCASE("too short for a pointer to its CIE") {
    Section section;
    section.out.put(uint32_t{2}).raw({1, 2});
    good(section);
    CHECK(section.read().malformed == 1);
    CHECK(section.read().fdes.size() == 1);
  }
  SUBCASE("an FDE of a CIE that is none, or outside") {
    Section section;
    const uint64_t first = section.out.bytes.size();
    section.fde({});
    section.fde(Builder().put(code_begin).put(uint64_t{16}).put('\0').bytes, {}, first);
    section.fde(Builder().put(code_begin).put(uint64_t{16}).put('\0').bytes, {}, uint64_t{0} - 99);
    good(section);
    CHECK(section.read().malformed == 2);
    CHECK(section.read().fdes.size() == 2);
  }
  SUBCASE("a CIE whose program advances, or remembers without end") {
    CHECK(broken(Section(cie({DW_CFA_advance_loc | 1})).fde({})));
    CHECK(broken(Section(cie({DW_CFA_restore_state})).fde({})));
  }
  SUBCASE("a CIE with more than is understood, behind what is") {
    CHECK(broken(Section(cie(usual, "zRX")).fde({})));
  }
  SUBCASE("an FDE whose augmentation is longer than itself") {
    const Read frames =
        Section().fde(Builder().put(code_begin).put(uint64_t{64}).put('\x20').bytes, {}).read();
    REQUIRE(frames.fdes.size() == 1);
    CHECK(frames.fdes[0].broken);
  }
  SUBCASE("a size that is negative, or more than a table can hold") {
    const auto sized = [](uint64_t size) { return Section().fde({}, size).read(); };
    CHECK(sized(UINT32_MAX).malformed == 0);
    CHECK(sized(uint64_t{1} << 32).malformed == 1);
    CHECK(sized(~uint64_t{0}).malformed == 1);
  }
  SUBCASE("a length beyond the end") {
    Section section;
    section.fde({});
    section.out.put(uint32_t{1000}).put(uint64_t{0});
    CHECK(section.read().malformed == 1);
    CHECK(section.read().fdes.size() == 1);
  }
  SUBCASE("a CIE beyond any sensible size") {
    std::vector<std::byte> large = cie();
    large.resize(2048);  // DW_CFA_nop
    const uint32_t length = 2044;
    std::memcpy(large.data(), &length, sizeof(length));
    CHECK(Section(large).fde({}).read().malformed == 2);
  }
}

TEST_CASE("an entry of length zero ends a section of unknown size, and no other") {
  Section section;
  section.fde({});
  section.out.put(uint32_t{0});
  section.fde({});
  CHECK(section.read(false).fdes.size() == 2);
  CHECK(section.read(true).fdes.size() == 1);
  CHECK(section.read(true).malformed == 0);
}

TEST_CASE("lengths of 64 bits") {
  Section section;
  const std::vector<std::byte> first = section.out.bytes;
  Builder body;
  body.put(static_cast<uint32_t>(first.size() + 12));  // to the CIE, from here
  body.put(code_begin).put(uint64_t{64}).put('\0');
  section.out.put(UINT32_MAX).put(uint64_t{body.bytes.size()}).add(body.bytes);
  CHECK(section.read().malformed == 0);
  CHECK(rows_of(section.read()).size() == 1);
}

TEST_CASE(".debug_frame: CIEs are found by offset, also behind their FDEs") {
  const auto read = [](const Builder& out) {
    Frames frames;
    FrameSection section{out.bytes, 0};
    section.debug = true;
    read_frames(section, frames);
    CHECK(frames.malformed == 0);
    REQUIRE(frames.fdes.size() == 1);
    CHECK(frames.fdes[0].start == code_begin);
    std::vector<row> rows;
    REQUIRE(fde_rows(frames, frames.fdes[0], rows));
    REQUIRE(rows.size() == 1);
    CHECK(is(rows[0], 0, row_rsp, 2));
  };
  Builder head;
  head.put(UINT32_MAX).raw({3, 0, 1, 0x78, rip, DW_CFA_def_cfa, rsp, 16, DW_CFA_offset | rip, 1});
  Builder fde_body;
  fde_body.put(code_begin).put(uint64_t{64});
  Builder out;
  const auto fde_size = static_cast<uint32_t>(4 + fde_body.bytes.size());
  out.put(fde_size).put(uint32_t{fde_size + 4}).add(fde_body.bytes);
  out.put(static_cast<uint32_t>(head.bytes.size())).add(head.bytes);
  read(out);

  Builder wide_head;
  wide_head.put(UINT64_MAX).raw({4, 0, 8, 0, 1, 0x78, rip});
  wide_head.raw({DW_CFA_def_cfa, rsp, 16, DW_CFA_offset | rip, 1});
  Builder wide;
  wide.put(UINT32_MAX).put(uint64_t{wide_head.bytes.size()}).add(wide_head.bytes);
  wide.put(UINT32_MAX).put(uint64_t{8 + fde_body.bytes.size()}).put(uint64_t{0});
  wide.add(fde_body.bytes);
  read(wide);
}

TEST_CASE("any beginning of a section can be read") {
  Section section(cie(usual, "zPLR", {0x9b, 1, 2, 3, 4, 0x1b, DW_EH_PE_absptr}));
  section.fde({DW_CFA_advance_loc1, 3, DW_CFA_def_cfa_expression, 3, 0x76, 0x78, 0x06});
  const std::vector<std::byte> whole = section.out.bytes;
  for (size_t size = 0; size < whole.size(); ++size) {
    section.out.bytes.assign(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    const Read frames = section.read();
    CHECK(frames.fdes.empty());
    CHECK((size < 4 || frames.malformed > 0 || frames.cies.size() == 1));
  }
}
