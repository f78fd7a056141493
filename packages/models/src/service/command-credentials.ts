import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { platform } from 'node:os'
import type { CredentialSource } from './credential-source.ts'
import { createRedactor } from './redactor.ts'
import { withoutMixedWords } from './secret-shapes.ts'

/** Options of credentials that a command prints. */
export interface CommandCredentialOptions {
  /** How long a key is used before the command runs again, in milliseconds (default: 300,000). */
  readonly ttlMs?: number | undefined
  /** Maximum duration of the command in milliseconds (default: 60,000). */
  readonly timeoutMs?: number | undefined
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number
}

/**
 * Gets keys from a command (the setting `apiKeyHelper`). The shell runs it when a key is first needed, when the last
 * one is older than `ttlMs`, and when the service rejected it. Its standard output is the key and is never shown; its
 * standard error is shown if it fails.
 *
 * The key is sent as API key and as bearer token: services ignore the header they do not use.
 */
export function commandCredentials(command: string, options: CommandCredentialOptions = {}): CredentialSource {
  const { ttlMs = 300_000, timeoutMs = 60_000, now = () => performance.now() } = options
  let last: { readonly key: string; readonly at: number } | undefined
  return async ({ refused, signal }) => {
    const isUsable = last !== undefined && last.key !== refused?.apiKey && now() - last.at < ttlMs
    if (last === undefined || !isUsable) last = { key: await runHelper(command, timeoutMs, signal), at: now() }
    return { apiKey: last.key, authToken: last.key }
  }
}

const longestKey = 65_536
/** Maximum number of characters read from standard error; the message shows fewer. */
const longestComplaint = 10_000
/** How long output may still arrive after the command has ended, in milliseconds. */
const afterExitMs = 250

function runHelper(command: string, timeoutMs: number, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'], detached: platform() !== 'win32' })
    let printed = ''
    let complaint = ''
    const settle = (outcome: { readonly key: string } | { readonly error: Error }): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      if ('key' in outcome) resolve(outcome.key)
      else reject(outcome.error)
    }
    const leave = (error: Error): void => {
      settle({ error })
      killGroup(child)
    }
    // The caller chose the reason of the abort.
    const onAbort = (): void => leave(signal.reason as Error)
    const timer = setTimeout(() => leave(new Error(`apiKeyHelper took longer than ${timeoutMs / 1000} s`)), timeoutMs)
    signal.addEventListener('abort', onAbort, { once: true })
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (printed.length < longestKey) printed += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (complaint.length < longestComplaint) complaint += text
    })
    // Node's error contains the command, which may contain a key.
    child.once('error', (error) => settle({ error: new Error(error.message) }))
    const done = (code: number | null, ended: NodeJS.Signals | null): void => {
      const key = printed.trim()
      if (code === 0 && key !== '') return settle({ key })
      const how = code === 0 ? 'printed no key' : `failed with ${code === null ? String(ended) : `exit code ${code}`}`
      const details = redactedStderr(complaint, printed)
      settle({ error: new Error(`apiKeyHelper ${how}${details === '' ? '' : `: ${details}`}`) })
    }
    child.once('close', done)
    // A child process may keep the output open forever; the command's own output has arrived by then.
    child.once('exit', (code, ended) => {
      setTimeout(() => {
        child.stdout.destroy()
        child.stderr.destroy()
        done(code, ended)
      }, afterExitMs)
    })
  })
}

/** Returns the command's standard error without anything that may be a key. */
function redactedStderr(complaint: string, printed: string): string {
  const redactor = createRedactor(printed.split(/\s+/).slice(0, 100))
  return withoutMixedWords(redactor.text(complaint.trim())).slice(0, 300)
}

/** Kills the command and its child processes. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    if (platform() === 'win32') child.kill('SIGKILL')
    else process.kill(-child.pid, 'SIGKILL')
  } catch {
    // The process has already ended.
  }
}
