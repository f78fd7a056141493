import type { Prices } from '@halting/core'
import { isToolUse, textOf, totalTokensOf, type ToolResultBlock, type ToolUseBlock } from '@halting/core/adapters'
import { waitThresholdMs } from '@halting/core/steps'
import {
  agentCallOf,
  ForeignCosts,
  isAnswered,
  type ForeignPayment,
  type ForeignRun,
  type ForeignTurn,
} from '../foreign/foreign-run.ts'
import { unknownLimits } from '../account/limits.ts'
import { hashOfTurn, type PastPayment, type PastTurn, type Trajectory } from './trajectory.ts'

/** The trajectory of another program's run. */
export interface ForeignTrajectory {
  /** The trajectory. */
  readonly trajectory: Trajectory
  /** Models without a price: their cost is not included. */
  readonly unpriced: readonly string[]
}

/** Equivalent to `trajectoryOf` on the records of `recordsOfForeign`, without creating these records, which would take most of the time. */
export function trajectoryOfForeign(run: ForeignRun, prices: Prices): ForeignTrajectory {
  const { turns, ending } = run
  const costs = new ForeignCosts(prices)
  const past = turns.map((turn, index): PastTurn => {
    const isLast = index === turns.length - 1
    const isFollowed = !isLast || isAnswered(turn)
    return {
      countsAsTurn: true,
      isTold: true,
      ...figuresOf(turn, costs, isLast && ending === null),
      // An interrupted turn has no iteration record, which would contain its messages.
      hash: isFollowed || ending !== null ? hashOf(turn) : null,
      isFreshAfter: isFollowed && !(isLast && ending !== null) && turn.laterMessages.some(isSteered),
      // Only the cost of its subagents is known.
      agentTurns: 0,
    }
  })
  if (turns.length === 0 && ending !== null) past.push(turnWithoutRequest)
  return {
    trajectory: {
      turns: past,
      ending:
        ending === null ? null : { reason: ending.reason, limit: ending.limit ?? null, hasAnswer: endsInAnswer(turns) },
      limits: unknownLimits,
      carried: { turns: 0, tokens: 0, nanos: 0, ms: 0 },
    },
    unpriced: costs.unpriced,
  }
}

const turnWithoutRequest: PastTurn = {
  countsAsTurn: true,
  isTold: false,
  payments: [],
  calls: [],
  endMs: 0,
  hash: null,
  isFreshAfter: false,
  agentTurns: 0,
}

function endsInAnswer(turns: readonly ForeignTurn[]): boolean {
  const last = turns.findLast(({ message }) => message.content.length > 0)
  return last !== undefined && textOf(last.message.content).trim() !== '' && callsOf(last).length === 0
}

function isSteered({ origin }: ForeignTurn['laterMessages'][number]): boolean {
  return origin === 'steer' || origin === 'follow_up'
}

/** `isCut`: whether the record ends in this turn, so that a call without a result may have been running. */
function figuresOf(
  turn: ForeignTurn,
  costs: ForeignCosts,
  isCut: boolean,
): Pick<PastTurn, 'payments' | 'calls' | 'endMs'> {
  const { message, askedModel, beganMs, endedMs, results, agentRequests } = turn
  const { model, usage } = message
  const toPayment = (
    payment: Omit<ForeignPayment, 'endedMs'>,
    beganAtMs: number,
    endMs: number,
  ): Omit<PastPayment, 'of'> => ({
    model: payment.model,
    beganMs: beganAtMs,
    endMs,
    tokens: totalTokensOf(payment.usage),
    nanos: costs.nanosOf(payment),
    isAtWorst: false,
    outputTokens: payment.usage.output_tokens,
    bounds: costs.boundsOf(payment),
  })
  const own = { model, ...(askedModel !== undefined && { askedModel }), usage }
  const payments = [
    { ...toPayment(own, beganMs, Math.max(beganMs, endedMs)), of: 'run' as const },
    ...agentRequests.map((payment) => ({
      ...toPayment(payment, payment.endedMs, payment.endedMs),
      of: 'part' as const,
    })),
  ]
  const ends = new Map<string, number>()
  let endMs = payments.reduce((latest, payment) => Math.max(latest, payment.endMs), 0)
  for (const result of results) {
    const resultMs = Math.max(endedMs, result.endedMs)
    endMs = Math.max(endMs, resultMs)
    if (!ends.has(result.callId)) ends.set(result.callId, resultMs)
  }
  const calls = callsOf(turn)
  const agent = agentRequests.length === 0 ? undefined : agentCallOf(calls)
  return {
    payments,
    calls: calls.map(({ id, name, input }) => {
      const hasRun = isCut || ends.has(id) || id === agent?.id
      return { tool: name, input, hasRun, endMs: ends.get(id) ?? endMs }
    }),
    endMs,
  }
}

function callsOf({ message }: ForeignTurn): readonly ToolUseBlock[] {
  return message.content.filter(isToolUse)
}

/** Of several results of one call, the model saw the last one. */
function hashOf(turn: ForeignTurn): number | null {
  const calls = callsOf(turn)
  const callIds = new Set(calls.map(({ id }) => id))
  const results = new Map<string, ToolResultBlock>()
  const times = new Map<string, number>()
  for (const { callId, content, endedMs } of turn.results) {
    if (!callIds.has(callId)) continue
    results.set(callId, { type: 'tool_result', tool_use_id: callId, content })
    times.set(callId, endedMs - turn.endedMs)
  }
  return hashOfTurn(
    calls,
    results,
    [...times.values()].some((ms) => ms >= waitThresholdMs),
  )
}
