// A worker of sessions.ts: node sessions-worker.mjs PORT. Its sessions stream a text slowly after a tool call.
import { createSession } from '@halting/core/session'
import type { AnyTool, Model } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { serve } from '@restatedev/restate-sdk'
import { createLiveEvents } from '../../src/live/live-events.ts'
import { sessionServices } from '../../src/service/session-service.ts'

const [port = '0'] = process.argv.slice(2)
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const live = await createLiveEvents({ token: 'secret' })

function slowly(model: Model, pieceMs: number): Model {
  const pieces = pieceMs > 0 ? 20 : 0
  return {
    ...model,
    async call(request, options) {
      for (let piece = 0; piece < pieces; piece++) {
        options.emit({ type: 'text_delta', index: 0, text: `piece ${piece} ` })
        await pause(pieceMs)
      }
      return model.call(request, options)
    },
  }
}

const look: AnyTool = {
  name: 'Look',
  description: 'Looks.',
  inputSchema: { type: 'object' },
  readOnly: true,
  execute: async (_input, { callId }) => `seen by ${callId}`,
}

const services = sessionServices({
  listener: live,
  async open({ sessionId, opening, journal }) {
    const turns = Number(opening['turns'] ?? 3)
    const script = scriptedModel(({ messages }) => {
      const turn = messages.filter(({ role }) => role === 'assistant').length
      return turn % (turns + 1) < turns
        ? { text: `turn ${turn}`, toolCalls: [{ name: 'Look', id: `l${turn}`, input: { turn } }] }
        : 'done'
    })
    return createSession({
      options: {
        model: slowly(script, Number(opening['pieceMs'] ?? 0)),
        tools: [look],
        sessionId,
        permissions: {
          denies: () => undefined,
          decide: () => (opening['asks'] === true ? { behavior: 'ask', message: 'May I?' } : { behavior: 'allow' }),
        },
      },
      journal,
      answersQuestions: true,
      permissions: { mode: 'default' },
      cwd: '/',
      end: async () => {},
    })
  },
})
await serve({ port: Number(port), services: [...services] })
process.send?.({ live: live.url })
process.send?.('serving')
