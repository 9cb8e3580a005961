// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutant

// Variable is the environment variable that names the bug.
const Variable = "ARKE_MUTANT"

// Bug is one hand-made bug; the zero value is none.
type Bug uint8

// The bugs of package overlay.
const (
	SilenceUnseen Bug = iota + 1
	SuspectForEver
	SilentLinkKept
	LostPeersForgotten

	// Of package cluster.

	DeltaDropped
	DeadLeaseKept
	OldIncarnationWins
	MembersStayBehind
	WatchersStayBehind
	EmptyTooSoon
	FarewellForgotten
	OneAnchorDecides
	EpochTurnMissed
	NeighboursIgnored
	PickFirst
	EjectedForEver
	UnreachableForEver
	SuspectInRotation

	// Of package patterns/request.

	FullQueueSilent
	QueueUnbounded
	InterruptedRetried
	LostLinkNotTold
	ResentOnRecovery
	HandledTwice
	RepliesInOrder
	LeavingNotRetried
	DrainDropsQueue
	InterruptedDenied
	ExpiredWorkRuns
	WallClockDeadline
	DeadlineForgotten

	// Of package node.

	ShutdownWithoutDrain
	IncarnationForgotten
	ClusterKeysIgnored

	// Of the patterns beside requests, and of what they need of the others.

	PushAckedUnqueued
	AcceptedDiesWithSender
	CompleteClaimed
	WholeTooSoon
	GapNotTold
	OrderIgnored
	QueueToAll
	TreeNever
	SlowNotTold
	CreditIgnored
	LostIsEnd

	bugs // how many there are, and one
)

// Info describes a bug.
type Info struct {
	Bug     Bug
	Name    string // as ARKE_MUTANT has it
	Layer   string // the package it is planted in
	Breaks  string // what the program does wrong
	Promise string // what DESIGN.md says, and where
}

// String returns the bug's name.
func (b Bug) String() string {
	for _, i := range All() {
		if i.Bug == b {
			return i.Name
		}
	}
	return "none"
}

// Find returns the bug of that name.
func Find(name string) (Bug, bool) {
	for _, i := range All() {
		if i.Name == name {
			return i.Bug, true
		}
	}
	return 0, false
}
