#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Arke Authors
# SPDX-License-Identifier: Apache-2.0
"""A binding of the client profile, written from the page in relay/doc.go alone.

usage: attach.py SOCKET serve CLUSTER COUNT | call CLUSTER < LINES
                 subscribe PATTERN COUNT | publish TOPIC TEXT | reattach CLUSTER

SOCKET may be HOST:PORT; the token is in ARKE_TOKEN then. Standard library only.
"""
import contextlib, hmac, os, random, socket, struct, sys, threading, time

HELLO, BEAT, GOODBYE, NOTICE, FRAGMENT, ACK = 1, 2, 3, 4, 5, 6
REQUEST, REPLY, PUBLISH, SERVE, SUBSCRIBE, DONE = 32, 33, 48, 56, 57, 59
CTL, RPC, PUB, BULK, RESUME, BEATS = 0, 1, 2, 3, 1, 2
UNCOUNTED, LASTING, NO_HEADERS = (HELLO, BEAT, GOODBYE, NOTICE, ACK), (SERVE, SUBSCRIBE), bytes(2)
DRAINING, INTERRUPTED, DEADLINE, UNREAD = 4, 11, 12, 1 << 64


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
    """A client that comes back to its session, or to a new one. Callbacks run on the reader."""

    def __init__(self, path):
        self.path, self.instance, self.lock = path, os.urandom(16), threading.Condition()
        self.leaf, self.resumed, self.closing = bytes(16), 0, False
        self.last_id, self.asked, self.answers, self.written = 0, {}, {}, None
        self.begin(0)
        self.attach()
        threading.Thread(target=self.read, daemon=True).start()

    def attach(self):
        host, _, port = self.path.rpartition(":")
        conn = socket.socket(socket.AF_INET if port.isdigit() else socket.AF_UNIX, socket.SOCK_STREAM)
        conn.connect((host, int(port)) if port.isdigit() else self.path)
        proof = self.prove(conn, os.environ["ARKE_TOKEN"].encode()) if port.isdigit() else b""
        hello = struct.pack(">8sHHI16s16sQ4QQII", b"arke-app", 1, 1, RESUME | BEATS, self.instance, self.leaf,
                            self.session, *self.received, time.monotonic_ns(), 0, 0)
        conn.sendall(self.frame(CTL, HELLO, hello + s8("python") + bytes([len(proof)]) + proof))
        _, kind, body = self.next(conn)
        if kind == GOODBYE:
            raise ConnectionError(body[2:].decode())
        _, _, _, leaf, session, *received, _ = take("HI16s16sQ4Q", body)
        with self.lock:
            self.leaf, self.conn = leaf, conn
            if session != self.session:
                return self.begin(session)
            self.resumed += 1
            self.forget(received)
            self.written = list(self.sent)
            conn.sendall(b"".join(sum(self.kept, [])))

    def begin(self, session):
        """Begins a session, which knows nothing: asks again for what lasts, or was not written."""
        written, self.written, self.sent, self.received = self.written, [0] * 4, [0] * 4, [0] * 4
        self.session, self.kept, self.parts = session, [[], [], [], []], {}
        for number, (place, lane, kind, body, callback) in list(self.asked.items()):
            if kind in LASTING or place > written[lane]:
                self.asked[number] = self.send(lane, kind, body), lane, kind, body, callback
            else:
                self.answer(number, INTERRUPTED, b"the relay was lost")
            if kind == SUBSCRIBE:  # nobody knows what it has missed
                callback("", b"of unknown size")

    def prove(self, conn, token):
        """Has the relay prove that it has the token, and returns our own proof."""
        nonce = os.urandom(32)
        conn.sendall(self.frame(CTL, HELLO, b"arke-key" + nonce))
        theirs, count, proofs = take("32sB", self.next(conn)[2])
        about = nonce + theirs + ("%s:%d" % conn.getpeername()).encode()
        relay, own = (hmac.digest(token, role + about, "sha256") for role in (b"arke relay 1", b"arke client 1"))
        if not any([hmac.compare_digest(relay, proofs[32 * i:32 * i + 32]) for i in range(count)]):
            raise ConnectionError("unauthorized: what listens there does not have the token")
        return own

    def forget(self, counts):
        """Keeps only what the relay has not received."""
        for lane, kept in enumerate(self.kept):
            del kept[:len(kept) - (self.sent[lane] - counts[lane])]

    def frame(self, lane, kind, body):
        return struct.pack(">IB", 1 + len(body), lane << 6 | kind) + body

    def next(self, conn):
        length, head = struct.unpack(">IB", conn.recv(5, socket.MSG_WAITALL))
        body, = struct.unpack("%ds" % (length - 1), conn.recv(length - 1, socket.MSG_WAITALL))
        return head >> 6, head & 63, body

    def send(self, lane, kind, body):
        frame = self.frame(lane, kind, body)
        with self.lock:
            if kind not in UNCOUNTED:
                self.sent[lane] += 1
                self.kept[lane].append(frame)
            with contextlib.suppress(OSError):  # it is kept, and goes again
                self.conn.sendall(frame)
                self.written[lane] = self.sent[lane]
            return self.sent[lane]

    def read(self):
        """Reads always, and comes back after a lost connection: at once, then after pauses."""
        pause = 0
        while not self.closing:
            try:
                if pause:
                    self.attach()
                lane, kind, body = self.next(self.conn)
                pause = 0
            except (OSError, struct.error):  # the latter: a frame is not whole
                time.sleep(pause * random.uniform(0.5, 1))
                pause = min(2 * pause, 1) or 0.01
                continue
            if kind not in UNCOUNTED:
                self.received[lane] += 1
                if sum(self.received) % 64 == 0:
                    self.send(CTL, ACK, struct.pack(">4Q", *self.received))
            self.handle(kind, body)

    def handle(self, kind, body):
        if kind == FRAGMENT:
            channel, flags, part = take("IB", body)
            self.parts[channel] = (b"" if flags & 1 else self.parts[channel]) + part
            if flags & 2:
                inner, _, whole = take("BI", self.parts.pop(channel))
                self.handle(inner, whole)
        elif kind == BEAT and body[0]:
            self.send(CTL, BEAT, struct.pack(">BQ8sQ", 0, time.monotonic_ns(), body[1:9], 0))
        elif kind == GOODBYE:
            with self.lock:
                self.conn.close()
                self.written = struct.unpack_from(">4Q", body, 2) if body[1] else self.written
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
            reply = self.asked[member][-1](body_of(rest))
            self.send(RPC, REPLY, struct.pack(">QBBIIII", number, 0, 0, 0, 0, 0, 0) + NO_HEADERS + reply)
        elif kind == PUBLISH:
            topic, rest = take8(take8(body)[1])  # behind the publisher
            count, rest = take("H", rest)
            for number in struct.unpack_from(">%dQ" % count, rest):
                self.asked[number][-1](topic.decode(), body_of(rest[8 * count:]))

    def answer(self, number, outcome, what):
        with self.lock:
            if number in self.asked and outcome == DRAINING:  # the next relay is asked
                self.asked[number] = UNREAD, *self.asked[number][1:]
            elif number in self.asked:
                self.answers.setdefault(number, (outcome, what))
                self.lock.notify_all()

    def ask(self, lane, kind, body, callback=None):
        with self.lock:
            self.last_id = number = self.last_id + 1
            body = struct.pack(">Q", number) + body
            self.asked[number] = self.send(lane, kind, body), lane, kind, body, callback
            self.lock.wait_for(lambda: number in self.answers, 10)
            outcome, what = self.answers.pop(number, (DEADLINE, b"no answer"))
            if outcome or kind not in LASTING:
                del self.asked[number]
        if outcome:
            raise RuntimeError("outcome %d: %s" % (outcome, what.decode()))
        return what

    def serve(self, cluster, handler):
        return self.ask(CTL, SERVE, struct.pack(">QIiIIIiB", 0, 0, 0, 0, 0, 0, 0, 1) + s8(cluster), handler)

    def call(self, cluster, body):
        head = struct.pack(">QQQBBBBB", 0, 0, time.monotonic_ns() + 5 * 10**9, 8, 0, 0, 1, 0)
        return self.ask(RPC, REQUEST, head + s8("") + s8(cluster) + NO_HEADERS + body)

    def subscribe(self, pattern, subscriber):
        """Has subscriber called with the topic and body of each message, and without topic of a gap."""
        self.ask(CTL, SUBSCRIBE, struct.pack(">QBII", 0, 0, 0, 0) + s8("") + s8(pattern), subscriber)

    def publish(self, topic, body):
        """Returns how many nodes took it."""
        return self.ask(PUB, PUBLISH, bytes(8) + s8(topic) + NO_HEADERS + body)

    def close(self):
        self.closing = True
        self.send(CTL, GOODBYE, struct.pack(">BB", 1, 0))


def main(path, command, *args):
    client, seen = Client(path), threading.Semaphore(0)
    if command == "serve":
        def handler(body):
            seen.release()
            return b"python: " + body[:1000]  # a longer reply would have to be cut
        print("member %016x" % client.serve(args[0], handler), flush=True)
        for _ in range(int(args[1])): seen.acquire()
        time.sleep(0.2)  # the last reply is on its way
    elif command == "call":
        for line in sys.stdin:
            try:
                print(client.call(args[0], line.strip().encode()).decode(), flush=True)
            except RuntimeError as why:
                print("failed:", why, flush=True)
    elif command == "subscribe":
        def subscriber(topic, body):
            print(topic or "gap", body.decode(), flush=True)
            seen.release()
        client.subscribe(args[0], subscriber)
        print("subscribed", flush=True)
        for _ in range(int(args[1])): seen.acquire()
    elif command == "publish":
        print("nodes", client.publish(args[0], args[1].encode()))
    elif command == "reattach":
        for turn in range(10):
            threading.Timer(0.02, client.conn.shutdown, [socket.SHUT_RDWR]).start()
            assert client.call(args[0], b"turn %d" % turn).endswith(b"turn %d" % turn)
            while client.resumed <= turn: time.sleep(0.001)
        print("resumed", client.resumed)
    client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
