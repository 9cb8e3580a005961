// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arke_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/node"
)

// Two programs in one network. One serves a cluster, the other calls it by name.
// Programs beside a relay call arke.Attach instead of node.Join.
func Example() {
	ctx := context.Background()
	network, err := node.NewNetwork("example") // as `arke keygen` does
	must(err)

	server, err := node.Join(ctx, node.NetworkText(network), node.Listen("127.0.0.1:0"), node.NoMDNS())
	must(err)
	defer server.Close()
	hello := func(_ context.Context, r *arke.Request) (arke.Message, error) {
		return arke.Message{Body: append([]byte("hello, "), r.Body...)}, nil
	}
	_, err = server.Serve(ctx, "greeter", arke.HandlerFunc(hello))
	must(err)

	caller, err := node.Join(ctx, node.NetworkText(network), node.Listen("127.0.0.1:0"), node.NoMDNS(), node.Seeds(server.Addrs()...))
	must(err)
	defer caller.Close()
	reply, err := caller.Request(ctx, "greeter", arke.Message{Body: []byte("world")}, arke.WaitForMember())
	must(err)
	fmt.Println(string(reply.Body))
	// Output: hello, world
}

// A program attaches to the relay on its machine. Start one with `arke relay`.
func ExampleAttach() {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	c, err := arke.Attach(ctx, arke.Socket("/no/relay/here.sock"))
	if errors.Is(err, arke.ErrNoRelay) {
		fmt.Println("no relay")
		return
	}
	must(err)
	defer c.Close()
	// Output: no relay
}

// A member answers requests of the whole network. Its limits are options.
func ExampleConn_Serve() {
	ctx, c := context.Background(), pair()[0]
	shout := func(_ context.Context, r *arke.Request) (arke.Message, error) {
		return arke.Message{Body: append(r.Body, '!')}, nil
	}
	member, err := c.Serve(ctx, "shout", arke.HandlerFunc(shout), arke.Concurrency(8), arke.QueueLength(100))
	must(err)
	defer member.Close(ctx)
	reply, err := c.Request(ctx, "shout", arke.Message{Body: []byte("hello")})
	must(err)
	fmt.Println(string(reply.Body))
	// Output: hello!
}

// Errors say whether anybody is there, and whether a handler may have run.
func ExampleConn_Request() {
	ctx, server, caller := context.Background(), pair()[0], pair()[1]
	lookUp := func(context.Context, *arke.Request) (arke.Message, error) {
		return arke.Message{}, &arke.RemoteError{Code: 404, Message: "no such place"}
	}
	member, err := server.Serve(ctx, "atlas", arke.HandlerFunc(lookUp))
	must(err)
	defer member.Close(ctx)

	for _, cluster := range []string{"atlas", "weather"} {
		_, err := caller.Request(ctx, cluster, arke.Message{Body: []byte("Atlantis")})
		var remote *arke.RemoteError
		switch {
		case err == nil:
			fmt.Println(cluster, "answered")
		case errors.As(err, &remote):
			fmt.Println(cluster, "refused:", remote.Message)
		case arke.MaybeRan(err):
			fmt.Println(cluster, "may have run:", err)
		default:
			fmt.Println(cluster, "can be asked again:", arke.OutcomeOf(err))
		}
	}
	// Output:
	// atlas refused: no such place
	// weather can be asked again: no_members
}

// A survey asks every member.
func ExampleConn_Survey() {
	ctx, server, caller := context.Background(), pair()[0], pair()[1]
	for _, city := range []string{"Bern", "Oslo"} {
		where := func(context.Context, *arke.Request) (arke.Message, error) {
			return arke.Message{Body: []byte(city)}, nil
		}
		member, err := server.Serve(ctx, "cities", arke.HandlerFunc(where))
		must(err)
		defer member.Close(ctx)
	}
	await(caller, "cities", 2)

	result, err := caller.Survey(ctx, "cities", arke.Message{Body: []byte("where are you?")})
	must(err)
	for _, r := range result.Replies {
		fmt.Println(string(r.Message.Body))
	}
	fmt.Println("missing:", len(result.Missing))
	// Unordered output:
	// Bern
	// Oslo
	// missing: 0
}

// A push hands work to one member and does not wait until it is done.
func ExampleConn_Push() {
	ctx, server, caller := context.Background(), pair()[0], pair()[1]
	done := make(chan string)
	member, err := server.Serve(ctx, "thumbnails", arke.Service{
		Push: func(_ context.Context, r *arke.Request) { done <- "made one of " + string(r.Body) },
	})
	must(err)
	defer member.Close(ctx)

	must(caller.Push(ctx, "thumbnails", arke.Message{Body: []byte("photo-17.jpg")}, arke.WaitForMember()))
	fmt.Println(<-done)
	// Output: made one of photo-17.jpg
}

// A broadcast goes to every member and says how many took it.
func ExampleConn_Broadcast() {
	ctx, server, caller := context.Background(), pair()[0], pair()[1]
	for range 3 {
		member, err := server.Serve(ctx, "caches", arke.Service{Broadcast: func(context.Context, *arke.Request) {}})
		must(err)
		defer member.Close(ctx)
	}
	await(caller, "caches", 3)

	result, err := caller.Broadcast(ctx, "caches", arke.Message{Body: []byte("drop user-17")})
	must(err)
	fmt.Println(result.Members, "members have it")
	// Output: 3 members have it
}

// Publish reaches every subscription that matches the topic. In a pattern "*"
// stands for one word, and ">" for all that follow.
func ExampleConn_Publish() {
	ctx, listener, publisher := context.Background(), pair()[0], pair()[1]
	got := make(chan string, 1)
	sub, err := listener.SubscribeFunc(ctx, "temperature.*", func(p arke.Publication) {
		got <- p.Topic + " " + string(p.Body)
	})
	must(err)
	defer sub.Close(ctx)

	var nodes int
	must(publisher.Publish(ctx, "temperature.berlin", arke.Message{Body: []byte("21.5")}, arke.Confirm(&nodes)))
	fmt.Println(<-got)
	// Output: temperature.berlin 21.5
}

// A loop reads a subscription. The function of OnGap hears of what is missing, in
// its place between the messages.
func ExampleConn_Subscribe() {
	ctx, listener, publisher := context.Background(), pair()[0], pair()[1]
	sub, err := listener.Subscribe(ctx, "ticks.>", arke.OnGap(func(g arke.Gap) {
		fmt.Println("missed:", g.Missed, g.Reason)
	}))
	must(err)
	for _, tick := range []string{"one", "two", "three"} {
		must(publisher.Publish(ctx, "ticks."+tick, arke.Message{}))
	}
	for m := range sub.Messages() {
		fmt.Println(m.Topic)
		if m.Topic == "ticks.three" {
			break
		}
	}
	must(sub.Close(ctx))
	// Output:
	// ticks.one
	// ticks.two
	// ticks.three
}

// A tunnel carries messages of any size, in order, in both directions.
func ExampleConn_OpenTunnel() {
	ctx, server, caller := context.Background(), pair()[0], pair()[1]
	member, err := server.Serve(ctx, "upper", arke.Service{Tunnel: func(ctx context.Context, t *arke.Tunnel) error {
		for {
			line, err := t.Receive(ctx)
			if errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if err := t.Send(ctx, []byte(strings.ToUpper(string(line)))); err != nil {
				return err
			}
		}
	}})
	must(err)
	defer member.Close(ctx)

	t, err := caller.OpenTunnel(ctx, "upper", arke.Message{}, arke.WaitForMember())
	must(err)
	defer t.Close()
	for _, line := range []string{"hello", "world"} {
		must(t.Send(ctx, []byte(line)))
		reply, err := t.Receive(ctx)
		must(err)
		fmt.Println(string(reply))
	}
	must(t.CloseSend())
	_, err = t.Receive(ctx)
	fmt.Println(err)
	// Output:
	// HELLO
	// WORLD
	// EOF
}

// Members lists who serves a cluster. ToMember asks one of them.
func ExampleConn_Members() {
	ctx, server, caller := context.Background(), pair()[0], pair()[1]
	for _, name := range []string{"a", "b"} {
		who := func(context.Context, *arke.Request) (arke.Message, error) {
			return arke.Message{Body: []byte(name)}, nil
		}
		member, err := server.Serve(ctx, "names", arke.HandlerFunc(who))
		must(err)
		defer member.Close(ctx)
	}
	await(caller, "names", 2)

	members, err := caller.Members(ctx, "names")
	must(err)
	for _, m := range members {
		reply, err := caller.Request(ctx, "names", arke.Message{}, arke.ToMember(m.ID))
		must(err)
		fmt.Println(string(reply.Body), m.State)
	}
	// Unordered output:
	// a live
	// b live
}

// Watch follows who serves a cluster.
func ExampleConn_Watch() {
	ctx, server, caller := context.Background(), pair()[0], pair()[1]
	member, err := server.Serve(ctx, "watched", arke.Service{Push: func(context.Context, *arke.Request) {}})
	must(err)
	await(caller, "watched", 1)
	for members, err := range caller.Watch(ctx, "watched") {
		if errors.Is(err, arke.ErrNoMembers) {
			fmt.Println("nobody")
			break
		}
		must(err)
		fmt.Println(len(members), "member")
		must(member.Close(ctx))
	}
	// Output:
	// 1 member
	// nobody
}

// A server of package net/http is a member as it is.
func ExampleConn_Listen() {
	ctx, server := context.Background(), pair()[0]
	l, err := server.Listen("web")
	must(err)
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "hello from", r.Host+r.URL.Path)
	})}
	go web.Serve(l)
	defer web.Shutdown(ctx)

	caller := pair()[1]
	await(caller, "web", 1)
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return caller.Dial(ctx, "web") },
	}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://web/index.html")
	must(err)
	defer resp.Body.Close()
	_, err = io.Copy(os.Stdout, resp.Body)
	must(err)
	// Output: hello from web/index.html
}

// Dial connects to one member of a cluster: a program that listens, or a TCP
// service behind `arke expose`.
func ExampleConn_Dial() {
	ctx, server, caller := context.Background(), pair()[0], pair()[1]
	l, err := server.Listen("daytime")
	must(err)
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		must(err)
		fmt.Fprintln(conn, "it is noon")
		must(conn.Close())
	}()

	conn, err := caller.Dial(ctx, "daytime", arke.WaitForMember())
	must(err)
	defer conn.Close()
	text, err := io.ReadAll(conn)
	must(err)
	fmt.Print(string(text))
	// Output: it is noon
}

// Handle and Call exchange Go values.
func ExampleCall() {
	type place struct{ Name string }
	type position struct{ Lat, Lon float64 }
	ctx, server, caller := context.Background(), pair()[0], pair()[1]
	find := func(_ context.Context, p place) (position, error) {
		if p.Name != "Berlin" {
			return position{}, &arke.RemoteError{Code: 404, Message: "no such place"}
		}
		return position{52.5, 13.4}, nil
	}
	member, err := server.Serve(ctx, "geo", arke.Handle(arke.JSON, find))
	must(err)
	defer member.Close(ctx)

	at, err := arke.Call[place, position](ctx, caller, "geo", arke.JSON, place{"Berlin"}, arke.WaitForMember())
	must(err)
	fmt.Println(at.Lat, at.Lon)
	// Output: 52.5 13.4
}

// A program that shuts down finishes what it accepted.
func ExampleConn_Shutdown() {
	ctx := context.Background()
	network, err := node.NewNetwork("example")
	must(err)
	c, err := node.Join(ctx, node.NetworkText(network), node.Listen("127.0.0.1:0"), node.NoMDNS())
	must(err)
	started := make(chan bool)
	slow := func(context.Context, *arke.Request) (arke.Message, error) {
		close(started)
		time.Sleep(100 * time.Millisecond)
		return arke.Message{Body: []byte("done")}, nil
	}
	_, err = c.Serve(ctx, "work", arke.HandlerFunc(slow))
	must(err)
	reply := make(chan string)
	go func() {
		r, err := c.Request(ctx, "work", arke.Message{})
		must(err)
		reply <- string(r.Body)
	}()
	<-started
	ended := make(chan error)
	go func() { ended <- c.Shutdown(ctx) }()
	fmt.Println(<-reply)
	fmt.Println(<-ended)
	// Output:
	// done
	// <nil>
}

// await waits until the caller knows of that many members.
func await(c *arke.Conn, cluster string, members int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		if all, _ := c.Members(ctx, cluster); len(all) == members {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	must(ctx.Err())
}
