// A worker whose sessions call a service that charges, behind a gate: fleet-worker.mjs PORT INGRESS SERVICE
import { createSession } from '@halting/core/session'
import type { AgentTool, AnyTool, Model, Prices, Usage } from '@halting/core'
import { createEndpointHandler } from '@restatedev/restate-sdk'
import { createServer } from 'node:http2'
import { gatedModel, ProviderGate } from '../../src/fleet/gated-model.ts'
import { sessionServices } from '../../src/service/session-service.ts'

const [port = '0', ingressUrl = '', service = ''] = process.argv.slice(2)
const ingress = { url: ingressUrl }
const gate = new ProviderGate(ingress, 'key', { isOneProcessASession: true })

/** One dollar per million tokens. */
const prices: Prices = {
  cost: (_model, { input_tokens, output_tokens }) => (input_tokens + output_tokens) / 1e6,
  worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + outputTokens) / 1e6,
}

/** Calls the service outside, which counts. */
function outside(session: string, turns: number): Model {
  return {
    id: 'outside',
    contextWindow: 200_000,
    maxOutputTokens: 200,
    async call({ messages }, { signal }) {
      const answered = await fetch(service, { method: 'POST', body: session, signal })
      // fleet.ts writes it.
      const usage = (await answered.json()) as Usage
      const isAgent = messages[0]?.content === 'help'
      const turn = messages.filter(({ role }) => role === 'assistant').length
      const call = (name: string, index: number) => ({
        type: 'tool_use' as const,
        id: `c${turn}.${index}`,
        name,
        input: {},
      })
      const content =
        isAgent || turn >= turns
          ? [{ type: 'text' as const, text: 'done' }]
          : [call('Look', 0), ...(turn === 1 ? [call('Agent', 1), call('Agent', 2)] : [])]
      const stop_reason = content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn'
      return { message: { id: `m${turn}`, role: 'assistant', model: 'outside', content, stop_reason, usage } }
    },
  }
}

const look: AnyTool = {
  name: 'Look',
  description: 'Looks.',
  inputSchema: { type: 'object' },
  readOnly: true,
  execute: () => 'seen',
}
const agent: AgentTool = {
  name: 'Agent',
  description: 'Helps.',
  inputSchema: { type: 'object' },
  readOnly: true,
  spawn: () => ({ prompt: 'help' }),
}

const services = sessionServices({
  ingress,
  chunkUsd: 0.001,
  open: async ({ sessionId, opening, journal }) =>
    createSession({
      options: {
        model: gatedModel(outside(sessionId, Number(opening['turns'])), gate, sessionId),
        prices,
        tools: [look, agent],
        sessionId,
      },
      journal,
      answersQuestions: false,
      permissions: { mode: 'default' },
      cwd: '/',
      end: async () => {},
    }),
})
createServer(createEndpointHandler({ services: [...services], logger: () => {} })).listen(
  Number(port),
  '127.0.0.1',
  () => process.send?.('serving'),
)
