import { lapsLeft } from '../limits/allowance.ts'
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
import { after, type Eventually } from '../values/eventually.ts'
import type { AgentEnd } from '../state/agent-figures.ts'
import type { ExternalInput } from '../steps/control.ts'
import type { Transcript, TranscriptEntry } from '../conversation/transcript.ts'
import type { AgentsBeside, Run } from './run.ts'
import { enterAgent, noteChanges, noteFileWork } from './enter-agent.ts'
import { abortDraft } from './pending-endings.ts'
import { ends, type Draft, type Outcome } from './outcome.ts'
import { answerAgain, backgroundEnd, endOfPreviousRun, lostInBackground, unknownFate } from './turn-texts.ts'

// Work that tools have started and that goes on beside the run (spec R-BACK-1 to R-BACK-7). What became of it comes in through `StepEngine.control`, as
// messages do. Waiting for it is a step, so that its time counts.

/** What goes on beside this run. What subagents start is told to the main loop. */
function backgroundOf({ context, identity }: Run): Background | null {
  return identity.depth === 0 ? context.background : null
}

/** Whether the model may still be asked: a run that has no turn left ends with the answer that is there. */
function hasTurnLeft({ spent, context }: Run): boolean {
  return lapsLeft('user_input', spent.laps, context.limits) > 0
}

type Waited =
  | { readonly kind: 'came' }
  | { readonly kind: 'over' }
  | { readonly kind: 'aborted'; readonly cause: AbortCause }

/** At an answer: waits until something that runs beside the run has ended, where that is wanted. An outcome when an abort came meanwhile. */
export function waitForTasks(run: Run, time = 1): Eventually<Outcome | undefined> {
  const name = `background:${run.spent.request}${time === 1 ? '' : `.${time}`}`
  const { steps } = run.ports
  const background = backgroundOf(run)
  // On record it was waited, whatever the program says now.
  const isDue = steps.replaying ? steps.peek(run.key(name)) !== 'absent' : isAwaited(run, background)
  if (!isDue) return undefined
  run.emit({ type: 'notice', message: 'Waiting for background tasks.' })
  const step = run.step<Waited>(name, () => waitForEnd(run, background))
  return after(step, ({ value, replayed }) => {
    if (value.kind === 'aborted') return ends(abortDraft(run, value.cause, 'streaming'))
    // What had come before a kill may take a while to come again: an agent is answered from its own record first.
    return replayed && value.kind === 'came' ? waitForTasks(run, time + 1) : undefined
  })
}

function isAwaited(run: Run, background: Background | null): boolean {
  // Nothing is checked while agents of the run work: a run with goals waits for them.
  const waits = background === null || background.atEnd === 'wait'
  if (!waits && (run.spent.goal === undefined || run.agents?.isAnyWorking !== true)) return false
  if (run.ports.inbox.hasAny || !hasTurnLeft(run) || hasAnyEnded(run, background)) return false
  return run.agents?.isAnyWorking === true || (background !== null && background.running().length > 0)
}

function hasAnyEnded({ agents }: Run, background: Background | null): boolean {
  return agents?.hasEnded === true || (background !== null && background.ended().length > 0)
}

/** The part of the time that is left in which nothing but waiting is done: the rest is for the answer to what comes. */
export const shareForWaiting = 0.9
/** The longest wait of a run without a time limit, where no port says another. */
const longestWaitMs = 600_000

function waitForEnd(run: Run, background: Background | null): Eventually<Waited> {
  const { abort, inbox, deadline } = run.ports
  const cause = abort.causeNow()
  if (cause !== undefined) return { kind: 'aborted', cause }
  const leftMs = deadline.limitMs - deadline.usedMs
  const longestMs = leftMs === Infinity ? (background?.waitMs ?? longestWaitMs) : leftMs * shareForWaiting
  return new Promise((resolve) => {
    const settle = (waited: Waited): void => {
      for (const stop of stops) stop()
      resolve(waited)
    }
    const came = (): void => settle({ kind: 'came' })
    const onAbort = (): void => settle({ kind: 'aborted', cause: abort.cause ?? 'user' })
    abort.signal.addEventListener('abort', onAbort)
    const stops: readonly (() => void)[] = [
      () => abort.signal.removeEventListener('abort', onAbort),
      background?.onEnd(came) ?? noStop,
      run.agents?.onEnd(came) ?? noStop,
      inbox.onArrival(came),
      // It stands still while an agent waits for its service, or for a person.
      deadline.after(longestMs, () => settle({ kind: 'over' })),
    ]
    if (abort.cause !== undefined) onAbort()
    else if (inbox.hasAny || hasAnyEnded(run, background)) came()
  })
}

const noStop = (): void => {}

/** What came to an end beside the run, as it goes on record. */
type Ended = Pick<ExternalInput, 'tasks' | 'agents'>

/** Asked at a checkpoint, live: what ended since it was last asked, and what a process before this one has left open. */
export function endedTasks(run: Run, place: 'before_turn' | 'end'): Ended | undefined {
  if (run.identity.depth > 0 || (place === 'end' && !hasTurnLeft(run))) return undefined
  const background = backgroundOf(run)
  const lost = run.hasLookedForTasks ? [] : lostTasks(run, background)
  run.hasLookedForTasks = true
  const agents = run.agents?.ended() ?? []
  const tasks = [...lost, ...endsOf(background?.ended() ?? []), ...agents.map(({ task }) => task)]
  if (tasks.length === 0) return undefined
  if (agents.length === 0) return { tasks }
  return { tasks, agents: agents.map(({ end }) => end) }
}

/** Tells the model what ended, and enters what agents spent. */
export function enterTasks(run: Run, { tasks: ended = [], agents = [] }: Ended, place: 'before_turn' | 'end'): void {
  enterAgents(run, agents)
  if (ended.length === 0) return
  // What agents changed is in their figures; a command in the background may have changed anything until its end.
  if (ended.length > agents.length) noteChanges(run, 1, null)
  for (const { fileWork } of ended) if (fileWork !== undefined) noteFileWork(run, fileWork)
  run.context.background?.told(ended.map(({ id }) => id))
  const lines = ended.map(({ id, summary, result }) => backgroundEnd(id, summary, result, mostOfResult))
  if (place === 'end') lines.push(answerAgain)
  const callIds = callIdsIn(run.transcript)
  run.append({
    kind: 'user',
    id: run.entryId('tasks'),
    message: { role: 'user', content: [{ type: 'text', text: lines.join('\n') }] },
    origin: 'loop',
    // What an agent came to is in the message.
    tasks: [...notesOf(run, agents), ...ended.map(({ result: _, fileWork: __, ...each }) => withCallId(each, callIds))],
  })
}

/** What agents started and saw end, but for what has ended since. */
function notesOf({ transcript }: Run, agents: readonly AgentEnd[]): readonly TaskNote[] {
  const notes = agents.flatMap(({ tasks = [] }) => tasks)
  if (notes.length === 0) return notes
  const ended = new Set<string | null>(tasksIn(transcript).flatMap(({ type, id }) => (type === 'ended' ? [id] : [])))
  return notes.filter(({ id }) => !ended.has(id))
}

// Spec R-BACK-3a.
/** Tools told of these ends with their results, so that the loop does not. */
export function noteToldByTools(run: Run, notes: readonly TaskNote[]): void {
  const ids = notes.flatMap(({ type, id }) => (type === 'ended' && id !== null ? [id] : []))
  if (ids.length > 0) backgroundOf(run)?.told(ids)
}

/** The most of what an agent says that its parent is shown: the rest of it is left out of the middle. */
const mostOfResult = 30_000

/** What agents of the background spent comes into the figures of the run. */
function enterAgents(run: Run, ended: readonly AgentEnd[]): void {
  for (const { id, spent } of ended) {
    const before = run.spent.openAgents ?? []
    const { changedLines: changedAtStart = 0 } = before.find((open) => open.id === id) ?? {}
    const openAgents = before.filter((open) => open.id !== id)
    run.update({ openAgents: openAgents.length === 0 ? undefined : openAgents })
    enterAgent(run, { spent, callId: null, changedAtStart })
  }
}

/** The run ends: what still runs is ended or left, and named. */
export function leaveTasks(run: Run, draft: Draft): Eventually<undefined> {
  // After a kill one that is entered already may still be answered from its record: what it tells is told before the run ends.
  return after(leaving(run, draft), () => run.agents?.stopAll())
}

function leaving(run: Run, draft: Draft): Eventually<undefined> {
  const { steps } = run.ports
  const background = leavesTasks(run, draft) ? backgroundOf(run) : null
  const why = draft.signal.reason === 'user_requested' ? 'aborted' : 'ended'
  const left = (): ExternalInput | undefined =>
    controlOf(leftAgents(run), background === null ? [] : whatIsLeft(background, why))
  if (run.spent.openAgents !== undefined) {
    // Their ends take a while, which is the run's.
    const stopping = run.step<ExternalInput>('background:stop', () => after(run.agents?.stopAll(), () => left() ?? {}))
    return after(stopping, ({ value }) => enterLeaving(run, value))
  }
  if (background === null && !(steps.replaying && leavesTasks(run, draft))) return undefined
  return after(steps.control(run.key('background:end'), left), (control) => enterLeaving(run, control ?? {}))
}

function enterLeaving(run: Run, { agents = [], left = [] }: Pick<ExternalInput, 'agents' | 'left'>): undefined {
  enterAgents(run, agents)
  enterLeft(run, left, notesOf(run, agents))
}

/** The same for a run that broke: nothing is recorded but the end of the run. Never rejects. */
export async function leaveBrokenTasks(run: Run): Promise<void> {
  await run.agents?.stopAll()
  if (run.spent.openAgents === undefined) return
  enterLeaving(run, controlOf(leftAgents(run), []) ?? {})
}

function leavesTasks({ spent }: Run, { signal }: Draft): boolean {
  // A new message takes the place of this run: commands beside it go on.
  if (signal.source === 'abort' && signal.context['cause'] === 'interrupt') return false
  // A run that makes the conversation shorter has started nothing.
  return spent.compacting === null || signal.reason === 'user_requested'
}

/** No agent outlives the run that started it: it draws on its budget. Those that never began are told as stopped, too. */
function leftAgents({ agents, spent }: Run): ReturnType<AgentsBeside['left']> {
  if (agents !== undefined) return agents.left()
  return (spent.openAgents ?? []).map(({ id, description }) => ({
    left: { type: 'left', id, how: 'stopped', description },
    end: { id, spent: null },
  }))
}

function controlOf(agents: ReturnType<AgentsBeside['left']>, tasks: readonly TaskLeft[]): ExternalInput | undefined {
  const left = [...agents.map((each) => each.left), ...tasks]
  if (left.length === 0) return undefined
  return agents.length === 0 ? { left } : { left, agents: agents.map(({ end }) => end) }
}

/** The ending stands: a port that throws has nothing to say. */
function whatIsLeft(background: Background, why: 'ended' | 'aborted'): readonly TaskLeft[] {
  try {
    return leftOf(background.leave(why))
  } catch {
    return []
  }
}

function enterLeft(run: Run, left: readonly TaskLeft[], notes: readonly TaskNote[]): void {
  const callIds = callIdsIn(run.transcript)
  const untold = [...notes]
  for (const [how, words] of [
    ['stopped', 'Stopped when the run ended'],
    ['ended', 'Ended, and not told to the model any more'],
    ['kept', 'Still running'],
  ] as const) {
    const those = left.filter((each) => each.how === how)
    if (those.length === 0) continue
    const message = `${words}: ${those.map(({ description }) => description).join('; ')}.`
    run.append({
      kind: 'attachment',
      id: run.entryId(`tasks_${how}`),
      attachment: { type: 'informational', message },
      // What agents came to, and what they left running, is for the run after this one.
      tasks: [...untold.splice(0), ...those.map((each) => withCallId(each, callIds))],
    })
  }
}

function withCallId(note: TaskEnded | TaskLeft, callIds: ReadonlyMap<string, string>): TaskNote {
  const callId = note.id === null ? undefined : callIds.get(note.id)
  return callId === undefined ? note : { ...note, callId }
}

/** What entries tell of tasks. */
export function tasksIn(entries: Iterable<TranscriptEntry>): readonly TaskNote[] {
  const notes: TaskNote[] = []
  for (const entry of entries)
    if (entry.kind === 'user' || entry.kind === 'attachment') notes.push(...(entry.tasks ?? []))
  return notes
}

/** Which calls started the tasks. */
function callIdsIn(transcript: Transcript): ReadonlyMap<string, string> {
  return new Map(
    tasksIn(transcript).flatMap(({ type, id, callId }) =>
      type === 'started' && callId !== undefined ? [[id, callId] as const] : [],
    ),
  )
}

/** A task that began, and what was made of it when its run ended. */
interface OpenTask {
  readonly started: TaskStarted
  left: TaskLeft | undefined
}

/**
 * Tasks of which the model was told that they began and not that they ended, and that are no longer there. Without a port what an earlier run left
 * is told, such as its agents; of anything else nobody can say whether it is there.
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
  // Agents of this run go on in it.
  for (const { id } of spent.openAgents ?? []) open.delete(id)
  return [...open.values()].flatMap((task) => lostTask(task, background))
}

function lostTask({ started, left }: OpenTask, background: Background | null): readonly TaskEnded[] {
  const { id, description } = started
  if (left?.how === 'stopped' || left?.how === 'ended') {
    const { result } = left
    const said = result === undefined ? {} : { result }
    return left.how === 'stopped'
      ? [
          {
            type: 'ended',
            id,
            status: 'stopped',
            summary: endOfPreviousRun(description, 'stopped'),
            ...said,
          },
        ]
      : [
          {
            type: 'ended',
            id,
            status: left.status ?? 'completed',
            summary: endOfPreviousRun(description, 'ended'),
            ...said,
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
