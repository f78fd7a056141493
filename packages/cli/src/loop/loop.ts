import { type AbortCause, endings, type SdkMessage } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { wantedAfter } from '@halting/agent/open-session'
import { sessionScope } from '@halting/agent/session-settings'
import { chooseSession } from '../flags/choose-session.ts'
import { type LiveSession, openLiveSession } from '../flags/open-session.ts'
import type { Flags } from '../flags/flags.ts'
import { argumentGroups } from '../flags/parse.ts'
import { runLimitOfPrint } from '../flags/run-limit.ts'
import { settingsFor } from '../flags/session-ports.ts'
import { machineClock } from '../frontends/loop-clock.ts'
import type { LoopEnd, LoopRound } from '../frontends/loop-end.ts'
import {
  newLoopId,
  pastRounds,
  type PastRounds,
  readStoredLoop,
  type StoredLoop,
  writeStoredLoop,
} from '../frontends/loop-record.ts'
import { PromptLoop } from '../frontends/prompt-loop.ts'
import { remediesOf } from '../headless/denials.ts'
import { exitCodeOf } from '../headless/ending.ts'
import type { SessionRequest } from '../headless/continue-session.ts'
import { type Interruption, watchInterruption } from '../headless/interruption.ts'
import { sessionFlags } from '../headless/rerun-command.ts'
import { programMessage } from '../io/figures.ts'
import { shellQuoted } from '../io/shell-quote.ts'
import { readPiped } from '../io/stdin.ts'
import { styleFor } from '../io/style.ts'
import { refusePause } from '../flags/flag-conflicts.ts'
import type { Program } from '../program.ts'
import { createLoopReport, type LoopReport } from './loop-report.ts'
import { requireBound, continuesLoop, flagsWithTerms, recordedFlags, loopTerms } from './loop-terms.ts'

/** `halting loop`: repeats a prompt in one session until a bound, a goal or an ending stops it. Returns the exit code. */
export async function loop(given: Flags, words: readonly string[], program: Program): Promise<number> {
  refusePause(given)
  if (given.resume === '') {
    const { printResumableSessions } = await import('../sessions/sessions.ts')
    return printResumableSessions(program)
  }
  const { flags, stored } = await chooseLoop(given, program)
  const [promptArgument = ''] = words
  const hasPrompt = promptArgument.trim() !== '' || stored !== undefined
  const piped = stored === undefined ? await readPiped(program.stdin, program.output, hasPrompt) : ''
  const prompt = [promptArgument, piped].filter((part) => part.trim() !== '').join('\n\n')
  const before = continuesLoop(stored, prompt) ? stored : undefined
  const terms = loopTerms(flags, prompt, before)
  let interruption: Interruption | undefined
  try {
    const live = await openLiveSession(flagsWithTerms(flags, terms), program, {
      answersQuestions: false,
      confinesEdits: true,
      isOneShot: true,
      runLimit: runLimitOfPrint,
      // An unfinished round of an earlier process is resumed, so no new prompt must end it.
      firstPrompt: before === undefined ? terms.prompt : '',
      typedText: promptArgument,
      ready: async () => void (interruption = watchInterruption(program.output)),
    })
    interruption ??= watchInterruption(program.output)
    try {
      requireBound(terms, live.session.snapshot)
      const { until = live.run.settings.until } = terms
      const record: StoredLoop = {
        id: before?.id ?? newLoopId(),
        startedAtMs: before?.startedAtMs ?? Date.now(),
        // Goals from settings become part of the loop's record.
        terms: { ...terms, ...(until !== undefined && { until }) },
      }
      return await runLoop({ live, record, isNew: before === undefined, program, interruption, promptArgument })
    } finally {
      await live.session.close()
    }
  } finally {
    interruption?.release()
  }
}

/** The session that the flags name, and its recorded loop. */
async function chooseLoop(
  given: Flags,
  program: Program,
): Promise<{ readonly flags: Flags; readonly stored: StoredLoop | undefined }> {
  const isNamed = given.resume !== undefined || given.continue === true
  // A copy is a new session without a loop.
  if (!isNamed || given.forkSession === true) return { flags: given, stored: undefined }
  const { env } = await settingsFor(given, program, runLimitOfPrint)
  const { sessionId } = await chooseSession(given, { ...program, env })
  const stored = await readStoredLoop({ ...sessionScope({ cwd: program.cwd, env }), sessionId })
  const { continue: isNewest, ...others } = given
  // Pins the session, since another one could become the newest before it is opened.
  return { flags: isNewest === true ? { ...others, resume: sessionId } : given, stored }
}

interface RunningLoop {
  readonly live: LiveSession
  readonly record: StoredLoop
  readonly isNew: boolean
  readonly program: Program
  readonly interruption: Interruption
  readonly promptArgument: string
}

async function runLoop(running: RunningLoop): Promise<number> {
  const { live, record, isNew, program } = running
  const { session, journal, run } = live
  const past: PastRounds =
    isNew || journal === undefined ? { rounds: [], lastStartedAtMs: null } : pastRounds(record.id, journal)
  const adopted = await runToAdopt(running, past)
  if (journal !== undefined)
    await writeStoredLoop({ ...sessionScope({ cwd: program.cwd, env: run.env }), sessionId: session.id }, record)
  const report = await openReport(running)
  try {
    const { end, rounds } = await driveLoop(running, { past, report, adopt: adopted && (() => adopted.ask(session)) })
    await session.settled()
    await adopted?.afterwards?.()
    report.end(end, rounds, continueCommand(end, running))
    return end.exitCode
  } finally {
    report.release()
  }
}

interface DriveOptions {
  readonly past: PastRounds
  readonly report: LoopReport
  readonly adopt: (() => void) | undefined
}

/** Resolves with the end of the loop. Rejects with the error that broke a round or the report. */
function driveLoop(
  { live, record, interruption }: RunningLoop,
  { past, report, adopt }: DriveOptions,
): Promise<{ readonly end: LoopEnd; readonly rounds: readonly LoopRound[] }> {
  const { session } = live
  return new Promise((resolve, reject) => {
    const guardReport = (show: () => void): void => {
      try {
        show()
      } catch (error) {
        reject(error)
        session.interrupt()
      }
    }
    // Registered before the loop's own listener, so that a run is reported before its consequences.
    session.listen((event) => guardReport(() => report.onSession(event)))
    const promptLoop = new PromptLoop({
      session,
      loopId: record.id,
      terms: record.terms,
      startedAtMs: record.startedAtMs,
      past,
      prompt: () => live.prepare(record.terms.prompt, '', interruption.signal),
      clock: machineClock(),
      onInterrupt: 'end',
      exitCodeOf: (terminal) => exitCodeOf(terminal, interruption.exitCode),
      onEvent(event) {
        guardReport(() => report.onLoop(event, promptLoop))
        if (event.type === 'end') resolve({ end: event.end, rounds: promptLoop.rounds })
        if (event.type === 'broken') reject(event.error)
      },
    })
    const interrupt = (): void => {
      // This cast is safe: the signal is always aborted with one of these causes.
      if (promptLoop.view.phase === 'round') session.interrupt({ because: interruption.signal.reason as AbortCause })
      else
        promptLoop.stop({
          because: 'interrupted',
          exitCode: interruption.exitCode ?? 130,
          message: 'Stopped between rounds',
        })
    }
    interruption.signal.addEventListener('abort', interrupt)
    promptLoop.begin(adopt)
    if (interruption.signal.aborted) interrupt()
  })
}

/**
 * How to resume the last recorded round: an unfinished run, or a run whose pending calls have been answered.
 * @throws UsageError if they have no answers
 */
async function runToAdopt({ live, program }: RunningLoop, past: PastRounds): Promise<SessionRequest | undefined> {
  const { session, journal, run } = live
  if (journal === undefined) return undefined
  if (past.open !== undefined) return { ask: (asked) => asked.resume() }
  const last = past.rounds.at(-1)
  const isWaiting = last !== undefined && endings[last.reason].continuesWith === 'answers'
  if (!isWaiting || journal.open !== undefined || journal.ended.at(-1)?.terminal.reason !== last.reason)
    return undefined
  const { continueSession } = await import('../headless/continue-session.ts')
  return continueSession(journal, { sessionId: session.id, flags: run.choices }, { ...program, env: run.env })
}

async function openReport({ live, record, program, promptArgument }: RunningLoop): Promise<LoopReport> {
  const { session, journal, toolbox, run } = live
  const { output, argv, env } = program
  const { choices: flags } = run
  const invocation = { argv: withoutLoopFlags(argv), argument: promptArgument, prompt: record.terms.prompt }
  const remedies = remediesOf(toolbox)
  const style = styleFor(output.isTerminal.stderr, run.env)
  const hasAfter = wantedAfter(flags, run.settings, env) !== undefined
  return createLoopReport({
    report: { flags, output, style, remedies, sessionId: session.id, isStored: journal !== undefined, invocation },
    session,
    rounds: record.terms.rounds,
    linesAfter: hasAfter ? await linesAfterRuns(flags) : undefined,
    onBrokenAfter: (error) => output.err(programMessage(messageOf(error))),
  })
}

async function linesAfterRuns({ verbose }: Flags): Promise<(message: SdkMessage) => readonly string[]> {
  const { afterLines } = await import('../headless/after-text.ts')
  return (message) => afterLines(message, verbose === true)
}

/** The arguments of this call without the flags of loops, for a single run in the session. */
function withoutLoopFlags(argv: readonly string[]): readonly string[] {
  return argumentGroups(argv).flatMap(({ flag, tokens }) =>
    flag === undefined || flag === 'every' || flag === 'rounds' || flag === 'loopTime' ? [] : tokens,
  )
}

/** The command that continues a loop that a user stopped, or whose problem can be fixed; otherwise ''. */
function continueCommand({ because, exitCode }: LoopEnd, { live, program }: RunningLoop): string {
  if (live.journal === undefined || because === 'goal_met' || because === 'rounds' || because === 'time') return ''
  if (exitCode === 0) return ''
  const flags = argumentGroups(program.argv).flatMap(({ flag, tokens }) =>
    flag === undefined || recordedFlags.has(flag) || sessionFlags.includes(flag) ? [] : tokens,
  )
  const budget = because === 'budget' ? ['--max-budget-usd', 'X'] : []
  return `halting ${shellQuoted(['loop', '--resume', live.session.id, ...flags, ...budget])}`
}
