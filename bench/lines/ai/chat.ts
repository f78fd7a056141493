import { anthropic } from '@ai-sdk/anthropic'
import { generateText, type LanguageModel, type ModelMessage } from 'ai'
import { createServer, type Server } from 'node:http'
import { text } from 'node:stream/consumers'

const histories = new Map<string | undefined, ModelMessage[]>()

async function answer(chat: string | undefined, prompt: string, model: LanguageModel) {
  const messages: ModelMessage[] = [...(histories.get(chat) ?? []), { role: 'user', content: prompt }]
  const result = await generateText({ model, messages })
  histories.set(chat, [...messages, ...result.responseMessages])
  return { answer: result.text, reason: result.finishReason }
}

/** A chat for each path: POST a message, get the answer. */
export function chatServer(model: LanguageModel = anthropic('claude-haiku-4-5')): Server {
  return createServer((request, response) => {
    text(request)
      .then((prompt) => answer(request.url, prompt, model))
      .then((body) => response.end(JSON.stringify(body)))
      .catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
}
