// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build zenoh

package system

/*
#cgo LDFLAGS: -L${SRCDIR}/../bin -larkebenchzenoh -Wl,-rpath,${SRCDIR}/../bin
#include <stdint.h>
#include <stdlib.h>

void *ab_open(const char *listen, const char *connect);
void ab_close(void *session);
void *ab_publisher(void *session);
int32_t ab_put(void *publisher, const uint8_t *body, size_t size);
int32_t ab_subscribe(void *session, void (*each)(uintptr_t, const uint8_t *, size_t), uintptr_t context);
intptr_t ab_get(void *session, const uint8_t *body, size_t size, uint8_t *reply);
int32_t ab_respond(void *session, size_t (*handle)(uintptr_t, const uint8_t *, size_t, uint8_t *), uintptr_t context);

void benchZenohEach(uintptr_t, uint8_t *, size_t);
size_t benchZenohHandle(uintptr_t, uint8_t *, size_t, uint8_t *);

static int32_t ab_subscribe_go(void *session, uintptr_t context) {
	return ab_subscribe(session, (void (*)(uintptr_t, const uint8_t *, size_t))benchZenohEach, context);
}

static int32_t ab_respond_go(void *session, uintptr_t context) {
	return ab_respond(session, (size_t (*)(uintptr_t, const uint8_t *, size_t, uint8_t *))benchZenohHandle, context);
}
*/
import "C"

import (
	"errors"
	"net"
	"runtime/cgo"
	"strings"
	"unsafe"
)

// zenohSystems is Zenoh's Rust crate behind a few C functions (../zenoh), peer
// to peer. Its publisher waits where the network is slower, so it needs no
// credit window.
func zenohSystems() []System {
	return []System{{
		Name: "zenoh", About: "Rust crate, peer to peer, plain TCP, no router; congestion control: block",
		Topics: true, Requests: true,
		Version: func() string { return zenohVersion }, Join: joinZenoh,
	}}
}

// zenohVersion is what Cargo.toml pins.
const zenohVersion = "1.10.2"

var errZenoh = errors.New("zenoh failed")

func joinZenoh(setup Setup) (Seat, error) {
	s := new(zenohSeat)
	if setup.Listens {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		s.addr = "tcp/" + l.Addr().String()
		l.Close()
	}
	listen, connect := C.CString(s.addr), C.CString(strings.Join(setup.Peers, " "))
	defer C.free(unsafe.Pointer(listen))
	defer C.free(unsafe.Pointer(connect))
	if s.session = C.ab_open(listen, connect); s.session == nil {
		return nil, errZenoh
	}
	return s, nil
}

type zenohSeat struct {
	lacks
	addr    string
	session unsafe.Pointer
}

func (s *zenohSeat) Addr() string { return s.addr }

func (s *zenohSeat) Close() error { C.ab_close(s.session); return nil }

func (s *zenohSeat) Publisher() (Publisher, error) {
	p := C.ab_publisher(s.session)
	if p == nil {
		return nil, errZenoh
	}
	return zenohPublisher{p}, nil
}

type zenohPublisher struct{ p unsafe.Pointer }

func (p zenohPublisher) Publish(body []byte) error {
	if C.ab_put(p.p, (*C.uint8_t)(unsafe.SliceData(body)), C.size_t(len(body))) != 0 {
		return errZenoh
	}
	return nil
}

func (p zenohPublisher) Flush() error { return nil }

func (s *zenohSeat) Subscribe(each func(body []byte)) (Subscription, error) {
	if C.ab_subscribe_go(s.session, C.uintptr_t(cgo.NewHandle(each))) != 0 {
		return nil, errZenoh
	}
	return silent{}, nil
}

//export benchZenohEach
func benchZenohEach(context C.uintptr_t, body *C.uint8_t, size C.size_t) {
	cgo.Handle(context).Value().(func([]byte))(unsafe.Slice((*byte)(body), int(size)))
}

func (s *zenohSeat) Requester() (Requester, error) { return zenohRequester{s.session}, nil }

type zenohRequester struct{ session unsafe.Pointer }

func (r zenohRequester) Request(body []byte) ([]byte, error) {
	reply := make([]byte, len(body))
	n := C.ab_get(r.session, (*C.uint8_t)(unsafe.SliceData(body)), C.size_t(len(body)), (*C.uint8_t)(unsafe.SliceData(reply)))
	if n < 0 {
		return nil, errZenoh
	}
	return reply[:n], nil
}

func (s *zenohSeat) Respond(handle func(body []byte) []byte, handlers int) error {
	if handlers > 1 {
		return ErrNotOffered
	}
	if C.ab_respond_go(s.session, C.uintptr_t(cgo.NewHandle(handle))) != 0 {
		return errZenoh
	}
	return nil
}

//export benchZenohHandle
func benchZenohHandle(context C.uintptr_t, body *C.uint8_t, size C.size_t, reply *C.uint8_t) C.size_t {
	handle := cgo.Handle(context).Value().(func([]byte) []byte)
	request := append([]byte(nil), unsafe.Slice((*byte)(body), int(size))...)
	return C.size_t(copy(unsafe.Slice((*byte)(reply), int(size)), handle(request)))
}
