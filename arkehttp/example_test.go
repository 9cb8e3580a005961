// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arkehttp_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/arkehttp"
	"github.com/arke-mesh/arke/node"
)

// A web server is a member of cluster "web", and a client reaches it by that name.
func ExampleNewTransport() {
	ctx := context.Background()
	network, err := node.NewNetwork("example")
	if err != nil {
		log.Fatal(err)
	}
	c, err := node.Join(ctx, node.NetworkText(network), node.Listen("127.0.0.1:0"), node.NoMDNS())
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	l, err := c.Listen("web")
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "hello,", r.FormValue("name"))
	})}
	go server.Serve(l)
	defer server.Close()

	client := &http.Client{Transport: arkehttp.NewTransport(c, arke.WaitForMember())}
	resp, err := client.Get("http://web/?name=world")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(body))
	// Output: hello, world
}
