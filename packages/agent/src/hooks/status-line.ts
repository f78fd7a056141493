import type { JsonObject } from '@halting/core'
import { headOf, messageOf } from '@halting/core/adapters'
import { gitTurnedOff } from '@halting/policy/git'
import { HookProcesses } from './processes.ts'
import { runCommand, type CommandCall, type HookEnd } from './run-command.ts'

/** What a status line command needs of its session. */
export interface StatusLineOptions extends Pick<CommandCall, 'command' | 'cwd' | 'env' | 'readable'> {
  /** The project, for `CLAUDE_PROJECT_DIR`. */
  readonly projectDirectory: string
  /** Confines it, as it confines hooks; looked at before each run. */
  readonly sandbox?: () => CommandCall['sandbox']
  /** Milliseconds that one run may take; 5,000 when absent. */
  readonly timeoutMs?: number
}

/** The size of the terminal, in characters. */
export interface StatusLineSize {
  /** Width. */
  readonly columns: number
  /** Height. */
  readonly rows: number
}

/** What one run came to: what it printed, or why that does not count. */
export type StatusLineResult =
  | {
      readonly kind: 'printed'
      /** What it printed, without the last line break. */
      readonly text: string
    }
  | {
      readonly kind: 'failed'
      /** Why what it printed does not count. */
      readonly why: string
    }
  | { readonly kind: 'ended' }

const defaultTimeoutMs = 5_000
/** More of what it prints is not kept. */
const mostCharacters = 20_000
/** Scripts refresh a cache in the background; of those of earlier runs so many go on. */
const mostLeft = 4

// Spec R-LIM-40.
/**
 * The command of the setting `statusLine`: it gets one JSON object on stdin, and what it prints is shown.
 *
 * It runs in a process group of its own, without a terminal. The environment is that of commands, which has no keys of models; git that it starts runs no
 * program that a repository names, and takes no lock of the index.
 */
export class StatusLineCommand {
  readonly #options: StatusLineOptions
  readonly #processes = new HookProcesses()
  readonly #over = new AbortController()

  constructor(options: StatusLineOptions) {
    this.#options = options
  }

  /** Runs it once. The caller waits before the next run. Never rejects; `ended`: the session was left meanwhile. */
  async run(input: JsonObject, { columns, rows }: StatusLineSize): Promise<StatusLineResult> {
    const { command, cwd, env, readable, projectDirectory, sandbox, timeoutMs = defaultTimeoutMs } = this.#options
    const { signal } = this.#over
    if (signal.aborted) return { kind: 'ended' }
    try {
      await this.#processes.trim(mostLeft)
      const end = await runCommand(
        {
          command,
          cwd,
          input: `${JSON.stringify(input)}\n`,
          env: {
            ...env,
            ...gitTurnedOff(),
            CLAUDE_PROJECT_DIR: projectDirectory,
            HALTING_PROJECT_DIR: projectDirectory,
            CLAUDECODE: '1',
            COLUMNS: String(columns),
            LINES: String(rows),
          },
          ...(readable !== undefined && { readable }),
          sandbox: sandbox?.(),
          timeoutMs,
          signal,
        },
        this.#processes,
      )
      // It said that nobody is to wait for it: nothing of a status line goes on so.
      if (end.kind === 'left') await this.#processes.dispose()
      return resultOf(end, timeoutMs)
    } catch (thrown) {
      return { kind: 'failed', why: messageOf(thrown) }
    }
  }

  /** Ends what runs, with all that was started. */
  async end(): Promise<void> {
    this.#over.abort()
    await this.#processes.dispose()
  }
}

function resultOf({ kind, exitCode, stdout, stderr }: HookEnd, timeoutMs: number): StatusLineResult {
  switch (kind) {
    case 'exited':
      return exitCode === 0
        ? { kind: 'printed', text: headOf(stdout, mostCharacters) }
        : { kind: 'failed', why: withWords(`exit code ${exitCode}`, stderr) }
    case 'aborted':
      return { kind: 'ended' }
    case 'timed out':
      return { kind: 'failed', why: `it took longer than ${timeoutMs / 1_000} s and was ended` }
    case 'left':
      return { kind: 'failed', why: 'it printed {"async": true}, which is for hooks' }
    case 'killed':
    case 'not started':
    case 'not held':
    case 'threw':
      return { kind: 'failed', why: withWords(kind === 'not held' ? 'the sandbox cannot confine it' : kind, stderr) }
  }
}

/** With the first line of what it wrote on stderr. */
function withWords(how: string, stderr: string): string {
  const [first = ''] = stderr.trim().split('\n', 1)
  return first === '' ? how : `${how}: ${headOf(first, 200)}`
}
