// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arkehttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/arke-mesh/arke"
)

const (
	// attempts is how often a request is sent at most.
	attempts = 3
	// budget is how many requests may be sent again at once, and share is how many
	// of those that follow.
	budget = 100
	share  = 0.2
)

// Transport is an http.RoundTripper whose hosts are clusters.
type Transport struct {
	// Immutable.
	conn *arke.Conn
	opts []arke.RequestOption
	http http.Transport

	mu    sync.Mutex
	spare float64 // guarded by mu; requests that may be tried again
}

var _ http.RoundTripper = (*Transport)(nil)

// NewTransport returns a Transport that reaches clusters through c. The options
// hold for each request. The method decides about arke.Idempotent.
func NewTransport(c *arke.Conn, opts ...arke.RequestOption) *Transport {
	t := &Transport{conn: c, opts: opts, spare: budget}
	// A connection carries one request. The request does not say so (DisableKeepAlives
	// would): after a response to an unread body, a server that is told "Connection:
	// close" closes at once, and the response is lost with the connection.
	t.http.MaxIdleConnsPerHost = -1
	t.http.ExpectContinueTimeout = time.Second
	t.http.DialContext = t.dial
	return t
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.earn()
	for attempt := 1; ; attempt++ {
		resp, err := t.http.RoundTrip(r)
		if err == nil || attempt == attempts || !again(r, err) || !t.spend() {
			return resp, err
		}
		next := r.Clone(r.Context())
		if r.GetBody != nil {
			body, bodyErr := r.GetBody()
			if bodyErr != nil {
				return nil, err
			}
			next.Body = body
		}
		r = next
	}
}

// again reports whether the request may be sent again after err: its connection
// was open and is lost. If it could not be opened, Arke has tried other members.
func again(r *http.Request, err error) bool {
	var closed *dialError
	return errors.Is(err, arke.ErrInterrupted) && !errors.As(err, &closed) && isIdempotent(r) && r.Context().Err() == nil &&
		(r.Body == nil || r.Body == http.NoBody || r.GetBody != nil)
}

// dialError says that a connection could not be opened.
type dialError struct{ error }

// Unwrap returns Arke's error.
func (e *dialError) Unwrap() error { return e.error }

// isIdempotent reports whether it does no harm to handle the request twice.
func isIdempotent(r *http.Request) bool {
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return r.Header.Get("Idempotency-Key") != ""
}

// dial opens the connection of one request.
func (t *Transport) dial(ctx context.Context, _, hostPort string) (net.Conn, error) {
	cluster, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	// Nothing of the request is sent yet: to open a connection twice does no harm.
	c, err := t.conn.Dial(ctx, cluster, append([]arke.RequestOption{arke.Idempotent()}, t.opts...)...)
	if err != nil {
		return nil, &dialError{err}
	}
	return &exchange{Conn: c, heard: make(chan struct{})}, nil
}

// exchange is the connection of one request. A server may answer before it has read the
// body, and close. Then a Write fails that http.Transport takes for the end of the
// request, though the response has come: so such a Write returns only once all that came
// was read.
type exchange struct {
	net.Conn
	once  sync.Once
	heard chan struct{} // closed when nothing is read any more
}

// Read implements net.Conn.
func (x *exchange) Read(b []byte) (int, error) {
	n, err := x.Conn.Read(b)
	if err != nil {
		x.end()
	}
	return n, err
}

// Write implements net.Conn.
func (x *exchange) Write(b []byte) (int, error) {
	n, err := x.Conn.Write(b)
	if errors.Is(err, arke.ErrPeerClosed) {
		<-x.heard
	}
	return n, err
}

// Close implements net.Conn.
func (x *exchange) Close() error {
	x.end()
	return x.Conn.Close()
}

func (x *exchange) end() { x.once.Do(func() { close(x.heard) }) }

func (t *Transport) earn() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spare = min(t.spare+share, budget)
}

func (t *Transport) spend() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spare < 1 {
		return false
	}
	t.spare--
	return true
}
