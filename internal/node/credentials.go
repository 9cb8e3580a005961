// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/issued"
	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/internal/verb"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// ErrOldRevocations is returned for a list of revocations that counts for nothing: the
// nodes know one with a larger number, or another one with the same.
var ErrOldRevocations = errors.New("node: the network knows a newer list of revocations: extend that one")

// Times of certificates.
const (
	lookEvery  = 10 * time.Second // for certificates that have ended
	warnEvery  = time.Hour        // of this node's own, that ends soon
	warnBefore = 5                // … when less than this part of its time is left
)

// credentials drives the roll of certificates: it hears of links, revocations and time,
// and has overlay and clusters look again at whom they let in.
type credentials struct {
	*issued.Roll
	state state
	clock overlay.Clock
	log   *zap.Logger

	version  atomic.Uint64 // larger when something counts that did not, or no longer
	renewing *renewing
	issuer   atomic.Pointer[issued.Issuer] // nil = this node renews nobody's

	// Immutable after attach.
	overlay  *overlay.Overlay
	clusters *cluster.Clusters
	changed  func() // is called when certificates are required, or no longer

	// Guarded by mu.
	mu     sync.Mutex
	timer  overlay.Timer
	warned time.Time
	looked time.Time // for certificates that have ended
	over   bool
	anew   bool // the certificate was shown, and is to be once more
	news   bool // there is something to be kept
	writes bool // somebody does so

	saving sync.WaitGroup
}

var (
	_ overlay.Admission    = (*credentials)(nil)
	_ cluster.Certificates = (*credentials)(nil)
)

// newCredentials takes in the certificate of the configuration, and the revocations that
// are known from there or from an earlier start.
func newCredentials(cfg Config, network *security.Network, out outside, s state) (*credentials, error) {
	c := &credentials{
		Roll:  issued.New(out.Transport.Self(), network.ID(), network.Issuance(), out.Clock.Now),
		state: s, clock: out.Clock, log: cfg.Logger.Named("node"),
	}
	c.renewing = newRenewing(c, out.Rand.Stream("node.renewal"))
	if len(cfg.Certificate) > 0 {
		if err := c.Present(cfg.Certificate); err != nil {
			return nil, fmt.Errorf("node: Config.Certificate: %w", err)
		}
	}
	if err := recall(c, cfg.Revocations); err != nil {
		return nil, err
	}
	if len(cfg.Certificate) > 0 {
		c.resume(cfg.Certificate)
	}
	return c, nil
}

// recall takes in the revocations of the configuration, and those of an earlier start.
func recall(c *credentials, configured []byte) error {
	if !c.Issuance().Issued() {
		if len(configured) > 0 {
			return errors.New("node: Config.Revocations: the network file names no authority")
		}
		return nil
	}
	kept, err := c.state.revocations()
	if err != nil {
		return err
	}
	if kept != nil {
		if _, err := c.Revoke(kept); err != nil { // of another authority, before
			c.log.Warn("the revocations in the data directory are none of this network's authority", zap.Error(err))
		}
	}
	if len(configured) > 0 {
		list, err := c.Parse(configured)
		if err == nil {
			_, err = c.Revoke(configured)
		}
		if err != nil {
			return fmt.Errorf("node: Config.Revocations: %w", err)
		}
		if err := c.outdated(list.Number, configured); err != nil {
			c.log.Warn("the revocations of the configuration are not the newest", zap.Error(err))
		}
	}
	return nil
}

// resume has the certificate count that an issuer has made of this one before the last
// stop, unless that was revoked since.
func (c *credentials) resume(original []byte) {
	kept, err := c.state.certificate()
	if err != nil {
		c.log.Warn("the certificate in the data directory can't be read", zap.Error(err))
	}
	if kept == nil || !security.Renews(kept, original) {
		return // another one was signed since
	}
	if err := issued.Good(c.Roll, kept); errors.Is(err, security.ErrRevoked) {
		c.log.Warn("the certificate in the data directory was revoked", zap.Error(err))
		return
	}
	if err := c.Present(kept); err != nil {
		c.log.Warn("the certificate in the data directory is none for this node", zap.Error(err))
	}
}

// attach has the roll hear of links and revocations. Before the overlay starts.
func (c *credentials) attach(o *overlay.Overlay, k *cluster.Clusters) {
	c.overlay, c.clusters = o, k
	o.Subscribe(func(e overlay.PeerEvent) {
		if e.Type == overlay.LinkDown {
			c.Forget(e.Peer)
		}
	})
	o.Statements().Handle(wire.Statement_REVOCATIONS, overlay.StatementHandler{
		Signed: true,
		Check:  func(s overlay.Statement) error { return c.Verify(s.Subject, s.Number, s.Body) },
		Heed:   func(s overlay.Statement) { c.heed(s.Body) },
	})
}

// start tells all nodes the revocations that this one knows, and looks at times.
func (c *credentials) start() {
	if list, signed := c.Revocations(); signed != nil {
		_ = c.tell(list.Number, signed) // ErrStale: a peer was faster
		c.keep()                        // those of the configuration, too
	}
	if s := c.Status(); s.Fault != "" {
		c.log.Error("other nodes refuse this one: it needs another certificate, from `arke authority sign`", zap.String("reason", s.Fault))
	}
	c.renewing.hold()
	c.plan()
}

func (c *credentials) stop() {
	c.renewing.stop()
	c.mu.Lock()
	if c.over = true; c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	c.saving.Wait()
}

func (c *credentials) plan() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop() // there is one chain of them, however often plan is called
		c.timer = nil
	}
	if c.over || !c.Issuance().Issued() {
		return
	}
	c.timer = c.clock.AfterFunc("node.certificates", lookEvery, func() {
		c.tick(c.clock.Now())
		c.plan()
	})
}

// tick ends the links to those whose certificate has ended, and warns of this node's own.
func (c *credentials) tick(now time.Time) {
	c.mu.Lock()
	since := c.looked
	c.looked = now
	c.mu.Unlock()
	issued.Sweep(c.Roll, func(p peer.ID) bool { return overlay.Linked(c.overlay, p) })
	if first := c.Next(since); !first.IsZero() && !now.Before(first) {
		c.look()
	}
	own, ok := c.OwnCertificate()
	c.mu.Lock()
	anew := c.anew
	c.anew = false
	c.mu.Unlock()
	if anew {
		overlay.ShowAnew(c.overlay) // a Hello that was under way may have shown the one before
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !ok || now.Sub(c.warned) < warnEvery && !c.warned.IsZero() {
		return
	}
	if left := own.NotAfter.Sub(now); left < own.NotAfter.Sub(own.NotBefore)/warnBefore {
		c.warned = now
		c.log.Warn("the certificate of this node ends soon: renew it with `arke authority renew`", zap.Time("ends", own.NotAfter), zap.String("name", own.Name))
	}
}

// look has all doors look again at whom they let in.
func (c *credentials) look() {
	c.version.Add(1)
	overlay.Review(c.overlay)
	c.clusters.Review()
}

// heed takes in revocations that were verified.
func (c *credentials) heed(signed []byte) {
	news, err := c.Revoke(signed)
	if err != nil || !news { // from the configuration, or of an authority before
		return
	}
	list, _ := c.Revocations()
	c.log.Info("revocations", zap.Uint64("number", list.Number), zap.Int("certificates", len(list.Serials)), zap.Int("nodes", len(list.Peers)))
	fallBack(c)
	if s := c.Status(); s.Fault != "" {
		c.log.Error("other nodes refuse this one", zap.String("reason", s.Fault))
	}
	c.look()
	c.keep()
}

// fallBack has the certificate count again as the authority signed it, if that is good
// and what an issuer made of it was revoked.
func fallBack(c *credentials) {
	shown := c.Certificate()
	original := security.Original(shown)
	if len(original) == len(shown) || !errors.Is(issued.Good(c.Roll, shown), security.ErrRevoked) || issued.Good(c.Roll, original) != nil {
		return
	}
	if err := c.show(original); err != nil {
		c.log.Error("the certificate as the authority signed it can't be shown", zap.Error(err))
	}
}

// keep has the list that counts, and a certificate that was renewed, written to the
// data directory, for the next start. One goroutine does, so that the newest is the last.
func (c *credentials) keep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.state.dir == "" {
		return
	}
	if c.news = true; c.writes {
		return
	}
	c.writes = true
	c.saving.Go(func() {
		for c.unkept() {
			c.write()
		}
	})
}

// write has the data directory hold what counts now.
func (c *credentials) write() {
	if _, signed := c.Revocations(); signed != nil { // nil: the authority is another one now
		if err := c.state.keepRevocations(signed); err != nil {
			c.log.Warn("revocations could not be kept: after a restart they are unknown until a peer tells them", zap.Error(err))
		}
	}
	if own, ok := c.OwnCertificate(); ok && own.Issuer != 0 {
		if err := c.state.keepCertificate(c.Certificate()); err != nil {
			c.log.Error("the renewed certificate could not be kept: after a restart the one before counts", zap.Error(err))
		}
	}
}

// unkept says whether there is something to be kept; else nobody writes any more.
func (c *credentials) unkept() (news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	news, c.news = c.news, false
	c.writes = news
	return news
}

// outdated says why a list of that number counts for nothing, nil if it is the one that does.
func (c *credentials) outdated(number uint64, signed []byte) error {
	if list, counts := c.Revocations(); !bytes.Equal(counts, signed) {
		return fmt.Errorf("%w: this one has number %d, and number %d counts", ErrOldRevocations, number, list.Number)
	}
	return nil
}

func (c *credentials) tell(number uint64, signed []byte) error {
	return c.overlay.Statements().State(overlay.Statement{Topic: wire.Statement_REVOCATIONS, Number: number, Body: signed})
}

// show makes another certificate this node's own, and shows it to all.
func (c *credentials) show(encoded []byte) error {
	if err := c.expose(encoded); err != nil {
		return err
	}
	c.renewing.hold()
	return nil
}

func (c *credentials) expose(encoded []byte) error {
	if err := c.Present(encoded); err != nil {
		return err
	}
	c.version.Add(1)
	c.mu.Lock()
	c.warned, c.anew = time.Time{}, true
	c.mu.Unlock()
	overlay.ShowAnew(c.overlay)
	c.clusters.Review()
	return nil
}

// renewed makes the one that an issuer has sent this node's own.
func (c *credentials) renewed(encoded []byte) (security.Certificate, error) {
	before, _ := c.OwnCertificate()
	if !security.Renews(encoded, c.Certificate()) {
		return before, fmt.Errorf("%w: the issuer has sent something else", security.ErrBadCertificate)
	}
	if err := issued.Good(c.Roll, encoded); err != nil { // as of one that begins later, or whose delegation was revoked
		return before, err
	}
	if err := c.expose(encoded); err != nil {
		return before, err
	}
	own, _ := c.OwnCertificate()
	if !own.NotAfter.After(before.NotAfter) {
		return before, fmt.Errorf("%w: the issuer has sent one that ends no later", security.ErrBadCertificate)
	}
	c.keep()
	return own, nil
}

// change makes the network need certificates, or no longer.
func (c *credentials) change(i security.Issuance) {
	was := c.Issuance()
	if was == i {
		return
	}
	c.SetIssuance(i)
	if was.Authority != i.Authority {
		// Its numbers are its own: the first list of the next one is no older.
		c.overlay.Statements().Drop(wire.Statement_REVOCATIONS, func(overlay.Statement) bool { return false })
	}
	c.look()
	c.overlay.Statements().Recheck(wire.Statement_REVOCATIONS)
	if was.Required != i.Required {
		c.changed()
	}
	c.renewing.hold()
	if !was.Issued() {
		c.plan()
	}
}

// Serves implements cluster.Certificates. Who subscribes topics serves their group;
// which of them is asked for each pattern.
func (c *credentials) Serves(p peer.ID, certificate []byte, ref string) (string, error) {
	if strings.HasPrefix(ref, topicPrefix) {
		return c.Valid(p, certificate)
	}
	return c.Roll.Serves(p, certificate, plain(ref))
}

// plain is a cluster's name without the network that its members are to be from, and
// without what stands for keys that a client has brought.
func plain(address string) string {
	ref, _, _ := name.Split(address)
	s, _ := name.CutRef(ref)
	return s
}

// may says why this node itself must not do something with a cluster, if so.
func (c *credentials) may(v verb.Verb, ref string) error { return c.Own(v, plain(ref)) }

// mayCall is asked for each request. Whoever is in the network may have its certificate
// renewed.
func (c *credentials) mayCall(p peer.ID, ref string) bool {
	return ref == issued.Cluster || c.May(p, verb.Call, plain(ref))
}

// status describes the certificate, and how it is renewed.
func (c *credentials) status() issued.Status {
	s := c.Status()
	r := c.renewing.status()
	s.Renewals, s.Renewed, s.NextRenewal, s.RenewalFault = r.Renewals, r.Renewed, r.NextRenewal, r.RenewalFault
	if i := c.issuer.Load(); i != nil {
		s.Issuer = i.Status()
	}
	return s
}

// Credentials are the certificates that a node deals with: its own, and what it knows of
// others'. All methods may be called concurrently.
type Credentials struct{ c *credentials }

// Show replaces the node's own certificate while it runs, before the old one ends: links
// and leases stay. The error is security.ErrBadCertificate.
func (k Credentials) Show(encoded []byte) error { return k.c.show(encoded) }

// Revoke tells all nodes which certificates their authority has taken back: a list
// that security.Authority.SignRevocations made. One that is known is no error. Errors:
// security.ErrBadCertificate, and ErrOldRevocations.
func (k Credentials) Revoke(signed []byte) error {
	list, err := k.c.Parse(signed)
	if err != nil {
		return err
	}
	if err := k.c.tell(list.Number, signed); !errors.Is(err, overlay.ErrStale) {
		return err
	}
	return k.c.outdated(list.Number, signed)
}

// SetIssuance makes the network need certificates, or no longer, as its file says now.
func (k Credentials) SetIssuance(i security.Issuance) { k.c.change(i) }

// Status says what the node's certificate is, and whether others take it.
func (k Credentials) Status() issued.Status { return k.c.status() }
