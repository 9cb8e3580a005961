// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutant

import "slices"

// All lists the bugs, in the order of their numbers. The caller owns the slice.
func All() []Info {
	return slices.Concat(overlayBugs(), clusterBugs(), pickBugs(), requestBugs(), outcomeBugs(), nodeBugs(), manyBugs(), topicBugs(), tunnelBugs())
}

func overlayBugs() []Info {
	const layer = "overlay"
	return []Info{
		{
			SilenceUnseen, "silence-unseen", layer,
			"a beat that this node sends counts as one that it got: nobody is ever suspect",
			"4: three misses = suspect = out of rotation",
		},
		{
			SuspectForEver, "suspect-for-ever", layer,
			"a suspect peer that speaks again stays suspect",
			"4: back on the first byte",
		},
		{
			SilentLinkKept, "silent-link-kept", layer,
			"the link to a peer that stays silent is never given up",
			"4: closed after 10 s",
		},
		{
			LostPeersForgotten, "lost-peers-forgotten", layer,
			"who was lost is not dialled again, seed or not",
			"4: seeds and up to 32 lost peers are redialled, or two converged halves would never meet again",
		},
	}
}

func clusterBugs() []Info {
	const layer = "cluster"
	return []Info{
		{
			DeltaDropped, "delta-dropped", layer,
			"a watcher counts a pushed delta, and forgets to apply it",
			"5: one snapshot, then pushed deltas",
		},
		{
			DeadLeaseKept, "dead-lease-kept", layer,
			"an anchor keeps the leases of a node whose link is gone",
			"5: a lease that lives as long as the link",
		},
		{
			OldIncarnationWins, "old-incarnation-wins", layer,
			"while an anchor still lists a node's former life, its present one is not seen",
			"5: the newest incarnation of a member wins",
		},
		{
			MembersStayBehind, "members-stay-behind", layer,
			"a member that is registered does not register with anchors that come later",
			"5: when the neighbourhood changes, members and watchers re-attach",
		},
		{
			WatchersStayBehind, "watchers-stay-behind", layer,
			"a watcher that knows members does not watch at anchors that come later",
			"5: when the neighbourhood changes, members and watchers re-attach",
		},
		{
			EmptyTooSoon, "empty-too-soon", layer,
			"an anchor without leases says that there is nobody, settled or not",
			"5: an anchor says empty only when it is settled and its co-anchors agree",
		},
		{
			FarewellForgotten, "farewell-forgotten", layer,
			"a member that leaves does not tell its anchors",
			"6: Shutdown drains: leaves the cluster, finishes what it accepted, then closes",
		},
		{
			OneAnchorDecides, "one-anchor-decides", layer,
			"a member that one anchor has lost is gone",
			"5: lost at one anchor = suspect; lost at a majority = gone",
		},
		{
			EpochTurnMissed, "epoch-turn-missed", layer,
			"members do not register under the next epoch's id",
			"5: members register under every valid (key version, epoch)",
		},
		{
			NeighboursIgnored, "neighbours-ignored", layer,
			"a change of the routing table does not change who anchors a cluster",
			"4: a return forces lookups of our own id and of our clusters",
		},
	}
}

func pickBugs() []Info {
	const layer = "cluster"
	return []Info{
		{
			PickFirst, "pick-first", layer,
			"every request goes to the first member that is in rotation",
			"5: power of two choices over (in-flight + 1) × decaying latency ÷ capacity",
		},
		{
			EjectedForEver, "ejected-for-ever", layer,
			"a member that was ejected is never tried again",
			"5: slow or failing members are ejected for a while",
		},
		{
			UnreachableForEver, "unreachable-for-ever", layer,
			"a member that could not be reached once counts as unreachable when its link is back",
			"4: back on the first byte",
		},
		{
			SuspectInRotation, "suspect-in-rotation", layer,
			"requests go to members that miss heartbeats as to any other",
			"4: three misses = suspect = out of rotation",
		},
	}
}

func requestBugs() []Info {
	const layer = "patterns/request"
	return []Info{
		{
			FullQueueSilent, "full-queue-silent", layer,
			"a request that finds the member's queue full gets no answer",
			"6: nothing is dropped silently: every drop has, for requests, an answer",
		},
		{
			QueueUnbounded, "queue-unbounded", layer,
			"a member's queue takes whatever comes",
			"6: every member registration has explicit limits (queue length, queue bytes)",
		},
		{
			InterruptedRetried, "interrupted-retried", layer,
			"a request whose link was lost after sending is sent again, idempotent or not",
			"6: link lost after sending: retried only if marked idempotent",
		},
		{
			LostLinkNotTold, "lost-link-not-told", layer,
			"requests that wait for a reply do not hear that the link is lost",
			"6: link lost after sending: ErrInterrupted",
		},
		{
			ResentOnRecovery, "resent-on-recovery", layer,
			"when a suspect peer speaks again, what it was sent before is sent once more",
			"6: each attempt runs at most once",
		},
		{
			HandledTwice, "handled-twice", layer,
			"a request that arrives is queued twice",
			"6: each attempt runs at most once",
		},
		{
			RepliesInOrder, "replies-in-order", layer,
			"a reply is taken for the answer to the oldest request to its peer",
			"6: exactly one outcome at the caller: the reply to the request",
		},
		{
			LeavingNotRetried, "leaving-not-retried", layer,
			"a request that a draining member refused is not tried elsewhere",
			"6: a rolling restart loses nothing",
		},
		{
			DrainDropsQueue, "drain-drops-queue", layer,
			"a draining member forgets the requests that wait in its queue",
			"6: Shutdown drains: finishes what it accepted",
		},
	}
}

func outcomeBugs() []Info {
	const layer = "patterns/request"
	return []Info{
		{
			InterruptedDenied, "interrupted-denied", layer,
			"a request that was interrupted is said not to have reached anybody",
			"6: ErrUnreachable: no handler ran",
		},
		{
			ExpiredWorkRuns, "expired-work-runs", layer,
			"a member runs requests whose deadline has passed",
			"6: expired work is thrown away unhandled",
		},
		{
			WallClockDeadline, "wall-clock-deadline", layer,
			"a deadline travels as the sender's wall clock has it",
			"4: deadlines travel in link time and no wall clock is trusted",
		},
		{
			DeadlineForgotten, "deadline-forgotten", layer,
			"a caller waits for its answer whatever the time is",
			"6: one outcome at the latest 5 ms after the deadline",
		},
	}
}

func nodeBugs() []Info {
	const layer = "node"
	return []Info{
		{
			ShutdownWithoutDrain, "shutdown-without-drain", layer,
			"Shutdown closes at once",
			"6: Shutdown drains; a rolling restart loses nothing",
		},
		{
			IncarnationForgotten, "incarnation-forgotten", layer,
			"a node that was restarted comes back with its first incarnation",
			"5: incarnations survive restarts",
		},
		{
			ClusterKeysIgnored, "cluster-keys-ignored", layer,
			"a cluster with a key of its own is addressed by the key that the network's key gives",
			"7: a caller without the key is refused before its payload is looked at",
		},
	}
}

func manyBugs() []Info {
	const layer = "patterns/request"
	return []Info{
		{
			PushAckedUnqueued, "push-acked-unqueued", layer,
			"a push is acknowledged before the member's queue has taken it, or refused",
			"6: push: accepted by a member's queue, or an error",
		},
		{
			AcceptedDiesWithSender, "accepted-dies-with-sender", layer,
			"an accepted push that waits is dropped when the link to its sender is lost",
			"6: push: accepted by a member's queue; nothing is dropped silently",
		},
		{
			CompleteClaimed, "complete-claimed", layer,
			"a survey or a broadcast calls itself complete whoever is missing",
			"6: survey: ends with complete or the names of those missing",
		},
		{
			WholeTooSoon, "whole-too-soon", "cluster",
			"a list of members counts as whole when a majority of whom it takes for anchors has told, settled or not",
			"6: survey: ends with complete or the names of those missing",
		},
	}
}

func topicBugs() []Info {
	const layer = "patterns/pubsub"
	return []Info{
		{
			GapNotTold, "gap-not-told", layer,
			"messages that were lost on the way are given up without a word",
			"5: receivers wait up to 500 ms for order, then report the gap. Delivered + reported = sent",
		},
		{
			OrderIgnored, "order-ignored", layer,
			"what comes is handed on as it comes, and what does not come is not noticed",
			"5: receivers wait up to 500 ms for order, then report the gap",
		},
		{
			QueueToAll, "queue-to-all", layer,
			"each node hands a message to a subscription of a queue, picked or not",
			"6: publish: queue subscriptions: one of a named group gets each message",
		},
		{
			TreeNever, "tree-never", layer,
			"a publisher sends to everybody itself, however many they are",
			"5: fan-out beyond ~16 nodes goes through a tree of forwarders",
		},
		{
			SlowNotTold, "slow-not-told", layer + "/inbox",
			"a subscription whose queue was full is not told what was dropped",
			"6: publish: a gap is told to the subscriber with its size",
		},
	}
}

func tunnelBugs() []Info {
	const layer = "patterns/tunnel"
	return []Info{
		{
			CreditIgnored, "credit-ignored", layer,
			"a sender does not wait for credit",
			"6: tunnel: credit-based: a slow reader slows the writer",
		},
		{
			LostIsEnd, "lost-is-end", layer,
			"a tunnel whose link is lost looks to its reader as if the other side had closed it",
			"6: tunnel: typed end",
		},
	}
}
