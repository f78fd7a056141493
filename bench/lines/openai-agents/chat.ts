import { Agent, run, user, type AgentInputItem, type Model } from '@openai/agents'
import { createServer, type Server } from 'node:http'
import { text } from 'node:stream/consumers'

const histories = new Map<string | undefined, AgentInputItem[]>()

async function answer(chat: string | undefined, prompt: string, model: Model | string) {
  const agent = new Agent({ name: 'Chat', model })
  const result = await run(agent, [...(histories.get(chat) ?? []), user(prompt)])
  histories.set(chat, result.history)
  return { answer: result.finalOutput }
}

/** A chat for each path: POST a message, get the answer. */
export function chatServer(model: Model | string = 'gpt-5-mini'): Server {
  return createServer((request, response) => {
    text(request)
      .then((prompt) => answer(request.url, prompt, model))
      .then((body) => response.end(JSON.stringify(body)))
      .catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
}
