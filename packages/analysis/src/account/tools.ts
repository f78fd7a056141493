import { usdOf } from '@halting/core/steps'
import { isAtWorst, type RecordedCall, type RecordedRequest, type RecordedStep } from './recorded-steps.ts'

/** Sums over the use of one tool. */
export interface ToolFigures {
  /** Name of the tool; null for requests whose reply called no tool. */
  readonly tool: string | null
  /** Calls of the tool. */
  readonly calls: number
  /** Calls that failed. */
  readonly failed: number
  /** Calls without a result: they were running when the record ended, or were never answered. */
  readonly open: number
  /** Milliseconds of its calls, including time during which other calls ran in parallel. */
  readonly ms: number
  /** Tokens of the requests that called it, split evenly between the calls of a reply. Requests of its subagents are included. */
  readonly tokens: number
  /** What services reported. */
  readonly costUsd: number
  /** Tokens charged at worst case because no service reported them. Included in `tokens`. */
  readonly unknownTokens: number
  /** US dollars charged at worst case because no service reported them. Not included in `costUsd`. */
  readonly unknownUsd: number
  /** Characters that its results added to the conversation. */
  readonly resultCharacters: number
}

interface Row {
  calls: number
  failed: number
  open: number
  ms: number
  tokens: number
  nanos: number
  unknownTokens: number
  unknownNanos: number
  resultCharacters: number
}

const emptyRow: Row = {
  calls: 0,
  failed: 0,
  open: 0,
  ms: 0,
  tokens: 0,
  nanos: 0,
  unknownTokens: 0,
  unknownNanos: 0,
  resultCharacters: 0,
}

/** Sums by the tool that was called, without compactions: the most expensive first, then the slowest. */
export function toolFigures(
  requests: readonly RecordedRequest[],
  calls: readonly RecordedCall[],
  steps: readonly RecordedStep[],
): readonly ToolFigures[] {
  const agents = new Map(calls.filter(({ scope }) => scope === '').map(({ id, name }) => [id, name]))
  const times = agentTimes(steps)
  const rows = new Map<string | null, Row>()
  const rowOf = (tool: string | null): Row => {
    let row = rows.get(tool)
    if (row === undefined) rows.set(tool, (row = { ...emptyRow }))
    return row
  }
  for (const request of requests) {
    if (request.phase !== 'model' || request.isOpen) continue
    // Requests of a subagent count for the call that started it.
    const agent = agents.get(/^agent:\d+:\d+:([^/]*)\//.exec(request.scope)?.[1] ?? '')
    const requested = agent === undefined ? request.calls.map(({ name }) => name) : [agent]
    const tools = requested.length === 0 ? [null] : requested
    for (const [index, tool] of tools.entries()) {
      const row = rowOf(tool)
      const tokens = part(request.tokens, index, tools.length)
      const nanos = part(request.nanos, index, tools.length)
      row.tokens += tokens
      if (!isAtWorst(request)) row.nanos += nanos
      else {
        row.unknownTokens += tokens
        row.unknownNanos += nanos
      }
    }
  }
  for (const call of calls) {
    const row = rowOf(call.name)
    row.calls++
    if (call.status === 'open') row.open++
    else if (call.status !== 'done') row.failed++
    row.ms += call.durationMs + (times.get(`${call.scope}|${call.id}`) ?? 0)
    row.resultCharacters += call.resultCharacters
  }
  return [...rows]
    .map(([tool, { nanos, unknownNanos, ...row }]): ToolFigures => {
      return { tool, ...row, costUsd: usdOf(nanos), unknownUsd: usdOf(unknownNanos) }
    })
    .toSorted((a, b) => b.costUsd + b.unknownUsd - a.costUsd - a.unknownUsd || b.tokens - a.tokens || b.ms - a.ms)
}

/** Splits a number into integer parts whose sum is exact. */
function part(whole: number, index: number, count: number): number {
  return Math.floor((whole * (index + 1)) / count) - Math.floor((whole * index) / count)
}

/** Duration of each subagent, by the scope and id of its call. A subagent has no step of its own: it lasts from its first step to its last. */
function agentTimes(steps: readonly RecordedStep[]): ReadonlyMap<string, number> {
  const spans = new Map<string, { from: number; to: number }>()
  for (const { scope, at, durationMs } of steps) {
    for (const { index, 0: agent, 1: id } of scope.matchAll(/agent:\d+:\d+:([^/]*)\//g)) {
      if (agent === undefined) continue
      const key = `${scope.slice(0, index)}|${id}`
      const span = spans.get(key)
      const to = at + durationMs
      spans.set(key, { from: Math.min(span?.from ?? at, at), to: Math.max(span?.to ?? to, to) })
    }
  }
  return new Map([...spans].map(([key, { from, to }]) => [key, to - from]))
}
