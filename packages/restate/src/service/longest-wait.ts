/** A call that waits for a change waits at most this long: proxies cut connections on which nothing happens for longer. */
export const longestWaitMs = 25_000
