import type { Bound, RunEvent, TranscriptEntry } from '@halting/core'
import { innermostEvent } from '@halting/core/adapters'
import { eventsOfAgents, fail, messageEntries } from './assert-same-events.ts'
import type { ExploredRun } from './explored-run.ts'
import { nanosOf } from './core-internals.ts'
import type { World } from './world.ts'

// What must hold for limits that the loop counts itself: tool calls, standing budgets, and reminders of what is left.

/** Each amount taken was settled within that amount, and the sum of all is exactly what this process spent. */
export function checkStanding(
  { terminal, committedBefore }: ExploredRun,
  { standing, options, mayOverdraw }: World,
  where: string,
): void {
  // Another program may have other standing budgets.
  if (standing === undefined || options.standing !== standing) return
  const { problems, open, settledNanos, countsForAll } = standing
  if (problems.length > 0 && !mayOverdraw) fail(`${where}: ${problems.join('; ')}`)
  if (open !== 0) fail(`${where}: ${open} reservations of standing budgets were never settled`)
  const spent = nanosOf(terminal.committedUsd) - committedBefore
  if (countsForAll && spent !== settledNanos)
    fail(`${where}: ${spent} was spent, and ${settledNanos} was settled with the standing budgets`)
}

/**
 * The run stays within what its options promise (spec R-LIM-63a), unless its options changed. Nothing is promised about bills if a service exceeds its cap, or may have done so
 * in an earlier process.
 */
export function checkCertificate({ state, terminal, resumed }: ExploredRun, world: World, where: string): void {
  const { spent } = state
  if (world.isOtherProgram || spent.settings !== undefined) return
  const { laps: iterations, turns, toolCalls, tokens, usd } = world.certificate
  const { inRun } = spent.laps
  const sentBack = (inRun.goal_unmet ?? 0) + (inRun.unverified_change ?? 0)
  const isBilled = !world.mayOverdraw && !resumed
  const figures: readonly (readonly [what: string, value: number, bound: Bound])[] = [
    ['iterations', 1 + Object.values(inRun).reduce((sum, each) => sum + each, 0), iterations],
    ['turns', 1 + (inRun.next_turn ?? 0) + (inRun.user_input ?? 0) + sentBack, turns],
    ['calls of tools', spent.toolCalls ?? 0, toolCalls],
    ...(isBilled
      ? [['tokens', spent.totalTokens, tokens] as const, ['dollars', terminal.committedUsd, usd] as const]
      : []),
  ]
  for (const [what, value, bound] of figures)
    if (bound.bounded && value > bound.value)
      fail(`${where} had ${value} ${what}, and its certificate says at most ${bound.value} (${bound.because})`)
}

/** No more tool calls began than the limit allows, including those of agents. `events`: those of a whole replay. */
export function checkCalls(events: readonly RunEvent[], walked: ExploredRun, { maxCalls }: World, where: string): void {
  if (maxCalls === undefined) return
  const begun = callsBegun(events)
  if (begun > maxCalls) fail(`${where}: ${begun} calls began under a limit of ${maxCalls}`)
  const { reason, signal } = walked.terminal
  const counted = walked.state.spent.toolCalls ?? 0
  // A call that waits for a person counts when it has its result, and an abort may come before.
  if (begun > counted && !/^(?:needs_approval|aborted_tools)$/.test(reason))
    fail(`${where}: ${begun} calls began, and ${counted} were counted`)
  if (counted > maxCalls) fail(`${where}: ${counted} calls were counted under a limit of ${maxCalls}`)
  const { used, limit, refused } = signal.context
  if (reason === 'max_tool_calls' && !(Number(used) >= Number(limit) && Number(refused) > 0))
    fail(`${where}: it ended as ${reason} with ${JSON.stringify({ used, limit, refused })}`)
}

function callsBegun(events: readonly RunEvent[]): number {
  return events.filter((event) => innermostEvent(event).type === 'tool_start').length
}

/** The model is reminded of a limit once for each share that is used up, in order. The same holds for every agent. */
export function checkReminders(events: readonly RunEvent[], where: string): void {
  checkRemindersIn(messageEntries(events), where)
  for (const [callId, own] of eventsOfAgents(events)) checkRemindersIn(messageEntries(own), `${where}, agent ${callId}`)
}

const shares = [50, 80, 95] as const

function checkRemindersIn(entries: readonly TranscriptEntry[], where: string): void {
  const last = new Map<string, { readonly limit: number; readonly share: number; readonly left: number }>()
  for (const { figure, limit, left } of entries.flatMap(reportedFigures)) {
    // Dollars and seconds are rounded to cents and whole seconds.
    const isExact = figure !== 'usd' && figure !== 'second'
    const share = shares.filter((each) => (limit - left) * 100 >= limit * each).length
    const before = last.get(figure)
    last.set(figure, { limit, share, left })
    if (isExact && share === 0) fail(`${where}: ${left} of ${limit} ${figure} is reported before half of it is used`)
    if (before === undefined || before.limit !== limit) continue
    if (left > before.left) fail(`${where}: more is left of ${figure} than was reported before: ${left} of ${limit}`)
    if (isExact && share <= before.share)
      fail(`${where}: ${left} of ${limit} ${figure} is reported twice for one share`)
  }
}

interface ReportedFigure {
  readonly figure: string
  readonly limit: number
  readonly left: number
}

function reportedFigures(entry: TranscriptEntry): readonly ReportedFigure[] {
  if (entry.kind !== 'user' || entry.origin !== 'loop' || typeof entry.message.content !== 'string') return []
  const [, list] = /^Remaining in this run: (.*)\.$/.exec(entry.message.content) ?? []
  return (list ?? '').split('; ').flatMap((part) => {
    const [, left, limit, figure] = /^\$?([\d.]+) of \$?([\d.]+) ?(\w.*)?$/.exec(part) ?? []
    if (left === undefined) return []
    return [{ figure: figure?.replace(/s$/, '') ?? 'usd', limit: Number(limit), left: Number(left) }]
  })
}
