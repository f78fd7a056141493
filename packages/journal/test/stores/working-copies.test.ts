// Tests R-STORE-1, R-STORE-2, R-STORE-3, R-STORE-4 and R-STORE-7 of docs/spec: sessions in a store, with a file each.
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { resume, startRun, streamRun } from '@halting/core'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import type { StepRecord } from '@halting/core/steps'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { JournalEncoder } from '../../src/format/encoder.ts'
import { openJournal, openNewJournal } from '../../src/open-journal.ts'
import { parseJournal, readJournal, readTimedRecords } from '../../src/read-journal.ts'
import { cleanUpSessions } from '../../src/sessions/cleanup.ts'
import { copySession, forkSession } from '../../src/sessions/fork-session.ts'
import { projectsOf, sessionFile, sessionsOf } from '../../src/sessions/session-folder.ts'
import { deleteSession, discardSession, refreshSession, storedSessions } from '../../src/sessions/stored-sessions.ts'
import { StoreWorkingCopies, journalOfRecords } from '../../src/stores/open-working-copies.ts'
import {
  sessionStoreKey,
  sessionStoreName,
  sessionStoreSecrets,
  sessionStoreVariable,
} from '../../src/stores/store-place.ts'
import { registerWorkingCopies, type WorkingCopies } from '../../src/stores/working-copies.ts'
import { drawn } from '../../../core/test/support/deep.ts'
import { added, drawnSessionId, record, shared, start } from '../support/drawn-records.ts'
import { MemorySessionStore, StoreTable } from '../support/memory-store.ts'

const [first, second] = ['11111111-2222-4333-8444-555555555555', '21111111-2222-4333-8444-555555555555']
const url = 'postgres://ann:secret@db/halting'
const script: readonly ScriptedReply[] = [
  { text: 'I look.', toolCalls: [{ name: 'Look' }, { name: 'Look', input: { n: 2 } }] },
  { toolCalls: [{ name: 'Look', input: { text: 'ä😀' } }] },
  'done',
]
const ran: string[] = []
const tools = [
  {
    name: 'Look',
    description: '',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: (input: unknown) => {
      ran.push(JSON.stringify(input))
      return { content: [{ type: 'text' as const, text: 'seen' }] }
    },
  },
]

let home: string
let table: StoreTable
let releases: (() => void)[]
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'halting-stores-'))
  table = new StoreTable()
  releases = []
  ran.length = 0
})
afterEach(() => {
  for (const release of releases) release()
  rmSync(home, { recursive: true, force: true })
})

/** The location of sessions for a process of this machine. Another machine has another home. */
const placeIn = (own: string = home) => ({ cwd: '/work', home: own, env: { [sessionStoreVariable]: url } })

function openStore(store: MemorySessionStore = new MemorySessionStore(table), own: string = home): WorkingCopies {
  const { base } = sessionsOf(placeIn(own))
  const problems: string[] = []
  const copies = new StoreWorkingCopies({
    base,
    name: sessionStoreName(url),
    connect: async () => store,
    redact: (text) => text.replaceAll('secret', '***'),
    onProblem: (problem) => problems.push(problem),
  })
  releases.push(registerWorkingCopies(copies))
  return copies
}

const optionsOf = (sessionId: string, own: string = home) => ({
  path: sessionFile({ ...placeIn(own), sessionId }),
  sessionId,
  cwd: '/work',
  version: '0.1.0',
})

async function ask(sessionId: string, prompt: string, own: string = home): Promise<string> {
  const journal = await openJournal(optionsOf(sessionId, own))
  const begun = startRun({ prompt, sessionId, transcript: journal.transcript })
  const run = streamRun(begun, {
    model: scriptedModel(script, { maxOutputTokens: 1_000 }),
    tools,
    steps: journal.steps(),
  })
  const { reason } = await run.result
  await journal.close()
  return reason
}

const recordsIn = (sessionId: string): StepRecord[] =>
  (table.rows.get(sessionId)?.records ?? []).map((json): StepRecord => JSON.parse(json))

/** The lines of messages, as other readers know them. */
const messagesIn = (path: string): unknown[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line): { uuid?: string; parentUuid?: string; message?: unknown; timestamp?: string } => JSON.parse(line))
    .filter(({ message }) => message !== undefined)
    .map(({ uuid, parentUuid, message, timestamp }) => ({ uuid, parentUuid, message, timestamp }))

describe('a session in a store', () => {
  test('has its records in the store, and a file with the same content', async () => {
    openStore()
    expect(await ask(first, 'go')).toBe('completed')
    const { path } = optionsOf(first)
    const written = await readJournal(path)
    expect(recordsIn(first).map(({ timestamp: _, ...rest }: StepRecord & { timestamp?: string }) => rest)).toEqual(
      JSON.parse(JSON.stringify(written.runs.flat())),
    )
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(path).not.toContain('secret')
  })

  test('has the same messages and times in a rebuilt file', async () => {
    const copies = openStore()
    await ask(first, 'go')
    const { path } = optionsOf(first)
    const [messages, before] = [messagesIn(path), await readTimedRecords(path)]
    rmSync(path)
    await copies.refresh()
    expect(messages.length).toBeGreaterThan(5)
    expect(messagesIn(path)).toEqual(messages)
    expect(await readTimedRecords(path)).toEqual(before)
  })

  test('continues on another machine, and here again, with nothing repeated', async () => {
    openStore()
    await ask(first, 'go')
    const elsewhere = mkdtempSync(join(tmpdir(), 'halting-elsewhere-'))
    try {
      openStore(new MemorySessionStore(table, 'process 2'), elsewhere)
      await ask(first, 'more', elsewhere)
      await ask(first, 'again')
      const { ended, transcript, close } = await openJournal(optionsOf(first)).then((journal) => ({
        ended: journal.ended,
        transcript: journal.transcript,
        close: () => journal.close(),
      }))
      await close()
      expect(ended.map(({ terminal }) => terminal.reason)).toEqual(['completed', 'completed', 'completed'])
      const prompts = transcript.since(0).filter((each) => each.kind === 'user' && each.origin === 'prompt')
      expect(prompts).toHaveLength(3)
      expect(ran).toHaveLength(9)
    } finally {
      rmSync(elsewhere, { recursive: true, force: true })
    }
  })

  test('follows the store after a kill at any record: records only in the file do not count, and nothing runs twice', async () => {
    openStore()
    await ask(first, 'go')
    const records = recordsIn(first)
    const calls = (some: readonly StepRecord[]): number =>
      some.filter((each) => each.type === 'result' && each.key.includes('/tool:')).length
    for (let kept = 1; kept < records.length; kept++) {
      table = new StoreTable()
      openStore()
      const options = optionsOf(first)
      rmSync(options.path, { force: true })
      const killed = await openNewJournal(options)
      for (const each of records.slice(0, kept)) killed.log.append(each)
      await killed.log.flush()
      await killed.close()
      // It wrote one more record, which only its file has.
      const line = new JournalEncoder(options).linesOf(records[kept] as StepRecord).lines
      writeFileSync(options.path, `${readFileSync(options.path, 'utf8')}${line}`)
      ran.length = 0
      const next = await openJournal(options)
      expect(next.open).toHaveLength(kept)
      const replies = next.open?.filter((each) => each.type === 'result' && each.key.includes('/model:')).length ?? 0
      const model = scriptedModel(script.slice(replies), { maxOutputTokens: 1_000 })
      const { reason } = await resume(next.open ?? [], { model, tools }, next.transcript, next.log).loop.result
      await next.close()
      expect(reason).toBe('completed')
      expect(calls(recordsIn(first))).toBe(3)
      expect(ran).toHaveLength(3 - calls(records.slice(0, kept)))
    }
  })

  test("is rejected with the holder's name while another process has it", async () => {
    openStore()
    await ask(first, 'go')
    const other = await new MemorySessionStore(table, 'process 7 on b').open(first)
    await expect(openJournal(optionsOf(first))).rejects.toThrow(`The session ${first} is in use by process 7 on b.`)
    await other.close()
    expect(existsSync(`${optionsOf(first).path}.lock`)).toBe(false)
  })

  test('writes nothing after another process has taken it over', async () => {
    openStore()
    const journal = await openJournal(optionsOf(first))
    const row = table.rows.get(first)
    if (row !== undefined) row.fence++
    journal.log.append({ type: 'rewind', entries: 0, after: null })
    await expect(Promise.resolve(journal.log.flush())).rejects.toThrow('was taken over')
    // The failure was reported already, and closing has nothing left to do.
    await journal.close()
    expect(recordsIn(first)).toEqual([])
  })

  test('rewinds, also for other machines', async () => {
    const copies = openStore()
    await ask(first, 'one')
    await ask(first, 'two')
    const journal = await openJournal(optionsOf(first))
    const prompts = journal.transcript.since(0).filter((each) => each.kind === 'user' && each.origin === 'prompt')
    await journal.rewind(prompts[1]?.id ?? '')
    const left = journal.transcript.length
    await journal.close()
    rmSync(optionsOf(first).path)
    await copies.refresh()
    const again = await openJournal(optionsOf(first))
    expect(again.transcript.length).toBe(left)
    expect(again.isRewound).toBe(true)
    await again.close()
  })
})

describe('many sessions of a store', () => {
  test('are listed together with those of other machines, and without deleted ones', async () => {
    openStore()
    await ask(first, 'one')
    const elsewhere = new MemorySessionStore(table, 'process 2')
    const foreign = await elsewhere.open(second, { cwd: '/other', title: 'Other' })
    for (const each of recordsIn(first)) foreign.log.append(each)
    await foreign.close()
    const copies = openStore()
    expect((await storedSessions(placeIn(), 'all')).map(({ sessionId }) => sessionId)).toEqual([second, first])
    expect((await storedSessions(placeIn(), 'of this folder')).map(({ sessionId }) => sessionId)).toEqual([first])
    expect(projectsOf(placeIn()).base).not.toBe(copies.base)
    table.rows.delete(second)
    openStore()
    expect((await storedSessions(placeIn(), 'all')).map(({ sessionId }) => sessionId)).toEqual([first])
  })

  test('are read again only after a change', async () => {
    openStore()
    await ask(first, 'one')
    await ask(second, 'two')
    openStore()
    await storedSessions(placeIn(), 'all')
    const store = new MemorySessionStore(table)
    openStore(store)
    await storedSessions(placeIn(), 'all')
    expect(store.asked).toBe(1)
  })

  test('are available to every reader, and a process that opens one waits for readers', async () => {
    openStore()
    await ask(first, 'one')
    const { path } = optionsOf(first)
    /** A store whose records take a while to arrive. */
    class SlowStore extends MemorySessionStore {
      override async read(sessionId: string): ReturnType<MemorySessionStore['read']> {
        await new Promise((resolve) => setTimeout(resolve, 50))
        return super.read(sessionId)
      }
    }
    const readers = Array.from({ length: 4 }, () => openStore(new SlowStore(table)))
    rmSync(path)
    const answered = readers.map(async (reader) => {
      await reader.refresh()
      return (await readJournal(path)).runs.length
    })
    const opened = openJournal(optionsOf(first))
    expect(await Promise.all(answered)).toEqual([1, 1, 1, 1])
    await (await opened).close()
    expect(existsSync(`${path}.rebuild`)).toBe(false)
  })

  test('are found without reading them, and only the selected one is read', async () => {
    openStore()
    await ask(first, 'one')
    await ask(second, 'two')
    const elsewhere = mkdtempSync(join(tmpdir(), 'halting-elsewhere-'))
    try {
      const store = new MemorySessionStore(table, 'process 2')
      openStore(store, elsewhere)
      const found = await storedSessions(placeIn(elsewhere), 'all', 'to choose from')
      expect(found.map(({ sessionId }) => sessionId)).toEqual([second, first])
      expect([store.asked, ...found.map(({ path }) => existsSync(path))]).toEqual([1, false, false])
      const [newest, oldest] = found
      if (newest === undefined || oldest === undefined) throw new Error('two are listed')
      await refreshSession(newest)
      await refreshSession(newest)
      expect([store.asked, existsSync(newest.path), existsSync(oldest.path)]).toEqual([2, true, false])
      expect((await readJournal(newest.path)).sessionId).toBe(second)
    } finally {
      rmSync(elsewhere, { recursive: true, force: true })
    }
  })

  test('are forked, removed and discarded in the store, too', async () => {
    openStore()
    await ask(first, 'one')
    await forkSession(optionsOf(first).path, optionsOf(second))
    expect(recordsIn(second)).toHaveLength(recordsIn(first).length)
    const [file] = (await storedSessions(placeIn(), 'all')).filter(({ sessionId }) => sessionId === first)
    if (file === undefined) throw new Error('it is listed')
    await deleteSession(file)
    expect([...table.rows.keys()]).toEqual([second])
    expect(existsSync(file.path)).toBe(false)
    const third = '31111111-2222-4333-8444-555555555555'
    const journal = await openNewJournal(optionsOf(third))
    await journal.close()
    await discardSession(journal)
    expect([...table.rows.keys()]).toEqual([second])
  })

  test('are removed when they are old', async () => {
    openStore()
    await ask(first, 'one')
    const { sessions } = await cleanUpSessions(placeIn(), { days: 30, now: new Date(Date.UTC(2026, 5, 1)) })
    expect(sessions).toBe(1)
    expect(table.rows.size).toBe(0)
  })

  test('are listed even if one of them is damaged', async () => {
    openStore()
    await ask(first, 'one')
    await ask(second, 'two')
    table.rows.get(first)?.records.push('damaged')
    const row = table.rows.get(first)
    if (row !== undefined) row.updatedAt = table.now()
    openStore()
    expect((await storedSessions(placeIn(), 'all')).map(({ sessionId }) => sessionId)).toEqual([second])
  })
})

describe('a copy', () => {
  test('has the same records and times from a store to files and back', async () => {
    openStore()
    await ask(first, 'one')
    const files = { cwd: '/work', home, env: {} }
    const path = sessionFile({ ...files, sessionId: first })
    await copySession(optionsOf(first).path, { path, version: '0.1.0' })
    const before = await readTimedRecords(optionsOf(first).path)
    expect(await readTimedRecords(path)).toEqual(before)
    await expect(copySession(path, optionsOf(first))).rejects.toThrow('is there already')
    table.rows.delete(first)
    rmSync(optionsOf(first).path)
    await copySession(path, optionsOf(first))
    expect(table.rows.get(first)?.createdAt).toBe(before.times[0])
    rmSync(optionsOf(first).path)
    await openStore().refresh()
    expect(await readTimedRecords(optionsOf(first).path)).toEqual(before)
  })
})

describe('the name of a store', () => {
  test.each([
    ['postgres://ann:secret@db:5433/halting?sslmode=require&password=x', 'postgres://db:5433/halting'],
    ['postgresql://db/halting', 'postgresql://db/halting'],
    ['postgres://ann:secret@/halting?host=%2Frun&password=x', 'postgres:///halting?host=%2Frun'],
    ['postgres://ann:a@b@[::1]:5432/halting', 'postgres://[::1]:5432/halting'],
    ['postgres:///halting?host=/run/pg', 'postgres:///halting?host=/run/pg'],
    ['postgres://ann:secret@db-1:5432,db-2/halting', 'postgres://db-1:5432,db-2/halting'],
    ['postgres://%2Frun%2Fpg/halting', 'postgres://%2Frun%2Fpg/halting'],
    ['postgres://', 'postgres://'],
    ['postgres://ann:se cret@[', 'the session store'],
    ['postgres://ann:sec/ret@db/halting', 'the session store'],
    ['postgres://ann:sec?ret@db/halting', 'the session store'],
    ['postgres://ann:sec#ret@db/halting', 'the session store'],
    ['postgres://ann:5/ret@db/halting', 'the session store'],
    ['postgres://ann:secret/halting', 'the session store'],
    ['sqlite:/home/ann/halting.db', 'sqlite:/home/ann/halting.db'],
  ])('for %s is %s', (value, name) => {
    expect(sessionStoreName(value)).toBe(name)
  })

  test.each([
    [url, ['secret']],
    ['postgres://ann:a%40b@db/halting?password=c%2Fd&host=x', ['a%40b', 'a@b', 'c%2Fd', 'c/d']],
    ['postgres://ann@db/halting', []],
    ['sqlite:/x', []],
  ])('of %s hides these secrets: %j', (value, secrets) => {
    expect(sessionStoreSecrets(value)).toEqual(secrets)
  })

  test('appears in errors without a password', async () => {
    const store = new MemorySessionStore(table)
    store.isBroken = true
    openStore(store)
    await expect(storedSessions(placeIn(), 'all')).rejects.toThrow(
      'The session store postgres://db/halting failed: connection refused for ann:***@db',
    )
  })

  test('is independent of the password, but not of user and database', () => {
    expect(sessionStoreKey('postgres://ann:new@db/halting')).toBe(sessionStoreKey(url))
    expect(sessionStoreKey('postgres://bob:secret@db/halting')).not.toBe(sessionStoreKey(url))
    expect(sessionStoreKey('postgres://ann:secret@db/other')).not.toBe(sessionStoreKey(url))
  })

  test('does not write files of a store that nobody has opened', async () => {
    await expect(openJournal(optionsOf(first))).rejects.toThrow('belong to a session store')
    await expect(storedSessions(placeIn(), 'all')).rejects.toThrow('belong to a session store')
    expect(existsSync(optionsOf(first).path)).toBe(false)
  })
})

test('returns any records from the file of a session as they were stored', () => {
  const place = { sessionId: drawnSessionId, cwd: '/project', version: '0' }
  fc.assert(
    fc.property(added, fc.array(record, { maxLength: 25 }), (entries, records) => {
      const all = shared([start(entries, 'run1'), ...records])
      const stored = all.map((each): StepRecord => JSON.parse(JSON.stringify(each)))
      const time = '2026-01-01T00:00:00.000Z'
      const info = { createdAt: time, updatedAt: time, records: all.length }
      const { bytes, payloads } = journalOfRecords(place, info, stored)
      expect(payloads).toEqual([])
      expect(parseJournal(bytes, 'x.jsonl').runs.flat()).toEqual(stored)
    }),
    { numRuns: drawn(200) },
  )
})
