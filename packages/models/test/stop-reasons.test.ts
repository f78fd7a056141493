// Tests spec R-REQ-5, R-REQ-8 and the transitions of replies over the wire: what each stop reason means for a run.
import { streamRun, startRun } from '@halting/core'
import type { ModelMessage } from '@halting/core'
import { expect, onTestFinished, test } from 'vitest'
import { scriptedModel } from '../src/scripted/index.ts'
import type { Script } from '../src/scripted/index.ts'
import { look } from './support/inspect.ts'

const cut = { content: 'half', stop_reason: 'max_tokens' }
const whole = { content: 'whole' }

interface Meaning {
  readonly replies: Script['replies']
  /** The transitions of the run, followed by its ending. */
  readonly transitions: readonly string[]
  readonly ends: string
  /** For each request: the token limit of the reply, and the roles of its messages. */
  readonly asked: readonly (readonly [cap: number, roles: string])[]
}

const first = [1_000, 'user'] as const
const once = [first]

const meanings: Readonly<Record<string, Meaning>> = {
  'end_turn is an answer': { replies: [whole], transitions: [], ends: 'completed', asked: once },
  'stop_sequence is an answer, too': {
    replies: [{ ...whole, stop_reason: 'stop_sequence', stop_sequence: 'END' }],
    transitions: [],
    ends: 'completed',
    asked: once,
  },
  'tool_use runs its calls': {
    replies: [{ content: [{ type: 'tool_use', name: 'Look' }] }, whole],
    transitions: ['next_turn'],
    ends: 'completed',
    asked: [first, [1_000, 'user assistant user']],
  },
  'pause_turn is sent back unchanged': {
    replies: [{ content: 'searching', stop_reason: 'pause_turn' }, whole],
    transitions: ['pause_turn'],
    ends: 'completed',
    asked: [first, [1_000, 'user assistant']],
  },
  'refusal ends the run with that reason': {
    replies: [{ content: 'I would rather not.', stop_reason: 'refusal' }],
    transitions: [],
    ends: 'refusal',
    asked: once,
  },
  'max_tokens repeats the request with the highest limit, then continues the reply': {
    replies: [cut, cut, whole],
    transitions: ['max_output_tokens_escalate', 'max_output_tokens_recovery'],
    ends: 'completed',
    asked: [first, [8_000, 'user'], [8_000, 'user assistant user']],
  },
  'max_tokens up to the last attempt keeps the text so far': {
    replies: [cut, cut, cut, cut, cut],
    transitions: ['max_output_tokens_escalate', ...Array.from({ length: 3 }, () => 'max_output_tokens_recovery')],
    ends: 'max_output_tokens',
    asked: [first, ...Array.from({ length: 4 }, (_, n) => [8_000, `user${' assistant user'.repeat(n)}`] as const)],
  },
  'model_context_window_exceeded is handled like a prompt that is too long': {
    replies: [{ content: 'half', stop_reason: 'model_context_window_exceeded' }],
    transitions: [],
    ends: 'prompt_too_long',
    asked: once,
  },
  'an unknown reason is an answer': {
    replies: [{ ...whole, stop_reason: 'something_new' }],
    transitions: [],
    ends: 'completed',
    asked: once,
  },
}

interface Body {
  readonly max_tokens: number
  readonly messages: readonly ModelMessage[]
}

test.each(Object.entries(meanings))('%s', async (_name, { replies, transitions, ends, asked }) => {
  const adapter = { maxOutputTokens: 8_000, defaultOutputTokens: 1_000 }
  const scripted = await scriptedModel({ replies }, { adapter })
  onTestFinished(() => scripted.close())
  const run = streamRun(startRun({ prompt: 'go' }), { model: scripted.model, tools: [look] })
  const taken: string[] = []
  for await (const event of run) if (event.type === 'lap') taken.push(event.transition)
  const terminal = await run.result
  const bodies = scripted.server.requests.map(({ body }) => body as unknown as Body)
  const requests = bodies.map(({ max_tokens, messages }) => [max_tokens, messages.map(({ role }) => role).join(' ')])
  expect([terminal.reason, taken, requests]).toEqual([ends, transitions, asked])
})
