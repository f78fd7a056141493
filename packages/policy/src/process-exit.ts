const exitCallbacks = new Set<() => void>()

function callAll(): void {
  for (const call of exitCallbacks) call()
}

/**
 * Registers a callback for the end of this process. All callbacks share one listener: Node warns about the eleventh
 * listener, and a program may have many sessions.
 */
export function onProcessExit(call: () => void): void {
  if (exitCallbacks.size === 0) process.once('exit', callAll)
  exitCallbacks.add(call)
}

/** Removes a callback that `onProcessExit` registered. */
export function offProcessExit(call: () => void): void {
  if (exitCallbacks.delete(call) && exitCallbacks.size === 0) process.off('exit', callAll)
}
