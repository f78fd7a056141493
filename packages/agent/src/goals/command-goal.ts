import { resolve } from 'node:path'
import { ConfigurationError, type Goal, type GoalVerdict } from '@halting/core'
import { keyVariables } from '@halting/models'
import type { Environment } from '@halting/policy/files'
import type { Sandbox } from '@halting/policy/sandbox'
import { commandEnvironment } from '../coding-agent/command-environment.ts'
import type { CheckEnd } from './run-check.ts'
import * as texts from './check-texts.ts'

/** Options of `commandGoal`. */
export interface CommandGoalOptions {
  /** Working directory of the command, independent of the agent's folder (default: that of this process). */
  readonly cwd?: string
  /** Environment of the command (default: that of this process without API keys of models). */
  readonly env?: Environment
  /** Time limit of one check, in milliseconds (default: 600,000). */
  readonly timeoutMs?: number
  /** Number of consecutive passes required, 1 to 100 (default: 1). */
  readonly stable?: number
  /** Returns the sandbox for each check (default: no sandbox). */
  readonly sandbox?: () => Sandbox | undefined
  /** Patterns of deny rules that a sandbox applies to the agent but not to the check. */
  readonly writable?: ReadonlySet<string>
  /** Removes secrets from the report. */
  readonly redact?: (text: string) => string
}

/**
 * A goal that is met when a command exits with 0: `commandGoal('npm test')`. The command is run by `bash -o pipefail
 * -c` without input, in its own process group and a fixed folder, one check at a time per folder. All processes that
 * the command starts are ended with it.
 * @throws ConfigurationError for a blank command or one that cannot be passed to a program.
 */
export function commandGoal(command: string, options: CommandGoalOptions = {}): Goal {
  if (typeof command !== 'string' || command.trim() === '')
    throw new ConfigurationError('commandGoal takes a command for bash, such as "npm test"; it is empty.')
  if (command.includes('\0')) throw new ConfigurationError('The command of a goal must not contain the character NUL.')
  // Resolved immediately: later changes of the working directory have no effect.
  const cwd = resolve(options.cwd ?? '.')
  const { timeoutMs, stable, sandbox, writable, redact } = options
  const env = options.env ?? commandEnvironment(process.env, { keys: keyVariables() })
  return {
    name: command,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(stable !== undefined && { stable }),
    async check({ signal }) {
      // Loaded on demand: sessions whose goals are never checked do not need it.
      const [{ withFolderLock: inFolder }, { runCheck }] = await Promise.all([
        import('./folder-lock.ts'),
        import('./run-check.ts'),
      ])
      const outcome = await inFolder(cwd, signal, () =>
        runCheck({ command, cwd, env, sandbox: sandbox?.(), writable, redact }, signal),
      )
      if (outcome.kind === 'done') return verdictOf(outcome.value, { command, cwd, env })
      return { met: false, exitCode: null, report: texts.checkBusy(cwd, outcome.holder?.pid) }
    },
  }
}

interface CheckRun {
  readonly command: string
  readonly cwd: string
  readonly env: Environment
}

async function verdictOf({ kind, exitCode, output, detail }: CheckEnd, ran: CheckRun): Promise<GoalVerdict> {
  const withNote = (note: string): string => (output === '' ? note : `${output}\n${note}`)
  if (kind === 'exited' && exitCode !== 127) return { met: exitCode === 0, exitCode, report: output }
  if (kind === 'aborted') return { met: false, exitCode: null, report: withNote(texts.checkInterrupted) }
  if (kind === 'killed')
    return { met: false, exitCode: null, report: withNote(texts.checkKilled(detail ?? 'a signal')) }
  const { unusableCommand } = await import('./unusable-command.ts')
  const unusable = unusableCommand(ran.command, ran.cwd, ran.env)
  const report = kind === 'exited' ? output : texts.checkNotStarted(detail ?? 'unknown error')
  return { met: false, exitCode, report, ...(unusable !== undefined && { unusable }) }
}
