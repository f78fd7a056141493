const called = new Set<() => void>()

function callAll(): void {
  for (const call of called) call()
}

/** Called when this process ends. One listener for all: Node warns of the eleventh, and a program may hold many sessions. */
export function atExit(call: () => void): void {
  if (called.size === 0) process.once('exit', callAll)
  called.add(call)
}

/** Takes back a call that was to be made when the process exits. */
export function notAtExit(call: () => void): void {
  if (called.delete(call) && called.size === 0) process.off('exit', callAll)
}
