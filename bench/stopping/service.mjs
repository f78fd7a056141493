// A model service that plays one situation, in a process of its own. It counts its requests and what it would bill: $3 and $15 for a million tokens in and out,
// for any model. Messages: `{ situation }` begins one, `{ resumed: true }` says that the program is started again, `{}` requests the figures. With STOPPING_LOG, each
// request is appended to that file.
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { goalCall, judgement, leastOf, protocols, shellCall, waitCall } from './protocols.mjs'
import { situations } from './situations.mjs'

let situation
let figures

process.on('message', ({ situation: name, resumed }) => {
  if (name !== undefined) {
    situation = situations[name]
    figures = { requests: 0, refused: 0, early: 0, turns: 0, judged: 0, billedUsd: 0, offersShell: false, lastResults: [], problems: [] }
  }
  if (resumed) figures.resumedAt = figures.turns
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
  if (process.env.STOPPING_LOG !== undefined) appendFileSync(process.env.STOPPING_LOG, `${url} ${JSON.stringify(JSON.parse(text))}\n`)
  const body = JSON.parse(text)
  const asked = protocol.read(body)
  const { tools, results } = asked
  figures.requests++
  const trouble = troubleNow(tools.length > 0)
  if (trouble !== undefined) {
    const { status, leftSeconds } = trouble
    const headers = { 'content-type': 'application/json', ...(leftSeconds !== undefined && { 'retry-after': String(leftSeconds) }) }
    return response.writeHead(status, headers).end(JSON.stringify(protocol.error(status === 429 ? 'Too many requests' : 'Service unavailable', status, leftSeconds)))
  }
  const isJudge = situation.judge !== undefined && judges(asked, text)
  if (isJudge) figures.judged++
  const isBeside = tools.length === 0 || isJudge
  // If the program has a tool by which the model proposes that the goal is reached, it is called once, and the answer comes after it.
  const proposed = asked.endsWithResult && !isBeside ? figures.proposed : undefined
  if (!isBeside) figures.proposed = undefined
  const turn = isBeside || proposed !== undefined ? figures.turns : figures.turns++
  if (!isBeside) figures.lastResults = results
  if (asked.unanswered.length > 0) figures.problems = ['it sent a call without a result']
  const offersShell = shellCall(tools, '', '') !== undefined
  figures.offersShell ||= offersShell
  const turnsSinceResume = figures.resumedAt === undefined ? undefined : turn - figures.resumedAt
  const seen = { turn, turnsSinceResume, results, tokens: Math.ceil(text.length / 4), heard: text, canWait: waitCall(tools, {}, '') !== undefined }
  const reply = proposed ?? (isJudge ? { text: judgement(asked.wants, text, situation.judge(seen)) } : replyTo({ asked, text, isBeside, offersShell, seen }))
  if (reply.status !== undefined) return json(reply.status, protocol.error(reply.message, reply.status))
  const usage = reply.usage ?? { input: Math.ceil(text.length / 4), output: 100 }
  figures.billedUsd += (usage.input * 3 + (reply.breaks ? 0 : usage.output) * 15) / 1e6
  const id = `${figures.requests}`
  const proposal = reply.proposes ? goalCall(tools, id) : undefined
  if (proposal !== undefined) figures.proposed = { text: reply.text }
  const call = reply.wait !== undefined ? waitCall(tools, reply.wait, id) : reply.run === undefined ? proposal : shellCall(tools, reply.run, id)
  const modelReply = { ...(proposal === undefined && { text: reply.text }), ...(call !== undefined && { call }), end: reply.end ?? 'complete', usage }
  const isStream = body.stream === true || /stream/i.test(url)
  if (!isStream && protocol.whole !== undefined) return json(200, protocol.whole(modelReply, id))
  const events = protocol.write(modelReply, id).map((event) => `${protocol.named ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (!reply.breaks) return response.end(events.join(''))
  response.write(events[0], () => setTimeout(() => response.destroy(), 20))
}

/** Whether the service refuses this request, with which status, and the seconds that it names. */
function troubleNow(isOfConversation) {
  const { trouble } = situation
  if (trouble === undefined || figures.turns < trouble.behind) return undefined
  figures.troubleSince ??= Date.now()
  const leftMs = figures.troubleSince + trouble.forMs - Date.now()
  if (leftMs <= 0) return undefined
  figures.refused++
  // One second of tolerance, because the header is rounded.
  if (trouble.says && isOfConversation && figures.againAt !== undefined && Date.now() < figures.againAt - 1_000) figures.early++
  const leftSeconds = trouble.says ? Math.ceil(leftMs / 1_000) : undefined
  if (leftSeconds !== undefined && isOfConversation) figures.againAt = Date.now() + leftSeconds * 1_000
  return { status: trouble.status, leftSeconds }
}

/** Requests of judges: a request for a verdict on a goal offers no shell, and names the fields of the verdict. */
function judges({ tools, wants }, text) {
  if (shellCall(tools, '', '') !== undefined) return false
  const names = Object.keys(wants?.properties ?? {})
  return names.some((name) => /^(?:ok|met|decision)$/.test(name)) || (wants === undefined && /\\"(?:ok|met|decision)\\"|"(?:ok|met|decision)"/.test(text))
}

/**
 * Requests without tools are for titles and the like, and no situation is about them. A request for JSON gets JSON, as from a real service. No shell is called that is not
 * offered.
 */
function replyTo({ asked, text, isBeside, offersShell, seen }) {
  if (asked.wants !== undefined) return { text: JSON.stringify(leastOf(asked.wants)) }
  if (isBeside && !/summar|compact/i.test(text.slice(-20_000))) return { text: 'Hello.' }
  const reply = situation.reply(seen)
  return reply.run !== undefined && !offersShell ? { text: 'There is no shell here.' } : reply
}
