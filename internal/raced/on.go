// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package raced

// Enabled says whether the race detector is there.
const Enabled = true
