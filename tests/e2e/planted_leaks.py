# SPDX-License-Identifier: BSD-2-Clause
"""Servers in five languages that lose memory in native code, found while they serve. Each has answered many requests
before memflame attaches. It also allocates as much and more that it frees, or keeps in a cache that is full by then. The
line that is to blame must be the place where most live bytes are, outside of the runtime.

MEMFLAME_PLANTED_REQUESTS=N: requests before memflame attaches (default 300)."""
import http.client
import os
import re
import socket
import subprocess
import time

from lib import Memflame, PATIENCE, check, equal, losses, path, spawn

BEFORE = int(os.environ.get("MEMFLAME_PLANTED_REQUESTS", "300"))  # requests before memflame attaches
DURING = 120
CONNECTIONS = 4  # one after the other

# A compressor of zlib that is never closed has 256 KiB, by malloc.
PYTHON = r'''
import http.server, threading, zlib

kept, cache = [], {}

def compressed(body):
    return zlib.compress(body * 2000)

def remember(number):
    key = number % 40
    if key not in cache:
        cache[key] = bytes(300_000)
    return cache[key]

class Thumbnails:
    def resize(self, image):
        packer = zlib.compressobj()                           # guilty
        kept.append(packer)
        return packer.compress(image)

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        number = int(self.path.split("=")[1])
        remember(number)
        Thumbnails().resize(compressed(b"x"))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *_): pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("port", server.server_port, flush=True)
server.serve_forever()
'''

NODE = r'''
const http = require('http'), zlib = require('zlib');
const sessions = [], cache = new Map();

function compressed(body) { return zlib.deflateSync(Buffer.alloc(200000, body)); }

function cached(number) {
  const key = number % 40;
  if (!cache.has(key)) cache.set(key, Buffer.allocUnsafeSlow(300000));
  return cache.get(key);
}

function openSession(request) {
  const session = {
    url: request.url,
    state: Buffer.allocUnsafeSlow(250000),  // guilty
  };
  sessions.push(session);
  return session;
}

const middleware = [(request) => compressed(request.url), (request) => cached(Number(request.url.split('=')[1])), openSession];
const server = http.createServer(async (request, response) => {
  for (const one of middleware) await one(request);
  response.end('ok');
});
server.listen(0, '127.0.0.1', () => console.log('port', server.address().port));
'''

JAVA = r'''
import com.sun.net.httpserver.*;
import java.net.*;
import java.nio.ByteBuffer;
import java.util.*;
import java.util.concurrent.*;
import java.util.zip.*;

public class Server {
  static final List<Deflater> kept = Collections.synchronizedList(new ArrayList<>());
  static final Map<Integer, ByteBuffer> cache = new ConcurrentHashMap<>();

  static int compressed(String body) {
    Deflater deflater = new Deflater();
    try {
      deflater.setInput(body.repeat(2000).getBytes());
      deflater.finish();
      return deflater.deflate(new byte[100000]);
    } finally {
      deflater.end();
    }
  }

  static ByteBuffer cached(int number) {
    return cache.computeIfAbsent(number % 40, key -> ByteBuffer.allocateDirect(300000));
  }

  static class Exporter {
    int export(byte[] rows) {
      Deflater deflater = new Deflater(Deflater.BEST_SPEED);                       // guilty
      kept.add(deflater);
      deflater.setInput(rows);
      return deflater.deflate(new byte[1000], 0, 1000, Deflater.SYNC_FLUSH);
    }
  }

  public static void main(String[] arguments) throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    server.setExecutor(Executors.newFixedThreadPool(3));
    server.createContext("/", exchange -> {
      String query = exchange.getRequestURI().getQuery();
      compressed(query);
      cached(Integer.parseInt(query.split("=")[1]));
      new Exporter().export(query.getBytes());
      exchange.sendResponseHeaders(200, 2);
      exchange.getResponseBody().write("ok".getBytes());
      exchange.close();
    });
    server.start();
    System.out.println("port " + server.getAddress().getPort());
  }
}
'''

RUBY = r'''
require 'socket'
require 'zlib'

KEPT = []
CACHE = {}

def compressed(body) = Zlib::Deflate.deflate(body * 2000)
def cached(number) = CACHE[number % 40] ||= "x" * 300_000

class Export
  def initialize(rows)
    @rows = rows
  end

  def write
    packer = Zlib::Deflate.new(Zlib::BEST_SPEED)                # guilty
    KEPT << packer
    packer << @rows
  end
end

server = TCPServer.new("127.0.0.1", 0)
puts "port #{server.addr[1]}"
STDOUT.flush
loop do
  Thread.new(server.accept) do |client|
    while (line = client.gets)
      while client.gets&.strip != ""; end
      number = line[/=(\d+)/, 1].to_i
      compressed(line)
      cached(number)
      Export.new(line).write
      client.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    end
  end
end
'''

# Memory of requests is gone when they end. What is left is what native code of an extension keeps.
PHP = r'''<?php
function compressed(string $body): string { return str_repeat($body, 3000); }

class Export {
    public function __construct(private string $rows) {}
    public function write(): void {
        $room = FFI::new("char[250000]", false, true);                  // guilty
        $room[0] = $this->rows[0];
    }
}

$number = (int) $_GET["n"];
compressed("row $number");
$scratch = FFI::new("char[300000]", true, true);
(new Export("row $number"))->write();
echo "ok";
'''


def php(name):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return ["sh", "-c", 'echo port "$0"; exec php -d ffi.enable=1 -S 127.0.0.1:"$0" "$1"', str(port), path(name)]


def java(name):
    subprocess.run(["javac", "-nowarn", "-d", path(""), path(name)], check=True, stderr=subprocess.DEVNULL)
    return ["java", "-cp", path(""), "Server"]


# Name of the source, the program, and its command.
SERVERS = [("app.py", PYTHON, lambda name: ["python3", path(name)]), ("app.js", NODE, lambda name: ["node", path(name)]),
           ("Server.java", JAVA, java), ("app.rb", RUBY, lambda name: ["ruby", path(name)]),
           ("app.php", PHP, php)]
PLACE = re.compile(r" \(([^()]+?):(\d+)\)$")


def wait_for(port):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    check(False, "the server listens")


def ask(port, numbers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    for number in numbers:
        connection.request("GET", f"/?n={number}")
        equal("an answer", connection.getresponse().read(), b"ok")
    connection.close()


def innermost(frames, name):
    """The line of the program that runs innermost, as "function (file:line)"."""
    for frame in reversed(frames):
        place = PLACE.search(frame)
        if place and os.path.basename(place[1]) == name:
            return frame
    return None


for source, program, command in SERVERS:
    with open(path(source), "w", encoding="utf-8") as file:
        file.write(program)
    guilty = next(number for number, line in enumerate(program.splitlines(), 1) if "guilty" in line)
    server = spawn(command(source), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    port = int(server.stdout.readline().split()[1])
    wait_for(port)
    for _ in range(CONNECTIONS):
        ask(port, range(BEFORE // CONNECTIONS))
    memflame = Memflame("alloc", "-p", server.pid)
    ask(port, range(DURING))
    memflame.stop()
    equal(f"{source}: the server lives", server.poll(), None)
    server.kill()
    profile = memflame.profile()
    equal(f"{source}: lost", losses(memflame.summary()), {})
    column, lines, whole = profile.columns.index("live"), {}, 0
    for frames, values in profile.stacks:
        place = innermost(frames, source)
        lines[place] = lines.get(place, 0) + values[column]
        whole += values[column]
    worst = max(lines, key=lines.get)
    listed = sorted(lines.items(), key=lambda line: -line[1])[:4]
    check(worst and PLACE.search(worst)[2] == str(guilty), f"{source}: the worst is {worst}, not line {guilty}: {listed}")
    check(lines[worst] > whole // 2, f"{source}: {lines[worst]} of {whole} bytes in {worst}: {listed}")
    print(f"{source}: {lines[worst]:,} of {whole:,} live bytes in {worst}")
