// examples/programs/chat.ts
import { run, type Model, type ModelMessage } from '@halting/core'
import { anthropic } from '@halting/models'
import { createServer, type Server } from 'node:http'
import { text } from 'node:stream/consumers'

const histories = new Map<string | undefined, readonly ModelMessage[]>()

/** A chat for each path: POST a message, get the answer. */
export function chatServer(model: Model = anthropic('claude-haiku-4-5')): Server {
  return createServer(async (request, response) => {
    const { url } = request
    const prompt = await text(request)
    const chat = await run({ model, messages: histories.get(url) ?? [], prompt, maxBudgetUsd: 0.1 })
    histories.set(url, chat.messages)
    response.end(JSON.stringify({ answer: chat.text, reason: chat.reason }))
  })
}
