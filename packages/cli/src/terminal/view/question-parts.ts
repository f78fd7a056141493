import type { Question } from '@halting/core/session'
import { type PermissionAnswer, userStoppedRun } from '@halting/core/adapters'
import type { Explanation } from '@halting/policy'
import { columnsOf } from '../../io/columns.ts'
import type { Style } from '../../io/style.ts'
import type { Component } from '../screen/screen-port.ts'
import { foldedLines, displayLine } from './lines.ts'
import { type TextField, isPressed } from './text-field.ts'
import { many } from '../../io/figures.ts'

/** What a permission request needs to be shown. */
export interface QuestionOptions {
  readonly question: Question
  /** All open requests, including this one; others may arrive while it is shown. */
  readonly waiting: () => readonly Question[]
  /** `session.answer`. */
  readonly answer: (questionId: string, answer: PermissionAnswer) => void
  /** Milliseconds, by a monotonic clock. */
  readonly now: () => number
  /** Called when displayed data has changed. */
  readonly changed: () => void
  readonly style: Style
  readonly cwd: string
  /** Number of rows of the screen: the subject is truncated so that the keys stay visible. */
  readonly rows: () => number
  /** What the rules say about each part of a Bash command (`RulePermissions.explain`). */
  readonly explain?: (command: string) => Pick<Explanation, 'parts'>
  /** The content of a file, for diffs with line numbers; undefined if it cannot be read. */
  readonly fileText?: (path: string) => string | undefined
}

/** A question on the screen. */
export interface QuestionView extends Component {
  /** An unsent message that the person is writing in the question; '' for none. */
  readonly unsentText: string
  /** Whether the key would answer the question, or start an answer. */
  isAnswerKey(data: string): boolean
}

/** An answer with its key. */
export interface Choice {
  readonly key: string
  readonly label: string
  readonly choose: () => void
}

/** The label of the answer that denies a call and gives instructions. */
export const otherInstructionsLabel = 'no, and give other instructions'

/** Choices side by side, without splitting any: `y yes · n no`. */
export function choiceLines(
  choices: readonly Pick<Choice, 'key' | 'label'>[],
  width: number,
  style: Style,
): readonly string[] {
  const lines: { shown: string; columns: number }[] = []
  for (const { key, label } of choices) {
    const columns = columnsOf(key) + 1 + columnsOf(label)
    const shown = `${style.bold(key)} ${label}`
    const last = lines.at(-1)
    if (last !== undefined && last.columns + 3 + columns <= width - 1) {
      last.shown += ` · ${shown}`
      last.columns += 3 + columns
    } else if (columns <= width - 1) lines.push({ shown, columns })
    else lines.push(...foldedLines(`${key} ${label}`, width - 1).map((line) => ({ shown: line, columns: width })))
  }
  return lines.map(({ shown }) => ` ${shown}`)
}

/** The text being written, after the prompt sign. */
export function writtenLines(field: Pick<TextField, 'render'>, width: number): readonly string[] {
  return field.render(width - 4).map((line, index) => `  ${index === 0 ? '>' : ' '} ${line}`)
}

/** A line between printed text and the question. */
export function ruler(width: number, style: Style): string {
  return style.dim('─'.repeat(Math.max(0, width)))
}

/** The keys below a text field. */
export function writingKeys(enter: string): readonly Pick<Choice, 'key' | 'label'>[] {
  return [
    { key: 'Enter', label: enter },
    { key: 'Esc', label: 'back' },
  ]
}

/** The answer for Esc, which stops the run. */
export const interruptAnswer: PermissionAnswer = {
  behavior: 'deny',
  message: userStoppedRun,
  interrupt: true,
}

/** Lines that scroll if there is no room for all. */
export interface ScrollableLines {
  /** At most `most` lines; if there is room for fewer than two, one line that reports more. */
  lines(width: number, most: number): readonly string[]
  /** Whether all lines have been visible. */
  readonly isSeen: boolean
  /** Whether the key was handled. */
  handleInput(data: string): boolean
}

export function scrollableLines(linesFor: (width: number) => readonly string[], style: Style): ScrollableLines {
  let rendered: { readonly width: number; readonly lines: readonly string[] } | undefined
  let [from, page, seen] = [0, 1, 0]
  const all = (width: number): readonly string[] => {
    // At another width the lines differ, so they count as not yet visible.
    if (rendered?.width !== width) [rendered, seen, from] = [{ width, lines: linesFor(width) }, 0, 0]
    return rendered.lines
  }
  const moves: readonly (readonly [Parameters<typeof isPressed>[1], () => number])[] = [
    ['down', () => 1],
    ['up', () => -1],
    ['pageDown', () => page],
    ['pageUp', () => -page],
  ]
  return {
    lines(width, most) {
      const whole = all(width)
      if (whole.length <= most) {
        ;[from, seen] = [0, whole.length]
        return whole
      }
      page = Math.max(1, most - 1)
      from = Math.max(0, Math.min(from, whole.length - page))
      const to = from + page
      // Skipped lines do not count as visible, nor do lines without room.
      if (from <= seen && most >= 2) seen = Math.max(seen, to)
      const left = whole.length - to
      const where = left > 0 ? `${many(left, 'more line')} below: ↓ PgDn` : 'the end: ↑ PgUp'
      return [...(most < 2 ? [] : whole.slice(from, to)), style.bold(`  ${displayLine(`… ${where}`, width - 2)}`)]
    },
    get isSeen() {
      return rendered !== undefined && seen >= rendered.lines.length
    },
    handleInput(data) {
      const move = moves.find(([key]) => isPressed(data, key))?.[1]
      if (move === undefined || rendered === undefined || rendered.lines.length <= page) return false
      from = Math.max(0, Math.min(from + move(), rendered.lines.length - page))
      return true
    },
  }
}
