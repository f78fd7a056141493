const exitCallbacks = new Set<() => void>()

function callAll(): void {
  for (const call of exitCallbacks) call()
}

/** Called when this process ends. One listener for all: Node warns of the eleventh, and a program may hold many sessions. */
export function onProcessExit(call: () => void): void {
  if (exitCallbacks.size === 0) process.once('exit', callAll)
  exitCallbacks.add(call)
}

/** Takes back what `onProcessExit` was given. */
export function offProcessExit(call: () => void): void {
  if (exitCallbacks.delete(call) && exitCallbacks.size === 0) process.off('exit', callAll)
}
