import { spawn } from 'node:child_process'
import { BoundedOutput, whyNotStarted } from '@halting/agent'

/** `!command` and `!!command` of a person. */
export interface ShellCommand {
  readonly command: string
  /** What it prints goes to the model with the next message. */
  readonly isForModel: boolean
}

/** Undefined for what is no command. */
export function shellCommandIn(text: string): ShellCommand | undefined {
  const [, signs = '', command = ''] = /^\s*(!{1,2})([\s\S]*)$/.exec(text) ?? []
  if (signs === '' || command.trim() === '') return undefined
  return { command: command.trim(), isForModel: signs === '!' }
}

export interface RunOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Ends it, with all that it started. */
  readonly signal: AbortSignal
  readonly onOutput: (text: string) => void
}

export interface CommandResult {
  /** Both streams, as they came; the middle of a long one is left out. */
  readonly output: string
  /** How it ended, where that was not with 0: `exit code 1`, `SIGTERM`, `stopped`. */
  readonly failed: string | undefined
}

const mostCharacters = 30_000
/** What a process of the background keeps open is not waited for longer. */
const lingerMs = 500

/** Runs it in bash, in a process group of its own; resolves when it has ended. Never rejects. */
export function runShellCommand(command: string, { cwd, env, signal, onOutput }: RunOptions): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn('bash', ['-c', command], {
      cwd,
      env: { ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const captured = new BoundedOutput(mostCharacters)
    const end = (failed: string | undefined): void => {
      signal.removeEventListener('abort', kill)
      resolve({ output: captured.toString(), failed })
    }
    const kill = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      } catch {
        // It has ended.
      }
    }
    signal.addEventListener('abort', kill, { once: true })
    if (signal.aborted) kill()
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        captured.append(text)
        onOutput(text)
      })
    child.once('error', (error) => end(`could not start: ${whyNotStarted(error, cwd)}`))
    child.once('exit', (code, name) => {
      const failed = signal.aborted ? 'stopped' : name !== null ? name : code === 0 ? undefined : `exit code ${code}`
      const timer = setTimeout(() => end(failed), lingerMs)
      child.once('close', () => {
        clearTimeout(timer)
        end(failed)
      })
    })
  })
}

/** What the model is told of it. */
export function modelReport({ command }: ShellCommand, { output, failed }: CommandResult): string {
  const shown = output.trim() === '' ? '(it printed nothing)' : output.trimEnd()
  return `The user ran this command themselves:\n$ ${command}\n${shown}${failed === undefined ? '' : `\n(${failed})`}`
}
