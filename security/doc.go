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
// lengths. Networks and clusters have a list of keys by version, each with an
// optional validity (ValidityOf). A node accepts the two newest valid keys, with
// ClockTolerance at either end, and seals with the newest that is valid by its own
// clock. Admissions and registrations use both. A sender that knows the receiver uses the
// newest key that both have (Binding.Key); otherwise it uses a key that expires, until
// then (CommonKey). So keys are replaced node by node, without a pause
// (TestKeysChangeInUse, internal/node: TestThreeRotationsOfEachKindLoseNothing). All
// formats are version 1, by a leading byte or by their label; testdata/vectors.txt has one
// example of each.
//
// # Forward secrecy
//
// A node makes an X25519 key each hour (Ephemerals); the records of its members carry the
// public half, signed by the node and sealed for the cluster. Requests to one member and
// its replies are sealed with the cluster's key and the shared secret of the two nodes
// (Agreement). Each pair of nodes caches its agreement, so it costs a multiplication on the
// curve at each end in an hour. A key is replaced after an hour and erased five minutes
// later; agreements made with it are erased at the same time, or after the last deadline of
// a request that was sealed with them. A caller with an older record gets the present key
// from the member's node, sealed with the cluster's key, and no handler has run. Time is
// each node's own, counted from its start: wall clocks do not matter. The first request
// under an agreement proves that its sender holds the cluster's key before the member's
// node does any arithmetic.
//
// Tunnels need none of that: their keys are derived from two random salts, one from each
// end, inside the sealed opening and its sealed answer. They last as long as the tunnel.
// Publications have many receivers, so they are sealed with the cluster's key alone, and so
// are the records of members.
//
// # Epochs
//
// A cluster's id is the hash of a public key that changes every six hours, at
// a time that depends on the name. An epoch is valid from 15 minutes before it
// begins to 15 minutes after it ends. Two nodes agree as long as their wall
// clocks differ by less than that (ClockTolerance). Links compare clocks: beyond the
// tolerance a node does not report "no member". A wrong clock keeps no node out: greetings
// and certificates pass at any time, so its peers can tell it.
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
// one's and the last 16 of the other's. No clock is involved, and a node without a valid
// key tries expired ones, so that its peers can tell it that its clock is wrong.
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
// An attacker without a key, who can watch and change all traffic, can
//
//   - see which addresses talk, when and how much, and that they use Arke (the dialler's
//     ClientHello shows it); on a LAN, by mDNS, peer ids and a label that all nodes of a
//     network share;
//   - connect. Without a greeting it receives no byte, not even an alert, and learns neither
//     a peer id nor that this is Arke. It costs two hashes (overlay/p2p:
//     TestStrangersHearNothing). Silent connections have a few thousand places of their own,
//     shared fairly between sources (an IPv4 /24 or an IPv6 /48). A full room closes one at
//     random; no other connection loses its place (TestSilentStrangersDoNotKeepPeersOut,
//     TestDoorIsFairToSources). On Linux with SYN cookies, the default, the kernel withholds
//     connections that do not begin with 37 bytes (TestTheKernelKeepsWhoDoesNotGreet);
//     otherwise the log and the status say why not (TestAListenerWithoutASieveSaysSo). 2,000
//     new connections a second that send at most one byte have no measurable cost and delay
//     neither requests nor joins (`go run ./tests/measure -only strangers`). As many that
//     send 37 bytes, or any on other systems, use a quarter of a core. Requests on existing
//     links are then late, and none is lost. With more sources than places they delay joins;
//   - replay a recorded greeting. That costs one handshake, which the attacker can't finish,
//     until 65,536 other greetings have followed, and again after a restart. The answer is
//     encrypted for the true dialler and shows only that this is TLS
//     (TestReplayedGreetingsHearNothing);
//   - on a LAN, make nodes dial addresses of that LAN, two at a time, but none of loopback, of
//     another network, or beyond the link (TestNeighboursSpeakForTheirNetworkOnly). Such an
//     announcement displaces no place, dial or address of a known candidate (overlay:
//     TestAnnouncementsPushNobodyOut);
//   - cut or delay connections.
//
// It can't pass the handshake, so it sees no id, name or message, and never enters a node's
// tables. Links have forward secrecy: recordings stay closed if keys leak later.
//
// A holder of the network key is a node like any other. It can
//
//   - join under any number of peer ids, return after a ban, and choose ids close to a
//     cluster's, until the epoch ends. As one anchor of three it can make members suspect at
//     callers without a link to them, repeat the last lease of a node that left, and see which
//     peers register and watch under an id, which links these peers' epochs to each other. As
//     the fourth anchor, if the three closest are of one network, it can prevent "no members",
//     and list a node that left as suspect. It can't remove a member, declare a cluster
//     empty, or replace a member's record or incarnation (cluster:
//     TestOneLyingAnchorOfThreeChangesNothing, TestOneLyingAnchorOfThreeRemovesNobody,
//     TestTheNewestRecordCounts; scenario lying-anchor of sim). A majority of anchors can
//     withhold leases and make members vanish one by one. It can declare a cluster empty only
//     to nodes that know no member: a caller that had members asks their nodes first
//     (TestLyingAnchorsDoNotEmptyTheViewOfWhoKnowsAMember,
//     TestACallerKeepsItsMemberWhenAllAnchorsLie; scenario sybils-with-key of sim);
//   - call, serve and read every cluster with a derived key, because it has that key;
//   - claim any time for its clock. A node doubts its own clock, and answers "unreachable" in
//     place of "no member", only if more than half of its linked peers disagree with it. A peer
//     id counts once, so an attacker with many ids counts many times (overlay:
//     TestClockScripts, liars). That costs answers but no members: epochs follow a node's own
//     clock;
//   - subscribe to topics with derived keys and become a forwarder. If a publisher's signed
//     path or the root group selects it, it can withhold, invent and reorder messages for the
//     nodes behind it while the path is in use, and claim that up to 65,536 messages are
//     missing. Nothing of that lasts beyond the path. Sealed messages it can only withhold and
//     reorder (patterns/pubsub: TestAForwarderDoesNotGoBeyondWhatThePublisherSigned). A
//     subscription with Signed gets each message once, exactly as its publisher made it,
//     whichever node forwards it, and a gap for anything else
//     (TestWhoAsksForSignaturesGetsWhatThePublisherHasSigned,
//     TestRootMessagesAreTakenOnceInTheOrderOfTheirAuthor; scenario lying-forwarders of sim).
//     Signatures do not cover withheld or reordered messages, nor the choice within a queue
//     group. For attached programs the relay verifies them. A subscription with Signed costs
//     each of its publishers a signature a message, and other publishers nothing
//     (TestPublishersSignOnlyWhereSomebodyAsks);
//   - load nodes with work, within the limits of the layers above. It has 16 streams at a node,
//     four of them to the router, which accepts one kind of question of up to 4 KiB, complete
//     within five seconds (overlay/p2p: TestHalfSentQuestionsPinNothing,
//     TestAPeerHasFewStreamsToTheRouter, TestOnlyFindNodeIsAQuestion). Beyond half of a common
//     limit each peer has its share (internal/budget: TestNobodyIsRefusedItsShare). That
//     applies to partial messages, too: a node holds 256 MiB for all peers, and drops a
//     message after half a minute without a fragment, or below 16 KiB a second
//     (overlay/session: TestReassemblyStaysWithinItsBudget, TestHalfSentMessagesAreGivenUp).
//     Unread data, up to 1 MiB of each stream and 16 MiB of one that is being read, counts
//     against the same 256 MiB and the peer's share; a stream beyond it is reset (overlay/p2p:
//     TestWhatAPeerSendsAndIsNotReadStaysWithinItsShare, and its package mux:
//     TestWhatNobodyReadsIsBounded). Each connection, of 8 for a peer, has 32 KiB besides.
//     Anchors share places by number and bytes: the largest holder yields, lease by lease
//     (cluster: TestHoardersGiveWay, TestWatchHoardersGiveWay, TestOneClusterIsShared,
//     TestRecordBytesAreShared). A node refuses clusters far from its id
//     (TestAFarNodeRefusesStrangers), but ids near a node can be found by trial. A share
//     belongs to a peer id: an attacker with many ids has many shares, and makes those of
//     others small.
//
// It can't take another peer's id, register another node (TestNobodySignsForAnotherNode,
// cluster: TestAnchorsRefuseWhatIsNotSigned), publish, count or declare losses for a publisher
// without that publisher's signature (patterns/pubsub:
// TestNobodySpeaksForAPublisherThatHasNotSignedForIt,
// TestNobodyIsAPublishersForwarderInTheRootGroupUnlessItSaysSo,
// TestAnOldPathIsGoodForNothing), or read other nodes' links. From the id of a cluster with an
// explicit key it learns neither name nor records, and it can't register there or read
// messages. It sees such an id only as an anchor or a router, so it can choose peer ids close
// to it for the rest of that epoch, and never before an epoch begins
// (TestIDsToComeTakeTheClustersOwnKey). The ids of clusters with derived keys it can compute
// years ahead: to become the three closest anchors takes a fraction of a second of hashing.
// The defence is signatures, which anchors can't make, the caller's own knowledge of members,
// and a fourth anchor: the closest node whose address prefix (IPv4 /16, IPv6 /32) differs from
// those of the three. While that one is honest, anchors of a single network can neither hide a
// member, also from a new caller, nor remove it, nor declare the cluster empty; they can make
// members suspect at callers without a link to them (cluster: TestNodeScripts, elsewhere.txt;
// scenario sybils-one-prefix of sim). The address of the connection counts, so becoming the
// fourth anchor takes a second network. An attacker with one can deceive new callers. The same
// holds on a LAN, where all addresses are of one network, and where a node finds no peer
// elsewhere: a router returns the 20 closest ids, so an attacker with 18 of them can hide the
// fourth anchor from a node without a link to it.
//
// A holder of a cluster's key and a network key is trusted by that cluster. It can call and
// serve it, and so gets a share of its requests, and can seal in the name of any sender: only
// the link proves the sender. It can't register other nodes, because a lease needs their keys.
// It opens no request, push, survey, broadcast or tunnel between two other nodes, live or
// recorded, whatever key it gets later (TestTheClusterKeyAloneOpensNothing, patterns/request:
// TestAClusterKeyThatLeaksLaterOpensNothingRecorded, internal/node:
// TestWhatWasRecordedBetweenTwoNodesStaysClosed); that takes the memory of one of the two
// nodes, within the hour. It can open publications and records of members, also old ones:
// rotation limits a key to what was sealed in its time. A node without the key can't make
// others compute on a curve (TestWhoLacksTheClusterKeyMakesNobodyAgree), and a record without
// an ephemeral key, or with a replayed one, never leads to a message sealed with the cluster's
// key alone (patterns/request: TestNothingIsSealedWithTheClusterKeyAlone). Without a network
// key, a cluster's key opens only publications and records that were recorded outside links.
//
// A holder of a cluster's finding key and a network key is a gateway that the cluster's owner
// chose. In that network it learns which nodes have members of the cluster, their addresses
// and certificates, and how many members come and go when. Of the traffic that it passes on it
// learns the member and the caller of the other network, the pattern, whether it is
// idempotent, its deadline, sizes and times; of a tunnel also whether it was accepted, the
// credit of its ends, and when and by which end it is closed. It can withhold traffic, cut a
// tunnel off, report a member as unreachable, and fill the cluster's share at anchors with
// leases that no node believes. It can't open a record or a message
// (TestAFindingKeyOpensWhereAMemberIsAndNothingElse; tunnels: patterns/tunnel,
// TestAGatewayPassesTunnelsOnThatItCantRead), call or serve the cluster, answer in a member's
// place, change a lease, or make a request open twice (gateway:
// TestAGatewayWithAFindingKeyCanNeitherReadCallNorServe,
// TestWhatAGatewaySaysItselfIsNoMoreThanThatNobodyWasReached). Callers read its unsealed
// answers as "not reached", "full" or "unknown", so a liar can cause a request to be sent
// again, as any silent peer can. Anchors and nodes of the other network without either key
// learn the gateway's peer, and not which nodes of the first network are members (cluster:
// TestAnAnchorSeesNothingOfAMemberThatIsLent). A member trusts the seal for the caller's
// identity. In an issued network the gateway's certificate decides whether that caller may
// call, and the gateway, not the callers of the other network, checks a member's certificate.
//
// A holder of a node's key without a network key can accept connections as that node, but
// can't dial: every peer sees the node's admission, which is valid for its id until both of
// the key versions that signed it are gone, but it can't greet. With a network key it can be
// that node. That gives it no cluster key, so it can call and serve nothing; it can be an
// anchor. The true node notices a second one with its id. With the key of one end, earlier
// links stay closed, and later links can be intercepted.
//
// A program that can open a relay's socket acts through its node. It can call and serve all
// that the node can, with derived keys, the relay's keys, and keys that it brings. It sees no
// key and can't use those of another session (TestOneNameUnderTwoKeysIsTwoClusters,
// TestTopicsUnderTwoKeysAreTwoGroups and TestKeysThatAreNoneAreRefused of package relay).
// Sealed requests, replies and publications are in clear text in the memory of the caller's
// relay and the member's, and of no other (tests: TestPlaintextIsInNoOtherRelaysMemory). Only
// the socket's permissions, or a token, protect it. A shared relay accepts the configured users
// and groups, by the credentials of the operating system (TestASharedRelayTakesOthers of
// package relay). With a policy each client may use only names that a rule allows, to call in
// any pattern, serve, publish, subscribe, list and watch (TestThePolicyHoldsForEverything); a
// client's id gives no other program its rights (TestAnIDIsNoWayToAnothersRights). A policy
// binds the clients of one relay, not other nodes: each relay decides about its own clients.
//
// Programs on a machine can't starve each other. Silent connections lock no program out: the
// socket and the port have separate places, and a full room closes a connection of the user,
// or address, with most (TestSilentConnectionsLockNobodyOut of package relay). Clients of one
// user or address leave places for others (TestClientsOfOneSourceLeavePlacesForOthers). What
// clients make the relay hold has common bounds, and each client has its share: calls
// (TestOneClientsCallsLeaveOthersTheirs), unanswered requests
// (TestHangingHandlersOfOneClientLeaveOthersServed), registrations, subscriptions and tunnels
// (TestPlacesAreSharedByAllClients), workers (TestCallsThatWaitForAMemberAreShared), and bytes,
// including those of lanes (TestBytesAreSharedByAllClients, TestLanesOfAllClientsAreBounded).
// Shares belong to clients, not to users: many clients have many shares, up to the places of
// one user.
//
// A program shows everything to its relay, so it checks the relay's owner: its own user, root
// or a trusted user, by the credentials of the connection, and for a socket that it found by
// itself also by the owners of the file and its directory (TestWhoseRelayIsTrusted,
// TestAFoundSocketIsLookedAt of relay/client).
//
// Another user of the machine without a token can't attach over TCP, also not with recorded
// handshakes (TestWithoutTheTokenNobodyAttaches of package relay). If it listens at the port in
// place of the relay, it receives only random bytes, also as a man in the middle
// (TestASquatterLearnsNothing). A connection to the true relay yields a MAC with which tokens
// can be guessed offline: tokens have at least 16 bytes (TestWeakTokensAreRefused), and should
// be random. TCP on loopback is not encrypted: root can read it.
//
// In an issued network (Issuance) a network key alone admits no node. A holder without a valid
// certificate passes TLS, learns what it lacks, and gets no link, so it serves, calls, anchors
// and hears nothing (internal/node: TestOnlyCertificatesLetIn). It uses no resource of nodes
// with one: no connections, streams and bytes (overlay/p2p:
// TestPeersWithoutACertificateTakeNoPlaces), no handshakes (overlay:
// TestSilentCallersKeepNobodyOut, overlay/p2p: TestDoorSharesHandshakesBetweenSources,
// TestDoorHurriesWhenTheLineIsLong), no links, log lines or lost peers (overlay:
// TestCallersThatAreNotLetInLeaveNothing, TestPeersWithoutAnAddressAreNotLost). It can cost a
// node one TLS handshake for each of its own, and so slow down nodes of the same source, a /24
// or a /48. It is in no routing table and takes no part in routing, so it never replaces an
// anchor (overlay/p2p: TestWhoHasNoCertificateTakesNoPartInRouting,
// TestWhoseCertificateIsTakenBackLeavesTheTables). A node with a certificate can do only what
// it allows, whatever its own program and file say (TestRightsHoldAgainstWhoObeysNone). A
// publisher signs its certificate with the paths that its forwarders use, so no forwarder can
// extend its rights (patterns/pubsub: TestForwardersDoNotBringWhatAPublisherMayNotPublish,
// internal/node: TestWhoMayNotPublishIsNotHeardThroughForwardersThatLie). The exception is the
// root group, of patterns that begin with a wildcard: there a colluding forwarder can pass on
// what the publisher may not publish, as no path names the publisher. A holder of a node's key
// and certificate is that node until the authority revokes it. Then every node that learns of
// it ends its links, within 5 s (TestARevokedNodeIsCutOffEverywhere), also after a restart
// (TestRevocationsOutliveARestart). A part of the network that is cut off learns of it on its
// return; short-lived certificates limit that. Without the authority's key no one makes or
// changes a certificate or a list of revocations (TestWhatWasChangedIsNoCertificate), or
// replays an older list (internal/issued: TestTheLargerNumberCounts). A holder of the
// authority's key decides everything here; the key opens no message. A holder of an issuer's
// key can extend certificates, up to the authority's RenewUntil and the end of the delegation,
// and nothing else: a renewed certificate has the node, rights and serial number that the
// authority signed (TestAnIssuerGivesTimeAndNothingElse). Revoking the delegation revokes
// everything that was renewed with it (TestARevokedDelegationTakesAllBackThatItRenewed).
//
// A gateway reads its traffic and can change, drop or invent it. Each network learns only what
// the other one lends. With a pattern the gateway learns requested names that match it and have
// no member, and one peer can make it lend 256 of them (gateway:
// TestOnePeerHasItsShareOfWhatIsLent). With transit each gateway on the path reads the traffic,
// and one that lies about the networks on the path can hide members, or cause requests in vain.
// At an honest gateway a message enters no network twice, and a network does not believe what
// it lent itself when that comes back (gateway: TestAMessageEntersNoNetworkTwice,
// TestARingOfFourNetworksServesEverybodyOnce; cluster:
// TestWhatComesBackFromOtherNetworksIsNotBelieved).
//
// To exclude a holder of a key, put another key into every file and remove the old version, or
// let it expire. Then every node refuses it (TestAnOldKeyIsRefusedEverywhereAfterItsTime). A
// node without another key can't dial, be dialled, find, or be found (internal/node:
// TestABanReachesEverybodyAndAnOldKeyOpensNothing, and of an issued network
// TestWhatTheExcludedTryComesToNothing; gateway: TestNoGatewayHelpsWhoIsExcluded). A node with a
// wrong clock accepts keys that have expired for all others, but those refuse it. A ban cuts one
// peer id off at all nodes within seconds, and costs its target only a new id. Any holder of the
// network's key can announce and lift bans (TestAVouchIsForOneStatementOfOneNetwork), of at most
// MaxBans peers, and so can use up all places: a rotation ends that. A lifted ban yields its
// place, and bans of one peer change once a second, eight times in a burst (overlay:
// TestStatementScripts, room and limits). A node's own file decides which peers that node bans,
// not which peers others ban. After a restart with a data directory it announces bans that are
// new in the file, and restores none that was lifted (internal/node:
// TestBansGoOnAfterARestart). Without a data directory a ban that was lifted once is announced
// again only by reloading the file. If certificates are required, bans by keys end
// (internal/node: TestBansOfKeysEndWhereCertificatesAreRequired).
//
// Checks of what a peer says have a rate: certificates that replace its Hello's, and new
// statements, five signatures a second and a hundred in a burst (overlay:
// TestWhatAPeerSaysTooFastIsAskedForAgain); signatures of topics, 10,000 a second, 200 of them
// false (patterns/pubsub: TestManyGoodSignaturesOfOnePeerHoldNobodyUp,
// TestFalseSignaturesAreLookedAtSoManyTimes); leases and their proofs, 2,000 a second, 25 of
// them false (cluster: TestOnePeersChecksLeaveOthersTheirs). A peer id has one such rate, so an
// attacker with many ids has many. Certificates are verified off the control loop; a refused
// certificate takes nothing from a peer that showed a valid one, and nothing is kept of a
// certificate whose link never opens (internal/issued: TestARefusedCertificateTakesNothingAway,
// TestWhoHasNoLinkIsForgotten). What is being checked while keys change is checked again
// (overlay: TestWhatChangesWhileAStatementIsCheckedIsHeeded). A node remembers publishers, paths
// and streams of other networks; those of the largest source are evicted first, so no source
// displaces all others (patterns/pubsub: TestWhoBringsMostGivesWay,
// TestWhatAGatewayBringsInFrames; internal/crowd: TestTheLargestHolderGivesWay), but a forwarder
// is the source of all publishers behind it.
//
// Replays: a sealed payload opens only for its request, member and incarnations. There it opens
// again until the agreement is erased. Links refuse replays by themselves. Where payloads pass
// through other nodes, the receiver refuses what it has seen, by sealer, and what is old enough
// to have been forgotten: requests and tunnel openings (patterns/request:
// TestWhatIsForgottenIsRefusedFromForwarders), and publications (patterns/pubsub:
// TestASealedMessageIsDeliveredOnce, TestASessionThatWasForgottenIsNotPlayedBack), also after a
// restart. Stream data opens for its tunnel only; chunks and the reset open once, and a repeated
// total of credit has no effect.
//
// Not defended against: readers of a process's memory, core dump or swap, or of the key files as
// their owner. Keys are not wiped, except for agreements between two nodes, which are
// overwritten, also when a node is closed (TestErasedKeysOpenNothing, internal/node:
// TestAClosedNodeHasNoEphemeralKeys); erased X25519 and AES keys stay in memory until the garbage
// collector has run. Nor against analysis of sizes and times. An attacker who sets a node's wall
// clock makes it look for clusters in the wrong place: it finds no member, and no node finds its
// own. It reports that, with the reason, and does not say "no members" (internal/node:
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
//     recordings: TestWhatWasRecordedBetweenTwoNodesStaysClosed;
//   - a cluster's key and the network's: patterns/request:
//     TestAClusterKeyThatLeaksLaterOpensNothingRecorded;
//   - a cluster's key alone: overlay/p2p: TestWrongNetworkKeyIsRefusedOnBothSides;
//   - a finding key: TestAFindingKeyOpensWhereAMemberIsAndNothingElse;
//   - a node's key: overlay/p2p: TestWrongPeerAtAnAddressIsNotAccepted; it was revoked:
//     internal/node: TestARevokedNodeIsCutOffEverywhere;
//   - the authority's key: TestWhatWasChangedIsNoCertificate, TestFilesOfAnAuthority;
//   - an issuer's key: TestAnIssuerGivesTimeAndNothingElse,
//     TestARevokedDelegationTakesAllBackThatItRenewed;
//   - the memory of a node, and of earlier times: TestEphemeralKeysLiveForAnHour,
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
