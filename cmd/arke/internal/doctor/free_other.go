// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package doctor

// freeBytes is not known here.
func freeBytes(string) (n uint64, known bool) { return 0, false }
