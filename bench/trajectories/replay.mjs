// Plays a recorded run through Halting's own loop: the model and the tools return what was recorded, and the policies of the loop observe it.
// The recorded run was never reminded or asked, so it continues as recorded: the result is when the loop would have intervened.
import { streamRun, tool } from '@halting/core'
import { noProgressNudge } from '@halting/core/steps'

const noUsage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
const prompt = 'Play a recorded run.'

/**
 * One reply of the model: a call with its result, or a text alone.
 * @typedef {{ tool: string, input: unknown, content: string, isError: boolean, ms: number, fileWork?: import('@halting/core').FileWork }} PlayedCall
 * @typedef {{ transitions: string[], reminders: ('same turns' | 'other')[], reason: string, verified: unknown }} Played
 */

/** Tools whose names say that they only read. */
const looks = /^(?:Read|Grep|Glob|LS|Web|Task|Todo|search|get|list|view|find|calculate|think|express|extract|read|analyze)/

/**
 * Plays these calls, and then an answer. Returns where the loop iterated for another reason than a call, its reminders to the model, and how it ended.
 * @param {readonly PlayedCall[]} calls @param {object} options options of the run
 * @returns {Promise<Played>}
 */
export async function play(calls, options) {
  let [at, time] = [0, 0]
  const names = [...new Set(calls.map(({ tool: name }) => name))]
  const tools = names.map((name) =>
    tool({
      name,
      description: 'Gives what is on record.',
      inputSchema: { type: 'object' },
      isReadOnly: looks.test(name),
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
  for await (const event of run) if (event.type === 'lap' && event.transition !== 'next_turn') transitions.push(event.transition)
  const { reason, verified, messages } = await run.result
  const reminders = transitions.includes('no_progress_nudge') ? remindersIn(messages) : []
  return { transitions, reminders, reason, verified }
}

/** What the loop added as a user, after the prompt. */
function remindersIn(messages) {
  const texts = messages.slice(1).flatMap(({ role, content }) => {
    if (role !== 'user') return []
    return typeof content === 'string' ? [content] : content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
  })
  return texts.map((text) => (text === noProgressNudge ? 'same turns' : 'other'))
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
