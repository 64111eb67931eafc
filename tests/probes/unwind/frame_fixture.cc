// SPDX-License-Identifier: BSD-2-Clause
#include "tests/probes/unwind/frame_fixture.h"

#include "probes/unwind/frame_program.h"

namespace memflame::unwind::fixture {

std::vector<std::byte> cie(Raw program, std::string_view augmentation, Raw data, int version) {
  Builder body;
  body.put(uint32_t{0}).raw({version}).text(augmentation);
  if (version == 4) body.raw({8, 0});
  body.raw({1, 0x78, rip});  // code alignment 1, data alignment -8, return address register
  if (augmentation.starts_with('z')) body.raw({static_cast<int>(data.size())});
  body.raw(data).raw(program);
  return Builder().put(static_cast<uint32_t>(body.bytes.size())).add(body.bytes).bytes;
}

std::vector<row> rows_of(const Frames& frames, size_t index) {
  REQUIRE(frames.fdes.size() > index);
  std::vector<row> rows;
  REQUIRE(fde_rows(frames, frames.fdes[index], rows));
  return rows;
}

std::vector<row> rows_of(Raw program) { return rows_of(Section().fde(program).read()); }

bool malformed(Raw program) {
  const Section section = Section().fde(program);
  const Read frames = section.read();
  REQUIRE(frames.fdes.size() == 1);
  std::vector<row> rows;
  return !fde_rows(frames, frames.fdes[0], rows);
}

bool is(const row& r, uint32_t pc, int kind, int cfa, int saved) {
  return r.pc == pc && r.kind == kind && static_cast<int16_t>(r.cfa) == static_cast<int16_t>(cfa) &&
         r.rbp == saved;
}

bool only(Raw program, int kind, int cfa, int saved) {
  const auto rows = rows_of(program);
  return rows.size() == 1 && is(rows[0], 0, kind, cfa, saved);
}

}  // namespace memflame::unwind::fixture
