import type { Question } from '@halting/core/session'
import { type PermissionAnswer, userStoppedRun } from '@halting/core/adapters'
import type { Explanation } from '@halting/policy'
import { columnsOf } from '../../io/columns.ts'
import type { Style } from '../../io/style.ts'
import type { Component } from '../screen/screen-port.ts'
import { foldedLines, displayLine } from './lines.ts'
import { type TextField, isPressed } from './text-field.ts'
import { many } from '../../io/figures.ts'

/** What a question of the session needs to be put to a person. */
export interface QuestionOptions {
  readonly question: Question
  /** All that wait now, this one too: others come while it stands there. */
  readonly waiting: () => readonly Question[]
  /** `session.answer`. */
  readonly answer: (questionId: string, answer: PermissionAnswer) => void
  /** Milliseconds, by a clock that only goes on. */
  readonly now: () => number
  /** What is shown is another. */
  readonly changed: () => void
  readonly style: Style
  readonly cwd: string
  /** Rows of the screen: what is asked about is cut so that the keys stay to be seen. */
  readonly rows: () => number
  /** What the rules say of a command of bash, part by part (`RulePermissions.explain`). */
  readonly explain?: (command: string) => Pick<Explanation, 'parts'>
  /** A file as it is; undefined where it cannot be read. For diffs with the numbers of lines. */
  readonly fileText?: (path: string) => string | undefined
}

/** A question as it is on the screen. */
export interface QuestionView extends Component {
  /** A message that is being written in it, and was not sent; '' for none. */
  readonly unsentText: string
  /** Whether the key would answer it, or begin an answer. */
  isAnswerKey(data: string): boolean
}

/** What can be answered, by its key. */
export interface Choice {
  readonly key: string
  readonly label: string
  readonly choose: () => void
}

/** The label of the answer that denies a call and says what to do. */
export const otherInstructionsLabel = 'no, and give other instructions'

/** Choices side by side, each whole: `y yes · n no`. */
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

/** A text that is being written, behind the sign of the editor. */
export function writtenLines(field: Pick<TextField, 'render'>, width: number): readonly string[] {
  return field.render(width - 4).map((line, index) => `  ${index === 0 ? '>' : ' '} ${line}`)
}

/** A line between what was printed and the question. */
export function ruler(width: number, style: Style): string {
  return style.dim('─'.repeat(Math.max(0, width)))
}

/** The keys below a text that is being written. */
export function writingKeys(enter: string): readonly Pick<Choice, 'key' | 'label'>[] {
  return [
    { key: 'Enter', label: enter },
    { key: 'Esc', label: 'back' },
  ]
}

/** A person who stops the run by Esc, as at any other time. */
export const interruptAnswer: PermissionAnswer = {
  behavior: 'deny',
  message: userStoppedRun,
  interrupt: true,
}

/** Lines of which as many are shown as there is room for; the rest is a key away. */
export interface ScrollableLines {
  /** At most so many; of fewer than two, one line that says that there is more. */
  lines(width: number, most: number): readonly string[]
  /** Whether all of them have been on the screen. */
  readonly isSeen: boolean
  /** Whether the key was one for it. */
  handleInput(data: string): boolean
}

export function scrollableLines(linesFor: (width: number) => readonly string[], style: Style): ScrollableLines {
  let made: { readonly width: number; readonly lines: readonly string[] } | undefined
  let [from, page, seen] = [0, 1, 0]
  const all = (width: number): readonly string[] => {
    // Lines of another width are others: they are seen anew.
    if (made?.width !== width) [made, seen, from] = [{ width, lines: linesFor(width) }, 0, 0]
    return made.lines
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
      // What is skipped is not seen, nor what there is no room for at all.
      if (from <= seen && most >= 2) seen = Math.max(seen, to)
      const left = whole.length - to
      const where = left > 0 ? `${many(left, 'more line')} below: ↓ PgDn` : 'the end: ↑ PgUp'
      return [...(most < 2 ? [] : whole.slice(from, to)), style.bold(`  ${displayLine(`… ${where}`, width - 2)}`)]
    },
    get isSeen() {
      return made !== undefined && seen >= made.lines.length
    },
    handleInput(data) {
      const move = moves.find(([key]) => isPressed(data, key))?.[1]
      if (move === undefined || made === undefined || made.lines.length <= page) return false
      from = Math.max(0, Math.min(from + move(), made.lines.length - page))
      return true
    },
  }
}
