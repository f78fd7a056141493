import { endings, type RunEvent, type SdkMessage, type RunResult } from '@halting/core'
import { budgetWaitText, longestQuietWaitMs, sharedBudgetOf } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { wrapped } from '../io/columns.ts'
import { oneLine, printable } from '../io/figures.ts'
import { everyCharacterInLine } from '../io/seen.ts'
import { iterationText } from '../frontends/iteration-text.ts'
import { longRetryText, toolWaitIn, toolWaitText } from '../frontends/wait-text.ts'
import { shellQuoted } from '../io/shell-quote.ts'
import type { Output } from '../io/output.ts'
import type { Style } from '../io/style.ts'
import { pendingOf } from '@halting/analysis/transcript'
import { followActivity } from './activity.ts'
import { resumeCommand } from '../why/resume-command.ts'
import { noStream, streamAnswer } from './answer-stream.ts'
import { followDenials, type Remedies } from './denials.ts'
import { closingLine, endingLine } from './ending.ts'
import { followGoals, goalArguments, goalNotes, isUnusableGoal } from './goal-text.ts'
import { followChanges } from './file-changes.ts'
import { showActivity } from './live-line.ts'
import { pauseNote } from './pause-note.ts'
import { roomNews } from './room.ts'
import type { Asked } from './rerun.ts'
import type { Watcher } from './watcher.ts'
import { uncheckedLine } from './unchecked.ts'
import { createStepPrinter, type StepPrinter } from './step-printer.ts'

export interface ReportContext {
  readonly flags: Flags
  readonly output: Output
  readonly style: Style
  /** What would let calls through that were denied. */
  readonly remedies: Remedies
  readonly sessionId: string
  /** What was done is on disk: the session can be gone on with. */
  readonly isKept: boolean
  readonly asked: Asked
  /** The run is a round of a loop, which says itself how it continues. */
  readonly isRound?: boolean
  /** The caller says after the run that its last change is unchecked: it knows a command that would check it. */
  readonly saysUnchecked?: boolean
}

/**
 * For people (spec R-TEXT-1 to R-TEXT-5).
 * The answer on stdout: on a terminal as it comes, else when the run has ended. On stderr, on a terminal, a live line while the run works,
 * and a closing line. What was denied, and why the run ended when that was no success, is told in any case.
 */
export function textReport(context: ReportContext): Watcher {
  const { flags, output, style, remedies, asked, sessionId, isKept, isRound = false, saysUnchecked = false } = context
  const isShown = flags.quiet !== true
  const isWatched = isShown && output.isTerminal.stderr
  // An answer that must fit a schema may be sent back: the one that stays is known at the end.
  const isStreamed = isShown && output.isTerminal.stdout && flags.jsonSchema === undefined
  const answer = isStreamed ? streamAnswer(output) : noStream
  const steps = flags.verbose === true ? stepPrinter(output, style, isStreamed) : undefined
  const activity = followActivity()
  const stopShowing = isWatched ? showActivity(activity, output) : () => undefined
  const denials = followDenials(remedies, isKept ? { ...asked, sessionId } : asked)
  const changes = followChanges()
  const tellTrouble = isWatched && steps === undefined ? troubleTeller(output, style) : () => undefined
  // With every step it is told beside them.
  const tellNote = steps === undefined ? noteTeller(output, style) : () => undefined
  const failure = followFailure()
  const tell = tellerFor(output)
  const tellWait = isShown && steps === undefined ? waitTeller(tell, style) : () => undefined
  const goals = isShown ? goalTeller(tell, flags, style) : undefined
  const verification = isShown ? verificationTeller(tell, flags, style) : undefined
  return {
    onEvent(event) {
      failure.onEvent(event)
      activity.onEvent(event)
      denials.onEvent(event)
      answer.onEvent(event)
      steps?.onEvent(event)
      tellTrouble(event)
      tellNote(event)
      tellWait(event)
      goals?.onEvent(event)
      verification?.onEvent(event)
    },
    see(message) {
      failure.see(message)
      changes.see(message)
      steps?.see(message)
      if (message.type !== 'result') return
      stopShowing()
      const text = message.result ?? message.last_answer ?? ''
      if (!answer.has(text)) say(text, output)
    },
    end(terminal) {
      stopShowing()
      const { text, command } = denials.report(output.width)
      if (text !== '') tell(text)
      if (command !== '') output.err(`${command}\n`)
      if (isUnusableGoal(terminal)) return tell(`halting: ${terminal.signal.message}`)
      goals?.end(terminal)
      if (endings[terminal.reason].exitCode === 0) {
        // A hook that took the prompt back, say: no answer tells why there is none.
        if (terminal.reason === 'stop_requested' && terminal.signal.message !== '')
          tell(`halting: ${oneLine(terminal.signal.message, Infinity)}`)
        // Whoever gave a goal wants to read what it came to, in a log as well.
        if (isWatched || (isShown && terminal.goal !== undefined))
          tell(closingLine(terminal, changes.summary), (shown) => shown.replace('✓', style.green))
      } else {
        const errorKind = failure.kindOf(terminal)
        tell(`halting: ${endingLine(terminal, { flags, changes: changes.summary, errorKind })}`)
        const session = { sessionId, isKept, hasChanges: changes.summary !== '', isRound }
        output.err(nextCommands(terminal, session, output.width, flags))
      }
      if (!saysUnchecked) verification?.end(terminal, changes.summary)
    },
    after(_message, lines) {
      for (const line of lines) tell(line, style.dim)
    },
    release: stopShowing,
  }
}

type Tell = (text: string, paint?: (shown: string) => string) => void

/** Writes to stderr, in lines as wide as the terminal. */
function tellerFor(output: Output): Tell {
  return (text, paint = (shown) => shown) => {
    const shown = output.isTerminal.stderr ? wrapped(text, output.width) : text
    output.err(`${paint(shown)}\n`)
  }
}

/** Tells what each round of checks came to as it happens, and at the end what a person should know of the verdict (spec R-GOAL-62). */
function goalTeller(tell: Tell, flags: Flags, style: Style): Pick<Watcher, 'onEvent' | 'end'> {
  const goals = followGoals(flags.verbose === true)
  return {
    onEvent(event) {
      for (const line of goals.linesFor(event)) tell(line, (shown) => paintedGoal(shown, style))
    },
    end({ goal }) {
      for (const note of goalNotes(goal, flags.untilStable)) tell(`! ${note}`, style.yellow)
    },
  }
}

// Spec R-VERI-22.
/** Tells that the model is asked to verify its last change, and at the end that it is not checked. */
function verificationTeller(
  tell: Tell,
  { verbose = false }: Flags,
  style: Style,
): { readonly onEvent: (event: RunEvent) => void; readonly end: (terminal: RunResult, changes: string) => void } {
  return {
    onEvent(event) {
      // With every step what the model is asked stands among them.
      if (!verbose && event.type === 'lap' && event.transition === 'unverified_change')
        tell(`↻ ${iterationText('unverified_change')}`, style.dim)
    },
    end(terminal, changes) {
      const line = uncheckedLine(terminal, changes)
      if (line !== '') tell(line, style.yellow)
    },
  }
}

interface SessionLeft {
  readonly sessionId: string
  readonly isKept: boolean
  readonly hasChanges: boolean
  /** A loop continues it, and says how. */
  readonly isRound: boolean
}

/** Commands for what may come next. They are not wrapped: they are there to be pasted. */
function nextCommands(
  terminal: RunResult,
  { sessionId, isKept, hasChanges, isRound }: SessionLeft,
  width: number,
  flags: Flags,
): string {
  if (terminal.reason === 'needs_approval') return questionLines(terminal, { sessionId, isRound }, width, flags)
  if (!isKept || isRound) return ''
  return goOnLine(terminal, sessionId, flags) + (hasChanges ? undoLine(terminal, sessionId, flags) : '')
}

/** The command that goes on with the session; '' where there is nothing to go on with. */
function goOnLine(terminal: RunResult, sessionId: string, flags: Flags): string {
  const { cluster, until = [], goal } = flags
  // Those of settings are there again.
  const goals = [
    ...until.map((name) => ({ name })),
    ...(goal === undefined ? [] : [{ name: goal, judged: true } as const]),
  ]
  const where = { sessionId, sessionCwd: '', cwd: '', goals, ...(cluster !== undefined && { cluster }) }
  const { command } = resumeCommand(terminal, where)
  if (command === undefined) return ''
  const again = goalArguments(flags, command)
  const when = sharedBudgetOf(terminal.signal)?.kind === 'standing' ? 'After the reset' : 'Resume'
  return `${when}: ${[command, ...(again.length === 0 ? [] : [shellQuoted(again)])].join(' ')}\n`
}

/** The command that takes the changes of a run back that did not reach its goal; '' for any other ending. */
function undoLine({ reason }: RunResult, sessionId: string, { cluster, noFileCheckpoints }: Flags): string {
  if (reason !== 'goal_unmet' || cluster !== undefined || noFileCheckpoints === true) return ''
  return `Undo: halting ${shellQuoted(['undo', sessionId])}\n`
}

/** ✓ and ✗ in their colours. */
function paintedGoal(line: string, style: Style): string {
  return line.startsWith('goal: ') ? line.replace('✓', style.green).replace('✗', style.red) : style.dim(line)
}

/** What is asked, and the commands that answer it. A session of a cluster goes on with the answer. */
function questionLines(
  { signal }: RunResult,
  { sessionId, isRound }: Pick<SessionLeft, 'sessionId' | 'isRound'>,
  width: number,
  { permissionMode: mode, cluster }: Flags,
): string {
  const place = cluster === undefined ? [] : ['--cluster', cluster]
  const lines = pendingOf(signal.context).flatMap(({ id, name, message }) => [
    `  ${everyCharacterInLine(`${name}: ${message}`, 3 * width)}`,
    `  halting ${shellQuoted(['approve', sessionId, id, ...place])}`,
  ])
  if (cluster !== undefined || isRound) return `${lines.join('\n')}\n`
  // What the model was kept from is not to be let in by the way.
  const kept = mode === 'plan' ? ['--permission-mode', mode] : []
  return `${lines.join('\n')}\n  halting ${shellQuoted(['-p', '--resume', sessionId, '--on-ask', 'defer', ...kept])}\n`
}

function stepPrinter(output: Output, style: Style, isStreamed: boolean): StepPrinter {
  const texts = isStreamed ? 'none' : 'steps'
  return createStepPrinter(
    (text) => output.err(text),
    style,
    () => output.width,
    texts,
  )
}

/** Tells what a person should know while it happens: why a request is made again, once, what the run notes, and when the conversation was made shorter. */
function troubleTeller(output: Output, style: Style): (event: RunEvent) => void {
  let told = ''
  return (event) => {
    const news = roomNews(event)
    if (news?.kind === 'compacted') output.err(`${style.dim(oneLine(`↻ ${news.text}`, output.width))}\n`)
    const message = troubleOf(event) ?? told
    if (message === told) return
    told = message
    output.err(`${style.yellow(wrapped(`! ${oneLine(told, 3 * output.width)}`, output.width))}\n`)
  }
}

function troubleOf(event: RunEvent): string | undefined {
  // What waits long is told with when it goes on, by `noteTeller`.
  if (event.type === 'retry') return longRetryText(event, Date.now()) === undefined ? event.error.message : undefined
  if (event.type === 'notice') return event.message
  const news = roomNews(event)
  return news?.kind === 'not compacted' ? news.text : undefined
}

/** Tells for what a tool waits that waits for long: nothing else may be heard of the run meanwhile (spec R-WAIT-17). */
function waitTeller(tell: Tell, style: Style): (event: RunEvent) => void {
  return (event) => {
    const wait = longWaitIn(event)
    if (wait !== undefined) tell(`… ${wait}`, style.dim)
  }
}

/** Of the run or one of its agents. */
function longWaitIn(event: RunEvent): string | undefined {
  if (event.type === 'agent') return longWaitIn(event.event)
  const wait = event.type === 'tool_update' ? toolWaitIn(event.data) : undefined
  if (event.type !== 'tool_update' || wait === undefined || wait.leftMs <= longestQuietWaitMs) return undefined
  return `${event.name}: ${toolWaitText(wait, Date.now())}`
}

/** Tells what hooks say to the person, and which of them failed, as it happens: a guard that guarded nothing must not pass unseen. */
function noteTeller(output: Output, style: Style): (event: RunEvent) => void {
  let told = ''
  const waitedFor = new Set<string>()
  /** That it waits for other processes may take long: of each budget it is said once, however often requests wait for a moment. */
  const waitOf = (event: Extract<RunEvent, { readonly type: 'budget_wait' }>): string | undefined => {
    const { budget } = event
    if (budget === undefined || waitedFor.has(budget)) return undefined
    waitedFor.add(budget)
    return budgetWaitText(event) ?? undefined
  }
  const onEvent = (event: RunEvent): void => {
    if (event.type === 'agent') return onEvent(event.event)
    const note = event.type === 'budget_wait' ? waitOf(event) : (pauseNote(event, Date.now()) ?? noteIn(event))
    if (note === undefined || note === told) return
    told = note
    output.err(
      `${style.yellow(wrapped(`! ${oneLine(told, Infinity)}`, output.isTerminal.stderr ? output.width : Infinity))}\n`,
    )
  }
  return onEvent
}

function noteIn(event: RunEvent): string | undefined {
  if (event.type !== 'message' || event.entry.kind !== 'attachment') return undefined
  const { attachment } = event.entry
  return attachment.type === 'informational' ? attachment.message : undefined
}

function say(text: string, output: Output): void {
  if (text === '') return
  const shown = output.isTerminal.stdout ? printable(text) : text
  output.out(shown.endsWith('\n') ? shown : `${shown}\n`)
}

interface Failure {
  onEvent(event: RunEvent): void
  see(message: SdkMessage): void
  /** What kind of failure of the model ended the run, if one did. */
  kindOf(terminal: RunResult): string | undefined
}

function followFailure(): Failure {
  let told: string | undefined
  let retried: string | undefined
  return {
    onEvent(event) {
      if (event.type === 'retry') retried = event.error.kind
    },
    see(message) {
      if (message.type === 'assistant' && message.parent_tool_use_id === null) told = message.error ?? told
    },
    kindOf({ error }) {
      const kind = error !== undefined && 'kind' in error ? error.kind : undefined
      if (typeof kind === 'string') return kind
      // A message says that of a connection that failed, too (spec R-SDK-12).
      return told === 'server_error' ? (retried ?? told) : told
    },
  }
}
