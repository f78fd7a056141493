import { usdOf } from '@halting/core/steps'
import { isAtWorst, type RecordedCall, type RecordedRequest, type RecordedStep } from './recorded-steps.ts'

/** What the use of one tool came to. */
export interface ToolFigures {
  /** Null: requests whose reply asked for no tool. */
  readonly tool: string | null
  /** Calls of the tool. */
  readonly calls: number
  /** Calls that failed. */
  readonly failed: number
  /** Without a result: they were running when the record ends, or nobody answered. */
  readonly open: number
  /** Its calls' own time, also where they ran beside others. */
  readonly ms: number
  /** Of the requests that asked for it, in equal parts where they asked for several; those of its subagents are its own. */
  readonly tokens: number
  /** What services reported. */
  readonly costUsd: number
  /** The part of the tokens, and the cost in addition, that no service reported: charged at worst case. */
  readonly unknownTokens: number
  /** US dollars that no service reported, charged at worst case. */
  readonly unknownUsd: number
  /** What its results put into the conversation. */
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

/** By the tool that was asked for; compactions are of no tool. The dearest first, then the slowest. */
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
    // What a subagent asked is of the call that started it.
    const agent = agents.get(/^agent:\d+:\d+:([^/]*)\//.exec(request.scope)?.[1] ?? '')
    const asked = agent === undefined ? request.calls.map(({ name }) => name) : [agent]
    const tools = asked.length === 0 ? [null] : asked
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

/** Whole parts that add up to the whole. */
function part(whole: number, index: number, count: number): number {
  return Math.floor((whole * (index + 1)) / count) - Math.floor((whole * index) / count)
}

/** How long each subagent took, by the scope and id of its call. It has no step of its own: it took from its first step to its last. */
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
