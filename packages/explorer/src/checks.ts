import { type RunEvent, type SettingsChange, replay, startRun, type RunResult, type StepRecord } from '@halting/core'
import { type Ranking, isJsonObject } from '@halting/core/adapters'
import { foldRun } from '@halting/core/steps'
import { transcriptProblems } from '@halting/core/testing'
import { accountOf, trajectoryOf, type OtherLimits, unknownLimits, whatIf } from '@halting/analysis'
import { ranksBelow, nanosOf, usdOf } from './core-internals.ts'
import {
  assertMessages,
  assertSame,
  assertModelInput,
  assertSuffixOfEvents,
  eventsOfAgents,
  isContinuing,
  fail,
  isLive,
  messageEntries,
} from './assert-same-events.ts'
import { checkGoals } from './goal-checks.ts'
import { checkCalls, checkCertificate, checkReminders, checkStanding } from './limit-checks.ts'
import { checkVerification } from './verification-checks.ts'
import type { ExploredRun } from './explored-run.ts'
import type { Scenario, World } from './world.ts'

/** What must hold for every observed run, whole or resumed. */
export function checkRun(walked: ExploredRun, world: World, where = 'the run'): void {
  const { terminal, events, start, state, resumed } = walked
  const ends = events.filter((event) => event.type === 'run_end')
  if (ends.length !== 1 || events.at(-1)?.type !== 'run_end') fail(`${where} has ${ends.length} endings`)
  const continues = events.filter(isContinuing).length
  if (continues !== (resumed ? 1 : 0) || events[0]?.type !== 'run_start')
    fail(`${where} does not begin with one run_start that says whether it continues`)
  if (world.problems.length > 0)
    fail(`${where}: the model was shown messages that the API refuses: ${world.problems.join('; ')}`)
  checkTranscript(walked, where)
  checkUnbroken(terminal, world, where)
  checkSnapshots(world, where)
  assertMessages(messageEntries(events), state.transcript.since(resumed ? start.transcript.length : 0), where)
  checkAgents(walked, world, where)
  checkDuration(walked, world, where)
  checkRanking(events, where)
  checkModel(walked, where)
  checkStanding(walked, world, where)
  checkCertificate(walked, world, where)
}

/** Nothing inside breaks a run: no bug, no write to a shared value, and no untrusted port whose answer is not required. */
function checkUnbroken({ reason, error }: RunResult, { mayBreak }: World, where: string): void {
  if (reason !== 'error' || error === undefined) return
  const writes =
    error.cause instanceof TypeError && /read only|extensible|Cannot (add|define|delete)/.test(error.message)
  if (error.code === 'internal' || writes || (error.code === 'callback' && !mayBreak))
    fail(`${where} broke: ${error.message}`)
}

export function checkSnapshots({ snapshots }: World, where: string): void {
  const changed = snapshots.changed()
  if (changed.length > 0) fail(`${where}: ${changed.join('; ')}`)
}

export function checkTranscript({ terminal, state }: Pick<ExploredRun, 'terminal' | 'state'>, where: string): void {
  const next = startRun({ transcript: state.transcript, prompt: 'and now?' }).transcript.messages()
  const problems = transcriptProblems(next)
  if (problems.length > 0)
    fail(`${where} ended as ${terminal.reason} with a transcript that the API refuses: ${problems.join('; ')}`)
}

/** Subagents' transcripts are visible in what their models are shown, and in their iterations. */
function checkAgents({ events, iterations }: ExploredRun, { shownToAgents }: World, where: string): void {
  const agents = eventsOfAgents(events)
  if (agents.size === 0) return
  assertModelInput(agents, shownToAgents, where)
  for (const [callId, own] of agents) {
    const added = iterations.flatMap((lap) => (lap.scope.endsWith(`:${callId}/`) ? lap.added : []))
    // The prompt precedes the first iteration, and no iteration shows what comes after the last one.
    assertMessages(messageEntries(own).slice(1, 1 + added.length), added, `${where}, agent ${callId}`)
  }
}

/** A run lasts from its beginning to the end of its last step. Steps after that are possible if another program does not need them. */
function checkDuration({ terminal, records }: ExploredRun, { isOtherProgram }: World, where: string): void {
  const begin = records.find((record) => record.type === 'start')
  if (begin?.type !== 'start') return
  let last = begin.at
  for (const record of records) if (record.type === 'result') last = Math.max(last, record.at + record.durationMs)
  if (isOtherProgram ? terminal.durationMs > last - begin.at : terminal.durationMs !== last - begin.at)
    fail(`${where} took ${last - begin.at} ms and reports ${terminal.durationMs}`)
}

function checkRanking(events: readonly RunEvent[], where: string): void {
  let last: Ranking | undefined
  for (const event of events) {
    // The ranking may rise where a person set a limit on turns or tries, or new goals, and nowhere else.
    if (event.type === 'settings' && raisesRanking(event.change)) last = undefined
    // It may also rise where a person raised a limit at a pause.
    if (event.type === 'limit_answered' && event.outcome === 'raised') last = undefined
    if (event.type !== 'lap') continue
    if (!ranksBelow(event.after, event.before))
      fail(`${where}: ${event.transition} does not lower the ranking: ${String(event.before)} → ${String(event.after)}`)
    if (last !== undefined && String(last) !== String(event.before))
      fail(`${where}: the ranking changed between iterations: ${String(last)} → ${String(event.before)}`)
    last = event.after
  }
}

function raisesRanking({ limits = {}, until }: SettingsChange): boolean {
  return limits.maxTurns !== undefined || limits.maxGoalTries !== undefined || until !== undefined
}

/** A model that was set is used from its record on, and no other, until the fallback takes over. */
function checkModel({ events, start }: ExploredRun, where: string): void {
  let model = start.spent.settings?.model
  for (const event of events) {
    if (event.type === 'settings' && event.change.model !== undefined) model = event.change.model ?? undefined
    if (event.type === 'lap' && event.transition === 'model_fallback') model = undefined
    if (event.type === 'model_start' && model !== undefined && event.model !== model)
      fail(`${where}: ${event.model} was called, but ${model} was set`)
  }
}

/** What-if with the limits of the run predicts its ending, also if the record does not have the limits. */
export function checkWhatIf(
  { terminal, state, records }: ExploredRun,
  scenario: Scenario,
  { mayOverdraw }: Pick<World, 'mayOverdraw'>,
): void {
  const trajectory = trajectoryOf(records)
  const { maxTurns, maxBudgetUsd, maxTotalTokens, maxDurationMs } = trajectory.limits
  const noProgress = scenario.noProgress === true
  const own: OtherLimits = { maxTurns, maxBudgetUsd, maxTotalTokens, maxDurationMs, noProgress }
  for (const limits of [{}, own]) {
    const { verdict, reason, kept } = whatIf(trajectory, limits)
    const keptUsd = usdOf(nanosOf(kept.costUsd) + nanosOf(kept.unknownUsd))
    const figures = { verdict, reason, turns: kept.turns, activeMs: kept.activeMs, usd: keptUsd }
    const { durationMs: activeMs, committedUsd: usd } = terminal
    const expected = { verdict: 'same', reason: terminal.reason, turns: state.spent.turns, activeMs, usd }
    assertSame(figures, expected, `what-if with ${JSON.stringify(limits)}`)
  }
  // A setting applies only from when it was made, and no limit can stop what a service bills above its reservation.
  if (scenario.settings !== undefined || scenario.pauses !== undefined || mayOverdraw) return
  const { reason, unknownFrom } = whatIf({ ...trajectory, limits: unknownLimits }, own)
  // A request outside of turns leaves room for the next request as known at that time, which is not on record.
  if (unknownFrom?.why === 'beside') return
  // A request that was lost with its process counts with its whole reservation, and the record does not say how much budget was left.
  if (unknownFrom?.why === 'reserved' && records.some(isLostRequest)) return
  assertSame(reason, terminal.reason, `what-if with ${JSON.stringify(own)} of a run without limits`)
}

function isLostRequest(record: StepRecord): boolean {
  return record.type === 'result' && isJsonObject(record.value) && record.value['kind'] === 'unknown'
}

/** The record of an interrupted run shows exactly what a resume begins with, and what-if agrees. */
export function checkOpenFigures(records: readonly StepRecord[], where: string): void {
  const { turns, tokens, costUsd, activeMs, committedUsd } = accountOf(records).totals
  const { kept, verdict } = whatIf(trajectoryOf(records), {})
  assertSame(verdict, 'unknown', `${where}: what-if of it`)
  const { unknownUsd: _, ...figures } = kept
  assertSame(figures, { turns, tokens, costUsd, activeMs }, `${where}: what-if and the account of it`)
  const { settled } = foldRun(records).spent
  assertSame(settled.nanos, nanosOf(committedUsd), `${where}: what a resume begins with and the account of it`)
}

/** A replay emits the same events, ends the same, and emits all messages of the transcript. */
export async function checkReplay(walked: ExploredRun, world: World, where = 'the run'): Promise<void> {
  const { options, standing } = world
  const { times } = standing ?? {}
  const { terminal, state, events: emitted, records, resumed } = walked
  const replayed = await replay(records, options)
  assertSame(terminalOf(replayed.terminal), terminalOf(terminal), `${where}: the terminal of its replay`)
  if (standing?.times !== times) fail(`${where}: its replay took from the standing budgets`)
  const events = replayed.events.filter((event) => !isLive(event))
  // An abort that was lost with its process may have come before what agents had on record.
  checkGoals(events, walked, resumed && eventsOfAgents(events).size > 0, where)
  checkCalls(events, walked, world, where)
  if (options.verification !== undefined) checkVerification(events, walked, where)
  if (options.limitReminders === true) checkReminders(events, where)
  // A resume emits events since the last iteration; a replay emits all.
  assertSuffixOfEvents(events, emitted, `${where}: the events of its replay`)
  assertMessages(messageEntries(events), state.transcript.since(0), `${where}: its replay`)
}

/** No side effect runs twice: an effect that had begun on record does not begin again. */
export function checkEffects(
  onRecord: readonly StepRecord[],
  effects: ReadonlyMap<string, number>,
  where: string,
): void {
  const begun = new Set(onRecord.flatMap((record) => (record.type === 'intent' ? [record.key] : [])))
  for (const [idempotencyKey, times] of effects) {
    const key = idempotencyKey.slice(idempotencyKey.indexOf('/') + 1)
    if (times > 1) fail(`${where}: ${key} ran ${times} times`)
    if (begun.has(key)) fail(`${where}: ${key} had begun before and ran again`)
  }
}

export function terminalOf(terminal: RunResult): unknown {
  const { error, ...rest } = terminal
  return { ...rest, error: error?.message }
}
