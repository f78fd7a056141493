import { lapsLeft } from '../allowance.ts'
import {
  endsOf,
  leftOf,
  type Background,
  type TaskEnded,
  type TaskLeft,
  type TaskNote,
  type TaskStarted,
} from '../background.ts'
import type { AbortCause } from '../cancel/abort.ts'
import { after, type Eventually } from '../eventually.ts'
import type { Transcript } from '../transcript.ts'
import { abortDraft } from './endings.ts'
import { ends, type Draft, type Outcome } from './outcome.ts'
import type { Run } from './run.ts'

// Work that tools have started and that goes on beside the run (spec R-BACK-1 to R-BACK-7). What became of it comes in through `Steps.control`, as
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
export function waitForTasks(run: Run): Eventually<Outcome | undefined> {
  const name = `background:${run.spent.request}`
  const { steps } = run.ports
  const background = backgroundOf(run)
  // On record it was waited, whatever the program says now.
  const isDue = steps.replaying
    ? steps.peek(run.key(name)) !== 'absent'
    : background !== null && isAwaited(run, background)
  if (!isDue) return undefined
  run.emit({ type: 'notice', message: 'Waiting for what runs in the background.' })
  const step = run.step<Waited>(name, () => (background === null ? { kind: 'over' } : waitForEnd(run, background)))
  return after(step, ({ value }) =>
    value.kind === 'aborted' ? ends(abortDraft(run, value.cause, 'streaming')) : undefined,
  )
}

function isAwaited(run: Run, background: Background): boolean {
  if (background.atEnd !== 'wait' || run.ports.inbox.hasAny || !hasTurnLeft(run)) return false
  return background.ended().length === 0 && background.running().length > 0
}

/** The part of the time that is left in which nothing but waiting is done: the rest is for the answer to what comes. */
const shareForWaiting = 0.9

function waitForEnd(run: Run, background: Background): Eventually<Waited> {
  const { abort, inbox, deadline } = run.ports
  if (abort.cause !== undefined) return { kind: 'aborted', cause: abort.cause }
  const leftMs = deadline.limitMs - deadline.usedMs
  const longestMs = leftMs === Infinity ? background.waitMs : leftMs * shareForWaiting
  return new Promise((resolve) => {
    const settle = (waited: Waited): void => {
      for (const stop of stops) stop()
      resolve(waited)
    }
    const onAbort = (): void => settle({ kind: 'aborted', cause: abort.cause ?? 'user' })
    abort.signal.addEventListener('abort', onAbort)
    const stops: readonly (() => void)[] = [
      () => abort.signal.removeEventListener('abort', onAbort),
      background.onEnd(() => settle({ kind: 'came' })),
      inbox.onArrival(() => settle({ kind: 'came' })),
      run.context.timers.after(longestMs, () => settle({ kind: 'over' })),
    ]
    if (abort.cause !== undefined) onAbort()
    else if (inbox.hasAny || background.ended().length > 0) settle({ kind: 'came' })
  })
}

/** Asked at a checkpoint, live: what ended since it was last asked, and what a process before this one has left open. */
export function endedTasks(run: Run, place: 'before_turn' | 'end'): readonly TaskEnded[] | undefined {
  const background = backgroundOf(run)
  if (background === null || (place === 'end' && !hasTurnLeft(run))) return undefined
  const lost = run.hasLookedForTasks ? [] : lostTasks(run.transcript, background)
  run.hasLookedForTasks = true
  const ended = [...lost, ...endsOf(background.ended())]
  return ended.length === 0 ? undefined : ended
}

/** Tells the model what ended. */
export function enterTasks(run: Run, ended: readonly TaskEnded[], place: 'before_turn' | 'end'): void {
  run.context.background?.told(ended.map(({ id }) => id))
  const lines = ended.map(({ id, summary }) => `[${id}] ${summary}`)
  if (place === 'end') lines.push('Your next answer takes the place of the one before: give it in full.')
  const callIds = callIdsIn(run.transcript)
  run.append({
    kind: 'user',
    id: run.entryId('tasks'),
    message: { role: 'user', content: [{ type: 'text', text: lines.join('\n') }] },
    origin: 'loop',
    tasks: ended.map((each) => withCallId(each, callIds)),
  })
}

/** The run ends: what still runs is ended or left, and named. */
export function leaveTasks(run: Run, draft: Draft): Eventually<undefined> {
  const background = backgroundOf(run)
  // A new message takes the place of this run: what runs beside it goes on.
  const { cause } = draft.signal.context
  if (draft.signal.source === 'abort' && cause === 'interrupt') return undefined
  const { steps } = run.ports
  if (background === null && !steps.replaying) return undefined
  // A run that makes the conversation shorter has started nothing.
  if (run.spent.compacting !== null && draft.signal.reason !== 'user_requested') return undefined
  const why = draft.signal.reason === 'user_requested' ? 'aborted' : 'ended'
  const polled = steps.control(run.key('background:end'), () => {
    const left = background === null ? [] : whatIsLeft(background, why)
    return left.length === 0 ? undefined : { left }
  })
  return after(polled, (control) => {
    if (control?.left !== undefined) enterLeft(run, control.left)
    return undefined
  })
}

/** The ending stands: a port that throws has nothing to say. */
function whatIsLeft(background: Background, why: 'ended' | 'aborted'): readonly TaskLeft[] {
  try {
    return leftOf(background.leave(why))
  } catch {
    return []
  }
}

function enterLeft(run: Run, left: readonly TaskLeft[]): void {
  const callIds = callIdsIn(run.transcript)
  for (const [how, words] of [
    ['stopped', 'Stopped when the run ended'],
    ['kept', 'Still running'],
  ] as const) {
    const those = left.filter((each) => each.how === how)
    if (those.length === 0) continue
    const message = `${words}: ${those.map(({ description }) => description).join('; ')}.`
    run.append({
      kind: 'attachment',
      id: run.entryId(`tasks_${how}`),
      attachment: { type: 'informational', message },
      tasks: those.map((each) => withCallId(each, callIds)),
    })
  }
}

function withCallId(note: TaskEnded | TaskLeft, callIds: ReadonlyMap<string, string>): TaskNote {
  const callId = note.id === null ? undefined : callIds.get(note.id)
  return callId === undefined ? note : { ...note, callId }
}

function notesOf(transcript: Transcript): readonly TaskNote[] {
  const notes: TaskNote[] = []
  for (const entry of transcript)
    if (entry.kind === 'user' || entry.kind === 'attachment') notes.push(...(entry.tasks ?? []))
  return notes
}

/** Which calls started the tasks. */
function callIdsIn(transcript: Transcript): ReadonlyMap<string, string> {
  return new Map(
    notesOf(transcript).flatMap(({ type, id, callId }) =>
      type === 'started' && callId !== undefined ? [[id, callId] as const] : [],
    ),
  )
}

/** A task that began, and what was made of it when its run ended. */
interface OpenTask {
  readonly started: TaskStarted
  left: TaskLeft | undefined
}

/** Tasks of which the model was told that they began and not that they ended, and that are no longer there. */
function lostTasks(transcript: Transcript, background: Background): readonly TaskEnded[] {
  const open = new Map<string, OpenTask>()
  for (const note of notesOf(transcript)) {
    if (note.type === 'started') open.set(note.id, { started: note, left: undefined })
    else if (note.type === 'ended') open.delete(note.id)
    else {
      const known = note.id === null ? undefined : open.get(note.id)
      if (known !== undefined) known.left = note
    }
  }
  return [...open.values()].flatMap((task) => lostTask(task, background))
}

function lostTask({ started, left }: OpenTask, background: Background): readonly TaskEnded[] {
  const { id, description } = started
  if (left?.how === 'stopped')
    return [{ type: 'ended', id, status: 'stopped', summary: `${description} was stopped when the run before ended.` }]
  if (background.knows(id)) return []
  const was =
    left === undefined
      ? `${description} is lost: the process that ran it is gone.`
      : `${left.description} was left running when the run before ended, and cannot be reached by its id any more.`
  const fate = background.fateOf?.(started) ?? 'Whether it ended, and how, is unknown.'
  return [{ type: 'ended', id, status: 'unknown', summary: `${was} ${fate}` }]
}
