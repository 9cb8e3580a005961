// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package issued, an inner part of Arke that makes no promise to users, decides who
// is let into an issued network and who may do what there, by the certificates that
// nodes show and by what the network's authority has taken back.
//
// It is asked at every door:
//
//  1. overlay asks at each Hello whether the peer is let in (Admit), and again for all
//     links when something here has changed, or a certificate has ended (Next).
//  2. cluster asks for each record of a member that it has not seen whether the
//     member's node may serve that name (Serves): the certificate is in the record,
//     sealed for holders of the cluster's key and signed by the node with it. So a caller knows
//     before it has a link to the member, and no anchor can leave the certificate out.
//  3. patterns ask for each request whether the peer may call, and for publications and
//     subscriptions likewise (May).
//  4. The node itself asks for what its own program and its clients want to do (Own).
//
// A signature is verified once per certificate, and a name is compared with patterns
// once per peer, verb and name: what stays is a look-up without an allocation, and in a
// shared network one atomic load.
//
// It has no goroutine, no clock but the one it is given, and opens nothing.
package issued
