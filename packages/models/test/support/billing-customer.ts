import { setTimeout as startTimer } from 'node:timers'
import {
  createMemorySteps,
  streamRun,
  startRun,
  type AnyTool,
  type Json,
  type RunEvent,
  type RunOptions,
  type Model,
  type Prices,
  type StepRecord,
  type EndingReason,
} from '@halting/core'
import { foldRun, ledgerOf, settingsOf, type Clock } from '@halting/core/steps'
import { isJsonObject } from '@halting/core/adapters'
import { anthropic, openaiCompatible, openaiResponses } from '../../src/index.ts'
import type { Behaviour, Terms } from './billing-behaviour.ts'
import { hasOpenRequest, survivors } from './billing-interruptions.ts'
import type { Interruption } from './billing-interruptions.ts'
import { priceOf } from './billing-meter.ts'
import { chatWire } from './billing-chat-wire.ts'
import { messagesWire } from './billing-messages-wire.ts'
import { responsesWire } from './billing-responses-wire.ts'
import { startBillingService } from './billing-service.ts'
import type { BillingService, Served } from './billing-service.ts'

/** A model, and the format of its requests. */
export interface DrawnModel {
  readonly name: string
  readonly speaks: 'messages' | 'chat' | 'responses'
  /** Each has its own tokenizer. */
  readonly terms: Terms
}

/** All random values of one run. */
export interface Case {
  readonly models: readonly [first: DrawnModel, fallback: DrawnModel]
  readonly behaviours: readonly Behaviour[]
  readonly interruptions: readonly Interruption[]
  readonly currency: 'usd' | 'tokens'
  /** The budget, as a multiple of the highest cost of a first request. */
  readonly budget: number
  readonly maxOutputTokens: number
  readonly defaultOutputTokens: number
  readonly minUsefulTokens: number
  readonly wrapUp: boolean
  readonly tokenBudget: number | null
  readonly maxSearches: number
  readonly graceMs: number
}

/** The outcome of a run. */
export interface Outcome {
  /** In nano-dollars or tokens, depending on the case. */
  readonly limit: number
  /** The exact bill of the service, by its own meter. */
  readonly billed: { readonly picodollars: bigint; readonly tokens: number }
  /** The possible cost that the run reports. */
  readonly committed: { readonly usd: number; readonly tokens: number }
  readonly reason: EndingReason
  readonly served: readonly Served[]
  /**
   * Requests that were billed above their reservation, and those that were billed above the cost that the run settled.
   */
  readonly underReserved: readonly Served[]
  readonly underSettled: readonly Served[]
  /** Killed processes, and those of them that had an open request. */
  readonly kills: number
  /** Requests during or right after which the run was ended. */
  readonly interrupted: readonly { readonly request: Served; readonly what: Interruption['what'] }[]
  readonly killsInRequest: number
  readonly events: readonly RunEvent[]
}

const contextWindow = 30_000
/** The silence after which the client gives up. */
const patienceMs = 25

/** A clock that is a thousand times as fast, so that retries wait only briefly. */
const hastyClock: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    if (ms === Infinity) return () => {}
    const timer = startTimer(callback, ms / 1_000)
    return () => clearTimeout(timer)
  },
}

/** What a test breaks on purpose, to verify that this is detected. */
export interface Sabotage {
  readonly model?: (model: Model) => Model
  /** The state that the next process finds after a kill. */
  readonly onDisk?: (records: readonly StepRecord[]) => readonly StepRecord[]
}

/** Runs a case over HTTP, through all its kills, until the run has ended and the service has billed everything. */
export async function runCase(drawn: Case, prices: Prices, sabotage: Sabotage = {}): Promise<Outcome> {
  let onEvent: (request: number, event: number) => void = () => {}
  const service = await startBillingService({
    wires: [messagesWire, chatWire, responsesWire],
    terms: (model) => (model === drawn.models[1].name ? drawn.models[1] : drawn.models[0]).terms,
    behaviours: drawn.behaviours,
    maxSearches: drawn.maxSearches,
    contextWindow,
    onEvent: (request, event) => onEvent(request, event),
  })
  const [first, fallback] = drawn.models
  const budget = budgetOf(drawn, prices)
  const options: RunOptions = {
    model: modelOf(first, service, drawn, sabotage),
    fallbackModel: modelOf(fallback, service, drawn, sabotage),
    system: 'You are of help. '.repeat(6),
    tools,
    prices,
    clock: hastyClock,
    maxTurns: 12,
    maxRetries: 3,
    ...budget.options,
    minUsefulTokens: drawn.minUsefulTokens,
    wrapUp: drawn.wrapUp,
    tokenBudget: drawn.tokenBudget,
    graceMs: drawn.graceMs,
  }
  let kills = 0
  let killsInRequest = 0
  const interrupted: Outcome['interrupted'][number][] = []
  const events: RunEvent[] = []
  const grants = new Map<string, Amount>()
  const charges = new Map<string, Amount>()
  try {
    let onDisk: readonly StepRecord[] = []
    for (const interruption of [...drawn.interruptions, undefined]) {
      const lived = await live(options, onDisk, interruption, service, (listener) => (onEvent = listener))
      events.push(...lived.events)
      if (interruption !== undefined && lived.interrupted !== undefined)
        interrupted.push({ request: lived.interrupted, what: interruption.what })
      for (const record of lived.written) {
        if (record.type === 'intent') note(grants, record.key, record.intent)
        if (record.type === 'result' && isJsonObject(record.value)) note(charges, record.key, record.value.charge)
      }
      if (lived.records === undefined) {
        await service.settled()
        const { meter, served } = service
        const { reason, committedUsd } = lived.ended.terminal
        return {
          limit: budget.limit,
          billed: { picodollars: meter.picodollars, tokens: meter.tokens },
          committed: { usd: committedUsd, tokens: lived.ended.state.spent.totalTokens },
          reason,
          served,
          underReserved: served.filter((request) => isAbove(request, grants)),
          underSettled: served.filter((request) => charges.has(keyOf(request)) && isAbove(request, charges)),
          kills,
          killsInRequest,
          interrupted,
          events,
        }
      }
      kills++
      const left = survivors(lived.records, interruption?.lost ?? 0)
      if (hasOpenRequest(left)) killsInRequest++
      onDisk = sabotage.onDisk?.(left) ?? left
    }
    throw new Error('The last process was not killed, and did not end.')
  } finally {
    await service.close()
  }
}

interface Amount {
  readonly nanos: number
  readonly tokens: number
}

/** Grants and charges of requests. Other steps have neither. */
function note(amounts: Map<string, Amount>, key: string, amount: Json | undefined): void {
  if (!isJsonObject(amount)) return
  const { nanos, tokens } = amount
  if (typeof nanos === 'number' && typeof tokens === 'number') amounts.set(key, { nanos, tokens })
}

/** The name of the step that sent it. */
function keyOf({ key }: Served): string {
  return key.replace(/^session\//, '')
}

/** Whether a request was billed above its amount here. */
function isAbove(request: Served, amounts: ReadonlyMap<string, Amount>): boolean {
  const { model, bill } = request
  if (bill === null) return false
  const amount = amounts.get(keyOf(request))
  if (amount === undefined) return true
  const tokens = bill.input + bill.read + bill.write5m + bill.write1h + bill.output
  return tokens > amount.tokens || priceOf(model, bill) > BigInt(amount.nanos) * 1_000n
}

function modelOf({ name, speaks }: DrawnModel, { url }: BillingService, drawn: Case, sabotage: Sabotage): Model {
  const { maxOutputTokens, defaultOutputTokens, maxSearches } = drawn
  const options = {
    model: name,
    apiKey: 'key',
    contextWindow,
    maxOutputTokens,
    defaultOutputTokens,
    idleTimeoutMs: patienceMs,
    requestTimeoutMs: 2 * patienceMs,
  }
  const made = {
    messages: () => ({ ...anthropic({ ...options, baseUrl: url }), maxServerToolUses: maxSearches }),
    chat: () => openaiCompatible({ ...options, baseUrl: `${url}/v1` }),
    responses: () => ({ ...openaiResponses({ ...options, baseUrl: `${url}/v1` }), maxServerToolUses: maxSearches }),
  }
  const bounded = made[speaks]()
  return sabotage.model?.(bounded) ?? bounded
}

function budgetOf(
  { budget, currency, models: [first], defaultOutputTokens, ...drawn }: Case,
  prices: Prices,
): { readonly limit: number; readonly options: Partial<RunOptions> } {
  const maxSearches = first.speaks === 'chat' ? 0 : drawn.maxSearches
  const bound = { inputTokens: 2_500 + maxSearches * contextWindow, outputTokens: defaultOutputTokens }
  if (currency === 'tokens') {
    const limit = Math.ceil(budget * (bound.inputTokens + bound.outputTokens))
    return { limit, options: { maxTotalTokens: limit } }
  }
  const usd = prices.worstCase(first.name, { ...bound, serverToolUses: maxSearches }) ?? 0
  const limit = Math.ceil(budget * usd * 1e9)
  return { limit, options: { maxBudgetUsd: limit / 1e9 } }
}

const inputSchema = { type: 'object', properties: { of: { type: 'string' } }, required: ['of'] } as const

const tools: readonly AnyTool[] = [
  { name: 'read', description: 'Reads.', inputSchema, readOnly: true, execute: () => 'what is in there\n'.repeat(6) },
  { name: 'write', description: 'Writes.', inputSchema, readOnly: false, execute: () => 'gemacht, größtenteils' },
  {
    name: 'agent',
    description: 'Has an agent do it.',
    inputSchema,
    readOnly: true,
    concurrencySafe: true,
    spawn: ({ of }: { readonly of: string }) => ({ prompt: `Do a part of it: ${of}`, maxTurns: 3 }),
  },
]

type Lived = {
  readonly events: readonly RunEvent[]
  readonly ended: Awaited<ReturnType<typeof streamRun>['ended']>
  readonly written: readonly StepRecord[]
  /** The request that triggered the interruption, by its arrival or its response. */
  readonly interrupted: Served | undefined
  /** The records on disk when the process was killed; undefined if it reached its end. */
  readonly records: readonly StepRecord[] | undefined
}

/**
 * One process: resumes from the disk until the run ends or it is killed.
 *
 * K1: after the kill it records nothing and sends no request. The service still completes earlier requests.
 */
async function live(
  options: RunOptions,
  onDisk: readonly StepRecord[],
  interruption: Interruption | undefined,
  service: BillingService,
  listen: (onEvent: (request: number, event: number) => void) => void,
): Promise<Lived> {
  const controller = new AbortController()
  let isDead = false
  let interrupted: Served | undefined
  const interrupt = (): void => {
    // The connections of a dead process are closed.
    if (interruption?.what === 'kill') isDead = true
    controller.abort('user')
  }
  const requestsBefore = service.served.length
  const { when } = interruption ?? {}
  listen((request, event) => {
    if (when === undefined || 'records' in when) return
    const number = request - requestsBefore
    if (number < when.requests || (number === when.requests && event < when.events)) return
    if (!controller.signal.aborted) interrupted = service.served[request - 1]
    interrupt()
  })
  const folded = onDisk.some(({ type }) => type === 'start') ? foldRun(onDisk) : undefined
  if (folded?.kind === 'ended') throw new Error('A run that ended is not resumed.')
  let written: readonly StepRecord[] = []
  const steps = createMemorySteps({
    clock: hastyClock,
    ...(folded !== undefined && { past: folded.past, replay: folded.replay }),
    onRecord(record) {
      if (isDead) throw new Error('killed')
      written = [...written, record]
      if (when !== undefined && 'records' in when && written.length >= when.records) interrupt()
    },
  })
  const ledger = ledgerOf(settingsOf(options))
  if (folded !== undefined) ledger.restore(folded.spent.settled, folded.spent.unknown)
  const start = folded?.state ?? startRun({ prompt: 'Do it, please.' })
  const running = streamRun(
    start,
    { ...options, steps, signal: controller.signal },
    { ledger, resumed: folded !== undefined },
  )
  const events: RunEvent[] = []
  for await (const event of running) if (event.type !== 'model_update' && event.type !== 'figures') events.push(event)
  const ended = await running.ended
  const records = folded === undefined ? written : [...onDisk, ...written]
  const hasEnded = written.some((record) => record.type === 'end' && record.scope === '')
  return { events, ended, written, interrupted, records: isDead && !hasEnded ? records : undefined }
}
