// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arke-mesh/arke/internal/match"
)

// What an attack may be: the modes of its action.
const (
	ForgeLeases  = "forge-leases"
	SayEmpty     = "say-empty"
	Withhold     = "withhold"
	RepeatLeases = "repeat-leases"
	ForgeSource  = "forge-source"
	ForgeMarks   = "forge-marks"
	Replay       = "replay"
	Alter        = "alter"
	Repeat       = "repeat"
	HoardLeases  = "hoard-leases"
	HoardMemory  = "hoard-memory"

	// Of gateways.

	KeepBack      = "keep-back"
	AlterReplies  = "alter-replies"
	AskTwice      = "ask-twice"
	ClaimComplete = "claim-complete"
)

// AttackInfo describes one mode of an attack.
type AttackInfo struct {
	Mode  string
	About string // a sentence
	On    string // what it is about: "cluster", or "topic", which is the first word of topics; "" = nothing
}

// Attacks describes every mode of an attack, in the order of the documentation.
func Attacks() []AttackInfo {
	return []AttackInfo{
		{ForgeLeases, "As an anchor it tells watchers newer leases of the members, which no member has registered.", "cluster"},
		{SayEmpty, "As an anchor it tells watchers that all members have left and the cluster is empty, and its co-anchors the same.", "cluster"},
		{Withhold, "As an anchor it takes leases and watches, and tells nobody anything.", "cluster"},
		{RepeatLeases, "As an anchor it goes on telling the leases of members that have left.", "cluster"},
		{ForgeSource, "It sends publications in the name of every publisher that it hears, in that one's session and in others.", "topic"},
		{ForgeMarks, "It tells, in the name of every publisher that it hears, that this one has published 2^61 messages, and that it is lost.", "topic"},
		{Replay, "It sends every publication that it gets again, as it came, and in a session of its own.", "topic"},
		{Alter, "As a forwarder it changes the body of every publication that it passes on.", "topic"},
		{Repeat, "As a forwarder it passes on, in the place of every other publication, the last one of its publisher once more.", "topic"},
		{HoardLeases, "It fills the anchors of the cluster to whom it has links with leases and watches of clusters that nobody serves.", "cluster"},
		{HoardMemory, "It opens streams on which it says nothing, and begins messages that it never ends.", ""},
		{KeepBack, "As a gateway it keeps every other answer back that it carries.", ""},
		{AlterReplies, "As a gateway it changes what the answers say that it carries.", ""},
		{AskTwice, "As a gateway it sends each request twice more than its caller has: as it was, and as one of its own.", ""},
		{ClaimComplete, "As a gateway it passes half of the answers to a survey on, invents members that have answered, too, and says that nobody is missing; of broadcasts it says that seven more have them.", ""},
	}
}

// ofGateways says whether only a gateway can do it.
func ofGateways(mode string) bool {
	return slices.Contains([]string{KeepBack, AlterReplies, AskTwice, ClaimComplete}, mode)
}

// badMode says which field of an action with a mode is wrong, and why; "" if none is.
func badMode(a Action, clusters []Cluster) (field, why string) {
	if a.Do != "attack" {
		return ".mode", unknown("mode", a.Mode, routerModes())
	}
	modes := Attacks()
	names := make([]string, len(modes))
	for i, m := range modes {
		names[i] = m.Mode
	}
	if why := unknown("mode", a.Mode, names); why != "" {
		return ".mode", why
	}
	switch m := modes[slices.Index(names, a.Mode)]; {
	case m.On == "" && a.On != "":
		return ".on", a.Mode + " is not about anything; leave it out"
	case m.On != "" && a.On == "":
		return "", a.Mode + " needs on: a " + m.On
	case m.On == "topic":
		if err := match.CheckTopic(a.On); err != nil {
			return ".on", inWords(err)
		}
	case m.On == "cluster":
		return ".on", noCluster(clusters, a.On)
	}
	return "", ""
}

// noCluster says that there is no cluster of that name, or "".
func noCluster(clusters []Cluster, name string) string {
	names := make([]string, len(clusters))
	for i, cl := range clusters {
		names[i] = cl.Name
	}
	if slices.Contains(names, name) {
		return ""
	}
	return fmt.Sprintf("no cluster is called %q%s", short(name), hint(name, names))
}

// attacks says what an attack is, for people.
func (a Action) attacks(who string) string {
	if a.Mode == "" {
		return "adversaries do no more harm: " + who
	}
	return strings.TrimSpace("adversaries, " + a.Mode + " " + a.On + ": " + who)
}
