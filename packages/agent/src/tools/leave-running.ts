import type { Background, TaskLeft } from '@halting/core/adapters'
import type { BackgroundTask, BackgroundTasks } from './background-tasks.ts'
import type { LeftRunning } from './left-running.ts'
import type { LeftBehind, ProcessTable } from './process-table.ts'
import type { ShellCommand } from './shell-command.ts'
import {
  leftChildren,
  leftCommand,
  leftDetached,
  leftRunningChildren,
  leftRunningCommand,
  processNumbers,
} from './task-texts.ts'
import { shownCommand } from './task-words.ts'

/** Commands of a session that may still be running; a `Workspace` implements this interface. */
interface Place {
  readonly tasks: BackgroundTasks
  readonly processes: ProcessTable
  readonly left: LeftRunning
  readonly redact?: (text: string) => string
  readonly redactsSecrets?: boolean
}

/**
 * Ends running commands or leaves them running, according to the policy, and lists them. `Workspace.dispose` waits
 * until the ended commands have exited.
 */
export function leaveRunning(workspace: Place, policy: Background['atEnd']): readonly TaskLeft[] {
  const { tasks, processes } = workspace
  // Confined commands cannot outlive the program, whatever the policy.
  const policyOf = ({ isConfined }: { readonly isConfined: boolean }): Background['atEnd'] =>
    isConfined ? 'stop' : policy
  return [
    ...tasks.running.flatMap((task) => leaveTask(task, policyOf(task.shell), workspace)),
    ...processes.leftBehind.flatMap((left) => leaveRest(left, policyOf(left.origin), workspace)),
  ]
}

function leaveTask(task: BackgroundTask, policy: Background['atEnd'], workspace: Place): readonly TaskLeft[] {
  const { id, shell } = task
  const { description: command } = task.started
  const { groupId = 0 } = shell
  if (policy === 'keep') {
    const output = workspace.left.addTask(task, workspace.redactsSecrets !== true)
    return [{ type: 'left', id, how: 'kept', description: leftRunningCommand(id, command, groupId, output) }]
  }
  const detached = policy === 'stop' ? [] : shell.leaveDetached()
  task.isReported = true
  void workspace.tasks.stop(task)
  const end: TaskLeft = { type: 'left', id, how: 'stopped', description: leftCommand(id, command) }
  return [end, ...leftDetachedRows(detached, command, shell.pipe, workspace)]
}

/**
 * Handles processes that a finished command left behind: detached processes may continue, and the others are ended.
 */
function leaveRest({ group, origin }: LeftBehind, policy: Background['atEnd'], workspace: Place): readonly TaskLeft[] {
  const { processes } = workspace
  const command = shownCommand(origin.command, workspace.redact)
  const { detached, rest } = policy === 'stop' ? { detached: [], rest: group } : processes.leaveDetached(group)
  const left = leftDetachedRows(detached, command, origin.pipe, workspace)
  if (!processes.has(rest)) return left
  if (policy === 'keep') {
    processes.leave(rest)
    workspace.left.addPipe(origin.pipe)
    const description = leftRunningChildren(command, rest.groupId)
    return [...left, { type: 'left', id: null, how: 'kept', description }]
  }
  void processes.end(rest)
  return [...left, { type: 'left', id: null, how: 'stopped', description: leftChildren(command) }]
}

function leftDetachedRows(
  detached: readonly number[],
  command: string,
  pipe: ShellCommand['pipe'],
  { left }: Place,
): readonly TaskLeft[] {
  if (detached.length === 0) return []
  left.addPipe(pipe)
  const which = processNumbers(detached.length, detached.join(', '))
  return [{ type: 'left', id: null, how: 'kept', description: leftDetached(command, which) }]
}
