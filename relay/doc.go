// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package relay is the daemon's session layer: applications on this machine, in
// any language, attach to it and share one node. It knows no network and makes
// no decision about one; whatever a client asks for, it asks of the node
// through the interface that an embedding program has, and whatever the node
// answers, the client gets. What works embedded works attached.
//
// This page specifies the protocol between a client and its relay, enough to
// write a binding from. Package relay/client is the one for Go; every frame, in
// hexadecimal with its meaning, is in internal/wire/session/testdata/vectors.txt.
//
// # Places
//
// A client connects to a unix socket or, where that is not possible, to a
// loopback TCP address, where it shows a token. Neither is encrypted.
//
// The socket has mode 0600. The relay refuses processes of other users (except
// root) by the credentials of the connection, and a client should do the same.
// A file of the same name with ".lock" at its end is the relay's alone. By
// default the socket is $XDG_RUNTIME_DIR/arke/relay.sock, or, if that variable
// is not set, arke-UID/relay.sock in the directory for temporary files.
//
// # Encoding
//
//	u8 u16 u32 u64   unsigned integers, big endian
//	i32              two's complement, big endian
//	str              u16 length, then so many bytes, UTF-8 where people read it
//	failure          u8 outcome, u8 flags, u32 code, str text, see Outcomes
//	headers          u16 count, then for each: u8 length, key, u16 length, value
//	rest             all bytes up to the end of the frame
//
// Times are u64 microseconds, relative to the moment of sending: no clock is
// shared. Headers are at most 16,384 bytes, encoded, with their count.
//
// The stream is a sequence of frames:
//
//	u32 length       of what follows: kind and body, at least 1
//	u8  kind
//	    body
//
// A frame of the handshake is at most 4,096 bytes long, a later one at most as
// long as Welcome says. Whoever receives a longer one, or one that does not
// decode, ends the session (see Error). So does whoever receives a kind that it
// does not know, unless the kind is 128 or more: such a frame is skipped. Bytes
// behind the fields are an error, too, except in Hello, Welcome and Refused,
// where they are ignored: a later version may append fields there. Bits and
// numbers that are not listed here are errors.
//
// # Handshake
//
// The client sends Hello; the relay answers Welcome or Refused. Nothing else
// comes before, and the client sends nothing until it has read Welcome. The
// relay waits 2 s for a Hello.
//
//	1 Hello     8 bytes "arke-app", u16 lowest version, u16 highest version,
//	            u64 features, 16 bytes resume, str token (at most 1,024 bytes),
//	            str client (at most 255)
//	2 Welcome   u16 version, u64 features, 16 bytes session, u32 largest frame,
//	            u32 largest message, u32 registrations, u32 subscriptions,
//	            u32 calls, u64 bytes of calls, str peer, str relay
//	3 Refused   u16 reason, str text; then the relay closes
//
// Versions: this is version 1. Each side states the range it speaks, the relay
// picks the highest that both do. Within a version nothing changes but kinds
// from 128 on. Features are bits for what is optional within a version; the
// relay answers with those that both have, and only these are used. None is
// defined yet; send 0.
//
// Resume is the session that the client had before, or 16 zero bytes. If the
// relay still has it, because it has not noticed that the connection broke, it
// ends it first: what the client registers next does not stand beside its own
// old members, and what it subscribes to goes on (see Topics). The session in
// Welcome is what to resume the next time; keep it secret. The token is ignored
// on a unix socket; "client" is for logs. The largest frame is kind and body, the
// largest message a body and its encoded headers, peer the id of the relay's node.
//
// Reasons, here and in Error:
//
//	1 malformed frame       5 no common version    9 relay is shutting down
//	2 frame too large       6 wrong token         10 no Hello in time
//	3 unknown kind          7 another user        11 the client does not read
//	4 frame not expected    8 too many clients    12 the client came back
//	13 something else
//
// # Life
//
//	4 Ping      u64 token                     both
//	5 Pong      u64 the same token            both; answers a Ping
//	6 Drain     u64 time that remains or 0, str text      relay
//	7 Goodbye                                 relay; its last frame
//	8 Error     u16 reason, str text          both; the session is over
//
// Either side may ping at any time. A client should ping when it has heard
// nothing for some seconds, and give the connection up after some more (the Go
// binding: 4 s and 16 s). The relay does not ping.
//
// After Drain, members leave, registrations fail with outcome 12, subscriptions
// end when what waits is sent (or, after 2 s, a Gap in its place), and calls are
// still answered. When all is finished the relay says Goodbye and closes its
// side. A call without a reply at that time has not been looked at, and never
// will be: it can be made again at the next relay without harm. After Goodbye
// the client closes the connection and connects again, with the pauses it has
// for a lost relay.
//
// If the connection ends without Goodbye, a call without a reply may have been
// done, or not (see Outcomes). A client ends its session by closing the
// connection: its members leave at once, its calls are cancelled, and who waits
// for one of its answers gets outcome 5. To leave in good order it unregisters
// and waits for its replies first.
//
// # Registrations
//
//	16 Register        u64 id, u64 timeout, u32 concurrency, i32 queue length,
//	                   u32 queue bytes, u32 message bytes, u32 capacity,
//	                   i32 tunnels, u8 patterns,
//	                   str cluster (at most 255)                          client
//	17 Registered      u64 id, str member                                 relay
//	18 RegisterFailed  u64 id, failure                                    relay
//	19 Unregister      u64 id, u64 timeout                                client
//	20 Unregistered    u64 id, failure                                    relay
//
// The client chooses the id; among the registrations of its session that are
// not gone it is unique. A timeout of 0 is 30 s in Register and no limit in
// Unregister. Limits of 0 mean the defaults: 64 requests handled at once, 1,024
// waiting (a negative number = none), 16 MiB waiting, 1 MiB for the largest
// message, capacity 1, 16,384 open tunnels (a negative number = none). Patterns
// are the ways to send that the member has handlers for: bit 0 = requests and
// surveys, 1 pushes, 2 broadcasts, 3 tunnels. Other ways fail: outcome 1, code 3.
//
// Each Register is answered by one Registered or RegisterFailed, each
// Unregister by one Unregistered, except that a second Unregister of the same
// id makes the first one end at once and has no answer of its own. To
// unregister an id that is not there is no error. Registered means that the
// cluster knows the member; requests may come from Register on, and still come
// after Unregister, until Unregistered: they were accepted before. An id is free
// after RegisterFailed and Unregistered. An outcome other than 0 in Unregistered
// says that the member is gone, but not all of its work was finished.
//
// # Calls
//
//	32 Request         u64 id, u64 timeout, u8 options, u8 policy,
//	                   str sticky key, str cluster (at most 255), headers,
//	                   rest body                                          client
//	33 Reply           u64 id, u8 outcome, u8 flags, u32 code, u16 attempts,
//	                   str member, headers, rest body or text             relay
//	34 Cancel          u64 id                                             client
//	48 Members         u64 id, u64 timeout, str cluster                   client
//	49 MembersReply    u64 id, failure, u32 count, then for each: str id,
//	                   str peer, u64 incarnation, str zone, u32 capacity,
//	                   str state                                          relay
//	50 Status          u64 id                                             client
//	51 StatusReply     u64 id, u8 outcome, u8 flags, u32 code,
//	                   rest one JSON object or text                       relay
//
// These, but for Cancel, and Survey, Push and Broadcast below, are calls. Ids
// are the client's, unique among its calls without a reply, whatever their kind.
// Every call has exactly one reply, in any order, unless the session ends first.
// A timeout of 0 is the node's default of 5 s. Cancel asks for the reply now; it
// still comes. To cancel a call that is not there is no error.
//
// Options of a Request: bit 0 = idempotent (may be run twice), bit 1 = wait for
// a first member. Policy: 0 load, 1 round robin, 2 random, 3 weighted by
// capacity, 4 sticky by the key. Attempts is how many members were tried,
// member the id of the one that gave the outcome, or "".
//
// Outcomes, wherever one is:
//
//	 0 reply          done; the rest of the frame is what was asked for
//	 1 remote error   the handler refused: code and text say why; 0 no code,
//	                  1 it panicked, 2 a command failed, 3 not its pattern
//	 2 no members     nobody serves the cluster
//	 3 overloaded     all members are busy
//	 4 unreachable    no member could be reached
//	 5 interrupted    the way to the member was lost before its reply
//	 6 unauthorized   no right to ask
//	 7 too large      beyond the largest message
//	 8 closed         the relay's node is closing
//	 9 deadline       the time was over
//	10 cancelled      by Cancel
//	11 limit          beyond a limit of this session; code: 1 registrations,
//	                  2 calls, 3 bytes of calls, 4 tunnels or their bytes,
//	                  5 subscriptions, 0 one of the node's
//	12 draining       the relay is shutting down and asked nobody
//	13 failed         anything else, see the text
//	14 topic          not a topic, or not a pattern
//	15 would block    it would have to wait (used within nodes only)
//
// Bit 0 of the flags says that a handler may have run. After the outcomes 2, 3,
// 4, 6, 7, 8 and 11 to 15 none has. After 12 the call should be made at the
// next relay. Where an outcome is not 0, the rest of a Reply, StatusReply,
// SurveyReply or Answer is a text; it may be empty. In other frames it is at
// most 1,024 bytes.
//
// # Deliveries
//
//	35 Deliver         u64 id, u64 registration, u8 pattern, u64 time that
//	                   remains or 0, str caller's peer, headers, rest body relay
//	36 Answer          u64 id, u8 outcome, u8 flags, u32 code, headers,
//	                   rest body or text                                  client
//	37 DeliverCancel   u64 id                                             relay
//
// The id is the relay's. Pattern: 0 request, 1 survey, 2 push, 3 broadcast; the
// last two run on if the session ends, for they are accepted. Every Deliver is
// answered by one Answer, in any order; the relay keeps to the concurrency of the
// registration until then. A time of 0 means that the caller waits for ever.
// DeliverCancel says that the caller does not wait any more; the Answer is due
// nevertheless, and its place is taken until then. It may cross the Answer, so an
// unknown id is no error.
//
// An Answer has outcome 0 or 1. A handler that stands for a program elsewhere
// may also say 3, 6, 7 and 8 if nothing was begun there, and 5 if something may
// have been. A Deliver for a registration that the client does not have is
// answered with 8. Flags and text of an Answer do not matter but for outcome 1.
//
// # Everybody
//
//	56 Survey          u64 id, u64 timeout, u32 replies, u64 bytes of replies,
//	                   str cluster (at most 255), headers, rest body      client
//	57 SurveyReply     u64 id, u8 outcome, u8 flags, u32 code, str member,
//	                   str peer, headers, rest body or text               relay
//	58 SurveyEnd       u64 id, failure, u32 replies, u8 complete, missing relay
//	59 Push            as Request                                         client
//	60 Broadcast       u64 id, u64 timeout, str cluster, headers, rest body client
//	61 BroadcastReply  u64 id, failure, u32 members, u32 nodes, u8 complete,
//	                   missing                                            relay
//
// A Survey is answered by a SurveyReply, of outcome 0 or 1, for each member
// that answers, as they come, and by one SurveyEnd. It takes at most so many
// replies and bytes of them; 0 = 4,096 and 64 MiB. A Push is answered by a
// Reply without a body when a member's queue has it, a Broadcast when all have,
// or are late. Complete is 0 or 1; 1 = nobody is missing, and all members are
// known. Missing is u32 count, then for each member without an answer str
// member, str peer, failure.
//
// # Topics
//
//	64 Publish         u64 id, u64 timeout, str topic (at most 255), headers,
//	                   rest body                                          client
//	65 Published       u64 first id, u32 count, at least 1                relay
//	66 PublishFailed   u64 id, failure                                    relay
//	68 Subscribe       u64 id, u64 timeout, u8 options, u8 overflow,
//	                   u32 queue length, u32 queue bytes, u32 window,
//	                   u32 window bytes, u64 number, str queue, str pattern
//	                   (each at most 255)                                 client
//	69 Subscribed      u64 id, u8 continued, u64 number                   relay
//	70 SubscribeFailed u64 id, failure                                    relay
//	71 Unsubscribe     u64 id, u64 timeout                                client
//	72 Unsubscribed    u64 id, failure                                    relay
//	73 Publication     u64 subscription, u64 number, str publisher's peer,
//	                   str topic, headers, rest body                      relay
//	74 Gap             u64 subscription, u64 number, u64 missed, u8 exact,
//	                   u8 reason, str publisher's peer or ""              relay
//	75 Taken           u64 subscription, u64 number                       client
//
// The ids of a session's publishes are 1, 2, 3 and so on. A client sends one
// without waiting for the answer to the one before; those of one topic are done
// in order. Published answers a range of ids. Publishes that have to wait count
// as calls: keep those without an answer below half of the limits of calls.
//
// Subscribe and Unsubscribe go as Register and Unregister do. Of the options,
// bit 0 leaves out what the client publishes itself. Overflow is what a full
// queue does: 0 drops the oldest, 1 the newest, 2 has publishers wait. The queue
// bounds what waits at the relay, the window what was sent and not taken, in
// messages and in bytes of topics, header keys and values, and bodies; 0 = 4,096
// and 16 MiB, 1,024 and 4 MiB. Nothing is sent while so many messages, or more
// than half of the bytes, are not taken. Taken says that the program has had all
// up to a number; it is due at half of the window, of either. Subscriptions with
// the same pattern and queue name share their messages.
//
// Nothing comes before Subscribed or after Unsubscribed. A Publication's number
// is one more than that of what came before it, a Gap's as many more as it says
// are missed. Exact 0 means at most so many, or, with 0, that nobody knows.
// Reasons: 1 the queue was full, 2 a lane on the way was, 3 a link was lost, 4 a
// session or relay was, or had no room. Bit 1 of the options says that an earlier
// session had the subscription, under this id, and number what came last of it,
// on whichever. The relay counts for 10 s after each session that broke. It goes
// on at number with continued 1 and a Gap of what was missed, or else begins at
// number + 1 with a Gap of 0 missed, exact 0.
//
// # Tunnels
//
//	80 OpenTunnel      u64 id, u64 timeout, u8 options, u8 policy,
//	                   str sticky key, str cluster (at most 255),
//	                   u32 credit, headers, rest body                     client
//	81 TunnelReply     u64 id, u8 outcome, u8 flags, u32 code, str text,
//	                   u16 attempts, str member, str peer, u32 credit     relay
//	82 DeliverTunnel   u64 id, u64 registration, u32 credit,
//	                   str caller's peer, headers, rest body              relay
//	83 TunnelData      u64 id, u8 flags, rest chunk                       both
//	84 TunnelCredit    u64 id, u32 credit, u32 read                       both
//	85 TunnelEnd       u64 id, u8 flags                                   both
//	86 TunnelReset     u64 id, u8 outcome, u8 flags, u32 code, str text   both
//
// OpenTunnel is a call like Request, with the same options, policies, limits
// and outcomes; TunnelReply is its reply. If the outcome is 0, there is a tunnel
// to that member on that peer. It has the id of the call, below 2^63, which no
// other call or tunnel of the session may have any more.
//
// DeliverTunnel hands a tunnel that a caller opened to a registration; the
// caller knows already that it is open. The relay chooses the id, from 2^63
// on. The client gives credit or, if it can't take the tunnel, resets it.
//
// A message is one or more TunnelData with the same id, of which only the last
// one has bit 0 of the flags. A chunk is at most 65,536 bytes; only the last one
// may be empty. It uses up credit: its length, but at least 64. Nobody sends more
// than he has credit for. The credit in OpenTunnel is the relay's, that in
// TunnelReply and DeliverTunnel the client's; TunnelCredit adds to it. The
// relay gives credit when the node has taken the chunks, which it does as the
// other side reads. The client gives it when its program has read them, and
// says in read how many bytes these were, so that the relay can tell the other
// side; it must not keep back more than a fourth of the credit it gave at
// first, nor, when all is read, more than 1,024 bytes.
//
// TunnelEnd says that its sender sends no more; bit 0 of the flags, that it
// does not read either, so that what comes still is thrown away (but credit is
// given). A tunnel is over when both sides have sent TunnelEnd, or when the
// relay has sent one with bit 0: the other side has ended both. TunnelReset
// ends it at once. A client says outcome 1 in it, with a code and a text for
// the program at the other side; or 3 or 8 if a delivered tunnel finds no
// room or no registration. A relay says 1 if the other side did so, 5 if the
// way to it was lost, and 8 if the node or the registration closes. Frames for
// a tunnel that is over, or was never there, are ignored.
//
// If the session ends, its tunnels are interrupted. During a drain tunnels that
// are open go on until they are over, or the relay's time is; new ones are
// refused with outcome 12. Chunks travel behind everything else that waits, and
// tunnels take turns, so that no call waits for long behind them.
//
// # Limits
//
// A relay bounds what one client may use; [Limits] has the defaults. Beyond
// those that Welcome states, the answer is outcome 11. So it is for a tunnel
// beyond 16,384 open ones, and for one for which 64 MiB of credit leave nothing;
// a tunnel that somebody opened to one of the client's members is reset then.
// The more tunnels there are, the less credit each gets, but 2 KiB at least.
// What a client does not read waits in a queue of 8 MiB, and 64 MiB in all of
// its subscriptions, which drop then (gap, reason 4). Replies that find no room
// wait too, up to the limits of calls, and beyond them their outcome is 5.
// Requests that find no room while the client reads nothing for 500 ms are
// refused with outcome 3 on its behalf, and go to other members; pushes and
// broadcasts wait. A client that reads nothing for 30 s while the relay writes,
// or that asks for ever more without reading, loses its session.
//
// # Duties of a binding
//
//   - Read always. Never let a handler, or a caller that does not fetch its
//     reply, stop the reader.
//   - Answer every Deliver, and every Ping.
//   - Answer a handler's panic or exception with outcome 1, code 1.
//   - Stop a handler, if the language can, at its deadline, at DeliverCancel,
//     and when the session ends. Its answer has nowhere to go then.
//   - After a lost connection, connect again: at once, then after pauses of an
//     eighth of the time since a session of 1 s or more ended, 10 ms to 1 s, less
//     up to a half at random. Send the session as resume. Register and subscribe
//     again; the members have new ids. If that fails, again after 50 ms to 1 s.
//   - A call or publish without an answer when the connection ends is made again
//     if Goodbye came, if not all of its bytes were written, or if it is
//     idempotent, for the rest of its time. Otherwise its outcome is 5.
//   - A call that is made while there is no relay waits for one, for 2 s or its
//     own time, and is unreachable then.
//   - Keep time for calls yourself, too; the relay's outcome 9 comes later and is
//     worth 4 ms of waiting, because it tells whether a handler may have run.
//   - Give credit for a tunnel's chunks when the program has read them, not when
//     they come, and take what there was credit for without waiting. Reset a
//     delivered tunnel that nobody takes. A tunnel does not outlive its session.
//
// # Data path
//
//  1. The reader of a session decodes a Request, takes its place among the
//     client's calls, and gives it a goroutine, which asks the node.
//  2. The node's answer becomes a Reply in the session's queue; large bodies are
//     not copied.
//  3. The writer takes all that is queued in one system call.
//  4. In the other direction the node calls the registration as a handler; that
//     queues a Deliver and waits until the reader has the Answer.
//  5. A Publish is tried on the reader; only a topic that must wait has a queue.
//     What a subscription gets waits in its feed, and the writer fetches it.
//  6. A tunnel's chunk is offered to the node by the reader, or waits within the
//     client's credit. The node says when there is something to do with a tunnel;
//     the writer sees to it, in turns of 64 KiB, behind all that is queued, and
//     tells the node of what was read only when the client says so.
//
// # Goroutines
//
// One for each listener; for each session a reader, a writer, one for each
// registration, call, and queue of publishes; none for a tunnel that is open.
// [Relay.Close] waits for all of them.
package relay
