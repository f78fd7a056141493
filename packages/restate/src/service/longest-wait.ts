/** A call that waits for a change waits at most this long: balancers often cut a connection on which nothing happens for a minute. */
export const longestWaitMs = 50_000
