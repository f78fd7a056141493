// A worker of the kit: kit-worker.mjs PORT. Its parent drives the sessions by messages: records that the parent appends and flushes are appended and flushed here.
import { HaltingError } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { object, serve, type ObjectContext } from '@restatedev/restate-sdk'
import type { ClusterLog } from '../../src/engine/cluster-log.ts'
import type { Engine } from '../../src/engine/engine.ts'
import { restateEngine } from '../../src/engine/restate-engine.ts'
import { openSession } from '../support/open-session.ts'
import type { KitNews, KitOrder } from './kit-messages.ts'

/** The process has left the session: the engine begins another attempt. */
class Left extends Error {}

const attempts = new Map<number, { readonly log: ClusterLog; readonly leave: () => void }>()
const later = new Set<string>()
let count = 0

const send = (news: KitNews | 'serving'): void => void process.send?.(news)

const kit = object({
  name: 'kit',
  options: {
    enableLazyState: true,
    explicitCancellation: true,
    retryPolicy: { initialInterval: 20, maxInterval: 200 },
  },
  handlers: {
    open: async (context: ObjectContext) => {
      const { key } = context
      const id = ++count
      try {
        const engine = asVersionOf(key, restateEngine(context))
        engine.gone.addEventListener('abort', () => send({ type: 'lost', id }))
        const { records, log, over } = await openSession(engine)
        // It was lost while it opened: the parent would wait for it forever.
        if (engine.gone.aborted) throw new Left()
        const left = new Promise<never>((_, reject) => {
          attempts.set(id, { log, leave: () => reject(new Left()) })
        })
        send({ type: 'opened', key, id, records })
        await Promise.race([left, over])
      } catch (error) {
        if (!(error instanceof Left)) {
          send({ type: 'lost', id })
          const code = error instanceof HaltingError ? error.code : null
          send({ type: 'failed', key, code, message: messageOf(error) })
        }
        throw error
      } finally {
        attempts.delete(id)
      }
    },
  },
})

function asVersionOf(key: string, engine: Engine): Engine {
  return {
    ...engine,
    once: (name, effect) =>
      engine.once(name, async () => {
        const text = await effect()
        return later.has(key) ? text.replace('"format":1,', '"format":99,') : text
      }),
  }
}

process.on('message', (order: KitOrder) => {
  if (order.type === 'later') return void later.add(order.key)
  const { id } = order
  const attempt = attempts.get(id)
  if (attempt === undefined) return
  if (order.type === 'leave') return attempt.leave()
  if (order.type === 'finish') return attempt.log.finish(null)
  try {
    if (order.type === 'append') return attempt.log.append(order.record)
    const { flush } = order
    void Promise.resolve(attempt.log.flush()).then(
      () => send({ type: 'flushed', id, flush }),
      () => send({ type: 'lost', id }),
    )
  } catch {
    send({ type: 'lost', id })
  }
})

await serve({ port: Number(process.argv[2]), services: [kit] })
send('serving')
