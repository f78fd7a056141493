import { endings, type Terminal } from '@halting/core'
import { many, oneLine, stopwatch, tokensCounted } from '../../io/figures.ts'
import type { Style } from '../../io/style.ts'
import type { Block } from '../screen/screen-port.ts'
import {
  actionFor,
  endingActions,
  endingAdvice,
  goOn,
  why,
  type ActionContext,
  type EndingAction,
} from './ending-actions.ts'
import { dollarsAndMore } from '../../io/dollars.ts'
import { endingSentence } from './ending-words.ts'
import { blockOf, foldedLines, hanging } from './lines.ts'
import type { TodoItem } from '../../frontends/todos.ts'
import { undoneOf } from './todos.ts'

/** What a run left behind, for its last line. */
export interface EndingInput extends ActionContext {
  readonly terminal: Terminal
  /** `2 files changed +12 −3`; '' for none. */
  readonly changes: string
  readonly todos: readonly TodoItem[]
}

/** What is printed after a run, and what can be done next. */
export interface EndingShown {
  readonly block: Block
  readonly actions: readonly EndingAction[]
}

export { actionFor }

/** The ending of every run is told (spec R-TERM-24): a success in one dim line, anything else with why, figures and what to do next. */
export function endingShown(input: EndingInput, style: Style): EndingShown {
  const { terminal } = input
  const actions = endingActions(terminal, input)
  const isPlain = terminal.reason === 'completed' || terminal.reason === 'finish_reason'
  return { actions, block: isPlain ? doneBlock(input, style) : stoppedBlock(input, actions, style) }
}

/** A run that has no ending: the program was gone before it could have one. It can be gone on with where it was. */
export function unendedShown(style: Style): EndingShown {
  const actions = [goOn('go on where it was'), why]
  const said =
    'The last run did not end: the program was gone before it could. What it had begun and not finished is not known.'
  return {
    actions,
    block: blockOf((width) => [
      ...hanging('■ ', said, width).map(style.yellow),
      ...actionLines(actions, width).map((line) => style.bold(line)),
    ]),
  }
}

function doneBlock({ terminal, changes, todos }: EndingInput, style: Style): Block {
  // What a compaction says of itself, say; 'done' says the rest.
  const said = terminal.reason === 'completed' ? '' : ` (${oneLine(terminal.signal.message, 200)})`
  const undone = undoneText(todos)
  const parts = [`✓ done${said}`, ...shortFigures(terminal), ...(changes === '' ? [] : [changes])]
  return blockOf((width) => [
    ...foldedLines(parts.join(' · '), width).map(style.dim),
    ...(undone === '' ? [] : hanging('  ', undone, width).map(style.dim)),
  ])
}

/** `7 turns · $0.31 · 2:10`. */
function shortFigures({ summary, costUsd, committedUsd, durationMs }: Terminal): readonly string[] {
  return [
    many(summary.turns, 'turn'),
    ...(committedUsd > 0 ? [dollarsAndMore(costUsd, committedUsd - costUsd)] : []),
    stopwatch(durationMs),
  ]
}

function stoppedBlock(
  { terminal, changes, todos }: EndingInput,
  actions: readonly EndingAction[],
  style: Style,
): Block {
  const { category } = endings[terminal.reason]
  const paint = category === 'error' ? style.red : category === 'user_requested' ? style.bold : style.yellow
  const advice = endingAdvice[terminal.reason]
  const done = [figuresLine(terminal, changes), undoneText(todos)].filter((text) => text !== '').join(' ')
  const left =
    terminal.stillRunning.length === 0
      ? ''
      : `Left behind, because they did not respond to the abort: ${terminal.stillRunning.join(', ')}.`
  return blockOf((width) => [
    ...hanging('■ ', `${oneLine(endingSentence(terminal), 600)}  [${terminal.reason}]`, width).map(paint),
    ...hanging('  ', done, width),
    ...(left === '' ? [] : hanging('  ', left, width)),
    ...(advice === '' ? [] : hanging('  ', advice, width)),
    ...actionLines(actions, width).map((line) => style.bold(line)),
  ])
}

function figuresLine(terminal: Terminal, changes: string): string {
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

function undoneText(todos: readonly TodoItem[]): string {
  const [first, ...others] = undoneOf(todos)
  if (first === undefined) return ''
  return `Undone: todo "${oneLine(first.content, 80)}"${others.length === 0 ? '' : ` and ${others.length} more`}.`
}

/** Each action stays whole: one that does not fit stands on the next line. */
function actionLines(actions: readonly EndingAction[], width: number): readonly string[] {
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
