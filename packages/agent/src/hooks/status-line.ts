import type { JsonObject } from '@halting/core'
import { headOf, messageOf } from '@halting/core/adapters'
import { gitHardening } from '@halting/policy/git'
import { HookProcesses } from './processes.ts'
import { runCommand, type CommandCall, type HookEnd } from './run-command.ts'

/** Options of `StatusLineCommand`. */
export interface StatusLineOptions extends Pick<CommandCall, 'command' | 'cwd' | 'env' | 'readable'> {
  /** The project, for `CLAUDE_PROJECT_DIR`. */
  readonly projectDirectory: string
  /** Returns the sandbox for each run; the command is confined like hooks. */
  readonly sandbox?: () => CommandCall['sandbox']
  /** Time limit of one run in milliseconds (default: 5,000). */
  readonly timeoutMs?: number
}

/** The size of the terminal, in characters. */
export interface StatusLineSize {
  /** Width. */
  readonly columns: number
  /** Height. */
  readonly rows: number
}

/** The result of one run: the command's output, or why it is missing. */
export type StatusLineResult =
  | {
      readonly kind: 'printed'
      /** The command's output, without the last line break. */
      readonly text: string
    }
  | {
      readonly kind: 'failed'
      /** Why there is no output. */
      readonly why: string
    }
  | { readonly kind: 'ended' }

const defaultTimeoutMs = 5_000
/** More output is dropped. */
const maxCharacters = 20_000
/** Scripts refresh caches in the background, so this many groups of earlier runs may continue to run. */
const maxLeft = 4

// Spec R-LIM-40.
/**
 * The command of the setting `statusLine`: it receives one JSON object on stdin, and its output is shown. It runs in
 * its own process group, without a terminal. Its environment is that of commands, without API keys of models. Git that
 * it starts runs no program of a repository and takes no lock of the index.
 */
export class StatusLineCommand {
  readonly #options: StatusLineOptions
  readonly #processes = new HookProcesses()
  readonly #over = new AbortController()

  constructor(options: StatusLineOptions) {
    this.#options = options
  }

  /**
   * Runs the command once. The caller waits before the next run. Never rejects; `ended`: the session ended meanwhile.
   */
  async run(input: JsonObject, { columns, rows }: StatusLineSize): Promise<StatusLineResult> {
    const { command, cwd, env, readable, projectDirectory, sandbox, timeoutMs = defaultTimeoutMs } = this.#options
    const { signal } = this.#over
    if (signal.aborted) return { kind: 'ended' }
    try {
      await this.#processes.trim(maxLeft)
      const end = await runCommand(
        {
          command,
          cwd,
          input: `${JSON.stringify(input)}\n`,
          env: {
            ...env,
            ...gitHardening(),
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
      // The command declared itself a background command, which is not allowed for a status line.
      if (end.kind === 'left') await this.#processes.dispose()
      return statusLineResult(end, timeoutMs)
    } catch (thrown) {
      return { kind: 'failed', why: messageOf(thrown) }
    }
  }

  /** Ends the current run and everything that was started. */
  async end(): Promise<void> {
    this.#over.abort()
    await this.#processes.dispose()
  }
}

function statusLineResult({ kind, exitCode, stdout, stderr }: HookEnd, timeoutMs: number): StatusLineResult {
  switch (kind) {
    case 'exited':
      return exitCode === 0
        ? { kind: 'printed', text: headOf(stdout, maxCharacters) }
        : { kind: 'failed', why: withWords(`exit code ${exitCode}`, stderr) }
    case 'aborted':
      return { kind: 'ended' }
    case 'timed out':
      return { kind: 'failed', why: `it took longer than ${timeoutMs / 1_000} s and was ended` }
    case 'left':
      return { kind: 'failed', why: 'it printed {"async": true}, which is for hooks' }
    case 'killed':
    case 'not started':
    case 'not confined':
    case 'threw':
      return {
        kind: 'failed',
        why: withWords(kind === 'not confined' ? 'the sandbox cannot confine it' : kind, stderr),
      }
  }
}

/** Appends the first line of the command's stderr. */
function withWords(how: string, stderr: string): string {
  const [first = ''] = stderr.trim().split('\n', 1)
  return first === '' ? how : `${how}: ${headOf(first, 200)}`
}
