// Results of TaskCreate, TaskUpdate, TaskList, TaskGet and TodoWrite, and the task list after a compaction.
import { headOf } from '@halting/core/adapters'
import { blockedTasks, openBlockers, type Task, type TaskList } from './task-list.ts'

const longestSubject = 200
const longestText = 10_000
/** Maximum number of ids in an error. */
const maxIds = 50

const shortSubject = (subject: string): string => headOf(subject, longestSubject)

/** `#1, #2, #3`; the first 50 if there are more. */
function idList(ids: readonly string[]): string {
  const shown = ids.slice(0, maxIds).map((id) => `#${id}`)
  return shown.join(', ') + (ids.length > maxIds ? ` and ${ids.length - maxIds} more` : '')
}

// Results.

export function taskCreated({ id, subject }: Task): string {
  return `Created task #${id}: ${shortSubject(subject)}`
}

export function taskUpdated(id: string, fields: readonly string[], list: TaskList): string {
  return `Updated task #${id} (${fields.join(', ')}). ${progress(list)}`
}

export function taskDeleted(id: string, list: TaskList): string {
  return `Deleted task #${id}. ${progress(list)}`
}

export function todosWritten(list: TaskList): string {
  return `Updated the todo list. ${progress(list)}`
}

/** How many are completed, and which one is next: the one in progress, otherwise the first unblocked one. */
function progress(list: TaskList): string {
  const open = list.tasks.filter(({ status }) => status !== 'completed')
  if (list.tasks.length === 0) return 'The list is empty.'
  if (open.length === 0) return `All ${list.tasks.length} completed.`
  const next =
    open.find(({ status }) => status === 'in_progress') ?? open.find((task) => openBlockers(list, task).length === 0)
  const count = `${list.tasks.length - open.length} of ${list.tasks.length} completed.`
  return next === undefined ? count : `${count} Next: #${next.id} ${shortSubject(next.subject)}`
}

export const emptyList = 'The task list is empty.'

/** One line per task. */
export function taskLines(list: TaskList): string {
  return list.tasks
    .map((task) => {
      const blockers = openBlockers(list, task)
      const facts = [
        ...(task.owner === undefined || task.owner === '' ? [] : [`owner: ${shortSubject(task.owner)}`]),
        ...(blockers.length === 0 ? [] : [`blocked by ${idList(blockers)}`]),
      ]
      const line = `#${task.id} [${task.status}] ${shortSubject(task.subject)}`
      return facts.length === 0 ? line : `${line} (${facts.join('; ')})`
    })
    .join('\n')
}

/** All details of a task. */
export function taskText(task: Task, list: TaskList): string {
  const { id, subject, status, description, owner = '', blockedBy, metadata } = task
  const blocks = blockedTasks(list, task)
  const lines = [
    `Task #${id}: ${headOf(subject, longestText)}`,
    `Status: ${status}`,
    ...(owner === '' ? [] : [`Owner: ${headOf(owner, longestText)}`]),
    ...(blockedBy.length === 0 ? [] : [`Blocked by: ${idList(blockedBy)}`]),
    ...(blocks.length === 0 ? [] : [`Blocks: ${idList(blocks)}`]),
    ...(metadata === undefined ? [] : [`Metadata: ${headOf(JSON.stringify(metadata), longestText)}`]),
    ...(description === '' ? [] : [`Description: ${headOf(description, longestText)}`]),
  ]
  return lines.join('\n')
}

// Errors.

/** After "must be". */
export const expectedIds = 'a list of task ids, such as ["1", "2"]'

export const emptySubject = 'subject is empty. Say in a few words what is to be done, such as "Run the tests".'

export function unknownTasks(ids: readonly string[], list: TaskList): string {
  const which = ids.length === 1 ? `There is no task ${idList(ids)}` : `There are no tasks ${idList(ids)}`
  if (list.tasks.length === 0) return `${which}: the task list is empty. Use TaskCreate to add tasks.`
  return `${which}. Existing tasks: ${idList(list.tasks.map(({ id }) => id))}. Nothing was changed.`
}

/** @param path ids, each blocked by the next one */
export function blockedByItself(path: readonly string[]): string {
  const way = path.map((id) => `#${id}`).join(' blocked by ')
  return `A task cannot be blocked by itself (${way}). Nothing was changed.`
}

export const fullTaskList = (most: number): string =>
  `The task list has ${most} tasks, the maximum. Delete one that is completed: TaskUpdate with {"taskId": "1", "status": "deleted"}.`

export const nothingToUpdate = (id: string): string =>
  `Task #${id} was not changed: the call has no new value. To complete the task: TaskUpdate with {"taskId": "${id}", "status": "completed"}.`

// After a compaction, the list is shown under this title.

export const taskListTitle = 'The task list'
