import { iterationsLeft } from '../limits/transition-rules.ts'
import {
  endsOf,
  leftOf,
  type Background,
  type TaskEnded,
  type TaskLeft,
  type TaskNote,
  type TaskStarted,
} from '../verification/background.ts'
import type { AbortCause } from '../values/abort.ts'
import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import type { AgentEnd } from '../state/agent-figures.ts'
import type { ExternalInput } from '../steps/external-input.ts'
import type { Transcript, TranscriptEntry } from '../conversation/transcript.ts'
import type { RunBackgroundAgents, Run } from './run.ts'
import { enterAgent, noteChanges, noteFileWork } from './enter-agent.ts'
import { abortEnding } from './pending-endings.ts'
import { endWith, type PendingEnding, type Outcome } from './outcome.ts'
import { answerAgain, backgroundEnd, endOfPreviousRun, lostInBackground, unknownFate } from './turn-texts.ts'

// Background work that tools have started (spec R-BACK-1 to R-BACK-7). Its results arrive through `StepEngine.control`,
// as messages do. Waiting for it is a step, so that the time counts.

/** The background work of this run. Tasks of subagents are reported to the main loop. */
function backgroundOf({ context, identity }: Run): Background | null {
  return identity.depth === 0 ? context.background : null
}

/** Whether the model may still be asked. A run that has no turn left ends with its current answer. */
function hasTurnLeft({ spent, context }: Run): boolean {
  return iterationsLeft('user_input', spent.laps, context.limits) > 0
}

type WaitResult =
  | { readonly kind: 'came' }
  | { readonly kind: 'over' }
  | { readonly kind: 'aborted'; readonly cause: AbortCause }

/** At an answer: waits until a background task has ended, if the run is configured to wait. Returns an ending when an abort arrived meanwhile. */
export function waitForTasks(run: Run, attempt = 1): MaybePromise<Outcome | undefined> {
  const name = `background:${run.spent.request}${attempt === 1 ? '' : `.${attempt}`}`
  const { steps } = run.ports
  const background = backgroundOf(run)
  // A recorded wait is repeated, even if the current options would not wait.
  const isDue = steps.replaying ? steps.peek(run.key(name)) !== 'absent' : isAwaited(run, background)
  if (!isDue) return undefined
  run.emit({ type: 'notice', message: 'Waiting for background tasks.' })
  const step = run.step<WaitResult>(name, () => waitForEnd(run, background))
  return andThen(step, ({ value, replayed }) => {
    if (value.kind === 'aborted') return endWith(abortEnding(run, value.cause, 'streaming'))
    // After a crash, a recorded end may take a while to arrive again, because the agent first replays its own record.
    return replayed && value.kind === 'came' ? waitForTasks(run, attempt + 1) : undefined
  })
}

function isAwaited(run: Run, background: Background | null): boolean {
  // With goals, no check runs while agents are running, so the run waits for the agents.
  const waits = background === null || background.atEnd === 'wait'
  if (!waits && (run.spent.goal === undefined || run.agents?.isAnyWorking !== true)) return false
  if (run.ports.inbox.hasAny || !hasTurnLeft(run) || hasAnyEnded(run, background)) return false
  return run.agents?.isAnyWorking === true || (background !== null && background.running().length > 0)
}

function hasAnyEnded({ agents }: Run, background: Background | null): boolean {
  return agents?.hasEnded === true || (background !== null && background.ended().length > 0)
}

/** The share of the remaining time that may be spent on waiting. The rest is for the answer to the results. */
export const shareForWaiting = 0.9
/** The longest wait of a run without a time limit, if the port defines none. */
const longestWaitMs = 600_000

function waitForEnd(run: Run, background: Background | null): MaybePromise<WaitResult> {
  const { abort, inbox, deadline } = run.ports
  const cause = abort.causeNow()
  if (cause !== undefined) return { kind: 'aborted', cause }
  const leftMs = deadline.limitMs - deadline.usedMs
  const longestMs = leftMs === Infinity ? (background?.waitMs ?? longestWaitMs) : leftMs * shareForWaiting
  return new Promise((resolve) => {
    const settle = (waited: WaitResult): void => {
      for (const stop of stops) stop()
      resolve(waited)
    }
    const onArrival = (): void => settle({ kind: 'came' })
    const onAbort = (): void => settle({ kind: 'aborted', cause: abort.cause ?? 'user' })
    abort.signal.addEventListener('abort', onAbort)
    const stops: readonly (() => void)[] = [
      () => abort.signal.removeEventListener('abort', onAbort),
      background?.onEnd(onArrival) ?? noStop,
      run.agents?.onEnd(onArrival) ?? noStop,
      inbox.onArrival(onArrival),
      // The deadline is paused while an agent waits for its service, or for a person.
      deadline.after(longestMs, () => settle({ kind: 'over' })),
    ]
    if (abort.cause !== undefined) onAbort()
    else if (inbox.hasAny || hasAnyEnded(run, background)) onArrival()
  })
}

const noStop = (): void => {}

/** Ended background work, as recorded. */
type Ended = Pick<ExternalInput, 'tasks' | 'agents'>

/** Called live at a cancellation point. Returns the tasks that ended since the last call, and those that an earlier process left open. */
export function endedTasks(run: Run, place: 'before_turn' | 'end'): Ended | undefined {
  if (run.identity.depth > 0 || (place === 'end' && !hasTurnLeft(run))) return undefined
  const background = backgroundOf(run)
  const lost = run.hasSearchedTasks ? [] : lostTasks(run, background)
  run.hasSearchedTasks = true
  const agents = run.agents?.ended() ?? []
  const tasks = [...lost, ...endsOf(background?.ended() ?? []), ...agents.map(({ task }) => task)]
  if (tasks.length === 0) return undefined
  if (agents.length === 0) return { tasks }
  return { tasks, agents: agents.map(({ end }) => end) }
}

/** Reports ended tasks to the model, and enters what agents spent. */
export function enterTasks(run: Run, { tasks: ended = [], agents = [] }: Ended, place: 'before_turn' | 'end'): void {
  enterAgents(run, agents)
  if (ended.length === 0) return
  // The figures of agents include their own changes. A background command may have changed anything until its end, so a change is recorded for it.
  if (ended.length > agents.length) noteChanges(run, 1, null)
  for (const { fileWork } of ended) if (fileWork !== undefined) noteFileWork(run, fileWork)
  run.context.background?.markReported(ended.map(({ id }) => id))
  const lines = ended.map(({ id, summary, result }) => backgroundEnd(id, summary, result, maxReportCharacters))
  if (place === 'end') lines.push(answerAgain)
  const callIds = callIdsIn(run.transcript)
  run.append({
    kind: 'user',
    id: run.entryId('tasks'),
    message: { role: 'user', content: [{ type: 'text', text: lines.join('\n') }] },
    origin: 'loop',
    // The message contains the results of agents.
    tasks: [...notesOf(run, agents), ...ended.map(({ result: _, fileWork: __, ...each }) => withCallId(each, callIds))],
  })
}

/** Tasks that agents started, or whose ends agents received, except those that have ended since. */
function notesOf({ transcript }: Run, agents: readonly AgentEnd[]): readonly TaskNote[] {
  const notes = agents.flatMap(({ tasks = [] }) => tasks)
  if (notes.length === 0) return notes
  const ended = new Set<string | null>(tasksIn(transcript).flatMap(({ type, id }) => (type === 'ended' ? [id] : [])))
  return notes.filter(({ id }) => !ended.has(id))
}

// Spec R-BACK-3a.
/** Marks tasks whose ends were reported by tools in their results, so that the loop does not report them again. */
export function markReportedByTools(run: Run, notes: readonly TaskNote[]): void {
  const ids = notes.flatMap(({ type, id }) => (type === 'ended' && id !== null ? [id] : []))
  if (ids.length > 0) backgroundOf(run)?.markReported(ids)
}

/** The maximum length of an agent's report for its parent. A longer report is truncated in the middle. */
const maxReportCharacters = 30_000

/** Adds what background agents spent to the figures of the run. */
function enterAgents(run: Run, ended: readonly AgentEnd[]): void {
  for (const { id, spent } of ended) {
    const before = run.spent.openAgents ?? []
    const { changedLines: changedAtStart = 0 } = before.find((open) => open.id === id) ?? {}
    const openAgents = before.filter((open) => open.id !== id)
    run.update({ openAgents: openAgents.length === 0 ? undefined : openAgents })
    enterAgent(run, { spent, callId: null, changedAtStart })
  }
}

/** Ends the run's tasks or leaves them running, and lists them in the transcript. */
export function leaveTasks(run: Run, pendingEnding: PendingEnding): MaybePromise<undefined> {
  // After a crash, an agent whose end is already entered may still replay its record. Its events must be emitted before the run ends.
  return andThen(endOrLeaveTasks(run, pendingEnding), () => run.agents?.stopAll())
}

function endOrLeaveTasks(run: Run, pendingEnding: PendingEnding): MaybePromise<undefined> {
  const { steps } = run.ports
  const background = endsTasks(run, pendingEnding) ? backgroundOf(run) : null
  const reason = pendingEnding.signal.reason === 'user_requested' ? 'aborted' : 'ended'
  const left = (): ExternalInput | undefined =>
    externalInputOf(leftAgents(run), background === null ? [] : leaveBackground(background, reason))
  if (run.spent.openAgents !== undefined) {
    // Stopping the agents takes time, which counts for the run.
    const stopping = run.step<ExternalInput>('background:stop', () =>
      andThen(run.agents?.stopAll(), () => left() ?? {}),
    )
    return andThen(stopping, ({ value }) => enterLeaving(run, value))
  }
  if (background === null && !(steps.replaying && endsTasks(run, pendingEnding))) return undefined
  return andThen(steps.control(run.key('background:end'), left), (control) => enterLeaving(run, control ?? {}))
}

function enterLeaving(run: Run, { agents = [], left = [] }: Pick<ExternalInput, 'agents' | 'left'>): undefined {
  enterAgents(run, agents)
  enterLeft(run, left, notesOf(run, agents))
}

/** Works like `leaveTasks`, for a run that broke: only the end of the run is recorded. Never rejects. */
export async function leaveBrokenTasks(run: Run): Promise<void> {
  await run.agents?.stopAll()
  if (run.spent.openAgents === undefined) return
  enterLeaving(run, externalInputOf(leftAgents(run), []) ?? {})
}

function endsTasks({ spent }: Run, { signal }: PendingEnding): boolean {
  // A new message replaces this run, so the background commands of this run keep running.
  if (signal.source === 'abort' && signal.context['cause'] === 'interrupt') return false
  // A run that only compacts the conversation has started no tasks.
  return spent.compacting === null || signal.reason === 'user_requested'
}

/** No agent outlives its run, since it shares the run's budget. Agents that never began are reported as stopped too. */
function leftAgents({ agents, spent }: Run): ReturnType<RunBackgroundAgents['leftOver']> {
  if (agents !== undefined) return agents.leftOver()
  return (spent.openAgents ?? []).map(({ id, description }) => ({
    leftOver: { type: 'left', id, how: 'stopped', description },
    end: { id, spent: null },
  }))
}

function externalInputOf(
  agents: ReturnType<RunBackgroundAgents['leftOver']>,
  tasks: readonly TaskLeft[],
): ExternalInput | undefined {
  const left = [...agents.map((each) => each.leftOver), ...tasks]
  if (left.length === 0) return undefined
  return agents.length === 0 ? { left } : { left, agents: agents.map(({ end }) => end) }
}

/** The ending is already decided, so a failure of the port is ignored. */
function leaveBackground(background: Background, reason: 'ended' | 'aborted'): readonly TaskLeft[] {
  try {
    return leftOf(background.leave(reason))
  } catch {
    return []
  }
}

function enterLeft(run: Run, left: readonly TaskLeft[], notes: readonly TaskNote[]): void {
  const callIds = callIdsIn(run.transcript)
  const unreported = [...notes]
  for (const [how, label] of [
    ['stopped', 'Stopped when the run ended'],
    ['ended', 'Ended, but not reported to the model'],
    ['kept', 'Still running'],
  ] as const) {
    const matching = left.filter((each) => each.how === how)
    if (matching.length === 0) continue
    const message = `${label}: ${matching.map(({ description }) => description).join('; ')}.`
    run.append({
      kind: 'attachment',
      id: run.entryId(`tasks_${how}`),
      attachment: { type: 'informational', message },
      // The tasks and results of agents are reported to the next run.
      tasks: [...unreported.splice(0), ...matching.map((each) => withCallId(each, callIds))],
    })
  }
}

function withCallId(note: TaskEnded | TaskLeft, callIds: ReadonlyMap<string, string>): TaskNote {
  const callId = note.id === null ? undefined : callIds.get(note.id)
  return callId === undefined ? note : { ...note, callId }
}

/** The task notes in the entries. */
export function tasksIn(entries: Iterable<TranscriptEntry>): readonly TaskNote[] {
  const notes: TaskNote[] = []
  for (const entry of entries)
    if (entry.kind === 'user' || entry.kind === 'attachment') notes.push(...(entry.tasks ?? []))
  return notes
}

/** The calls that started the tasks. */
function callIdsIn(transcript: Transcript): ReadonlyMap<string, string> {
  return new Map(
    tasksIn(transcript).flatMap(({ type, id, callId }) =>
      type === 'started' && callId !== undefined ? [[id, callId] as const] : [],
    ),
  )
}

/** A task that began, and how its run left it. */
interface OpenTask {
  readonly started: TaskStarted
  left: TaskLeft | undefined
}

/**
 * Tasks that were reported to the model as started but not as ended, and that no longer exist. Without a background
 * port, only tasks that an earlier run left are reported, such as its agents, since the state of other tasks is unknown.
 */
function lostTasks({ transcript, spent }: Run, background: Background | null): readonly TaskEnded[] {
  const open = new Map<string, OpenTask>()
  for (const note of tasksIn(transcript)) {
    if (note.type === 'started') open.set(note.id, { started: note, left: undefined })
    else if (note.type === 'ended') open.delete(note.id)
    else {
      const known = note.id === null ? undefined : open.get(note.id)
      if (known !== undefined) known.left = note
    }
  }
  // Agents of this run continue in it.
  for (const { id } of spent.openAgents ?? []) open.delete(id)
  return [...open.values()].flatMap((task) => lostTask(task, background))
}

function lostTask({ started, left }: OpenTask, background: Background | null): readonly TaskEnded[] {
  const { id, description } = started
  if (left?.how === 'stopped' || left?.how === 'ended') {
    const { result } = left
    const resultField = result === undefined ? {} : { result }
    return left.how === 'stopped'
      ? [
          {
            type: 'ended',
            id,
            status: 'stopped',
            summary: endOfPreviousRun(description, 'stopped'),
            ...resultField,
          },
        ]
      : [
          {
            type: 'ended',
            id,
            status: left.status ?? 'completed',
            summary: endOfPreviousRun(description, 'ended'),
            ...resultField,
          },
        ]
  }
  if (background === null || background.knows(id)) return []
  const fate = background.fateOf?.(started) ?? unknownFate
  const summary =
    left === undefined
      ? lostInBackground(description, 'lost', fate)
      : lostInBackground(left.description, 'left running', fate)
  return [{ type: 'ended', id, status: 'unknown', summary }]
}
