import { certificate, startRun, type Bound, type RunEvent, type StepRecord } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { transcriptProblems } from '@halting/core/testing'
import type { DrawnRun } from './drawn-run.ts'
import type { KilledRun } from './killed-run.ts'
import type { GoalWorld, MadeCheck } from './goal-world.ts'

// What must hold for every random run, judged by the tree, the executed checks and the emitted events. Nothing here
// asks the loop whether the goals hold.

type GoalEnd = Extract<RunEvent, { readonly type: 'goal_end' }>

/** Returns the violations; empty if there are none. */
export function problemsOf(drawn: DrawnRun, run: KilledRun): readonly string[] {
  return [
    ...ofRecord(run),
    ...ofRounds(run),
    ...ofChecks(run),
    ...ofResult(run),
    ...ofTries(drawn, run),
    ...ofBounds(drawn, run),
    ...ofReplay(run),
  ]
}

/** At most one result, and a conversation that services accept. */
function ofRecord({ records, processes, state }: KilledRun): readonly string[] {
  const ends = records.filter((record) => record.type === 'end' && record.scope === '').length
  const endings = processes.map(({ events }) => events.filter(({ type }) => type === 'run_end').length)
  const next = startRun({ transcript: state.transcript, prompt: 'and now?' }).transcript.messages()
  return [
    ...(ends === 1 ? [] : [`there are ${ends} endings on record`]),
    ...(endings.reduce((sum, each) => sum + each, 0) === 1 ? [] : [`emitted endings: ${endings.join(', ')}`]),
    ...transcriptProblems(next),
  ]
}

const isLive: ReadonlySet<RunEvent['type']> = new Set<RunEvent['type']>([
  'budget_wait',
  'figures',
  'model_update',
  'question_start',
  'question_end',
  'tool_running',
  'tool_update',
  'background',
])

function ofReplay({ replayed, terminal, processes }: KilledRun): readonly string[] {
  const wrong: string[] = []
  const looked = (each: typeof terminal): string => JSON.stringify({ ...each, error: each.error?.message })
  if (looked(replayed.terminal) !== looked(terminal))
    wrong.push(`the replay ends otherwise: ${looked(replayed.terminal)} and ${looked(terminal)}`)
  // Parallel agents may emit their events in any order.
  const own = (events: readonly RunEvent[]): readonly string[] =>
    events
      .filter((event) => !isLive.has(event.type) && event.type !== 'agent')
      // A process that resumes the run says so. The run itself starts once.
      .filter((event) => event.type !== 'run_start' || event.isResumed !== true)
      .map((event) => JSON.stringify(event))
  const [all, last] = [own(replayed.events), own(processes.at(-1)?.events ?? [])]
  const tail = all.slice(all.length - last.length)
  const at = last.findIndex((event, index) => event !== tail[index])
  if (at >= 0) wrong.push(`the replay differs at ${at}: ${String(tail[at])} and ${String(last[at])}`)
  return wrong
}

function endsOf(events: readonly RunEvent[]): readonly GoalEnd[] {
  return events.flatMap((event) => (event.type === 'goal_end' ? [event] : []))
}

/** Including those of agents. */
function allEndsOf(events: readonly RunEvent[]): readonly GoalEnd[] {
  return events.flatMap((event) => (event.type === 'agent' ? allEndsOf([event.event]) : endsOf([event])))
}

interface Round {
  readonly isOfRun: boolean
  readonly text: string
}

const textOf = ({ met, checks, tampered }: { readonly [key in 'met' | 'checks' | 'tampered']?: unknown }): string =>
  JSON.stringify([met, checks, tampered])

function roundsOnRecord(records: readonly StepRecord[]): readonly Round[] {
  return records.flatMap((record) => {
    if (record.type !== 'result' || !/goal:\d+:(?:baseline|answer|turn|limit)$/.test(record.key)) return []
    const { value } = record
    return isJsonObject(value) ? [{ isOfRun: !record.key.includes('agent:'), text: textOf(value) }] : []
  })
}

/**
 * Each recorded round was emitted, and each emitted one is recorded. Agents may be an exception: some were not resumed.
 */
function ofRounds({ records, replayed, processes }: KilledRun): readonly string[] {
  const rounds = roundsOnRecord(records)
  const own = rounds.filter(({ isOfRun }) => isOfRun).map(({ text }) => text)
  const replayedEnds = endsOf(replayed.events).map(textOf)
  const wrong: string[] = []
  if (JSON.stringify(own) !== JSON.stringify(replayedEnds))
    wrong.push(`recorded and emitted rounds differ: ${own.join(' ')} and ${replayedEnds.join(' ')}`)
  const all = new Set(rounds.map(({ text }) => text))
  const live = processes.flatMap(({ events }) => allEndsOf(events).map(textOf))
  for (const text of live) if (!all.has(text)) wrong.push(`emitted and not recorded: ${text}`)
  for (const text of own) if (!live.includes(text)) wrong.push(`recorded and never emitted: ${text}`)
  return wrong
}

const checkOf = (world: GoalWorld, tail: string): MadeCheck | undefined => {
  const number = /^check (\d+)$/.exec(tail.split('\n')[0] ?? '')?.[1]
  return number === undefined ? undefined : world.checks[Number(number)]
}

/** Each emitted check was executed with this result, for this goal. */
function ofChecks({ world, replayed }: KilledRun): readonly string[] {
  return allEndsOf(replayed.events).flatMap(({ met, checks, tampered }) => {
    const wrong = checks.flatMap((check) => {
      const made = checkOf(world, check.tail)
      if (check.timedOut === true) return []
      return made?.met === check.met && made.name === check.name ? [] : [`never made: ${JSON.stringify(check)}`]
    })
    const holds = tampered.length === 0 && checks.length > 0 && checks.every((check) => check.met)
    return met === holds ? wrong : [...wrong, `a round is ${String(met)} and its checks are not`]
  })
}

const mayChange: ReadonlySet<string> = new Set(['Edit', 'Broken', 'Bash', 'Agent', 'Beside'])

/** Something may have changed: by a call that is not read-only, or by agents. */
function isChange(event: RunEvent): boolean {
  if (event.type === 'agent') return true
  if (event.type === 'message') return 'tasks' in event.entry && event.entry.tasks !== undefined
  return event.type === 'tool_end' && mayChange.has(event.name)
}

/**
 * A run completes only if its goals hold for the current tree. It claims nothing about them that no check has found.
 */
function ofResult({ world, replayed, terminal }: KilledRun): readonly string[] {
  const { events } = replayed
  const { goal, reason, signal } = terminal
  const setAt = events.findLastIndex((event) => event.type === 'settings' && event.change.until !== undefined)
  const since = events.slice(setAt + 1)
  const lastAt = since.findLastIndex(({ type }) => type === 'goal_end')
  const last = endsOf(since).at(-1)
  const wrong: string[] = []
  if (goal === undefined) return reason === 'goal_unmet' ? ['it is unmet, and there is no goal'] : []
  const checked = (last?.checks ?? []).map(({ tail }) => checkOf(world, tail))
  const isOfNow = checked.every((made) => made?.version === world.version)
  if (goal.met === true && !(last?.met === true && isOfNow))
    wrong.push('its goals do not hold for the tree, and it says so')
  if (goal.met === false && last?.met !== false) wrong.push('it says that its goals do not hold, and nobody found that')
  if (goal.met === 'unknown' && last !== undefined) {
    const isKnown = !since.slice(lastAt + 1).some(isChange) && signal.context['cause'] !== 'agents'
    // A round that an abort interrupted proves nothing.
    if (isKnown && last.checks.length + last.tampered.length > 0)
      wrong.push('it says that it does not know, and it was found')
  }
  if (reason === 'completed' && goal.met !== true && !isPlanning(events))
    wrong.push(`it is completed, and met is ${goal.met}`)
  if (reason === 'goal_unmet' && goal.met === true) wrong.push('it is unmet, and its goals hold')
  if (goal.heldFromStart === true && endsOf(since).some(({ met }) => !met))
    wrong.push('it held from the start, and did not')
  return wrong
}

function isPlanning(events: readonly RunEvent[]): boolean {
  const modes = events.flatMap((event) => (event.type === 'settings' ? [event.change.permissionMode ?? []].flat() : []))
  return modes.at(-1) === 'plan'
}

/** Replies that were sent back since the goals were set. Their number never exceeds the current limit. */
function ofTries(drawn: DrawnRun, { replayed, terminal }: KilledRun): readonly string[] {
  let tries = 0
  let limit = drawn.maxGoalTries
  const wrong: string[] = []
  for (const event of replayed.events) {
    if (event.type === 'settings') {
      if (event.change.until !== undefined) tries = 0
      limit = event.change.limits?.maxGoalTries ?? limit
    }
    if (event.type !== 'lap' || event.transition !== 'goal_unmet') continue
    tries++
    if (tries > limit) wrong.push(`try ${tries} of ${limit}`)
  }
  const { goal, signal } = terminal
  if (goal !== undefined && goal.tries !== tries) wrong.push(`there were ${tries} tries, and it says ${goal.tries}`)
  if (signal.source === 'goal' && signal.context['cause'] === 'tries' && tries < limit)
    wrong.push(`it ends after ${tries} tries of ${limit}`)
  return wrong
}

/** The bounds of the certificate, for a single process with the goals of its options. */
function ofBounds(drawn: DrawnRun, { world, replayed, options, processes }: KilledRun): readonly string[] {
  const { events } = replayed
  if (events.some((event) => event.type === 'settings')) return []
  const bounds = certificate(options)
  const within = (what: string, value: number, bound: Bound | undefined): readonly string[] =>
    bound?.bounded === true && value <= bound.value
      ? []
      : [`${value} ${what}, and the bound is ${JSON.stringify(bound)}`]
  const aRound = drawn.goals * drawn.stable
  const own = endsOf(events).length * aRound
  return [
    ...within('transitions', events.filter(({ type }) => type === 'lap').length + 1, bounds.laps),
    ...within('checks', own, bounds.checks),
    ...(processes.length > 1 ? [] : within('requests', world.requests, bounds.requests)),
  ]
}
