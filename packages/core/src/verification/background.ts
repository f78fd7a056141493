import { fieldsOf, isEither, isFunction, isObject, isPositive, listOf, type Validator } from '../values/validators.ts'
import { headOf } from '../values/text.ts'
import { type FileWork, fileWorkOf } from './file-work.ts'

/** Work that a tool started and that runs in parallel with the run, such as a background command. */
export type TaskStarted = {
  readonly type: 'started'
  /** Id of the task. */
  readonly id: string
  /** What the task is, in one line for people. */
  readonly description: string
  /** Data by which a later process finds the task again. Only the port that created the task reads it. */
  readonly trace?: string
}

/** How a background task ended, for the model and for people. */
export type TaskEnded = {
  readonly type: 'ended'
  /** Id of the task. */
  readonly id: string
  /** `unknown`: the process that ran it is gone, so its end was not seen. */
  readonly status: 'completed' | 'failed' | 'stopped' | 'unknown'
  /** What the task was and how it ended, in a sentence. */
  readonly summary: string
  /** The result of a subagent, for the model. */
  readonly result?: string
  /** The task's work on files, such as being a check, if the loop reports its end. A tool that reports the end itself returns this with its result. */
  readonly fileWork?: FileWork
}

/** What happened to a task that was still running when the run ended. */
export type TaskLeft = {
  readonly type: 'left'
  /** Null for something that no tool registered as a task, such as a process that a command left running. */
  readonly id: string | null
  /** `ended`: a subagent that had ended, but whose end was not reported to the model. */
  readonly how: 'stopped' | 'kept' | 'ended'
  /** Set if a subagent ended without its answer: a limit stopped it, or it failed. */
  readonly status?: 'failed'
  /** What the task is, and where to find it. */
  readonly description: string
  /** The answer or interim result of a subagent: the next run reports it to the model. */
  readonly result?: string
}

/** What a tool reports about tasks with its result (`ToolOutput.tasks`). */
export type TaskNews = TaskStarted | TaskEnded

/** What a transcript entry reports about tasks. `callId` is the call that started the task or reported it. */
export type TaskNote = (TaskNews | TaskLeft) & {
  /** Id of the call. */
  readonly callId?: string
}

// Spec R-BACK-1.
/**
 * Work that tools started and that runs in parallel with the run. The loop only queries it, and starts or ends nothing
 * itself. All answers are synchronous.
 */
export interface Background {
  /** What happens to tasks that still run when the run would end: wait for them, stop them, or leave them running. */
  readonly atEnd: 'wait' | 'stop' | 'keep'
  /** The longest wait of a run without a time limit, in milliseconds. */
  readonly waitMs: number
  /** Returns the running tasks. */
  running(): readonly TaskStarted[]
  /** Ended tasks whose end was not reported. They are returned again until they are marked as reported. */
  ended(): readonly TaskEnded[]
  /** Called when the record contains the ends of these tasks as reported, by this process or an earlier one. */
  markReported(ids: readonly string[]): void
  /** Whether the port knows the task. False for a task of an earlier process. */
  knows(id: string): boolean
  /** What is known of a task of an earlier process, in a sentence for the model; undefined if nothing is known. */
  fateOf?(started: TaskStarted): string | undefined
  /** Calls back whenever a task ends. Returns a function that unsubscribes. */
  onEnd(listener: () => void): () => void
  /** Called when the run has ended or was aborted. Applies `atEnd`, and returns the tasks that were still running. */
  leave(why: 'ended' | 'aborted'): readonly TaskLeft[]
}

const backgroundChecks: { readonly [field in keyof Background]?: Validator } = {
  atEnd: isEither('wait', 'stop', 'keep'),
  waitMs: isPositive,
  running: isFunction,
  ended: isFunction,
  markReported: isFunction,
  knows: isFunction,
  onEnd: isFunction,
  leave: isFunction,
}

export const isBackground: Validator = isObject(
  `an object with ${listOf(Object.keys(backgroundChecks))}`,
  backgroundChecks,
)

const maxIdLength = 200
const maxTextLength = 2_000
const statuses: ReadonlySet<unknown> = new Set(['completed', 'failed', 'stopped', 'unknown'])

/** Parses the task reports of a tool. Plain JavaScript may return anything. */
export function taskNewsOf(value: unknown): readonly TaskNews[] {
  if (!Array.isArray(value)) return []
  return value.flatMap((each: unknown): readonly TaskNews[] => {
    const { type, id, description, trace } = fieldsOf(each) ?? {}
    if (type !== 'started') return endsOf([each]).map(({ fileWork: _, ...end }) => end)
    if (!isId(id)) return []
    return [{ type, id, description: textOf(description), ...(isId(trace) && { trace }) }]
  })
}

/** The reports of ended tasks. */
export function endsOf(values: readonly unknown[]): readonly TaskEnded[] {
  return values.flatMap((each): readonly TaskEnded[] => {
    const { type, id, status, summary, fileWork } = fieldsOf(each) ?? {}
    if (type !== 'ended' || !isId(id) || !statuses.has(status)) return []
    const work = fileWorkOf(fileWork)
    // Membership in the set was checked above.
    const end: TaskEnded = { type, id, status: status as TaskEnded['status'], summary: textOf(summary) }
    return [work === undefined ? end : { ...end, fileWork: work }]
  })
}

/** Parses what a port returned from `leave`. */
export function leftOf(values: readonly unknown[]): readonly TaskLeft[] {
  return values.flatMap((each): readonly TaskLeft[] => {
    const { id, how, description } = fieldsOf(each) ?? {}
    if (how !== 'stopped' && how !== 'kept') return []
    return [{ type: 'left', id: isId(id) ? id : null, how, description: textOf(description) }]
  })
}

function isId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= maxIdLength
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? headOf(value, maxTextLength) : ''
}
