import { endings, type RunEvent, type SdkMessage, type RunResult } from '@halting/core'
import { budgetWaitText, longestQuietWaitMs, sharedBudgetOf } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { wrapToColumns } from '../io/columns.ts'
import { oneLine, printable } from '../io/figures.ts'
import { revealHiddenInLine } from '../io/reveal-hidden.ts'
import { iterationText } from '../frontends/iteration-text.ts'
import { longRetryText, toolWaitIn, toolWaitText } from '../frontends/wait-text.ts'
import { shellQuoted } from '../io/shell-quote.ts'
import type { Output } from '../io/output.ts'
import type { Style } from '../io/style.ts'
import { pendingCalls } from '@halting/analysis/transcript'
import { followActivity, showActivity } from './activity.ts'
import { resumeCommand } from '../why/resume-command.ts'
import { type AnswerStream, noStream, streamAnswer } from './answer-stream.ts'
import { followDenials, type Remedies } from './denials.ts'
import { closingLine, endingLine } from './ending.ts'
import { followGoals, goalArguments, goalNotes, isUnusableGoal } from './goal-text.ts'
import { followChanges } from './file-changes.ts'
import { pauseNote } from './pause-note.ts'
import { contextChangeOf } from './context-changes.ts'
import type { Invocation } from './rerun-command.ts'
import type { Watcher } from './watcher.ts'
import { uncheckedLine } from './unchecked.ts'
import { createStepPrinter, type StepPrinter } from './step-printer.ts'

export interface ReportContext {
  readonly flags: Flags
  readonly output: Output
  readonly style: Style
  /** Finds what would allow denied calls. */
  readonly remedies: Remedies
  readonly sessionId: string
  /** Whether the session is stored and can be resumed. */
  readonly isStored: boolean
  readonly invocation: Invocation
  /** Whether the run is a round of a loop, which itself reports how to continue. */
  readonly isRound?: boolean
  /** Whether the caller reports an unchecked last change, because it knows a command that would check the change. */
  readonly reportsUnchecked?: boolean
}

/**
 * Reports a run to people (spec R-TEXT-1 to R-TEXT-5).
 * The answer goes to stdout, streamed on a terminal. On stderr, a terminal shows a live line and a closing line.
 * Denied calls and unsuccessful endings are reported in any case.
 */
export function textReport(context: ReportContext): Watcher {
  const { flags, output, style, remedies, invocation: asked } = context
  const { sessionId, isStored, isRound = false, reportsUnchecked = false } = context
  const isShown = flags.quiet !== true
  const isWatched = isShown && output.isTerminal.stderr
  // An answer that must match a schema may be sent back, so the final answer is known only at the end of the run.
  const isStreamed = isShown && output.isTerminal.stdout && flags.jsonSchema === undefined
  const answer = isStreamed ? streamAnswer(output) : noStream
  const steps = flags.verbose === true ? stepPrinter(output, style, isStreamed) : undefined
  const activity = followActivity()
  const stopShowing = isWatched ? showActivity(activity, output) : () => undefined
  const denials = followDenials(remedies, isStored ? { ...asked, sessionId } : asked)
  const changes = followChanges()
  const reportTrouble = isWatched && steps === undefined ? troubleReporter(output, style) : () => undefined
  // If every step is printed, notes are among the steps.
  const reportNote = steps === undefined ? noteReporter(output, style) : () => undefined
  const failure = followFailure()
  const printLine = linePrinter(output)
  const reportWait = isShown && steps === undefined ? waitReporter(printLine, style) : () => undefined
  const goals = isShown ? goalReporter(printLine, flags, style) : undefined
  const verification = isShown ? verificationReporter(printLine, flags, style) : undefined
  return {
    onEvent(event) {
      failure.onEvent(event)
      activity.onEvent(event)
      denials.onEvent(event)
      answer.onEvent(event)
      steps?.onEvent(event)
      reportTrouble(event)
      reportNote(event)
      reportWait(event)
      goals?.onEvent(event)
      verification?.onEvent(event)
    },
    see(message) {
      failure.see(message)
      changes.onMessage(message)
      steps?.see(message)
      if (message.type !== 'result') return
      stopShowing()
      printAnswer(message.result ?? message.last_answer ?? '', answer, output)
    },
    end(terminal) {
      stopShowing()
      const { text, command } = denials.report(output.width)
      if (text !== '') printLine(text)
      if (command !== '') output.err(`${command}\n`)
      if (isUnusableGoal(terminal)) return printLine(`halting: ${terminal.signal.message}`)
      goals?.end(terminal)
      if (endings[terminal.reason].exitCode === 0) {
        // No answer explains this ending, for example a hook that rejected the prompt.
        if (terminal.reason === 'stop_requested' && terminal.signal.message !== '')
          printLine(`halting: ${oneLine(terminal.signal.message, Infinity)}`)
        // The result of a goal is also useful in a log, so it is printed without a terminal too.
        if (isWatched || (isShown && terminal.goal !== undefined))
          printLine(closingLine(terminal, changes.summary), (shown) => shown.replace('✓', style.green))
      } else {
        const about = { flags, changes: changes.summary, errorKind: failure.kindOf(terminal) }
        printLine(`halting: ${endingLine(terminal, about)}`)
        const hasChanges = changes.summary !== ''
        output.err(nextCommands(terminal, { sessionId, isStored, hasChanges, isRound }, output.width, flags))
      }
      if (!reportsUnchecked) verification?.end(terminal, changes.summary)
    },
    after(_message, lines) {
      for (const line of lines) printLine(line, style.dim)
    },
    release: stopShowing,
  }
}

type PrintLine = (text: string, paint?: (shown: string) => string) => void

/** Writes lines to stderr, wrapped to the terminal. */
function linePrinter(output: Output): PrintLine {
  return (text, paint = (shown) => shown) => {
    const shown = output.isTerminal.stderr ? wrapToColumns(text, output.width) : text
    output.err(`${paint(shown)}\n`)
  }
}

/** Reports each round of checks, and remarks on the verdict at the end (spec R-GOAL-62). */
function goalReporter(printLine: PrintLine, flags: Flags, style: Style): Pick<Watcher, 'onEvent' | 'end'> {
  const goals = followGoals(flags.verbose === true)
  return {
    onEvent(event) {
      for (const line of goals.linesFor(event)) printLine(line, (shown) => paintedGoal(shown, style))
    },
    end({ goal }) {
      for (const note of goalNotes(goal, flags.untilStable)) printLine(`! ${note}`, style.yellow)
    },
  }
}

// Spec R-VERI-22.
/** Reports that the model is asked to verify its last change and, at the end of the run, if no check covered the change. */
function verificationReporter(
  printLine: PrintLine,
  { verbose = false }: Flags,
  style: Style,
): { readonly onEvent: (event: RunEvent) => void; readonly end: (terminal: RunResult, changes: string) => void } {
  return {
    onEvent(event) {
      // If every step is printed, the request to the model is among the steps.
      if (!verbose && event.type === 'lap' && event.transition === 'unverified_change')
        printLine(`↻ ${iterationText('unverified_change')}`, style.dim)
    },
    end(terminal, changes) {
      const line = uncheckedLine(terminal, changes)
      if (line !== '') printLine(line, style.yellow)
    },
  }
}

interface EndedSession {
  readonly sessionId: string
  readonly isStored: boolean
  readonly hasChanges: boolean
  /** Whether the run is a round of a loop, which continues the session and reports how. */
  readonly isRound: boolean
}

/** Commands for the next step. They are not wrapped, so that they can be pasted. */
function nextCommands(
  terminal: RunResult,
  { sessionId, isStored, hasChanges, isRound }: EndedSession,
  width: number,
  flags: Flags,
): string {
  if (terminal.reason === 'needs_approval') return questionLines(terminal, { sessionId, isRound }, width, flags)
  if (!isStored || isRound) return ''
  return resumeLine(terminal, sessionId, flags) + (hasChanges ? undoLine(terminal, sessionId, flags) : '')
}

/** The command that resumes the session; '' if there is nothing to resume. */
function resumeLine(terminal: RunResult, sessionId: string, flags: Flags): string {
  const { cluster, until = [], goal } = flags
  // Goals from settings apply again by themselves.
  const goals = [
    ...until.map((name) => ({ name })),
    ...(goal === undefined ? [] : [{ name: goal, judged: true } as const]),
  ]
  const where = { sessionId, sessionCwd: '', cwd: '', goals, ...(cluster !== undefined && { cluster }) }
  const { command } = resumeCommand(terminal, where)
  if (command === undefined) return ''
  const goalFlags = goalArguments(flags, command)
  const when = sharedBudgetOf(terminal.signal)?.kind === 'standing' ? 'After the reset' : 'Resume'
  return `${when}: ${[command, ...(goalFlags.length === 0 ? [] : [shellQuoted(goalFlags)])].join(' ')}\n`
}

/** The command that reverts the changes of a run that missed its goal; '' for any other ending. */
function undoLine({ reason }: RunResult, sessionId: string, { cluster, noFileCheckpoints }: Flags): string {
  if (reason !== 'goal_unmet' || cluster !== undefined || noFileCheckpoints === true) return ''
  return `Undo: halting ${shellQuoted(['undo', sessionId])}\n`
}

/** Colours ✓ and ✗. */
function paintedGoal(line: string, style: Style): string {
  return line.startsWith('goal: ') ? line.replace('✓', style.green).replace('✗', style.red) : style.dim(line)
}

/** The pending calls, and the commands that answer them. A session on a cluster continues with the answer. */
function questionLines(
  { signal }: RunResult,
  { sessionId, isRound }: Pick<EndedSession, 'sessionId' | 'isRound'>,
  width: number,
  { permissionMode: mode, cluster }: Flags,
): string {
  const place = cluster === undefined ? [] : ['--cluster', cluster]
  const lines = pendingCalls(signal.context).flatMap(({ id, name, message }) => [
    `  ${revealHiddenInLine(`${name}: ${message}`, 3 * width)}`,
    `  halting ${shellQuoted(['approve', sessionId, id, ...place])}`,
  ])
  if (cluster !== undefined || isRound) return `${lines.join('\n')}\n`
  // The resume command must not leave plan mode silently.
  const modeFlags = mode === 'plan' ? ['--permission-mode', mode] : []
  return `${lines.join('\n')}\n  halting ${shellQuoted(['-p', '--resume', sessionId, '--on-ask', 'defer', ...modeFlags])}\n`
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

/** Reports problems while they happen: each reason for a retry once, notices, and compactions. */
function troubleReporter(output: Output, style: Style): (event: RunEvent) => void {
  let lastMessage = ''
  return (event) => {
    const news = contextChangeOf(event)
    if (news?.kind === 'compacted') output.err(`${style.dim(oneLine(`↻ ${news.text}`, output.width))}\n`)
    const message = troubleOf(event) ?? lastMessage
    if (message === lastMessage) return
    lastMessage = message
    output.err(`${style.yellow(wrapToColumns(`! ${oneLine(lastMessage, 3 * output.width)}`, output.width))}\n`)
  }
}

function troubleOf(event: RunEvent): string | undefined {
  // `noteReporter` reports long waits, with the time when they end.
  if (event.type === 'retry') return longRetryText(event, Date.now()) === undefined ? event.error.message : undefined
  if (event.type === 'notice') return event.message
  const news = contextChangeOf(event)
  return news?.kind === 'not compacted' ? news.text : undefined
}

/** Reports long waits of tools, since nothing else may happen in the meantime (spec R-WAIT-17). */
function waitReporter(printLine: PrintLine, style: Style): (event: RunEvent) => void {
  return (event) => {
    const wait = longWaitIn(event)
    if (wait !== undefined) printLine(`… ${wait}`, style.dim)
  }
}

/** The long wait that an event reports for the run or one of its agents. */
function longWaitIn(event: RunEvent): string | undefined {
  if (event.type === 'agent') return longWaitIn(event.event)
  const wait = event.type === 'tool_update' ? toolWaitIn(event.data) : undefined
  if (event.type !== 'tool_update' || wait === undefined || wait.leftMs <= longestQuietWaitMs) return undefined
  return `${event.name}: ${toolWaitText(wait, Date.now())}`
}

/** Reports messages and failures of hooks as they happen, so that a guard that did not work is noticed. */
function noteReporter(output: Output, style: Style): (event: RunEvent) => void {
  let lastNote = ''
  const waitedFor = new Set<string>()
  /** Returns the budget that the run waits for. Waiting for other processes may take long, so it is reported once for each budget. */
  const waitOf = (event: Extract<RunEvent, { readonly type: 'budget_wait' }>): string | undefined => {
    const { budget } = event
    if (budget === undefined || waitedFor.has(budget)) return undefined
    waitedFor.add(budget)
    return budgetWaitText(event) ?? undefined
  }
  const onEvent = (event: RunEvent): void => {
    if (event.type === 'agent') return onEvent(event.event)
    const note = event.type === 'budget_wait' ? waitOf(event) : (pauseNote(event, Date.now()) ?? noteIn(event))
    if (note === undefined || note === lastNote) return
    lastNote = note
    output.err(
      `${style.yellow(wrapToColumns(`! ${oneLine(lastNote, Infinity)}`, output.isTerminal.stderr ? output.width : Infinity))}\n`,
    )
  }
  return onEvent
}

function noteIn(event: RunEvent): string | undefined {
  if (event.type !== 'message' || event.entry.kind !== 'attachment') return undefined
  const { attachment } = event.entry
  return attachment.type === 'informational' ? attachment.message : undefined
}

function printAnswer(text: string, answer: AnswerStream, output: Output): void {
  if (text === '' || answer.has(text)) return
  const shown = output.isTerminal.stdout ? printable(text) : text
  output.out(shown.endsWith('\n') ? shown : `${shown}\n`)
}

interface Failure {
  onEvent(event: RunEvent): void
  see(message: SdkMessage): void
  /** The kind of model failure that ended the run, if any. */
  kindOf(terminal: RunResult): string | undefined
}

function followFailure(): Failure {
  let reportedKind: string | undefined
  let retried: string | undefined
  return {
    onEvent(event) {
      if (event.type === 'retry') retried = event.error.kind
    },
    see(message) {
      if (message.type === 'assistant' && message.parent_tool_use_id === null)
        reportedKind = message.error ?? reportedKind
    },
    kindOf({ error }) {
      const kind = error !== undefined && 'kind' in error ? error.kind : undefined
      if (typeof kind === 'string') return kind
      // A message reports a failed connection as `server_error`, too (spec R-SDK-12).
      return reportedKind === 'server_error' ? (retried ?? reportedKind) : reportedKind
    },
  }
}
