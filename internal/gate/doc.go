// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package gate counts what runs for one owner, and lets nothing begin any more once
// the owner ends: a sync.WaitGroup whose Add can't race with its Wait.
//
// # Data path
//
//  1. Whoever runs something asks [Gate.Enter], and says [Gate.Leave] at its end;
//     [Gate.Spawn] does both for a goroutine of its own.
//  2. The owner says [Gate.Shut] where nothing more may begin, and [Gate.Close] to
//     wait for what has begun.
//
// A gate runs no goroutine but those of Spawn, which Close waits for.
package gate
