// The script that every peer plays: the same texts in the same pieces, the same calls, the same results.

/** Pieces in which a reply's text is streamed. */
export const deltas = ['I look at ', 'the next file ', 'and see what ', 'it says.']
export const replyText = deltas.join('')
export const lastWords = 'Done.'

export const toolName = 'look'
export const toolDescription = 'Looks at a file.'
export const inputSchema = {
  type: 'object',
  properties: { path: { type: 'string' } },
  required: ['path'],
  additionalProperties: false,
}

/** @param {number} turn */
export const inputOf = (turn) => ({ path: `src/file-${turn}.ts` })

const line = 'export const answer = 42 // 0123456789 abcdefghij klmnopqrs tuv\n'
const filler = line.repeat(16)

/** A result of 1,024 characters that differs from turn to turn. @param {string} path */
export const resultOf = (path) => `${path}\n${filler}`.slice(0, 1_024)

export const inputTokens = 10
export const outputTokens = 5

/** @param {number} ms */
export const delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Longer than any measurement, and the maximum of a timer. */
export const forever = 2 ** 31 - 1

/**
 * What a peer has to play.
 * @typedef {object} Play
 * @property {number} turns Turns with a tool call; one more ends the run.
 * @property {number} [modelMs] How long the model takes. Without it, the model answers at once.
 * @property {number} [toolMs] The same for the tool.
 * @property {(turn: number) => void} [onModel] Called when turn `turn` (from 0) sends its request to the model.
 * @property {number} [hangs] The turn whose request is never answered; `ai` does not play it.
 * @property {() => void} [onTool] Called when a tool is started.
 * @property {AbortSignal} [signal]
 * @property {Deaf} [deaf]
 */

/**
 * A tool or model that ignores its signal in the first turn. In later turns, model and tool respect it, as real ones do.
 * @typedef {{ what: 'tool' | 'model', ms: number }} Deaf
 */

/**
 * How a peer ended: shows if one did less than it should.
 * @typedef {{ modelCalls: number, toolCalls: number, ending: string }} Played
 */
