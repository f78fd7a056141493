import type { RunResult, SdkMessage } from '@halting/core'
import { compactCommand, messageOf } from '@halting/core/adapters'
import { refusePause } from '../flags/flag-conflicts.ts'
import type { Flags } from '../flags/flags.ts'
import { runLimitOfPrint } from '../flags/run-limit.ts'
import { flagTable } from '../flags/table.ts'
import { readPiped } from '../io/stdin.ts'
import { programMessage } from '../io/figures.ts'
import { styleFor } from '../io/style.ts'
import type { Program } from '../program.ts'
import { wantedAfter } from '@halting/agent/open-session'
import type { SessionRequest } from './continue-session.ts'
import { type LiveSession, openLiveSession } from '../flags/open-session.ts'
import { UsageError } from '../usage-error.ts'
import { followChanges } from './file-changes.ts'
import { uncheckedLine } from './unchecked.ts'
import { remediesOf } from './denials.ts'
import { type Interruption, watchInterruption } from './interruption.ts'
import { createReport } from './report.ts'
import { runOnce } from './run.ts'
import type { Watcher } from './watcher.ts'

/** `halting -p`: runs one prompt, or continues a session. Returns the exit code. */
export async function headless(flags: Flags, words: readonly string[], program: Program): Promise<number> {
  const { output, stdin } = program
  const [argument = ''] = words
  refusePause(flags)
  const isNew = isForNewSession(flags)
  if (isNew && argument.trim() === '' && stdin.isTTY) throw await missingPromptError(flags, program)
  if (isNew) refuseCompact(argument)
  // A missing prompt is reported before a missing key. If there is a prompt, a missing key is reported before a slow pipe is read.
  const piped = argument.trim() === '' ? await readPrompt(argument, flags, program) : undefined
  const typed = piped ?? argument
  let prompt = typed
  let interruption: Interruption | undefined
  try {
    const live = await openLiveSession(flags, program, {
      answersQuestions: false,
      confinesEdits: true,
      isOneShot: true,
      runLimit: runLimitOfPrint,
      verifyDefault: 'ask',
      firstPrompt: typed,
      typedText: argument,
      async ready() {
        prompt = piped ?? (await readPrompt(argument, flags, program))
        interruption = watchInterruption(output)
      },
    })
    interruption ??= watchInterruption(output)
    try {
      if (isNew) refuseGoalFlags(flags, live.run.settings)
      const { ask, afterwards } = await requestFor(live, typed, prompt, program, interruption.signal)
      const exitCode = await run({ live, ask, program, argument: argument, prompt, interruption })
      await afterwards?.()
      return exitCode
    } finally {
      await live.session.close()
    }
  } finally {
    interruption?.release()
  }
}

interface HeadlessRun {
  readonly live: LiveSession
  readonly ask: SessionRequest['ask']
  readonly program: Program
  readonly argument: string
  readonly prompt: string
  readonly interruption: Interruption
}

async function run({ live, ask, program, argument, prompt, interruption }: HeadlessRun): Promise<number> {
  const { output, env, argv } = program
  const { session, toolbox, journal, run } = live
  const { choices: flags } = run
  const style = styleFor(output.isTerminal.stderr, run.env)
  const isStored = journal !== undefined
  const invocation = { argv, argument, prompt }
  const remedies = remediesOf(toolbox)
  const about = { flags, output, style, remedies, sessionId: session.id, isStored, invocation }
  const report = createReport({ ...about, reportsUnchecked: true })
  const hasAfter = wantedAfter(flags, run.settings, env) !== undefined
  const changes = followChanges()
  let terminal: RunResult | undefined
  const watcher: Watcher = {
    ...report,
    end(ended) {
      terminal = ended
      report.end(ended)
    },
    see(message) {
      report.see(message)
      changes.onMessage(message)
      // A reader that only needs the result may close the pipe now; the exit code remains that of the run.
      if (message.type === 'result' && hasAfter) output.allowReaderToLeave()
    },
  }
  const linesAfter = hasAfter ? await linesFor(flags) : undefined
  const onErrorAfter = (error: unknown): void => output.err(programMessage(messageOf(error)))
  const exitCode = await runOnce({
    session,
    ask: () => ask(session),
    interruption,
    watcher,
    linesAfter,
    onErrorAfter: onErrorAfter,
  })
  const isText = (flags.outputFormat ?? 'text') === 'text' && flags.quiet !== true
  const unchecked = terminal === undefined || !isText ? '' : uncheckedLine(terminal, changes.summary)
  if (terminal !== undefined && unchecked !== '') {
    const [check] = await live.checks()
    output.err(`${style.yellow(uncheckedLine(terminal, changes.summary, check))}\n`)
  }
  return exitCode
}

async function linesFor({ verbose }: Flags): Promise<(message: SdkMessage) => readonly string[]> {
  const { afterLines } = await import('./after-text.ts')
  return (message) => afterLines(message, verbose === true)
}

async function requestFor(
  live: LiveSession,
  typed: string,
  prompt: string,
  program: Program,
  signal: AbortSignal,
): Promise<SessionRequest> {
  const { session, journal, run } = live
  if (prompt === '' && journal !== undefined) {
    const { continueSession } = await import('./continue-session.ts')
    return continueSession(journal, { sessionId: session.id, flags: run.choices }, { ...program, env: run.env })
  }
  const { content } = await live.prepare(typed, prompt.slice(typed.length), signal)
  return { ask: (target) => void target.prompt(content) }
}

/** The prompt argument, followed by the piped input. A session that continues needs neither. */
async function readPrompt(argument: string, flags: Flags, program: Program): Promise<string> {
  const { stdin, output } = program
  const isNeeded = isForNewSession(flags)
  const hasPrompt = argument.trim() !== ''
  const piped = await readPiped(stdin, output, hasPrompt || !isNeeded)
  const prompt = [argument, piped].filter((part) => part.trim() !== '').join('\n\n')
  if (!isNeeded) return prompt
  if (prompt === '') throw await missingPromptError(flags, program)
  refuseCompact(prompt)
  return prompt
}

/** @throws UsageError for `/compact`: a new session has no conversation yet. */
function refuseCompact(prompt: string): void {
  if (!compactCommand.test(prompt)) return
  throw new UsageError(
    'There is no conversation to compact: halting -p starts a new one. A run compacts automatically when its context window fills up; --autocompact sets when.',
  )
}

/** @throws UsageError for a flag about goal checks without a goal. A resumed session may have recorded goals. */
function refuseGoalFlags(flags: Flags, settings: LiveSession['run']['settings']): void {
  if ((flags.until ?? settings.until ?? []).length > 0 || flags.goal !== undefined) return
  const flag = goalCheckFlags.find((name) => flags[name] !== undefined && flags[name] !== false)
  if (flag === undefined) return
  throw new UsageError(
    `${flagTable[flag].names[0]} needs a goal. Add --until CMD, such as --until "npm test", or --goal TEXT.`,
  )
}

const goalCheckFlags = ['untilTries', 'untilTimeout', 'untilStable', 'skipIfMet', 'stopWhenMet'] as const

function isForNewSession(flags: Flags): boolean {
  return flags.resume === undefined && flags.continue !== true
}

/** Without `-p`, the user wanted the interactive program, which needs a terminal (spec R-TERM-8). */
async function missingPromptError({ print }: Flags, { env, stdin, output }: Program): Promise<UsageError> {
  if (print !== true) {
    const { missingTerminalReason: whyNoScreen } = await import('../terminal/screen/terminal-requirements.ts')
    const why = whyNoScreen(env, { stdin, stdout: { isTTY: output.isTerminal.stdout } })
    if (why !== undefined) return new UsageError(why)
  }
  return new UsageError('No prompt. Put it after -p (halting -p "What does this project do?"), or pipe it in.')
}
