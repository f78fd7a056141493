import type { PostgresPool, PostgresResult } from '../../src/index.ts'

/** A pool of a process that may die. Then it sends and receives nothing any more. */
export function mortalPool(pool: PostgresPool): { readonly pool: PostgresPool; readonly die: () => Promise<void> } {
  let isGone = false
  const underWay = new Set<Promise<unknown>>()
  return {
    pool: {
      async query(text, values) {
        if (isGone) throw new Error('The process is gone.')
        const query = pool.query(text, values)
        underWay.add(query)
        try {
          return await query
        } finally {
          underWay.delete(query)
        }
      },
      end: () => pool.end(),
    },
    async die() {
      isGone = true
      // The server still executes what it received.
      await Promise.allSettled(underWay)
    },
  }
}

class Dropped extends Error {
  readonly code = 'ECONNRESET'
}

/**
 * A pool whose connections drop: before a statement is sent, after it took effect, or during it; in that case the
 * server still completes it. `next` chooses the moment; `undefined` drops nothing.
 */
export function droppingPool(
  pool: PostgresPool,
  next: () => 'before' | 'after' | 'meanwhile' | undefined,
): PostgresPool {
  return {
    async query(text, values): Promise<PostgresResult> {
      const drops = next()
      if (drops === 'before') throw new Dropped('read ECONNRESET')
      const query = pool.query(text, values)
      if (drops === 'meanwhile') query.catch(() => {})
      else {
        const result = await query
        if (drops === undefined) return result
      }
      throw new Dropped('read ECONNRESET')
    },
    end: () => pool.end(),
  }
}
