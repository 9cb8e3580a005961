// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package meaning

// drops are the reasons for which something went no further, by layer.
func drops() (all []Entry) {
	for _, layer := range [][]Entry{dropsBelow(), dropsOfClusters(), dropsOfPatterns(), dropsOfRelay()} {
		for _, e := range layer {
			e.Metric = Dropped
			all = append(all, e)
		}
	}
	return all
}

// dropsBelow are those of connections, links and lanes.
func dropsBelow() []Entry {
	return []Entry{
		{Name: "p2p.stranger", Means: "Connections whose first bytes did not show that the other end holds a key of the network."},
		{Name: "p2p.stranger_silent", Means: "Connections whose other end did not finish its first bytes in time."},
		{Name: "p2p.stranger_evicted", Means: "Connections that had no time for that, because others waited."},
		{Name: "p2p.stranger_replay", Means: "Connections that began with bytes that had come before."},
		{Name: "p2p.handshake_refused", Means: "Handshakes in which this node did not admit the other end."},
		{Name: "p2p.handshake_refused_by_peer", Means: "Handshakes that the other end refused."},
		{Name: "p2p.closed_in_silence", Means: "Dialled connections that were closed without a word: another network key, or not Arke."},
		{Name: "p2p.handshake_failed", Means: "Handshakes that failed for another reason."},
		{Name: "p2p.handshake_evicted", Means: "Handshakes that were cut short because others waited."},
		{Name: "p2p.probes", Means: "Connections that only asked for this node's id. Nothing is wrong with them."},
		{Name: "p2p.conn_limit", Means: "Connections beyond the bound on all."},
		{Name: "p2p.peer_conn_limit", Means: "Connections beyond the bound on those of one peer."},
		{Name: "p2p.stream_limit", Means: "Streams beyond the bound on those of one peer."},
		{Name: "p2p.unread_share", Means: "Streams that were reset because what came was not read, beyond a peer's share of the bound on all."},
		{Name: "p2p.stream_share", Means: "Streams beyond a peer's share of the bound on all."},
		{Name: "p2p.router_stream_limit", Means: "Questions to the router beyond the few that one peer may ask at once."},
		{Name: "p2p.router_invalid", Means: "Questions to the router that were too large, too slow, or made no sense."},
		{Name: "p2p.stream_backlog", Means: "Incoming streams that came faster than they were taken."},
		{Name: "p2p.stream_stale", Means: "Incoming streams whose connection was gone first."},
		{Name: "p2p.conn_stale", Means: "Connections that were closed because nothing came back on them any more."},
		{Name: "p2p.mdns_elsewhere", Means: "Addresses heard on the local network that are not on it."},
		{Name: "p2p.key_retired", Means: "Connections closed because the key that admitted the peer is not accepted any more."},
		{Name: "p2p.mdns_share", Means: "Nodes that one address announced beyond its share."},
		{Name: "p2p.mdns_invalid", Means: "Answers on the local network that could not be used."},
		{Name: "overlay.lane_full_ctl", Means: "Frames that found no room in lane ctl of a link."},
		{Name: "overlay.lane_full_rpc", Means: "Frames that found no room in lane rpc of a link."},
		{Name: "overlay.lane_full_pub", Means: "Frames that found no room in lane pub of a link."},
		{Name: "overlay.lane_full_bulk", Means: "Frames that found no room in lane bulk of a link."},
		{Name: "overlay.link_lost", Means: "Messages that were not sent when a session ended."},
		{Name: "overlay.unknown_kind", Means: "Frames of a kind that this version does not know."},
		{Name: "overlay.malformed", Means: "Connections that were reset because of what they carried."},
		{Name: "overlay.message_too_large", Means: "Messages beyond the largest size."},
		{Name: "overlay.reassembly_full", Means: "Messages beyond the bounds on incomplete ones."},
		{Name: "overlay.fragment_orphan", Means: "Parts of a message that is not known."},
		{Name: "overlay.fragment_mismatch", Means: "Incomplete messages that can't be completed."},
		{Name: "overlay.fragment_share", Means: "Incomplete messages beyond a peer's share of the memory."},
		{Name: "overlay.fragment_late", Means: "Incomplete messages that took too long."},
		{Name: "overlay.partial_lost", Means: "Incomplete messages when a session ended."},
		{Name: "overlay.beat", Means: "Heartbeats that found no room."},
		{Name: "overlay.handshake_failed", Means: "Incoming streams that did not get past their Hello."},
		{Name: "overlay.statement_refused", Means: "Statements to all nodes, such as bans, that were not true, not understood, or beyond the bound."},
		{Name: "overlay.certificate_refused", Means: "Certificates that peers show in place of the ones in their Hello, and that do not let them in."},
		{Name: "overlay.peer_excluded", Means: "Incoming streams of peers that are banned, or whose certificate was revoked."},
		{Name: "overlay.handshake_full", Means: "Incoming streams beyond the bound on those without a Hello."},
		{Name: "overlay.candidate_forgotten", Means: "Addresses to try that were forgotten in favour of newer ones."},
	}
}

// dropsOfClusters are those of leases and watches.
func dropsOfClusters() []Entry {
	return []Entry{
		{Name: "cluster.malformed", Means: "Frames that can't be decoded."},
		{Name: "cluster.inbox_full", Means: "Frames that came faster than the control loop takes them."},
		{Name: "cluster.frame_without_link", Means: "Frames of a link that is down."},
		{Name: "cluster.delta_gap", Means: "Changes of a cluster that came out of order. The watch begins anew."},
		{Name: "cluster.lease_too_many", Means: "Leases beyond the bound on those of one cluster."},
		{Name: "cluster.lease_bad_signature", Means: "Leases that are not signed by the member's own node."},
		{Name: "cluster.lease_bad_seal", Means: "Leases that can't be opened with the cluster's key."},
		{Name: "cluster.lease_bad_record", Means: "Leases whose content makes no sense."},
		{Name: "cluster.lease_not_allowed", Means: "Leases of members whose node's certificate does not let it serve the cluster."},
		{Name: "cluster.claims_differ", Means: "Times an anchor did not hold what this node had there; all of it was asked for anew."},
		{Name: "cluster.refused_bad_proof", Means: "Members or watches that this node refused as an anchor: their proof is not valid."},
		{Name: "cluster.refused_bad_signature", Means: "Members that this node refused as an anchor: their node has not signed the lease."},
		{Name: "cluster.refused_full", Means: "Members or watches that this node refused as an anchor: it holds as many as it may."},
		{Name: "cluster.refused_yielded", Means: "Members or watches that this node held as an anchor and gave up, for a node that has fewer here."},
		{Name: "cluster.refused_far", Means: "Members or watches that this node refused as an anchor: others are closer to the cluster's id."},
		{Name: "cluster.refused_stale", Means: "Members or watches that this node refused as an anchor: they are older than what it has."},
		{Name: "cluster.refused_other", Means: "Members or watches that this node refused as an anchor, for another reason."},
		{Name: "cluster.register_refused_bad_proof", Means: "Members of this node that an anchor refused: it does not take their proof."},
		{Name: "cluster.register_refused_bad_signature", Means: "Members of this node that an anchor refused: it does not take their signature."},
		{Name: "cluster.register_refused_full", Means: "Members of this node that an anchor refused: it holds as many as it may."},
		{Name: "cluster.register_refused_yielded", Means: "Members of this node that an anchor held and gave up, for a node that has fewer there."},
		{Name: "cluster.register_refused_far", Means: "Members of this node that an anchor refused: others are closer to the cluster's id."},
		{Name: "cluster.register_refused_stale", Means: "Members of this node that an anchor refused: it has newer ones."},
		{Name: "cluster.register_refused_other", Means: "Members of this node that an anchor refused, for another reason."},
		{Name: "cluster.watch_refused_bad_proof", Means: "Watches of this node that an anchor refused: it does not take their proof."},
		{Name: "cluster.watch_refused_bad_signature", Means: "Watches of this node that an anchor refused: it does not take their signature."},
		{Name: "cluster.watch_refused_full", Means: "Watches of this node that an anchor refused: it holds as many as it may."},
		{Name: "cluster.watch_refused_yielded", Means: "Watches of this node that an anchor held and gave up, for a node that has fewer there."},
		{Name: "cluster.watch_refused_far", Means: "Watches of this node that an anchor refused: others are closer to the cluster's id."},
		{Name: "cluster.watch_refused_stale", Means: "Watches of this node that an anchor refused: it has newer ones."},
		{Name: "cluster.watch_refused_other", Means: "Watches of this node that an anchor refused, for another reason."},
	}
}

// dropsOfPatterns are those of messages.
func dropsOfPatterns() []Entry {
	return []Entry{
		{Name: "request.malformed", Means: "Frames that can't be decoded."},
		{Name: "request.no_such_member", Means: "Refused: there is no such member here, or it was another incarnation."},
		{Name: "request.no_method", Means: "Refused: the member does not take messages of that pattern."},
		{Name: "request.unauthorized", Means: "Refused: not sealed with the cluster's key, or not for this member."},
		{Name: "request.forgotten_key", Means: "Sealed for a key of this node that is more than an hour old; the caller was told the present one, and sends again."},
		{Name: "request.no_ephemeral_key", Means: "Not sent: the member's node says no key for an hour, without which nothing is sealed."},
		{Name: "request.not_allowed", Means: "Refused: the caller's certificate does not let it call the cluster."},
		{Name: "request.replay", Means: "Refused: sealed, and seen before."},
		{Name: "request.duplicate", Means: "Refused: the same request is under way."},
		{Name: "request.too_large", Means: "Messages beyond a limit: not sent, or refused by the member."},
		{Name: "request.queue_length", Means: "Refused: the member's queue has as many messages as it may."},
		{Name: "request.queue_bytes", Means: "Refused: the member's queue has as many bytes as it may."},
		{Name: "request.workers", Means: "Refused: no worker is free in the whole node."},
		{Name: "request.draining", Means: "Refused: the member is leaving."},
		{Name: "request.expired", Means: "Thrown away unhandled: the deadline has passed."},
		{Name: "request.cancelled", Means: "Thrown away unhandled: the caller has given up."},
		{Name: "request.orphaned", Means: "Thrown away unhandled: the link to the caller is lost."},
		{Name: "request.abandoned", Means: "Pushes and broadcasts that were taken and not handled when the node closed."},
		{Name: "request.reply_unsent", Means: "Replies that could not be sent before the deadline."},
		{Name: "request.reply_late", Means: "Replies that nobody waits for any more."},
		{Name: "request.reply_bad", Means: "Replies that are not sealed as they should be."},
		{Name: "request.reply_large", Means: "Replies beyond what their survey takes."},
		{Name: "request.reply_too_large", Means: "Replies of a handler here that are too large to travel. The caller was told."},
		{Name: "request.lane_full", Means: "Requests that found no room in the lane to their member."},
		{Name: "request.retry_budget", Means: "Retries that the retry budget did not allow."},
		{Name: "request.survey_members", Means: "Members that were not asked, because a survey takes no more replies."},
		{Name: "pubsub.malformed", Means: "Frames that can't be decoded."},
		{Name: "pubsub.unauthorized", Means: "Messages that are not sealed as they should be, or not for this group."},
		{Name: "pubsub.replay", Means: "Sealed messages that were opened before, or sealed before this node was known."},
		{Name: "pubsub.late", Means: "Messages that came after they were given up, or twice."},
		{Name: "pubsub.streams", Means: "Messages of a publisher beyond the bound on those that are remembered."},
		{Name: "pubsub.gap", Means: "Messages that were given up after the wait, or because too much waits. Subscribers were told."},
		{Name: "pubsub.unsent", Means: "Messages that waited for a link that could not be opened."},
		{Name: "pubsub.earlier_life", Means: "Messages for this node as it was before it was started anew."},
		{Name: "pubsub.unreachable", Means: "Messages for a node that can't be reached now."},
		{Name: "pubsub.lane_full", Means: "Messages for a node whose lane is full, after the wait."},
		{Name: "pubsub.forward", Means: "Messages to pass on for which the next node's lane is full, or its link lost."},
		{Name: "pubsub.no_path", Means: "Messages to pass on along a path that is not known any more."},
		{Name: "pubsub.unsigned", Means: "Messages that did not carry their publisher's signature, or had come before, where a subscription asks for it. It is told of a gap."},
		{Name: "pubsub.not_named", Means: "Messages of a forwarder that their publisher has not named on a signed path."},
		{Name: "pubsub.path_refused", Means: "Paths beyond the limits."},
		{Name: "pubsub.unpicked", Means: "Messages for a queue that has no subscriber here any more."},
		{Name: "pubsub.queues", Means: "Messages beyond the 1,024 queues that one may be for."},
		{Name: "pubsub.too_large", Means: "Messages that were not published: they are beyond a limit."},
		{Name: "pubsub.not_allowed", Means: "Messages that their publisher's certificate does not let it publish."},
		{Name: "pubsub.subscriptions", Means: "Subscriptions that were refused: there are as many as there may be."},
		{Name: "inbox.queue_length", Means: "The subscription's queue has as many messages as it may. Subscribers are told of the gap."},
		{Name: "inbox.queue_bytes", Means: "The subscription's queue has as many bytes as it may. Subscribers are told of the gap."},
		{Name: "inbox.publisher_gave_up", Means: "The publisher did not wait for room any longer."},
		{Name: "inbox.closed", Means: "The message waited when the subscription's time to finish was over."},
		{Name: "inbox.after_close", Means: "The message came when the subscription was closed."},
		{Name: "tunnel.malformed", Means: "Frames or openings that can't be decoded."},
		{Name: "tunnel.unknown", Means: "Data, or an end, of a tunnel that is not known."},
		{Name: "tunnel.late", Means: "Data of a tunnel that is over."},
		{Name: "tunnel.early", Means: "Frames before the answer to the opening, beyond the credit."},
		{Name: "tunnel.violation", Means: "Tunnels whose other side broke the protocol."},
		{Name: "tunnel.forged", Means: "Frames of a sealed tunnel that are not sealed as they should be."},
		{Name: "tunnel.tunnels", Means: "Refused: the member has as many as it may."},
		{Name: "tunnel.buffer_bytes", Means: "Refused: the node's memory for tunnels is given away."},
		{Name: "tunnel.open", Means: "Refused: as many are open from here as may be."},
		{Name: "tunnel.workers", Means: "Refused: no worker is free in the whole node."},
		{Name: "tunnel.duplicate", Means: "Refused: the opener uses the number for another one."},
		{Name: "tunnel.silent_opener", Means: "The opener never said a word."},
	}
}

// dropsOfRelay are those of clients.
func dropsOfRelay() []Entry {
	all := []Entry{
		{Name: "relay.registration.too_many", Means: "A client wanted more members than it may have."},
		{Name: "relay.registration.share", Means: "Members that were refused because the client has its share of what all may have."},
		{Name: "relay.subscription.share", Means: "Subscriptions that were refused because the client has its share of what all may have."},
		{Name: "relay.tunnel.share", Means: "Tunnels that were refused because the client has its share of what all may have."},
		{Name: "relay.request.share", Means: "Calls that were refused because the client has its share of what all may have."},
		{Name: "relay.delivery.share", Means: "Requests that were refused because the client has its share of what all may have."},
		{Name: "relay.work.share", Means: "What was refused because the client has its share of the relay's work."},
		{Name: "relay.wait.share", Means: "What was refused because the client has its share of what may wait."},
		{Name: "relay.bytes.share", Means: "What was refused because the client has its share of the bytes that all may have."},
		{Name: "relay.delivery.too_many", Means: "Requests that were refused because the client has as many without an answer as it may."},
		{Name: "relay.call.not_allowed", Means: "Calls that the policy does not allow the client."},
		{Name: "relay.serve.not_allowed", Means: "Members that the policy does not allow the client."},
		{Name: "relay.publish.not_allowed", Means: "Messages that the policy does not allow the client to publish."},
		{Name: "relay.subscribe.not_allowed", Means: "Subscriptions that the policy does not allow the client."},
		{Name: "relay.request.too_many", Means: "A client made more calls at once than it may."},
		{Name: "relay.request.too_many_bytes", Means: "A client's calls had more bytes than they may."},
		{Name: "relay.request.draining", Means: "A call came when the relay was finishing the rest."},
		{Name: "relay.delivery.slow_client", Means: "Requests that were refused because the client does not read."},
		{Name: "relay.delivery.refused", Means: "Requests that the client refused."},
		{Name: "relay.delivery.away", Means: "Requests that were refused because the client has no connection."},
		{Name: "relay.reply.slow_client", Means: "Replies that were lost because the client does not read."},
		{Name: "relay.reply.too_large", Means: "Replies that were dropped because the client does not take so much."},
		{Name: "relay.answer.late", Means: "Answers that nobody waits for any more."},
		{Name: "relay.frame.unknown", Means: "Frames of a kind that this version does not know."},
		{Name: "relay.handshake.too_many", Means: "Connections that came while too many others had not said Hello."},
		{Name: "relay.tunnel.too_many", Means: "A client wanted more tunnels than it may have."},
		{Name: "relay.subscription.too_many", Means: "A client wanted more subscriptions than it may have."},
		{Name: "relay.publication.slow_client", Means: "Messages that were dropped because too much waits for the client. It was told of the gap."},
		{Name: "relay.publication.too_large", Means: "Messages that were dropped because the client does not take so much."},
	}
	for _, code := range [][2]string{
		{"shutdown", "in good order"},
		{"version", "no version in common"},
		{"protocol", "what came was not due, or can't be understood"},
		{"timeout", "no Hello in time"},
		{"silent", "nothing was heard, or nothing is read"},
		{"too_many_clients", "the relay has as many clients as it may have"},
		{"replaced", "the client came back in another session"},
		{"token", "it does not have the token"},
		{"user", "the process belongs to another user"},
		{"other", "for another reason, which the log says"},
	} {
		all = append(all,
			Entry{Name: "relay.refused." + code[0], Means: "Connections that the relay refused: " + code[1] + "."},
			Entry{Name: "relay.ended." + code[0], Means: "Sessions that the relay ended: " + code[1] + "."})
	}
	return all
}
