// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arke

import (
	"context"
	"io"

	"github.com/arke-mesh/arke/patterns"
)

// Tunnel is an ordered stream of messages in both directions between a caller
// and one member. Messages may have any size. A slow reader slows the writer down.
// Conn.Dial and Conn.Listen give a net.Conn instead, for a stream of bytes.
//
// One goroutine may send while another receives. Several senders, or several
// receivers, take turns message by message.
type Tunnel struct{ inner patterns.Tunnel }

// TunnelInfo describes a tunnel.
type TunnelInfo struct {
	Cluster string
	Member  string // id of the member
	Peer    string // id of the node at the other side
	// Open is the message with which the tunnel was opened. Only the member
	// has it.
	Open Message
}

// Info describes the tunnel.
func (t *Tunnel) Info() TunnelInfo {
	i := t.inner.Info()
	return TunnelInfo{Cluster: i.Cluster, Member: i.Member, Peer: i.Peer, Open: outerMessage(i.Open)}
}

// Send sends one message and returns when all of it is on its way. The caller still
// owns body. If the other side does not read, Send waits until ctx ends. If part
// of the message was sent by then, the tunnel is reset. After the other side's Close the
// error is ErrPeerClosed.
func (t *Tunnel) Send(ctx context.Context, body []byte) error {
	return outward(t.inner.Send(ctx, body))
}

// TrySend is Send, but returns ErrWouldBlock where Send would wait. Then it has sent
// nothing.
func (t *Tunnel) TrySend(body []byte) error { return outward(t.inner.TrySend(body)) }

// SendFrom reads r up to io.EOF and sends it as one message. It needs little memory,
// whatever the size. If r fails, the tunnel is reset.
func (t *Tunnel) SendFrom(ctx context.Context, r io.Reader) (int64, error) {
	n, err := t.inner.SendFrom(ctx, r)
	return n, outward(err)
}

// Receive returns the next message, which the caller owns. If the message is larger
// than MaxMessage, the error is ErrTooLarge. The message stays, and ReceiveTo can
// read it.
//
// The error is io.EOF after the last message of a side that closed in order,
// io.ErrUnexpectedEOF in the middle of a message, *TunnelError after a reset,
// ErrInterrupted when the other node was lost, and ErrClosed after Close.
func (t *Tunnel) Receive(ctx context.Context) ([]byte, error) {
	body, err := t.inner.Receive(ctx)
	return body, outward(err)
}

// ReceiveTo writes the next message to w as it arrives and returns its length. It
// needs little memory, whatever the size. If w fails, the tunnel is reset.
func (t *Tunnel) ReceiveTo(ctx context.Context, w io.Writer) (int64, error) {
	n, err := t.inner.ReceiveTo(ctx, w)
	return n, outward(err)
}

// CloseSend ends this direction. The other side receives all messages that were sent,
// and then io.EOF. Receiving goes on.
func (t *Tunnel) CloseSend() error { return outward(t.inner.CloseSend()) }

// Reset ends both directions at once. The other side gets a *TunnelError with
// code and text.
func (t *Tunnel) Reset(code Code, text string) error {
	return outward(t.inner.Reset(patterns.Code(code), text))
}

// Close does what CloseSend does, and drops the messages that were not received, or
// still arrive. The other side learns that: its Send returns ErrPeerClosed, and so does
// its Err if messages were dropped. Close does not wait. A second call does nothing.
// Call it when the tunnel is not needed any more: a tunnel with messages that nobody
// receives is kept, and Shutdown waits for it.
func (t *Tunnel) Close() error { return outward(t.inner.Close()) }

// Done is closed when both directions have ended and all that came was received.
func (t *Tunnel) Done() <-chan struct{} { return t.inner.Done() }

// Err returns why the tunnel ended, once Done is closed. It is nil if the tunnel ended
// in good order, and ErrPeerClosed if the other side closed without having received all
// messages.
func (t *Tunnel) Err() error { return outward(t.inner.Err()) }
