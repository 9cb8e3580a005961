#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Arke Authors
# SPDX-License-Identifier: Apache-2.0
"""A binding of the client profile, written from the page in relay/doc.go alone.

usage: attach.py SOCKET serve CLUSTER COUNT | call CLUSTER TEXT | status
                 subscribe PATTERN COUNT | publish TOPIC TEXT | reattach CLUSTER

SOCKET may be HOST:PORT; the token is in ARKE_TOKEN then. It also comes back to a
session whose connection broke. Standard library only.
"""
import hmac, os, socket, struct, sys, threading, time

HELLO, BEAT, GOODBYE, NOTICE, FRAGMENT, ACK = 1, 2, 3, 4, 5, 6
REQUEST, REPLY, PUBLISH, SERVE, SUBSCRIBE, DONE = 32, 33, 48, 56, 57, 59
CTL, RPC, PUB, BULK, RESUME, BEATS = 0, 1, 2, 3, 1, 2
UNCOUNTED, NO_HEADERS = (HELLO, BEAT, GOODBYE, NOTICE, ACK), bytes(2)
OUTCOMES = ("reply,remote error,overloaded,no such member,draining,expired,unauthorized,too large,cancelled,no members,"
            "unreachable,interrupted,deadline,closed,too many,would block,topic,other").split(",")


class Failed(Exception):
    """An outcome other than a reply."""


def s8(text):
    return struct.pack(">B", len(text.encode())) + text.encode()


def take(fmt, data):
    """Returns the fields at the beginning of data, and what follows them."""
    return (*struct.unpack_from(">" + fmt, data), data[struct.calcsize(">" + fmt):])


def take8(data):
    return data[1:1 + data[0]], data[1 + data[0]:]


def body_of(data):
    count, data = take("H", data)
    for _ in range(count):
        size, data = take("H", data[1 + data[0]:])
        data = data[size:]
    return data


class Client:
    """A client that resumes its session. Callbacks run on the reader."""

    def __init__(self, path):
        self.path, self.instance = path, os.urandom(16)
        self.leaf, self.session = bytes(16), 0
        self.lock = threading.Condition()
        self.sent, self.kept, self.received = [0] * 4, [[], [], [], []], [0] * 4
        self.last_id, self.answers, self.handlers, self.subscribers = 0, {}, {}, {}
        self.parts, self.closing, self.resumed = {}, False, 0
        self.attach()
        threading.Thread(target=self.read, daemon=True).start()

    def attach(self):
        host, _, port = self.path.rpartition(":")
        conn = socket.socket(socket.AF_INET if port.isdigit() else socket.AF_UNIX, socket.SOCK_STREAM)
        conn.connect((host, int(port)) if port.isdigit() else self.path)
        stream = conn.makefile("rb")
        proof = self.prove(conn, stream, os.environ["ARKE_TOKEN"].encode()) if port.isdigit() else b""
        hello = struct.pack(">8sHHI16s16sQ4QQII", b"arke-app", 1, 1, RESUME | BEATS, self.instance, self.leaf,
                            self.session, *self.received, time.monotonic_ns(), 0, 0)
        conn.sendall(self.frame(CTL, HELLO, hello + s8("python") + bytes([len(proof)]) + proof))
        _, kind, body = self.next(stream)
        if kind == GOODBYE:
            raise Failed(body[2:].decode())
        _, _, _, leaf, session, *received, _ = take("HI16s16sQ4Q", body)
        with self.lock:
            if self.session and session != self.session:
                raise Failed("the session is lost")  # a real binding would begin anew
            self.resumed += self.session == session
            self.leaf, self.session, self.conn, self.stream = leaf, session, conn, stream
            self.forget(received)
            for frames in self.kept:
                conn.sendall(b"".join(frames))

    def prove(self, conn, stream, token):
        """Has the relay prove that it has the token, and returns our own proof."""
        nonce = os.urandom(32)
        conn.sendall(self.frame(CTL, HELLO, b"arke-key" + nonce))
        theirs, count, proofs = take("32sB", self.next(stream)[2])
        about = nonce + theirs + ("%s:%d" % conn.getpeername()).encode()
        relay, own = (hmac.digest(token, role + about, "sha256") for role in (b"arke relay 1", b"arke client 1"))
        if not any([hmac.compare_digest(relay, proofs[32 * i:32 * i + 32]) for i in range(count)]):
            raise Failed("unauthorized: what listens there does not have the token")
        return own

    def forget(self, counts):
        """Keeps only what the relay has not received."""
        for lane, kept in enumerate(self.kept):
            del kept[:len(kept) - (self.sent[lane] - counts[lane])]

    @staticmethod
    def frame(lane, kind, body):
        return struct.pack(">IB", 1 + len(body), lane << 6 | kind) + body

    @staticmethod
    def next(stream):
        length, head = struct.unpack(">IB", stream.read(5))  # fails if the connection has ended
        body = stream.read(length - 1)
        if len(body) < length - 1:
            raise ConnectionError("the connection ended")
        return head >> 6, head & 63, body

    def send(self, lane, kind, body):
        frame = self.frame(lane, kind, body)
        with self.lock:
            if kind not in UNCOUNTED:
                self.sent[lane] += 1
                self.kept[lane].append(frame)
            try:
                self.conn.sendall(frame)
            except OSError:
                pass  # it is kept, and goes again

    def read(self):
        while not self.closing:
            try:
                lane, kind, body = self.next(self.stream)
            except (OSError, ValueError, struct.error):
                if not self.closing:
                    time.sleep(0.01)
                    self.attach()
                continue
            if kind not in UNCOUNTED:
                self.received[lane] += 1
                if sum(self.received) % 64 == 0:
                    self.send(CTL, ACK, struct.pack(">4Q", *self.received))
            self.handle(kind, body)

    def handle(self, kind, body):
        if kind == FRAGMENT:
            channel, flags, rest = take("IB", body)
            if flags & 1:
                inner, _, rest = take("BI", rest)
                self.parts[channel] = [inner]
            self.parts[channel].append(rest)
            if flags & 2:
                inner, *parts = self.parts.pop(channel)
                self.handle(inner, b"".join(parts))
        elif kind == BEAT:
            want, clock, _, _, _ = take("BQQQ", body)
            if want:
                self.send(CTL, BEAT, struct.pack(">BQQQ", 0, time.monotonic_ns(), clock, 0))
        elif kind == ACK:
            with self.lock:
                self.forget(struct.unpack(">4Q", body))
        elif kind == REPLY:
            number, outcome, *_, rest = take("QBBIIIIBQ", body)  # the last two are of "from"
            self.answer(number, outcome, body_of(take8(rest)[1]))
        elif kind == DONE:
            number, outcome, _, _, value, rest = take("QBBIQ", body)
            self.answer(number, outcome, rest[2:] if outcome else value)
        elif kind == REQUEST:
            number, member, _, _, flags, _, _, rest = take("QQQQBBB", body)
            if flags & 4:
                _, _, networks, rest = take("QQB", take8(rest)[1])
                for _ in range(networks):
                    _, rest = take8(rest)
            reply = self.handlers[member](body_of(rest))
            self.send(RPC, REPLY, struct.pack(">QBBIIII", number, 0, 0, 0, 0, 0, 0) + NO_HEADERS + reply)
        elif kind == PUBLISH:
            topic, rest = take8(take8(body)[1])
            count, rest = take("H", rest)
            for number in struct.unpack(">%dQ" % count, rest[:8 * count]):
                self.subscribers[number](topic.decode(), body_of(rest[8 * count:]))

    def answer(self, number, outcome, what):
        with self.lock:
            self.answers[number] = outcome, what
            self.lock.notify_all()

    def ask(self, lane, kind, number, body, seconds=10):
        self.send(lane, kind, body)
        with self.lock:
            if not self.lock.wait_for(lambda: number in self.answers, seconds):
                raise Failed("no answer")
            outcome, what = self.answers.pop(number)
        if outcome:
            raise Failed(OUTCOMES[outcome] + ": " + what.decode())
        return what

    def id(self):
        with self.lock:
            self.last_id += 1
            return self.last_id

    def serve(self, cluster, handler):
        number = self.id()
        self.handlers[number] = handler
        return self.ask(CTL, SERVE, number, struct.pack(">QQIiIIIiB", number, 0, 0, 0, 0, 0, 0, 0, 1) + s8(cluster))

    def call(self, cluster, body, wait=False):
        number = self.id()
        head = struct.pack(">QQQQBBBBB", number, 0, 0, time.monotonic_ns() + 5 * 10**9, 8, 0, 0, wait, 0)
        return self.ask(RPC, REQUEST, number, head + s8("") + s8(cluster) + NO_HEADERS + body)

    def subscribe(self, pattern, subscriber):
        number = self.id()
        self.subscribers[number] = subscriber
        self.ask(CTL, SUBSCRIBE, number, struct.pack(">QQBII", number, 0, 0, 0, 0) + s8("") + s8(pattern))

    def publish(self, topic, body):
        """Returns how many nodes took it."""
        number = self.id()
        return self.ask(PUB, PUBLISH, number, struct.pack(">QQ", number, 0) + s8(topic) + NO_HEADERS + body)

    def close(self):
        self.closing = True
        self.send(CTL, GOODBYE, struct.pack(">BB", 1, 0))
        self.conn.close()


def main(path, command, *args):
    client, seen = Client(path), threading.Semaphore(0)
    if command == "serve":
        def handler(body):
            seen.release()
            return b"python: " + body[:1000]  # a longer reply would have to be cut
        print("member %016x" % client.serve(args[0], handler), flush=True)
        for _ in range(int(args[1])): seen.acquire()
        time.sleep(0.2)  # the last reply is on its way
    elif command in ("call", "status"):
        cluster, text = args or ("$status", "")
        print(client.call(cluster, text.encode(), wait=command == "call").decode())
    elif command == "subscribe":
        def subscriber(topic, body):
            print(topic, body.decode(), flush=True)
            seen.release()
        client.subscribe(args[0], subscriber)
        print("subscribed", flush=True)
        for _ in range(int(args[1])): seen.acquire()
    elif command == "publish":
        print("nodes", client.publish(args[0], args[1].encode()))
    elif command == "reattach":
        for turn in range(10):
            threading.Timer(0.02, client.conn.shutdown, [socket.SHUT_RDWR]).start()
            assert client.call(args[0], b"turn %d" % turn, wait=True).endswith(b"turn %d" % turn)
            while client.resumed <= turn: time.sleep(0.001)
        print("resumed", client.resumed)
    client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
