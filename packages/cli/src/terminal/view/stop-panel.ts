import type { SessionSnapshot } from '@halting/core/session'
import { columnsOf } from '../../io/columns.ts'
import { many, oneLine, rounded, stopwatch } from '../../io/figures.ts'
import type { Style } from '../../io/style.ts'
import { goalNames, goalStatus } from '../../frontends/goal-words.ts'
import { nextStopText } from '../../frontends/next-stop-text.ts'
import type { Component } from '../screen/screen-port.ts'
import { dollars, dollarsAndMore } from '../../io/dollars.ts'
import type { StandingFigures } from '../../frontends/status-reports.ts'
import { serviceCountdown, waitText } from '../../frontends/wait-text.ts'
import { iterationText } from '../../frontends/iteration-text.ts'

export interface PanelSnapshot extends Pick<
  SessionSnapshot,
  'activity' | 'figures' | 'goal' | 'limits' | 'nextStop' | 'status'
> {
  readonly usualLimits?: UsualLimits | undefined
  /** Standing budgets, shown once half of one is used (spec R-LIM-12). */
  readonly standing?: readonly StandingFigures[] | undefined
}

/** Default limits, shown once more than half of one is used (spec R-LIM-12). */
export interface UsualLimits {
  readonly maxTurns?: readonly number[]
  readonly maxRunUsd?: readonly number[]
}

/**
 * One line: what the run has used and may use, and what stops it next (spec R-TERM-23). `now`: the clock of the session,
 * for the countdown of a retry. If there is not enough room, parts are omitted from the right, the next stop last.
 */
export function stopPanel(snapshot: () => PanelSnapshot, style: Style, now: () => number): Component {
  const activeMs = runningClock(now)
  return {
    render(width) {
      const current = snapshot()
      const { activity } = current
      const figures = { ...current.figures, usedMs: activeMs(current) }
      const limits = shownLimits(current)
      const doing = activityText(activity, now())
      const stop = stopText(current, limits)
      const parts = [
        turnsText(figures, limits),
        current.goal === null ? '' : goalStatus(current.goal),
        dollarsText(figures, limits),
        ...(current.standing ?? []).filter(isHalfUsed).map(standingText),
        contextText(figures),
        timeText(figures, limits),
        tokensText(figures, limits),
        callsText(figures, limits),
      ]
      const texts = parts.filter((part) => part !== '')
      const { doing: recovery, figures: rest } = layOut(doing, texts, stop, width - 1)
      // The layout is computed from text without colours.
      const shown = [...(recovery === '' ? [] : [style.yellow(recovery)]), ...(rest === '' ? [] : [style.dim(rest)])]
      return shown.length === 0 ? [] : [` ${shown.join(style.dim(separator))}`]
    },
  }
}

/** Figures arrive with requests. In between, time advances while a run works and does not wait for a person. */
function runningClock(now: () => number): (snapshot: PanelSnapshot) => number {
  let [usedMs, passedMs, lastReadAt] = [0, 0, now()]
  return ({ figures, status }) => {
    const sinceMs = now() - lastReadAt
    lastReadAt += sinceMs
    if (figures.usedMs !== usedMs || status === 'idle') [usedMs, passedMs] = [figures.usedMs, 0]
    else if (status === 'running') passedMs += Math.max(0, sinceMs)
    return usedMs + passedMs
  }
}

const separator = ' · '

/** Minimum width of an activity: `retry 2/10`. */
const minColumns = 10

/** The activity, as many figures as fit, and the next stop, which is truncated last. */
function layOut(
  doing: string,
  parts: readonly string[],
  stop: string,
  width: number,
): { readonly doing: string; readonly figures: string } {
  const before = doing === '' ? 0 : columnsOf(doing) + separator.length
  for (let count = parts.length; count >= 0; count -= 1) {
    const figures = [...parts.slice(0, count), ...(stop === '' ? [] : [stop])].join(separator)
    if (before + columnsOf(figures) <= width) return { doing, figures }
  }
  const room = width - columnsOf(stop) - separator.length
  if (doing !== '' && room >= minColumns) return { doing: oneLine(doing, room), figures: stop }
  return { doing: '', figures: oneLine(columnsOf(stop) <= width ? stop : stop.replace('next stop: ', ''), width) }
}

/** An activity other than a normal turn: which recovery, and how often it may still happen. */
function activityText(activity: PanelSnapshot['activity'], now: number): string {
  switch (activity.type) {
    case 'retry': {
      const { attempt, maxRetries, untilMs, error } = activity
      const left = Math.ceil((untilMs - now) / 1_000)
      return `retry ${attempt}/${maxRetries} ${left > 0 ? `in ${left} s` : 'now'} (${oneLine(error, 40)})`
    }
    case 'recovery': {
      const { transition, used, left, because } = activity
      const text = iterationText(transition)
      const why = because === null ? '' : ` (${oneLine(because, 24)})`
      return text === undefined ? '' : `${text}, ${used} of ${used + left}${why}`
    }
    case 'service_wait':
      return serviceCountdown(activity, Date.now())
    case 'budget_wait':
      return waitText(activity)
    case 'compacting':
      return `compacting, ${rounded(activity.tokens)} tokens`
    case 'goal_check':
      return `checking ${goalNames(activity.goals)} ${stopwatch(Math.max(0, now - activity.sinceMs))}`
    case 'question':
      return 'waiting for you'
    case 'idle':
    case 'asking':
    case 'tools':
      return ''
  }
}

type Figures = PanelSnapshot['figures']
type Limits = PanelSnapshot['limits']

/** The limits without defaults of which less than half is used. */
function shownLimits({ limits, figures, usualLimits = {} }: PanelSnapshot): Limits {
  const shownLimit = (limit: number | null, used: number, usual: readonly number[] = []): number | null =>
    limit !== null && usual.includes(limit) && used * 2 < limit ? null : limit
  return {
    ...limits,
    maxTurns: shownLimit(limits.maxTurns, figures.turns, usualLimits.maxTurns),
    maxRunUsd: shownLimit(limits.maxRunUsd, figures.settledUsd, usualLimits.maxRunUsd),
  }
}

/** The next stop, if its limit is shown; else the remaining turns, if those are shown. */
function stopText({ limits, figures, nextStop }: PanelSnapshot, shownLimit: Limits): string {
  const isUnnamed = (limit: 'maxTurns' | 'maxRunUsd'): boolean => limits[limit] !== null && shownLimit[limit] === null
  const isHidden =
    (nextStop?.reason === 'max_turns' && isUnnamed('maxTurns')) ||
    (nextStop?.reason === 'max_budget_usd' && isUnnamed('maxRunUsd') && isOfRun(limits, figures))
  if (!isHidden) return isUnnamed('maxTurns') && nextStop === null ? '' : nextStopText(nextStop)
  if (shownLimit.maxTurns === null) return ''
  return nextStopText({
    reason: 'max_turns',
    turns: Math.max(0, shownLimit.maxTurns - figures.turns),
    isEstimate: false,
  })
}

/** Whether the dollar limit of the run leaves less than that of the session. */
function isOfRun({ maxRunUsd, maxBudgetUsd }: Limits, { settledUsd, sessionUsd }: Figures): boolean {
  if (maxRunUsd === null) return false
  return maxBudgetUsd === null || maxRunUsd - settledUsd < maxBudgetUsd - sessionUsd
}

function turnsText({ turns }: Figures, { maxTurns }: Limits): string {
  return maxTurns === null ? many(turns, 'turn') : `turn ${turns}/${maxTurns}`
}

/** `$0.31 of $1.00 (+$0.05 reserved)`: for the session or the run, whichever leaves less. */
function dollarsText(figures: Figures, limits: Limits): string {
  const { settledUsd, unknownUsd, reservedUsd, sessionUsd, waitingRequests } = figures
  const { maxBudgetUsd, maxRunUsd } = limits
  const waiting = waitingRequests > 0 ? `, ${waitingRequests} waiting` : ''
  const reserved = reservedUsd > 0 ? ` (+${dollars(reservedUsd)} reserved${waiting})` : ''
  if (maxRunUsd !== null && isOfRun(limits, figures))
    return `${dollarsAndMore(settledUsd - unknownUsd, unknownUsd)} of ${dollars(maxRunUsd)}${reserved}`
  if (maxBudgetUsd !== null) return `${dollarsAndMore(sessionUsd, unknownUsd)} of ${dollars(maxBudgetUsd)}${reserved}`
  return settledUsd > 0 || reservedUsd > 0 ? dollarsAndMore(settledUsd - unknownUsd, unknownUsd) + reserved : ''
}

function contextText({ contextTokens, contextWindow, compactsAt }: Figures): string {
  if (contextWindow === null || contextWindow === 0 || contextTokens === 0) return ''
  const percent = (tokens: number): number => Math.round((tokens / contextWindow) * 100)
  const compacts = compactsAt === null ? '' : ` (compacts at ${percent(compactsAt)})`
  return `ctx ${percent(contextTokens)} %${compacts}`
}

function timeText({ usedMs }: Figures, { maxDurationMs }: Limits): string {
  return maxDurationMs === null ? stopwatch(usedMs) : `${stopwatch(usedMs)} of ${stopwatch(maxDurationMs)}`
}

function isHalfUsed({ settledUsd, limitUsd }: StandingFigures): boolean {
  return settledUsd * 2 >= limitUsd
}

/** `$12.40 of $20 a day`. The name may be long, because it can contain a folder or model. */
function standingText({ name, settledUsd }: StandingFigures): string {
  return `${dollars(settledUsd)} of ${oneLine(name, 40)}`
}

function callsText({ toolCalls }: Figures, { maxToolCalls }: Limits): string {
  return maxToolCalls === null ? '' : `${toolCalls} of ${many(maxToolCalls, 'tool call')}`
}

function tokensText({ settledTokens, reservedTokens }: Figures, { maxTotalTokens }: Limits): string {
  const reserved = reservedTokens > 0 ? ` (+${rounded(reservedTokens)})` : ''
  if (maxTotalTokens !== null) return `${rounded(settledTokens)} of ${rounded(maxTotalTokens)} tokens${reserved}`
  return settledTokens > 0 ? `${rounded(settledTokens)} tokens` : ''
}
