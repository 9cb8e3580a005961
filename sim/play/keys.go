// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/security"
)

// network returns the network file that a seed and a label decide. Nodes whose
// labels differ hold different keys of the same network.
func network(seed uint64, label string) (security.NetworkFile, error) {
	file, err := security.GenerateNetworkFile("sim", source(seed, "network", ""))
	if err != nil || label == "" {
		return file, err
	}
	other, err := security.GenerateNetworkFile("sim", source(seed, "network", label))
	file.Keys = other.Keys
	return file, err
}

// clusterKey returns the explicit key that a label stands for.
func clusterKey(seed uint64, label string) []security.KeyVersion {
	k := security.KeyVersion{Version: 1}
	_, _ = source(seed, "cluster", label).Read(k.Key[:])
	return []security.KeyVersion{k}
}

func source(seed uint64, purpose, label string) *rand.ChaCha8 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(purpose + "/" + label))
	var key [32]byte
	binary.BigEndian.PutUint64(key[:], seed)
	binary.BigEndian.PutUint64(key[8:], h.Sum64())
	return rand.NewChaCha8(key)
}

func zapNode(name string) zap.Field { return zap.String("node", name) }

func zapError(err error) zap.Field { return zap.Error(err) }
