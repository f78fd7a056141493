import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

// A package in place of `@halting/store-sqlite`, whose library is not on every machine: the same export, with a JSON file for each session.

const source = `
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const failure = (message) => Object.assign(new Error(message), { code: 'driver' })
const isAlive = (pid) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

export function sqliteStore({ path }) {
  if (path.includes('broken')) throw new Error('unable to open database file for password=hunter2')
  const fileOf = (id) => join(path, id + '.json')
  const read = (id) => (existsSync(fileOf(id)) ? JSON.parse(readFileSync(fileOf(id), 'utf8')) : undefined)
  const write = (id, row) => {
    mkdirSync(path, { recursive: true })
    writeFileSync(fileOf(id) + '.part', JSON.stringify(row))
    renameSync(fileOf(id) + '.part', fileOf(id))
  }
  const isLocked = (row) => row.holder !== undefined && isAlive(row.holder)
  const infoOf = (id, { head, createdAt, updatedAt, records, ...row }) => ({
    ...head,
    sessionId: id,
    createdAt,
    updatedAt,
    records: records.length,
    bytes: records.join('').length,
    lastReason: null,
    isLocked: isLocked(row),
  })
  const now = () => new Date().toISOString()
  return {
    async open(id, head = {}) {
      const found = read(id)
      if (found !== undefined && isLocked(found)) throw failure('The session ' + id + ' is in use by process ' + found.holder + '.')
      const row = { head, createdAt: now(), updatedAt: now(), records: [], ...found, holder: process.pid, fence: (found?.fence ?? 0) + 1 }
      write(id, row)
      const pending = []
      const flush = async () => {
        const current = read(id)
        if (current?.fence !== row.fence) throw failure('The session ' + id + ' was taken over.')
        if (pending.length === 0) return
        write(id, { ...current, updatedAt: now(), records: [...current.records, ...pending.splice(0)] })
      }
      return {
        sessionId: id,
        head: row.head,
        fence: row.fence,
        log: { keeps: 'all', append: (record) => void pending.push(JSON.stringify(record)), flush },
        async close() {
          await flush()
          const { holder, ...rest } = read(id)
          write(id, rest)
        },
      }
    },
    async read(id) {
      const row = read(id)
      return row && { info: infoOf(id, row), records: row.records.map((json) => JSON.parse(json)) }
    },
    async list({ cwd, limit = 1000, after } = {}) {
      const names = existsSync(path) ? readdirSync(path).filter((name) => name.endsWith('.json')) : []
      const all = names.map((name) => infoOf(name.slice(0, -5), read(name.slice(0, -5))))
      const found = all.filter((info) => cwd === undefined || info.cwd === cwd).sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1))
      const from = after === undefined ? 0 : found.findIndex((info) => info.sessionId === after) + 1
      return found.slice(from, from + limit)
    },
    async remove(id) {
      const row = read(id)
      if (row === undefined) return false
      if (isLocked(row)) throw failure('The session ' + id + ' is in use by process ' + row.holder + '.')
      rmSync(fileOf(id))
      return true
    },
    async removeOlderThan(moment) {
      const old = (await this.list({ limit: Infinity })).filter((info) => info.updatedAt < moment.toISOString() && !info.isLocked)
      for (const { sessionId } of old) rmSync(fileOf(sessionId))
      return old.length
    },
    async close() {},
  }
}
`

/** Installs the package below this folder. Returns the value of NODE_PATH that finds it. */
export function installStorePackage(folder: string): string {
  const modules = join(folder, 'modules', 'node_modules')
  const own = join(modules, '@halting', 'store-sqlite')
  mkdirSync(own, { recursive: true })
  writeFileSync(join(own, 'index.js'), source)
  const manifest = { name: '@halting/store-sqlite', version: '0.1.0', type: 'module', exports: './index.js' }
  writeFileSync(join(own, 'package.json'), JSON.stringify(manifest))
  return modules
}

/** One session in such a store. */
export interface StoredRow {
  readonly head: { readonly cwd: string; readonly title?: string }
  /** As JSON. */
  readonly records: readonly string[]
  readonly holder?: number
}

/** Reads a session of such a store. */
export function storedRow(path: string, sessionId: string): StoredRow {
  // True: the package writes this.
  return JSON.parse(readFileSync(join(path, `${sessionId}.json`), 'utf8')) as StoredRow
}
