import type { Json, JsonObject, Transcript } from '@halting/core'
import { coercedInput, isJsonObject, isToolResult, isToolUse } from '@halting/core/adapters'
import { type Todo, todoForm } from '../todo-form.ts'

/** The status of a task. */
export type TaskStatus = 'pending' | 'in_progress' | 'completed'

/** One task of the list. */
export interface Task {
  /** A whole number as a text, unique in a conversation. */
  readonly id: string
  readonly subject: string
  /** Description of the task; '' if it has none. */
  readonly description: string
  readonly status: TaskStatus
  readonly activeForm?: string
  readonly owner?: string
  /** Ids of tasks that must be completed first. */
  readonly blockedBy: readonly string[]
  readonly metadata?: JsonObject
}

/** The tasks of a conversation. */
export interface TaskList {
  /** The tasks in the order in which they were created, or in which TodoWrite listed them. */
  readonly tasks: readonly Task[]
  /** The highest id so far: ids of deleted tasks are not reused. */
  readonly lastId: number
}

/** The changes of one call. */
export interface TaskChange {
  /** New and changed tasks, in their new state. */
  readonly changed: readonly Task[]
  /** Ids of deleted tasks. */
  readonly deleted: readonly string[]
  /** Ids in a new order; missing ones come last. */
  readonly order?: readonly string[]
}

export const emptyTaskList: TaskList = Object.freeze({ tasks: [], lastId: 0 })

/** Applies a change. A deleted task no longer blocks others. */
export function changedTaskList(list: TaskList, { changed, deleted, order }: TaskChange): TaskList {
  const tasks = new Map(list.tasks.map((task) => [task.id, task]))
  for (const task of changed) tasks.set(task.id, task)
  for (const id of deleted) tasks.delete(id)
  const lastId = Math.max(list.lastId, ...changed.map(({ id }) => Number(id)))
  const left = [...tasks.values()].map((task) => withoutBlockers(task, deleted))
  if (order === undefined) return { tasks: left, lastId }
  const places = new Map(order.map((id, place) => [id, place]))
  const placeOf = ({ id }: Task): number => places.get(id) ?? order.length
  return { tasks: left.toSorted((a, b) => placeOf(a) - placeOf(b)), lastId }
}

function withoutBlockers(task: Task, deleted: readonly string[]): Task {
  if (!task.blockedBy.some((id) => deleted.includes(id))) return task
  return { ...task, blockedBy: task.blockedBy.filter((id) => !deleted.includes(id)) }
}

/**
 * The record of a change, for `ToolOutput.memo`: the list of a conversation is built only from these records, also
 * after a resume or a compaction.
 */
export function memoOfChange({ changed, deleted, order }: TaskChange): Json {
  const tasks = changed.map((task): JsonObject => ({ ...task }))
  return { taskList: { changed: tasks, deleted, ...(order !== undefined && { order }) } }
}

interface Conversation {
  readonly state: { readonly transcript: Transcript }
  readonly memos?: readonly Json[]
}

/** The list at the time of a call. */
export function taskListAt({ state, memos = [] }: Conversation): TaskList {
  return memos.flatMap(changesOfMemo).reduce(changedTaskList, taskListOf(state.transcript))
}

/** The list at the end of a transcript. */
export function taskListOf(transcript: Iterable<TranscriptEntryLike>): TaskList {
  /** Calls of TodoWrite, for which records of older versions have no memos. */
  const todoInputs = new Map<string, Json>()
  let list = emptyTaskList
  for (const entry of transcript) {
    const { kind } = entry
    if (kind === 'assistant') {
      for (const block of entry.message.content)
        if (isToolUse(block) && block.name === 'TodoWrite') todoInputs.set(block.id, block.input as Json)
    }
    if (kind !== 'user' || typeof entry.message.content === 'string') continue
    for (const block of entry.message.content.filter(isToolResult)) {
      const memo = entry.memos?.[block.tool_use_id]
      const changes = memo === undefined ? [] : changesOfMemo(memo)
      const input = todoInputs.get(block.tool_use_id)
      if (changes.length > 0) list = changes.reduce(changedTaskList, list)
      else if (input !== undefined && block.is_error !== true)
        list = changedTaskList(list, replacement(list, todosIn(input)))
    }
  }
  return list
}

type TranscriptEntryLike = ReturnType<Transcript['at']> extends infer Entry ? Exclude<Entry, undefined> : never

/**
 * The change that makes the list consist of these todos: a task with the same subject keeps its id and its other
 * fields.
 */
export function replacement(list: TaskList, todos: readonly Todo[]): TaskChange {
  const left = [...list.tasks]
  let { lastId } = list
  const changed = todos.map(({ content, status, activeForm }): Task => {
    const index = left.findIndex(({ subject }) => subject === content)
    const [known = { id: String(++lastId), subject: content, description: '', blockedBy: [] }] =
      index < 0 ? [] : left.splice(index, 1)
    return { ...known, status, ...(activeForm !== undefined && { activeForm }) }
  })
  return { changed, deleted: left.map(({ id }) => id), order: changed.map(({ id }) => id) }
}

// Spec R-TOOL-2a.
/**
 * The todos of a call. The input is JSON as the model wrote it, before coercion by the tool. Invalid entries are
 * skipped.
 */
function todosIn(input: Json): readonly Todo[] {
  const coerced = coercedInput(todoForm.schema, input)
  const todos = isJsonObject(coerced) ? coerced['todos'] : undefined
  if (!Array.isArray(todos)) return []
  return (todos as readonly Json[]).flatMap((todo) => {
    if (!isJsonObject(todo) || typeof todo['content'] !== 'string') return []
    const { content, status, activeForm } = todo
    return [{ content, status: statusOf(status), ...(typeof activeForm === 'string' && { activeForm }) }]
  })
}

/** Empty for the memo of another tool. */
function changesOfMemo(memo: Json): readonly TaskChange[] {
  const change = isJsonObject(memo) ? memo['taskList'] : undefined
  if (!isJsonObject(change)) return []
  const { changed, deleted, order } = change
  return [
    {
      changed: Array.isArray(changed) ? changed.flatMap(taskOf) : [],
      deleted: textsIn(deleted),
      ...(Array.isArray(order) && { order: textsIn(order) }),
    },
  ]
}

function taskOf(stored: Json): readonly Task[] {
  if (!isJsonObject(stored)) return []
  const { id, subject, description, status, activeForm, owner, blockedBy, metadata } = stored
  if (typeof id !== 'string' || !/^[1-9]\d{0,14}$/.test(id) || typeof subject !== 'string') return []
  return [
    {
      id,
      subject,
      description: typeof description === 'string' ? description : '',
      status: statusOf(status),
      ...(typeof activeForm === 'string' && { activeForm }),
      ...(typeof owner === 'string' && { owner }),
      blockedBy: textsIn(blockedBy),
      ...(isJsonObject(metadata) && { metadata }),
    },
  ]
}

function statusOf(stored: Json | undefined): TaskStatus {
  return stored === 'in_progress' || stored === 'completed' ? stored : 'pending'
}

function textsIn(stored: Json | undefined): readonly string[] {
  return Array.isArray(stored) ? (stored as readonly Json[]).filter((each) => typeof each === 'string') : []
}

/** Ids of blocking tasks that are not completed. */
export function openBlockers({ tasks }: TaskList, { blockedBy }: Task): readonly string[] {
  return tasks.flatMap(({ id, status }) => (status !== 'completed' && blockedBy.includes(id) ? [id] : []))
}

/** Ids of the tasks that this one blocks. */
export function blockedTasks({ tasks }: TaskList, { id }: Task): readonly string[] {
  return tasks.flatMap((task) => (task.blockedBy.includes(id) ? [task.id] : []))
}
