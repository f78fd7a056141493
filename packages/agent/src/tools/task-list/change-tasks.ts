import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '@halting/core'
import { changedTaskList, type Task, type TaskChange, type TaskList, type TaskStatus } from './task-list.ts'

/** A task as given to TaskCreate. */
export interface NewTask {
  /** The task, in a few words. */
  readonly subject: string
  /** What needs to be done. */
  readonly description?: string
  /** The text shown while it is in progress. */
  readonly activeForm?: string
  /** Further fields, for programs. */
  readonly metadata?: JsonObject
}

/** Fields of a TaskUpdate call. */
export interface TaskFields extends Partial<NewTask> {
  /** The new status; `deleted` removes the task. */
  readonly status?: TaskStatus | 'deleted'
  /** Who works on the task. */
  readonly owner?: string
  /** Ids of tasks that cannot begin before this one is completed. */
  readonly addBlocks?: readonly string[]
  /** Ids of tasks that must be completed before this one begins. */
  readonly addBlockedBy?: readonly string[]
}

/** Models write `#3` for the id `3`. */
export function taskId(rawId: string): string {
  return rawId.trim().replace(/^#\s*/, '')
}

/** One line without surrounding spaces, as lists show it. */
export function subjectLine(rawSubject: string): string {
  return rawSubject.replaceAll(/\s+/g, ' ').trim()
}

export function createdTask({ lastId }: TaskList, { subject, description = '', activeForm, metadata }: NewTask): Task {
  return {
    id: String(lastId + 1),
    subject: subjectLine(subject),
    description,
    status: 'pending',
    ...(activeForm !== undefined && { activeForm }),
    blockedBy: [],
    ...(metadata !== undefined && { metadata }),
  }
}

/** The result of TaskUpdate. If the update cannot be applied as a whole, nothing changes. */
export type TaskUpdateOutcome =
  | { readonly kind: 'updated'; readonly before: Task; readonly change: TaskChange; readonly fields: readonly string[] }
  | { readonly kind: 'unknown'; readonly ids: readonly string[] }
  /** Ids of tasks, each blocked by the next one. */
  | { readonly kind: 'cycle'; readonly path: readonly string[] }

/** The change of a task by these fields, with the names of the fields that have changed. */
export function updatedTask(list: TaskList, rawId: string, fields: TaskFields): TaskUpdateOutcome {
  const id = taskId(rawId)
  const before = list.tasks.find((task) => task.id === id)
  if (before === undefined) return { kind: 'unknown', ids: [id] }
  if (fields.status === 'deleted')
    return { kind: 'updated', before, change: { changed: [], deleted: [id] }, fields: ['deleted'] }
  const [blocks, blockers] = [(fields.addBlocks ?? []).map(taskId), (fields.addBlockedBy ?? []).map(taskId)]
  const known = new Set(list.tasks.map((task) => task.id))
  const unknown = [...new Set([...blocks, ...blockers])].filter((each) => !known.has(each))
  if (unknown.length > 0) return { kind: 'unknown', ids: unknown }
  const after = blockedBy(withFields(before, fields), blockers)
  const others = list.tasks.filter((task) => task.id !== id && blocks.includes(task.id))
  const itself = blocks.includes(id) ? blockedBy(after, [id]) : after
  const changed = [itself, ...others.map((task) => blockedBy(task, [id]))].filter(
    (task) =>
      !isDeepStrictEqual(
        task,
        list.tasks.find((each) => each.id === task.id),
      ),
  )
  const change = { changed, deleted: [] }
  const path = changed
    .map((task) => cycleFrom(changedTaskList(list, change), task.id))
    .find((each) => each !== undefined)
  if (path !== undefined) return { kind: 'cycle', path }
  const blocksMore = changed.some((task) => task.id !== id)
  return { kind: 'updated', before, change, fields: changedFields(before, after, blocksMore) }
}

function withFields(task: Task, { subject, description, status, activeForm, owner, metadata }: TaskFields): Task {
  const changed = {
    ...task,
    ...(subject !== undefined && { subject: subjectLine(subject) }),
    ...(description !== undefined && { description }),
    // `deleted` is handled before.
    ...(status !== undefined && status !== 'deleted' && { status }),
    ...(activeForm !== undefined && { activeForm }),
    ...(owner !== undefined && { owner }),
    ...(metadata !== undefined && { metadata: mergedMetadata(task.metadata, metadata) }),
  }
  return isDeepStrictEqual(changed, task) ? task : changed
}

/** Null removes a field. */
function mergedMetadata(before: JsonObject = {}, changes: JsonObject): JsonObject {
  const merged = Object.entries({ ...before, ...changes }).filter(([, value]) => value !== null)
  return Object.fromEntries(merged as (readonly [string, Json])[])
}

function blockedBy(task: Task, ids: readonly string[]): Task {
  const added = [...new Set(ids)].filter((id) => !task.blockedBy.includes(id))
  return added.length === 0 ? task : { ...task, blockedBy: [...task.blockedBy, ...added] }
}

/** Returns a path from this task over its blockers back to the task; undefined if there is none. */
function cycleFrom({ tasks }: TaskList, id: string): readonly string[] | undefined {
  const blockersOf = new Map(tasks.map((task) => [task.id, task.blockedBy]))
  const seen = new Set<string>()
  const paths: (readonly string[])[] = [[id]]
  for (let path = paths.shift(); path !== undefined; path = paths.shift()) {
    for (const next of blockersOf.get(path.at(-1) ?? '') ?? []) {
      if (next === id) return [...path, id]
      if (seen.has(next)) continue
      seen.add(next)
      paths.push([...path, next])
    }
  }
  return undefined
}

const compared = ['subject', 'description', 'activeForm', 'status', 'owner', 'metadata', 'blockedBy'] as const

function changedFields(before: Task, after: Task, blocksMore: boolean): readonly string[] {
  const names = compared.filter((name) => !isDeepStrictEqual(before[name], after[name]))
  return blocksMore ? [...names, 'blocks'] : names
}
