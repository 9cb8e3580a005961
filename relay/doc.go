// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package relay, an inner part of Arke that makes no promise to users, is the
// daemon beside a service: programs on this machine, in any language, attach to
// it and share one node. It owns sockets, decides which programs may attach and how much
// each may use, picks members for its clients' calls, and passes frames on. It knows no
// network and reads no message.
//
// This page specifies the client profile of the protocol, enough to write a
// binding from. Package relay/client is the one for Go, tests/attach.py one in
// 250 lines of Python. Every frame, in hexadecimal with its meaning, is in
// internal/wire/testdata/leaf.txt.
//
// # Places
//
// A client connects to a unix socket or, if that is not possible, to a loopback TCP
// address, where both sides prove that they have the same token. Neither is encrypted.
// The socket has mode 0600. The relay refuses processes of other users (except root) by
// the credentials of the connection, unless it is shared with them: see [Share]. The
// default socket is $XDG_RUNTIME_DIR/arke/relay.sock, or, if that variable is not set,
// arke-UID/relay.sock in the directory for temporary files. If there is none, clients use
// the relay of the machine at /run/arke/relay.sock. The file with the same name and the
// suffix ".lock" belongs to the relay.
//
// A relay reads everything that its clients send. So a client refuses, by the credentials
// of the connection, a relay that belongs neither to its own user nor to root nor to a
// trusted user. For a socket that it found by itself, the file and its directory must also
// belong to one of them, and other users must not be able to write to the directory.
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
// now). Trailing bytes, unlisted bits and numbers, and longer frames are errors: the
// session ends with Goodbye 4. There are two exceptions, which are skipped: more fields
// at the end of a Hello, and unlisted kinds.
//
// # Hello
//
// The client sends Hello first, and the relay answers with its own or with Goodbye. A
// Hello has at most 4,096 bytes. The relay waits 2 s for it while it has capacity; it may
// drop a silent connection without a Goodbye. The relay picks the highest version that
// both sides support; this is version 1.
//
// A small client requests no feature and always starts afresh: zeros for id, session,
// received and beat. It needs the kinds 1, 3, 32, 33, 48, 56, 57 and 59, and skips unknown
// ones (a largest message of at most 65,000 bytes avoids Fragments). The relay answers
// with the features that both sides have:
//
//	1 resume    sessions outlive connections: Ack, Void, and the counts
//	2 beats     both sides send something in each "beat", at least a Beat
//	4 tunnels   kinds 40 to 43
//	8 surveys   replies with the flag 4
//	16 keys     keys of clusters at the end of the client's Hello
//	64 observer the client asks the relay about itself, $status, $members and $names, and
//	            nothing else. A relay that is full has a few places for such clients
//	32 several  in the relay's Publish each message has before its headers u32 length of
//	            what follows, u8 0, and others may follow it
//
// Both sides count the frames of each lane and direction from the start of the session,
// except kinds 1, 2, 3, 4 and 6. With "resume", each side keeps sent frames until an Ack
// releases them, and bounds them by the lane's bytes. After a broken connection the client
// sends a Hello with its id, its session and the number of frames that it received in each
// lane. If the relay answers with the same session, both sides retransmit the missing
// frames, and the session continues. Otherwise the session is new: see Duties. Then
// "received" counts the frames of the ended session that the client asked for, or is
// 2⁶⁴ - 1 for each lane if the relay does not know it. A client that ended a session sends
// 2⁶⁴ - 1 for each lane to get the same counts: publications that the relay received are
// published or reported missing, and the client can send the others again. A session
// outlives its connection for 15 s (5 s on TCP), during which its members are out of
// rotation. It ends at once with the process, which the relay notices on a Linux socket,
// with another instance (16 random bytes of the process), or with a fresh Hello of the same
// client id. Keep that id secret.
//
// The relay acknowledges lane pub when it has passed a publication on. A client that
// respects the lane's bytes is slowed down, and refused only beyond its share of the bytes
// of all clients: outcome 2, code 6.
//
// A Beat that requests an answer gets one at once: "echo" is its clock, "held" the ns in
// between. A client that is silent for three beats is out of rotation until it sends
// something. Goodbye ends the session at once. Its counts are the frames of each lane that
// were processed: later ones may be sent elsewhere.
//
//	1 going away   4 protocol broken   6 silent, or does not read   8 replaced   11 your user
//	2 version      5 no Hello          7 too many clients          10 token      12 something else
//
// # Tokens
//
// A token has 16 to 1,024 bytes and is never sent. On TCP a client must prove that it has
// one of the relay's tokens; on the socket it may. It begins with the first Hello of the
// table, a challenge. The relay answers with the second, which has one proof for each of
// its tokens. If the expected proof is not among them, another program listens there: the
// client closes the connection, and has revealed nothing. Otherwise it sends a Hello with a
// proof of its own. Proofs are HMAC-SHA-256, with the token as the key, over
//
//	"arke relay 1" or "arke client 1", the prover
//	the client's nonce, then the relay's: 32 random bytes, new for each connection
//	the address of the relay's end, as 127.0.0.1:4078 or [::1]:4078; empty on the socket
//
// Compare them in constant time. A client without a token begins on the socket with the
// third Hello. With the token "sixteen letters." at 127.0.0.1:4078:
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
// With the feature "keys" a client brings keys of at most 32 clusters, with 8 versions
// each; times are in seconds since 1970, 0 for none. The relay keeps them in memory during
// the session. Clusters of these names are then sealed under these keys, from the client's
// relay to the other one; the hop to the relay is not encrypted. For clients with different
// keys for a name, or none, it is a different cluster. Keys of a group of topics ("topic:"
// and a first word of at most 160 bytes) apply to publications and subscriptions in the same
// way, with unchanged topics and patterns. Patterns that begin with a wildcard have no such
// keys. A client with malformed keys, or keys for a name that can't have any, is refused:
// Goodbye 12. A session resumes only with the same keys: a Hello with others begins a new
// one. A client that needs its keys checks that the relay's Hello has the feature, and
// leaves otherwise. The status shows names and ids of keys, and never keys.
//
// # Calls
//
// A client calls with a Request that has a route; member and incarnation are 0. It
// chooses ids, unique among its calls without a reply. Each call has one Reply, with
// "from", in any order. Cancel requests it at once. Flags: 1 idempotent, 4 origin,
// 8 route. Options: 1 wait for a first member, 2 bounds of a survey follow.
// Policy: 0 load, 1 round robin, 2 random, 3 weighted by capacity, 4 sticky by the
// key. Pattern: 0 request, 1 survey, 2 push, 3 broadcast, 4 tunnel.
//
// A push is answered, without a body, when a member's queue has it. A survey has one
// Reply for each member, with flag 4, and a last one, whose body is the summary. A
// broadcast has only the last one. Replies of more than 64 KiB travel on another lane: some
// may arrive after the last one, which has their number:
//
//	u32 members that answered (or accepted it), u32 nodes, u8 1 = complete, u32 count, for
//	each missing member: u64 member, s8 peer, u8 outcome, u8 flags, u32 code, s16 text
//
// The cluster "$members" answers with a JSON list of the members of the cluster in the
// body, "$status" with a JSON object, "$names" with a JSON object of the names of the nodes
// whose peer ids are in the body, one a line. With a header "version" "$members" waits, for
// half of its time, for a list that differs from that version (patterns.VersionOf).
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
// A relay may have a policy (package relay/policy). What it denies has outcome 6, with a
// text: calls, Serve, Subscribe, Publish, "$members" and "$status". When a new policy denies
// something that a client has, the relay sends it Goodbye 12.
//
// # Members
//
// Serve makes the client a member. Done answers it with the member's id, or an outcome.
// The client chooses ids of registrations, subscriptions and publications, unique among
// those that have not ended. Limits of 0 are the defaults, a negative queue length or
// number of tunnels is none. Patterns: 1
// requests and surveys, 2 pushes, 4 broadcasts, 8 tunnels. Timeout 0 is 30 s here,
// and no limit in Leave.
//
// The member gets its requests as Request with the registration's id in place of the
// member's, an origin (the caller), and an id of the relay; from Serve until the Done for
// Leave. Each has one Reply. A client with more requests than it can handle or queue
// answers 2. After Cancel, or the deadline, the caller has stopped waiting: answer 12.
// Answer a push or broadcast when it is queued.
//
// Leave ends a registration or subscription; Done confirms the end. A second Leave has no
// answer of its own and ends it at once. Leave of an unknown id has outcome 0.
//
// # Topics
//
// A client's Publish has no answer unless it is refused: then a Done with outcome and id 0.
// With an id there is always a Done: "value" is the number of nodes that accepted it. Those
// of one topic are done in order. Consecutive publications without id and deadline may share
// a frame: its id is 2⁶⁴ - 1, and after the topic each has u32 length of the rest, u8 0,
// headers, body.
//
// The relay sends one Publish for all subscriptions of a client that match a message. It may
// arrive before the Done for Subscribe; the Done for Leave follows the last one. Messages
// without room in the client's lane are dropped, and one Gap with their number precedes the
// next message. Reasons: 1 too slow, 2 a lane on the path was full, 3 lost on the path, 4 the
// relay, 5 the publisher was lost, 6 not signed, 7 lost at a border. If it is not exact, the
// number is an upper bound; 0 means unknown.
//
// A "signed" subscription gets only messages with a valid signature of their publisher, which
// the relay verifies. Others are a Gap.
//
// Length and bytes of a subscription are the buffer that the program has for it (0 =
// 4,096 and 16 MiB). More bytes than lane pub has are refused: outcome 14, code 7.
//
// A subscription that blocks makes publishers on its node wait: at most length messages and
// bytes are in flight to the client, until a TunnelCredit with flag 16 reports the number
// that its program has consumed since the start.
//
// # Tunnels
//
// A call of pattern 4 opens a tunnel; its body is u64 id of the tunnel, u32
// credit, u8 0, first message. The reply's body is u32 credit. A member gets the
// same Request and sends the same Reply. The opener sets flag 1 in all its frames.
//
// A message is one or more chunks of at most 65,536 bytes, the last one with flag 2. With
// flags 32 and 2 a chunk is several whole messages, each after its length in 2 bytes; it
// never interrupts a message. A chunk consumes credit: its length, but at least 64. A side
// must not exceed its credit. TunnelCredit has the total credit since the start, the first
// included; with flag 64, the total that its sender returns, and a repeated total requests
// more. TunnelEnd ends the sender's direction, after its data. With flag 4 the sender has
// stopped receiving, too, and the other side ends: read is the credit of all chunks that the
// sender has read, so the other side knows what was dropped. TunnelReset ends both
// directions at once: cause 0 by the program, with code and text, 1 interrupted, 2
// overloaded, 3 leaving, 4 protocol. Frames of an ended tunnel are ignored.
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
// [Limits] has the defaults. A client that does not read harms only itself: its lanes fill
// up, requests to it are refused as overloaded, publications become gaps, and replies are
// queued up to the limits of calls, and "interrupted" beyond them. A client that does not
// read for 30 s, or exceeds the limits of calls, loses its session. An idle client costs
// about 37 KB: a relay had 26.1 MB before 1,000 of them attached, and 63.3 MB after
// (go run ./tests/measure -only memory).
//
// [Totals] bound the resources of all clients together. Each client has a small reserve of
// its own; the rest is shared. A single client may use all that its Limits allow, and
// meanwhile every other one gets its share of as much again
// (TestOneClientsCallsLeaveOthersTheirs). Anything beyond is refused before it has an
// effect: code 6, and a counter that ends with ".share". Requests to a member whose client
// has used its share are "overloaded", and other members are asked
// (TestHangingHandlersOfOneClientLeaveOthersServed).
//
// Connections without a Hello have separate places on the socket and on TCP. A full room
// closes one at random of the user, or address, with most
// (TestSilentConnectionsLockNobodyOut). Clients of one user or address leave places for
// others (TestClientsOfOneSourceLeavePlacesForOthers).
//
// # Duties of a binding
//
//   - Always read. Neither a handler nor a caller that does not fetch its reply may stop the
//     reader. Acknowledge lane pub after a sixteenth of its bytes, or sooner:
//     unacknowledged bytes count as unread.
//   - Answer every Request, and every Beat that requests it. Answer a handler's
//     panic with outcome 1, code 1.
//   - After a lost connection, connect again: at once, then after pauses of 10 ms
//     to 1 s, doubled each time, less up to a half at random.
//   - In a new session Serve and Subscribe again, and report a gap of unknown size to
//     subscriptions. Repeat calls that were not written, that were not processed by
//     Goodbye's counts or outcome 4, or that are idempotent; the others are interrupted.
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
//  1. The session's reader passes a frame to the owner of its kind (client.go). A call
//     starts at the node on that goroutine. The goroutine with its outcome, often the
//     reader of a node's link, queues the Reply.
//  2. The reader of the node's link puts a request for a member into the client's lane; the
//     client's reader passes the answer on.
//  3. The reader tries to publish; only a topic that must wait has a queue (publish.go). The
//     reader of the node's link puts messages for subscriptions into the lane, once for each
//     client.
//  4. Frames of tunnels pass from one reader to the other lane, within the credit of the
//     ends.
//
// # Goroutines
//
// One for each listener; a reader and a writer for each connection; one for each queue of
// publications; and one for each operation that waits: Serve, Subscribe, Leave, a survey or
// a broadcast. None for a registration, a subscription, a call, a request, or a tunnel.
// [Relay.Close] waits for all of them.
package relay
