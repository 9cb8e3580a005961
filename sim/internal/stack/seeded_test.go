// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack_test

import "math/rand/v2"

func seeded(n byte) *rand.ChaCha8 { return rand.NewChaCha8([32]byte{n}) }
