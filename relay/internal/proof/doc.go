// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package proof lets a client and its relay show each other that they hold the
// same token, without sending it: each answers the other's random bytes with a MAC.
// The documentation of package relay says which frames carry that.
//
// A proof is HMAC-SHA-256 under the token over the prover's role, the client's
// bytes, the relay's bytes, and the address at which they meet. So it is good for
// one connection, for one direction of it, and not behind somebody who listens at
// another address and passes on what he hears.
//
// The relay proves first: who listens in its place learns random bytes and nothing
// else. Who connects to the relay without a token does get a MAC, with which he can
// try tokens at home. That is why a token has 16 bytes at least, and should be random.
package proof
