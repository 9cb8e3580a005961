// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arkehttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/arkehttp"
	"github.com/arke-mesh/arke/arketest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// web starts a program whose web server is a member of cluster "web".
func web(t *testing.T, n *arketest.Network, name string, h http.HandlerFunc) {
	t.Helper()
	l, err := n.Join(name).Listen("web")
	require.NoError(t, err)
	go http.Serve(l, h)
}

func named(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s", name, r.Method, r.URL.Path, body)
	}
}

// settled waits until the caller knows of all members.
func settled(t *testing.T, c *arke.Conn, members int) {
	t.Helper()
	require.Eventually(t, func() bool {
		all, _ := c.Members(context.Background(), "web")
		return len(all) == members
	}, time.Minute, 100*time.Millisecond)
}

func get(t *testing.T, client *http.Client, path string) string {
	t.Helper()
	resp, err := client.Get("http://web" + path)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(body)
}

func TestEachRequestIsBalancedForItself(t *testing.T) {
	// This test sends a hundred requests through one http.Client to three members
	// and checks that each of them got a share, and that bodies arrive.
	arketest.Run(t, func(t *testing.T, n *arketest.Network) {
		for i := range 3 {
			web(t, n, fmt.Sprint("web-", i), named(fmt.Sprint(i)))
		}
		caller := n.Join("caller")
		settled(t, caller, 3)
		client := &http.Client{Transport: arkehttp.NewTransport(caller)}
		got := map[string]int{}
		for range 100 {
			got[get(t, client, "/a")]++
		}
		require.Len(t, got, 3)
		for who, count := range got {
			require.Greater(t, count, 10, who)
		}
		resp, err := client.Post("http://web:8080/b", "text/plain", strings.NewReader("body"))
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Contains(t, string(body), "POST /b body")
	})
}

func TestRequestsOfAMemberThatDiesAreRepeatedOnlyIfThatDoesNoHarm(t *testing.T) {
	// This test crashes the member that has a request. A GET gets its response
	// from the other member; a POST ends as interrupted, and runs once; a POST
	// with a key gets its response.
	for _, c := range []struct {
		method, key string
		repeated    bool
	}{
		{http.MethodGet, "", true},
		{http.MethodPost, "", false},
		{http.MethodPost, "key", true},
	} {
		t.Run(c.method+c.key, func(t *testing.T) {
			arketest.Run(t, func(t *testing.T, n *arketest.Network) {
				var ran atomic.Int32
				entered := make(chan string, 2)
				for _, name := range []string{"web-1", "web-2"} {
					web(t, n, name, func(w http.ResponseWriter, r *http.Request) {
						_, _ = io.Copy(io.Discard, r.Body) // net/http notices the end of a connection then
						if ran.Add(1) == 1 {
							entered <- name
							<-r.Context().Done()
							return
						}
						fmt.Fprint(w, "done")
					})
				}
				caller := n.Join("caller")
				settled(t, caller, 2)
				n.Go("crash", func() {
					name := <-entered
					time.Sleep(time.Second)
					n.Crash(name)
				})
				req, err := http.NewRequest(c.method, "http://web/", strings.NewReader("body"))
				require.NoError(t, err)
				if c.key != "" {
					req.Header.Set("Idempotency-Key", c.key)
				}
				client := &http.Client{Transport: arkehttp.NewTransport(caller)}
				resp, err := client.Do(req)
				if !c.repeated {
					require.ErrorIs(t, err, arke.ErrInterrupted)
					require.EqualValues(t, 1, ran.Load())
					return
				}
				require.NoError(t, err)
				defer resp.Body.Close()
				require.EqualValues(t, 2, ran.Load())
			})
		})
	}
}

func TestNobodyThereIsAnErrorOfArke(t *testing.T) {
	// This test asks a cluster that nobody serves.
	arketest.Run(t, func(t *testing.T, n *arketest.Network) {
		n.Join("other")
		client := &http.Client{Transport: arkehttp.NewTransport(n.Join("caller"))}
		time.Sleep(10 * time.Second)
		_, err := client.Get("http://nobody/")
		require.ErrorIs(t, err, arke.ErrNoMembers)
	})
}
