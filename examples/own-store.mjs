// examples/own-store.mjs
// A custom session store. `db` stands for a database: each synchronous function that uses it would be one transaction there.
import { HaltingError, QueryEngine } from '@halting/core'
import * as steps from '@halting/core/steps'
import { checkSessionStore, scriptedModel } from '@halting/core/testing'

/** `me` is the name of this process; `db.alive` lists the processes that are running. */
export function ownStore(db, me) {
  const opened = new Set()
  let isClosed = false
  const isHeld = ({ holder }) => db.alive.has(holder)
  const rowOf = (id) => {
    steps.validateSessionArguments(id)
    if (isClosed) throw new HaltingError('driver', 'The store is closed. Open it again.')
    const row = db.rows.get(id)
    if (row !== undefined && row.format > steps.sessionFormat) throw steps.sessionOfLaterVersion(id, row.format)
    return row
  }
  const infoOf = (row) => ({
    ...row.info,
    records: row.texts.length,
    bytes: row.texts.join('').length,
    isLocked: isHeld(row),
  })
  const rows = () => [...db.rows.values()].toSorted((a, b) => b.written - a.written)
  return {
    async open(sessionId, head = {}) {
      steps.validateSessionArguments(sessionId, head)
      const at = new Date().toISOString()
      const info = { createdAt: at, ...steps.headOf(head), sessionId, updatedAt: at, lastReason: null }
      const row = rowOf(sessionId) ?? {
        info,
        format: steps.sessionFormat,
        texts: [],
        written: ++db.counter,
        holder: null,
      }
      if (isHeld(row)) throw steps.sessionInUse(sessionId, row.holder)
      // Each lock has a higher number than all locks before it.
      const fence = ++db.counter
      Object.assign(row, { holder: me, fence })
      db.rows.set(sessionId, row)
      const isOurs = () => db.rows.get(sessionId) === row && row.fence === fence
      const release = async () => {
        if (isOurs()) row.holder = null
        opened.delete(session)
      }
      const write = async ({ records, lastReason = row.info.lastReason }) => {
        if (!isOurs()) throw steps.sessionTakenOver(sessionId, row.holder ?? undefined)
        if (records.length === 0) return
        row.texts.push(...records)
        row.written = ++db.counter
        row.info = { ...row.info, lastReason, updatedAt: new Date().toISOString() }
      }
      let session
      try {
        const records = steps.decodeRecords(sessionId, row.texts)
        session = steps.createOpenSession({ sessionId, head: row.info, fence, records, write, release })
      } catch (error) {
        await release()
        throw error
      }
      opened.add(session)
      return session
    },
    async read(sessionId) {
      const row = rowOf(sessionId)
      return row && { info: infoOf(row), records: steps.decodeRecords(sessionId, row.texts) }
    },
    async list(options = {}) {
      steps.validateListOptions(options)
      const { cwd, limit = 1_000, after } = options
      if (after !== undefined && rowOf(after) === undefined) throw steps.noSuchPage(after)
      const older = rows().filter(({ written }) => after === undefined || written < rowOf(after).written)
      return older
        .filter(({ info }) => cwd === undefined || info.cwd === cwd)
        .slice(0, limit)
        .map(infoOf)
    },
    async remove(sessionId) {
      const row = rowOf(sessionId)
      if (row !== undefined && isHeld(row)) throw steps.sessionInUse(sessionId, row.holder)
      return db.rows.delete(sessionId)
    },
    async removeOlderThan(moment) {
      const old = rows().filter((row) => !isHeld(row) && new Date(row.info.updatedAt) < moment)
      for (const { info } of old) db.rows.delete(info.sessionId)
      return old.length
    },
    async close() {
      await Promise.all([...opened].map((session) => session.close()))
      isClosed = true
    },
  }
}

export const newDatabase = () => ({ rows: new Map(), alive: new Set(), counter: 0 })

/** A process that connects to the database. */
export function connect(db) {
  const name = `process ${++db.counter}`
  db.alive.add(name)
  const letGo = async () => void db.alive.delete(name)
  return { store: ownStore(db, name), kill: letGo, stall: letGo }
}

const problems = await checkSessionStore(() => {
  const db = newDatabase()
  return {
    connect: () => connect(db),
    writeAsLaterVersion: async (id) => void (db.rows.get(id).format = 99),
    damageRecord: async (id, number) => void (db.rows.get(id).texts[number] = '{"type":"lap"}'),
  }
})
console.log(`${problems.length} problems`)

const { store } = connect(newDatabase())
const session = await store.open('order-41', { title: 'Order 41' })
const engine = new QueryEngine({ model: scriptedModel(['On its way.']), session })
for await (const message of engine.submit('Where is it?')) if (message.type === 'result') console.log(message.result)
await session.close()
const [{ title, records, lastReason }] = await store.list()
console.log(`${title}: ${records} records, ${lastReason}`)
