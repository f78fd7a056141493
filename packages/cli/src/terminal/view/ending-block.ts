import { endings, type RunResult } from '@halting/core'
import { type EndingDetail, limitOfResult, sharedBudgetOf } from '@halting/core/adapters'
import { endingMessage } from '../../frontends/wait-text.ts'
import { standingBudgetAdvice } from '../../headless/limit-advice.ts'
import { goalRemarks, goalMetText } from '../../frontends/goal-words.ts'
import { uncheckedSentence } from '../../frontends/unchecked-text.ts'
import { counted, many, oneLine, stopwatch, tokensCounted } from '../../io/figures.ts'
import type { Style } from '../../io/style.ts'
import type { Block } from '../screen/screen-port.ts'
import {
  actionFor,
  endingActions,
  continueAction,
  explainAction,
  type ActionContext,
  type OfferedAction,
} from './ending-actions.ts'
import { dollars, dollarsAndMore, dollarsAtMost } from '../../io/dollars.ts'
import { blockOf, foldedLines, hanging } from './lines.ts'
import type { TodoItem } from '../../frontends/todos.ts'
import { unfinishedTodos } from './todos.ts'

/** What is printed about the end of a run. */
export interface EndingInput extends ActionContext {
  readonly terminal: RunResult
  /** The file changes: `2 files changed +12 −3`; '' for none. */
  readonly changes: string
  readonly todos: readonly TodoItem[]
}

/** The block printed after a run, and the offered actions. */
export interface EndingShown {
  readonly block: Block
  readonly actions: readonly OfferedAction[]
}

export { actionFor }

/** Reports the ending of a run (spec R-TERM-24): a success in one dim line, anything else with reason, figures and what to do next. */
export function endingShown(input: EndingInput, style: Style): EndingShown {
  const { terminal } = input
  const actions = endingActions(terminal, input)
  const isPlain = endings[terminal.reason].announcement === 'success'
  return { actions, block: isPlain ? doneBlock(input, style) : stoppedBlock(input, actions, style) }
}

/** For a run without an ending, because the program ended before it. It can be resumed. */
export function unendedShown(style: Style): EndingShown {
  const actions = [continueAction('continue where it stopped'), explainAction]
  const cutOffText =
    'The last run was cut off: the program ended before it did. The outcome of its unfinished tool calls is unknown.'
  return {
    actions,
    block: blockOf((width) => [
      ...hanging('■ ', cutOffText, width).map(style.yellow),
      ...actionLines(actions, width).map((line) => style.bold(line)),
    ]),
  }
}

function doneBlock({ terminal, changes, todos }: EndingInput, style: Style): Block {
  // For example, what a compaction reports about itself.
  const detail = hasDetail(terminal) ? ` (${oneLine(terminal.signal.message, 200)})` : ''
  const undone = unfinishedTodosText(todos)
  const met = goalMetText(terminal.goal)
  const parts = [
    `✓ done${detail}`,
    ...(met === '' ? [] : [met]),
    ...shortFigures(terminal),
    ...(changes === '' ? [] : [changes]),
  ]
  const remarks = [uncheckedSentence(terminal), ...goalRemarks(terminal.goal)].filter((text) => text !== '')
  return blockOf((width) => [
    ...foldedLines(parts.join(' · '), width).map(style.dim),
    ...remarks.flatMap((remark) => hanging('  ', remark, width).map(style.dim)),
    ...(undone === '' ? [] : hanging('  ', undone, width).map(style.dim)),
  ])
}

/** Whether the message adds to the reason: from a guard, or a goal that was met at a limit. */
function hasDetail({ reason, signal }: RunResult): boolean {
  return endings[reason].detail.kind !== 'none' || signal.source === 'goal'
}

/** `7 turns · $0.31 · 2:10`. */
function shortFigures({ summary, costUsd, committedUsd, durationMs }: RunResult): readonly string[] {
  return [
    many(summary.turns, 'turn'),
    ...(committedUsd > 0 ? [dollarsAndMore(costUsd, committedUsd - costUsd)] : []),
    stopwatch(durationMs),
  ]
}

function stoppedBlock(
  { terminal, changes, todos }: EndingInput,
  actions: readonly OfferedAction[],
  style: Style,
): Block {
  const { announcement, advice } = endings[terminal.reason]
  const paint = announcement === 'failed' ? style.red : announcement === 'interrupted' ? style.bold : style.yellow
  const done = [
    figuresLine(terminal, changes),
    unfinishedTodosText(todos),
    uncheckedSentence(terminal),
    ...goalRemarks(terminal.goal),
  ]
    .filter((text) => text !== '')
    .join(' ')
  const next = advice.terminal === '' ? raiseAdvice(terminal, actions) : advice.terminal
  const left =
    terminal.stillRunning.length === 0
      ? ''
      : `Still running, because they did not react to the abort: ${terminal.stillRunning.join(', ')}.`
  return blockOf((width) => [
    ...hanging('■ ', `${oneLine(endingSentence(terminal), 600)}  [${terminal.reason}]`, width).map(paint),
    ...hanging('  ', done, width),
    ...(left === '' ? [] : hanging('  ', left, width)),
    ...(next === '' ? [] : hanging('  ', next, width)),
    ...actionLines(actions, width).map((line) => style.bold(line)),
  ])
}

function figuresLine(terminal: RunResult, changes: string): string {
  const { summary, costUsd, committedUsd, durationMs } = terminal
  const parts = [
    many(summary.turns, 'turn'),
    ...(committedUsd > 0 ? [dollarsAndMore(costUsd, committedUsd - costUsd)] : []),
    tokensCounted(terminal),
    stopwatch(durationMs),
    ...(changes === '' ? [] : [changes]),
  ]
  return `${parts.join(', ')}.`
}

function unfinishedTodosText(todos: readonly TodoItem[]): string {
  const [first, ...others] = unfinishedTodos(todos)
  if (first === undefined) return ''
  return `Not done: "${oneLine(first.content, 80)}"${others.length === 0 ? '' : ` and ${many(others.length, 'more todo')}`}.`
}

/**
 * `Stopped: the dollar budget is used up. $0.97 of $1.00, the next request could cost $0.08.` (spec R-TERM-25). Also says `Ended` for runs that were not
 * stopped.
 */
function endingSentence(terminal: RunResult): string {
  const { detail, announcement } = endings[terminal.reason]
  const sentence = limitSentence(terminal)
  const how = announcement === 'unanswered' ? 'Ended' : 'Stopped'
  const { message } = terminal.signal
  // The message repeats the sentence with details: `The goal is not met after 3 tries`.
  if (detail.kind === 'message' && message.toLowerCase().startsWith(sentence))
    return `${how}: ${sentence}${message.slice(sentence.length).replace(/[.\s]+$/, '')}.`
  const more = detailText(detail, terminal)
    .trim()
    .replace(/[.\s]+$/, '')
  // The person who interrupted the run already knows this.
  if (announcement === 'interrupted' && more === 'Interrupted by the user') return `${how}: ${sentence}.`
  return `${how}: ${sentence}.${more === '' ? '' : ` ${more}.`}`
}

/** The sentence for the limit: of the session, of the run, or a standing budget. */
function limitSentence({ reason, signal }: RunResult): string {
  const { sentence } = endings[reason]
  const shared = sharedBudgetOf(signal)
  if (shared?.kind === 'standing')
    return `the budget of ${oneLine(shared.budget, 100)} has too little left for the next request`
  return limitOfResult({ reason, signal }) === 'maxRunUsd' ? 'the dollar limit of the run is reached' : sentence
}

/** What raising the dollar limit of the run changes, and where to set it; or when a standing budget resets. */
function raiseAdvice(terminal: RunResult, actions: readonly OfferedAction[]): string {
  if (limitOfResult(terminal) !== 'maxRunUsd') {
    const resetsAt = sharedBudgetOf(terminal.signal)?.resetsAt ?? null
    return `${resetsAt === null ? '' : `It resets at ${resetsAt}. `}${standingBudgetAdvice(terminal)}`
  }
  const raised = actions.find(({ effect }) => effect.type === 'go_on')?.effect
  const to = raised?.type === 'go_on' ? raised.limits.maxRunUsd : undefined
  const enter =
    typeof to === 'number' ? `Enter raises the limit to ${dollars(to)} a run in this session and continues. ` : ''
  return `${enter}For another value: /limits run-usd N (none: no limit). For all sessions: limits.maxRunUsd in your settings.`
}

function detailText(detail: EndingDetail, terminal: RunResult): string {
  const { signal } = terminal
  switch (detail.kind) {
    case 'none':
      return ''
    case 'message': {
      const { prefix = '', unless } = detail
      if (signal.message === unless) return ''
      const message = endingMessage(terminal, Date.now())
      return message.startsWith(prefix) ? message.slice(prefix.length) : message
    }
    case 'figures': {
      const { text, name, next } = units[detail.unit]
      const { used, limit } = signal.context
      const needed = next === undefined ? undefined : signal.context[next.figure]
      const request = typeof needed === 'number' ? `, the next request could ${next?.words(needed)}` : ''
      // A hook or tool may raise any reason without figures; then the message is shown.
      if (typeof used !== 'number') return signal.message + request
      const unit = name === '' ? '' : ` ${name}${limit === 1 ? '' : 's'}`
      const figures = typeof limit === 'number' ? `${text(used)} of ${text(limit)}` : signal.message
      return figures + unit + request
    }
  }
}

/** How to show the figures of a limit: `40 of 40 turns`, and what the next request needs. */
interface Unit {
  readonly text: (value: number) => string
  /** The unit after the figures; '' for none. */
  readonly name: string
  readonly next?: { readonly figure: string; readonly words: (value: number) => string }
}

const units: { readonly [unit in Extract<EndingDetail, { readonly kind: 'figures' }>['unit']]: Unit } = {
  turns: { text: counted, name: 'turn' },
  usd: { text: dollars, name: '', next: { figure: 'neededUsd', words: (usd) => `cost ${dollarsAtMost(usd)}` } },
  calls: { text: counted, name: 'tool call' },
  tokens: { text: counted, name: 'token', next: { figure: 'needed', words: (tokens) => `need ${counted(tokens)}` } },
  ms: { text: stopwatch, name: '' },
  tries: { text: counted, name: 'try' },
}

/** Actions are not split; one that does not fit goes on the next line. */
function actionLines(actions: readonly OfferedAction[], width: number): readonly string[] {
  const parts = [...actions.map(({ typed, label }) => `${typed}↵ ${label}`), 'or type a prompt']
  const lines: string[] = []
  for (const part of parts) {
    const last = lines.at(-1)
    const longer = `${last}   ${part}`
    if (last === undefined || longer.length > width) lines.push(`  ${part}`)
    else lines[lines.length - 1] = longer
  }
  return lines.flatMap((line) => foldedLines(line, width))
}
