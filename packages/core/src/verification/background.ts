import { fieldsOf, isEither, isFunction, isObject, isPositive, type Given } from '../values/given.ts'
import { headOf } from '../values/text.ts'
import { type FileWork, fileWorkOf } from './file-work.ts'

/** What a tool has started that goes on beside the run, such as a command in the background. */
export type TaskStarted = {
  readonly type: 'started'
  /** Id of the task. */
  readonly id: string
  /** What it is, in one line for people. */
  readonly description: string
  /** By which a later process may find it again; for the port that made it. */
  readonly trace?: string
}

/** How it ended, for the model and for people. */
export type TaskEnded = {
  readonly type: 'ended'
  /** Id of the task. */
  readonly id: string
  /** `unknown`: the process that ran it is gone, and nobody saw the end. */
  readonly status: 'completed' | 'failed' | 'stopped' | 'unknown'
  /** In a sentence: what it was and how it ended. */
  readonly summary: string
  /** What a subagent came to, for the model. */
  readonly result?: string
  /** What it did to files, of a task whose end the loop tells: such as a check that it was. A tool that tells of the end says it with its result. */
  readonly fileWork?: FileWork
}

/** What was made of what still ran when the run ended. */
export type TaskLeft = {
  readonly type: 'left'
  /** Null for what no tool knows as a task: a command had left it behind. */
  readonly id: string | null
  /** `ended`: a subagent that had come to its end, of which the model was not told any more. */
  readonly how: 'stopped' | 'kept' | 'ended'
  /** Of a subagent that had ended, where it did not come to its answer: a limit stopped it, or it failed. */
  readonly status?: 'failed'
  /** What it is, and where it can be found. */
  readonly description: string
  /** What a subagent came to or had found so far: told to the model by the next run. */
  readonly result?: string
}

/** What a tool tells of tasks with its result (`ToolOutput.tasks`). */
export type TaskNews = TaskStarted | TaskEnded

/** What an entry of the transcript tells of tasks; `callId` is that of the call that started it, or told of it. */
export type TaskNote = (TaskNews | TaskLeft) & {
  /** Id of the call. */
  readonly callId?: string
}

// Spec R-BACK-1.
/**
 * Work that tools have started and that goes on beside the run. The loop asks; it starts and ends nothing by itself. Every answer is
 * given at once.
 */
export interface Background {
  /** What is done when the run would end and something still runs: it is waited for, ended, or left running. */
  readonly atEnd: 'wait' | 'stop' | 'keep'
  /** The longest wait of a run without a time limit, in milliseconds. */
  readonly waitMs: number
  /** Tasks that run. */
  running(): readonly TaskStarted[]
  /** Ends that nobody was told of. They are given again until `told` is called. */
  ended(): readonly TaskEnded[]
  /** The ends of these tasks are on record as told, by this process or by one before it. */
  told(ids: readonly string[]): void
  /** False for a task of a process before this one. */
  knows(id: string): boolean
  /** What there is to see of such a task, in a sentence for the model; undefined for nothing. */
  fateOf?(started: TaskStarted): string | undefined
  /** Calls back whenever a task ends. Gives the way to be called no more. */
  onEnd(listener: () => void): () => void
  /** The run has ended, by itself or because somebody broke it off: does what `atEnd` says, and names what still ran. */
  leave(why: 'ended' | 'aborted'): readonly TaskLeft[]
}

export const isBackground: Given = isObject(
  'an object with atEnd, waitMs, running, ended, told, knows, onEnd and leave',
  {
    atEnd: isEither('wait', 'stop', 'keep'),
    waitMs: isPositive,
    running: isFunction,
    ended: isFunction,
    told: isFunction,
    knows: isFunction,
    onEnd: isFunction,
    leave: isFunction,
  },
)

const longestId = 200
const longestText = 2_000
const statuses: ReadonlySet<unknown> = new Set(['completed', 'failed', 'stopped', 'unknown'])

/** What a tool gave as news of tasks; plain JavaScript may give anything. */
export function taskNewsOf(given: unknown): readonly TaskNews[] {
  if (!Array.isArray(given)) return []
  return given.flatMap((each: unknown): readonly TaskNews[] => {
    const { type, id, description, trace } = fieldsOf(each) ?? {}
    if (type !== 'started') return endsOf([each]).map(({ fileWork: _, ...end }) => end)
    if (!isId(id)) return []
    return [{ type, id, description: textOf(description), ...(isId(trace) && { trace }) }]
  })
}

/** The ends among them. */
export function endsOf(given: readonly unknown[]): readonly TaskEnded[] {
  return given.flatMap((each): readonly TaskEnded[] => {
    const { type, id, status, summary, fileWork } = fieldsOf(each) ?? {}
    if (type !== 'ended' || !isId(id) || !statuses.has(status)) return []
    const work = fileWorkOf(fileWork)
    // It is one of the set.
    const end: TaskEnded = { type, id, status: status as TaskEnded['status'], summary: textOf(summary) }
    return [work === undefined ? end : { ...end, fileWork: work }]
  })
}

/** What was left, as a port tells it. */
export function leftOf(given: readonly unknown[]): readonly TaskLeft[] {
  return given.flatMap((each): readonly TaskLeft[] => {
    const { id, how, description } = fieldsOf(each) ?? {}
    if (how !== 'stopped' && how !== 'kept') return []
    return [{ type: 'left', id: isId(id) ? id : null, how, description: textOf(description) }]
  })
}

function isId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= longestId
}

function textOf(given: unknown): string {
  return typeof given === 'string' ? headOf(given, longestText) : ''
}
