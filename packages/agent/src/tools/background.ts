import type { TranscriptEntry } from '@halting/core'
import { type Background, isJsonObject, type TaskStarted } from '@halting/core/adapters'
import { earlierDetached, earlierEnded, earlierRuns } from './task-texts.ts'
import { detachedOf, isRunning, type ProcessGroup } from './process-group.ts'
import type { Workspace } from './workspace.ts'

/** Options of `backgroundOf`: how a run ends while commands run in the background. */
export interface BackgroundOptions {
  /** What happens when a run would end while commands are running (default: `wait`). */
  readonly atEnd?: Background['atEnd']
  /** The longest wait of a run without a time limit, in milliseconds (default: ten minutes). */
  readonly waitMs?: number
  /** The session as earlier processes recorded it: ids of their tasks are not reused. */
  readonly session?: SessionBefore
}

/** For example a `StoredSession` of core. */
interface SessionBefore {
  readonly transcript: Iterable<TranscriptEntry>
  readonly open?: readonly unknown[] | undefined
  readonly isRewound?: boolean | undefined
}

const defaultWaitMs = 600_000

// Spec R-BACK-1.
/**
 * The background commands of a workspace as the loop's option `background`. Commands that survive the end of a run
 * continue in this process until `Workspace.letGo` hands them over, or `Workspace.dispose` ends them.
 */
export function backgroundOf(workspace: Workspace, options: BackgroundOptions = {}): Background {
  const { atEnd = 'wait', waitMs = defaultWaitMs, session } = options
  const { tasks } = workspace
  tasks.atEnd = atEnd
  if (session !== undefined && isContinued(session)) tasks.continueAfter(taskIdsIn(session))
  return {
    atEnd,
    waitMs,
    running: () => tasks.running.map(({ started }) => started),
    ended: () => tasks.unreported,
    markReported(ids) {
      for (const id of ids) {
        const task = tasks.get(id)
        if (task !== undefined && task.state !== 'running') task.isReported = true
      }
    },
    knows: (id) => tasks.get(id) !== undefined,
    fateOf,
    onEnd: (listener) => tasks.onEnd(listener),
    // An abort ends everything, whatever the policy. Undefined if no command was started.
    leave: (why) => workspace.leaveRunning?.(workspace, why === 'aborted' ? 'stop' : atEnd) ?? [],
  }
}

function isContinued({ transcript, open, isRewound }: SessionBefore): boolean {
  const [first] = transcript
  return first !== undefined || open !== undefined || isRewound === true
}

/** Ids of tasks in a transcript, and in the records of a run that did not end. */
function taskIdsIn({ transcript, open = [] }: SessionBefore): ReadonlySet<string> {
  const ids = new Set<string>()
  const enter = (addId: unknown): void => {
    const notes: readonly unknown[] = Array.isArray(addId) ? addId : []
    for (const note of notes) if (isJsonObject(note) && typeof note['id'] === 'string') ids.add(note['id'])
  }
  const enterAll = (entries: unknown): void => {
    const list: readonly unknown[] = Array.isArray(entries) ? entries : []
    for (const entry of list) if (isJsonObject(entry)) enter(entry['tasks'])
  }
  for (const entry of transcript) if (entry.kind === 'user' || entry.kind === 'attachment') enter(entry.tasks)
  for (const record of open) {
    if (!isJsonObject(record)) continue
    const { value, lap, start } = record
    for (const part of [value, lap, start]) {
      if (!isJsonObject(part)) continue
      enter(part['tasks'])
      enterAll(part['added'])
    }
  }
  return ids
}

/** Returns the current state of a command that an earlier process started; on Linux, its environment identifies it. */
function fateOf({ trace }: TaskStarted): string | undefined {
  const [, groupId, mark] = /^(\d{1,9}) ([\w-]{36})$/.exec(trace ?? '') ?? []
  if (process.platform !== 'linux' || groupId === undefined || mark === undefined) return undefined
  const group: ProcessGroup = { groupId: Number(groupId), mark, knownBy: 'mark', leaves: 'detached' }
  if (isRunning(group)) return earlierRuns(groupId)
  const detached = detachedOf(group)
  return detached.length === 0 ? earlierEnded : earlierDetached(detached.join(', '))
}
