# SPDX-License-Identifier: BSD-2-Clause
"""Stores that profiles are pushed to, as far as memflame speaks with them, made from the public definitions of their
protocols: each reads a request strictly and keeps what is in it."""

import base64
import glob
import gzip
import http.server
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import threading
import urllib.parse

import lib

PROTOS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "protos")


def messages():
    """The modules with the messages of pprof and OTLP; ends the case if they cannot be made here."""
    if not shutil.which("protoc"):
        print("SKIPPED: there is no protoc")
        sys.exit(77)
    folder = lib.path("messages")
    os.makedirs(folder, exist_ok=True)
    subprocess.run(["protoc", "-I", PROTOS, "--python_out", folder, *glob.glob(PROTOS + "/*.proto")], check=True)
    sys.path.insert(0, folder)
    try:
        import otlp_pb2
        import pprof_pb2
    except ImportError as error:
        print(f"SKIPPED: {error}")
        sys.exit(77)
    return pprof_pb2, otlp_pb2


class Keys:
    """A certificate authority for this case, and a certificate of it for 127.0.0.1."""

    def __init__(self, name):
        self.ca, self.certificate, self.key = (lib.path(f"{name}-{part}.pem") for part in ("ca", "cert", "key"))
        ca_key, request, more = lib.path(name + "-ca-key.pem"), lib.path(name + ".csr"), lib.path(name + ".ext")
        with open(more, "w") as file:
            file.write("subjectAltName=IP:127.0.0.1\n")
        new = ["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        for command in ([*new, "-x509", "-days", "2", "-subj", f"/CN={name} CA", "-keyout", ca_key, "-out", self.ca],
                        [*new, "-subj", "/CN=store", "-keyout", self.key, "-out", request],
                        ["openssl", "x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", ca_key,
                         "-CAcreateserial", "-days", "2", "-extfile", more, "-out", self.certificate]):
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


class Store:
    """A server in a thread. `take(path, headers, body)` returns the body of the answer; before that, the statuses of
    `answers` are given, one to each request."""

    def __init__(self, take, keys=None, client_ca=None):
        self.take, self.answers, self.requests, self.failures = take, [], 0, []
        store = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                store.requests += 1
                status, answer = 200, b""
                if store.answers:
                    status, answer = store.answers.pop(0), b"not\x1b[31m now\n"
                else:
                    try:
                        answer = store.take(self.path, self.headers, body)
                    except PermissionError as error:
                        status, answer = 401, str(error).encode()
                    except (Exception, SystemExit) as error:  # what the case did not expect fails it in the end
                        store.failures.append(repr(error))
                        status, answer = 400, repr(error).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *words):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass  # clients that do not like the certificate

        self.server = Server(("127.0.0.1", 0), Handler)
        scheme = "http"
        if keys:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(keys.certificate, keys.key)
            if client_ca:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(client_ca)
            # The handshake belongs into the thread of the connection.
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True,
                                                     do_handshake_on_connect=False)
            scheme = "https"
        self.url = f"{scheme}://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def unpacked(profile, pprof):
    return pprof.Profile.FromString(gzip.decompress(profile))


def pprof_facts(profile):
    """What must not change on the way: sums by column, build ids and addresses by file, and stacks by name."""
    text = profile.string_table
    mappings = {mapping.id: mapping for mapping in profile.mapping}
    functions = {function.id: text[function.name] for function in profile.function}
    locations = {location.id: location for location in profile.location}
    sums = {}
    for i, kind in enumerate(profile.sample_type):
        sums[text[kind.type], text[kind.unit]] = sum(sample.value[i] for sample in profile.sample)
    places = {(location.address, text[mappings[location.mapping_id].filename],
               text[mappings[location.mapping_id].build_id], mappings[location.mapping_id].memory_start,
               mappings[location.mapping_id].memory_limit, mappings[location.mapping_id].file_offset)
              for location in profile.location if location.mapping_id}
    stacks = {tuple(tuple(functions[line.function_id] for line in locations[i].line) or locations[i].address
                    for i in sample.location_id): tuple(sample.value)
              for sample in profile.sample}
    return sums, places, stacks


def form_parts(type, body):
    """The parts of a form by their names (RFC 7578)."""
    kind, boundary = type.split("; boundary=")
    lib.equal("type of a form", kind, "multipart/form-data")
    first, *parts, last = body.split(b"--" + boundary.encode())
    lib.equal("begin and end of a form", (first, last), (b"", b"--\r\n"))
    form = {}
    for part in parts:
        lib.check(part.startswith(b"\r\n") and part.endswith(b"\r\n"), "line ends of a part")
        head, payload = part[2:-2].split(b"\r\n\r\n", 1)
        form[re.search(rb'form-data; name="([^"]*)"', head)[1].decode()] = payload
    return form


class Pyroscope:
    """/ingest: the name has the service and its labels, without quotes; the body is a form."""

    def __init__(self, pprof):
        self.pprof, self.windows = pprof, []

    def __call__(self, path, headers, body):
        address = urllib.parse.urlsplit(path)
        lib.equal("path", address.path, "/ingest")
        query = {name: values[0] for name, values in urllib.parse.parse_qs(address.query, strict_parsing=True).items()}
        name, labels = query["name"].split("{", 1)
        lib.check(labels.endswith("}"), labels)
        labels = dict(label.split("=", 1) for label in labels[:-1].split(","))
        for label in labels:
            lib.check(label.replace("_", "a").replace(".", "a").isalnum(), label)
        form = form_parts(headers["Content-Type"], body)
        lib.equal("parts of the form", sorted(form), ["profile", "sample_type_config"])
        config = json.loads(form["sample_type_config"])
        profile = unpacked(form["profile"], self.pprof)
        self.windows.append({"service": name, "labels": labels, "from": int(query["from"]),
                             "until": int(query["until"]), "config": config, "profile": profile})
        return b""


class Parca:
    """WriteRaw in JSON, as its definition maps the fields to names."""

    def __init__(self, pprof):
        self.pprof, self.windows = pprof, []

    def __call__(self, path, headers, body):
        lib.equal("path", path, "/api/profiles/writeraw")
        lib.equal("type", headers["Content-Type"], "application/json")
        request = json.loads(body)
        lib.equal("fields", set(request), {"series", "normalized"})
        lib.equal("addresses are those of the linker", request["normalized"], True)
        for series in request["series"]:
            pairs = [(label["name"], label["value"]) for label in series["labels"]["labels"]]
            labels = dict(pairs)
            lib.equal("labels with a name of their own", len(labels), len(pairs))
            for sample in series["samples"]:
                profile = unpacked(base64.b64decode(sample["rawProfile"], validate=True), self.pprof)
                for location in profile.location:
                    lib.check(location.mapping_id, "each location has a mapping")
                self.windows.append({"labels": labels, "profile": profile})
        return b"{}"


class Otlp:
    """ExportProfilesServiceRequest: checks that each index is in its table, and each table begins with nothing."""

    def __init__(self, otlp):
        self.otlp, self.profiles, self.rejected = otlp, {}, 0

    def __call__(self, path, headers, body):
        lib.equal("path", path, "/v1development/profiles")
        lib.equal("type", headers["Content-Type"], "application/x-protobuf")
        lib.equal("encoding", headers["Content-Encoding"], "gzip")
        request = self.otlp.Request.FromString(gzip.decompress(body))
        size = request.ByteSize()
        request.DiscardUnknownFields()
        lib.equal("bytes of fields that the definition has", request.ByteSize(), size)
        tables = request.dictionary
        for table in ("mapping", "location", "function", "attribute", "stack"):
            first = getattr(tables, table + "_table")[0]
            lib.equal(f"the first {table}", first, type(first)())
        lib.equal("the first text", tables.string_table[0], "")
        lib.equal("texts that come twice", len(set(tables.string_table)), len(tables.string_table))
        for resource in request.resource_profiles:
            attributes = {pair.key: pair.value.string_value for pair in resource.resource.attributes}
            for scope in resource.scope_profiles:
                lib.equal("who sends", scope.scope.name, "memflame")
                for profile in scope.profiles:
                    lib.equal("length of an id", len(profile.profile_id), 16)
                    self.profiles[profile.profile_id] = (attributes, tables, profile)
        if self.rejected:
            self.rejected -= 1
            return self.otlp.Response(partial_success=self.otlp.PartialSuccess(
                rejected_profiles=7, error_message="too much")).SerializeToString()
        return b""


def otlp_facts(tables, profiles):
    """As pprof_facts() has them."""
    text = tables.string_table

    def attribute(indices, key):
        found = [tables.attribute_table[i].value.string_value for i in indices
                 if text[tables.attribute_table[i].key_strindex] == key]
        return found[0] if found else ""

    sums, stacks = {}, {}
    for column, profile in enumerate(profiles):
        kind = text[profile.sample_type.type_strindex], text[profile.sample_type.unit_strindex]
        sums[kind] = sum(sum(sample.values) for sample in profile.samples)
        for sample in profile.samples:
            names = []
            for i in tables.stack_table[sample.stack_index].location_indices:
                location = tables.location_table[i]
                names.append(tuple(text[tables.function_table[line.function_index].name_strindex]
                                   for line in location.lines) or location.address)
            stacks.setdefault(tuple(names), [0] * len(profiles))[column] += sum(sample.values)
    places = set()
    for location in tables.location_table[1:]:
        if location.mapping_index:
            mapping = tables.mapping_table[location.mapping_index]
            places.add((location.address, text[mapping.filename_strindex],
                        attribute(mapping.attribute_indices, "process.executable.build_id.gnu"),
                        mapping.memory_start, mapping.memory_limit, mapping.file_offset))
    return sums, places, {stack: tuple(values) for stack, values in stacks.items()}
