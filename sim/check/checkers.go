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
	check func(*facts, *viewMeasures, *docket)
}

func checkers() []checker {
	return []checker{
		{Checker{"outcome", "every request has exactly one outcome, soon after its deadline at the latest"}, checkOutcome},
		{Checker{"once", "no request is handled twice, unless it is idempotent; then not twice by one member, unless the link to it may have been lost, nor more often than attempted"}, checkOnce},
		{Checker{"belongs", "a reply belongs to its request, and what is handled was asked"}, checkBelongs},
		{Checker{"claim", "an outcome that says that no handler ran is true"}, checkClaim},
		{Checker{"member", "only registered members of the right cluster handle requests"}, checkMember},
		{Checker{"expired", "no handler begins after its request's deadline, which it is told"}, checkExpired},
		{Checker{"progress", "after the faults, every probe is answered"}, checkProgress},
		{Checker{"empty", "nobody is told that a cluster is empty that is not, while nothing went wrong"}, checkEmpty},
		{Checker{"accepted", "a push that was accepted is handled, unless its member's node was lost"}, checkAccepted},
		{Checker{"spread", "what a survey or a broadcast says of its members is true, and each of them is in it once"}, checkSpread},
		{Checker{"complete", "no survey or broadcast is called complete that left out a member"}, checkComplete},
		{Checker{"delivered", "what was published is delivered to every subscription, or reported to it: no more and no less"}, checkDelivered},
		{Checker{"twice", "no subscription, and no queue of subscriptions, gets a publication twice"}, checkTwice},
		{Checker{"order", "what one node published on a topic, or broadcast, one after the other comes in that order"}, checkOrder},
		{Checker{"astray", "a subscription gets only what was published on topics that it asked for"}, checkAstray},
		{Checker{"tunnel", "what a tunnel delivers is what was sent, from the beginning, and all of it if it ends well"}, checkTunnel},
		{Checker{"ended", "a tunnel ends, on both sides, in time"}, checkEnded},
		{Checker{"ahead", "who sends into a tunnel is never further ahead of who receives than the credit allows"}, checkAhead},
		{Checker{"queues", "what waits and runs stays within its limits"}, checkQueues},
		{Checker{"converge", "after the last fault, every correct observer soon sees exactly the live members, until the end"}, checkConverge},
		{Checker{"zombie", "no undisturbed observer takes a dead member to be alive for long"}, checkZombie},
		{Checker{"forgotten", "no live member is missing from a correct observer's view for good"}, checkForgotten},
	}
}
