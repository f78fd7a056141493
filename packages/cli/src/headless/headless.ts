import type { RunResult, SdkMessage } from '@halting/core'
import { compactCommand, messageOf } from '@halting/core/adapters'
import { refusePause } from '../flags/flag-conflicts.ts'
import type { Flags } from '../flags/flags.ts'
import { runLimitOfPrint } from '../flags/run-limit.ts'
import { flagTable } from '../flags/table.ts'
import { readPiped } from '../io/stdin.ts'
import { told } from '../io/figures.ts'
import { styleFor } from '../io/style.ts'
import type { Program } from '../program.ts'
import { wantedAfter } from '@halting/agent/open-session'
import type { Ask } from './go-on.ts'
import { type LiveSession, openLiveSession } from '../flags/open-session.ts'
import { UsageError } from '../usage-error.ts'
import { followChanges } from './file-changes.ts'
import { uncheckedLine } from './unchecked.ts'
import { remediesOf } from './denials.ts'
import { type Interruption, watchInterruption } from './interruption.ts'
import { createReport } from './report.ts'
import { runOnce } from './run.ts'
import type { Watcher } from './watcher.ts'

/** `halting -p`: one prompt, one run, one ending; or a session that goes on. Returns the exit code. */
export async function headless(given: Flags, words: readonly string[], program: Program): Promise<number> {
  const { output, stdin } = program
  const [written = ''] = words
  refusePause(given)
  const isNew = isForNewSession(given)
  if (isNew && written.trim() === '' && stdin.isTTY) throw await noPrompt(given, program)
  if (isNew) refuseCompact(written)
  // A run that has no prompt says so before it asks for a key; one that has a prompt does not wait for a pipe to say what it lacks.
  const piped = written.trim() === '' ? await promptOf(written, given, program) : undefined
  const said = piped ?? written
  let prompt = said
  let interruption: Interruption | undefined
  try {
    const live = await openLiveSession(given, program, {
      answersQuestions: false,
      confinesEdits: true,
      isOneShot: true,
      runLimit: runLimitOfPrint,
      verifyDefault: 'ask',
      firstPrompt: said,
      written,
      async ready() {
        prompt = piped ?? (await promptOf(written, given, program))
        interruption = watchInterruption(output)
      },
    })
    interruption ??= watchInterruption(output)
    try {
      if (isNew) refuseGoalFlags(given, live.run.settings)
      const { ask, afterwards } = await askOf(live, said, prompt, program, interruption.signal)
      const exitCode = await run({ live, ask, program, written, prompt, interruption })
      await afterwards?.()
      return exitCode
    } finally {
      await live.session.close()
    }
  } finally {
    interruption?.release()
  }
}

interface Asked {
  readonly live: LiveSession
  readonly ask: Ask['ask']
  readonly program: Program
  readonly written: string
  readonly prompt: string
  readonly interruption: Interruption
}

async function run({ live, ask, program, written, prompt, interruption }: Asked): Promise<number> {
  const { output, env, argv } = program
  const { session, toolbox, journal, run } = live
  const { choices: flags } = run
  const style = styleFor(output.isTerminal.stderr, run.env)
  const isKept = journal !== undefined
  const asked = { argv, written, prompt }
  const remedies = remediesOf(toolbox)
  const about = { flags, output, style, remedies, sessionId: session.id, isKept, asked }
  const report = createReport({ ...about, saysUnchecked: true })
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
      changes.see(message)
      // Whoever waits for the result alone need not read on, and gets the exit code of the run.
      if (message.type === 'result' && hasAfter) output.readerMayLeave()
    },
  }
  const linesAfter = hasAfter ? await linesFor(flags) : undefined
  const onBrokenAfter = (error: unknown): void => output.err(told(messageOf(error)))
  const exitCode = await runOnce({ session, ask: () => ask(session), interruption, watcher, linesAfter, onBrokenAfter })
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

async function askOf(
  live: LiveSession,
  said: string,
  prompt: string,
  program: Program,
  signal: AbortSignal,
): Promise<Ask> {
  const { session, journal, run } = live
  if (prompt === '' && journal !== undefined) {
    const { goOn } = await import('./go-on.ts')
    return goOn(journal, { sessionId: session.id, flags: run.choices }, { ...program, env: run.env })
  }
  const { content } = await live.prepare(said, prompt.slice(said.length), signal)
  return { ask: (asked) => void asked.prompt(content) }
}

/** What was written as an argument, and then what was piped in. A session that goes on needs none. */
async function promptOf(written: string, given: Flags, program: Program): Promise<string> {
  const { stdin, output } = program
  const isNeeded = isForNewSession(given)
  const hasPrompt = written.trim() !== ''
  const piped = await readPiped(stdin, output, hasPrompt || !isNeeded)
  const prompt = [written, piped].filter((part) => part.trim() !== '').join('\n\n')
  if (!isNeeded) return prompt
  if (prompt === '') throw await noPrompt(given, program)
  refuseCompact(prompt)
  return prompt
}

/** @throws UsageError for a command that needs a conversation: there is none yet. */
function refuseCompact(prompt: string): void {
  if (!compactCommand.test(prompt)) return
  throw new UsageError(
    'There is no conversation to compact: halting -p starts a new one. A run compacts automatically when its context window fills up; --autocompact sets when.',
  )
}

/** @throws UsageError for a flag that says how goals are checked, where there is no goal. One that goes on may have goals on record. */
function refuseGoalFlags(given: Flags, settings: LiveSession['run']['settings']): void {
  if ((given.until ?? settings.until ?? []).length > 0 || given.goal !== undefined) return
  const flag = flagsOfGoals.find((name) => given[name] !== undefined && given[name] !== false)
  if (flag === undefined) return
  throw new UsageError(
    `${flagTable[flag].names[0]} needs a goal. Add --until CMD, such as --until "npm test", or --goal TEXT.`,
  )
}

const flagsOfGoals = ['untilTries', 'untilTimeout', 'untilStable', 'skipIfMet', 'stopWhenMet'] as const

function isForNewSession(given: Flags): boolean {
  return given.resume === undefined && given.continue !== true
}

/** Who did not write `-p` wanted a conversation: that needs a terminal (spec R-TERM-8). */
async function noPrompt({ print }: Flags, { env, stdin, output }: Program): Promise<UsageError> {
  if (print !== true) {
    const { whyNoScreen } = await import('../terminal/screen/usable.ts')
    const why = whyNoScreen(env, { stdin, stdout: { isTTY: output.isTerminal.stdout } })
    if (why !== undefined) return new UsageError(why)
  }
  return new UsageError('No prompt. Put it after -p (halting -p "What does this project do?"), or pipe it in.')
}
