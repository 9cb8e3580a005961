// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

// BenchmarkTunnelThroughTwoRelays is one tunnel between the clients of two relays
// in one process, one way. Of a small message nothing but the receiver's own copy
// should be allocated.
func BenchmarkTunnelThroughTwoRelays(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		b.Run(fmt.Sprint("size=", size), func(b *testing.B) {
			s := sites(b, 2, nil)
			_, err := s[1].client.Serve(b.Context(), "sink", patterns.Service{Tunnel: func(ctx context.Context, t patterns.Tunnel) error {
				for sum := 0; ; {
					body, err := t.Receive(ctx)
					if errors.Is(err, io.EOF) {
						return t.Send(ctx, fmt.Append(nil, sum))
					} else if err != nil {
						return err
					}
					sum += len(body)
				}
			}}, patterns.Limits{})
			require.NoError(b, err)
			tunnel, err := s[0].client.OpenTunnel(b.Context(), "sink", patterns.Message{}, patterns.WaitForMember())
			require.NoError(b, err)
			body := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if err := tunnel.Send(b.Context(), body); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, tunnel.CloseSend())
			sum, err := tunnel.Receive(b.Context())
			require.NoError(b, err)
			require.Equal(b, fmt.Sprint(b.N*size), string(sum))
		})
	}
}
