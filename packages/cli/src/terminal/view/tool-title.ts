import { isJsonObject } from '@halting/core/adapters'
import { inputSummary } from '@halting/analysis/words'
import { mcpNameOf } from '../../io/mcp-name.ts'
import { patchFileTitle, patchToolName, patchFileViews } from '../../frontends/patch-files.ts'
import { displayPath } from '../../io/display-path.ts'

/** The title of a call: the display name of the tool, and the subject of the call. */
export interface ToolTitle {
  readonly name: string
  readonly about: string
}

/** `cwd`: paths inside it are shown relative to it. */
export function toolTitle(tool: string, input: unknown, cwd: string): ToolTitle {
  const fields = isJsonObject(input) ? input : {}
  const text = (name: string): string | undefined => {
    const value = fields[name]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const path = (name: string): string => displayPath(text(name) ?? '', cwd)
  switch (tool) {
    case 'Read':
      return { name: tool, about: path('file_path') + rangeOf(fields['offset'], fields['limit']) }
    case 'Edit':
    case 'Write':
      return { name: tool, about: path('file_path') }
    case patchToolName:
      return {
        name: 'Patch',
        about: patchFileViews(input)
          .map((file) => patchFileTitle(file, (each) => displayPath(each, cwd)))
          .join(', '),
      }
    case 'NotebookEdit':
      return { name: tool, about: path('notebook_path') }
    case 'Grep':
    case 'Glob': {
      const where = text('path') === undefined ? '' : ` in ${path('path')}`
      const files = text('glob') === undefined ? '' : ` ${text('glob')}`
      return { name: tool, about: `${text('pattern') ?? ''}${where}${files}` }
    }
    case 'TodoWrite':
    case 'TaskList':
      return { name: 'Todos', about: '' }
    case 'TaskCreate':
      return { name: 'Todos', about: `add ${text('subject') ?? ''}` }
    case 'TaskUpdate':
    case 'TaskGet':
      return { name: 'Todos', about: [taskNumber(fields['taskId']), text('status')].filter(Boolean).join(' ') }
    case 'Agent':
    case 'Task':
      return { name: 'Agent', about: [text('subagent_type'), text('description')].filter(Boolean).join(': ') }
    case 'AskUserQuestion':
      return { name: 'Question', about: '' }
    case 'EnterPlanMode':
    case 'ExitPlanMode':
      return { name: 'Plan', about: '' }
    case 'Skill':
      return { name: tool, about: text('skill') ?? '' }
    case 'TaskOutput':
    case 'TaskStop':
      return { name: tool, about: text('task_id') ?? '' }
    case 'Wait':
      return { name: tool, about: waitSubject(fields, path) }
    default: {
      const called = mcpNameOf(tool)
      const shown = called === undefined ? tool : `${called.server} ${called.tool}`
      return { name: shown, about: isJsonObject(input) && Object.keys(input).length === 0 ? '' : inputSummary(input) }
    }
  }
}

function taskNumber(id: unknown): string {
  const isId = typeof id === 'string' || typeof id === 'number'
  return isId ? `#${String(id).replace(/^\s*#\s*/, '')}` : ''
}

/** The subject of a call of Wait: a task, command, file or time. */
function waitSubject(fields: { readonly [name: string]: unknown }, path: (name: string) => string): string {
  const { task_id: task, command, pattern, seconds } = fields
  const subject = typeof task === 'string' ? task : typeof command === 'string' ? command : path('file_path')
  const words = subject === '' && typeof seconds === 'number' ? `${seconds} s` : subject
  return typeof pattern === 'string' ? `${words} /${pattern}/` : words
}

function rangeOf(offset: unknown, limit: unknown): string {
  const first = typeof offset === 'number' && offset > 0 ? offset : undefined
  const lines = typeof limit === 'number' && limit > 0 ? limit : undefined
  if (first === undefined && lines === undefined) return ''
  const from = first ?? 1
  return lines === undefined ? `:${from}-` : `:${from}-${from + lines - 1}`
}
