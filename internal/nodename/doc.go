// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodename writes a node as people know it: by the name it has given itself,
// and by the end of its peer id, which nobody else can have.
package nodename
