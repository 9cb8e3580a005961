// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
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
