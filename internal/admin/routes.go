// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"strconv"
)

// routes are the pages.
func routes(c Config, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { ready(w, c) })
	mux.HandleFunc("GET /status.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		describe := func() []byte { return describeGateway(c.Gateway) }
		if c.Gateway == nil {
			describe = c.Relay.Describe
		}
		_, _ = w.Write(append(describe(), '\n')) // whoever asked may have gone
	})
	if c.Level != nil {
		mux.Handle("/log-level", http.MaxBytesHandler(c.Level, 1<<10))
	}
	mux.HandleFunc("GET /debug/pprof/", profile(pprof.Index))
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", profile(pprof.Profile))
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", profile(pprof.Trace))
	return mux
}

// maxProfile is the longest profile, in seconds.
const maxProfile = 60

// profile refuses to measure for longer than maxProfile.
func profile(measure http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if seconds, err := strconv.ParseFloat(r.FormValue("seconds"), 64); err == nil && !(seconds <= maxProfile) {
			answer(w, http.StatusBadRequest, fmt.Sprintf("seconds=%v: a profile takes at most %d", seconds, maxProfile))
			return
		}
		measure(w, r)
	}
}

// ready says whether programs may rely on the relay, or networks on the gateway, and if
// not, why.
func ready(w http.ResponseWriter, c Config) {
	watched := interface{ Ready() error }(c.Gateway)
	if c.Gateway == nil {
		watched = c.Node
	}
	if err := watched.Ready(); err != nil {
		answer(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	if c.Gateway == nil && c.Relay.Status().Draining {
		answer(w, http.StatusServiceUnavailable, "the relay is draining")
		return
	}
	answer(w, http.StatusOK, "ok")
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}
