// examples/programs/chat.ts
import { run, type Model, type ModelMessage } from '@halting/core'
import { anthropic } from '@halting/models'
import { createServer, type Server } from 'node:http'
import { text } from 'node:stream/consumers'

const histories = new Map<string | undefined, readonly ModelMessage[]>()

async function answer(chat: string | undefined, prompt: string, model: Model) {
  const messages = histories.get(chat) ?? []
  const outcome = await run({ model, messages, prompt, maxBudgetUsd: 0.1 })
  histories.set(chat, outcome.messages)
  return { answer: outcome.text, reason: outcome.reason }
}

/** Keeps one chat per path: POST a message and receive the answer. */
export function chatServer(model: Model = anthropic('claude-haiku-4-5')): Server {
  return createServer((request, response) => {
    text(request)
      .then((prompt) => answer(request.url, prompt, model))
      .then((body) => response.end(JSON.stringify(body)))
      .catch((error: unknown) => response.writeHead(400).end(String(error)))
  })
}
