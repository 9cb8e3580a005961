// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"errors"
	"fmt"
	"slices"
)

// ErrNotOffered is returned by methods of a Seat for what its system does not
// do.
var ErrNotOffered = errors.New("system: not offered")

// A System is one system under test, in one deployment.
type System struct {
	// Name is what the command line and the tables call it.
	Name string
	// About says what runs and what was set, for the tables.
	About string
	// Version is of the software.
	Version func() string
	// Missing says why the system can't run on this machine; nil = it can.
	// A nil Missing means that there is nothing to install.
	Missing func() error

	// Credit says that publishers would outrun subscribers, so that they need a
	// credit window: the system itself has no back-pressure from end to end.
	Credit bool
	// Topics and Requests say what Seats do, Tunnels that a publisher is a tunnel
	// to one subscriber, and how many a program may have.
	Topics, Requests bool
	Tunnels          int
	// Balances says that requests are spread over several responders.
	Balances bool
	// Served says that programs are clients of a server or a relay.
	Served bool

	// Start starts what runs beside the programs under test, and returns the
	// addresses of it for Setup.Servers. nil = nothing runs beside them.
	Start func(Site) ([]string, error)
	// Join attaches one program.
	Join func(Setup) (Seat, error)
	// Carry takes TCP connections to what listens at address: it returns where
	// clients connect instead. servers is what Start returned. nil = the system
	// carries none.
	Carry func(site Site, servers []string, address string) (string, error)
}

// Site is where servers run: what package driver gives to Start.
type Site interface {
	// Dir is a directory that all processes of the run may use.
	Dir() string
	// Arke is the path of the program arke.
	Arke() string
	// Clients is how many programs will attach to one server at most.
	Clients() int
	// Program finds an installed program, or one that `make deps` has built.
	Program(name string) (string, error)
	// FreePort returns "127.0.0.1:port" of a TCP port that nobody uses.
	FreePort() string
	// Run runs a program to its end and returns what it printed.
	Run(argv ...string) (string, error)
	// Launch starts a server, with more variables in its environment, and
	// returns its first line of output that begins with ready, without that; if
	// ready is empty it returns at once. What it starts ends with the run.
	Launch(ready string, env []string, argv ...string) (string, error)
	// Await waits until something accepts connections at address.
	Await(address string) error
}

// Setup is what one program is told.
type Setup struct {
	Dir     string   // Site.Dir
	Servers []string // as Start returned them
	// Peers are the addresses of the seats that were there before. Publishers
	// and responders come first, so systems without servers listen there and
	// dial from the others.
	Peers []string
	// Listens is true for publishers and responders.
	Listens bool
	// Far is true for subscribers and responders: they use the second server.
	Far bool
	// Index counts the seats of the run.
	Index int
	// InFlight is how many requests will be under way at once on this seat.
	InFlight int
	// Window is the credit window in messages; 0 = there is none. Queues are to
	// be well above it.
	Window int
	// Bytes is the size of a message.
	Bytes int
}

// server returns the address of the server that the seat uses.
func (s Setup) server() string {
	if s.Far {
		return s.Servers[len(s.Servers)-1]
	}
	return s.Servers[0]
}

// Seat is the place of one program in a system.
type Seat interface {
	// Addr is where seats that come later find this one; "" if they need not.
	Addr() string
	// Publisher returns a publisher; each call a new one.
	Publisher() (Publisher, error)
	// Subscribe has each called with every message. The body is valid during
	// the call only. Messages of one publisher come one at a time.
	Subscribe(each func(body []byte)) (Subscription, error)
	// Requester returns what sends requests.
	Requester() (Requester, error)
	// Respond answers requests with what handle returns, in up to handlers
	// calls at once; 0 = as the system does by default.
	Respond(handle func(body []byte) []byte, handlers int) error
	// Close ends it all.
	Close() error
}

// Publisher sends messages to all subscriptions. It is used by one goroutine.
type Publisher interface {
	// Publish sends one message; the caller keeps body.
	Publish(body []byte) error
	// Flush returns when nothing waits in this process for want of a call.
	Flush() error
}

// Subscription is what receives.
type Subscription interface {
	// Told is how many messages the system has said are missing.
	Told() uint64
}

// Requester sends requests, several at once.
type Requester interface {
	// Request returns the reply, which the caller owns.
	Request(body []byte) ([]byte, error)
}

// The shared names.
const (
	topic   = "bench.topic"
	service = "bench"
)

// All returns every system, in the order of the tables.
func All() []System {
	return slices.Concat(
		arkeSystems(), arkeTunnelSystems(),
		natsSystems(), mangosSystems(), zeromqSystems(), nsqSystems(), redisSystems(), rabbitSystems(), zenohSystems(),
		bareSystems(), libp2pSystems(), chainSystems(), carrySystems(),
	)
}

// Find returns the system of that name.
func Find(name string) (System, error) {
	for _, s := range All() {
		if s.Name == name {
			return s, nil
		}
	}
	return System{}, fmt.Errorf("system: no system is called %q", name)
}

// lacks is what a Seat does not do; seats embed it.
type lacks struct{}

func (lacks) Addr() string                                 { return "" }
func (lacks) Publisher() (Publisher, error)                { return nil, ErrNotOffered }
func (lacks) Subscribe(func([]byte)) (Subscription, error) { return nil, ErrNotOffered }
func (lacks) Requester() (Requester, error)                { return nil, ErrNotOffered }
func (lacks) Respond(func(body []byte) []byte, int) error  { return ErrNotOffered }

// silent is a Subscription that is never told that something is missing.
type silent struct{}

func (silent) Told() uint64 { return 0 }
