// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"bufio"
	"encoding/binary"
	"io"
	"sync"
)

// maxFrame bounds what a peer can make us allocate.
const maxFrame = 16 << 20

// pipe writes frames to a connection: a publisher fills one buffer while a
// goroutine writes the other, so nothing waits for company, and under load one
// write carries many messages.
type pipe struct {
	mu      sync.Mutex
	changed sync.Cond
	buf     []byte
	busy    bool
	err     error
}

// pipeBytes is how much waits before a publisher has to.
const pipeBytes = 64 << 10

func newPipe(conn io.Writer) *pipe {
	p := new(pipe)
	p.changed.L = &p.mu
	go p.run(conn)
	return p
}

func (p *pipe) run(conn io.Writer) {
	var batch []byte
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.err == nil {
		if len(p.buf) == 0 {
			p.busy = false
			p.changed.Broadcast()
			p.changed.Wait()
			continue
		}
		batch, p.buf, p.busy = p.buf, batch[:0], true
		p.changed.Broadcast()
		p.mu.Unlock()
		_, err := conn.Write(batch)
		p.mu.Lock()
		p.err = err
	}
	p.changed.Broadcast()
}

func (p *pipe) send(body []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.buf) >= pipeBytes && p.err == nil {
		p.changed.Wait()
	}
	if len(p.buf) == 0 {
		p.changed.Broadcast()
	}
	p.buf = binary.BigEndian.AppendUint32(p.buf, uint32(len(body)))
	p.buf = append(p.buf, body...)
	return p.err
}

func (p *pipe) flush() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for (len(p.buf) > 0 || p.busy) && p.err == nil {
		p.changed.Wait()
	}
	return p.err
}

// receive calls each with every frame, until the connection ends. The body is
// valid during the call only. Before it waits for more it calls idle.
func receive(conn io.Reader, each func(body []byte), idle func() error) error {
	r := bufio.NewReaderSize(conn, pipeBytes)
	var head [4]byte
	var body []byte
	for {
		if r.Buffered() < len(head) && idle != nil {
			if err := idle(); err != nil {
				return err
			}
		}
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return err
		}
		size := binary.BigEndian.Uint32(head[:])
		if size > maxFrame {
			return io.ErrUnexpectedEOF
		}
		if cap(body) < int(size) {
			body = make([]byte, size)
		}
		body = body[:size]
		if r.Buffered() < len(body) && idle != nil {
			if err := idle(); err != nil {
				return err
			}
		}
		if _, err := io.ReadFull(r, body); err != nil {
			return err
		}
		each(body)
	}
}

// echo answers the requests of one connection: the frame of a reply is an id
// and a body, like that of a request. Replies leave together when no request is
// there to be read.
func echo(conn io.ReadWriter, handle func(body []byte) []byte) error {
	var out []byte
	return receive(conn, func(frame []byte) {
		reply := handle(frame[8:])
		out = binary.BigEndian.AppendUint32(out, uint32(8+len(reply)))
		out = append(append(out, frame[:8]...), reply...)
	}, func() error {
		if len(out) == 0 {
			return nil
		}
		_, err := conn.Write(out)
		out = out[:0]
		return err
	})
}

// asker sends one request at a time over a connection: nobody stands between
// the caller and the connection.
type asker struct {
	conn io.ReadWriter
	r    *bufio.Reader
	out  []byte
}

func (a *asker) Request(body []byte) ([]byte, error) {
	a.out = binary.BigEndian.AppendUint32(a.out[:0], uint32(8+len(body)))
	a.out = append(append(a.out, make([]byte, 8)...), body...)
	if _, err := a.conn.Write(a.out); err != nil {
		return nil, err
	}
	var head [12]byte
	if _, err := io.ReadFull(a.r, head[:]); err != nil {
		return nil, err
	}
	reply := make([]byte, binary.BigEndian.Uint32(head[:])-8)
	_, err := io.ReadFull(a.r, reply)
	return reply, err
}

// askers send many requests at once over one connection. Whoever finds nobody
// writing writes, and also what others add meanwhile.
type askers struct {
	conn io.Writer

	mu      sync.Mutex
	buf     []byte
	writing bool
	next    uint64
	waiting map[uint64]chan []byte
	err     error
}

func newAskers(conn io.ReadWriter) *askers {
	a := &askers{conn: conn, waiting: map[uint64]chan []byte{}}
	go func() {
		err := receive(conn, a.reply, nil)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.err = err
		for _, answer := range a.waiting {
			close(answer)
		}
		a.waiting = map[uint64]chan []byte{}
	}()
	return a
}

func (a *askers) reply(frame []byte) {
	id, body := binary.BigEndian.Uint64(frame), append([]byte(nil), frame[8:]...)
	a.mu.Lock()
	answer := a.waiting[id]
	delete(a.waiting, id)
	a.mu.Unlock()
	if answer != nil {
		answer <- body
	}
}

func (a *askers) Request(body []byte) ([]byte, error) {
	answer := make(chan []byte, 1)
	if err := a.write(body, answer); err != nil {
		return nil, err
	}
	reply, ok := <-answer
	if !ok {
		return nil, io.ErrUnexpectedEOF
	}
	return reply, nil
}

func (a *askers) write(body []byte, answer chan []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return a.err
	}
	a.next++
	a.waiting[a.next] = answer
	a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(8+len(body)))
	a.buf = append(binary.BigEndian.AppendUint64(a.buf, a.next), body...)
	if a.writing {
		return nil
	}
	a.writing = true
	var batch []byte
	for len(a.buf) > 0 && a.err == nil {
		batch, a.buf = a.buf, batch[:0]
		a.mu.Unlock()
		_, err := a.conn.Write(batch)
		a.mu.Lock()
		if err != nil {
			a.err = err
		}
	}
	a.writing = false
	return nil
}
