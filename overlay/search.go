// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/after"
	"github.com/arke-mesh/arke/internal/replacefile"
)

// saveAgain is the time until the next try after one that failed.
const saveAgain = 10 * time.Second

// saveAfter is how long a change may wait before the remembered peers are
// written.
const saveAfter = 3 * time.Second

// search looks for peers: it drives the candidates core with dials and timers,
// and remembers who was met where.
type search struct {
	*base

	// Guarded by mu.
	mu         sync.Mutex
	core       *candidates
	book       *addressBook
	running    bool
	timer      Timer
	timerCount uint64 // which timer counts
	dirty      bool   // the book differs from the file
	journal    *journal
	saveTimer  Timer // set until the file is written
	keeping    keeping
	do         after.List
}

func newSearch(b *base) *search {
	return &search{
		base: b,
		core: newCandidates(b.self, b.cfg.Seam.Rand.Stream("overlay/candidates")),
		book: newAddressBook(),

		journal: newJournal(b.self),
	}
}

// start adds the seeds and the remembered peers, and begins to dial.
func (s *search) start() {
	var known []Candidate
	if file := s.cfg.RememberFile; file != "" {
		var err error
		if known, err = readRemembered(file); err != nil {
			s.log.Warn("remembered peers can't be read and are ignored", zap.Error(err))
		}
	}
	s.step(func(now time.Time) {
		s.running = true
		s.journal.reseed(now, s.cfg.Seeds)
		s.core.reseed(now, s.cfg.Seeds)
		for _, c := range slices.Backward(known) {
			s.book.meet(c.Peer, c.Addrs)
		}
		for _, c := range known {
			s.core.add(now, c)
		}
	})
	if len(s.cfg.Seeds) > 0 {
		s.lookLater()
	}
}

// lookLater has the log say which seeds are out of reach when it is time to.
func (s *search) lookLater() {
	s.after("overlay/seeds", seedPatience, func() {
		s.step(func(now time.Time) { s.say(s.journal.look(now)) })
	})
}

// reseed replaces the seeds.
func (s *search) reseed(addrs []string) {
	s.step(func(now time.Time) {
		s.journal.reseed(now, addrs)
		s.core.reseed(now, addrs)
	})
	s.lookLater()
}

// say has lines logged when mu is released. mu is held.
func (s *search) say(lines []logLine) {
	for _, l := range lines {
		s.do.Add(func() { l.add(s.log) })
	}
}

// unlock releases mu, and then does what was decided under it.
func (s *search) unlock() {
	do := s.do.Take()
	s.mu.Unlock()
	do.Run()
}

// link notes what became of a link, for the log. name is what its node is called, addr
// where it is now.
func (s *search) link(e PeerEvent, name, addr string) {
	if e.Type == DialFailed || s.leaving() && e.Type == LinkDown {
		return
	}
	s.mu.Lock()
	defer s.unlock()
	now := s.clock.Now()
	switch e.Type {
	case LinkUp:
		s.say(s.journal.linkUp(now, e.Peer, name))
	case LinkDown:
		s.say(s.journal.linkDown(now, e.Peer, e.Err))
		if errors.Is(e.Err, ErrGoodbye) && !errors.Is(e.Err, ErrSpare) {
			s.core.bye(e.Peer)
		}
	case LinkSuspect:
		s.journal.linkSuspect(now, e.Peer)
	case LinkRecovered:
		s.say(s.journal.linkRecovered(now, e.Peer, addr))
	}
}

// status tells how it goes.
func (s *search) status() SearchStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return SearchStatus{Seeds: s.journal.status(), Unwritten: s.keeping.err}
}

// joining says that nobody is connected, and somebody is being dialled.
func (s *search) joining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.core.dialing > 0 && len(s.core.connected) == 0
}

// apart is described at Apart, for a node that knows nobody.
func (s *search) apart() (reason error, soon bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seeds, peers, soon := s.core.missed()
	switch {
	case seeds > 0 && s.journal.met:
		reason = fmt.Errorf("this node has lost all others, and reaches no seed: %s", s.journal.failing())
	case seeds > 0:
		reason = fmt.Errorf("this node has not joined its network: %s", s.journal.failing())
	case peers > 0 && s.journal.met:
		reason = errors.New("this node has lost all others, and is alone")
	case peers > 0:
		reason = errors.New("this node has not joined its network: it reaches none of the others that it was told of")
	}
	return reason, soon || reason != nil && len(s.core.connected) > 0
}

// stop ends the search; dials under way end with the overlay's context.
func (s *search) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
	s.setTimer(time.Time{}, time.Time{})
	if s.saveTimer != nil {
		s.saveTimer.Stop()
	}
}

func (s *search) add(c Candidate) {
	s.step(func(now time.Time) { s.core.add(now, c) })
}

func (s *search) up(p peer.ID) {
	s.step(func(now time.Time) {
		s.core.up(now, p)
		s.say(s.journal.up(p, s.core.dialing > 0))
	})
}

func (s *search) down(p peer.ID) {
	s.step(func(now time.Time) {
		s.core.down(now, p, s.book.of(p))
		if !s.leaving() {
			s.say(s.journal.down(now, p))
		}
	})
}

// met notes where the peer of a link can be reached: first where it was, then
// what it says itself.
func (s *search) met(p peer.ID, addrs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.book.meet(p, addrs) {
		s.changed()
	}
}

// step lets f change the core, and does what the core then wants.
func (s *search) step(f func(now time.Time)) {
	s.mu.Lock()
	defer s.unlock()
	now := s.clock.Now()
	f(now)
	if s.running {
		dials, wake := s.core.poll(now)
		s.setTimer(now, wake)
		for _, d := range dials {
			s.do.Add(func() { s.dialLater(d) })
		}
	}
	s.drops.Add(dropCandidate, uint64(s.core.forgotten))
	s.core.forgotten = 0
}

// dialLater has a candidate dialled.
func (s *search) dialLater(d dial) {
	s.wake("overlay/candidate", d.id, func() {
		s.gate.Spawn(func() { s.dial(d) })
	})
}

// setTimer has the core polled at wake; zero means not at all. mu is held.
func (s *search) setTimer(now, wake time.Time) {
	s.timerCount++
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if wake.IsZero() {
		return
	}
	count := s.timerCount
	s.timer = s.after("overlay/candidates", wake.Sub(now), func() {
		s.step(func(time.Time) {
			if count == s.timerCount {
				s.timer = nil
			}
		})
	})
}

// dial connects to one candidate.
func (s *search) dial(d dial) {
	ctx, cancel := WithTimeout(s.ctx, s.clock, "overlay/connect", connectTimeout)
	p, err := s.transport.Connect(ctx, d.candidate)
	cancel()
	if err != nil {
		by := p
		if p == s.self { // others at the same name have turned this node away
			by = ""
		}
		s.refused.note(s.clock.Now(), cmp.Or(by, d.candidate.Peer), err)
		s.log.Debug("candidate can't be reached", zap.Strings("addrs", d.candidate.Addrs), zap.Error(err))
	}
	s.step(func(now time.Time) {
		s.core.result(now, d.id, p, err)
		s.say(s.journal.dialled(now, d.candidate, p, err, s.core.dialing > 0))
		if err == nil && p != s.self && s.book.meet(p, d.candidate.Addrs) {
			s.changed()
		}
		if replaced := (*ReplacedError)(nil); errors.As(err, &replaced) && !s.core.connected[d.candidate.Peer] && s.book.forget(d.candidate.Peer) {
			s.changed()
		}
	})
}

// changed has the book written soon. mu is held.
func (s *search) changed() {
	s.dirty = true
	s.saveIn(saveAfter)
}

// saveIn has it written then, unless that is due already. mu is held.
func (s *search) saveIn(wait time.Duration) {
	if s.cfg.RememberFile != "" && s.saveTimer == nil && s.running {
		s.saveTimer = s.after("overlay/remember", wait, s.save)
	}
}

// save writes the remembered peers, if they have changed, and again after a while if
// that fails. One call at a time: the timer is set anew only afterwards, and Close
// waits for it.
func (s *search) save() {
	s.mu.Lock()
	dirty := s.dirty && s.cfg.RememberFile != ""
	s.dirty = false
	list := s.book.latest(maxRemembered)
	s.mu.Unlock()
	var err error
	if dirty {
		err = writeRemembered(s.cfg.RememberFile, list)
	}
	s.mu.Lock()
	defer s.unlock()
	s.saveTimer = nil
	if dirty {
		s.say(s.keeping.wrote(s.clock.Now(), err))
	}
	switch {
	case err != nil:
		s.dirty = true
		s.saveIn(saveAgain)
	case s.dirty:
		s.saveIn(saveAfter)
	}
}

// maxBook is how many peers' addresses are kept.
const maxBook = 1024

// addressBook knows where peers could be reached: for those that are lost, and
// for the next start. Pure core.
type addressBook struct {
	entries map[peer.ID]*address
	met     uint64 // counts meetings, to order them
}

type address struct {
	peer  peer.ID
	addrs []string
	met   uint64
}

func newAddressBook() *addressBook {
	return &addressBook{entries: make(map[peer.ID]*address)}
}

// meet notes that p was reached, or says it can be, at addrs, best first. It
// reports whether anything is new.
func (b *addressBook) meet(p peer.ID, addrs []string) bool {
	addrs = slices.DeleteFunc(slices.Clone(addrs), func(a string) bool {
		return !strings.HasPrefix(a, "/") // a name may mean another peer tomorrow
	})
	e := b.entries[p]
	if len(addrs) == 0 && (e == nil || len(e.addrs) == 0) {
		return false
	}
	if e == nil {
		b.makeRoom()
		e = &address{peer: p}
		b.entries[p] = e
	}
	b.met++
	e.met = b.met
	merged := mergeAddrs(addrs, e.addrs)
	changed := !slices.Equal(merged, e.addrs)
	e.addrs = merged
	return changed
}

// forget removes a peer whose place another one has taken. It reports whether it was there.
func (b *addressBook) forget(p peer.ID) bool {
	known := b.entries[p] != nil
	delete(b.entries, p)
	return known
}

// makeRoom forgets the peer that was met longest ago, if the book is full.
func (b *addressBook) makeRoom() {
	if len(b.entries) < maxBook {
		return
	}
	var oldest *address
	for _, e := range b.entries { // the order does not matter: met is unique
		if oldest == nil || e.met < oldest.met {
			oldest = e
		}
	}
	delete(b.entries, oldest.peer)
}

// of returns where p could be reached.
func (b *addressBook) of(p peer.ID) []string {
	if e := b.entries[p]; e != nil {
		return e.addrs
	}
	return nil
}

// latest lists at most n peers, the one met last first.
func (b *addressBook) latest(n int) []Candidate {
	entries := slices.SortedFunc(maps.Values(b.entries), func(x, y *address) int { return cmp.Compare(y.met, x.met) })
	var list []Candidate
	for _, e := range entries[:min(n, len(entries))] {
		list = append(list, Candidate{Peer: e.peer, Addrs: slices.Clone(e.addrs), Source: SourceRemembered})
	}
	return list
}

// Bounds of the file of remembered peers.
const (
	maxRemembered     = 64
	maxRememberedFile = 1 << 20 // bytes
)

// rememberedPeers is the file's content. The peer met last comes first.
type rememberedPeers struct {
	Peers []rememberedPeer `json:"peers"`
}

type rememberedPeer struct {
	Peer  string   `json:"peer"`
	Addrs []string `json:"addrs"`
}

// readRemembered returns the peers in the file; none if it does not exist.
func readRemembered(path string) ([]Candidate, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRememberedFile))
	if err != nil {
		return nil, err
	}
	return decodeRemembered(data)
}

// decodeRemembered skips entries that make no sense: the file is only a hint.
func decodeRemembered(data []byte) ([]Candidate, error) {
	var file rememberedPeers
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("overlay: remembered peers: %w", err)
	}
	var list []Candidate
	for _, p := range file.Peers[:min(len(file.Peers), maxRemembered)] {
		id, err := peer.Decode(p.Peer)
		if err != nil || len(p.Addrs) == 0 {
			continue
		}
		list = append(list, Candidate{Peer: id, Addrs: mergeAddrs(p.Addrs, nil), Source: SourceRemembered})
	}
	return list, nil
}

func encodeRemembered(list []Candidate) ([]byte, error) {
	file := rememberedPeers{Peers: []rememberedPeer{}}
	for _, c := range list {
		file.Peers = append(file.Peers, rememberedPeer{Peer: c.Peer.String(), Addrs: c.Addrs})
	}
	return json.MarshalIndent(file, "", "  ")
}

// writeRemembered replaces the file as a whole: a crash leaves the old one or
// the new one.
func writeRemembered(path string, list []Candidate) error {
	data, err := encodeRemembered(list)
	if err != nil {
		return err
	}
	return replacefile.Write(path, append(data, '\n'), 0o600)
}
