// Holds rules of docs/spec: R-LOAD-6
import { expect, test } from 'vitest'
import { SharePlaces } from '../../src/worker/share-places.ts'

/** Actions of one worker at each look, while the others report `others`. */
class Looks {
  readonly reports: { readonly free: number; readonly waiting: number }[] = []
  readonly did: (number | 'renewed')[] = []
  others: unknown = { workers: 1, free: 0, waiting: 0 }
  own = { free: 0, waiting: 0 }
  readonly #share: SharePlaces

  constructor() {
    const { did, reports } = this
    const own = (): { free: number; waiting: number } => this.own
    const ask: typeof fetch = (_input, init) => {
      // A report is JSON.
      const { free, waiting } = JSON.parse(init?.body as string) as { free: number; waiting: number }
      reports.push({ free, waiting })
      return Promise.resolve(Response.json(this.others))
    }
    this.#share = new SharePlaces({
      ingress: { url: 'http://engine', fetch: ask },
      url: 'http://worker',
      places: {
        get free() {
          return own().free
        },
        get waiting() {
          return own().waiting
        },
        giveAway: (count) => did.push(count),
      },
      renewConnections: () => did.push('renewed'),
    })
  }

  leave(): Promise<void> {
    return this.#share.leave()
  }

  async look(own: { readonly free: number; readonly waiting: number }): Promise<void> {
    this.own = own
    await this.#share.update(new AbortController().signal)
  }
}

test('a worker reports its free slots when they change, and requests those of others while it has a queue', async () => {
  const looks = new Looks()
  const room = { free: 3, waiting: 0 }
  for (const own of [room, room, room, { free: 2, waiting: 0 }]) await looks.look(own)
  expect(looks.reports).toEqual([room, { free: 2, waiting: 0 }])
  const queue = { free: 0, waiting: 5 }
  for (const own of [queue, queue]) await looks.look(own)
  expect(looks.reports.slice(2)).toEqual([queue, queue])
  await looks.look({ free: Infinity, waiting: 0 })
  expect(looks.reports.at(-1)?.free).toBeGreaterThan(1_000)
})

test('a queue is shared only after others had free slots in two polls, over new connections', async () => {
  const looks = new Looks()
  const queue = { free: 0, waiting: 9 }
  await looks.look(queue)
  looks.others = { workers: 1, free: 4, waiting: 0 }
  await looks.look(queue)
  looks.others = { workers: 1, free: 0, waiting: 0 }
  await looks.look(queue)
  looks.others = { workers: 1, free: 4, waiting: 0 }
  await looks.look(queue)
  expect(looks.did).toEqual([])
  await looks.look(queue)
  expect(looks.did).toEqual(['renewed', 4])
  await looks.look({ free: 1, waiting: 0 })
  await looks.look({ free: 1, waiting: 0 })
  expect(looks.did).toEqual(['renewed', 4])
})

test('a worker that is about to end offers no slots, and gives away no session by itself', async () => {
  const looks = new Looks()
  await looks.look({ free: 2, waiting: 0 })
  await looks.leave()
  looks.others = { workers: 1, free: 4, waiting: 0 }
  for (const waiting of [5, 5, 5]) await looks.look({ free: 0, waiting })
  expect(looks.reports).toEqual([
    { free: 2, waiting: 0 },
    { free: 0, waiting: 0 },
  ])
  expect(looks.did).toEqual([])
})

test('sessions that a load balancer sends back are given away less and less often', async () => {
  const looks = new Looks()
  looks.others = { workers: 1, free: 4, waiting: 0 }
  const tried: number[] = []
  for (let look = 1; look <= 14; look++) {
    const before = looks.did.length
    await looks.look({ free: 0, waiting: 9 })
    if (looks.did.length > before) tried.push(look)
  }
  expect(tried).toEqual([2, 6, 14])
  // They took some: the next attempt comes as soon as the first.
  looks.others = { workers: 1, free: 0, waiting: 0 }
  await looks.look({ free: 0, waiting: 9 })
  looks.others = { workers: 1, free: 4, waiting: 0 }
  const { length } = looks.did
  await looks.look({ free: 0, waiting: 9 })
  expect(looks.did).toHaveLength(length)
  await looks.look({ free: 0, waiting: 9 })
  expect(looks.did).toHaveLength(length + 2)
})
