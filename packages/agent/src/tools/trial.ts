import { headOf, isJsonObject, messageOf } from '@halting/core/adapters'
import { SandboxError, type TrialCall } from '@halting/policy'
import type { TrialConfinement } from '@halting/policy/wall'
import { existsSync } from 'node:fs'
import { isInsideAny } from '@halting/policy/files'
import { didNotRun } from './confinement-notes.ts'
import { type CutReason, endOnAbort } from './cut-short.ts'
import { type ShellCommand, type ShellEnd, type ShellPlace, startShellCommand } from './shell-command.ts'
import { type ShellPosition, startFolder } from './start-folder.ts'
import {
  endedBySignal,
  interruptedTrial,
  missedInTrial,
  refusedInTrial,
  trialNotStarted,
  trialTimedOut,
} from './trial-texts.ts'

/** What trials need from the session; a `Workspace` implements this interface. */
export interface TrialPlace extends ShellPlace, ShellPosition {
  /** The directories of the session. */
  readonly directories: readonly string[]
}

/** A tried command that had no effects. */
export interface TriedCommand {
  readonly shell: ShellCommand
  readonly end: ShellEnd
  readonly timeoutMs: number
  readonly confinement: TrialConfinement
}

/** Results are used immediately after the decision about their call. */
const maxStored = 16

/** Tries commands, and stores the results of those without effects until their calls run. */
export class Trials {
  readonly #place: TrialPlace
  readonly #stored = new Map<string, { readonly command: string; readonly tried: TriedCommand }>()

  constructor(place: TrialPlace) {
    this.#place = place
  }

  /**
   * Runs a trial. Returns why the command has to run again, as the end of a sentence; undefined if its result is
   * stored. Never rejects.
   */
  async run(call: TrialCall, signal: AbortSignal): Promise<string | undefined> {
    const tried = await this.try(call, signal)
    if (typeof tried === 'string') return tried
    const key = keyOf(call)
    this.#drop(key)
    this.#stored.set(key, { command: call.command, tried })
    for (const oldest of this.#stored.keys()) {
      if (this.#stored.size <= maxStored) break
      this.#drop(oldest)
    }
    return undefined
  }

  /** Returns the stored result of a call, and removes it; undefined if there is none for this command. */
  take(call: Pick<TrialCall, 'callId' | 'agentId' | 'command'>): TriedCommand | undefined {
    const key = keyOf(call)
    const stored = this.#stored.get(key)
    this.#stored.delete(key)
    if (stored === undefined || stored.command === call.command) return stored?.tried
    stored.tried.shell.spool?.drop()
    return undefined
  }

  /** Tries a command. Returns why it has to run again, if that is necessary. Never rejects. */
  async try({ command, input, confinement }: TrialCall, signal: AbortSignal): Promise<TriedCommand | string> {
    const place = this.#place
    const folder = startFolder(command, place)
    if (folder.kind === 'gone') return trialNotStarted(folder.why)
    if (signal.aborted) return interruptedTrial
    let shell: ShellCommand
    try {
      shell = startShellCommand(command, place, { directory: folder.directory, confinement })
    } catch (thrown) {
      if (thrown instanceof SandboxError) return trialNotStarted(thrown.message)
      return trialNotStarted(messageOf(thrown))
    }
    const timeoutMs = timeoutOf(input, place)
    const cut = endOnAbort(shell, signal, timeoutMs)
    const end = await shell.ended
    const why = effectsOf({ end, shell, reason: await cut.settled(), timeoutMs }, place)
    if (why === undefined) return { shell, end, timeoutMs, confinement }
    shell.spool?.drop()
    return why
  }

  #drop(key: string): void {
    this.#stored.get(key)?.tried.shell.spool?.drop()
    this.#stored.delete(key)
  }
}

/** Returns the time limit as in Bash: 0 means the default. */
function timeoutOf(input: unknown, { limits }: TrialPlace): number {
  const timeout = isJsonObject(input) ? input['timeout'] : undefined
  const ms = typeof timeout === 'number' && timeout > 0 ? timeout : limits.bashTimeoutMs
  return Math.min(ms, limits.bashMaxTimeoutMs)
}

// Spec R-TRY-4.
/** Why a tried command has to run again; undefined if its output and exit code are its only effects. */
function effectsOf(
  {
    end,
    shell,
    reason,
    timeoutMs,
  }: {
    readonly end: ShellEnd
    readonly shell: ShellCommand
    readonly reason: CutReason
    readonly timeoutMs: number
  },
  { directories, wall }: TrialPlace,
): string | undefined {
  if (reason === 'aborted') return interruptedTrial
  if (reason === 'timed out') return trialTimedOut(timeoutMs)
  if (end.kind === 'not started' || end.unsettled !== undefined || end.trial === undefined)
    return trialNotStarted(end.unsettled ?? end.detail ?? 'unknown error')
  const output = `${shell.output.toString()}\n${shell.output.tailFirst()}`
  if (didNotRun(end, output)) {
    wall?.forgetEdits()
    return trialNotStarted(headOf(output.trim(), 200))
  }
  if (end.trial.effects !== undefined) return end.trial.effects
  if (end.kind !== 'exited' || (end.exitCode ?? 0) > 128) return endedBySignal
  return refusalIn(output, directories)
}

/** Error messages of programs when the kernel refuses an operation to a trial. */
const refusals =
  /permission denied|operation not permitted|read-only file system|network is unreachable|no such process|bad system call|value too large for defined|temporary failure in name|could not resolve|not in a mount namespace|device or resource busy|cross-device link/i
/** Error messages of programs about missing files. */
const absences =
  /no such file|not found|cannot (?:find|open|access|read|load|stat)|can't (?:find|open|access|read|load)|does not exist|ENOENT|ENOTDIR/i

/** Returns what was refused to the trial, or missing only in the trial, as far as its output shows. */
function refusalIn(output: string, directories: readonly string[]): string | undefined {
  for (const line of output.split('\n')) {
    if (refusals.test(line)) return refusedInTrial(headOf(line.trim(), 120))
    if (!absences.test(line)) continue
    const paths = line.match(/\/[^\s'"`:,;()<>[\]]+/g) ?? []
    const missed = paths.find((path) => !isInsideAny(path, directories) && existsSync(path))
    if (missed !== undefined) return missedInTrial(headOf(missed, 120))
  }
  return undefined
}

function keyOf({ callId, agentId = '' }: Pick<TrialCall, 'callId' | 'agentId'>): string {
  return JSON.stringify([agentId, callId])
}
