// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package system puts each system under test behind one small interface, so
// that the same programs publish, subscribe, request and respond on all of
// them: a file for each system, whose default settings are used wherever
// nothing else is said there.
//
// It measures nothing and knows no workload: package worker does the work of
// one process, package driver starts processes and servers and measures them.
package system
