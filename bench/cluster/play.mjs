// What a session and the bare handler do: the same replies, calls and results, each after a given number of milliseconds.
import { createSession } from '@halting/core/session'
import { delay, inputOf, inputSchema, replyText, resultOf, toolDescription, toolName } from '../lib/script.mjs'

/**
 *
 * @typedef {object} Play
 * @property {number} turns Turns with a call; one more ends the run.
 * @property {number} [effectMs] How long the model and the tool take. Without it, they answer at once.
 * @property {boolean} [writes] The tool has side effects.
 * @property {boolean} [asks] A person is asked about each call.
 * @property {boolean} [isLimited] Money is limited: the maximum cost of a request is durable before the request is made.
 */

const usage = { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }

const prices = { cost: () => 0.001, worstCase: () => 0.01 }

/** @param {number} turn @param {Play} play */
export async function reply(turn, { turns, effectMs }) {
  if (effectMs !== undefined) await delay(effectMs)
  const isLast = turn >= turns
  const text = { type: 'text', text: isLast ? 'Done.' : replyText }
  const call = { type: 'tool_use', id: `toolu_${String(turn).padStart(24, '0')}`, name: toolName, input: inputOf(turn) }
  return {
    role: 'assistant',
    id: `msg_${turn}`,
    model: 'bench',
    content: isLast ? [text] : [text, call],
    stop_reason: isLast ? 'end_turn' : 'tool_use',
    usage,
  }
}

/** @param {{ path: string }} input @param {Play} play */
export async function done({ path }, { effectMs }) {
  if (effectMs !== undefined) await delay(effectMs)
  return resultOf(path)
}

/**
 * @param {Play} play
 * @param {{ sessionId: string, journal: import('@halting/core/session').SessionParts['journal'], onModel?: () => void }} where
 */
export function sessionOf(play, { sessionId, journal, onModel }) {
  let turn
  const { isLimited = false, writes = false, asks = false } = play
  const model = {
    id: 'bench',
    contextWindow: 1_000_000_000,
    maxOutputTokens: 64_000,
    async call({ messages }) {
      onModel?.()
      turn = turn === undefined ? messages.filter(({ role }) => role === 'assistant').length : turn + 1
      return { message: await reply(turn, play) }
    },
  }
  const tool = {
    name: toolName,
    description: toolDescription,
    inputSchema,
    readOnly: !writes,
    execute: (input) => done(input, play),
  }
  return createSession({
    options: {
      model,
      tools: [tool],
      sessionId,
      maxTurns: play.turns + 1,
      ...(isLimited && { maxBudgetUsd: 1_000_000, prices }),
      permissions: {
        denies: () => undefined,
        decide: () => (asks ? { behavior: 'ask', message: 'May I?' } : { behavior: 'allow' }),
      },
    },
    journal,
    answersQuestions: true,
    permissions: { mode: 'default' },
    cwd: '/',
    end: async () => {},
  })
}
