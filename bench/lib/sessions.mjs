// Sessions of Halting for the benchmarks: a run with this many turns and one call per turn, written through the journal as the program writes it.
import { builtPackage } from './measure.mjs'
import { inputOf, inputSchema, replyText, resultOf, toolDescription, toolName } from './script.mjs'

const { streamRun, startRun } = await builtPackage('core')
const { openJournal } = await builtPackage('journal')

/** The recorded folder of a session and version of the program. */
export const origin = { cwd: '/home/someone/project', version: '0.0.0' }

/**
 * The requests and effects of a run of `turns` turns; the reply after the last one ends it.
 * @param {number} turns
 * @param {{ readonly resultBytes?: number, readonly readOnly?: boolean, readonly onLast?: () => void }} [options]
 */
export function playOf(turns, { resultBytes = 1_024, readOnly = true, onLast } = {}) {
  const usage = { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
  let turn = 0
  const model = {
    id: 'bench',
    contextWindow: 1_000_000_000,
    maxOutputTokens: 64_000,
    async call() {
      const id = `msg_${turn}`
      if (turn >= turns) {
        // A process that ends here leaves its run open.
        if (onLast !== undefined) await new Promise(() => onLast())
        return { message: { role: 'assistant', id, model: 'bench', content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn', usage } }
      }
      const content = [
        { type: 'text', text: replyText },
        { type: 'tool_use', id: `toolu_${String(turn).padStart(24, '0')}`, name: toolName, input: inputOf(turn) },
      ]
      turn++
      return { message: { role: 'assistant', id, model: 'bench', content, stop_reason: 'tool_use', usage } }
    },
  }
  const tool = {
    name: toolName,
    description: toolDescription,
    inputSchema,
    readOnly,
    execute: ({ path }) => resultOf(path).repeat(Math.ceil(resultBytes / 1_024)).slice(0, resultBytes),
  }
  return { model, tools: [tool], maxTurns: turns + 1 }
}

/**
 * Writes a session to `path`, as an ended run or as one whose process died in its last request.
 * @param {string} path
 * @param {{ readonly turns: number, readonly ends?: boolean, readonly resultBytes?: number, readonly sessionId?: string }} options
 */
export async function writeSession(path, { turns, ends = true, resultBytes, sessionId = 'bench' }) {
  const journal = await openJournal({ path, sessionId, ...origin })
  const steps = journal.steps()
  const size = resultBytes === undefined ? {} : { resultBytes }
  const start = startRun({ prompt: 'Go.', sessionId })
  if (ends) await streamRun(start, { ...playOf(turns, size), steps }).ended
  else await new Promise((resolve) => void streamRun(start, { ...playOf(turns, { ...size, onLast: resolve }), steps }).ended)
  await journal.close()
}
