// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

// Elsewhere is a defence that no scenario can tell from its absence, and what tells it.
type Elsewhere struct {
	Defence string
	Why     string // the simulator can't
	Folder  string // of the tests
	Tests   []string
}

// Beyond lists what is out of the simulator's reach.
func Beyond() []Elsewhere {
	return []Elsewhere{
		{
			"the tag of a greeting, and the memory of greetings",
			"its transport has no TLS: who is admitted is decided by the proofs of the network's keys alone",
			"overlay/p2p",
			[]string{"TestStrangersHearNothing", "TestReplayedGreetingsHearNothing", "TestDoorRefusesReplays"},
		},
		{
			"the proofs of both sides of a local port",
			"its programs attach over sockets of the machine, where the relay need prove nothing",
			"relay",
			[]string{"TestBothSidesProveTheToken", "TestASquatterLearnsNothing"},
		},
		{
			"the replay windows of sealed requests, pushes and openings of tunnels",
			"a node refuses requests in the names of others, and who sends its own again might as well ask anew",
			"patterns/request",
			[]string{"TestASealedRequestIsGoodForOneUse", "TestReplaysAreRememberedUpToABound", "TestNobodySpeaksForOthersToANode"},
		},
		{
			"the order of what a sealed tunnel carries",
			"a tunnel's frames come from its other end, over a link that counts them",
			"patterns/tunnel",
			[]string{"TestASealedTunnelRefusesWhatWasChanged", "TestSealedCreditCountsOnceInAnyOrder"},
		},
		{
			"the replay windows of sealed publications",
			"its files give keys of their own to clusters, not to topics; those of signed ones are among the bugs",
			"patterns/pubsub",
			[]string{"TestASealedMessageIsDeliveredOnce", "TestASessionThatWasForgottenIsNotPlayedBack"},
		},
	}
}
