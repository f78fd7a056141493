// A worker of figures.mjs: worker.mjs PORT [SESSIONS [live]]. It works at up to SESSIONS sessions at once. It serves sessions of Halting, and the same work written by hand for the
// engine.
import { randomUUID } from 'node:crypto'
import { createLiveEvents, sessionServices } from '@halting/restate'
import { object, serve } from '@restatedev/restate-sdk'
import { done, reply, sessionOf } from './play.mjs'

const [port = '0', most = 'Infinity', how = ''] = process.argv.slice(2)
/** When the model was requested, by session. */
const marks = new Map()
const mark = (key) => marks.get(key)?.push(performance.now())

let free = Number(most)
const waiting = []

/** As `--concurrency` of `halting serve`: sessions without a place wait. */
async function open({ sessionId, opening, journal }) {
  if (free > 0) free--
  else await new Promise((resolve) => waiting.push(resolve))
  const session = sessionOf(opening, { sessionId, journal, onModel: () => mark(sessionId) })
  session.listen(({ type }) => {
    if (type !== 'closed') return
    const next = waiting.shift()
    if (next === undefined) free++
    else next()
  })
  return session
}

const services = sessionServices({ open, ...(how === 'live' && { listener: await createLiveEvents() }) })

const attempt = randomUUID()
const bare = object({
  name: 'bare',
  options: { enableLazyState: true, journalRetention: 0 },
  handlers: {
    async run(context, play) {
      const messages = []
      for (let turn = 0; ; turn++) {
        mark(context.key)
        const message = await context.run('model', () => reply(turn, play))
        messages.push(message)
        const call = message.content.find(({ type }) => type === 'tool_use')
        if (call === undefined) return messages.length
        // The tool runs at most once: another attempt finds the name of this one.
        const began = play.writes === true ? await context.run('intent', async () => attempt) : attempt
        const content = began === attempt ? await context.run('tool', () => done(call.input, play)) : 'The outcome is not known.'
        messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content }] })
      }
    },
  },
})

process.on('message', ({ type, key, id }) => {
  if (type === 'watch') marks.set(key, [])
  if (type === 'collect') globalThis.gc?.()
  const recorded = marks.get(key) ?? []
  if (type === 'marks') marks.delete(key)
  process.send({ id, marks: type === 'marks' ? recorded : [], heapMb: process.memoryUsage().heapUsed / 1_048_576 })
})
await serve({ port: Number(port), services: [...services, bare] })
process.send('serving')
