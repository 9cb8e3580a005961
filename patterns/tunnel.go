// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package patterns

import (
	"context"
	"fmt"
	"io"
)

// Tunnel is an ordered, flow-controlled stream of messages in both directions
// between a caller and one member. A side that does not receive slows the other
// one down: its sends wait for credit. Package internal/conn makes a
// net.Conn of one, for what wants a stream of bytes.
//
// One goroutine may send while another receives; several that send, or several
// that receive, take turns message by message. Everything else may be called
// concurrently.
//
// How it ends: Receive returns io.EOF after the last message of a side that
// closed in good order, io.ErrUnexpectedEOF if that was in the middle of one,
// *TunnelError after a reset, ErrInterrupted when the
// other node was lost, ErrUnauthorized when something came through a sealed
// tunnel that the other side has not sealed, ErrClosed when this node or the
// tunnel was closed here.
type Tunnel interface {
	Info() TunnelInfo

	// Send sends one message, of any size, and returns when all of it was
	// handed on; the caller keeps body. Without credit it waits until ctx
	// ends; a message of which a part was sent then resets the tunnel, a
	// whole one may be sent later. A failed Send returns a *DeadlineError, or
	// why the tunnel has ended.
	Send(ctx context.Context, body []byte) error
	// TrySend is Send, but returns ErrWouldBlock if there is not credit for
	// all of the message now. Then nothing was sent.
	TrySend(body []byte) error
	// SendFrom sends what r has up to io.EOF as one message, in bounded
	// memory. If r fails, the tunnel is reset.
	SendFrom(ctx context.Context, r io.Reader) (int64, error)

	// Receive returns the next message, which the caller owns. Small ones that
	// came together share memory, up to 64 KiB: who keeps few of many for long
	// clones them. One of more than Limits.MessageBytes is ErrTooLarge, stays,
	// and can be had with ReceiveTo.
	Receive(ctx context.Context) ([]byte, error)
	// ReceiveTo writes the next message to w as it comes, in bounded memory,
	// and returns its length. If w fails, the tunnel is reset.
	ReceiveTo(ctx context.Context, w io.Writer) (int64, error)

	// CloseSend ends this direction in good order, after all that was sent and
	// the message that is being sent: the other side receives io.EOF. Receiving
	// goes on.
	CloseSend() error
	// Reset ends both directions at once; what is under way is dropped. The
	// other side gets a *TunnelError with code and text.
	Reset(code Code, text string) error
	// Close is CloseSend, and says that nothing more will be received: what was
	// not received, or still comes, is dropped. The other side's sends return
	// ErrPeerClosed then. It does not wait. Idempotent.
	Close() error
	// Done is closed when both directions have ended and all that came was
	// received; Err says how then: nil in good order, ErrUnread if the other side
	// closed and had not received all.
	Done() <-chan struct{}
	Err() error
}

// TunnelInfo is what a tunnel is. At the member, Open is what it was opened
// with.
type TunnelInfo struct {
	Cluster string
	Member  string // id of the member
	Peer    string // peer id of the other side's node
	Open    Message
}

// TunnelError is a tunnel that the other side reset.
type TunnelError struct {
	Code    Code
	Message string
}

// Error implements error.
func (e *TunnelError) Error() string {
	return fmt.Sprintf("tunnel reset (code %d): %s", e.Code, e.Message)
}
