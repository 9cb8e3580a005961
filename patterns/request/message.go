// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// checkName returns cluster.ErrName for a name that no cluster has.
func checkName(name string) error {
	if name == "" || len(name) > cluster.MaxName {
		return cluster.ErrName
	}
	return nil
}

// messageSize is what MessageBytes bounds: the body, and the headers as they
// are encoded.
func messageSize(hs []wire.Header, body []byte) int {
	if len(hs) == 0 {
		return len(body)
	}
	return wire.HeadersSize(hs) + len(body)
}

// wireHeaders copies headers, if there are any.
func wireHeaders(hs patterns.Headers) []wire.Header {
	if len(hs) == 0 {
		return nil
	}
	out := make([]wire.Header, len(hs))
	for i, h := range hs {
		out[i] = wire.Header(h)
	}
	return out
}

func userHeaders(hs []wire.Header) patterns.Headers {
	if len(hs) == 0 {
		return nil
	}
	out := make(patterns.Headers, len(hs))
	for i, h := range hs {
		out[i] = patterns.Header(h)
	}
	return out
}
