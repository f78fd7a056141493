// A model service that plays one situation, in a process of its own. It counts what it was asked and what it would bill: $3 and $15 for a million tokens in and out,
// for whatever model. Messages: `{ situation }` begins one, `{}` asks for the figures.
import { createServer } from 'node:http'
import { leastOf, protocols, shellCall } from './protocols.mjs'
import { situations } from './situations.mjs'

let situation
let figures

process.on('message', ({ situation: name }) => {
  if (name !== undefined) {
    situation = situations[name]
    figures = { requests: 0, turns: 0, billedUsd: 0, offersShell: false, lastResults: [], problems: [] }
  }
  process.send({ figures })
})

const server = createServer((request, response) => {
  const parts = []
  request.on('data', (part) => parts.push(part))
  request.once('end', () => answer(request, Buffer.concat(parts).toString(), response))
})
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))

function answer({ url = '', method }, text, response) {
  const protocol = method === 'POST' ? protocols.find(({ path }) => path.test(url)) : undefined
  const json = (status, value) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  if (protocol === undefined || /count_tokens|countTokens/.test(url)) return json(404, { error: { message: 'not here' } })
  const body = JSON.parse(text)
  const asked = protocol.read(body)
  const { tools, results } = asked
  figures.requests++
  const isBeside = tools.length === 0
  const turn = isBeside ? figures.turns : figures.turns++
  if (!isBeside) figures.lastResults = results
  if (asked.unanswered.length > 0) figures.problems = ['it sent a call without a result']
  const offersShell = shellCall(tools, '', '') !== undefined
  figures.offersShell ||= offersShell
  const reply = replyTo({ asked, text, isBeside, offersShell, seen: { turn, results, tokens: Math.ceil(text.length / 4) } })
  if (reply.status !== undefined) return json(reply.status, protocol.error(reply.message))
  const usage = reply.usage ?? { input: Math.ceil(text.length / 4), output: 100 }
  figures.billedUsd += (usage.input * 3 + (reply.breaks ? 0 : usage.output) * 15) / 1e6
  const id = `${figures.requests}`
  const call = reply.run === undefined ? undefined : shellCall(tools, reply.run, id)
  const told = { text: reply.text, ...(call !== undefined && { call }), end: reply.end ?? 'complete', usage }
  const isStream = body.stream === true || /stream/i.test(url)
  if (!isStream && protocol.whole !== undefined) return json(200, protocol.whole(told, id))
  const events = protocol.write(told, id).map((event) => `${protocol.named ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (!reply.breaks) return response.end(events.join(''))
  response.write(events[0], () => setTimeout(() => response.destroy(), 20))
}

/** Titles and the like are asked for without tools, and no situation is about them; what asks for JSON gets JSON, as from a real service. Nobody calls a shell that is not offered. */
function replyTo({ asked, text, isBeside, offersShell, seen }) {
  if (asked.wants !== undefined) return { text: JSON.stringify(leastOf(asked.wants)) }
  if (isBeside && !/summar|compact/i.test(text.slice(-20_000))) return { text: 'Hello.' }
  const reply = situation.reply(seen)
  return reply.run !== undefined && !offersShell ? { text: 'There is no shell here.' } : reply
}
