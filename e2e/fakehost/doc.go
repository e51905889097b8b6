// Package fakehost plays the Azure Functions host for tests: it starts the real custom handler as the host would start
// it, invokes it as the host would, and judges its answers, its exits and its log lines by the host's rules. A real
// host is no part of the tests: no registry that they use has one. The rules were read from the host's source, and put
// right where a live one (4.1045.200 under Core Tools, with Rowrelay as its custom handler) was seen to do otherwise.
//
//	host, err := fakehost.Start(ctx, fakehost.Options{Root: dir, Settings: settings}) // dir holds host.json and <function>/function.json
//	defer host.Close()
//	result := host.Invoke(ctx, "orders")
//	if !result.Succeeded { t.Fatal(result, host.Logs()) }
//
// The ten traps, and how a test sees that a handler fell into one:
//
//	 1  a 2xx with an empty body or null hangs      Result.Hung, and the worker is killed at functionTimeout; another
//	                                                media type, or JSON that is no object: Result.Succeeded is false
//	 2  a non-2xx fails, and its body is discarded  Result.Succeeded is false, Logs() has no line of Level Error
//	 3  Outputs are written after the answer        Result.Outputs is not empty, or Result.ReturnValue is set
//	 4  a single-string queue output is changed     Result.Outputs has a string (Lossy names it)
//	 5  values arrive as JSON in strings            the invocation of a queueTrigger function (Invocation.Message), or
//	                                                Invocation.AsString, fails
//	 6  ScheduleStatus is null or has no zone       Invocation.NoStatus or Invocation.NeverRan fails; Variants has them all
//	 7  exits                                       Zombie() after exit 0, unless Options.ZeroRestarts; Stopped() is not nil
//	                                                after the third exit with another code than 200, a kill from elsewhere
//	                                                (KillWorker) included; Restarts() counts the restarts
//	 8  SIGKILL at functionTimeout, no cancelling   Result.TimedOut; Kill and Close are the same signal at any other time,
//	                                                Terminate and Interrupt the two that a handler can hear
//	 9  lines are classified by stream and "warn"   Logs() holds an Error's text at Level Warning, a record in pieces, or a
//	                                                line of Level Swallowed
//	10  only the exact entry gets its execute bit   Start fails when defaultExecutablePath has a "./"
//
// Beyond the traps, Functions tells which function.json files the host would refuse, and why: %NAME% with a "__" in it
// is not found, bindings other than timers and HTTP need the extension bundle, "host" is no name for a function.
// JobHosts counts the restarts of the inner host, each with another port: it restarts when a directory comes or goes
// beside host.json. A retry policy of function.json is played, its attempts under one invocation id.
//
// It is stricter than the host in one place: the host follows a redirect, here it fails the invocation at once.
//
// What it does not play: schedules (a test invokes by hand), the singleton lock of timers, the queue's own repetitions,
// output bindings but http, files that change.
//
// Front plays the way of an HTTP request to an httpTrigger function: route, methods, keys, the description of the
// request that is posted to the worker, and the response that is made of its Outputs; and of a call by hand, POST
// /admin/functions/<name>.
package fakehost
