import type { ToolContext, ToolOutput } from '@halting/core'
import type { AnyLeafTool } from '@halting/core/adapters'
import type { Workspace } from './workspace.ts'

/** A dynamic import takes 30 µs of CPU each time, also of what is loaded. */
let changedFiles: Promise<typeof import('./changed-files.ts')> | undefined

// Spec R-HAND-7.
/**
 * The tool, whose results also tell which files have changed on disk since the model saw them: by a person, by another program, by a command of its
 * own.
 */
export function tellingChanges(tool: AnyLeafTool, workspace: Workspace): AnyLeafTool {
  return {
    ...tool,
    async execute(input: never, context: ToolContext) {
      const output = await tool.execute(input, context)
      // Loaded when used: where nothing was read nothing is told.
      if (!workspace.filesOf(context).hasSeenAny) return output
      changedFiles ??= import('./changed-files.ts')
      const { changesNote } = await changedFiles
      const note = await changesNote(workspace, context)
      return note === '' ? output : withNote(output, note)
    },
  }
}

function withNote(given: ToolOutput | string, note: string): ToolOutput {
  const output = typeof given === 'string' ? { content: given } : given
  const { content } = output
  return typeof content === 'string'
    ? { ...output, content: `${content}\n\n${note}` }
    : { ...output, content: [...content, { type: 'text', text: note }] }
}
