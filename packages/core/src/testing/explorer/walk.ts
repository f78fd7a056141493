import type { Transition } from '../../allowance.ts'
import type { Ledger } from '../../budget/ledger.ts'
import type { LoopEvent } from '../../events.ts'
import { after, type Eventually } from '../../eventually.ts'
import { loop } from '../../iterate.ts'
import type { Json } from '../../json.ts'
import { ledgerOf, settingsOf } from '../../options.ts'
import { replay } from '../../resume.ts'
import { startRun } from '../../start.ts'
import type { Lap, RunState } from '../../state.ts'
import { createMemorySteps, type MemorySteps, type StepRecord } from '../../steps/memory.ts'
import { foldRun, inboxIdsIn } from '../../steps/fold.ts'
import type { EffectScope, StepOptions, Steps } from '../../steps/steps.ts'
import type { Terminal, TerminalReason } from '../../stop/terminal.ts'
import {
  checkEffects,
  checkReplay,
  checkRun,
  checkSnapshots,
  checkTranscript,
  terminalOf,
  type Walked,
} from './checks.ts'
import type { Path } from './choices.ts'
import type { Kills } from './kills.ts'
import { createSnapshots, noSnapshots } from './snapshots.ts'
import { assertMessages, assertSame, assertTold, fail, isLive, messagesOf } from './told.ts'
import { createWorld, type HandedIn, type HandedInBefore, type Scenario, type World } from './world.ts'

export interface PathReport {
  readonly terminal: TerminalReason
  readonly transitions: readonly Transition[]
  readonly kills: number
}

/** Goes one path: the run, its replay, and kills with resume and replay. Throws where a promise is broken. */
export async function walkPath(scenario: Scenario, path: Path, kills: Kills): Promise<PathReport> {
  const world = createWorld(scenario, path, createSnapshots())
  const whole = await walk(world, startOf(scenario), { leaves: scenario.abandons === true })
  if (whole.left) return abandoned(whole, world)
  checkRun(whole, world)
  await checkReplay(whole, world.options)
  const killed = await killAll(scenario, path, whole, kills)
  const transitions = whole.events.flatMap((event) => (event.type === 'lap' ? [event.transition] : []))
  return { terminal: whole.terminal.reason, transitions, kills: killed }
}

/** Goes a path only to learn what is asked on it. */
export async function skimPath(scenario: Scenario, path: Path): Promise<void> {
  const world = createWorld(scenario, path, noSnapshots)
  await walk(world, startOf(scenario), { leaves: scenario.abandons === true })
}

function startOf(scenario: Scenario): RunState {
  return startRun({ prompt: scenario.prompt ?? 'do it' })
}

/** Nobody listens any more: what was told begins the transcript; there is one terminal, a valid transcript, and a replay that ends the same and tells all. */
async function abandoned(whole: Walked, world: World): Promise<PathReport> {
  const { terminal, records } = whole
  const entries = whole.state.transcript.since(0)
  checkTranscript(whole, 'the abandoned run')
  checkSnapshots(world, 'the abandoned run')
  const told = messagesOf(whole.events)
  assertMessages(told, entries.slice(0, told.length), 'the abandoned run')
  if (records.filter((record) => record.type === 'end' && record.scope === '').length !== 1)
    fail('the abandoned run has no ending on record')
  const replayed = await replay(records, world.options)
  assertSame(terminalOf(replayed.terminal), terminalOf(terminal), 'the terminal of the abandoned run')
  assertMessages(messagesOf(replayed.events), entries, 'the replay of the abandoned run')
  return { terminal: terminal.reason, transitions: [], kills: 0 }
}

async function killAll(scenario: Scenario, path: Path, whole: Walked, kills: Kills): Promise<number> {
  let lines: readonly string[] | undefined
  let records: readonly StepRecord[] = []
  let killed = 0
  for (const [index, record] of whole.records.slice(0, -1).entries()) {
    const length = index + 1
    if (!kills(path, record, length)) continue
    lines ??= whole.records.map((each) => JSON.stringify(each))
    if (records.length === 0) records = lines.map((line) => JSON.parse(line) as StepRecord)
    await killAfter(records.slice(0, length), lines, scenario, path, whole)
    killed++
  }
  return killed
}

/** The process ends after so many records; another one goes on from what is on record, as JSON. */
async function killAfter(
  onRecord: readonly StepRecord[],
  lines: readonly string[],
  scenario: Scenario,
  path: Path,
  whole: Walked,
): Promise<void> {
  const folded = foldRun(onRecord)
  if (folded.kind === 'ended') return
  const inbox = inboxAtKill(whole.handedIn, onRecord)
  // The code that goes on is the code that ran: a part of the resumes is enough to see a write.
  const snapshots = onRecord.length % 8 === 0 ? createSnapshots() : noSnapshots
  const world = createWorld(scenario, path.again(), snapshots, inbox)
  const ledger = ledgerOf(settingsOf(world.options))
  ledger.restore(folded.spent.settled, folded.spent.unknown)
  const steps = createMemorySteps({ past: folded.past, replay: folded.replay, clock: world.clock })
  const resumed = await walk(world, folded.state, { steps, ledger, resumed: true, recordedUntil: folded.recordedUntil })
  const where = `killed after record ${onRecord.length} of ${whole.records.length}`
  checkRun(resumed, world, where)
  checkEffects(onRecord, resumed.effects, where)
  // What waits in the inbox may be taken earlier now, an abort may be lost with the process, and an unknown outcome is told as such: only then may the end be another.
  const sameFuture = inbox.waiting.length === 0 && openIntents(onRecord) === 0
  if (sameFuture) assertSame(untimed(resumed.terminal), untimed(whole.terminal), `${where}: the terminal`)
  // The same record has the same replay, which was looked at already.
  if (isSame(resumed.records, lines, onRecord.length)) return checkTold(resumed, whole, where)
  await checkReplay(resumed, world.options, where)
}

/** Whether the record is that of the uninterrupted run, from the kill on: before it, it is by construction. */
function isSame(records: readonly StepRecord[], lines: readonly string[], from: number): boolean {
  if (records.length !== lines.length) return false
  return records.slice(from).every((record, index) => JSON.stringify(record) === lines[from + index])
}

/** A resume that came to the same record told the same, from its open turn on. */
function checkTold(resumed: Walked, whole: Walked, where: string): void {
  assertTold(resumed.events, whole.events.slice(whole.events.length - resumed.events.length), `${where}: the events`)
}

const nothingHandedIn: HandedInBefore = { labels: new Set(), waiting: [], idsTaken: [] }

/** What had been handed in when the process ended, and what of it no record shows as taken: it is handed in again. */
function inboxAtKill(handedIn: readonly HandedIn[], records: readonly StepRecord[]): HandedInBefore {
  if (handedIn.length === 0) return nothingHandedIn
  const before = handedIn.filter((each) => each.records <= records.length)
  const taken = { stop: 0, abort: 0 }
  let lastSet = -1
  for (const [index, record] of records.entries()) {
    if (/"abort(ed)?"/.test(JSON.stringify(record))) taken.abort++
    if (record.type !== 'control') continue
    taken.stop += record.control.signals?.length ?? 0
    if (record.control.settings !== undefined) lastSet = index
  }
  const idsTaken = inboxIdsIn(records)
  const waits = ({ what, label, records: then }: HandedIn): boolean => {
    if (what === 'steer' || what === 'follow_up') return !idsTaken.includes(label)
    // All that was set is taken together.
    return what === 'settings' ? then > lastSet : taken[what]-- <= 0
  }
  return { labels: new Set(before.map(({ label }) => label)), waiting: before.filter(waits), idsTaken }
}

interface WalkOptions {
  readonly steps?: MemorySteps
  readonly ledger?: Ledger
  readonly resumed?: boolean
  readonly recordedUntil?: number
  /** The consumer may leave. */
  readonly leaves?: boolean
}

async function walk(world: World, start: RunState, walkOptions: WalkOptions): Promise<Walked> {
  const { resumed = false, recordedUntil = 0, leaves = false } = walkOptions
  const steps = walkOptions.steps ?? createMemorySteps({ clock: world.clock })
  const ledger = walkOptions.ledger ?? ledgerOf(settingsOf(world.options))
  const laps: Lap[] = []
  const running = loop(
    start,
    { ...world.options, steps: withMoments(steps, { steps, world, laps }) },
    { inbox: world.inbox, ledger, resumed, recordedUntil },
  )
  const reader = running[Symbol.asyncIterator]()
  const events: LoopEvent[] = []
  let left = false
  const hasSetLimits = start.spent.settings?.limits !== undefined
  const { limits } = ledger
  if (leaves) {
    // At a moment of the run, whatever of its events has been read by then.
    world.onLeave = () => {
      left = true
      void reader.return?.()
    }
  }
  for (let next = await reader.next(); next.done !== true; next = await reader.next()) {
    const event = next.value
    world.snapshots.freeze(event)
    if (!isLive(event)) events.push(event)
    // A limit that was set may be below what is spent.
    if (hasSetLimits || ledger.limits !== limits) continue
    const { available } = ledger.figures()
    if (available.nanos < 0 || available.tokens < 0) fail('the ledger went below zero')
  }
  const { terminal, state } = await running.ended
  const { effects, handedIn } = world
  return { start, terminal, state, events, records: steps.records, laps, effects, handedIn, resumed, left }
}

interface Moments {
  readonly steps: MemorySteps
  readonly world: World
  readonly laps: Lap[]
}

/** An abort, a message, a stop or a setting may come before, in and after every await. What goes on record is frozen. */
function withMoments(inner: Steps, moments: Moments): Steps {
  const { steps, world, laps } = moments
  return {
    get replaying() {
      return inner.replaying
    },
    peek: (key) => inner.peek(key),
    begin(start) {
      world.snapshots.freeze(start)
      return inner.begin(start)
    },
    run<T>(key: string, effect: (scope: EffectScope) => Eventually<T>, options: StepOptions<T>) {
      world.moment(`before ${key}`, steps.records.length)
      let isUnfinished = false
      const result = inner.run(
        key,
        (scope) => {
          const work = effect(scope)
          world.moment(`in ${key}`, steps.records.length)
          return work
        },
        { ...options, ...(options.onUnfinished !== 'rerun' && { onUnfinished: noting(options.onUnfinished) }) },
      )
      function noting(meaning: (intent: Json) => T) {
        return (intent: Json): T => {
          isUnfinished = true
          return meaning(intent)
        }
      }
      return after(result, (step) => {
        // What came in during an effect came in, whether its record or the effect itself answers.
        if (step.replayed && !isUnfinished) world.moment(`in ${key}`, steps.records.length)
        world.moment(`after ${key}`, steps.records.length)
        world.snapshots.freeze(step)
        return step
      })
    },
    scope: (name) => withMoments(inner.scope(name), moments),
    lap(lap) {
      world.snapshots.freeze(lap)
      laps.push(lap)
      inner.lap(lap)
    },
    control: (key, poll) => inner.control(key, poll),
    async sleep(key, ms, options) {
      const sleeping = inner.sleep(key, ms, options)
      world.moment(`in ${key}`, steps.records.length)
      await sleeping
      world.moment(`after ${key}`, steps.records.length)
    },
    wait: (key, options) => inner.wait(key, options),
    end: (terminal) => inner.end(terminal),
  }
}

/** Intents on record without a result, other than those of steps that may simply run again. */
function openIntents(records: readonly StepRecord[]): number {
  const open = new Set<string>()
  for (const record of records) {
    if (record.type === 'intent') open.add(record.key)
    if (record.type === 'result') open.delete(record.key)
  }
  return open.size
}

/** Work that had been speculated on before the kill is done again: the time it takes is not the same. */
function untimed(terminal: Terminal): unknown {
  const { summary, ...rest } = terminal
  return terminalOf({ ...rest, durationMs: 0, summary: { ...summary, apiMs: 0 } })
}
