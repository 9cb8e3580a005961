// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

// Checker is a promise that is checked in every run.
type Checker struct {
	Name    string `json:"name"`
	Promise string `json:"promise"`
}

// Checkers lists what Judge checks, whatever the assertions. The caller owns
// the result.
func Checkers() []Checker {
	var out []Checker
	for _, c := range checkers() {
		out = append(out, c.Checker)
	}
	return out
}

type checker struct {
	Checker
	check func(*facts, *violations)
}

func checkers() []checker {
	return []checker{
		{Checker{"outcome", "every request has exactly one outcome, soon after its deadline at the latest"}, func(f *facts, d *violations) { checkOutcome(f.requests, d) }},
		{Checker{"once", "no request is handled twice, unless it is idempotent; then not twice by one member, unless the link to it may have been lost, nor more often than attempted"}, func(f *facts, d *violations) { checkOnce(f.requests, d) }},
		{Checker{"belongs", "a reply belongs to its request, and what is handled was asked"}, func(f *facts, d *violations) { checkBelongs(f.requests, d) }},
		{Checker{"claim", "an outcome that says that no handler ran is true"}, func(f *facts, d *violations) { checkClaim(f.requests, d) }},
		{Checker{"member", "only registered members of the right cluster handle requests"}, func(f *facts, d *violations) { checkMember(f.requests, d) }},
		{Checker{"expired", "no handler begins after its request's deadline, which it is told"}, func(f *facts, d *violations) { checkExpired(f.requests, d) }},
		{Checker{"progress", "after the faults, every probe is answered"}, func(f *facts, d *violations) { checkProgress(f.requests, d) }},
		{Checker{"empty", "nobody is told that a cluster is empty that is not, while nothing went wrong"}, func(f *facts, d *violations) { checkEmpty(f.requests, d) }},
		{Checker{"accepted", "a push that was accepted is handled, unless its member's node was lost"}, func(f *facts, d *violations) { checkAccepted(f.requests, d) }},
		{Checker{"spread", "what a survey or a broadcast says of its members is true, and each of them is in it once"}, func(f *facts, d *violations) { checkSpread(f.requests, d) }},
		{Checker{"complete", "no survey or broadcast is called complete that left out a member"}, func(f *facts, d *violations) { checkComplete(f.requests, d) }},
		{Checker{"delivered", "what was published is delivered to every subscription, or reported to it: no more and no less"}, func(f *facts, d *violations) {
			checkDelivered(f.topics, d)
			checkHoles(f.topics, d)
		}},
		{Checker{"twice", "no subscription, and no queue of subscriptions, gets a publication twice"}, func(f *facts, d *violations) { checkTwice(f.topics, d) }},
		{Checker{"order", "what one node published on a topic, or broadcast, one after the other comes in that order"}, func(f *facts, d *violations) {
			checkOrder(f.topics, d)
			checkBroadcastOrder(f.requests, d)
		}},
		{Checker{"astray", "a subscription gets only what was published on topics that it asked for"}, func(f *facts, d *violations) { checkAstray(f.topics, d) }},
		{Checker{"tunnel", "what a tunnel delivers is what was sent, from the beginning, and all of it if it ends well"}, func(f *facts, d *violations) { checkTunnel(f.borders, d) }},
		{Checker{"ended", "a tunnel ends, on both sides, in time"}, func(f *facts, d *violations) { checkEnded(f.calm, f.members, d) }},
		{Checker{"ahead", "who sends into a tunnel is never further ahead of who receives than the credit allows"}, func(f *facts, d *violations) { checkAhead(f.calm, d) }},
		{Checker{"queues", "what waits and runs stays within its limits"}, func(f *facts, d *violations) { checkQueues(f.members, f.calm.rules, d) }},
		{Checker{"held", "what a relay holds for one client stays within that client's limits"}, func(f *facts, d *violations) { checkHeld(f.calm, d) }},
		{Checker{"converge", "after the last fault, every correct observer soon sees exactly the live members, until the end"}, func(f *facts, d *violations) { checkConverge(f.views, d) }},
		{Checker{"zombie", "no undisturbed observer takes a dead member to be alive for long"}, func(f *facts, d *violations) { checkZombie(f.views, d) }},
		{Checker{"lent", "what a network lends is shown while a gateway lends it, and not for long when that has ended"}, func(f *facts, d *violations) { checkLent(f.borders, d) }},
		{Checker{"round", "what gateways carry says truly which networks it has come through, and enters none of them again"}, func(f *facts, d *violations) { checkRound(f.borders, d) }},
		{Checker{"forgotten", "no live member is missing from a correct observer's view for good"}, func(f *facts, d *violations) { checkForgotten(f.views, d) }},
	}
}
