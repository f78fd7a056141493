import type { Json, ToolContext, ToolOutput } from '@halting/core'
import { type AnyLeafTool, isJsonObject } from '@halting/core/adapters'
import type { CommandChange } from '../checks/command-changes.ts'
import type { BackgroundTask } from './background-tasks.ts'
import type { Workspace } from './workspace.ts'

/** Tools that write files, with the field of their details that names the file. */
const writers: { readonly [name: string]: string } = {
  Edit: 'filePath',
  Write: 'filePath',
  NotebookEdit: 'notebook_path',
  apply_patch: 'filePath',
}

// Spec R-VERI-13.
/** Wraps a tool that writes files so that it also reports how many lines it changed (`ToolOutput.fileWork`). */
export function withFileWork(tool: AnyLeafTool, workspace: Workspace): AnyLeafTool {
  const field = Object.hasOwn(writers, tool.name) ? writers[tool.name] : undefined
  if (field === undefined) return tool
  return {
    ...tool,
    async execute(input: never, context: ToolContext) {
      const output = await tool.execute(input, context)
      if (typeof output === 'string' || output.isError === true || !isJsonObject(output.details)) return output
      const { files } = output.details
      const changes: readonly Json[] = Array.isArray(files) ? files : [output.details]
      return { ...output, ...(await workspace.work.changed(changes.flatMap((change) => changedIn(change, field)))) }
    },
  }
}

function changedIn(change: Json, field: string): readonly CommandChange[] {
  if (!isJsonObject(change)) return []
  const { [field]: path, type, change: kind, movedTo, linesAdded, linesRemoved } = change
  if (typeof path !== 'string') return []
  // Without counts, the texts were too different to compare; a moved file counts as changed.
  const isCounted = typeof linesAdded === 'number' && typeof linesRemoved === 'number'
  const lines = isCounted ? linesAdded + linesRemoved : 1
  if (typeof movedTo === 'string') return [{ path: movedTo, lines: Math.max(1, lines) }]
  const isNew = type === 'create' || kind === 'add'
  return [
    { path, lines, ...(kind === 'delete' && { isDeleted: true as const }), ...(isNew && { isNew: true as const }) },
  ]
}

/** Adds to a command's result which lines it changed, and whether it was a check that passed. */
export async function withCommandWork(
  command: string,
  workspace: Workspace,
  run: (onChanges: (files: readonly CommandChange[]) => void) => Promise<ToolOutput>,
): Promise<ToolOutput> {
  let seen: readonly CommandChange[] | undefined
  const output = await run((files) => {
    seen = files
  })
  const { details } = output
  // The command was not started.
  if (!isJsonObject(details)) return output
  const { exitCode, stdout } = details
  const ended = {
    command,
    exitCode: typeof exitCode === 'number' ? exitCode : null,
    output: typeof stdout === 'string' ? stdout : '',
    seen,
    redact: workspace.redact,
  }
  return { ...output, ...(await workspace.work.ended(ended)) }
}

/** The file work of a background command that has ended, for the report of its end. */
export function workOfTask(
  { state, work, shell }: BackgroundTask,
  { redact }: Pick<Workspace, 'redact'>,
): Pick<ToolOutput, 'fileWork'> {
  if (typeof state === 'string' || state.kind !== 'exited') return {}
  return work({ exitCode: state.exitCode, output: shell.output.toString(), redact })
}
