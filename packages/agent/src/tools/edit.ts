import type { Tool, ToolContext, ToolOutput } from '@halting/core'
import { headOf } from '@halting/core/adapters'
import { filledText, flag, inputForm, optional, text } from './input.ts'
import { numberedLines } from './numbered-lines.ts'
import { whyNotFound } from './nearest-place.ts'
import { changeOf } from './patch.ts'
import { type Replaced, replaceIn } from './replace.ts'
import { failed } from './result.ts'
import { tellingFailures } from './telling-failures.ts'
import { loadFile, saveFile } from './text-file.ts'
import { isShownIn } from './shown.ts'
import { isWritable } from './text-encoding.ts'
import { createFile, namesNote } from './write.ts'
import type { Workspace } from './workspace.ts'

interface Where {
  readonly workspace: Workspace
  readonly context: ToolContext
}

export interface EditInput {
  readonly file_path: string
  readonly old_string: string
  readonly new_string: string
  readonly replace_all?: boolean
}

/** Replaces text in a file that was read and has not changed since. */
export function createEditTool(workspace: Workspace): Tool<EditInput> {
  const form = inputForm<EditInput>('Edit', {
    file_path: filledText('The file, as an absolute path or relative to the working directory of the session'),
    old_string: text('The text to replace, exactly as it stands in the file, without line numbers'),
    new_string: text('The text to put in its place'),
    replace_all: optional(flag('Replace every place where it occurs; false when absent')),
  })
  return {
    name: 'Edit',
    description:
      'Replaces text in a file. old_string must be in the file exactly once, unless replace_all is true. ' +
      'The file must have been read before, and not changed since. An empty old_string makes a new file.',
    inputSchema: form.schema,
    validate(input) {
      const check = form.validate(input)
      if (!check.valid) return check
      const { old_string: oldText, new_string: newText } = check.input
      if (!isWritable(newText)) return invalid('new_string has half a character in it (a lone surrogate)')
      return oldText === newText ? invalid('old_string and new_string are the same: there is nothing to change') : check
    },
    readOnly: false,
    execute(input, context) {
      const path = workspace.pathOf(input.file_path)
      return tellingFailures({ path, doing: 'written' }, async () => {
        const real = workspace.realPathOf(path, context.callId)
        return workspace.files.inTurn(real, () => edit(path, real, input, { workspace, context }))
      })
    },
  }
}

function invalid(why: string): { readonly valid: false; readonly message: string } {
  return { valid: false, message: `Edit: ${why}.` }
}

async function edit(path: string, real: string, input: EditInput, { workspace, context }: Where): Promise<ToolOutput> {
  const file = await loadFile(real, workspace.limits.editBytes)
  const { old_string: oldText, new_string: newText, replace_all: all = false } = input
  if (file.kind === 'absent')
    return oldText === ''
      ? createFile(path, real, newText, { workspace, context })
      : failed(`There is no file ${path}. Use Write to make it.`)
  if (file.kind === 'not a file') return failed(`${path} ${file.why}; Edit changes files.`)
  const freshness = workspace.files.freshness(real, file.seen, isShownIn(context))
  if (freshness === 'never read') return failed(`${path} was not read. Read it first, then edit it.`)
  if (freshness === 'changed') return failed(`${path} has changed since it was read. Read it again, then edit it.`)
  if (file.kind === 'not text')
    return failed(`${path} ${file.why}, so Edit would damage it. Use Bash with a program for it.`)
  if (oldText === '' && file.text !== '')
    return failed(`${path} is there and is not empty, and old_string is. Name the text to replace.`)
  const replaced = replaceIn(file.text, { oldText, newText, all })
  if (replaced.kind === 'not found')
    return failed(`${path}: old_string is not in the file. ${whyNotFound(file.text, oldText)}`)
  if (replaced.kind === 'ambiguous') return failed(`${path}: ${whyNot(replaced)}`)
  const keeping = { checkpoints: workspace.checkpoints, call: context }
  const { hasMark, encoding, mode } = file
  workspace.files.saw(
    real,
    await saveFile(real, replaced.text, { hasMark, encoding, mode, keeping }),
    Math.max(1, replaced.firstLine - linesBefore),
  )
  const count = replaced.count === 1 ? '' : ` in ${replaced.count} places`
  const change = await changeOf(path, file.text, replaced.text)
  return {
    content: `Edited ${path}${count}.${namesNote(file)} It now reads:\n${snippet(replaced.text, replaced.firstLine, newText)}`,
    details: { filePath: path, oldString: oldText, newString: newText, replaceAll: all, ...change },
  }
}

function whyNot(replaced: Extract<Replaced, { readonly kind: 'ambiguous' }>): string {
  const more = replaced.count > replaced.lines.length ? ', ...' : ''
  return (
    `old_string is in the file ${replaced.count} times (lines ${replaced.lines.join(', ')}${more}). ` +
    'Take more of the lines around it so that it is there once, or set replace_all.'
  )
}

/** How far above a change the model is shown the file again. */
const linesBefore = 20
const linesAround = 4
const longestSnippetLines = 60
const longestSnippetCharacters = 8000

/** The changed lines and a few around them, as Read would show them. */
function snippet(text: string, firstLine: number, newText: string): string {
  const lines = text.split(/\r?\n/)
  const changedLines = Math.min(newText.split('\n').length, longestSnippetLines)
  const start = Math.max(firstLine - 1 - linesAround, 0)
  const end = Math.min(firstLine - 1 + changedLines + linesAround, lines.length)
  return headOf(numberedLines(lines.slice(start, end), start + 1, 500), longestSnippetCharacters)
}
