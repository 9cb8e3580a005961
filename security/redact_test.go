// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/arke-mesh/arke/security"
)

// secret is what no output may hold: 32 times the same byte, so that any part
// of it shows.
func secret() (k security.Key) {
	copy(k[:], bytes.Repeat([]byte{0xb7}, len(k)))
	return k
}

// requireNoSecret fails if out has two neighbouring bytes of the secret, in any
// common rendering.
func requireNoSecret(t *testing.T, what, out string) {
	t.Helper()
	raw := bytes.Repeat([]byte{0xb7}, 6)
	for _, trace := range []string{
		"b7b7", "B7B7", "b7 b7", "B7 B7", "183 183", "183,183", "0xb7, 0xb7", "0xB7", "183, 183",
		"267 267", "10110111 10110111", "U+00B7 U+00B7", "'·' '·'", `\xb7\xb7`, `\ufffd\ufffd`,
		string(raw[:2]), "··", "��", base64.StdEncoding.EncodeToString(raw), hex.EncodeToString(raw[:2]),
	} {
		require.NotContains(t, out, trace, what)
	}
	// What else looks like 32 bytes may be a derived secret. An id in
	// hexadecimal digits of its digits has no letters.
	require.NotRegexp(t, "([0-9]+[, ]+){20}", out, what)
	for _, run := range regexp.MustCompile("[0-9a-fA-F]{64,}").FindAllString(out, -1) {
		require.Empty(t, strings.Trim(run, "0123456789"), what)
	}
}

// holders are the values that hold the secret, bare and in other values.
func holders(t *testing.T) map[string]any {
	k := secret()
	version := security.KeyVersion{Version: 1, Key: k}
	file := security.NetworkFile{Name: "net", ID: security.NetworkID{1}, Keys: []security.KeyVersion{version}}
	network := newNetwork(t, file)
	cluster := security.NewCluster("geo", file.Keys)
	sealed := cluster.Seal(seeded("salt"), security.Binding{}, nil, nil) // fills its caches
	_, err := cluster.Open(security.Binding{}, sealed)
	require.NoError(t, err)
	node, err := security.GenerateNodeKey(bytes.NewReader(k[:]))
	require.NoError(t, err)
	authority, err := security.GenerateAuthority(file.ID, bytes.NewReader(k[:]))
	require.NoError(t, err)
	ephemerals := security.NewEphemerals(bytes.NewReader(k[:]), noon)
	agreement, err := ephemerals.With(ephemerals.Public())
	require.NoError(t, err)
	return map[string]any{
		"ephemerals":       ephemerals,
		"hidden agreement": struct{ a *security.Agreement }{agreement},
		"agreement":        agreement,
		"agreement in use": security.Binding{Agreement: agreement},
		"key":              k,
		"pointer to key":   &k,
		"slice of keys":    []security.Key{k},
		"map of keys":      map[string]security.Key{"a": k},
		"field":            struct{ K security.Key }{k},
		"version":          version,
		"versions":         file.Keys,
		"file":             file,
		"pointer to file":  &file,
		"config":           struct{ File security.NetworkFile }{file},
		"cluster file":     security.ClusterFile{Name: "geo", Keys: file.Keys},
		"finding file":     security.FindingFile{Name: "geo", Keys: file.Keys},
		"finder":           security.NewFinder("geo", file.Keys),
		"authority":        authority,
		"field of one":     struct{ Authority security.Authority }{authority},
		"node key":         node,
		"field of node":    struct{ Key security.NodeKey }{node},
		"hidden node key":  struct{ key security.NodeKey }{node},
		"network":          network,
		"network by value": reflect.ValueOf(network).Elem().Interface(),
		"hidden network":   struct{ n *security.Network }{network},
		"cluster":          cluster,
		"cluster by value": reflect.ValueOf(cluster).Elem().Interface(),
		"hidden cluster":   struct{ c *security.Cluster }{cluster},
		"epoch":            cluster.Epochs(noon)[0],
		"hidden epoch":     struct{ e security.Epoch }{cluster.Epochs(noon)[0]},
		"epochs":           cluster.Epochs(noon),
	}
}

// TestSecretsNeverPrint proves that keys, and everything that holds one, redact
// themselves whatever the verb or the encoder.
func TestSecretsNeverPrint(t *testing.T) {
	for name, v := range holders(t) {
		t.Run(name, func(t *testing.T) {
			for _, verb := range strings.Split("%v %+v %#v %s %q %x %X % x %#x %d %o %b %c %U %T %t %e %08v %.2s", " ") {
				requireNoSecret(t, verb, fmt.Sprintf(verb, v))
			}
			requireNoSecret(t, "print", fmt.Sprint(v)+fmt.Sprintln(v))
			requireNoSecret(t, "error", fmt.Errorf("wrapped: %v", v).Error())

			out, err := json.Marshal(v)
			require.NoError(t, err)
			requireNoSecret(t, "json", string(out))

			var log bytes.Buffer
			for _, encoder := range []zapcore.Encoder{
				zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()),
				zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig()),
			} {
				l := zap.New(zapcore.NewCore(encoder, zapcore.AddSync(&log), zap.DebugLevel))
				l.Info("message", zap.Any("any", v), zap.Reflect("reflect", v))
				l.Sugar().Infow("message", "v", v)
				l.Sugar().Info(v)
				if s, ok := v.(fmt.Stringer); ok {
					l.Info("message", zap.Stringer("stringer", s))
				}
			}
			slog.New(slog.NewTextHandler(&log, nil)).Info("message", "v", v)
			slog.New(slog.NewJSONHandler(&log, nil)).Info("message", "v", v)
			require.NotEmpty(t, log.String())
			requireNoSecret(t, "logs", log.String())
		})
	}
}

// TestTheSecretWouldBeFound proves that the test above can fail.
func TestTheSecretWouldBeFound(t *testing.T) {
	type naked [32]byte
	k := naked(secret())
	for _, out := range []string{
		fmt.Sprint(k), fmt.Sprintf("%x", k), fmt.Sprintf("%#v", k), fmt.Sprintf("%s", k), fmt.Sprintf("%q", k),
	} {
		found := false
		for _, trace := range []string{"183 183", "b7b7", "0xb7, 0xb7", "\xb7\xb7", `\xb7\xb7`} {
			found = found || strings.Contains(out, trace)
		}
		require.True(t, found, out)
	}
}

// TestRedactedTextSaysSo proves what is printed instead.
func TestRedactedTextSaysSo(t *testing.T) {
	k := secret()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		require.Equal(t, "[redacted]", fmt.Sprintf(verb, k))
		require.Equal(t, "[redacted]", fmt.Sprintf(verb, security.NodeKey{}))
	}
	require.Equal(t, "[redacted]", k.String())
	require.Equal(t, "[redacted]", k.GoString())
	text, err := k.MarshalText()
	require.NoError(t, err)
	require.Equal(t, "[redacted]", string(text))
	out, err := json.Marshal(security.KeyVersion{Version: 7, Key: k})
	require.NoError(t, err)
	require.JSONEq(t, `{"Version":7,"Key":"[redacted]"}`, string(out))
	require.Equal(t, "cluster geo", fmt.Sprint(security.NewCluster("geo", nil)))
	f := security.NetworkFile{Name: "net", ID: security.NetworkID{1}, Keys: []security.KeyVersion{{Version: 1, Key: k}}}
	require.Equal(t, "{net 01000000000000000000000000000000 [{1 [redacted] 0001-01-01 00:00:00 +0000 UTC 0001-01-01 00:00:00 +0000 UTC}] [] shared}", fmt.Sprint(f))
	require.Equal(t, "network net 01000000000000000000000000000000", fmt.Sprint(newNetwork(t, f)))
}

// TestKeysCompare proves Equal and IsZero.
func TestKeysCompare(t *testing.T) {
	k := secret()
	other := k
	other[31] ^= 1
	require.True(t, k.Equal(secret()))
	require.False(t, k.Equal(other))
	require.False(t, k.IsZero())
	require.True(t, security.Key{}.IsZero())
}
