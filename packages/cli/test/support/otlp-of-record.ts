import { recordedSteps, type RecordedCall, recordedWork, type PastRequest } from '@halting/analysis'
import type { StepRecord } from '@halting/core/steps'
import type { SpanNode, Value, Values } from './otlp-forms.ts'

// The expected spans of a run, built only from its record: for a run that was not resumed, without hooks, compactions and retries.

const numberValue = (value: number): Value => (Number.isInteger(value) ? BigInt(value) : value)

/** For the models of these tests. */
const providerOf = (model = ''): string => (model.startsWith('claude-') ? 'anthropic' : 'unknown')

interface Ending {
  readonly terminal: Values
  readonly verified: Values
  readonly input: number
  readonly output: number
  readonly toolCalls: number
}

/** The tree of a run. */
export function treeOfRecord(records: readonly StepRecord[]): SpanNode {
  return new Reader(records).run({ scope: '', agent: 'halting', depth: 0 })
}

class Reader {
  readonly #records: readonly StepRecord[]
  readonly #requests: readonly PastRequest[]
  readonly #calls: readonly RecordedCall[]
  readonly #replies: ReadonlyMap<string, Reply>
  readonly #runId: string
  readonly #sessionId: string

  constructor(records: readonly StepRecord[]) {
    this.#records = records
    this.#requests = recordedWork(records).requests
    const steps = recordedSteps(records)
    this.#calls = steps.calls
    this.#replies = new Map(steps.requests.map(({ scope, name, result: came }) => [`${scope}${name}`, replyOf(came)]))
    const start = records.find((record) => record.type === 'start')
    if (start?.type !== 'start') throw new Error('it has no beginning')
    this.#runId = start.start.run.runId
    this.#sessionId = start.start.run.sessionId
  }

  run({ scope, agent, depth }: { readonly scope: string; readonly agent: string; readonly depth: number }): SpanNode {
    const ending = this.#ending(scope)
    const iterations = this.#records.flatMap((record) =>
      record.type === 'lap' && record.lap.scope === scope ? [record.lap] : [],
    )
    const requests = this.#requests.filter((request) => request.scope === scope)
    const [first] = requests
    return {
      name: `invoke_agent ${agent}`,
      kind: 1,
      status: 0,
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.provider.name': providerOf(first?.model),
        'gen_ai.request.model': first?.model ?? '',
        'gen_ai.agent.name': agent,
        'gen_ai.conversation.id': this.#sessionId,
        'halting.run.id': this.#runId,
        'halting.agent.depth': BigInt(depth),
        ...(depth > 0 && { 'gen_ai.agent.id': `${this.#runId}/${scope.slice(0, -1)}` }),
        ...ending.terminal,
        ...ending.verified,
        'gen_ai.usage.input_tokens': BigInt(ending.input),
        'gen_ai.usage.output_tokens': BigInt(ending.output),
        'halting.tool_calls': BigInt(ending.toolCalls),
      },
      events: [
        ...iterations.map(({ transition }) => ({
          name: 'halting.lap',
          attributes: { 'halting.transition': transition },
        })),
        { name: 'halting.ending', attributes: ending.terminal },
      ],
      children: requests.map((request, index) => this.#turn(request, index + 1, iterations[index]?.transition)),
    }
  }

  #turn(request: PastRequest, turn: number, transition: string | undefined): SpanNode {
    const number = BigInt(request.name.slice('model:'.length))
    const reply = this.#replies.get(`${request.scope}${request.name}.1`) ?? { id: '', model: '', reason: '', calls: [] }
    return {
      name: 'halting.turn',
      kind: 1,
      status: 0,
      attributes: {
        'halting.request': number,
        'halting.turn.number': BigInt(turn),
        ...(transition !== undefined && { 'halting.transition': transition }),
      },
      events: [],
      children: [
        this.#attempt(request, number, reply),
        ...reply.calls.map((id, index) => this.#call(request.scope, `${number}:${index}:${id}`, id)),
      ],
    }
  }

  #attempt(
    { model, usage, nanos, durationMs }: PastRequest,
    number: bigint,
    { id, model: by, reason }: Reply,
  ): SpanNode {
    const { input_tokens: input, output_tokens: output } = usage
    const { cache_read_input_tokens: read, cache_creation_input_tokens: created } = usage
    return {
      name: `chat ${model}`,
      kind: 3,
      status: 0,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': providerOf(model),
        'gen_ai.request.model': model,
        'gen_ai.conversation.id': this.#sessionId,
        'halting.request': number,
        'halting.attempt': 1n,
        'halting.outcome': 'answered',
        'halting.cost.usd': numberValue(nanos / 1e9),
        'halting.duration_ms': BigInt(durationMs),
        'gen_ai.usage.input_tokens': BigInt(input + read + created),
        'gen_ai.usage.output_tokens': BigInt(output),
        'gen_ai.usage.cache_read.input_tokens': BigInt(read),
        'gen_ai.usage.cache_creation.input_tokens': BigInt(created),
        'gen_ai.response.id': id,
        'gen_ai.response.model': by,
        'gen_ai.response.finish_reasons': [reason],
      },
      events: [],
      children: [],
    }
  }

  #call(scope: string, place: string, id: string): SpanNode {
    const call = this.#calls.find((each) => each.scope === scope && each.id === id)
    if (call === undefined) throw new Error(`${id} is not on record`)
    const { name, status, input } = call
    const below = `${scope}agent:${place}/`
    const isAgent = this.#requests.some((request) => request.scope === below)
    // True: the input of the call, which names a kind of agent.
    const { subagent_type: agent = 'general-purpose' } = input as { readonly subagent_type?: string }
    return {
      name: `execute_tool ${name}`,
      kind: 1,
      status: status === 'failed' || status === 'invalid' || status === 'unknown' ? 2 : 0,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': name,
        'gen_ai.tool.call.id': id,
        'halting.tool.status': status,
        ...(status !== 'done' && { 'error.type': status }),
      },
      events: [],
      children: isAgent ? [this.run({ scope: below, agent, depth: below.split('/').length - 1 })] : [],
    }
  }

  #ending(scope: string): Ending {
    const record = this.#records.find((each) => each.type === 'end' && each.scope === scope)
    if (record?.type !== 'end') throw new Error(`${scope} has no end`)
    const { reason, signal, costUsd, committedUsd, totalTokens, summary, durationMs, verified } = record.terminal
    const { usage } = summary
    return {
      verified: verified === undefined ? {} : { 'halting.run.verified': String(verified) },
      terminal: {
        'halting.terminal.reason': reason,
        'halting.stop.category': signal.reason,
        'halting.stop.message': signal.message,
        'halting.cost.usd': numberValue(costUsd),
        'halting.cost.committed_usd': numberValue(committedUsd),
        'halting.tokens': BigInt(totalTokens),
        'halting.turns': BigInt(summary.turns),
        'halting.requests': BigInt(summary.requests),
        'halting.active_ms': BigInt(durationMs),
      },
      input: usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
      output: usage.output_tokens,
      toolCalls: record.spent.toolCalls ?? 0,
    }
  }
}

interface Reply {
  readonly id: string
  readonly model: string
  readonly reason: string
  readonly calls: readonly string[]
}

function replyOf(came: unknown): Reply {
  // True: the step engine recorded this of an attempt with an answer.
  const { message } = came as {
    readonly message: {
      readonly id: string
      readonly model: string
      readonly stop_reason: string
      readonly content: readonly { readonly type: string; readonly id: string }[]
    }
  }
  const calls = message.content.flatMap(({ type, id }) => (type === 'tool_use' ? [id] : []))
  return { id: message.id, model: message.model, reason: message.stop_reason, calls }
}

/** What the record does not contain: times until the first part of a reply and of calls, and what is left of limits. */
const unrecorded: Readonly<Record<string, 'number' | 'bigint'>> = {
  'gen_ai.response.time_to_first_chunk': 'number',
  'halting.left.turns': 'bigint',
  'halting.left.others': 'bigint',
}

/** A tree as it was sent, without what its record does not contain. */
export function asRecorded({ attributes, events, children, ...about }: SpanNode): SpanNode {
  const known = (values: Values, more: readonly string[] = []): Values =>
    Object.fromEntries(
      Object.entries(values).filter(
        ([name, value]) => unrecorded[name] !== typeof value && !(more.includes(name) && typeof value === 'bigint'),
      ),
    )
  return {
    ...about,
    attributes: known(attributes, about.name.startsWith('execute_tool') ? ['halting.duration_ms'] : []),
    events: events.map((event) => ({ ...event, attributes: known(event.attributes) })),
    children: children.map(asRecorded),
  }
}
