import type { ShellCommand } from './shell-command.ts'

/** Why a command was ended early. */
export type CutReason = 'aborted' | 'timed out' | undefined

/**
 * Ends the command when the run is aborted or at the time limit. `settled` resolves when all of its processes have
 * ended.
 */
export function endOnAbort(
  shell: ShellCommand,
  signal: AbortSignal,
  timeoutMs: number,
): { settled(): Promise<CutReason> } {
  let reason: CutReason
  let ending: Promise<void> | undefined
  const end = (why: CutReason): void => {
    if (ending !== undefined) return
    reason = why
    ending = shell.end()
  }
  const onAbort = (): void => end('aborted')
  const timer = setTimeout(() => end('timed out'), timeoutMs)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  return {
    async settled() {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      await ending
      return reason
    },
  }
}
