import type { AnyMessage } from '@agentclientprotocol/sdk'

/** Deeper than any message is. What looks at values and writes them calls itself for each level. */
const mostLevels = 500

/**
 * Messages that are nested within reason. One that is not would end the connection: it is answered here with an error, and what comes after it is read
 * (spec R-ACP-1a).
 */
export function boundedDepth(answer: (message: object) => void): TransformStream<AnyMessage, AnyMessage> {
  return new TransformStream({
    transform(message, controller) {
      if (!isTooDeep(message)) {
        controller.enqueue(message)
        return
      }
      const given = 'id' in message ? message.id : undefined
      const id = typeof given === 'string' || typeof given === 'number' ? given : null
      const error = { code: -32600, message: `Invalid request: it is nested more than ${mostLevels} levels deep.` }
      if ('method' in message) answer({ jsonrpc: '2.0', id, error })
      // Whoever waits for an answer has none otherwise.
      else controller.enqueue({ jsonrpc: '2.0', id, error })
    },
  })
}

/** Level by level: a function that called itself would not come back. */
function isTooDeep(message: object): boolean {
  let level: readonly object[] = [message]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > mostLevels) return true
    level = level.flatMap((value) => Object.values(value).filter(isObject))
  }
  return false
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
