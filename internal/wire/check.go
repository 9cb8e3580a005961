// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "google.golang.org/protobuf/proto"

// Check returns ErrMalformed, with the field's name, if a control message
// breaks a limit or lacks what its receiver relies on: after it, lengths need
// not be looked at again. It does not verify proofs or whether text means
// anything. A message that is no control message of a link passes.
func Check(m proto.Message) error {
	switch m := m.(type) {
	case *Hello:
		return checkHello(m)
	case *Goodbye:
		return first(
			checkText("goodbye: reason", m.GetReason(), MaxText),
			checkLanes("goodbye: handled", len(m.GetHandled())),
			checkText("goodbye: name", m.GetName(), MaxName),
		)
	case *Notice:
		return checkText("notice: detail", m.GetDetail(), MaxText)
	case *Statement:
		return checkStatement(m)
	case *Register:
		return checkRegister(m)
	case *Registered:
		return checkRegistered(m)
	case *Unregister:
		return checkSize("unregister: cid", m.GetCid(), ClusterIDSize)
	case *Watch:
		return checkWatch(m)
	case *Unwatch:
		return checkSize("unwatch: cid", m.GetCid(), ClusterIDSize)
	case *Snapshot:
		return checkSnapshot(m)
	case *Delta:
		return checkDelta(m)
	case *Hint:
		return checkHint(m)
	case *Seen:
		return checkSize("seen: cid", m.GetCid(), ClusterIDSize)
	case *Record:
		return checkRecord(m)
	}
	return nil
}

// checkHello checks a Hello. Whether there is a common version is for
// Negotiate to say.
func checkHello(m *Hello) error {
	if m.GetVersionMin() == 0 || m.GetVersionMin() > m.GetVersionMax() {
		return malformed("hello: versions")
	}
	return first(
		checkSize("hello: instance", m.GetInstance(), InstanceSize),
		checkText("hello: agent", m.GetAgent(), MaxText),
		checkAddrs("hello: addrs", m.GetAddrs()),
		checkLanes("hello: received", len(m.GetReceived())),
		checkLanes("hello: window", len(m.GetWindow())),
		checkText("hello: name", m.GetName(), MaxName),
		checkRange("hello: certificate", len(m.GetCertificate()), 0, MaxCertificate),
	)
}

// CountsOf returns the counts in a message that Check has passed; none are zeros.
func CountsOf(field []uint64) (c Counts) {
	copy(c[:], field)
	return c
}

// checkLanes checks a list that has n numbers: none, or one for each lane.
func checkLanes(what string, n int) error {
	if n != 0 && n != Lanes {
		return malformed(what)
	}
	return nil
}

func checkStatement(m *Statement) error {
	if m.GetNumber() == 0 && len(m.GetSubject())+len(m.GetBody())+len(m.GetProof()) > 0 {
		return malformed("statement: number")
	}
	return first(
		checkRange("statement: subject", len(m.GetSubject()), 0, MaxPeerID),
		checkRange("statement: body", len(m.GetBody()), 0, MaxStatement),
		checkRange("statement: proof", len(m.GetProof()), 0, MaxVouch),
	)
}

func checkRegister(m *Register) error {
	return first(
		checkSize("register: cid", m.GetCid(), ClusterIDSize),
		checkSize("register: key", m.GetKey(), KeySize),
		checkSize("register: proof", m.GetProof(), ProofSize),
		checkRange("register: record", len(m.GetRecord()), 1, MaxRecord),
		checkSize("register: signature", m.GetSignature(), ProofSize),
	)
}

func checkRegistered(m *Registered) error {
	return first(
		checkSize("registered: cid", m.GetCid(), ClusterIDSize),
		checkAnchors("registered: anchors", m.GetAnchors()),
	)
}

func checkWatch(m *Watch) error {
	return first(
		checkSize("watch: cid", m.GetCid(), ClusterIDSize),
		checkSize("watch: key", m.GetKey(), KeySize),
		checkSize("watch: proof", m.GetProof(), ProofSize),
	)
}

func checkSnapshot(m *Snapshot) error {
	return first(
		checkSize("snapshot: cid", m.GetCid(), ClusterIDSize),
		checkLeases("snapshot: leases", m.GetLeases()),
		checkAnchors("snapshot: anchors", m.GetAnchors()),
	)
}

func checkDelta(m *Delta) error {
	if m.GetNumber() == 0 {
		return malformed("delta: number")
	}
	for _, r := range m.GetRemoved() {
		if err := checkRange("delta: removed: peer", len(r.GetPeer()), 1, MaxPeerID); err != nil {
			return err
		}
	}
	return first(
		checkSize("delta: cid", m.GetCid(), ClusterIDSize),
		checkLeases("delta: upserted", m.GetUpserted()),
		checkRange("delta: removed", len(m.GetRemoved()), 0, MaxLeases),
		checkAnchors("delta: anchors", m.GetAnchors()),
	)
}

func checkHint(m *Hint) error {
	return first(
		checkSize("hint: cid", m.GetCid(), ClusterIDSize),
		checkAnchors("hint: anchors", m.GetAnchors()),
	)
}

// checkRecord checks a Record after it was opened.
func checkRecord(m *Record) error {
	return first(
		checkRange("record: peer", len(m.GetPeer()), 1, MaxPeerID),
		checkAddrs("record: addrs", m.GetAddrs()),
		checkText("record: zone", m.GetZone(), MaxZone),
		checkText("record: network", m.GetNetwork(), MaxNetwork),
		checkNetworks("record: networks", m.GetNetworks()),
		checkRange("record: payload", len(m.GetPayload()), 0, MaxLeasePayload),
		checkRange("record: ephemeral", len(m.GetEphemeral()), 0, KeySize),
		checkRange("record: certificate", len(m.GetCertificate()), 0, MaxCertificate),
		checkPassed(m),
	)
}

// checkPassed checks the lease in a Record that is passed on.
func checkPassed(m *Record) error {
	l := m.GetPassed()
	if l == nil {
		return checkRange("record: passed network", len(m.GetPassedNetwork()), 0, 0)
	}
	return first(
		checkSize("record: passed network", m.GetPassedNetwork(), NetworkIDSize),
		checkRange("record: passed peer", len(l.GetPeer()), 1, MaxPeerID),
		checkRange("record: passed record", len(l.GetRecord()), 1, MaxPassedRecord),
		checkSize("record: passed signature", l.GetSignature(), ProofSize),
	)
}

// checkNetworks checks the ids of networks that something has come through.
func checkNetworks(what string, ids [][]byte) error {
	return checkEach(what, ids, MaxNetworks, NetworkIDSize, NetworkIDSize)
}

func checkLeases(what string, leases []*Lease) error {
	if err := checkRange(what, len(leases), 0, MaxLeases); err != nil {
		return err
	}
	for _, l := range leases {
		err := first(
			checkRange("lease: peer", len(l.GetPeer()), 1, MaxPeerID),
			checkRange("lease: record", len(l.GetRecord()), 1, MaxRecord),
			checkSize("lease: signature", l.GetSignature(), ProofSize),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

func checkAnchors(what string, peers [][]byte) error {
	return checkEach(what, peers, MaxAnchors, 1, MaxPeerID)
}

func checkAddrs(what string, addrs []string) error {
	return checkEach(what, addrs, MaxAddrs, 1, MaxAddr)
}

// checkEach checks how many there are, and how long each is.
func checkEach[T string | []byte](what string, list []T, limit, low, high int) error {
	if err := checkRange(what, len(list), 0, limit); err != nil {
		return err
	}
	for _, each := range list {
		if err := checkRange(what, len(each), low, high); err != nil {
			return err
		}
	}
	return nil
}

func checkText(what, s string, limit int) error { return checkRange(what, len(s), 0, limit) }

func checkSize(what string, b []byte, size int) error {
	return checkRange(what, len(b), size, size)
}

func checkRange(what string, n, low, high int) error {
	if n < low || n > high {
		return malformed(what)
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
