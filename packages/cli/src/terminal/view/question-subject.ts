import { isJsonObject, messageOf } from '@halting/core/adapters'
import type { Question } from '@halting/core/session'
import type { Style } from '../../io/style.ts'
import { revealHidden, revealControls } from '../../io/reveal-hidden.ts'
import { displayPath } from '../../io/display-path.ts'
import { maxActionLength } from './action-question.ts'
import { diffLines, hunkOfTexts, type Hunk } from './diff-lines.ts'
import { foldedLines, hanging, headOfLines } from './lines.ts'
import type { QuestionOptions } from './question-parts.ts'
import { patchFileTitle, patchToolName, patchFileViews } from '../../frontends/patch-files.ts'

/** The subject of a call in full, as far as there is room: the parts of a command, the change, the input (spec R-TERM-30). */
export function subjectLines(
  { question, cwd, explain, fileText, style }: QuestionOptions,
  width: number,
  most: number,
): readonly string[] {
  const { toolName, input } = question
  const raw = (name: string): string => (typeof input[name] === 'string' ? input[name] : '')
  const text = (name: string): string => revealHidden(raw(name))
  // A command to wait for runs like one of Bash.
  switch (toolName === 'Wait' && typeof input['command'] === 'string' ? 'Bash' : toolName) {
    case 'Bash':
      return [
        ...commandLines(raw('command'), { explain, style }, width, most),
        ...descriptionLines(text('description'), width, style),
        ...furtherLines(input, ['command', 'description'], width),
      ]
    case 'Edit':
    case 'Write': {
      const path = raw('file_path')
      // The question names the path, but truncates a long one.
      const shownName = displayPath(path, cwd)
      const hunk = toolName === 'Edit' ? editHunk(input, fileText?.(path)) : writeHunk(raw('content'), fileText?.(path))
      const further = furtherLines(input, ['file_path', 'old_string', 'new_string', 'content'], width)
      return [
        ...(revealHidden(shownName).length > maxActionLength ? hanging('  ', revealHidden(shownName), width) : []),
        ...further,
        ...diffLines([hunk], { width, style, most: Math.max(2, most - 1 - further.length) }),
      ]
    }
    case patchToolName:
      return patchQuestionLines(input, { cwd, style, width, most })
    default:
      return headOfLines(inputLines(Object.entries(input), width), most, width)
  }
}

/** The changes of each file of a patch; the last lines of a long change are omitted. */
function patchQuestionLines(
  input: Question['input'],
  { cwd, style, width, most }: Pick<QuestionOptions, 'cwd' | 'style'> & { width: number; most: number },
): readonly string[] {
  const files = patchFileViews(input)
  if (files.length === 0) return headOfLines(inputLines(Object.entries(input), width), most, width)
  const titles = files.map((file) =>
    hanging('  ', revealHidden(patchFileTitle(file, (path) => displayPath(path, cwd))), width),
  )
  // Every file is named, because a person should not approve a change of an unnamed file.
  const each = Math.max(2, Math.floor((most - titles.flat().length) / files.length))
  return files.flatMap(({ hunks }, index) => {
    const shown = hunks.map((lines) => ({ oldStart: null, newStart: null, lines: lines.map(revealControls) }))
    return [...(titles[index] ?? []), ...(shown.length === 0 ? [] : diffLines(shown, { width, style, most: each }))]
  })
}

function inputLines(entries: readonly (readonly [string, unknown])[], width: number): readonly string[] {
  return entries.flatMap(([name, value]) =>
    hanging('  ', revealHidden(`${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`), width),
  )
}

/** Further fields of the input, such as `replace_all`. False values are left out. */
function furtherLines(input: Question['input'], shown: readonly string[], width: number): readonly string[] {
  const isShown = ([name, value]: readonly [string, unknown]): boolean =>
    !shown.includes(name) && value !== undefined && value !== false
  return inputLines(Object.entries(input).filter(isShown), width)
}

function descriptionLines(description: string, width: number, style: Style): readonly string[] {
  return description === '' ? [] : hanging('  ', description, width).slice(0, 2).map(style.dim)
}

const marks = { allow: '✓', ask: '?', deny: '✗' } as const

/** The whole command, then one part per line with the verdict of the rules. */
function commandLines(
  command: string,
  { explain, style }: Pick<QuestionOptions, 'explain' | 'style'>,
  width: number,
  most: number,
): readonly string[] {
  const parts = explain?.(command).parts ?? []
  const paints = { allow: style.dim, ask: style.yellow, deny: style.red }
  const whole = headOfLines(foldedLines(revealHidden(command), width - 4), most, width - 4).map(
    (line, index) => `  ${index === 0 ? '$' : ' '} ${line}`,
  )
  // A single part is the command itself, whose reason is shown above.
  if (parts.length < 2) return whole
  const partLines = parts.flatMap(({ part, behavior, because }) =>
    hanging(`  ${marks[behavior]} `, `${revealHidden(part)}  (${revealHidden(because)})`, width).map(paints[behavior]),
  )
  return headOfLines([...whole, ...partLines], most, width)
}

/** The hunk of an edit, with line numbers if the content of the file is known. */
function editHunk(input: Question['input'], file: string | undefined): Hunk {
  const [before, after] = [input['old_string'], input['new_string']].map((text) =>
    typeof text === 'string' ? text : '',
  )
  const hunk = hunkOfTexts(revealControls(before ?? ''), revealControls(after ?? ''))
  const at = before === undefined || before === '' ? -1 : (file?.indexOf(before) ?? -1)
  if (file === undefined || at < 0) return hunk
  const line = file.slice(0, at).split('\n').length + hunk.skipped
  return { ...hunk, oldStart: line, newStart: line }
}

function writeHunk(content: string, file: string | undefined): Hunk {
  const hunk = hunkOfTexts(revealControls(file ?? ''), revealControls(content))
  return { ...hunk, oldStart: hunk.skipped + 1, newStart: hunk.skipped + 1 }
}

/** The part of an input that a person edits as text. */
export interface EditableInput {
  readonly text: string
  /** The input for an edited text; a string describes a problem. */
  read(text: string): Question['input'] | string
}

const editableFields: { readonly [tool: string]: string | undefined } = {
  Bash: 'command',
  Wait: 'command',
  [patchToolName]: 'input',
  WebFetch: 'url',
  WebSearch: 'query',
}

export function editableInput({ toolName, input }: Question): EditableInput {
  const name = Object.hasOwn(editableFields, toolName) ? editableFields[toolName] : undefined
  const value = name === undefined ? undefined : input[name]
  if (name !== undefined && typeof value === 'string')
    return { text: value, read: (text) => ({ ...input, [name]: text }) }
  return {
    text: JSON.stringify(input, null, 2),
    read(text) {
      try {
        const read: unknown = JSON.parse(text)
        return isJsonObject(read) ? read : 'This must be a JSON object: { … }'
      } catch (error) {
        return `Not valid JSON: ${messageOf(error)}`
      }
    },
  }
}
