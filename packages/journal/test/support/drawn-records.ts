// Records of every kind: those that any run might leave, and stranger ones.
import type { ContentBlock, TranscriptEntry } from '@halting/core'
import { noUsage } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import * as fc from 'fast-check'

export const drawnSessionId = '11111111-2222-4333-8444-555555555555'

// Any characters, including lone surrogates and text that looks like the format itself.
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.string({ unit: fc.constantFrom('\ud83d', '\ude00', '\n', '\0', '\u2028', '"', 'a'), maxLength: 8 }),
  fc.constantFrom('__proto__', '{"ref":"x"}', ',"sum":"', '[1000001 bytes are in payloads/x]', 'tool:1:0:x'),
)
const json = fc.jsonValue({ maxDepth: 2, depthSize: 'small' })
const data = fc.dictionary(fc.oneof(text, fc.constantFrom('ref', 'blocks', 'at', 'payloads', 'sum')), json, {
  maxKeys: 4,
})
const image = fc.constant<ContentBlock>({
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: 'AAAA' },
})
const shown = fc.oneof(
  text.map((each): ContentBlock => ({ type: 'text', text: each })),
  image,
)
const callId = fc.constantFrom('c1', 'c2', 'a/b', 'tool:1:0:c1', '__proto__')
const content = fc.oneof(text, fc.array(shown, { maxLength: 3 }))
const resultBlock = fc
  .tuple(callId, content, fc.constantFrom(undefined, true, false))
  .map(([id, what, isError]): ContentBlock => ({
    type: 'tool_result',
    tool_use_id: id,
    content: what,
    ...(isError !== undefined && { is_error: isError }),
  }))
const said: fc.Arbitrary<readonly ContentBlock[]> = fc.array(
  fc.oneof(
    shown,
    fc.tuple(text, text).map(([thinking, signature]): ContentBlock => ({ type: 'thinking', thinking, signature })),
    fc.tuple(callId, data).map(([id, input]): ContentBlock => ({ type: 'tool_use', id, name: 'T', input })),
  ),
  { maxLength: 4 },
)
export const message = fc.tuple(said, text).map(([blocks, id]) => ({
  role: 'assistant' as const,
  id,
  model: 'scripted',
  content: blocks,
  stop_reason: 'end_turn',
  usage: noUsage,
}))
const scope = fc.constantFrom('run1/', 'run1/agent:3:0:c1/', 'run2/')

/** Entries of every kind. Entries of replies and results come from earlier records, as in a run. */
const entry: fc.Arbitrary<TranscriptEntry> = fc.oneof(
  fc
    .tuple(scope, text, content, fc.constantFrom('prompt', 'steer', 'hook', 'loop', 'interruption'))
    .map(([at, id, what, origin]) => ({
      kind: 'user',
      id: `${at}${id}`,
      message: { role: 'user', content: what },
      origin,
    })),
  fc.tuple(scope, fc.array(fc.oneof(resultBlock, shown), { maxLength: 3 }), data).map(([at, blocks, details]) => ({
    kind: 'user',
    id: `${at}results`,
    message: { role: 'user', content: blocks },
    origin: 'tool_results',
    details,
  })),
  fc.tuple(scope, message).map(([at, what]) => ({ kind: 'assistant', id: `${at}m`, message: what, aborted: true })),
  fc
    .tuple(
      scope,
      fc.array(
        fc.oneof(
          message,
          content.map((what) => ({ role: 'user', content: what })),
        ),
        { maxLength: 3 },
      ),
    )
    .map(([at, messages]) => ({
      kind: 'compact_boundary',
      id: `${at}b`,
      messages,
      trigger: 'auto',
      preTokens: 3,
      postTokens: 1,
      personsWords: 'carried',
    })),
  text.map((what) => ({ kind: 'attachment', id: 'run1/a', attachment: { type: 'informational', message: what } })),
  callId.map((id) => ({ kind: 'results_cleared', id: 'run1/c', calls: [id], freedTokens: 2 })),
  text.map((summary) => ({ kind: 'collapse_staged', id: 'run1/s', from: 0, to: 1, summary, freedTokens: 2 })),
  text.map((note) => ({ kind: 'media_removed', id: 'run1/r', note })),
) as fc.Arbitrary<TranscriptEntry>

export const added = fc.array(entry, { maxLength: 4 })
// The codec treats the figures of a lap as opaque data. Most laps have the same fields as the previous one, and some of
// its figures.
const figure = fc.oneof(json, fc.constantFrom(0, 1, null, { in: 1 }, { in: 2 }))
const spent = fc.oneof(
  data,
  fc.constantFrom(-0, undefined).map((now) => ({ request: 1, now })),
  fc.tuple(figure, figure, figure).map(([request, usage, own]) =>
    // JSON may have this key as well.
    JSON.parse(
      `{"request":${JSON.stringify(request)},"usage":${JSON.stringify(usage)},"__proto__":${JSON.stringify(own)}}`,
    ),
  ),
) as fc.Arbitrary<object>
/** The charge and the grant of a request. They often equal those of its message and its intent. */
const charge = fc.constantFrom(null, { nanos: 1 }, { nanos: 1, usage: noUsage }, { usage: { in: 1 } }, { usage: null })
const grant = fc.constantFrom<{ readonly grant?: unknown }>(
  {},
  { grant: { nanos: 1 } },
  { grant: { nanos: 2 } },
  { grant: null },
)
export const record: fc.Arbitrary<StepRecord> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.tuple(scope, message, charge, grant).map(([at, what, charged, granted]) => ({
      type: 'result',
      key: `${at}model:1.1`,
      digest: null,
      value: { kind: 'answered', message: what, ...granted, charge: charged },
      at: 1,
      durationMs: 1,
    })),
  },
  fc.tuple(scope, grant).map(([at, { grant: intent = null }]) => ({
    type: 'intent',
    key: `${at}model:1.1`,
    digest: null,
    intent,
    at: 1,
  })),
  {
    weight: 3,
    arbitrary: fc
      .tuple(scope, callId, content, fc.option(data), fc.boolean())
      .map(([at, id, what, details, isError]) => ({
        type: 'result',
        key: `${at}tool:1:0:${id}`,
        digest: 'd',
        value: { status: 'done', content: what, isError, ...(details !== null && { details }) },
        at: 1,
        durationMs: 1,
      })),
  },
  fc.tuple(scope, text, json).map(([at, name, value]) => ({
    type: 'result',
    key: `${at}hook:${name}`,
    digest: null,
    value,
    at: 1,
    durationMs: 1,
  })),
  fc
    .tuple(scope, callId, json)
    .map(([at, id, intent]) => ({ type: 'intent', key: `${at}tool:1:0:${id}`, digest: 'd', intent, at: 1 })),
  content.map((what) => ({
    type: 'control',
    key: 'run1/control:1',
    control: { messages: [{ id: 'i', kind: 'steer', content: what }] },
    at: 1,
  })),
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom('', 'agent:3:0:c1/'), added, spent).map(([at, list, figures]) => ({
      type: 'lap',
      lap: { scope: at, transition: 'next_turn', spent: figures, added: list },
    })),
  },
  fc.tuple(added, spent).map(([list, figures]) => ({
    type: 'end',
    scope: 'agent:3:0:c1/',
    terminal: { reason: 'completed' },
    added: list,
    spent: figures,
  })),
  // A stage after an earlier run. It may start and end anywhere.
  fc.tuple(fc.constantFrom('began', 'ended'), text, data).map(([phase, name, details]) => ({
    type: 'stage',
    stage: {
      phase,
      id: `run1/after/${name}`,
      runId: 'run1',
      name,
      costUsd: 0.5,
      most: { nanos: 1, tokens: 1 },
      details,
    },
  })),
) as fc.Arbitrary<StepRecord>

/** Half of the entries share the values of earlier replies and results, as in a run. */
export function shared(records: readonly StepRecord[]): readonly StepRecord[] {
  const contents: unknown[] = []
  const replies: unknown[] = []
  return records.map((each) => {
    if (each.type === 'result') {
      const value = each.value as {
        readonly message?: { readonly content: unknown }
        readonly content?: unknown
      } | null
      contents.push(value?.message?.content ?? value?.content)
      if (value?.message !== undefined) replies.push(value.message)
    }
    if (each.type !== 'lap') return each
    const list = each.lap.added.map((one, index) => {
      const known = contents.at(-1 - index)
      const reply = replies.at(-1 - index)
      if (one.kind === 'assistant' && index > 0 && reply !== undefined) return { ...one, message: reply }
      if (one.kind === 'assistant' && Array.isArray(known))
        return { ...one, message: { ...one.message, content: known } }
      if (one.kind !== 'user' || one.origin !== 'tool_results' || known === undefined) return one
      const block = { type: 'tool_result', tool_use_id: 'c1', content: known }
      return {
        ...one,
        message: { role: 'user', content: [block, ...(one.message.content as readonly ContentBlock[])] },
      }
    })
    return { ...each, lap: { ...each.lap, added: list } } as StepRecord
  })
}

export const start = (entries: readonly TranscriptEntry[], run: string): StepRecord =>
  ({
    type: 'start',
    scope: '',
    start: { run: { sessionId: drawnSessionId, runId: run, agentPath: '', depth: 0 }, added: entries, spent: {} },
    at: 0,
  }) as unknown as StepRecord
