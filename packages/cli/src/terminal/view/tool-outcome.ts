import type { ContentBlock, ToolStatus } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { counted, many } from '../../io/figures.ts'
import type { Style } from '../../io/style.ts'
import { dollars } from './dollars.ts'
import { changeCount, countOf, diffLines, hunksOf } from './diff-lines.ts'
import { foldedLines, hanging, headOfLines, tailOfLines } from './lines.ts'
import { todoLines, todosOf } from './todos.ts'

/** A call that has its result. */
export interface ToolResultShown {
  readonly tool: string
  readonly status: ToolStatus
  readonly content: string | readonly ContentBlock[]
  /** The structured result. */
  readonly details: unknown
}

/** How a call went: what stands behind its name, and what stands below. */
export interface ToolOutcome {
  readonly figure: string
  body(width: number, style: Style): readonly string[]
}

const mostLines = { output: 5, diff: 40, failure: 6, answer: 4 } as const
const indent = '  '
const nothing = (): readonly string[] => []

/** What a person is shown of a result (spec R-TERM-21). */
export function toolOutcome(result: ToolResultShown): ToolOutcome {
  const { tool, status, content, details } = result
  if (status !== 'done') return unhappy(result)
  const fields = isJsonObject(details) ? details : {}
  switch (tool) {
    case 'Read':
      return { figure: readFigure(fields), body: nothing }
    case 'Edit':
    case 'Write':
    case 'NotebookEdit':
      return changed(fields)
    case 'Bash':
      return commandOutcome(fields, content)
    case 'Grep':
      return { figure: inBrackets(grepFigure(fields)), body: nothing }
    case 'Glob':
      return { figure: inBrackets(filesFigure(fields)), body: nothing }
    case 'WebFetch':
      return { figure: inBrackets(`${counted(textOf(content).length)} characters`), body: nothing }
    case 'TodoWrite': {
      const todos = todosOf(fields) ?? []
      return { figure: '', body: (width, style) => todoLines(todos, width, style, indent) }
    }
    case 'EnterPlanMode':
      return { figure: '(plan first)', body: nothing }
    case 'ExitPlanMode':
      return { figure: '(approved)', body: nothing }
    case 'AskUserQuestion':
      return answers(fields)
    case 'Agent':
    case 'Task':
      return { figure: inBrackets(agentFigure(fields)), body: dimHead(textOf(content), mostLines.answer) }
    default: {
      const lines = textOf(content).split('\n')
      return lines.length > 1
        ? { figure: inBrackets(many(lines.length, 'line')), body: dimHead(textOf(content), 2) }
        : { figure: '', body: dimHead(textOf(content), 2) }
    }
  }
}

function inBrackets(figure: string): string {
  return figure === '' ? '' : `(${figure})`
}

function numberIn(fields: { readonly [name: string]: unknown }, name: string): number {
  const value = fields[name]
  return typeof value === 'number' ? value : 0
}

type Fields = { readonly [name: string]: unknown }

function readFigure(fields: Fields): string {
  const [lines, total] = [numberIn(fields, 'numLines'), numberIn(fields, 'totalLines')]
  switch (fields['type']) {
    case 'text':
      return lines < total ? `(${counted(lines)} of ${many(total, 'line')})` : `(${many(lines, 'line')})`
    case 'image':
      return '(image)'
    case 'notebook':
      return `(${many(numberIn(fields, 'cells'), 'cell')})`
    case 'pdf':
      return `(pages ${numberIn(fields, 'firstPage')}–${numberIn(fields, 'lastPage')} of ${numberIn(fields, 'totalPages')})`
    default:
      return ''
  }
}

function changed(fields: Fields): ToolOutcome {
  const hunks = hunksOf(fields)
  const [added, removed] = [fields['linesAdded'], fields['linesRemoved']]
  const told = typeof added === 'number' && typeof removed === 'number' ? changeCount(added, removed) : ''
  const figure = hunks.length > 0 ? countOf(hunks) : told
  return {
    figure: fields['type'] === 'create' ? `${figure} (new file)`.trimStart() : figure,
    body: (width, style) => diffLines(hunks, { width, style, most: mostLines.diff }),
  }
}

function commandOutcome(fields: Fields, content: ToolResultShown['content']): ToolOutcome {
  const { backgroundTaskId: task, returnCodeInterpretation: says } = fields
  if (typeof task === 'string') return { figure: `(in the background as ${task})`, body: nothing }
  const output = typeof fields['stdout'] === 'string' ? fields['stdout'] : textOf(content)
  return { figure: typeof says === 'string' ? `(${says})` : '', body: tailBody(output) }
}

function tailBody(output: string): ToolOutcome['body'] {
  if (output.trim() === '') return nothing
  return (width, style) =>
    tailOfLines(foldedLines(output, width - indent.length), mostLines.output, width - indent.length).map((line) =>
      style.dim(indent + line),
    )
}

function grepFigure(fields: Fields): string {
  const files = many(numberIn(fields, 'numFiles'), 'file')
  const lines = numberIn(fields, 'numLines')
  const more = fields['truncated'] === true ? ', cut' : ''
  if (lines === 0) return 'no match'
  return fields['mode'] === 'files_with_matches' ? files + more : `${many(lines, 'line')} in ${files}${more}`
}

function filesFigure(fields: Fields): string {
  const files = numberIn(fields, 'numFiles')
  if (files === 0) return 'no file'
  return many(files, 'file') + (fields['truncated'] === true ? ', cut' : '')
}

function agentFigure(fields: Fields): string {
  const cost = numberIn(fields, 'costUsd')
  const turns = numberIn(fields, 'turns')
  return [...(turns > 0 ? [many(turns, 'turn')] : []), ...(cost > 0 ? [dollars(cost)] : [])].join(', ')
}

function answers(fields: Fields): ToolOutcome {
  const given = isJsonObject(fields['answers']) ? Object.entries(fields['answers']) : []
  return {
    figure: given.length === 0 ? '(not answered)' : '',
    body: (width, style) =>
      given.flatMap(([question, answer]) => [
        ...hanging(indent, question, width, style.dim),
        ...hanging(`${indent}→ `, answerText(answer), width),
      ]),
  }
}

function answerText(answer: unknown): string {
  if (typeof answer === 'string') return answer
  return Array.isArray(answer) ? answer.join(', ') : JSON.stringify(answer)
}

function dimHead(text: string, most: number): ToolOutcome['body'] {
  if (text.trim() === '') return nothing
  return (width, style) =>
    headOfLines(foldedLines(text.trim(), width - indent.length), most, width - indent.length).map((line) =>
      style.dim(indent + line),
    )
}

/** Why a call did not come to a result of its own. */
const words: { readonly [status in Exclude<ToolStatus, 'done'>]: string } = {
  failed: 'failed',
  invalid: 'not a valid call',
  denied: 'denied',
  not_run: 'not run',
  interrupted: 'interrupted',
  unknown: 'outcome unknown',
}

function unhappy({ tool, status, content, details }: ToolResultShown): ToolOutcome {
  if (status === 'done') return { figure: '', body: nothing }
  const fields = isJsonObject(details) ? details : {}
  const text = textOf(content).trim()
  // A command that reacts to the abort ends by itself, as one that failed.
  if (tool === 'Bash' && fields['interrupted'] === true)
    return {
      figure: `(${words.interrupted})`,
      body: tailBody(typeof fields['stdout'] === 'string' ? fields['stdout'] : ''),
    }
  if (tool === 'Bash' && status === 'failed' && typeof fields['exitCode'] === 'number') {
    const output = typeof fields['stdout'] === 'string' ? fields['stdout'] : text
    const how = fields['timedOut'] === true ? 'timed out' : `exit code ${fields['exitCode']}`
    return { figure: `(${how})`, body: tailBody(output) }
  }
  const paintOf = (style: Style): ((line: string) => string) => (status === 'failed' ? style.red : style.yellow)
  return {
    figure: `(${words[status]})`,
    body: (width, style) =>
      text === '' || status === 'not_run'
        ? []
        : headOfLines(foldedLines(text, width - indent.length), mostLines.failure, width - indent.length).map((line) =>
            paintOf(style)(indent + line),
          ),
  }
}

/** The texts of a result; other blocks by their kind. */
export function textOf(content: string | readonly ContentBlock[]): string {
  if (typeof content === 'string') return content
  return content
    .map((block) => (block.type === 'text' && typeof block.text === 'string' ? block.text : `[${block.type}]`))
    .join('\n')
}
