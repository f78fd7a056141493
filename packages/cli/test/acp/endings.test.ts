// Holds rules of docs/spec.md: R-ACP-5, R-ACP-5a, R-ACP-6.
import { readFileSync } from 'node:fs'
import { methods } from '@agentclientprotocol/sdk'
import { describe, expect, test, vi } from 'vitest'
import {
  AgentStopException,
  FinishReasonHook,
  noProgress,
  type QueryOptions,
  StopSignal,
  type TerminalReason,
} from '@halting/core'
import { noPrices, plainContext } from '@halting/core/adapters'
import { type ScriptedReply, scriptedModel } from '@halting/core/testing'
import { stopReasons } from '../../src/acp/stop-reason.ts'
import { callProblems } from '../support/acp-schema.ts'
import { startAgent } from '../support/acp-agent.ts'

interface Made {
  readonly replies: readonly ScriptedReply[] | (() => ScriptedReply)
  readonly options?: Partial<QueryOptions>
  readonly model?: Parameters<typeof scriptedModel>[1]
  /** The client cancels while the run goes on; `tools`: while a tool works. */
  readonly cancels?: 'streaming' | 'tools'
  /** How the prompt is answered. */
  readonly told: string
}

const look: ScriptedReply = { toolCalls: [{ name: 'Glob', input: { pattern: '*' } }] }
const forever = (): ScriptedReply => look
const error = (
  kind: 'prompt_too_long' | 'image' | 'authentication_failed' | 'server_error',
  status: number,
): ScriptedReply => ({
  error: { kind, message: `no: ${kind}`, status },
})
const dear = { ...noPrices, costOf: () => 1, worstCase: () => 1 }

function toolOf(name: string, execute: () => string): NonNullable<QueryOptions['tools']>[number] {
  const inputSchema = { type: 'object', properties: {} } as const
  const validate = (input: unknown) => ({ valid: true as const, input })
  return { name, description: name, inputSchema, readOnly: true, validate, execute }
}

/** How each ending comes about. A reason without its row does not compile. */
const made: { readonly [reason in Exclude<TerminalReason, 'abandoned' | 'user_requested' | 'needs_approval'>]: Made } =
  {
    completed: { replies: ['Done.'], told: 'end_turn' },
    finish_reason: {
      replies: [{ text: 'Half.', stopReason: 'stop_sequence' }],
      options: { stopWhen: new FinishReasonHook(['stop_sequence']) },
      told: 'end_turn',
    },
    stop_requested: {
      replies: [{ toolCalls: [{ name: 'Submit' }] }],
      options: {
        tools: [
          toolOf('Submit', () => {
            throw new AgentStopException({ signal: new StopSignal({ reason: 'stop_requested', message: 'Submitted' }) })
          }),
        ],
      },
      told: 'end_turn',
    },
    hook_stopped: {
      replies: [look],
      options: {
        hooks: [
          {
            id: 'watch',
            triggers: ['afterToolUse'],
            handle: (context) => context.withContinuationPrevented('seen enough'),
          },
        ],
      },
      told: 'end_turn',
    },
    stop_hook_prevented: {
      replies: ['Answer.'],
      options: { stopHooks: [{ id: 'no', handle: () => ({ prevent: 'enough' }) }] },
      told: 'end_turn',
    },
    max_turns: { replies: forever, options: { maxTurns: 2 }, told: 'max_turn_requests' },
    max_budget_usd: { replies: forever, options: { prices: dear, maxBudgetUsd: 1.5 }, told: 'max_turn_requests' },
    time_limit: { replies: [{ hang: true, text: 'Wait' }], options: { maxDurationMs: 50 }, told: 'max_turn_requests' },
    no_progress: { replies: forever, options: { stopWhen: noProgress() }, told: 'max_turn_requests' },
    compaction_thrash: {
      replies: ['never'],
      options: { context: { ...plainContext, beforeRequest: () => 'thrash' } },
      told: 'max_turn_requests',
    },
    blocking_limit: {
      replies: ['never'],
      model: { contextWindow: 3_005 },
      options: { context: plainContext, tools: [] },
      told: 'max_turn_requests',
    },
    structured_output_retry_exhausted: {
      replies: () => 'no JSON',
      options: { output: { check: () => ({ fits: false, message: 'it is not JSON' }) } },
      told: 'max_turn_requests',
    },
    token_limit: { replies: ['never'], options: { maxTokens: 1 }, told: 'max_tokens' },
    max_output_tokens: {
      replies: () => ({ text: 'part', stopReason: 'max_tokens', usage: { output_tokens: 100 } }),
      model: { maxOutputTokens: 100, defaultOutputTokens: 50 },
      told: 'max_tokens',
    },
    refusal: { replies: [{ text: 'No.', stopReason: 'refusal' }], told: 'refusal' },
    aborted_streaming: { replies: [{ hang: true, text: 'Wait' }], cancels: 'streaming', told: 'cancelled' },
    aborted_tools: {
      replies: [{ toolCalls: [{ name: 'Bash', input: { command: 'sleep 60' } }] }],
      cancels: 'tools',
      told: 'cancelled',
    },
    prompt_too_long: { replies: [error('prompt_too_long', 413)], told: '-32603' },
    model_error: { replies: () => error('server_error', 500), options: { maxRetries: 0 }, told: '-32603' },
    image_error: { replies: () => error('image', 400), told: '-32603' },
    error: {
      replies: [look],
      options: {
        stopWhen: {
          name: 'broken',
          checkpoints: ['after_tools'],
          evaluate: () => {
            throw new Error('guard bug')
          },
        },
      },
      told: '-32603',
    },
  }

interface Answer {
  readonly told: string
  readonly stop: { readonly reason?: unknown; readonly category?: unknown }
}

// `Object.keys` of a record over the union gives the union.
describe.each(Object.entries(made) as [TerminalReason, Made][])(
  '%s',
  (reason, { replies, options, model, cancels, told }) => {
    test.each([true, false])('is told, with notices: %s', async (notices) => {
      const made = typeof replies === 'function' ? () => replies() : replies
      const { agent, newSession, updates, text, wire } = await startAgent({
        model: scriptedModel(made, model),
        allow: ['Bash'],
        capabilities: notices ? { session: { notices: {} } } : {},
        ...(options !== undefined && { options }),
      })
      const { sessionId } = await newSession()
      const asked = agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text: 'go' }] })
      const answered = asked.then(
        ({ stopReason, _meta }): Answer => ({ told: stopReason, stop: _meta?.['halting/stop'] as Answer['stop'] }),
        // What the library rejects with.
        ({ code, data }: { readonly code: number; readonly data: Pick<Answer, 'stop'> }): Answer => ({
          told: String(code),
          stop: data.stop,
        }),
      )
      if (cancels !== undefined) {
        const seen = cancels === 'tools' ? 'tool_call_update' : 'agent_message_chunk'
        await vi.waitUntil(() => updates(seen).length > 0, { timeout: 20_000 })
        await agent.notify(methods.agent.session.cancel, { sessionId })
      }
      expect(await answered).toEqual({
        told,
        stop: {
          reason,
          category: expect.any(String),
          message: expect.any(String),
          context: expect.any(Object),
          forced: expect.any(Boolean),
        },
      })
      // The sentence is told once, where the client shows such, and for every ending but the plain one.
      const sentences = notices ? updates('notice').map(({ title }) => String(title)) : [text()]
      expect(sentences.join('\n').split(`${reason}: `).length - 1).toBe(reason === 'completed' ? 0 : 1)
      expect(callProblems(updates())).toEqual([])
      expect(wire.problems).toEqual([])
      expect(wire.unanswered).toEqual([])
    })
  },
)

test('a key that the service refuses is an error of its own', async () => {
  const { agent, newSession } = await startAgent({ model: scriptedModel([error('authentication_failed', 401)]) })
  const { sessionId } = await newSession()
  await expect(
    agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text: 'go' }] }),
  ).rejects.toMatchObject({ code: -32000, message: expect.stringContaining('no: authentication_failed') })
})

test('the guide has the stop reasons of the code', () => {
  const guide = readFileSync(new URL('../../../../docs/guide/editors.md', import.meta.url), 'utf8')
  for (const [reason, told] of Object.entries(stopReasons)) {
    const row = guide.split('\n').find((line) => line.startsWith('|') && line.includes(`\`${reason}\``))
    expect([reason, row]).toEqual([reason, expect.stringContaining(told === 'error' ? 'error' : `\`${told}\``)])
  }
})
