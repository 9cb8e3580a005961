// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package match says which patterns stand for a topic: what topics and
// patterns are, and an index of many patterns.
//
// It knows nothing of subscriptions, nodes or messages: an [Index] maps
// patterns to values of its user's.
//
// # Topics and patterns
//
// A topic is words of 1 or more bytes joined by dots, at most 255 bytes in all.
// In a pattern the word * stands for one word, and the word >, only at the end,
// for one or more. A topic is a pattern that stands for itself. Words are
// compared byte by byte.
//
// # The index
//
// It is a concurrent trie: from fork to fork by one word each.
//
//  1. Match cuts the topic into words and hashes each once.
//  2. At each fork it takes the values under >, follows *, and looks the word
//     up in an open-addressed table. Hashes are seeded: patterns come from
//     strangers.
//  3. A pattern that shares its next word with no other is not cut further: it
//     is a leaf with the rest of its text, which is compared as text. Most
//     patterns end so before their last word.
//
// Readers take no lock: nodes never change, and a writer, of which there is one
// at a time, replaces one by one store into the fork above it. Tables, on the
// other hand, do change under their readers, so that a word more costs the
// same at a fork with ten words and with ten thousand.
//
// # Why this one
//
// Nanoseconds per operation, over all goroutines together, on two cores of an
// AMD EPYC with Go 1.26 (go test -run xxx -bench 'Match|Memory' -benchtime 100ms
// ./internal/match). An operation is one Match or, of the writes, one
// Remove with the Add of the same. Patterns have five words, every fifth has
// wildcards; a topic matches 1.1 patterns of 1,000, and 15 of 100,000.
//
//	                                  goroutines
//	subscriptions, writes   structure         1        2        4        8       16
//	1,000, none             naive        21,393   10,581   11,277   10,879   10,764
//	                        inverted         59       42       45       45       43
//	                        optimised       300      158      162      158      158
//	                        trie            425      239      238      252      235
//	                        index           242      120      123      120      124
//	1,000, 10 %             naive        19,468   16,330   13,935   13,778   13,822
//	                        inverted      2,612    2,871    3,151    3,071    3,201
//	                        optimised       353      388      382      392      395
//	                        trie            474      523      532      567      569
//	                        index           263      173      210      202      205
//	1,000, 50 %             naive        10,793   12,258   11,857   11,957   11,756
//	                        inverted     12,921   13,941   14,571   14,219   14,824
//	                        optimised       487      515      513      517      548
//	                        trie            540      659      647      647      668
//	                        index           299      322      328      320      341
//	100,000, none           naive     2,196,456 1,110,609 1,112,184 1,133,587 1,139,265
//	                        inverted      1,555      800      790      818      810
//	                        optimised    14,437    6,804    6,813    6,919    7,108
//	                        trie          1,685      812      838      844      830
//	                        index           762      372      388      386      379
//	100,000, 10 %           naive     2,142,065 1,281,818 1,086,480 1,152,021 1,128,639
//	                        inverted      7,475    9,032    8,560    8,894   10,003
//	                        optimised    13,681   12,561   10,050    9,990    9,895
//	                        trie          1,808    2,222    1,981    1,956    1,991
//	                        index           809      432      668      681      668
//	100,000, 50 %           naive     1,018,294 1,098,354  971,471 1,049,206  854,915
//	                        inverted     31,741   38,224   35,816   40,647   37,144
//	                        optimised     7,516    8,417    8,397    8,459    8,780
//	                        trie          1,710    1,752    1,912    1,856    2,040
//	                        index         1,067      901    1,307      952    1,041
//
// Bytes per subscription at 1,000 and 100,000, without the text of the patterns
// themselves: naive 27 and 27, inverted 161 and 118 (and a bit for each pair of
// a known topic and a subscription), optimised 214 and 155, trie 638 and 323,
// index 107 and 98. Adding one takes the index 0.3 and 0.5 µs.
//
// The index wins everywhere but in one column: the inverted bitmap is faster
// while there are few subscriptions that never change, and if all topics are
// known beforehand. They are not, and subscriptions do change, so the index is
// the product and the others are in the tests: they pass the same property test.
//
// The comparison is that of Tyler Treat's "Fast topic matching" (2016), which
// published, for 1,000 subscriptions on a 2.6 GHz laptop of its time, per
// look-up: naive 815 µs, inverted bitmap 0.40 µs, optimised 3.3 µs, trie 2.3 µs,
// concurrent trie 1.6 µs. The ideas are from there, the code is not; its topics
// and its machine differ, so compare the proportions.
//
// # Goroutines
//
// None.
//
// # Guarantees
//
// What was added before a Match began and is not removed while it runs is
// found; what does not match never is. The order of a Match depends on the
// patterns and the order of Add alone, so that runs can be replayed.
package match
