/** Timers of browsers are numbers: they cannot be refreshed, and do not keep a process alive. */
type HostTimer = Partial<NodeJS.Timeout>

/** Keeps the timer from keeping the process alive. */
export function unrefTimer(timer: NodeJS.Timeout): void {
  const host: HostTimer = timer
  host.unref?.()
}

/** Restarts the timer, or replaces it with `again` if the host cannot refresh timers. */
export function restartTimer(
  timer: NodeJS.Timeout,
  again: () => NodeJS.Timeout | undefined,
): NodeJS.Timeout | undefined {
  const host: HostTimer = timer
  if (host.refresh !== undefined) return timer.refresh()
  clearTimeout(timer)
  return again()
}
