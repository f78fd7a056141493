// Plays a recorded run through the product's own loop: the model says what it said, each tool gives what it gave, and the policies of the loop look on.
// The recorded run was never reminded or asked, so it goes on as it did: what counts is when the loop would have said something.
import { streamRun, tool } from '@halting/core'

const noUsage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
const prompt = 'Play a recorded run.'

/**
 * One reply of the model: a call with its result, or a text alone.
 * @typedef {{ tool: string, input: unknown, content: string, isError: boolean, ms: number, fileWork?: import('@halting/core').FileWork }} PlayedCall
 * @typedef {{ transitions: { at: number, transition: string }[], reason: string, at: number, verified: unknown }} Played
 */

/**
 * Plays these calls, and an answer after them. `at` counts calls: where a policy spoke, and how far the run came.
 * @param {readonly PlayedCall[]} calls @param {object} options options of the run
 * @param {boolean} [hasAnswer] the run ended with an answer; else it ends behind its last call
 * @returns {Promise<Played>}
 */
export async function play(calls, options, hasAnswer = true) {
  let [at, time] = [0, 0]
  const names = [...new Set(calls.map(({ tool: name }) => name))]
  const tools = names.map((name) =>
    tool({
      name,
      description: 'Gives what is on record.',
      inputSchema: { type: 'object' },
      isReadOnly: true,
      execute: () => {
        const { content, isError, ms, fileWork } = calls[at++]
        time += ms
        return { content, isError, ...(fileWork !== undefined && { fileWork }) }
      },
    }),
  )
  const clock = { now: () => time, after: () => () => {} }
  const run = streamRun({ clock, maxTurns: calls.length + 50, noProgress: 'off', ...options, model: modelOf(calls, () => at), tools, prompt })
  const transitions = []
  for await (const event of run) if (event.type === 'lap' && event.transition !== 'next_turn') transitions.push({ at, transition: event.transition })
  const { reason, verified } = await run.result
  return { transitions, reason, at, verified, hasAnswer }
}

function modelOf(calls, position) {
  let request = 0
  return {
    id: 'recorded',
    contextWindow: 1_000_000_000,
    maxOutputTokens: 1_000,
    async call() {
      const at = position()
      const message = { role: 'assistant', id: `msg_${request++}`, model: 'recorded', usage: noUsage }
      const call = calls[at]
      if (call === undefined) return { message: { ...message, content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn' } }
      return { message: { ...message, content: [{ type: 'tool_use', id: `call_${at}`, name: call.tool, input: call.input }], stop_reason: 'tool_use' } }
    },
  }
}
