// SPDX-License-Identifier: BSD-2-Clause
// Blocks whose pages are touched by known functions: says how many bytes of which block, "FUNCTION
// TOUCHER BYTES" in each line, then "done", and waits for a line on standard input. FUNCTION has
// allocated the block; TOUCHER has touched these bytes' pages first, or says why there is nobody:
// "never", "before", "unattributable".
//
//   first_touch       does all of it
//   first_touch wait  says "ready", and waits for a line first
//   first_touch fork  uses memory in a child that its parent has touched and freed
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifndef MADV_POPULATE_WRITE  // Linux 5.14
#define MADV_POPULATE_WRITE 23
#endif

namespace {

constexpr size_t page = 4096;
constexpr size_t large = 64;  // pages: such a block has a mapping of its own
constexpr size_t small = 25;  // such a block is in the heap

void* volatile sink = nullptr;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "first_touch: %s\n", what);
  _exit(1);
}

void say(const char* allocator, const char* toucher, size_t bytes) {
  char text[100];
  const int length = std::snprintf(text, sizeof(text), "%s %s %zu\n", allocator, toucher, bytes);
  if (length < 0 || ::write(STDOUT_FILENO, text, static_cast<size_t>(length)) != length) _exit(1);
}

void say_pages(const char* allocator, const char* toucher, size_t pages) {
  say(allocator, toucher, pages * page);
}

// At the begin of a page, so that malloc's own data is in another page.
char* kept(void* block) {
  if (block == nullptr || reinterpret_cast<uintptr_t>(block) % page != 0) fail("no such block");
  sink = block;
  return static_cast<char*>(block);
}

void write_pages(volatile char* block, size_t from, size_t to) {
  for (size_t i = from; i < to; ++i) block[i * page] = 1;
}

}  // namespace

extern "C" {

[[gnu::noinline]] void touch_first(volatile char* block, size_t pages) {
  write_pages(block, 0, pages);
}
[[gnu::noinline]] void touch_again(volatile char* block, size_t pages) {
  write_pages(block, 0, pages);
}
[[gnu::noinline]] int look_at(const volatile char* block, size_t pages) {
  int sum = 0;
  for (size_t i = 0; i < pages; ++i) sum += block[i * page];
  return sum;
}
[[gnu::noinline]] void receive(char* block, size_t pages) {
  const int zeros = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  if (::read(zeros, block, pages * page) != static_cast<ssize_t>(pages * page)) fail("no zeros");
  ::close(zeros);
}
[[gnu::noinline]] void* touch_in_thread(void* block) {
  write_pages(static_cast<char*>(block), 0, 7);
  return nullptr;
}

[[gnu::noinline]] char* leave_alone() { return kept(aligned_alloc(page, large * page)); }
[[gnu::noinline]] char* hand_out() { return kept(aligned_alloc(page, large * page)); }
[[gnu::noinline]] char* make_for_reader() { return kept(aligned_alloc(page, large * page)); }
[[gnu::noinline]] char* make_for_kernel() { return kept(aligned_alloc(page, large * page)); }
[[gnu::noinline]] char* populate() { return kept(aligned_alloc(page, large * page)); }
[[gnu::noinline]] char* make_for_thread() { return kept(aligned_alloc(page, large * page)); }
[[gnu::noinline]] char* drop_some() { return kept(aligned_alloc(page, large * page)); }
[[gnu::noinline]] void* make_to_free() { return malloc(small * page); }
[[gnu::noinline]] void* use_again() { return malloc(small * page); }
[[gnu::noinline]] void* begin_small() { return malloc(small * page); }
[[gnu::noinline]] void* grow(void* block) { return std::realloc(block, 2 * small * page); }
[[gnu::noinline]] void malloc_touches() {
  void* const block = malloc(large * page);
  if (reinterpret_cast<uintptr_t>(block) % page != 16) fail("malloc has no mapping for it");
  sink = block;
}

}  // extern "C"

namespace {

void touch_by_hand() {
  leave_alone();
  say_pages("leave_alone", "never", large);

  char* block = hand_out();
  touch_first(block, 10);
  touch_again(block, 20);
  say_pages("hand_out", "touch_first", 10);
  say_pages("hand_out", "touch_again", 10);
  say_pages("hand_out", "never", large - 20);

  // Reading maps a page of zeros, which the write replaces.
  block = make_for_reader();
  look_at(block, 5);
  touch_again(block, 7);
  say_pages("make_for_reader", "look_at", 5);
  say_pages("make_for_reader", "touch_again", 2);
  say_pages("make_for_reader", "never", large - 7);

  block = drop_some();
  touch_first(block, 3);
  if (::madvise(block, 3 * page, MADV_DONTNEED) != 0) fail("madvise");
  touch_again(block, 2);
  say_pages("drop_some", "touch_first", 2);
  say_pages("drop_some", "never", large - 2);
}

void touch_otherwise() {
  char* block = make_for_kernel();
  receive(block, 8);
  say_pages("make_for_kernel", "receive", 8);
  say_pages("make_for_kernel", "never", large - 8);

  block = populate();
  const size_t populated = ::madvise(block, 6 * page, MADV_POPULATE_WRITE) == 0 ? 6 : 0;
  say_pages("populate", "unattributable", populated);
  say_pages("populate", "never", large - populated);

  block = make_for_thread();
  pthread_t thread{};
  if (::pthread_create(&thread, nullptr, touch_in_thread, block) != 0) fail("no thread");
  ::pthread_join(thread, nullptr);
  say_pages("make_for_thread", "touch_in_thread", 7);
  say_pages("make_for_thread", "never", large - 7);

  // malloc writes in front of the block: in its first page, before it returns.
  malloc_touches();
  say("malloc_touches", "malloc", page - 16);
  say("malloc_touches", "never", large * page - (page - 16));
}

void use_the_heap() {
  ::mallopt(M_TOP_PAD, 4 << 20);  // room to grow
  void* const first = make_to_free();
  if (first == nullptr) fail("no such block");
  touch_first(static_cast<char*>(first), small);
  std::free(first);
  sink = use_again();
  if (sink != first) fail("the heap gave another block");
  say_pages("use_again", "before", small);

  // malloc has written in front of the block, which does not begin with a page.
  void* const block = begin_small();
  if (block == nullptr) fail("no such block");
  touch_first(static_cast<char*>(block), 5);
  sink = grow(block);
  if (sink != block || reinterpret_cast<uintptr_t>(block) % page < 16) fail("the block was moved");
  say_pages("grow", "touch_first", 4);
}

// Returns in the child.
void continue_in_child() {
  void* const first = make_to_free();
  if (first == nullptr) fail("no such block");
  touch_first(static_cast<char*>(first), small);
  std::free(first);
  const pid_t child = ::fork();
  if (child < 0) fail("no child");
  if (child > 0) _exit(::waitpid(child, nullptr, 0) == child ? 0 : 1);
  sink = use_again();
  if (sink != first) fail("the heap gave another block");
  say_pages("use_again", "before", small);
}

}  // namespace

int main(int count, char** words) {
  // Otherwise the kernel may give 2 MiB where 4 KiB are touched.
  if (::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0) return 1;
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  char line = 0;
  if (count > 1 && std::strcmp(words[1], "wait") == 0) {
    if (::write(STDOUT_FILENO, "ready\n", 6) != 6 || ::read(STDIN_FILENO, &line, 1) != 1) return 1;
  }
  if (count > 1 && std::strcmp(words[1], "fork") == 0) {
    continue_in_child();
  } else {
    touch_by_hand();
    touch_otherwise();
    use_the_heap();
  }
  if (::write(STDOUT_FILENO, "done\n", 5) != 5) return 1;
  return ::read(STDIN_FILENO, &line, 1) < 0 ? 1 : 0;
}
