// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package wire is the link protocol, version 1: the frames two nodes exchange
// on a link stream, and how their bodies are laid out. This page is its
// specification; testdata holds test vectors for every layout. The package
// encodes, decodes and checks. It has no goroutine, no socket and no clock,
// and does not interpret the messages.
//
// All integers are big-endian and unsigned. A decoder refuses what it does not
// understand (ErrMalformed) and judges every length before it reserves memory.
// A node ends the link after such an error: the peer is broken or hostile.
//
// # Stream
//
// A connection is a sequence of frames in each direction.
//
//	bytes  field
//	4      length of what follows: 1 to 69,632 (MaxFrame)
//	1      head: 64 × lane + kind. Lanes: 0 ctl, 1 rpc, 2 pub, 3 bulk
//	…      body
//
// A receiver skips and counts frames of a kind it does not know. The first
// frame in each direction is Hello; nothing else is sent before the other
// side's Hello has arrived. The link then runs at the newest version both
// sides speak; if there is none, the sides say Goodbye and close.
//
// # Sessions
//
// The frames of a session are numbered from 1, for each lane and direction, in the
// order in which they are sent; numbers are not on the wire. Hello, Beat, Goodbye,
// Notice and Ack belong to one connection, travel on lane ctl, and are not
// numbered.
//
// A sender keeps what the receiver has not acknowledged. When a connection breaks,
// the next one begins with Hellos in which each side says how many frames of each
// lane it has received; each then goes on with the frame behind those. What a
// sender keeps and has queued in one lane is bounded: a receiver acknowledges in
// time.
//
// # Ack (kind 6)
//
//	bytes  field
//	8 × 4  for each lane: how many frames the sender need not keep any more
//
// # Void (kind 7)
//
// A frame that was withdrawn before it was sent. It is numbered, and skipped
// whatever its body is.
//
// # Fragment (kind 5)
//
// A message of more than 65,536 bytes (MaxPayload), TunnelData excepted, is cut. The fragments of
// one message are sent in order on one channel and one lane: pub for what belongs
// there, else bulk; those of different channels may alternate. A channel number is free again after its last fragment.
//
//	bytes  field
//	4      channel
//	1      flags: 1 first, 2 last; others 0
//	1      kind of the whole message       (only with "first")
//	4      length of the whole, in bytes   (only with "first")
//	…      payload: 1 to 65,536 bytes; empty only where the whole is empty
//
// The payloads, put together, are the body of a frame of that kind. The kind
// is not Fragment again.
//
// # Headers
//
// At most 16,384 bytes (MaxHeaderBytes), the count included.
//
//	bytes  field
//	2      count
//	       then count times:
//	1      length of the key
//	…      key
//	2      length of the value
//	…      value
//
// # Request (kind 32)
//
//	bytes  field
//	8      id, unique among the requests of the sender's session
//	8      member
//	8      incarnation of the member
//	8      deadline, ns of the sender's link clock; 0 = none
//	1      flags: 1 idempotent, 2 sealed, 4 origin, 8 route, 16 tunnel; others 0
//	1      attempt: 0 for the first member tried
//	1      pattern: 0 request, 1 survey, 2 push, 3 broadcast, 4 tunnel
//	       with flag "origin", where the caller is not the sender:
//	1 …    length and peer id of the caller, 1 to 64 bytes
//	8      incarnation of its node
//	8      serial, unique among its messages
//	1      count of networks that it has come through, at most 8, then as often:
//	1 …    length and id of the network, 1 to 64 bytes
//	       with flag "route", from a client to its relay; member and incarnation are 0:
//	1      options: 1 wait for a first member, 2 limits; others 0
//	1      policy, as package patterns numbers it
//	1 …    length and sticky key; may be empty
//	1 …    length and name of the cluster, at least 1 byte
//	4      replies taken, at most    (only with "limits")
//	8      bytes of replies, at most (only with "limits")
//	       with flag "tunnel", of a sealed request of pattern 4 that crosses a border unopened:
//	8      id that the frames of the tunnel have on this link, not 0
//	…      tail: all that is left
//
// A node that passes a request on replaces the id, the deadline and the tunnel's id, and
// keeps origin and tail. The tail is the headers and then the body, or sealed data.
//
// # Reply (kind 33)
//
//	bytes  field
//	8      id of the request
//	1      outcome
//	1      flags: 1 a handler may have run although nobody says so, 2 sealed,
//	       4 another reply to the same request follows, 8 from; others 0
//	4      requests waiting at the member
//	4      requests running at the member
//	4      service time in µs, capped
//	4      code of a remote error, or of a limit, else 0
//	       with flag "from", from a relay to its client:
//	1      members that were tried
//	8      member that gave the outcome; 0 = none
//	1 …    length and peer id of its node
//	…      tail: all that is left
//
// The tail is the headers and then the body, or the text of the error; or what
// was sealed. The outcomes are 0 reply, 1 remote error, 2 overloaded, 3 no such
// member, 4 draining, 5 expired, 6 unauthorized, 7 too large, 8 cancelled; and
// from relays to their clients only 9 no members, 10 unreachable, 11 interrupted,
// 12 deadline, 13 closed, 14 too many, 15 would block, 16 not a topic, 17 other.
//
// A reply to a push or broadcast is sent when the member's queue has it, before a
// handler runs, and is empty. Code 3 says that the member does not implement the
// pattern: no handler has run.
//
// # Cancel (kind 34)
//
//	bytes  field
//	8      id of the request
//
// # Interests
//
// What a node listens to. In paths, and in the payload of a lease of a group of
// topics.
//
//	bytes  field
//	2      count
//	       then count times:
//	1 …    length and text of the pattern, at least 1 byte
//	1 …    length and text of the queue; empty = none
//	2      weight in the queue, at least 1; 0 without a queue
//	1      1 = what is published has to be signed, else 0
//
// # Tunnels
//
// A tunnel is opened by a request of pattern tunnel. Its body is
//
//	bytes  field
//	8      id, unique among the tunnels that the sender's instance opened
//	4      credit: what the member may send at first
//	1 …    length and head of the stream if the tunnel is sealed, else 0
//	…      body of the first message: all that is left
//
// and that of the reply which accepts it
//
//	bytes  field
//	4      credit: what the opener may send at first
//	…      salt of the stream if the tunnel is sealed, else nothing
//
// A tunnel ends with the link's session. Its two nodes are the opener, who says
// so in each frame by flag 1, and the member; the id is the opener's. A chunk of
// n bytes uses up a credit of n, but 64 at least; who sends without credit
// breaks the protocol. Frames of a tunnel that is not known are skipped and
// counted. When the opener has the reply it sends some frame of the tunnel, at
// least a TunnelCredit that gives nothing new: the member gives up a tunnel of
// which it hears nothing until the deadline of the request.
//
// # TunnelData (kind 40)
//
//	bytes  field
//	8      id
//	1      flags: 1 from the opener, 2 last chunk of its message, 32 several
//	       messages; others 0
//	…      chunk: at most 65,552 bytes (MaxChunk), empty only if it is the last
//
// With flag 32, which comes with flag 2, the chunk is one or more whole messages,
// each behind its length in 2 bytes: small ones that wait for a busy link share a
// frame. The length counts as the chunk does.
//
// # TunnelCredit (kind 41)
//
//	bytes  field
//	8      id
//	1      flags: 1 from the opener, 64 returned; others 0
//	8      total: all the credit given since the tunnel began, the first included;
//	       one that is not larger than an earlier one gives nothing. With flag 64:
//	       all the credit since then that the sender was given and will not use; the same
//	       again asks for more
//	…      the seal of the total if the tunnel is sealed, else nothing
//
// # TunnelEnd (kind 42)
//
// Ends the sender's direction, behind all its data. Who gets one with flag 4
// has nobody to send to, and ends its own direction, too.
//
//	bytes  field
//	8      id
//	1      flags: 1 from the opener, 4 closed: it receives no more; others 0
//	…      payload: with flag 4, in 8 bytes, the credit of all chunks that the
//	       sender has read, else nothing; sealed if the tunnel is
//
// If the chunks that were sent cost more than that, some of them were not read.
//
// # TunnelReset (kind 43)
//
// Ends both directions at once; it may overtake data.
//
//	bytes  field
//	8      id
//	1      flags: 1 from the opener, 8 all that follows is sealed; others 0
//	1      cause: 0 the program, 1 interrupted, 2 overloaded, 3 leaving,
//	       4 violation of the protocol
//	4      code of cause 0, else 0
//	…      text: at most 1,024 bytes
//
// # Publish (kind 48)
//
// One message, or several that follow each other: what comes while a connection is
// busy shares a frame. The head (up to the skips) is the receiver's own; the tail is
// the same for all, and passed on as it came.
//
//	bytes  field
//	8      session: random, the source's
//	4      run: numbering begins anew with each, for one receiver. The high 16 bits
//	       are the low ones of the receiver's incarnation: another one is not meant
//	4      epoch: names the path; 0 = the receiver passes it on to nobody
//	8      number of the first message; the next ones have those that follow. It
//	       counts what the source addressed to the receiver, from 1 to 2^62, as all
//	       such numbers; 0 = none is for the receiver itself
//	2      count of skips, then as often:
//	2      index of a stop in the path
//	4      what has been addressed to it on other ways, since this was told last; all
//	       bits set: the path leads there no longer
//	1      flags: 2 sealed, 4 origin, 8 root group, 16 signed; others 0
//	1 …    length and peer id of the source; empty = the origin's, or, if there is
//	       none, the sender's
//	…      with flag 4, which the root group always has: the origin, as in Request: the
//	       publisher. Its serial counts, in the root group, what it published there:
//	       that of the first message; the next ones have those that follow
//	1 …    with flag 8: length, 64 or 0, and signature of the publisher for the forwarder
//	       that it has in the root group; behind 64 bytes
//	8      serial and
//	8      floor, as in Path
//	8      serial of the origin in the last message before
//	…      messages to the end of the frame, at least one; more than one have at most
//	       65,536 bytes together
//
// Each message:
//
//	bytes  field
//	4      length of what follows of it
//	1      flags: 1 it names its topic, as the first one must; others 0
//	1 …    with flag 1: length and text of the topic, else it and the picks are those
//	       of the message before. In the root group topics may differ in their first
//	       words
//	2      with flag 1: count of picks, then as often:
//	8      hash of a pattern and a queue
//	8      hash of the peer id that has the message for that queue
//	…      headers
//	…      body: all that is left of it
//
// The hash of a text is 64-bit FNV-1a; that of a pattern and a queue is of the
// two with a zero byte between them. More than 65,536 bytes go in fragments on
// lane pub, in the order of the lane.
//
// # PublishMark (kind 49)
//
//	bytes  field
//	8      session
//	4      run
//	8      number of the last message addressed to the receiver
//	1      flags: 1 the source is lost, and with it how much it had published;
//	       others 0
//	1 …    length and peer id of the source; empty = the sender
//	1 …    length and text of the topics' first word, "*" in the root group
//
// # Path (kind 50)
//
//	bytes  field
//	8      session
//	4      run
//	8      number of the last message addressed to the receiver
//	4      epoch, at least 1: no two paths of a session have the same
//	1      flags: 8 root group, 32 another part follows; others 0
//	1 …    length and peer id of the source; empty = the sender
//	1 …    length and text of the topics' first word, "*" in the root group
//	2      count of stops, then as often:
//	1 …    length and peer id
//	8      incarnation of its lease
//	4      run
//	8      number of the last message addressed to it when the path was signed
//	4      what has been addressed to it since; all bits set: the path leads there no
//	       longer
//	1      count of addresses, at most 4, then as often:
//	1 …    length and text
//	…      interests
//	…      without flag 32: the proof
//
// The proof shows the receiver that the source has signed its place in the tree:
//
//	8      number of the last message addressed to the receiver when it was signed
//	1 …    length, 32 or 0, and digest of those behind the receiver
//	8      incarnation of the source
//	8      serial: larger in each path that the source signs
//	8      floor: what is sealed for this path has a larger serial
//	64     signature
//	…      place of the receiver's branch among those that were signed together
//	1      count of steps, at most 8, then as often, the first forwarder first:
//	1 …    length and peer id
//	4      run
//	8      number of the last message addressed to it when it was signed
//	…      place of the next one, or of the receiver, among the branches behind it
//
// and a place is
//
//	1      index
//	1      count
//	1      digests of the audit path, at most 8, then as often:
//	32     digest
//
// A path counts in the session of the link in which it was told. One without stops
// makes its receiver no forwarder: it says who may send it what is the source's.
// Which digests there are, and what is signed, is laid down in package security
// (Path, PathNode, JoinPaths); a node's stops are cut into branches as package pubsub
// does: the first 16 begin one each, the rest follow them evenly, in their order.
//
// # PathLost (kind 51)
//
//	bytes  field
//	8      session
//	4      epoch
//	1 …    length and peer id of the node that is not reached
//
// Epoch 0 and the sender's own id ask the source to number anew what it addresses to
// the sender: its numbers were moved by somebody else.
//
// # Sealed bodies
//
// Where the flag "sealed" is set, the tail of a request is 8 bytes with the
// incarnation of the sender, which the receiver needs to open the rest, and then
// what was sealed: the headers as above, and the body. A reply's lacks the 8
// bytes, as the caller knows its own incarnation. Both are sealed with an agreement of the
// two nodes (security.Agreement); a request for a key that the member's node has no more is
// answered with the outcome "no such member" and the flag "sealed", and then the tail is what
// was sealed, without an agreement, of the 32 bytes of the present key. A sealed publication has no
// headers of its own; its body is 8 bytes with the incarnation of
// its publisher, 8 with a number that this incarnation uses once, and then what
// was sealed: one byte with the length of the topic, the topic, headers and
// body; member and member incarnation are 0 for it. With the flag "signed" 64 bytes
// precede that: the publisher's signature of the rest, which is headers and body if it is
// not sealed. Package security has the layout of sealed data, and what it is bound to.
//
// Of a sealed request with an origin, which a gateway passes on that can't open it, all
// replies are sealed whole: what was sealed is a reply with the id 0, and the one around it
// has outcome 0, zeros, and the flag "sealed". What comes without a seal is the
// gateway's own word.
//
// A tunnel whose opening was sealed is sealed as a whole: the chunk of each
// TunnelData, the payload of each TunnelEnd, the total of each TunnelCredit, and
// all that a TunnelReset says is what security.Stream made of it, with the flags of
// the frame as associated data. There is one exception: an opener whose opening
// has failed has no keys of the tunnel, and resets it in the clear. The member
// heeds that until it has heard from the opener.
//
// # Control messages (kinds 1 to 4, 12, and 16 to 24)
//
// Their bodies are protocol buffers, described in control.proto, of at most
// 65,536 bytes (MaxControl) and 1,024 fields at the top level
// (MaxControlFields). They are never cut into fragments. Unknown fields are
// ignored, so that a neighbouring release can add some; the layouts above have
// none, and change only with the link version. Check holds the limits inside
// them: a cluster id has 32 bytes, a key 32, a proof 64, an instance 16; the
// others are constants in protocol.go.
package wire
