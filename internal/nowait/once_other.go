// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package nowait

// once takes nothing.
func once(*Calls, uintptr, []byte) (int, error) { return 0, nil }
