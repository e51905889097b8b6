// Package inspect describes an app and its pollers: what their settings, the files of a Function App, the databases,
// the state store and the queues say of them. `rowrelay check`, `rowrelay status`, the production checklist and the
// status page read this one description, each what it needs. It holds facts, and what follows from them in words;
// nothing is judged or drawn here, and nothing is changed.
//
// [New] reads settings and files, and asks no service. The rest is asked for:
//
//	Poller.Check    the database and the state documents, as a tick would find them, and the first rows
//	App.Audit       all that production needs beside: rights, queues, dead letters, what the store keeps
//	Output.Read     one state document
//	Poller.Ask      one outbox
//
// What cannot be found out is told in the description, where it is missing: among the faults of a poller, as the error
// beside a member, or in Broken. Statements take source__timeout at most, and reads of the state store what its clients
// allow; whoever wants an answer sooner ends the context.
package inspect
