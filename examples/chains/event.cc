// SPDX-License-Identifier: BSD-2-Clause
#include "examples/chains/event.h"

#include <malloc.h>

#include <cstring>

#include "examples/truth/report.h"

namespace chain {
namespace {

struct Name {
  const char* word;
  Kind kind;
};
constexpr Name names[] = {{"alloc", Kind::alloc},
                          {"brk", Kind::brk},
                          {"mmap", Kind::mmap},
                          {"fault", Kind::fault},
                          {"large", Kind::large}};

char* pages = nullptr;

}  // namespace

Kind kind_named(const char* word) {
  for (const Name& name : names)
    if (std::strcmp(name.word, word) == 0) return name.kind;
  truth::fail("the first argument has to be alloc, brk, mmap, fault or large");
}

void choose(Kind wanted) {
  // A fixed limit, or freeing a large block once would make the next come from the heap.
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  if (pages == nullptr) {
    void* const block = mmap(nullptr, fresh_pages * page_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) truth::fail("no pages to write to");
    madvise(block, fresh_pages * page_bytes, MADV_NOHUGEPAGE);
    pages = static_cast<char*>(block);
  }
  renew_pages();
  kind = wanted;
}

void renew_pages() {
  if (fresh_page != nullptr && static_cast<size_t>(fresh_page - pages) > fresh_pages * page_bytes)
    truth::fail("more events than pages");
  madvise(pages, fresh_pages * page_bytes, MADV_DONTNEED);
  fresh_page = pages;
}

void state(const char* leaf, const char* callers, int64_t events) {
  truth::chain(leaf, callers);
  if (events == 0) return;
  switch (kind) {
    case Kind::none:
      break;
    case Kind::alloc:
      truth::state("functions", leaf, "total_count", events);
      break;
    case Kind::brk:  // up and down
      truth::state("functions", leaf, "calls", 2 * events);
      break;
    case Kind::mmap:
      truth::state("functions", leaf, "calls", events);
      break;
    case Kind::large:
      truth::state("functions", leaf, "calls", events);
      truth::state("functions", leaf, "total_count", events);
      truth::state("functions", leaf, "gained", events);  // the page with the block's size
      break;
    case Kind::fault:
      truth::state("functions", leaf, "minor", events);
      truth::state("functions", leaf, "gained", events);
      break;
  }
}

}  // namespace chain
