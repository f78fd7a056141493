/** Timers of browsers are numbers: they cannot be set back, and keep no process alive. */
type HostTimer = Partial<NodeJS.Timeout>

/** Has the timer not keep the process alive. */
export function unrefTimer(timer: NodeJS.Timeout): void {
  const host: HostTimer = timer
  host.unref?.()
}

/** The same timer, or another one where the host cannot set it back. `again` starts it. */
export function restartTimer(
  timer: NodeJS.Timeout,
  again: () => NodeJS.Timeout | undefined,
): NodeJS.Timeout | undefined {
  const host: HostTimer = timer
  if (host.refresh !== undefined) return timer.refresh()
  clearTimeout(timer)
  return again()
}
