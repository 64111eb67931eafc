// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/symbolized.h"

#include <utility>

#include "collapse/history/name_codec.h"
#include "collapse/history/named.h"
#include "collapse/history/reader.h"
#include "collapse/history/run_codec.h"
#include "collapse/source/source.h"

namespace memflame {
namespace {

// What the end of the file says after its names were added: what it said, and what the search for
// names has added since `before`, the recording as it was read.
Recording named_end(const Recording& named, const Meta& end, const Losses& end_losses,
                    const Losses& before, size_t notes_before) {
  Recording result;
  result.meta = end;
  std::erase_if(result.meta.notes,
                [](const std::string& note) { return note.starts_with(names_left_out); });
  const auto& notes = named.meta.notes;
  result.meta.notes.insert(result.meta.notes.end(),
                           notes.begin() + static_cast<ptrdiff_t>(notes_before), notes.end());
  result.losses = end_losses;
  for (size_t i = 0; i < loss_info.size(); ++i) {
    const auto loss = static_cast<Loss>(i);
    result.losses.add(loss, named.losses[loss].events - before[loss].events,
                      named.losses[loss].bytes - before[loss].bytes);
  }
  result.candidates = named.candidates;
  result.shared_names = named.shared_names;
  return result;
}

void count_places(const Recording& recording, NamedFile& into) {
  for (const Location& location : recording.locations) {
    if (location.symbols.empty()) continue;
    ++into.places;
    if (location.symbols.back().kind == FrameKind::unknown) ++into.nameless;
  }
}

}  // namespace

NamedFile with_names(std::string bytes, const std::string& name, const SymbolSources& sources) {
  NamedFile file;
  RecordingState state;
  Source source = Source::of_memory(bytes, name);
  Recording recording = std::move(read_history(source, state).recording);
  if (state.is_damaged) source.fail(recording.meta.notes.front());
  file.had_names = state.has_names;
  const size_t notes_before = recording.meta.notes.size();
  const Losses before = recording.losses;
  name_recording(recording, state, sources);
  count_places(recording, file);
  if (file.had_names) {
    file.bytes = std::move(bytes);
    return file;
  }
  bytes.resize(state.names.byte);
  TextWriter texts(state.names.texts);
  std::vector<RawStackId> stacks;
  for (uint32_t i = 0; i < recording.stacks.size(); ++i) stacks.push_back(RawStackId{i});
  std::vector<Chunk> chunks = name_chunks(recording, stacks, texts);
  if (!state.is_cut) {
    const Recording end = named_end(recording, state.end, state.end_losses, before, notes_before);
    chunks.push_back({.kind = ChunkKind::end, .content = encode_end(end, end.meta)});
  }
  ChunkPacker packer;
  uint64_t number = state.names.chunks;
  for (const Chunk& chunk : chunks) packer.pack(chunk, static_cast<uint16_t>(number++), bytes);
  file.bytes = std::move(bytes);
  file.notes = std::move(recording.meta.notes);
  return file;
}

}  // namespace memflame
