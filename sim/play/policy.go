// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"slices"

	"github.com/arke-mesh/arke/relay/policy"
)

// admit has a relay know tokens.
func admit(n *crewNode, tokens []string) {
	for _, t := range tokens {
		if !slices.Contains(n.spec.Tokens, t) {
			n.spec.Tokens = append(n.spec.Tokens, t)
		}
	}
}

// mayCall says whether the policy of its relay, if there is one, lets a client call a
// cluster: nothing is promised about what it does not.
func mayCall(n *crewNode, cluster string) bool {
	if n == nil || n.relay == nil || n.relay.spec.Policy == "" {
		return true
	}
	law, err := policy.Parse(n.relay.spec.Policy, nil)
	if err != nil {
		return true // the relay says so
	}
	who := policy.Client{}
	if len(n.spec.Tokens) > 0 {
		who.Token = n.spec.Tokens[0]
	}
	return law.Of(who).Decide(policy.Call, cluster).Allowed
}
