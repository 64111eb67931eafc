// SPDX-License-Identifier: BSD-2-Clause
import java.lang.reflect.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.*;
import java.util.stream.*;

public class Frames {
  static final long SIZE = BLOCK_BYTES;
  static final sun.misc.Unsafe UNSAFE;
  static {
    try {
      Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
      field.setAccessible(true);
      UNSAFE = (sun.misc.Unsafe) field.get(null);
    } catch (ReflectiveOperationException wrong) {
      throw new Error(wrong);
    }
  }
  static final StackWalker WALKER = StackWalker.getInstance(StackWalker.Option.SHOW_HIDDEN_FRAMES);
  static final Map<String, Integer> seen = new ConcurrentHashMap<>();
  static final ThreadLocal<Random> random = new ThreadLocal<>();
  static boolean yields;

  static void mark() {
    StringBuilder text = new StringBuilder();
    WALKER.forEach(frame -> text.append(frame.getClassName().replaceFirst("/0x.*", "")).append('.')
      .append(frame.getMethodName()).append('|').append(frame.getFileName()).append('|')
      .append(frame.getLineNumber()).append(';'));
    seen.merge(text.toString(), 1, Integer::sum);
    UNSAFE.freeMemory(UNSAFE.allocateMemory(SIZE));
  }

  interface Kind { void run(int[] path, int at); }
  static final List<Kind> kinds = new ArrayList<>();

  static void step(int[] path, int at) {
    if (yields && random.get().nextInt(8) == 0) Thread.yield();
    if (at == path.length) mark();
    else kinds.get(path[at]).run(path, at + 1);
  }

  static abstract class Shape { abstract void call(int[] path, int at); }
  static class Square extends Shape { void call(int[] path, int at) { step(path, at); } }
  static class Circle extends Shape {
    void call(int[] path, int at) {
      int unused = path.length;
      step(path, at);
    }
  }
  static class Late extends Shape {
    void call(int[] path, int at) {


      step(path, at);
    }
  }
  static volatile boolean late;
  static Shape[] shapes = {new Square(), new Circle()};

  static void recurse(int left, int[] path, int at) {
    if (left == 0) step(path, at);
    else recurse(left - 1, path, at);
  }
  static int many(int a, int b, int c, int d, int e, int f, long g, double h, int i, int j, int[] path, int at) {
    step(path, at);
    return a + b + c + d + e + f + (int) g + (int) h + i + j;
  }
  static synchronized void locked(int[] path, int at) { step(path, at); }
  static <T> void generic(T value, int[] path, int at) { step(path, at); }
  static void thrown(int[] path, int at) {
    try {
      if (path.length >= 0) throw new IllegalStateException();
    } catch (IllegalStateException expected) {
      step(path, at);
    } finally {
      random.get();
    }
  }
  static void looping(int[] path, int at) {
    for (int i = 0; i < 3; ++i)
      if (i == 1)
        step(path, at);
  }
  static class Made {
    Made(int[] path, int at) { step(path, at); }
  }
  public static void reflected(int[] path, int at) { step(path, at); }
  static final Method method;
  static {
    try {
      method = Frames.class.getMethod("reflected", int[].class, int.class);
    } catch (ReflectiveOperationException wrong) {
      throw new Error(wrong);
    }
  }

  static {
    kinds.add(Frames::step);
    kinds.add((path, at) -> step(path, at));
    kinds.add(new Kind() { public void run(int[] path, int at) { step(path, at); } });
    kinds.add((path, at) -> recurse(path.length * 3, path, at));
    kinds.add((path, at) -> shapes[path[at - 1] & 1].call(path, at));
    kinds.add((path, at) -> { Shape[] all = shapes; all[random.get().nextInt(all.length)].call(path, at); });
    kinds.add((path, at) -> many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, path, at));
    kinds.add((path, at) -> generic("", path, at));
    kinds.add(Frames::thrown);
    kinds.add(Frames::looping);
    kinds.add((path, at) -> new Made(path, at));
    kinds.add((path, at) -> Stream.of(1).map(each -> { step(path, at); return each; }).collect(Collectors.toList()));
    kinds.add((path, at) -> IntStream.range(0, 2).filter(each -> each > 0).forEach(each -> step(path, at)));
    kinds.add((path, at) -> List.of(2, 1).stream().sorted((a, b) -> { step2(path, at, a); return a - b; }).count());
    kinds.add((path, at) -> new TreeMap<Integer, Integer>(Comparator.comparing(each -> each)).computeIfAbsent(1, each -> {
      step(path, at);
      return each;
    }));
    kinds.add((path, at) -> new ArrayList<>(List.of(1)).forEach(each -> step(path, at)));
    kinds.add((path, at) -> {
      try {
        method.invoke(null, path, at);
      } catch (ReflectiveOperationException wrong) {
        throw new Error(wrong);
      }
    });
    kinds.add((path, at) -> {
      Kind proxy = (Kind) Proxy.newProxyInstance(Frames.class.getClassLoader(), new Class<?>[] {Kind.class},
        (self, called, arguments) -> { step((int[]) arguments[0], (Integer) arguments[1]); return null; });
      proxy.run(path, at);
    });
    kinds.add((path, at) -> java.security.AccessController.doPrivileged((java.security.PrivilegedAction<Object>) () -> {
      step(path, at);
      return null;
    }));
    kinds.add((path, at) -> new ForkJoinTaskOf(path, at).invoke());
  }
  static void step2(int[] path, int at, int which) { if (which == 1) step(path, at); }
  static class ForkJoinTaskOf extends RecursiveAction {
    final int[] path;
    final int at;
    ForkJoinTaskOf(int[] path, int at) { this.path = path; this.at = at; }
    protected void compute() { step(path, at); }
  }

  static void work(int seed, int count) {
    Random numbers = new Random(seed);
    random.set(numbers);
    for (int i = 0; i < count; ++i) {
      int[] path = new int[1 + numbers.nextInt(6)];
      for (int j = 0; j < path.length; ++j) path[j] = numbers.nextInt(kinds.size());
      step(path, 0);
      // What compiled code has taken for granted is no longer true.
      if (i == count / 2) shapes = new Shape[] {new Square(), new Circle(), new Late()};
    }
  }

  public static void main(String[] arguments) throws Exception {
    int count = Integer.parseInt(arguments[0]);
    boolean virtual = arguments.length > 2;
    yields = virtual && arguments[2].equals("yields");
    System.out.println("ready");
    System.in.read();
    if (yields) {  // collections move what is in the heap
      Thread collector = new Thread(() -> {
        while (true) System.gc();
      });
      collector.setDaemon(true);
      collector.start();
    }
    Thread[] threads = new Thread[2];
    for (int i = 0; i < threads.length; ++i) {
      int seed = i + 1;
      Runnable worker = () -> work(seed, count);
      if (virtual) {  // Java 21 and later
        threads[i] = (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, worker);
      } else {
        threads[i] = new Thread(worker, "worker-" + i);
        threads[i].start();
      }
    }
    if (!virtual) work(0, count);
    for (Thread each : threads) each.join();
    List<String> lines = new ArrayList<>();
    seen.forEach((stack, times) -> lines.add(times + " " + stack));
    Files.write(Path.of(arguments[1]), lines);
    System.out.println("done");
    System.in.read();
    System.in.read();
  }
}
