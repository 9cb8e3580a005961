// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/nodename"
)

// A node that the others exclude finds nobody, and would take that for being alone, where
// it could say that nobody serves a cluster. So it notes who has turned it away.

const (
	// askAfter is how long a node may have a connection and know nobody, before it opens a
	// link to hear why.
	askAfter = time.Second
	// askEvery is how often it does: who does not let it in closes the connection, and the
	// next one would be asked again.
	askEvery = 30 * time.Second
	// turnedAwayFor is how long it counts that a peer did not let this node in: lost peers
	// and seeds are dialled at least twice as often.
	turnedAwayFor = time.Minute
)

// refusals knows who was the last to turn this node away.
type refusals struct {
	mu    sync.Mutex
	by    peer.ID   // guarded by mu; empty = it is not known
	at    time.Time // guarded by mu
	why   error     // guarded by mu; nil = nobody has
	asked time.Time // guarded by mu; when a peer was asked last why it knows nobody
}

// ask says whether it is time to ask, and that it is done.
func (r *refusals) ask(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.asked.IsZero() && now.Sub(r.asked) < askEvery {
		return false
	}
	r.asked = now
	return true
}

// note takes in how a dial, or a link, has ended.
func (r *refusals) note(now time.Time, p peer.ID, err error) {
	if !errors.Is(err, ErrTurnedAway) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.by, r.at, r.why = p, now, err
}

// TurnedAway says in a sentence that this node knows nobody and that a peer did not let it
// in lately, nil if that is not so. It does not block.
func TurnedAway(o *Overlay) error {
	if o.Router().Size() > 0 {
		return nil
	}
	r := &o.refused
	r.mu.Lock()
	by, at, why := r.by, r.at, r.why
	r.mu.Unlock()
	if why == nil || o.clock.Now().Sub(at) > turnedAwayFor {
		return nil
	}
	said := &refusalError{}
	errors.As(why, &said)
	who := "a peer"
	if by != "" {
		who = nodename.Of(cmp.Or(o.NameOf(by), said.name), by.String())
	}
	if said.words != "" {
		words := strings.TrimPrefix(strings.TrimPrefix(said.words, ErrNotAdmitted.Error()+": "), "security: ")
		return fmt.Errorf("%s does not let this node in, and says %q", who, words)
	}
	return fmt.Errorf("%s does not let this node in: its log says why", who)
}

// refusalError is an ErrTurnedAway with what the peer says.
type refusalError struct {
	name  string // of the peer, which may have said no Hello; empty = it says none
	words string // why
}

func (e *refusalError) Error() string { return fmt.Sprintf("the peer says %q", e.words) }
func (e *refusalError) Unwrap() error { return ErrTurnedAway }

// Apart says in a sentence that this node knows nobody, and that there are others: seeds
// that it was told to join, or peers that it had, remembers or was told of. nil if that is
// not so: it knows somebody, or it is a network of its own. soon says that somebody is
// being dialled who may be there. It does not block.
func Apart(o *Overlay) (reason error, soon bool) {
	if o.Router().Size() > 0 {
		return nil, false
	}
	return o.search.apart()
}

// askWhy opens a link to a peer that is connected if this node still knows nobody a
// moment later: a peer that does not let it in says on a link why.
func askWhy(o *Overlay, p peer.ID) {
	if !o.cfg.AskWhy || o.Router().Size() > 0 || !o.refused.ask(o.clock.Now()) {
		return
	}
	o.after("overlay/ask", askAfter, func() {
		if o.Router().Size() == 0 {
			o.Link(p).Open(nil)
		}
	})
}
