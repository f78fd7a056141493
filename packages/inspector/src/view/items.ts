import { endings } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { recordedStep, recordedSteps, type Control, type RecordedStep, type StepRecord } from '@halting/core/steps'
import { callLabel, longestLabel } from './call-label.ts'
import type { ItemKind, TimelineItem } from './types.ts'

type Item = { -readonly [field in keyof Omit<TimelineItem, 'id' | 'part'>]: TimelineItem[field] } & { callId?: string }

/**
 * The bars and marks of a run, by their beginning. Each intent and result is told by exactly one of them; turns and agents are spans around others.
 * Parts of the transcript are filled in by whoever has it.
 */
export function timelineOf(records: readonly StepRecord[]): readonly (TimelineItem & { readonly callId?: string })[] {
  const reader = new ItemReader(records)
  for (const [index, record] of records.entries()) reader.read(record, index)
  return reader.end().map((item, id) => ({ ...item, id, part: null }))
}

class ItemReader {
  readonly #beganAt: number
  readonly #items: Item[] = []
  /** Intents without a result, by key, and where they stand. */
  readonly #open = new Map<
    string,
    { readonly index: number; readonly record: Extract<StepRecord, { type: 'intent' }> }
  >()
  readonly #labels = new CallLabels()
  /** By request of the main loop, what its steps span. */
  readonly #turns = new Map<number, Item>()
  /** By scope, what the steps of an agent span. */
  readonly #agents = new Map<string, Item>()
  #latestMs = 0

  constructor(records: readonly StepRecord[]) {
    const [first] = records
    this.#beganAt = first?.type === 'start' ? first.at : 0
    this.#labels.read(records)
  }

  read(record: StepRecord, index: number): void {
    switch (record.type) {
      case 'intent':
        this.#open.set(record.key, { index, record })
        return
      case 'result':
        this.#result(record, index)
        return
      case 'control':
        this.#mark('control', record.at, labelOfControl(record.control), index)
        return
      case 'lap':
        if (record.lap.scope === '' && record.lap.transition !== 'next_turn')
          this.#mark('lap', record.lap.spent.now, record.lap.transition, index)
        return
      case 'end': {
        if (record.scope !== '') return
        const { reason, signal } = record.terminal
        const status = endings[reason].exitCode === 0 ? 'done' : 'failed'
        this.#mark('ending', record.spent.now, `${reason}: ${signal.message}`, index, status)
        return
      }
      case 'start':
      case 'rewind':
      case 'stage':
    }
  }

  end(): readonly Item[] {
    for (const { record, index } of this.#open.values()) {
      const step = recordedStep(record.key, record.at, 0, true)
      const { model, tokens, nanos } = isJsonObject(record.intent) ? record.intent : {}
      this.#add({
        ...this.#itemOf(step, index),
        endMs: null,
        label: this.#labelOf(step, typeof model === 'string' ? model : undefined),
        status: 'open',
        tokens: numberOf(tokens),
        costUsd: numberOf(nanos) / 1e9,
      })
    }
    for (const [index, { startMs, ...item }] of [...this.#turns.values()].entries())
      this.#items.push({ ...item, startMs, label: `turn ${index + 1}` })
    this.#items.push(...this.#agents.values())
    return this.#items.toSorted((a, b) => a.startMs - b.startMs || order(a) - order(b))
  }

  #result({ key, value, at, durationMs }: Extract<StepRecord, { readonly type: 'result' }>, index: number): void {
    const step = recordedStep(key, at, durationMs, false)
    const intent = this.#open.get(key)
    this.#open.delete(key)
    const fields = isJsonObject(value) ? value : {}
    const charge = isJsonObject(fields['charge']) ? fields['charge'] : {}
    const { model, tokens, nanos } = charge
    const callId = callIdOf(step.name)
    this.#add({
      ...this.#itemOf(step, intent?.index ?? index),
      lastRecord: index,
      label: this.#labelOf(step, typeof model === 'string' ? model : undefined),
      status: statusOf(fields),
      tokens: numberOf(tokens),
      costUsd: numberOf(nanos) / 1e9,
      ...(callId !== undefined && { callId }),
    })
  }

  #itemOf(step: RecordedStep, index: number): Item {
    const startMs = this.#since(step.at)
    return {
      kind: kindOf(step),
      scope: step.scope,
      request: step.request,
      startMs,
      endMs: startMs + Math.max(0, step.durationMs),
      label: '',
      status: '',
      tokens: 0,
      costUsd: 0,
      firstRecord: index,
      lastRecord: index,
    }
  }

  #labelOf(step: RecordedStep, model: string | undefined): string {
    const callId = callIdOf(step.name)
    const label = callId === undefined ? undefined : this.#labels.of(step.scope, callId)
    return (label ?? model ?? step.name).slice(0, longestLabel)
  }

  #add(item: Item): void {
    this.#items.push(item)
    const endMs = item.endMs ?? item.startMs
    this.#latestMs = Math.max(this.#latestMs, endMs)
    const request = item.scope === '' ? item.request : Number(/^agent:(\d+):/.exec(item.scope)?.[1] ?? 0)
    if (request > 0) widen(this.#turns, request, item, { kind: 'turn', scope: '', request })
    for (let { scope } = item; scope !== ''; scope = outer(scope))
      widen(this.#agents, scope, item, {
        kind: 'agent',
        scope,
        request,
        label: this.#labelOfAgent(scope),
      })
  }

  #labelOfAgent(scope: string): string {
    const callId = /agent:\d+:\d+:([^/]*)\/$/.exec(scope)?.[1] ?? ''
    return this.#labels.of(outer(scope), callId) ?? 'agent'
  }

  #mark(kind: ItemKind, at: number, label: string, index: number, status = ''): void {
    const startMs = Math.max(this.#since(at), kind === 'ending' ? this.#latestMs : 0)
    const figures = { status, tokens: 0, costUsd: 0, firstRecord: index, lastRecord: index }
    this.#items.push({
      kind,
      scope: '',
      request: 0,
      startMs,
      endMs: startMs,
      label: label.slice(0, longestLabel),
      ...figures,
    })
  }

  /** Clocks of other programs may go back. */
  #since(at: number): number {
    return Math.max(0, at - this.#beganAt)
  }
}

/** Makes a span reach around an item. */
function widen<Key>(
  spans: Map<Key, Item>,
  key: Key,
  item: Item,
  begun: Pick<Item, 'kind' | 'scope' | 'request'> & { label?: string },
): void {
  const { startMs, endMs, firstRecord, lastRecord, tokens, costUsd } = item
  const span = spans.get(key)
  if (span === undefined) {
    spans.set(key, {
      label: '',
      status: '',
      ...begun,
      startMs,
      endMs: endMs ?? startMs,
      firstRecord,
      lastRecord,
      tokens,
      costUsd,
    })
    return
  }
  span.startMs = Math.min(span.startMs, startMs)
  span.endMs = Math.max(span.endMs ?? 0, endMs ?? startMs)
  span.firstRecord = Math.min(span.firstRecord, firstRecord)
  span.lastRecord = Math.max(span.lastRecord, lastRecord)
  span.tokens += tokens
  span.costUsd += costUsd
}

/** Spans come before what they hold, and the ending last. */
function order({ kind }: Item): number {
  return kind === 'turn' ? 0 : kind === 'agent' ? 1 : kind === 'ending' ? 3 : 2
}

/** The scope around an agent's: '' for one of the main loop. */
function outer(scope: string): string {
  return scope.replace(/agent:\d+:\d+:[^/]*\/$/, '')
}

/** What calls were asked for, by scope and id; where an id was used again, the call that is next. */
class CallLabels {
  readonly #labels = new Map<string, string>()

  read(records: readonly StepRecord[]): void {
    for (const { scope, id, name, input } of recordedSteps(records).calls)
      this.#labels.set(`${scope}|${id}`, callLabel(name, input))
  }

  of(scope: string, callId: string): string | undefined {
    // In a scope an id has no slash.
    return this.#labels.get(`${scope}|${callId}`)
  }
}

function callIdOf(name: string): string | undefined {
  return /^(?:tool|permission|approval|rules|save|close):\d+:\d+:(.*?)(?:\/asked)?$/s.exec(name)?.[1]
}

function kindOf({ phase, name }: RecordedStep): ItemKind {
  switch (phase) {
    case 'model':
      return 'attempt'
    case 'compaction':
      return 'compaction'
    case 'tools':
      return 'tool'
    case 'hooks':
      return 'hook'
    case 'waiting':
      return name.startsWith('rules') ? 'other' : 'wait'
    case 'other':
      return 'other'
  }
}

/** As a result tells it: of a request its kind, of a call its status, of a rule what it decided. */
function statusOf({ kind, status, behavior, outcome }: { readonly [field: string]: unknown }): string {
  const told = status ?? kind ?? behavior ?? outcome
  return typeof told === 'string' ? told : ''
}

function labelOfControl({ abort, signals, messages, settings, tasks, agents }: Control): string {
  if (abort !== undefined) return `abort: ${abort}`
  if (signals !== undefined) return `stop: ${signals.map(({ message }) => message).join('; ')}`
  if (messages !== undefined)
    return messages.map(({ kind }) => (kind === 'steer' ? 'steered' : 'followed up')).join(', ')
  if (settings !== undefined) return `set: ${Object.keys(settings).join(', ')}`
  if (tasks !== undefined || agents !== undefined) return 'work in the background ended'
  return 'left behind'
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0
}
