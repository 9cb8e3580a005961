// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package security, an inner part of Arke that makes no promise to users, holds
// the keys of Arke and everything that is made from them: node identity,
// admission to a network, blinded cluster ids, proofs of membership, sealed
// records, sealed payloads and sealed streams.
//
// It computes. It starts no goroutine, opens no connection, knows no clock and
// no source of randomness but those it is given, and invents no primitive:
// Ed25519, X25519, HKDF-SHA-256, SHA-256 and AES-256-GCM, all from the standard
// library. The links' own encryption is libp2p's TLS 1.3, see overlay/p2p.
//
// # Keys
//
//	authority (Ed25519)          nobody online   Authority.Sign, SignRevocations, NewIssuer
//	issuer (Ed25519)             few nodes       Issuer.Renew
//	node key (Ed25519)           one node        peer id, TLS, NodeKey.SignLease,
//	                                             SignPath, SignPublication
//	network key (32 bytes)       all nodes       Network
//	├─ admission key (Ed25519)                   Network.Admit
//	├─ stranger key                              Network.Greet
//	└─ derived cluster key, by name              Network.Cluster
//	cluster key (32 bytes)       members,callers Cluster, derived or explicit
//	├─ route key = finding key    gateways, too  Finding, NewFinder: where a cluster is found
//	│  ├─ epoch key (Ed25519), by name and epoch Epoch: id, proofs
//	│  ├─ reach key, by salt and id              where a member is, Epoch.SealRecordParts
//	│  └─ lent key, by salt and id               Epoch.SealLent
//	├─ key id, public                            KeyID: which key has sealed a payload
//	├─ record key, by salt and id                Epoch.SealRecord
//	├─ payload key, by salt, sender, direction   Cluster.Seal
//	├─ agreed key, with what two nodes' ephemeral
//	│  keys give, by salt, sender, direction     Cluster.Seal with an Agreement
//	└─ tunnel key, by two salts and direction    Cluster.Stream
//	ephemeral key (X25519)       one node, 1 h   Ephemerals
//
// Every arrow is HKDF-SHA-256 with a label of its own (labels.go); the inputs
// of each derivation, signature and associated data are framed by their
// lengths. Networks and clusters have a list of keys by version, each with
// an optional time; ValidityOf says which count when. Of those that are valid, with
// ClockTolerance at either end, the two newest are accepted; the newest that is valid by
// this node's own clock seals. Admissions and registrations are made with both. Who knows
// whom it seals for takes the newest key that the other has, too (Binding.Key); who does not
// takes one that has an end, until then (CommonKey). So a key is replaced node by node,
// without a pause (TestKeysChangeInUse, internal/node:
// TestThreeRotationsOfEachKindLoseNothing). All formats are version 1, by a byte in front or by their label;
// testdata/vectors.txt has one example of each.
//
// # Forward secrecy
//
// A node makes an X25519 key each hour (Ephemerals); the records of its members carry the
// public half, signed by the node and sealed for the cluster. What goes to one member
// and what it answers is sealed with the cluster's key and with what the keys of the two
// nodes give together (Agreement). That is kept for each pair of nodes, so it
// costs a multiplication on the curve at each end in an hour. A key is replaced after an hour
// and erased five minutes later; the agreements made with it go at the same
// time, or after the last deadline of a request that was sealed with them. A caller whose record is older than that is told the
// present key by the member's node, sealed with the cluster's key, and no handler has
// run. Time is each node's own, counted from its start: wall clocks do not matter. The first
// request under an agreement shows that its sender holds the cluster's key before
// the member's node does any arithmetic.
//
// Tunnels need none of that: their keys are made of two random salts, one from each end, that
// are sent inside the sealed opening and the sealed answer to it, so nobody else ever knows them.
// They last as long as the tunnel. Publications go to many at once: they are sealed
// with the cluster's key alone, and so are the records of members.
//
// # Epochs
//
// A cluster's id is the hash of a public key that changes every six hours, at
// a time that depends on the name. An epoch is valid from 15 minutes before it
// begins to 15 minutes after it ends. Two nodes agree as long as their wall
// clocks differ by less than that (ClockTolerance). Links compare them: beyond it a
// node knows that it can't say "no member". No clock keeps a node out: greetings and
// certificates are valid at any time, so it gets as far as being told.
//
// # Formats
//
// Admission, the value of the X.509 extension 2.25.1634888549.1 (AdmissionOID):
//
//	1 byte    format, 1
//	1 byte    count, 1 or 2
//	          then count times, newest first:
//	4 bytes   version of the network key, big-endian
//	64 bytes  Ed25519 signature over network id, version and peer id
//
// Greeting, in front of a dialler's first TLS record: 32 bytes, HMAC-SHA-256 of the
// record by the stranger key; with two accepted keys the first 16 of the newest
// one's and the last 16 of the other's. No clock is involved, and keys are tried
// whatever their times where no other is valid: a node whose clock is wrong gets as far as being told.
//
// Proof of membership: 64 bytes, an Ed25519 signature by the epoch key over
// cluster id and peer id. The cluster id is the hash of the epoch key's public
// half. Signature of a lease: 64 bytes, by the node key over network id, cluster
// id, peer id, member, incarnation and sealed record; the peer id holds the key
// that verifies it.
//
// Certificate, in a Hello and as the value of the X.509 extension 2.25.1634888549.2
// (CertificateOID), at most 1,024 bytes, numbers big-endian, times in seconds since 1970; a
// text is one byte of length and so many of UTF-8:
//
//	1 byte    format, 1
//	8 bytes   serial number, random
//	8, 8      not before, not after
//	text      name of the node
//	text      peer id
//	five times, for groups and what it may serve, call, publish, subscribe:
//	  1 byte  count, then so many texts, in rising order
//	64 bytes  Ed25519 signature by the authority over network id and all before
//
// One that issuers may renew has format 2, and behind not after 8 bytes more: until when
// they may. What an issuer has renewed, at most 1,024 bytes again, is
//
//	1 byte    format, 3
//	2 bytes   length of the certificate, then that one as the authority signed it
//	129 bytes the delegation
//	8, 8      not before, not after: these count
//	64 bytes  Ed25519 signature by the issuer over network id and all before
//
// Its delegation says who may do that; what is renewed lies within its time:
//
//	1 byte    format, 1
//	8 bytes   serial number, random
//	32 bytes  public key of the issuer
//	8, 8      not before, not after
//	8 bytes   for how many seconds it may renew at a time
//	64 bytes  Ed25519 signature by the authority over network id and all before
//
// List of revocations, at most 24 KiB:
//
//	1 byte    format, 1
//	8, 8      number of the list, and when it was issued
//	2 bytes   count, then so many serial numbers of 8 bytes, in rising order
//	2 bytes   count, then so many peer ids, as texts, in rising order
//	64 bytes  signature likewise
//
// For records see Epoch.SealRecord, SealRecordParts, PassedRecord and SealLent; of a record
// in two parts a lease signs PassedRecord. For payloads Cluster.Seal, for
// tunnels Cluster.Stream, for files NetworkFile and LoadNodeKey: they are text,
// a statement a line, strict.
//
// # Threat model
//
// An attacker who can watch and change all traffic, but has no key, can
//
//   - see which addresses talk, when and how much, and that they talk Arke (the
//     dialler's ClientHello says so); on a LAN, by mDNS, peer ids and a label that
//     is the same for all nodes of a network;
//   - connect. Without a greeting it hears no byte, not even an alert, and learns
//     nothing: neither a peer id nor that this is Arke. It costs two hashes. (Test
//     TestStrangersHearNothing of overlay/p2p.) Silent connections have a few
//     thousand places of their own, shared fairly between sources (an IPv4 /24 or
//     an IPv6 /48), out of which one at random goes when they are full; they take
//     no place of any other connection
//     (TestSilentStrangersDoNotKeepPeersOut, TestDoorIsFairToSources). On Linux,
//     with SYN cookies as by default, the kernel keeps to itself what does not begin
//     with 37 bytes at once (TestTheKernelKeepsWhoDoesNotGreet); where it does not the log
//     and the status say so, and why (TestAListenerWithoutASieveSaysSo):
//     2,000 new connections a second that are silent, or say a byte, cost the
//     process nothing that can be measured, and delay neither requests nor joins
//     (figures: `go run ./tests/measure -only strangers`). As many that do say
//     37 bytes, or on other systems anything, take a quarter of a core: requests on
//     existing links are served late then, though none is lost; and with more sources
//     than there are places they delay joins;
//   - play back a greeting that it has recorded. That costs one handshake, which
//     it can't finish, once as long as 65,536 others have not come after it, and
//     again after a restart; the answer is encrypted for the true dialler, and
//     shows it that this is TLS (TestReplayedGreetingsHearNothing);
//   - on a LAN, have nodes dial addresses of that LAN, two at a time: none of
//     loopback, of another network, or beyond the link
//     (TestNeighboursSpeakForTheirNetworkOnly), and it takes no place, no dial and
//     no address of a candidate that is known otherwise
//     (TestAnnouncementsPushNobodyOut of overlay);
//   - cut or delay connections.
//
// It can't pass the handshake, so it sees no id, name or message, and never
// appears in anybody's tables. What it recorded stays closed if keys leak
// later: links have forward secrecy.
//
// Who holds the network key is a node like any other. It can
//
//   - join under as many peer ids as it likes, come back after a ban, and
//     choose ids that lie close to a cluster's, until the epoch ends: as one
//     anchor of three it can have members called suspect at callers that have no
//     link to them, repeat the last lease of a node after it left,
//     until the epoch ends, and see which peers register and watch under an id,
//     which links those peers' epochs to each other. As the fourth anchor, where the
//     three closest are of one network, it can keep "no members" from being said, and
//     somebody who left listed as suspect. It can't take a member out,
//     call a cluster empty, or put another record or incarnation in a member's
//     place (cluster: TestOneLyingAnchorOfThreeChangesNothing,
//     TestOneLyingAnchorOfThreeRemovesNobody, TestTheNewestRecordCounts; and
//     scenario lying-anchor of sim). As a majority of them it can withhold leases
//     and have members vanish one by one; it can call a cluster empty only to those
//     who know no member's node: a caller that had members asks their nodes first
//     (TestLyingAnchorsDoNotEmptyTheViewOfWhoKnowsAMember,
//     TestACallerKeepsItsMemberWhenAllAnchorsLie; and scenario sybils-with-key of sim);
//   - call, serve and read every cluster whose key is derived, for it has that
//     key;
//   - say that its clock shows what it likes. Nobody believes by that that its own
//     clock is wrong, or answers "unreachable" in place of "no member", unless more
//     than half of the peers it has links to say so; a peer id counts once, and who
//     joins under many has many (overlay: TestClockScripts, liars). That costs answers,
//     and members nothing: epochs follow a node's own clock, whatever others say;
//   - listen to topics whose keys are derived, and so come to pass them on: if a
//     publisher's signed path makes it a forwarder, or a publisher chooses it in the
//     root group, it can withhold, invent and reorder messages for those behind it, as
//     long as the path is in use, and have them believe that up to 65,536 messages are
//     missing. When it is off the path, none of that lasts. Of what is sealed it can
//     only withhold and reorder (patterns/pubsub:
//     TestAForwarderDoesNotGoBeyondWhatThePublisherSigned). A subscription that asks
//     for signatures (Signed) gets no message but as its publisher made it, and once,
//     whoever passes it on, forwarders with the group's own key included; it is told
//     of a gap where something else came
//     (TestWhoAsksForSignaturesGetsWhatThePublisherHasSigned,
//     TestRootMessagesAreTakenOnceInTheOrderOfTheirAuthor; scenario lying-forwarders of
//     sim). Withheld and reordered messages, and which subscription of a queue gets one,
//     are not covered by that. A relay checks for its clients. Who asks costs each
//     publisher that it listens to a signature a message, and others nothing
//     (TestPublishersSignOnlyWhereSomebodyAsks);
//   - load everybody with work, within the limits of the layers above. Of streams
//     it has 16 at a node, four of them to the router, which takes one kind of
//     question of up to 4 KiB, whole within five seconds (overlay/p2p:
//     TestHalfSentQuestionsPinNothing, TestAPeerHasFewStreamsToTheRouter,
//     TestOnlyFindNodeIsAQuestion); beyond half of what all peers together may
//     have, each has its share (internal/budget: TestNobodyIsRefusedItsShare).
//     The same goes for messages that have arrived in part, of which a node holds
//     256 MiB for all peers; they are given up after half a minute without a
//     fragment, or below 16 KiB a second (overlay/session:
//     TestReassemblyStaysWithinItsBudget, TestHalfSentMessagesAreGivenUp). A peer id
//     is one share: who joins under many has many. What it has sent and nobody has
//     read, up to 1 MiB of each stream and 16 MiB of one that is read, counts against
//     the same 256 MiB and its share of them; the stream that goes further is reset
//     (overlay/p2p: TestWhatAPeerSendsAndIsNotReadStaysWithinItsShare, and its package
//     mux: TestWhatNobodyReadsIsBounded). Each connection, of 8 that a peer may have,
//     has 32 KiB besides. What an anchor holds is shared by number and bytes: who fills it gives way, lease by lease, to whoever has less
//     (cluster: TestHoardersGiveWay, TestWatchHoardersGiveWay, TestOneClusterIsShared,
//     TestRecordBytesAreShared), and a node refuses clusters that are far from it
//     (TestAFarNodeRefusesStrangers); but ids of clusters that are near a node can be
//     found by trying. Of n ids each has an nth, so who joins under many ids makes
//     the shares of all others small.
//
// It can't take another peer's id, register for another node
// (TestNobodySignsForAnotherNode, cluster: TestAnchorsRefuseWhatIsNotSigned), publish,
// count or declare lost in the name of a publisher that has not signed for it
// (patterns/pubsub: TestNobodySpeaksForAPublisherThatHasNotSignedForIt,
// TestNobodyIsAPublishersForwarderInTheRootGroupUnlessItSaysSo,
// TestAnOldPathIsGoodForNothing), read other nodes' links, or learn from the id of a cluster with an explicit key its
// name or its records, nor register there, nor read what is sealed for it. Of such
// a cluster it knows an id only once it meets it as an anchor or a router, so it
// can choose peer ids close to it for what is left of that epoch and never before
// one begins (TestIDsToComeTakeTheClustersOwnKey). The ids of clusters with derived
// keys it can compute years ahead: to become the three closest anchors of one takes a
// fraction of a second of hashing. Against that stand signatures, which no anchor can
// make, a caller's own knowledge of members, and a fourth anchor, the closest node whose
// address has another prefix (IPv4 /16, IPv6 /32) than those of the three. As long as
// that one is honest, anchors of a single network can neither hide a member, from
// whoever comes anew either, nor take it away, nor call the cluster empty; they can have
// members called suspect at callers that have no link to them (cluster: TestNodeScripts,
// elsewhere.txt; scenario sybils-one-prefix of sim). What counts is the address that a
// connection shows, so it takes a second network to become the fourth anchor too. Who has
// one tells those who come anew what it likes. So it is on a LAN, where all addresses count as one network, and where a node can find
// nobody elsewhere: the router tells of the 20 closest ids, so who has 18 of them can
// keep a node that has no link to the fourth anchor from hearing of it.
//
// Who holds a cluster's key, and a network key to get in, is trusted by that
// cluster. It can call it and also serve it, and so gets a share of its
// requests; and seal in the name of any
// sender: who sent a message is certain only from the link it came over. It can't
// register other nodes: a lease needs their keys. It opens no request, push, survey, broadcast or
// tunnel between two other nodes, neither one that it sees nor one that it has recorded,
// whichever other key it gets later (TestTheClusterKeyAloneOpensNothing, patterns/request:
// TestAClusterKeyThatLeaksLaterOpensNothingRecorded, internal/node:
// TestWhatWasRecordedBetweenTwoNodesStaysClosed); for those there must be the memory of one of the two nodes, in the hour. What it can
// open is publications and the records of members, older ones too: for them there is only
// rotation, so that a key opens what was sealed in its time. Who lacks the key has no node
// do arithmetic on a curve (TestWhoLacksTheClusterKeyMakesNobodyAgree), and nothing is sealed with the
// cluster's key alone because a record says no ephemeral key, or is taken
// (patterns/request: TestNothingIsSealedWithTheClusterKeyAlone). A cluster's key without a network key opens
// nothing but publications and records that were recorded outside links.
//
// Who holds a cluster's finding key, and a network key to get in, is a gateway that the
// cluster's owner has chosen. It learns, in that network, which nodes have members of the
// cluster, their addresses and certificates, how many members there are and when they
// come and go; and, of what it passes on, which member and which caller of the other network, the
// pattern, whether it may be repeated, its deadline, sizes and times; of a tunnel besides whether
// it was accepted, how much credit its ends give, and who ends it when. It can withhold
// what it passes on, cut a tunnel off, say that a member was not reached, and fill the cluster's share at anchors with
// leases that nobody believes. It can't open a record or a message (TestAFindingKeyOpensWhereAMemberIsAndNothingElse;
// of tunnels patterns/tunnel: TestAGatewayPassesTunnelsOnThatItCantRead),
// call the cluster, serve it, answer in a member's place, change a lease that it passes on, or have
// a request opened twice (gateway: TestAGatewayWithAFindingKeyCanNeitherReadCallNorServe,
// TestWhatAGatewaySaysItselfIsNoMoreThanThatNobodyWasReached). What it says without the
// member's seal callers take for "was not reached", "is full" or "nobody knows", so a liar can have a
// request that it did pass on sent again, as any peer can that goes silent. Anchors and
// nodes of the other network that hold neither key learn the gateway's peer, and not
// which nodes of the first network are members (cluster: TestAnAnchorSeesNothingOfAMemberThatIsLent). Members believe the seal about who
// asks; whether that caller may call, in an issued network, is asked of the gateway's
// certificate, and a member's certificate is judged by the gateway, not by callers of
// the other network.
//
// Who has a node's key, and no network key, can accept connections as that node, but
// dial nobody: its admission is shown to every peer and good for its id, until both
// of the key versions it is signed with are gone, but it can't greet. With a network
// key it can be that node. It has no cluster key by that, so it
// can call and serve nothing; it can be an anchor. The true node notices a
// second one with its id. With the key of one end, links of the past can't be
// read, links of the future can be intercepted.
//
// Who can open a relay's socket acts through its node: it can call and serve
// whatever that node can, with the keys derived from the network's, those that were
// given to the relay, and those it brings itself. It gets no key to see and can't use
// another session's (TestOneNameUnderTwoKeysIsTwoClusters, TestTopicsUnderTwoKeysAreTwoGroups and
// TestKeysThatAreNoneAreRefused of package relay). Sealed requests, replies and
// publications are in clear at the caller's relay and the member's, and in the memory of
// no other (tests: TestPlaintextIsInNoOtherRelaysMemory). The
// socket's permissions, or a token, are all that protects it. A relay that is shared
// takes the users and groups that it was told to, by the credentials that the system
// vouches for (TestASharedRelayTakesOthers of package relay). With a policy each client
// may use the names that a rule allows it, and nothing else: to call in any pattern, to
// serve, publish, subscribe, list and watch (TestThePolicyHoldsForEverything); a
// client's id does not help somebody else (TestAnIDIsNoWayToAnothersRights). The policy
// binds the clients of one relay, not other nodes: what another relay's clients may do
// is decided there.
//
// Programs on the machine don't starve each other. Who connects and says nothing keeps
// nobody out: the socket and the port have places apart, and a full room sends somebody
// away of the user, or address, that has most (TestSilentConnectionsLockNobodyOut of
// package relay). Clients of one user or address leave places for others
// (TestClientsOfOneSourceLeavePlacesForOthers). What clients make the relay hold is
// bounded for all of them together, and each has its share of it: calls
// (TestOneClientsCallsLeaveOthersTheirs), requests that handlers have not answered
// (TestHangingHandlersOfOneClientLeaveOthersServed), registrations, subscriptions and
// tunnels (TestPlacesAreSharedByAllClients), workers (TestCallsThatWaitForAMemberAreShared),
// and bytes, those of lanes included (TestBytesAreSharedByAllClients,
// TestLanesOfAllClientsAreBounded). Shares are of clients, not of users: who may have
// many clients has many shares, up to the places of one user.
//
// A program gives all that it says to its relay, so it looks whose that is: its own
// user's, root's or a trusted user's, by the credentials of the connection, and where
// it has found the socket by itself also by the owners of the file and its directory
// (TestWhoseRelayIsTrusted, TestAFoundSocketIsLookedAt of relay/client).
//
// Another user of the machine, without a token, can't attach over TCP, not with what
// it has heard of others' handshakes either (TestWithoutTheTokenNobodyAttaches of
// package relay). If it listens at the port in place of the relay, it hears random
// bytes and no other, also if it passes everything on to the true relay
// (TestASquatterLearnsNothing). Who connects to the true relay gets a MAC with which
// it can try tokens at home: tokens have 16 bytes at least (TestWeakTokensAreRefused),
// and should be random. TCP on loopback is not encrypted: root can read along.
//
// In an issued network (Issuance) a network key alone lets nobody in. A holder of one without
// a good certificate passes TLS, is told what it lacks, and has no link, so it serves,
// calls, anchors and hears nothing (internal/node: TestOnlyCertificatesLetIn). It takes
// no place of a node with one: not of its connections, streams and bytes (overlay/p2p:
// TestPeersWithoutACertificateTakeNoPlaces), not of its handshakes (overlay:
// TestSilentCallersKeepNobodyOut, overlay/p2p: TestDoorSharesHandshakesBetweenSources,
// TestDoorHurriesWhenTheLineIsLong), links, lines of the log or lost peers (overlay: TestCallersThatAreNotLetInLeaveNothing,
// TestPeersWithoutAnAddressAreNotLost). It can have a node do one TLS handshake for each
// of its own, and so slow down nodes of the same source, a /24 or a /48; it is in no
// routing table, and is neither asked who is near nor answered, so it stands in no anchor's
// place (overlay/p2p: TestWhoHasNoCertificateTakesNoPartInRouting,
// TestWhoseCertificateIsTakenBackLeavesTheTables). A node with a certificate does what it allows and nothing
// else, whatever its own program and file say
// (TestRightsHoldAgainstWhoObeysNone). A publisher signs its certificate with the paths by
// which forwarders bring what it publishes, so none of them can have it publish more
// (patterns/pubsub: TestForwardersDoNotBringWhatAPublisherMayNotPublish, internal/node:
// TestWhoMayNotPublishIsNotHeardThroughForwardersThatLie). Not so in the root group, of patterns that
// begin with a wildcard: there what it may not publish it can have passed on by a
// forwarder that colludes, as no path shows whose it is. Who has a node's key and certificate is that node until the
// authority revokes it: then every node that hears of it ends its links, within 5 s
// (TestARevokedNodeIsCutOffEverywhere), also after a restart
// (TestRevocationsOutliveARestart). A part of the network that is cut off hears of it when
// it is back; certificates that are good for a short time bound that. Nobody without the
// authority's key makes or changes a certificate or a list of revocations
// (TestWhatWasChangedIsNoCertificate), or plays an older list back
// (internal/issued: TestTheLargerNumberCounts). Who has the authority's key decides
// everything here; it opens no message by itself. Who has an issuer's key can give
// certificates more time, each until the authority's RenewUntil and none beyond the delegation, and can do
// nothing else with it: what it renews has the node, the rights and the serial number
// that the authority has signed (TestAnIssuerGivesTimeAndNothingElse). A list of revocations that
// names the delegation takes all back that was renewed by it
// (TestARevokedDelegationTakesAllBackThatItRenewed).
//
// A gateway reads, and can change, drop or invent, what crosses it; of each network the other
// one learns what is lent and nothing besides. With a pattern it learns the names that
// match and are asked for while nobody serves them, and one peer can make it lend 256 of
// them (gateway: TestOnePeerHasItsShareOfWhatIsLent). With transit each gateway on the way
// reads what crosses, and one that lies about the networks that something has come through
// can hide members, or have them asked in vain; a message enters no network twice at a
// gateway that does not lie, and what was lent by a network is not believed when it comes
// back to it (gateway: TestAMessageEntersNoNetworkTwice, TestARingOfFourNetworksServesEverybodyOnce;
// cluster: TestWhatComesBackFromOtherNetworksIsNotBelieved).
//
// Excluding somebody who had a key takes another key in every file, and the old version
// out of it, or at its end: after that everything refuses it
// (TestAnOldKeyIsRefusedEverywhereAfterItsTime), and who has no other can't dial, be
// dialled, be found, or find anybody (internal/node:
// TestABanReachesEverybodyAndAnOldKeyOpensNothing, and of an issued network
// TestWhatTheExcludedTryComesToNothing; gateway: TestNoGatewayHelpsWhoIsExcluded). A node whose clock is wrong accepts
// keys that have ended by everybody else's; it is refused by those. A ban cuts one peer id off at all nodes within seconds,
// and only costs the other one a new id. Whoever holds the network's key can say one and lift
// one (TestAVouchIsForOneStatementOfOneNetwork), of MaxBans peers at most, and can so leave no
// room for others: a rotation ends that. A lifted ban gives its place to others, and of one
// peer a ban is said or lifted once a second, eight times at once (overlay:
// TestStatementScripts, room and limits). A node's own file
// has the last word there on whom it bans, not on whom others do; a restart with a data
// directory says of it what is new, and brings nothing back that others have lifted
// (internal/node: TestBansGoOnAfterARestart). Without a data directory a ban that was lifted
// once is not said again by a restart, only by reading the file while the node runs. Where
// certificates are required bans of keys end (internal/node:
// TestBansOfKeysEndWhereCertificatesAreRequired).
//
// What a peer says of itself and of others is checked at a rate: certificates in place of
// its Hello's and statements that are news, five signatures a second and a hundred at once
// (overlay: TestWhatAPeerSaysTooFastIsAskedForAgain); signatures of topics, 10,000 a second,
// 200 of them false (patterns/pubsub: TestManyGoodSignaturesOfOnePeerHoldNobodyUp,
// TestFalseSignaturesAreLookedAtSoManyTimes); leases and their proofs, 2,000 a second, 25 of
// them false (cluster: TestOnePeersChecksLeaveOthersTheirs). A peer id has one such rate, so who joins under
// many has many. Signatures of certificates are verified while nobody waits for them, a
// refused certificate takes nothing from who has shown a good one, and nothing is kept of
// one whose link does not come (internal/issued: TestARefusedCertificateTakesNothingAway,
// TestWhoHasNoLinkIsForgotten). What is checked while keys change is checked again
// (overlay: TestWhatChangesWhileAStatementIsCheckedIsHeeded). Of the publishers, paths and
// streams of other networks that a node remembers those of whoever brings most give way, so
// nobody can push out all others (patterns/pubsub: TestWhoBringsMostGivesWay,
// TestWhatAGatewayBringsInFrames; internal/crowd: TestTheLargestHolderGivesWay); but a
// forwarder brings those of all publishers behind it.
//
// Replays: a sealed payload opens only for its request, member and incarnation
// of both, but there it opens again, until the agreement is erased. Links refuse replays by themselves. Where
// payloads pass through others, the receiver refuses what it has seen, by who has
// sealed it, and what is so old that it may have forgotten it: requests and openings
// of tunnels (patterns/request: TestWhatIsForgottenIsRefusedFromForwarders), and
// publications (patterns/pubsub: TestASealedMessageIsDeliveredOnce,
// TestASessionThatWasForgottenIsNotPlayedBack), also after a restart. What a Stream seals opens for its tunnel only; chunks and the reset
// open once, a total of credit may come again and says nothing new then.
//
// Not defended against: whoever can read a process's memory, its core dump or
// its swap, or the key files as their owner: keys are not wiped, but for what two nodes
// have agreed on, which is overwritten, also when a node is closed
// (TestErasedKeysOpenNothing, internal/node: TestAClosedNodeHasNoEphemeralKeys); X25519 and AES keys that were erased are out of use, and in memory until the
// garbage collector has had its turn; and
// analysis of sizes and times. Who sets a node's wall clock wrong has it look for
// clusters where they are not: it finds no member, and nobody finds its own. It says
// so, and why, and does not say that there are none (internal/node:
// TestANodeWhoseClockIsOffIsToldAndTells; scenario clock-off).
//
// # Who can do what
//
// The lines of the table in docs/keys.md, and the tests that try each:
//
//   - no key: overlay/p2p: TestStrangersHearNothing, TestReplayedGreetingsHearNothing;
//   - the network's key, without a certificate where one is required: internal/node:
//     TestOnlyCertificatesLetIn, TestWhereCertificatesAreRequiredNoKeyBans; a ban by it:
//     TestAVouchIsForOneStatementOfOneNetwork, internal/node: TestABanEndsWithTheKeyThatProvesIt;
//     of what was recorded: TestWhatWasRecordedBetweenTwoNodesStaysClosed;
//   - a cluster's key and the network's: patterns/request:
//     TestAClusterKeyThatLeaksLaterOpensNothingRecorded;
//   - a cluster's key alone: overlay/p2p: TestWrongNetworkKeyIsRefusedOnBothSides;
//   - a finding key: TestAFindingKeyOpensWhereAMemberIsAndNothingElse;
//   - a node's key: overlay/p2p: TestWrongPeerAtAnAddressIsNotAccepted; it was revoked:
//     internal/node: TestARevokedNodeIsCutOffEverywhere;
//   - the authority's key: TestWhatWasChangedIsNoCertificate, TestFilesOfAnAuthority;
//   - an issuer's key: TestAnIssuerGivesTimeAndNothingElse,
//     TestARevokedDelegationTakesAllBackThatItRenewed;
//   - the memory of a node, and what has left it: TestEphemeralKeysLiveForAnHour,
//     TestWhatIsKeptForLaterDeadlinesIsBounded.
//
// # Secrets in output
//
// Key, NodeKey and all that holds one print as "[redacted]" or by name, with
// every verb of fmt, in JSON, in zap and in slog. Two ways around it remain
// and are for the callers to avoid: a Key in an unexported field of a printed
// struct, whose methods fmt can't call, and what NodeKey.Libp2p and
// NetworkFile.Encode return.
package security
