import { spawn } from 'node:child_process'
import { BoundedOutput, whyNotStarted } from '@halting/agent'

/** `!command` or `!!command` of a person. */
export interface ShellCommand {
  readonly command: string
  /** Whether the output goes to the model with the next message. */
  readonly isForModel: boolean
}

/** Undefined if the text is not a shell command. */
export function shellCommandIn(text: string): ShellCommand | undefined {
  const [, signs = '', command = ''] = /^\s*(!{1,2})([\s\S]*)$/.exec(text) ?? []
  if (signs === '' || command.trim() === '') return undefined
  return { command: command.trim(), isForModel: signs === '!' }
}

export interface RunOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Ends the command and all its processes. */
  readonly signal: AbortSignal
  readonly onOutput: (text: string) => void
}

export interface CommandResult {
  /** Both streams in order; the middle of a long output is left out. */
  readonly output: string
  /** How it failed: `exit code 1`, `SIGTERM`, `stopped`; undefined for exit code 0. */
  readonly failed: string | undefined
}

const maxCharacters = 30_000
/** How long to wait for output of background processes, in milliseconds. */
const lingerMs = 500

/** Runs a command in bash, in its own process group; resolves when it ends. Never rejects. */
export function runShellCommand(command: string, { cwd, env, signal, onOutput }: RunOptions): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn('bash', ['-c', command], {
      cwd,
      env: { ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const captured = new BoundedOutput(maxCharacters)
    const end = (failed: string | undefined): void => {
      signal.removeEventListener('abort', kill)
      resolve({ output: captured.toString(), failed })
    }
    const kill = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      } catch {
        // The process has already ended.
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

/** The text for the model. */
export function modelReport({ command }: ShellCommand, { output, failed }: CommandResult): string {
  const shown = output.trim() === '' ? '(it printed nothing)' : output.trimEnd()
  return `The user ran this command themselves:\n$ ${command}\n${shown}${failed === undefined ? '' : `\n(${failed})`}`
}
