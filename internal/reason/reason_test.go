// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhyADialFailedIsOneClause(t *testing.T) {
	// This test puts errors of dials into words, wrapped as a transport wraps them.
	dial := func(err error) error {
		return fmt.Errorf("p2p: dial 12D3: %w", &net.OpError{Op: "dial", Net: "tcp", Err: err})
	}
	for want, err := range map[string]error{
		"connection refused: nobody listens there":        dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)),
		"there is no way to that address":                 dial(syscall.EHOSTUNREACH),
		"no answer":                                       dial(context.DeadlineExceeded),
		"the name relay-1 does not resolve: no such host": dial(&net.DNSError{Name: "relay-1", Err: "no such host", IsNotFound: true}),
		"another network key, or not Arke: it closed":     errors.New("p2p: failed to dial:\n  * [/ip4/1.2.3.4/tcp/1] one\n  * p2p: 12D3: another network key, or not Arke: it closed"),
		"short: reason":                                   errors.New("short: reason"),
	} {
		require.Equal(t, want, OfDial(err))
	}
	require.Equal(t, "no answer", OfDial(dial(os.ErrDeadlineExceeded)))
}
