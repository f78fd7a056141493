// Holds spec R-REQ-5, R-REQ-8 and the transitions of replies, over the wire: what each stop reason means for a run.
import { loop, startRun } from '@halting/core'
import type { AnyTool, ModelMessage } from '@halting/core'
import { expect, onTestFinished, test } from 'vitest'
import { scriptedModel } from '../src/scripted/index.ts'
import type { Script } from '../src/scripted/index.ts'

const look: AnyTool = {
  name: 'Look',
  description: 'Looks',
  inputSchema: { type: 'object' },
  readOnly: true,
  execute: () => 'seen',
}

const cut = { content: 'half', stop_reason: 'max_tokens' }
const whole = { content: 'whole' }

interface Meaning {
  readonly replies: Script['replies']
  /** Why the run went round again, and how it ended. */
  readonly laps: readonly string[]
  readonly ends: string
  /** What the model was asked for: the cap of each request. */
  readonly caps?: readonly number[]
  /** The roles and contents of the last request, where they matter. */
  readonly asked?: (messages: readonly ModelMessage[]) => void
}

const meanings: Readonly<Record<string, Meaning>> = {
  'end_turn is an answer': { replies: [whole], laps: [], ends: 'completed' },
  'stop_sequence is one, too': {
    replies: [{ ...whole, stop_reason: 'stop_sequence', stop_sequence: 'END' }],
    laps: [],
    ends: 'completed',
  },
  'tool_use has its calls run': {
    replies: [{ content: [{ type: 'tool_use', name: 'Look' }] }, whole],
    laps: ['next_turn'],
    ends: 'completed',
  },
  'pause_turn is sent back as it is': {
    replies: [{ content: 'searching', stop_reason: 'pause_turn' }, whole],
    laps: ['pause_turn'],
    ends: 'completed',
    asked: (messages) =>
      expect(messages.at(-1)).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'searching' }] }),
  },
  'refusal ends the run as such': {
    replies: [{ content: 'I would rather not.', stop_reason: 'refusal' }],
    laps: [],
    ends: 'refusal',
  },
  'max_tokens is asked again with all the room there is, and then gone on from': {
    replies: [cut, cut, whole],
    laps: ['max_output_tokens_escalate', 'max_output_tokens_recovery'],
    ends: 'completed',
    caps: [1_000, 8_000, 8_000],
    asked: (messages) => expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']),
  },
  'max_tokens to the end keeps what there is': {
    replies: [cut, cut, cut, cut, cut],
    laps: ['max_output_tokens_escalate', ...Array.from({ length: 3 }, () => 'max_output_tokens_recovery')],
    ends: 'max_output_tokens',
  },
  'model_context_window_exceeded takes the way of a prompt that is too long': {
    replies: [{ content: 'half', stop_reason: 'model_context_window_exceeded' }],
    laps: [],
    ends: 'prompt_too_long',
  },
  'a reason that nobody knows is an answer': {
    replies: [{ ...whole, stop_reason: 'something_new' }],
    laps: [],
    ends: 'completed',
  },
}

test.each(Object.entries(meanings))('%s', async (_name, { replies, laps, ends, caps, asked }) => {
  const { model, server, close } = await scriptedModel(
    { replies },
    { adapter: { maxOutputTokens: 8_000, defaultOutputTokens: 1_000 } },
  )
  onTestFinished(close)
  const run = loop(startRun({ prompt: 'go' }), { model, tools: [look] })
  const taken: string[] = []
  for await (const event of run) if (event.type === 'lap') taken.push(event.transition)
  const terminal = await run.terminal
  expect([terminal.reason, taken]).toEqual([ends, laps])
  const bodies = server.requests.map(
    ({ body }) => body as { readonly max_tokens: number; readonly messages: ModelMessage[] },
  )
  if (caps !== undefined) expect(bodies.map(({ max_tokens }) => max_tokens)).toEqual(caps)
  asked?.(bodies.at(-1)?.messages ?? [])
})
