import { isInRange } from '../version-range.ts'
import type { SessionPorts } from './ports.ts'

/** How a model writes the task list: task by task, or the list as a whole with TodoWrite. */
export type TaskListTools = 'tasks' | 'todos' | 'both'

const listTools = ['TaskCreate', 'TaskUpdate', 'TaskList', 'TaskGet', 'TodoWrite']
const off = new Set(['0', 'false', 'no', 'off'])

// Spec R-TODO-5, decision 0088.
/**
 * Which tools for the task list a model is shown. Named ones are shown as they are named; else the environment decides, and an Agent SDK whose programs
 * know TodoWrite alone.
 */
export function taskListToolsOf(named: readonly string[] | undefined, env: SessionPorts['env']): TaskListTools {
  if (named?.some((name) => listTools.includes(name)) === true) return 'both'
  const chosen = env['CLAUDE_CODE_ENABLE_TASKS']?.trim().toLowerCase() ?? ''
  if (chosen !== '') return off.has(chosen) ? 'todos' : 'tasks'
  return isOldSdk(env) ? 'todos' : 'tasks'
}

/** Versions of the SDK for TypeScript whose programs know TodoWrite alone. That for Python has versions of its own. */
const withTodosAlone = '<0.3.142'

function isOldSdk(env: SessionPorts['env']): boolean {
  const version = env['CLAUDE_AGENT_SDK_VERSION']?.trim() ?? ''
  const isReadable = /^\d{1,6}\.\d{1,6}\.\d{1,6}/.test(version)
  return env['CLAUDE_CODE_ENTRYPOINT'] === 'sdk-ts' && isReadable && isInRange(withTodosAlone, version)
}
