import type { AnyLeafTool } from '@halting/core/adapters'
import type { ToolProfile } from '@halting/policy/settings'
import { createApplyPatchTool } from './apply-patch.ts'
import { createBashTool } from './bash.ts'
import { withProgress } from './progress-reports.ts'
import { withFileWork } from './file-work.ts'
import { createEditTool } from './edit.ts'
import { createGlobTool } from './glob.ts'
import { createGrepTool } from './grep.ts'
import { createNotebookEditTool } from './notebook-edit.ts'
import { createReadTool } from './read.ts'
import { createTaskOutputTool } from './task-output.ts'
import { createTaskStopTool } from './task-stop.ts'
import { createTaskTools } from './task-list/task-tools.ts'
import { createTodoWriteTool } from './todo-write.ts'
import { createWaitTool } from './wait.ts'
import { createWebFetchTool } from './web-fetch.ts'
import { createWebSearchTool } from './web-search.ts'
import { Workspace, type WorkspaceOptions } from './workspace.ts'
import { createWriteTool } from './write.ts'
import { offeredTool } from './tool-profile.ts'
import type { ToolContext, ToolOutput } from '@halting/core'

/** Options of `createCodingTools`. */
export interface CodingToolsOptions {
  /** Which tools are offered, and with which descriptions (default: `default`). */
  readonly toolProfile?: ToolProfile
  /**
   * How a model writes the task list: `tasks` (default), with TaskCreate, TaskUpdate, TaskList and TaskGet; `todos`,
   * with TodoWrite; or `both`. Calls of hidden tools are accepted too, because a resumed session may have used them.
   */
  readonly taskList?: 'tasks' | 'todos' | 'both'
}

/**
 * The tools of a coding agent over one workspace, as a profile offers them; the session chooses which of them `small`
 * offers. The owner of the workspace can end background commands with `dispose()`; in any case they end with the
 * program.
 */
export function createCodingTools(
  where: WorkspaceOptions | Workspace,
  { toolProfile = 'default', taskList = 'tasks' }: CodingToolsOptions = {},
): readonly AnyLeafTool[] {
  const workspace = where instanceof Workspace ? where : new Workspace(where)
  const tools: readonly AnyLeafTool[] = [
    createReadTool(workspace),
    ...(toolProfile === 'codex'
      ? [createApplyPatchTool(workspace)]
      : [createWriteTool(workspace), createEditTool(workspace)]),
    createBashTool(workspace),
    createGlobTool(workspace),
    createGrepTool(workspace),
    createTaskOutputTool(workspace),
    createTaskStopTool(workspace),
    createWaitTool(workspace),
    ...createTaskTools().map((tool) => (taskList === 'todos' ? notOffered(tool) : tool)),
    taskList === 'tasks' ? notOffered(createTodoWriteTool()) : createTodoWriteTool(),
    createNotebookEditTool(workspace),
    createWebFetchTool(workspace),
    createWebSearchTool(workspace),
  ]
  return tools
    .map((tool) => offeredTool(tool, toolProfile))
    .map((tool) => withProgress(withChangeNotices(withFileWork(tool, workspace), workspace)))
}

/** Returns the tool in a form that accepts calls, but is not offered to models. */
function notOffered(tool: AnyLeafTool): AnyLeafTool {
  return { ...tool, offeredTo: () => false }
}

/** A dynamic import takes 30 µs of CPU each time, even of a loaded module. */
let changedFiles: Promise<typeof import('./changed-files.ts')> | undefined

// Spec R-HAND-7.
/**
 * Wraps a tool so that its results also report which files have changed on disk since the model saw them: by the user,
 * another program, or the model's own command.
 */
function withChangeNotices(tool: AnyLeafTool, workspace: Workspace): AnyLeafTool {
  return {
    ...tool,
    async execute(input: never, context: ToolContext) {
      const output = await tool.execute(input, context)
      // Loaded on demand: before any file was read, there is nothing to report.
      if (!workspace.filesOf(context).hasSeenAny) return output
      changedFiles ??= import('./changed-files.ts')
      const { changesNote } = await changedFiles
      const note = await changesNote(workspace, context)
      return note === '' ? output : withNote(output, note)
    },
  }
}

function withNote(result: ToolOutput | string, note: string): ToolOutput {
  const output = typeof result === 'string' ? { content: result } : result
  const { content } = output
  return typeof content === 'string'
    ? { ...output, content: `${content}\n\n${note}` }
    : { ...output, content: [...content, { type: 'text', text: note }] }
}
