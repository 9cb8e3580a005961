// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package relay, an inner part of Arke that makes no promise to users, is the
// daemon beside a service: programs on this machine, in any language, attach to
// it and share one node. It has sockets, says who may attach and how much each
// may use, picks members for its clients' calls, and passes frames on. It knows
// no network and looks into no message.
//
// This page specifies the client profile of the protocol, enough to write a
// binding from. Package relay/client is the one for Go, tests/attach.py one in
// 250 lines of Python. Every frame, in hexadecimal with its meaning, is in
// internal/wire/testdata/leaf.txt.
//
// # Places
//
// A client connects to a unix socket or, where that is not possible, to a
// loopback TCP address, where both prove that they have the same token. Neither is
// encrypted. The socket
// has mode 0600, and the relay refuses processes of other users (except root) by the
// credentials of the connection, unless it is shared with them: see [Share]. By
// default it is $XDG_RUNTIME_DIR/arke/relay.sock, or, if that variable is not set,
// arke-UID/relay.sock in the directory for temporary files; if nothing is there,
// clients look for a relay of the whole machine at /run/arke/relay.sock. A file of
// the same name with ".lock" at its end is the relay's alone.
//
// A relay reads all that its clients say. So a client refuses, by the credentials of
// the connection, one that is neither of its own user nor of root nor of a user that
// it was told to trust; at a socket that it has found by itself, the socket's file and
// directory, too, must belong to one of them, and others may not write to the directory.
//
// # Frames
//
// Each direction is a sequence of frames. All numbers are big endian; uN has N
// bits; s8 and s16 are bytes with their length before them, in a u8 or u16.
//
//	u32 length       of what follows, 1 to 69,632
//	u8  head         lane << 6 | kind
//	    body
//
// There are four lanes: 0 ctl, 1 rpc, 2 pub, 3 bulk. Frames of one lane are
// handled in order; a lane overtakes those of a higher number. The lane is the
// sender's choice where it says "any".
//
//	kind            lane  from    body
//	 1 Hello        ctl   client  8 bytes "arke-key", 32 bytes nonce
//	 1 Hello        ctl   relay   32 bytes nonce, u8 count × 32 bytes proof
//	 1 Hello        ctl   client  8 bytes "arke-app", u16 lowest version, u16 highest version,
//	                              u32 features, 16 bytes instance, 16 bytes client id or zeros,
//	                              u64 session or 0, 4 × u64 received, u64 clock, u32 beat in ms,
//	                              u32 largest message or 0, s8 name, s8 proof or "", [keys]
//	 1 Hello        ctl   relay   u16 version, u32 features, 16 bytes instance, 16 bytes client id,
//	                              u64 session, 4 × u64 received, u64 clock, u32 beat in ms,
//	                              u32 largest frame, u32 largest message, u32 registrations,
//	                              u32 subscriptions, u32 calls, u64 bytes of calls,
//	                              4 × u32 bytes of lanes, s8 peer, s8 name
//	 2 Beat         ctl   both    u8 1 = answer, u64 clock, u64 echo or 0, u64 held
//	 3 Goodbye      ctl   both    u8 code, u8 1 = counts follow, [4 × u64 handled], text
//	 4 Notice       ctl   relay   u8 2 = draining, text
//	 5 Fragment     any   both    u32 channel, u8 1 = first + 2 = last, first: [u8 kind, u32 length], part
//	 6 Ack          ctl   both    4 × u64 frames that need not be kept
//	 7 Void         any   both    anything: it was withdrawn before it was sent
//	32 Request      rpc   both    u64 id, u64 member, u64 incarnation, u64 deadline, u8 flags,
//	                              u8 attempt, u8 pattern, [origin], [route], headers, body
//	33 Reply        rpc   both    u64 id, u8 outcome, u8 flags, u32 waiting, u32 running,
//	                              u32 service in µs, u32 code, [from], headers, body or text
//	34 Cancel       rpc   both    u64 id
//	40 TunnelData   bulk  both    u64 id, u8 1 = opener + 2 = last of its message + 32 = several, chunk
//	41 TunnelCredit ctl   both    u64 id, u8 1 = opener or 16 = subscription + 64 = returned, u64 total
//	42 TunnelEnd    bulk  both    u64 id, u8 1 = opener + 4 = closed, if closed: u64 read
//	43 TunnelReset  ctl   both    u64 id, u8 1 = opener, u8 cause, u32 code, text
//	48 Publish      pub   client  u64 id or 0, u64 deadline or 0, s8 topic, headers, body
//	48 Publish      pub   relay   s8 peer, s8 topic, u16 count × u64 subscription, headers, body
//	56 Serve        ctl   client  u64 id, u64 timeout, u32 concurrency, i32 queue length,
//	                              u32 queue bytes, u32 message bytes, u32 capacity, i32 tunnels,
//	                              u8 patterns, s8 cluster
//	57 Subscribe    ctl   client  u64 id, u64 timeout, u8 1 = no echo + 2 = blocks + 4 = signed,
//	                              u32 length, u32 bytes, s8 queue, s8 pattern
//	58 Leave        ctl   client  u64 id, u64 timeout
//	59 Done         any   relay   u64 id, u8 outcome, u8 1 = may have run, u32 code, u64 value,
//	                              s16 text
//	60 Gap          pub   relay   u16 count × u64 subscription, u64 missed, u8 1 = exact, u8 reason,
//	                              s8 peer or ""
//
//	headers         u16 count, then for each: s8 key, s16 value; at most 16,384 bytes in all
//	keys            u8 count, then for each cluster: s8 cluster, u8 count, then for each key:
//	                u32 version, u64 not before, u64 not after, 32 bytes          (feature 16)
//	origin          s8 peer, u64 incarnation, u64 serial, u8 count × s8 network   (flag 4)
//	route           u8 options, u8 policy, s8 sticky key, s8 cluster,
//	                [u32 replies, u64 bytes of replies]                           (flag 8)
//	from            u8 attempts, u64 member, s8 peer                              (flag 8)
//
// A text that ends a frame is what is left of it, at most 1,024 bytes. A peer is
// named by text, but in "origin" and "from" by the bytes of its id. Times are u64 microseconds; clocks and deadlines are u64 ns of
// the sender's own clock, which begins where it likes (a deadline of 0 is 5 s from
// now). Bytes behind the fields, bits and numbers that are not listed here, and
// frames that are longer, are errors: the session ends with Goodbye 4. Two things
// are not: fields behind those of a Hello, and kinds that are not listed; they are
// skipped.
//
// # Hello
//
// The client says Hello, the relay answers with its own or with Goodbye. Nothing
// else comes before. It has at most 4,096 bytes. The relay waits 2 s for it, as long
// as it has a place: it may close who has said nothing without a word. The relay
// picks the highest version that both speak; this is version 1.
//
// A small client names no feature and says "fresh" each time: zeros for id,
// session, received and beat. It needs the kinds 1, 3, 32, 33, 48, 56, 57 and 59,
// and skips what it does not know (a largest message of at most 65,000 bytes keeps
// Fragments away). Each feature costs a bit more; the relay answers with those
// that both have:
//
//	1 resume    sessions outlive connections: Ack, Void, and the counts
//	2 beats     both sides say something at least each "beat", if only a Beat
//	4 tunnels   kinds 40 to 43
//	8 surveys   replies with the flag 4
//	16 keys     keys of clusters at the end of the client's Hello
//	64 observer the client asks the relay about itself, $status, $members and $names, and
//	            nothing else. A relay that is full has a few places for such clients
//	32 several  in the relay's Publish each message has before its headers u32 length of
//	            what follows, u8 0, and others may follow it
//
// All frames but those of kinds 1, 2, 3, 4 and 6 are counted, for each lane and
// direction, from the session's first one on. With "resume", each side keeps what
// it has sent until the other says in an Ack how many it may forget, and bounds
// what it keeps by the lane's bytes. After a broken connection the client says
// Hello with its id, session and how many frames of each lane it has received. If
// the relay answers with the same session, both send again what the other has not
// received, and all is as if nothing had happened. If not, the session is a new
// one: see Duties. Then "received" is what came in the session that was asked for, which
// has ended, or 2⁶⁴ - 1 for each lane if the relay does not know it. A client that has
// ended a session says 2⁶⁴ - 1 for each lane, to learn the same: publications that the
// relay has received are published, or told as missing, and the others can go again. The session outlives its connection for 15 s (5 s on TCP), in
// which its members are out of rotation, and ends at once with the process, which
// can be seen over the socket on Linux, with another instance (16 random bytes of
// it) or a fresh Hello of the same client id. Keep that secret.
//
// Lane pub of a client is acknowledged when a publication was handed on: a client
// that keeps to the lane's bytes is slowed down, and refused only when it has its
// share of the bytes of all clients: outcome 2, code 6.
//
// A Beat that wants an answer has one at once: "echo" is its clock, "held" the ns
// in between. A client that is silent for three beats is out of rotation until it
// says something. Goodbye ends the session at once; its counts say how many frames
// of each lane were looked at: what lies beyond may be asked for elsewhere.
//
//	1 going away   4 protocol broken   6 silent, or does not read   8 replaced   11 your user
//	2 version      5 no Hello          7 too many clients          10 token      12 something else
//
// # Tokens
//
// A token has 16 to 1,024 bytes and is never sent. On TCP a client must prove that it
// has one of the relay's; on the socket it may. It begins with the first Hello of the
// table, a challenge. The relay answers with the second, which has one proof for each
// of its tokens. If the one that is due is not among them, something else listens
// there: the client closes the connection, and has said nothing. Else it says Hello
// with a proof of its own. Proofs are HMAC-SHA-256, with the token as the key, over
//
//	"arke relay 1" or "arke client 1", of who proves
//	the client's nonce, then the relay's: 32 random bytes, new for each connection
//	the address of the relay's end, as 127.0.0.1:4078 or [::1]:4078; on the socket nothing
//
// Compare them in a time that does not depend on what is in them. A client without
// token on the socket begins with the third Hello. With the token "sixteen letters."
// at 127.0.0.1:4078:
//
//	> challenge
//	  000000290161726b652d6b65791111111111111111111111111111111111111111111111111111111111111111
//	< answer with one proof
//	  000000420122222222222222222222222222222222222222222222222222222222222222220152d211bde8a29a7d191617ae
//	  34a45eb329800ae5392632bae6596165d65e19d7
//	> hello, feature 1, fresh, name "py", proof
//	  0000008d0161726b652d61707000010001000000010100000000000000000000000000000000000000000000000000000000
//	  0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
//	  01000000000000000002707920b8e813d4da7eb744e74c9b3e28b9ebe3c4096664e9618edf8923039f0c4d2855
//
// # Keys
//
// With the feature "keys" a client brings keys of clusters: at most 32 of them, with 8
// versions each, the times in seconds since 1970 and 0 for none. The relay has them in
// memory for as long as the session lives. What the client serves and calls by these
// names is under these keys, end to end between its relay and the other's; the hop to
// the relay is plain. For clients that bring other keys for the same name, or none,
// it is another cluster. Keys of a group of topics ("topic:" and a first word of at most
// 160 bytes) do the same for what it publishes and subscribes to: it need not say more,
// and its topics and patterns are those of all. Patterns that begin with a wildcard are
// under no such keys. A client whose keys are none, or for what can't have any, is
// refused, Goodbye 12. A session is resumed with the same keys only: a Hello with
// others begins a new one. A client that needs its keys looks whether the relay's
// Hello names the feature, and leaves if not. Names and ids of keys are in the
// status; keys are nowhere.
//
// # Calls
//
// A client asks by a Request with a route; member and incarnation are 0. Ids are
// its own, unique among its calls without a reply. Each has one Reply, with
// "from", in any order. Cancel asks for it now. Flags: 1 may be run twice, 4
// origin, 8 route. Options: 1 wait for a first member, 2 bounds of a survey follow.
// Policy: 0 load, 1 round robin, 2 random, 3 weighted by capacity, 4 sticky by the
// key. Pattern: 0 request, 1 survey, 2 push, 3 broadcast, 4 tunnel.
//
// A push is answered, without a body, when a member's queue has it. A survey is
// answered by one Reply for each member, with flag 4, and a last one, whose body is
// the summary; so is a broadcast, by the last one only. Replies of more than 64 KiB
// travel on another lane: some may come after the last one, which says how many there are:
//
//	u32 members that answered (or took it), u32 nodes, u8 1 = complete, u32 count, for each
//	member that is missing: u64 member, s8 peer, u8 outcome, u8 flags, u32 code, s16 text
//
// The cluster "$members" answers with a JSON list of the members of the cluster
// that the body names, "$status" with a JSON object, "$names" with a JSON object of the
// names of the nodes whose peer ids the body has, one a line. With a header "version"
// "$members" waits for half of its time until the list is another than the one of that
// version (patterns.VersionOf).
//
// Outcomes. Flag 1 of a Reply, Done or summary says that a handler may have run.
//
//	0 reply            6 unauthorized   12 deadline     1: code 0 none, 1 the handler panicked,
//	1 remote error     7 too large      13 closed       2 a command failed, 3 not its pattern
//	2 overloaded       8 cancelled      14 too many     4: the relay shuts down and asked nobody:
//	3 no such member   9 no members     15 would block  make the call at the next one
//	4 draining        10 unreachable    16 topic        2 and 14 beyond a limit of the client: code
//	5 expired         11 interrupted    17 other        1 registrations, 2 calls, 3 bytes of calls,
//	                                                    4 tunnels, 5 subscriptions, 6 its share
//	                                                    of what all clients may have,
//	                                                    7 bytes of a subscription's buffer,
//	                                                    8 requests to its members
//
// A relay may have a policy (package relay/policy): then what the client may not do
// with a name has outcome 6, with a text that says so. That goes for calls, Serve,
// Subscribe and Publish, and for "$members" and "$status". When the policy has changed,
// a client that has what it may not have any more is told Goodbye 12.
//
// # Members
//
// Serve makes the client a member: it is answered by Done with the member's id, or
// an outcome. Ids of registrations, subscriptions and publications are the
// client's; among those that are not gone they are unique. Limits of 0 are the
// defaults, a negative queue length or number of tunnels is none. Patterns: 1
// requests and surveys, 2 pushes, 4 broadcasts, 8 tunnels. Timeout 0 is 30 s here,
// and no limit in Leave.
//
// The member's requests come as Request with the registration's id in place of the
// member's, an origin (who asks), and an id of the relay's; from Serve on, and
// until the Done for Leave. Each has one Reply. A client that has more requests
// than it can handle or queue answers 2. After Cancel, or its deadline, nobody waits
// for the Reply any more: answer 12. Answer a push or broadcast when it is queued.
//
// Leave ends a registration or subscription; Done says that it is over. A second
// Leave has no answer of its own and ends it at once. One of an id that is not
// there is answered with outcome 0.
//
// # Topics
//
// A client's Publish has no answer; one that is refused has a Done with outcome
// and id 0. With an id there is a Done in any case: "value" is how many nodes took
// it. Those of one topic are done in order. Several without an id or deadline that
// follow each other may share a frame: its id is 2⁶⁴ - 1, and behind the topic each
// has u32 length of what follows, u8 0, headers, body.
//
// The relay sends one Publish to all of a client's subscriptions that a message is
// for. It may come before the Done for Subscribe; that for Leave travels behind
// the last one. What finds no room in the client's lane is dropped, and one Gap
// says how many, before anything else comes. Reasons: 1 too slow, 2 a lane on the
// way was full, 3 lost on the way, 4 the relay, 5 the publisher was lost, 6 not signed,
// 7 a gateway could not bring it.
// Not exact = at most so many, or, with 0, nobody knows.
//
// A subscription that is "signed" gets what carries its publisher's signature: the relay
// verifies it. What does not is a Gap.
//
// Length and bytes of a subscription are the buffer that the program has for it (0 =
// 4,096 and 16 MiB). More bytes than lane pub has are refused: outcome 14, code 7.
//
// A subscription that blocks has publishers on its node wait: not more than length
// messages and bytes are on their way to the client, until a TunnelCredit with flag
// 16 says how many its program has taken since the beginning.
//
// # Tunnels
//
// A call of pattern 4 opens a tunnel; its body is u64 id of the tunnel, u32
// credit, u8 0, first message. The reply's body is u32 credit. A member gets the
// same Request and gives the same Reply. Who has opened the tunnel sets flag 1 in
// all its frames.
//
// A message is one or more chunks of at most 65,536 bytes, the last one with flag
// 2. With flag 32, beside 2, a chunk is several whole messages, each behind its length
// in 2 bytes; it comes only behind whole messages. A chunk uses up credit: its length, but at least 64; nobody sends more than he
// has. TunnelCredit says how much was given since the beginning, the first
// included; with flag 64, how much its sender gives back of what it was given, since the
// beginning, and the same again asks for more. TunnelEnd ends the sender's direction,
// behind its data; with flag 4 it does not receive either, and the other side ends, too:
// read is the credit of all chunks that the sender has read, so the other side knows what
// was dropped. TunnelReset ends both at once: cause 0 by the program, with code and text,
// 1 interrupted, 2 overloaded,
// 3 leaving, 4 protocol. Frames of a tunnel that is over are ignored.
//
// # States of a session
//
//	state      event                             then
//	connected  challenge                         proving: relay's proofs
//	connected  Hello, on the socket              attached: relay's Hello
//	proving    Hello, its proof is right         attached: relay's Hello
//	either     bad Hello or proof, 2 s           over: Goodbye
//	either     too many have said nothing        over
//	attached   connection breaks, "resume"       away: members are suspect
//	attached   connection breaks, no "resume"    over
//	attached   three beats without a byte        attached: members are suspect until the next byte
//	attached   Goodbye, or protocol broken       over: the relay says Goodbye to the second
//	attached   the relay shuts down              attached until tunnels have ended, within the time
//	                                             of the drain but its last part
//	attached   that part begins                  draining: Notice, members leave, new Serves and
//	                                             Subscribes, and calls that reach nobody: outcome 4
//	away       Hello with session and instance   attached: what was lost is sent again
//	away       another Hello of the client id    over; then attached in a new session
//	away       60 ms                             away: requests that the client has not seen, or
//	                                             that may be repeated, are tried elsewhere if
//	                                             their callers know somebody else; its queues'
//	                                             messages go to their other members
//	away       the process has ended             over
//	away       15 s, or 5 s                      over
//	draining   all clients' tunnels and members  over, when its own calls are done: Goodbye with
//	           are done                          counts
//	over                                         members leave, calls are cancelled, tunnels and
//	                                             requests without a reply are interrupted
//
// # Limits
//
// [Limits] has the defaults. A client that does not read is alone in that: its
// lanes fill up, requests to it are refused as overloaded, publications become
// gaps, replies stand in line up to the limits of calls, and are "interrupted"
// beyond them. Who does not read for 30 s, or asks for ever more, loses its
// session. One that is idle costs about 37 KB: a relay had 26.1 MB before 1,000 of them
// attached, and 63.3 MB after (go run ./tests/measure -only memory).
//
// [Totals] bound what all clients together make the relay hold. Each has a little
// of its own that nobody can take; what is beyond is shared: a client alone may have
// all that its Limits allow, and while it does each other one gets its share of as
// much again (TestOneClientsCallsLeaveOthersTheirs). More is refused before anything
// was done, by name: code 6, and a counter that ends with ".share". Requests to a
// member whose client has its share are "overloaded": others are asked
// (TestHangingHandlersOfOneClientLeaveOthersServed).
//
// Connections that have not said Hello have places apart for the socket and for TCP;
// when they are full, one at random goes of the user, or address, that has most
// (TestSilentConnectionsLockNobodyOut). So do clients: those of one user or address
// leave places for others (TestClientsOfOneSourceLeavePlacesForOthers).
//
// # Duties of a binding
//
//   - Read always. Never let a handler, or a caller that does not fetch its
//     reply, stop the reader. Acknowledge lane pub by the sixteenth of its bytes, or
//     sooner: what is not counts as not read.
//   - Answer every Request, and every Beat that wants it. Answer a handler's
//     panic with outcome 1, code 1.
//   - After a lost connection, connect again: at once, then after pauses of 10 ms
//     to 1 s, doubled each time, less up to a half at random.
//   - In a new session Serve and Subscribe again, and tell subscriptions of a gap
//     of unknown size. Make again the calls that were not written, that Goodbye's
//     counts or outcome 4 say were not looked at, or that may run twice; the
//     others are interrupted.
//
// # A session, byte by byte
//
// A client (>) without features serves "geo", asks itself, subscribes and
// publishes; then one with tunnels opens one, and the relay (<) shuts down. Where
// there are dots the relay chooses.
//
//	> hello: versions 1 to 1, no features, fresh, name "py"
//	  0000006d0161726b652d61707000010001000000000100000000000000000000000000000100000000000000000000000000
//	  0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
//	  01000000000000000002707900
//	< hello: client id, no session, limits, peer, "arke"
//	  000000c101000100000000................................................................00000000000000
//	  000000000000000000000000000000000000000000000000000000000000000000................000000000001100001
//	  00000000000400000010000000100000000000040000000010000000800000010000000080000034313244334b6f6f57....
//	  ..............................................................55....................0461726b65
//	> serve: id 1, requests, "geo"
//	  0000002e3800000000000000010000000000000000000000000000000000000000000000000000000000000000010367656f
//	< done: id 1, value = the member
//	  000000193b0000000000000001000000000000................0000
//	> request: id 2 to "geo", body "hi"
//	  0000002f6000000000000000020000000000000000000000000000000000000000000000000800000000000367656f000068
//	  69
//	< request: the relay's id, member = 1, 5 s, origin, body "hi"
//	  0000006060000000000000000100000000000000010000000000000000................04000026002408011220......
//	  ..........................................c3..............000000000000000000000000000000010000006869
//	> reply to it: body "ho"
//	  0000001f6100000000000000010000000000000000000000000000000000000000686f
//	< reply: id 2, from 1 attempt, member, peer, body "ho"
//	  0000004f61000000000000000200080000000000000000000000000000000001................26002408011220......
//	  ..........................................c3..............0000686f
//	> subscribe: id 3, "a.*"
//	  0000001f39000000000000000300000000000000000000000000000000000003612e2a
//	< done: id 3, on lane pub
//	  00000019bb000000000000000300000000000000000000000000000000
//	> publish: no answer wanted, "a.b", body "yo"
//	  00000019b00000000000000000000000000000000003612e620000796f
//	< publish: peer, "a.b", for subscription 3, body "yo"
//	  00000048b034313244334b6f6f57..................................................................55....
//	  ................03612e62000100000000000000030000796f
//	> goodbye: going away, nothing is said about counts
//	  00000003030100
//	> hello, feature 4
//	  0000006d0161726b652d61707000010001000000040100000000000000000000000000000100000000000000000000000000
//	  0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
//	  01000000000000000002707900
//	< hello, feature 4
//	  000000c101000100000004................................................................00000000000000
//	  000000000000000000000000000000000000000000000000000000000000000000................000000000001100001
//	  00000000000400000010000000100000000000040000000010000000800000010000000080000034313244334b6f6f57....
//	  ..............................................................55....................0461726b65
//	> serve: id 1, tunnels, "pipe"
//	  0000002f38000000000000000100000000000000000000000000000000000000000000000000000000000000000804706970
//	  65
//	< done: id 1
//	  000000193b0000000000000001000000000000................0000
//	> request: id 2, a tunnel to "pipe": id 9, credit 65,536
//	  0000003b60000000000000000200000000000000000000000000000000000000000000000008000400000004706970650000
//	  00000000000000090001000000
//	< request: for member 1, a tunnel, its id and credit are the relay's
//	  0000006be0000000000000000200000000000000010000000000000000................04000426002408011220......
//	  ..........................................c3..............000000000000000000000000000000020000000000
//	  0000000000020001000000
//	> reply to it: credit 65,536
//	  00000021610000000000000002000000000000000000000000000000000000000000010000
//	< reply: id 2, credit
//	  0000005161000000000000000200080000000000000000000000000000000001................26002408011220......
//	  ..........................................c3..............000000010000
//	> data: id 9, from the opener, last chunk, "x"
//	  0000000be800000000000000090378
//	< data, of the relay's id
//	  0000000be800000000000000020378
//	> reset: id 9, by the opener, cause 0
//	  0000000f2b0000000000000009010000000000
//	< reset, of the relay's id
//	  0000000f2b0000000000000002010000000000
//	< notice: draining
//	  0000001c04027468652072656c6179206973207368757474696e6720646f776e
//	< goodbye, with counts: 1 frame was handled of lane ctl, ...
//	  0000003d03010100000000000000020000000000000002000000000000000000000000000000017468652072656c61792069
//	  73207368757474696e6720646f776e
//
// # Data path
//
//  1. The session's reader hands a frame to its kind's owner (client.go). A call
//     starts at the node there and then; what brings its outcome, often the
//     reader of a node's link, queues the Reply.
//  2. A request for a member is put into the client's lane by who reads the
//     node's link; the client's reader hands the answer on.
//  3. A publication is tried by the reader; only a topic that must wait has a
//     queue (publish.go). What comes for subscriptions is put into the lane by
//     who reads the node's link, once for each client.
//  4. Frames of tunnels pass from one reader to the other lane, within the credit
//     of the ends.
//
// # Goroutines
//
// One for each listener; for each connection a reader and a writer; one for each
// queue of publications, and while something waits: serving, subscribing, leaving,
// a survey or broadcast. None for what is registered or subscribed, a call, a
// request, or a tunnel. [Relay.Close] waits for all of them.
package relay
