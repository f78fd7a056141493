import type { ContentBlock, ToolStatus } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { Style } from '../../io/style.ts'
import { revealHidden } from '../../io/reveal-hidden.ts'
import { resultFigure, resultText } from '../../frontends/result-figure.ts'
import { changeCount, countOf, diffLines, hunksOf } from './diff-lines.ts'
import { foldedLines, hanging, headOfLines, tailOfLines } from './lines.ts'
import { todosOf } from '../../frontends/todos.ts'
import { todoLines } from './todos.ts'
import { patchToolName } from '../../frontends/patch-files.ts'

/** A finished call. */
export interface ToolResultShown {
  readonly tool: string
  readonly status: ToolStatus
  readonly content: string | readonly ContentBlock[]
  /** The structured result. */
  readonly details: unknown
}

/** The outcome of a call: a figure shown after the tool name, and lines below. */
export interface ToolOutcome {
  readonly figure: string
  body(width: number, style: Style): readonly string[]
}

const maxLines = { output: 5, diff: 40, failure: 6, answer: 4, pages: 5 } as const
const indent = '  '
const emptyBody = (): readonly string[] => []

/** The part of a result that a person sees (spec R-TERM-21). */
export function toolOutcome(result: ToolResultShown): ToolOutcome {
  const { tool, status, content, details } = result
  if (status !== 'done') return failedOutcome(result)
  const fields = isJsonObject(details) ? details : {}
  const figure = inBrackets(resultFigure(result))
  switch (tool) {
    case 'Read':
    case 'Grep':
    case 'Glob':
    case 'WebFetch':
      return { figure, body: emptyBody }
    case 'WebSearch':
      return { figure, body: foundPages(fields) }
    case 'Edit':
    case 'Write':
    case 'NotebookEdit':
      return editOutcome(fields)
    case patchToolName:
      return patchOutcome(fields)
    case 'Bash':
      return { figure, body: commandBody(fields, content) }
    case 'TaskCreate':
      return { figure, body: emptyBody }
    case 'TaskUpdate': {
      const task = (todosOf(fields) ?? []).filter(({ id }) => id === fields['taskId'])
      return { figure, body: (width, style) => todoLines(task, width, style, indent) }
    }
    case 'TodoWrite':
    case 'TaskList': {
      const todos = todosOf(fields) ?? []
      return { figure: '', body: (width, style) => todoLines(todos, width, style, indent) }
    }
    case 'EnterPlanMode':
      return { figure: '(plan first)', body: emptyBody }
    case 'ExitPlanMode':
      return { figure: '(approved)', body: emptyBody }
    case 'AskUserQuestion':
      return answersOutcome(fields)
    case 'Agent':
    case 'Task':
      return { figure, body: dimHead(resultText(content), maxLines.answer) }
    default:
      return { figure, body: dimHead(resultText(content), 2) }
  }
}

/** The pages that a search found, so that the source of an answer is visible. */
function foundPages({ results }: Fields): ToolOutcome['body'] {
  const pages = Array.isArray(results) ? results.filter(isJsonObject) : []
  const lines = pages.flatMap(({ title, url }) => {
    if (typeof title !== 'string' || typeof url !== 'string') return []
    return [revealHidden(title === url ? url : `${title}: ${url}`)]
  })
  return dimHead(lines.join('\n'), maxLines.pages)
}

function inBrackets(figure: string): string {
  return figure === '' ? '' : `(${figure})`
}

type Fields = { readonly [name: string]: unknown }

function editOutcome(fields: Fields): ToolOutcome {
  const hunks = hunksOf(fields)
  const [added, removed] = [fields['linesAdded'], fields['linesRemoved']]
  const reportedCount = typeof added === 'number' && typeof removed === 'number' ? changeCount(added, removed) : ''
  const figure = hunks.length > 0 ? countOf(hunks) : reportedCount
  return {
    figure: fields['type'] === 'create' ? `${figure} (new file)`.trimStart() : figure,
    body: (width, style) => diffLines(hunks, { width, style, most: maxLines.diff }),
  }
}

/** The changes of each file of a patch. */
function patchOutcome({ files }: Fields): ToolOutcome {
  const parts = (Array.isArray(files) ? files.filter(isJsonObject) : []).map((file) => ({
    file,
    outcome: editOutcome(file),
  }))
  const sum = (name: string): number =>
    parts.reduce((total, { file }) => total + (typeof file[name] === 'number' ? file[name] : 0), 0)
  const count = changeCount(sum('linesAdded'), sum('linesRemoved'))
  return {
    figure: parts.length === 1 ? count : `${count} in ${parts.length} files`,
    body: (width, style) =>
      parts.flatMap(({ file, outcome }) => {
        const lines = outcome.body(width, style)
        const isNamed = parts.length > 1 && lines.length > 0
        return [...(isNamed ? hanging(indent, revealHidden(nameOfFile(file)), width, style.dim) : []), ...lines]
      }),
  }
}

function nameOfFile({ filePath }: Fields): string {
  return typeof filePath === 'string' ? filePath : ''
}

function commandBody(fields: Fields, content: ToolResultShown['content']): ToolOutcome['body'] {
  if (typeof fields['backgroundTaskId'] === 'string') return emptyBody
  return tailBody(typeof fields['stdout'] === 'string' ? fields['stdout'] : resultText(content))
}

function tailBody(output: string): ToolOutcome['body'] {
  if (output.trim() === '') return emptyBody
  return (width, style) =>
    tailOfLines(foldedLines(output, width - indent.length), maxLines.output, width - indent.length).map((line) =>
      style.dim(indent + line),
    )
}

function answersOutcome(fields: Fields): ToolOutcome {
  const answered = isJsonObject(fields['answers']) ? Object.entries(fields['answers']) : []
  return {
    figure: answered.length === 0 ? '(not answered)' : '',
    body: (width, style) =>
      answered.flatMap(([question, answer]) => [
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
  if (text.trim() === '') return emptyBody
  return (width, style) =>
    headOfLines(foldedLines(text.trim(), width - indent.length), most, width - indent.length).map((line) =>
      style.dim(indent + line),
    )
}

/** The reason why a call has no result. */
const words: { readonly [status in Exclude<ToolStatus, 'done'>]: string } = {
  failed: 'failed',
  invalid: 'invalid call',
  denied: 'denied',
  not_run: 'not run',
  interrupted: 'interrupted',
  unknown: 'outcome unknown',
}

function failedOutcome({ tool, status, content, details }: ToolResultShown): ToolOutcome {
  if (status === 'done') return { figure: '', body: emptyBody }
  const fields = isJsonObject(details) ? details : {}
  const text = resultText(content).trim()
  // A command that handles the abort ends by itself, like a failed one.
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
        : headOfLines(foldedLines(text, width - indent.length), maxLines.failure, width - indent.length).map((line) =>
            paintOf(style)(indent + line),
          ),
  }
}
